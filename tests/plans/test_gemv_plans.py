"""Plans of gemv: tiles, splits, layouts, the hint for L2, and what makes a variant."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from planning import KNOBS, REAL, SM_90, one, value, virtual

from tileblas.routines.registry import ROUTINES
from tileblas.routines.samples import problems
from tileblas.runtime.target import Target
from tileblas.runtime.variant import variant_of

GEMV_SHAPES = [
    (64, 64),
    (1000, 1000),
    (4096, 4096),
    (16384, 16384),
    (8, 1 << 20),
    (1 << 20, 8),
    (300, 100_000),
    (100_000, 300),
    (1, 1 << 22),
    (1 << 22, 1),
]


@pytest.mark.parametrize("order", ["row", "col"])
@pytest.mark.parametrize(("m", "n"), GEMV_SHAPES)
def test_gemv_covers_every_row_and_every_split_has_columns(m, n, order):
    """One counter for each block of rows that is shared, and room for the sums of all splits."""
    a = virtual(np.float64, (m, n), (n, 1) if order == "row" else (1, m))
    launch = one("gemv", (a, virtual(np.float64, (n,), (1,))))
    knobs = dict(launch.constants)
    row_blocks, splits = value(launch, "row_blocks"), value(launch, "splits")
    assert (row_blocks - 1) * knobs["BLOCK_M"] < m <= row_blocks * knobs["BLOCK_M"]
    assert splits == 1 or (splits - 1) * knobs["BLOCK_N"] < n
    assert launch.grid == row_blocks * splits
    shared = splits > 1
    assert launch.counters == (row_blocks if shared else 0)
    assert launch.partial_bytes == (8 * launch.grid * knobs["BLOCK_M"] if shared else 0)


@pytest.mark.parametrize("order", ["row", "col"])
@pytest.mark.parametrize(("m", "n"), [(4096, 4096), (16384, 16384), (8, 1 << 20), (1 << 20, 8)])
def test_gemv_of_large_matrices_occupies_nearly_every_multiprocessor(m, n, order):
    """Where rows that nobody shares give a few programs less, sharing them would take longer."""
    a = virtual(np.float32, (m, n), (n, 1) if order == "row" else (1, m))
    launch = one("gemv", (a, virtual(np.float32, (n,), (1,))))
    assert launch.grid >= 0.95 * SM_90.multiprocessors


def test_gemv_takes_the_layout_that_the_smaller_stride_tells():
    """A view with gaps or reversed axes too; one row is walked along, one column down."""

    def by_columns(a):
        return dict(one("gemv", (a, np.empty(a.shape[1]))).constants)["BY_COLUMNS"]

    a = np.empty((40, 60))
    assert not by_columns(a)
    assert not by_columns(a[::-2, ::-3])
    assert not by_columns(a[:1])
    assert not by_columns(a[:1, ::2])
    assert by_columns(np.asfortranarray(a))
    assert by_columns(a.T[::-2, ::-3])
    assert by_columns(a[:, :1])
    assert not by_columns(np.broadcast_to(a[0], (40, 60)))
    assert by_columns(np.broadcast_to(a[:, :1], (40, 60)))


def test_gemv_numbers_blocks_of_columns_in_32_bits():
    """Broadcast operands reach sizes at which blocks of two columns are too many."""
    n = (1 << 32) - 1
    a, x = virtual(np.float32, (1024, n), (1, 0)), virtual(np.float32, (n,), (0,))
    launch = one("gemv", (a, x))
    assert -(-n // dict(launch.constants)["BLOCK_N"]) + value(launch, "splits") < 2**31


def test_gemv_lets_a_matrix_leave_l2_first_only_where_it_is_read_once():
    def policy(a, x):
        return dict(one("gemv", (a, x)).constants)["POLICY"]

    x = virtual(np.float32, (8, 256), (256, 1))
    assert policy(virtual(np.float32, (8, 512, 256), (512 * 256, 256, 1)), x) == "evict_first"
    assert policy(virtual(np.float32, (512, 256), (256, 1)), x) == ""  # of all members of the batch
    assert policy(virtual(np.float32, (512, 256), (0, 1)), x[0]) == ""
    assert policy(virtual(np.float32, (1, 256), (0, 1)), x[0]) == "evict_first"
    large = virtual(np.float32, (1 << 14, 1 << 14), (1 << 14, 1))
    assert policy(large, virtual(np.float32, (1 << 14,), (1,))) == ""


def test_gemv_keeps_wide_loads_of_the_matrix_beside_vectors_with_gaps():
    a, vector = np.empty((64, 64), np.float32), np.empty(128, np.float32)
    launch = one("gemv", (a, vector[::2], vector[1::2]), beta=REAL)
    assert launch.alignment == 16
    promised = {name for name, _ in variant_of(launch, Target(90)).divisors}
    assert "a" in promised
    assert not promised & {"x", "x_inc", "y", "y_inc"}
    assert one("gemv", (np.empty((64, 65), np.float32)[:, :64], vector[:64])).alignment == 1


def test_gemv_sizes_do_not_make_variants():
    """Only the tile, the alignment, and whether rows are shared may follow from a size."""
    kinds = set()
    for m, n in ((100, 128), (4096, 4096), (8, 1 << 20), (1 << 20, 8)):
        a = virtual(np.float32, (m, n), (n, 1))
        launch = one("gemv", (a, virtual(np.float32, (n,), (1,))))
        variant = variant_of(launch, Target(90))
        free = KNOBS | {"SPLIT"}
        flags = tuple(item for item in variant.constants if item[0] not in free)
        kinds.add(replace(variant, constants=flags, num_warps=0, num_stages=0, max_registers=0))
    assert len(kinds) == 1


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("layout", ["row", "col"])
def test_every_tile_of_a_matrix_vector_product_is_prebuilt(dtype, layout):
    tiles = {
        (
            tuple((name, knob) for name, knob in launch.constants if name in KNOBS),
            launch.num_warps,
            launch.max_registers,
        )
        for problem, alignment in problems(ROUTINES["gemv"], (dtype,))
        for launch in ROUTINES["gemv"].plan(problem, SM_90, alignment)
        if dict(launch.constants)["BY_COLUMNS"] == (layout == "col")
    }
    rows = SM_90.candidates("gemv", dtype, layout)
    assert tiles == {(row.knobs, row.num_warps, row.max_registers) for row in rows}


def test_gemv_runs_with_a_configuration_of_ones_own():
    """A table is data: one of a single row is how configurations are compared."""
    config = replace(SM_90.candidates("gemv", "float32", "row")[0], per_processor=2)
    table_of_one = replace(SM_90, rows=((("gemv", "float32"), config),))
    a = np.empty((500, 500), np.float32)
    constants = dict(one("gemv", (a, np.empty(500, np.float32)), tables=table_of_one).constants)
    assert dict(config.knobs).items() <= constants.items()


def test_a_batch_of_matrix_vector_products_is_not_split_where_it_fills_the_gpu():
    a = virtual(np.float32, (10_000, 64, 64), (4096, 64, 1))
    launch = one("gemv", (a, virtual(np.float32, (10_000, 64), (64, 1))))
    assert value(launch, "splits") == 1
    assert launch.grid == 10_000 * value(launch, "row_blocks")
