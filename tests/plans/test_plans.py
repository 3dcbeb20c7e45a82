"""Plans: what kernels are specialised on, how many variants there are, what grids cover."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from planning import KNOBS, SM_90, constants, launches, one, virtual

from tileblas.routines import band_plans, mirrored_plans, rank_plans, samples, solve_plans
from tileblas.routines.registry import ROUTINES, families
from tileblas.routines.samples import problems
from tileblas.runtime.prebuild import variants
from tileblas.runtime.target import TARGETS, Target
from tileblas.runtime.variant import variant_of
from tileblas.tuning.model import choose_upto, tile_count
from tileblas.tuning.table import Config, table


# Every variant costs a user a second or more at its first use, so the number is watched.
@pytest.mark.parametrize(
    ("family", "most"),
    [
        *(("dot", 140), ("dsdot", 20), ("sdsdot", 20), ("nrm2", 72), ("asum", 72), ("iamax", 210)),
        *(("scal", 96), ("copy", 96), ("axpy", 100), ("axpby", 200), ("axpydot", 96)),
        *(("swap", 84), ("rot", 84), ("rotm", 84), ("rotg", 4), ("rotmg", 2)),
        *(("gemv", 560), ("gemm", 360)),
        *(("gbmv", 64), ("sbmv", 48), ("hbmv", 32), ("tbmv", 64), ("tbsv", 92)),
        *(("symv", 128), ("hemv", 72), ("skewsymv", 56), ("trmv", 120), ("trsv", 232)),
        *(("spmv", 56), ("hpmv", 28), ("tpmv", 68), ("tpsv", 80), ("gemvt", 84), ("ger", 46)),
        *((name, 50) for name in ("syr", "syr2")),
        *((name, 26) for name in ("her", "her2", "skewsyr2", "spr", "spr2")),
        *((name, 10) for name in ("hpr", "hpr2")),
        *(("gemmtr", 400), ("symm", 130), ("hemm", 64), ("skewsymm", 68), ("syrk", 128)),
        *(("herk", 60), ("syrkx", 128), ("herkx", 60), ("syr2k", 192), ("her2k", 84)),
        ("skewsyr2k", 108),
    ],
)
def test_number_of_prebuilt_variants(family, most, record_property):
    count = len(variants([family], Target(90)))
    record_property("variants", count)
    assert 0 < count <= most


def test_the_number_of_variants_of_every_family_is_watched():
    mark = next(m for m in test_number_of_prebuilt_variants.pytestmark if m.name == "parametrize")
    assert {family for family, _ in mark.args[1]} == set(families())


PLANS = (band_plans, mirrored_plans, rank_plans, solve_plans)


def test_every_row_for_matrices_beside_vectors_is_prebuilt(monkeypatch):
    """Or the first call of the sizes it is for would compile it."""
    chosen = set()

    def noted(candidates, size):
        config = choose_upto(candidates, size)
        chosen.add(id(config))
        return config

    for module in PLANS:
        monkeypatch.setattr(module, "choose_upto", noted)
    for spec in ROUTINES.values():
        if spec.level == 2:
            list(samples.launches(spec, SM_90))
    rows = [row for row in SM_90.rows if row[0][0] in ("mirrored", "solve", "band", "rank")]
    assert [row for row in rows if id(row[1]) not in chosen] == []


@pytest.mark.parametrize("size", [100, 128, 1000, 1024, 4096])
def test_sizes_do_not_make_variants(size):
    """Only the tile and the alignment may follow from a size."""
    kinds = set()
    for m, n, k in ((size, size, size), (size + 16, size, size + 32)):
        a, b = np.empty((m, k), np.float32), np.empty((k, n), np.float32)
        launch = one("gemm", (a, b))
        fixed = {name for name, value in launch.constants if name.islower() and value != 1}
        assert fixed <= {"alpha_im", "beta", "beta_im"}
        variant = variant_of(launch, Target(90))
        flags = tuple(item for item in variant.constants if item[0] not in KNOBS)
        kinds.add(replace(variant, constants=flags, num_warps=0, num_stages=0))
    assert len(kinds) == 1


def test_alignment_is_promised_only_where_every_row_keeps_it():
    a, b = np.empty((64, 64), np.float32), np.empty((64, 64), np.float32)
    assert one("gemm", (a, b)).alignment == 16
    assert one("gemm", (a, b), alignment=1).alignment == 1
    odd = np.empty((64, 65), np.float32)[:, :64]
    assert one("gemm", (odd, b)).alignment == 1
    assert one("gemm", (a, odd)).alignment == 1
    assert one("gemm", (np.empty((64, 65), np.complex128)[:, :64],) * 2).alignment == 16


@pytest.mark.parametrize(
    ("dtype", "gap", "alignment"),
    [
        ("float16", 4, 8),
        ("float16", 2, 4),
        ("float16", 1, 1),
        ("float32", 2, 8),
        ("float32", 1, 1),
        ("float64", 1, 1),
        ("complex64", 1, 8),
        ("complex128", 1, 16),
    ],
)
def test_rows_that_are_less_aligned_are_loaded_as_wide_as_they_allow(dtype, gap, alignment):
    """A complex64 element is two numbers, which one load takes wherever it lies."""
    a = np.empty((64, 64 + gap), dtype)[:, :64]
    launch = one("gemv", (a, np.empty(64, dtype)))
    assert launch.alignment == alignment
    assert one("gemv", (a, np.empty(64, dtype)), alignment=1).alignment == 1
    promised = dict(variant_of(launch, Target(90)).divisors)
    assert promised.get("a", 1) == alignment
    assert promised.get("a_m", 1) == max(1, alignment // a.itemsize)


def test_a_window_matrix_is_not_called_aligned():
    base = np.empty(200, np.float32)
    window = np.lib.stride_tricks.as_strided(base, (64, 64), (4, 4))
    assert one("gemm", (window, np.empty((64, 64), np.float32))).alignment == 1


def test_more_batch_axes_than_a_kernel_walks_become_several_launches():
    a = np.empty((2, 3, 1, 4, 8, 8))
    b = np.empty((2, 1, 5, 4, 8, 8))
    found = launches("gemm", (a, b))
    assert sum(launch.grid for launch in found) >= 2 * 3 * 5 * 4
    offsets = {
        tuple(arg.value for arg in launch.arguments if arg.kind == "pointer") for launch in found
    }
    assert len(offsets) == len(found) > 1


def test_a_limit_of_registers_reaches_the_launch():
    a, x = virtual(np.float64, (1024, 1024), (1, 1024)), virtual(np.float64, (1024,), (1,))
    assert one("gemv", (a, x)).max_registers == 255  # the tile of 8 x 512 in the table
    assert one("dot", (x, x)).max_registers == 0


def test_kernels_are_named_in_few_files():
    names = {
        launch.kernel
        for spec in ROUTINES.values()
        for problem, alignment in problems(spec, ("float32",))
        for launch in spec.plan(problem, SM_90, alignment)
    }
    assert names == {
        "reduce.reduce_kernel",
        "reduce.axpydot_kernel",
        "elementwise.combine_kernel",
        "elementwise.transform_kernel",
        "rotations.rotg_kernel",
        "rotations.rotmg_kernel",
        "matvec.gemv_kernel",
        "gemm.gemm_kernel",
        "band.band_kernel",
        "mirrored.mirrored_kernel",
        "rank.rank_kernel",
        "solve.solve_kernel",
    }


@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_every_target_has_a_row_for_every_kernel_and_dtype(target):
    for spec in ROUTINES.values():
        for problem, alignment in problems(spec):
            assert spec.plan(problem, table(target.name), alignment)


@pytest.mark.parametrize("arch", ["sm_90", "default", "interpret"])
def test_tables_say_what_they_were_measured_on(arch):
    assert table(arch).measured


def test_small_products_get_small_tiles():
    """A tile that leaves most multiprocessors idle loses to a smaller one."""
    big = one("gemm", (np.empty((4096, 4096)), np.empty((4096, 4096))))
    small = one("gemm", (np.empty((256, 256)), np.empty((256, 256))))
    area = {
        name: dict(launch.constants)["BLOCK_M"] * dict(launch.constants)["BLOCK_N"]
        for name, launch in (("big", big), ("small", small))
    }
    assert area["small"] < area["big"]


def test_a_batch_beyond_the_largest_grid_is_cut_into_parts():
    """Of 2^31 + 5 dot products of one element each: no memory is touched."""
    count = 2**31 + 5
    x = np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (count, 1), (4, 4))
    found = launches("dot", (x, np.zeros(1, np.float32)))
    assert [launch.grid for launch in found] == [2**31 - 1, 6]
    starts = [next(a.value[1] for a in launch.arguments if a.name == "x") for launch in found]
    assert starts == [0, 2**31 - 1]


def test_of_many_batch_axes_the_small_ones_become_launches():
    a = np.lib.stride_tricks.as_strided(np.zeros(1), (2000, 1, 5, 8, 8), (8, 0, 800, 64, 8))
    b = np.zeros((3, 1, 8, 8))
    assert len(launches("gemm", (a, b))) == 3


@pytest.mark.parametrize(
    ("version", "bodies"), [("3.6.0", 2), ("3.7.1", 2), ("3.8.0", 1), ("3.9.0", 1), ("none", 2)]
)
def test_bodies_that_the_installed_triton_cannot_compile_are_left_out(version, bodies, monkeypatch):
    from tileblas.tuning import table as tables

    monkeypatch.setattr(tables, "triton_version", lambda: version)
    tables.table.cache_clear()
    try:
        rows = tables.table("sm_90").candidates("gemm", "float64", "kn")
        assert len({config.body for config in rows}) == bodies
    finally:
        tables.table.cache_clear()


@pytest.mark.parametrize(("m", "n"), [(64, 32), (32, 64), (128, 128), (64, 64)])
def test_the_tiles_of_a_triangle_are_those_that_have_elements_in_it(m, n):
    """Counted one by one; a model that counts all of them takes tiles that are too small."""
    order, config = 1000, Config((("BLOCK_M", m), ("BLOCK_N", n), ("BLOCK_K", 16)), 4, 3)
    corners = [(i, j) for i in range(0, order, m) for j in range(0, order, n)]
    lower = sum(min(i + m, order) > j for i, j in corners)
    assert tile_count(config, order, order, triangle=True) == lower
    assert tile_count(config, order, order, triangle=False) == len(corners)


def test_a_triangle_is_planned_by_its_tiles():
    """Half as many as a square of that order: one that fills the GPU with large tiles takes small
    ones for a triangle, of the same kernel."""
    a = np.empty((2048, 2048), np.complex128)
    square, half = (constants(one(*call)) for call in (("gemm", (a, a)), ("syrk", (a,))))
    assert square["BLOCK_M"] * square["BLOCK_N"] > half["BLOCK_M"] * half["BLOCK_N"]
