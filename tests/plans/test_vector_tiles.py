"""Which tile and which hint for L2 vectors get by their size, and that these are prebuilt."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from planning import KNOBS, REAL, SM_90, ZERO, arrays, constants, launches, one, virtual

from tileblas.core.dtypes import DTYPES, numpy_dtype
from tileblas.routines.registry import ROUTINES
from tileblas.routines.samples import problems
from tileblas.runtime.prebuild import variants
from tileblas.runtime.target import Target
from tileblas.runtime.variant import variant_of
from tileblas.tuning.model import choose_upto
from tileblas.tuning.table import table

LEVEL1 = [name for name, spec in ROUTINES.items() if spec.level == 1]
VECTORS = [name for name in LEVEL1 if ROUTINES[name].dims]
UPDATES = ("copy", "scal", "axpy", "axpby", "swap", "rot", "rotm")


# ---- tiles by size, and the hint for L2 ---------------------------------------------------------


def test_the_first_row_for_so_many_elements_is_taken():
    config = SM_90.candidates("dot", "float32")[0]
    rows = [
        replace(config, upto=upto, num_warps=warps) for upto, warps in ((10, 1), (20, 2), (0, 4))
    ]
    taken = [choose_upto(rows, size).num_warps for size in (0, 10, 11, 20, 21, 1 << 40)]
    assert taken == [1, 1, 2, 2, 4, 4]


@pytest.mark.parametrize("name", UPDATES)
@pytest.mark.parametrize("arch", ["sm_90", "default", "interpret"])
def test_rows_for_few_elements_come_first_and_one_is_for_any_number(arch, name):
    for dtype in ROUTINES[name].dtypes:
        limits = [row.upto for row in table(arch).candidates(name, dtype)]
        assert limits[-1] == 0
        assert 0 not in limits[:-1]
        assert limits[:-1] == sorted(limits[:-1])


def test_elements_of_all_members_of_a_batch_decide_the_tile():
    *_, few, many = SM_90.candidates("axpy", "float32")
    for shape, row in (
        ((few.upto,), few),
        ((few.upto + 1,), many),
        ((2, few.upto // 2), few),
        ((3, few.upto // 2), many),
    ):
        x = virtual(np.float32, shape, (shape[-1] + 16, 1)[-len(shape) :])
        launch = one("axpy", (x, x))
        assert constants(launch)["BLOCK"] == row["BLOCK"]
        assert launch.num_warps == row.num_warps


@pytest.mark.parametrize(("writes", "upto"), [(False, 1000), (True, 100)])
def test_operands_stream_through_l2_up_to_a_size(writes, upto):
    limited = replace(SM_90, evict_first_upto=1000, evict_first_updates_upto=100)
    assert limited.streams(upto, writes)
    assert not limited.streams(upto + 1, writes)


@pytest.mark.parametrize(
    ("name", "vectors"),
    [("asum", 1), ("dot", 2), ("scal", 1), ("axpy", 2), ("swap", 2), ("axpydot", 4)],
)
def test_what_is_read_once_leaves_l2_first_up_to_the_size_of_all_operands(name, vectors):
    """Another one where some are written; results are a number and count too."""
    limits = {"evict_first_upto": 4000, "evict_first_updates_upto": 2000}
    limit = limits["evict_first_upto" if name in ("asum", "dot") else "evict_first_updates_upto"]
    tables = replace(SM_90, **limits)
    most = limit // (4 * vectors)
    if ROUTINES[name].operands[-1].axes == "":  # the result
        most -= 1

    def policy(*shape):
        x = virtual(np.float32, shape, (shape[-1] + 16, 1)[-len(shape) :])
        return constants(one(name, arrays(name, x), tables=tables))["POLICY"]

    assert policy(most) == "evict_first"
    assert policy(most + 1) == ""
    assert policy(5, most // 5 - 1) == "evict_first"
    assert policy(5, most // 5 + 1) == ""


def test_what_is_read_again_stays_in_l2():
    x, y = virtual(np.float32, (3, 100), (0, 1)), np.empty((3, 100), np.float32)
    for name in ("dot", "axpy"):
        assert constants(one(name, (y, y)))["POLICY"] == "evict_first"
        assert constants(one(name, (x, y)))["POLICY"] == ""
    assert constants(one("asum", (virtual(np.float32, (100,), (0,)),)))["POLICY"] == ""


# ---- what is prebuilt ---------------------------------------------------------------------------


def ordinary(name, dtype, shape):
    """Variants of calls on aligned and unaligned vectors; those of a batch do not lie densely."""
    gap = 16  # elements between the vectors of a batch
    x = virtual(dtype, shape, (shape[-1] + gap, 1)[-len(shape) :])
    betas = [REAL, ZERO] if "beta" in ROUTINES[name].scalars else [ZERO]
    for alignment in (16, 8, 1):
        for beta in betas:
            for launch in launches(name, arrays(name, x), alignment, beta):
                yield variant_of(launch, Target(90))


@pytest.mark.parametrize("shape", [(1000,), (1 << 20,), (4, 1000)], ids=str)
@pytest.mark.parametrize(
    ("name", "dtype"),
    [(n, d) for n in VECTORS for d in ("float32", "complex64") if d in ROUTINES[n].dtypes],
)
def test_ordinary_calls_on_vectors_are_prebuilt(name, shape, dtype):
    """Short and long ones, batches of them, and those that begin at an odd element."""
    known = variants([ROUTINES[name].family], Target(90))
    assert set(ordinary(name, dtype, shape)) <= set(known)


@pytest.mark.parametrize("name", ["rotg", "rotmg"])
def test_rotations_from_numbers_are_prebuilt(name):
    known = variants([name], Target(90))
    for dtype in ROUTINES[name].dtypes:
        for a in (np.empty((), dtype), np.empty(1000, dtype), np.empty((5, 40), dtype)):
            assert variant_of(one(name, arrays(name, a)), Target(90)) in known


@pytest.mark.parametrize("name", VECTORS)
def test_every_tile_and_policy_is_prebuilt(name):
    """No size of a vector compiles at its first use: the tile and the policy follow from it."""
    known = set(variants([ROUTINES[name].family], Target(90)))
    for dtype in (numpy_dtype(DTYPES[row]) for row in ROUTINES[name].dtypes):
        for shape in ((100,), (1 << 15,), (1 << 18,), (1 << 23,), (1 << 27,), (8, 1 << 12)):
            assert set(ordinary(name, dtype, shape)) <= known, (dtype, shape)


def test_sizes_of_vectors_do_not_make_variants():
    """Only the tile, the policy, and whether there are splits may follow from one."""
    for name in VECTORS:
        kinds = set()
        for n in (5, 1000, 100_000, 1 << 21, 1 << 28):
            launch = one(name, arrays(name, virtual(np.float32, (n,), (1,))))
            variant = variant_of(launch, Target(90))
            free = KNOBS | {"SPLIT", "POLICY"}
            flags = tuple(item for item in variant.constants if item[0] not in free)
            kinds.add(replace(variant, constants=flags, num_warps=0))
        assert len(kinds) == 1, name


@pytest.mark.parametrize("name", LEVEL1)
def test_samples_are_of_every_type_of_a_routine(name):
    spec = ROUTINES[name]
    found = {problem.views[0].dtype.name for problem, _ in problems(spec)}
    assert found == set(spec.dtypes)
