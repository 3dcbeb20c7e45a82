"""Plans of level 2: kernel bodies, flags, grids, and a workspace that holds what programs leave."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from planning import (
    KNOBS,
    SM_90,
    constants,
    launches,
    matrix,
    one,
    packed,
    posed,
    product,
    value,
    vector,
    virtual,
)

from tileblas.core.canon import lies_by_columns
from tileblas.core.trivial import without_product
from tileblas.routines import binder
from tileblas.routines.registry import ROUTINES
from tileblas.routines.samples import problems
from tileblas.runtime.target import Target
from tileblas.runtime.variant import variant_of
from tileblas.tuning.table import table

BAND, MIRRORED = "band.band_kernel", "mirrored.mirrored_kernel"
RANK, SOLVE, GEMV = "rank.rank_kernel", "solve.solve_kernel", "matvec.gemv_kernel"
LEVEL_2 = [spec for spec in ROUTINES.values() if spec.level == 2 and spec.name != "gemv"]


# ---- which body, and what it is told ------------------------------------------------------------


@pytest.mark.parametrize("arch", ["sm_90", "default"])
@pytest.mark.parametrize("name", ["symv", "hemv", "skewsymv", "spmv", "hpmv"])
def test_triangles_of_any_size_are_read_once(name, arch):
    """None has the body of band_kernel, which reads each element for its row and its column."""
    for dtype in ROUTINES[name].dtypes:
        for n in (1, 5, 64, 1000, 8000):
            a = packed(n, dtype) if name[1:] == "pmv" else matrix(n, n, dtype)
            launch = product(name, a, n, tables=table(arch))
            assert launch.kernel == MIRRORED
            assert not constants(launch)["BANDED"]
            assert constants(launch)["CURVED"] == (name[1:] == "pmv" and n > 1)
            assert value(launch, "reach") == n - 1


def test_narrow_bands_are_read_twice_and_wide_ones_once():
    narrow, wide = (product("sbmv", matrix(k, 8000), 8000) for k in (9, 1000))
    assert (narrow.kernel, wide.kernel) == (BAND, MIRRORED)
    assert constants(wide)["BANDED"]
    assert value(wide, "reach") == 999
    assert not constants(narrow)["CURVED"]
    assert not constants(wide)["CURVED"]


@pytest.mark.parametrize(
    ("name", "kind"), [("symv", "symmetric"), ("hemv", "hermitian"), ("skewsymv", "skew")]
)
@pytest.mark.parametrize("uplo", "UL")
@pytest.mark.parametrize("order", ["row", "col"])
def test_a_mirrored_matrix_that_lies_by_rows_is_turned(name, kind, uplo, order):
    """Its other triangle is then stored, of conjugates if Hermitian, negative if skew."""
    dtype = np.complex64 if kind == "hermitian" else np.float32
    launch = product(name, matrix(8000, 8000, dtype, order), 8000, letters={"uplo": uplo})
    found, turned = constants(launch), order == "row"
    assert (launch.kernel, found["KIND"], found["UNIT"]) == (MIRRORED, kind, True)
    assert (found["a_m"], value(launch, "a_n")) == (1, 8000)
    assert found["LOWER"] == ((uplo == "L") != turned)
    assert found["CONJ_A"] == (turned and kind == "hermitian")
    assert found["NEGATE"] == (turned and kind == "skew")


@pytest.mark.parametrize(("name", "dtype"), [("spmv", np.float32), ("hpmv", np.complex64)])
@pytest.mark.parametrize("uplo", "UL")
def test_a_packed_triangle_lies_by_columns(name, dtype, uplo):
    launch = product(name, packed(100, dtype), 100, letters={"uplo": uplo})
    found = constants(launch)
    assert (launch.kernel, found["UNIT"], found["LOWER"]) == (MIRRORED, True, uplo == "L")
    assert (found["CONJ_A"], found["CURVED"]) == (False, True)
    expected = (0, 1) if uplo == "U" else (100, -1)
    assert (value(launch, "a_n"), value(launch, "a_curve")) == expected


@pytest.mark.parametrize("uplo", "UL")
@pytest.mark.parametrize("trans", "NTC")
@pytest.mark.parametrize("diag", "NU")
def test_triangles_are_bands_in_place(uplo, trans, diag):
    launch = product(
        "trmv", matrix(500, 500, np.complex64), 500,
        letters={"uplo": uplo, "trans": trans, "diag": diag},
    )  # fmt: skip
    found, inner = constants(launch), -1 if diag == "U" else 0
    assert launch.kernel == BAND
    assert (found["IN_PLACE"], found["MIRROR"], found["UNIT_DIAG"]) == (True, "", diag == "U")
    lower = (uplo == "L") == (trans == "N")
    expected = (499, inner) if lower else (inner, 499)
    assert (value(launch, "below"), value(launch, "above")) == expected
    assert found["BY_COLUMNS"] == (trans != "N")
    assert found["CONJ_A"] == (trans == "C")


def test_a_band_begins_at_its_main_diagonal():
    launch = product("gbmv", matrix(6, 50), 50, letters={"kl": 2, "m": 40})
    pointer = next(a for a in launch.arguments if a.name == "a")
    assert pointer.value == ("a", 3 * 50)  # below the three diagonals above the main one
    assert (value(launch, "a_m"), value(launch, "a_n")) == (50, -49)
    assert (value(launch, "m"), value(launch, "below"), value(launch, "above")) == (40, 2, 3)
    assert not constants(launch)["UNIT"]


@pytest.mark.parametrize("name", ["spmv", "hpmv"])
def test_a_packed_triangle_repeats_no_element_though_an_axis_has_no_stride(name):
    """So both of its kinds leave L2 first alike."""
    dtype = np.float32 if name == "spmv" else np.complex64
    policies = {constants(product(name, packed(900, dtype), 900, letters={"uplo": uplo}))["POLICY"]
                for uplo in "LU"}  # fmt: skip
    assert policies == {"evict_first"}


@pytest.mark.parametrize(
    ("uplo", "trans", "curved", "upper"),
    [("U", "N", "columns", True), ("L", "N", "columns", False), ("U", "T", "rows", False)],
)
def test_a_packed_solve_names_the_axis_that_is_curved(uplo, trans, curved, upper):
    launch = product("tpsv", packed(100), 100, letters={"uplo": uplo, "trans": trans})
    found = constants(launch)
    assert (found["CURVED"], found["UPPER"], found["BY_ROWS"]) == (curved, upper, trans != "N")
    assert value(launch, "a_curve") == (1 if uplo == "U" else -1)
    assert launch.alignment == 1


def test_solves_say_whether_they_are_banded_and_of_ones():
    for letters, ones in (({"diag": "U"}, True), ({"diag": "N"}, False)):
        dense = product("trsv", matrix(100, 100), 100, letters=letters)
        banded = product("tbsv", matrix(5, 100), 100, letters=letters)
        full = product("tbsv", matrix(100, 100), 100, letters=letters)
        assert [constants(x)["BANDED"] for x in (dense, banded, full)] == [False, True, False]
        assert all(constants(x)["UNIT_DIAG"] == ones for x in (dense, banded, full))
        assert [value(x, "reach") for x in (dense, banded)] == [99, 4]


@pytest.mark.parametrize(
    ("name", "vectors", "kind", "rank"),
    [
        ("ger", 2, "general", 1),
        ("gerc", 2, "general", 1),
        ("syr", 1, "symmetric", 1),
        ("syr2", 2, "symmetric", 2),
        ("her", 1, "hermitian", 1),
        ("her2", 2, "hermitian", 2),
        ("skewsyr2", 2, "skew", 2),
    ],
)
@pytest.mark.parametrize("order", ["row", "col"])
@pytest.mark.parametrize("fresh", [False, True])
def test_updates_write_by_rows(name, vectors, kind, rank, order, fresh):
    """One that lies by columns is turned: y is then x, and of a Hermitian one the other conjugated.

    A new matrix takes all tiles, an old triangle those of one half.
    """
    n, dtype = 200, np.complex64 if name[:2] == "he" or name == "gerc" else np.float32
    given = [vector(n, dtype)] * vectors
    if not fresh:
        given.append(matrix(n, n, dtype, order))
    launch = one(name, given)
    found, turned = constants(launch), order == "col" and not fresh
    assert (launch.kernel, found["KIND"], found["RANK"]) == (RANK, kind, rank)
    assert (found["FRESH"], found["UNIT"], found["a_n"]) == (fresh, True, 1)
    slots = {a.name: a.slot for a in launch.arguments}
    names = ["x", "y"][:vectors]
    assert [slots["x"], slots["y"]] == (names[::-1] if turned else names) * (3 - vectors)
    conjugated = (found["CONJ_X"], found["CONJ_Y"])
    if dtype == np.complex64:
        assert conjugated == ((True, False) if turned else (False, True))
    else:
        assert conjugated == (False, False)
    tall, wide = -(-n // found["BLOCK_M"]), -(-n // found["BLOCK_N"])
    whole = kind == "general" or fresh
    assert launch.grid == (tall * wide if whole else tall * (tall + 1) // 2)
    if not whole:
        assert found["LOWER"] == turned  # "U" is the default


@pytest.mark.parametrize("arch", ["sm_90", "default", "interpret"])
def test_tiles_of_triangles_are_square(arch):
    """Their numbers are found from the number of a program, as many in row r as r + 1."""
    for dtype in ("float32", "float64", "complex64", "complex128"):
        for config in table(arch).candidates("rank", dtype, "triangle"):
            assert config["BLOCK_M"] == config["BLOCK_N"]


@pytest.mark.parametrize("arch", ["sm_90", "default", "interpret"])
def test_tiles_of_mirrored_matrices_can_be_cut_as_the_kernel_does(arch):
    """A block into slices, a slice into what threads hold, and at edges that into four again."""
    found = set()
    for (kernel, dtype), config in table(arch).rows:
        if kernel == "mirrored" and not config.body:
            side, columns, held, tiles, sums = (
                config[knob] for knob in ("BLOCK", "SLICE", "HELD", "TILES", "SUMS")
            )
            assert all(size > 0 and size & (size - 1) == 0 for size in (side, columns, tiles, sums))
            assert side % columns == columns % held == held % 4 == 0
            assert side <= 128  # distances within a tile are cut off far beyond it
            found.add((dtype, config.layout))
    dtypes = ROUTINES["symv"].dtypes
    assert {dtype for dtype, _ in found} == set(dtypes)
    for dtype in dtypes:
        for layout in ("any", "band", "general"):
            upto = [config.upto for config in table(arch).candidates("mirrored", dtype, layout)]
            assert upto == [*sorted(upto[:-1]), 0]  # the last is for any number of elements


@pytest.mark.parametrize("order", ["row", "col"])
@pytest.mark.parametrize(("trans", "kind"), [("T", "transpose"), ("C", "adjoint")])
def test_gemvt_has_two_outputs_that_change_places_with_the_matrix(trans, kind, order):
    given = (matrix(300, 200, np.complex64, order), *(vector(n, np.complex64) for n in (200, 300)))
    launch = one("gemvt", given, letters={"trans": trans})
    slots = {a.name: a.slot for a in launch.arguments if a.kind == "pointer"}
    turned, found = order == "row", constants(launch)
    assert [slots[name] for name in "xwyz"] == list("wxzy" if turned else "xwyz")
    assert (found["KIND"], found["CONJ_A"]) == (kind, turned and trans == "C")
    assert (value(launch, "m"), value(launch, "n")) == ((200, 300) if turned else (300, 200))
    assert (found["a_m"], value(launch, "a_n")) == (1, 200 if turned else 300)
    # Not even where the matrix is taller than wide: that would be a variant of its own.
    assert not found["LOWER"]


@pytest.mark.parametrize("name", ["symv", "gemvt"])
def test_the_members_of_a_batch_count_for_the_tiles(name):
    """Programs of many small matrices are as many as those of a large one."""
    tiles = set()
    for members in (1, 10_000):
        a = virtual(np.float32, (members, 64, 64), (4096, 64, 1))
        x = virtual(np.float32, (members, 64), (64, 1))
        given = (a, x, x) if name == "gemvt" else (a, x)
        tiles.add(constants(one(name, given))["BLOCK"])
    assert len(tiles) == 2


# ---- what is left without a product, and batches ----------------------------------------------


@pytest.mark.parametrize(
    "spec", [spec for spec in LEVEL_2 if "beta" in spec.scalars], ids=lambda spec: spec.name
)
def test_a_dropped_product_reads_no_matrix(spec):
    """A gemv without columns for each output: as no matrix is read, it is 1 row of nothing."""
    dtype = spec.dtypes[0]
    problem, alignment = next(problems(spec, (dtype,)))
    kinds = {"alpha": "zero", "beta": "real"}
    problem = without_product(
        replace(problem, scalars=tuple((name, kinds[name], "") for name, _, _ in problem.scalars))
    )
    found = spec.plan(problem, SM_90, alignment)
    assert len(found) == (2 if spec.name == "gemvt" else 1)
    assert {launch.kernel for launch in found} == {GEMV}
    assert all(value(launch, "n") == 0 for launch in found)
    written = [next(a.slot for a in launch.arguments if a.name == "y") for launch in found]
    assert written == (["y", "z"] if spec.name == "gemvt" else ["y"])


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("symv", ((8, 8), (8,))),
        ("gbmv", ((3, 8), (8,))),
        ("trmv", ((8, 8), (8,))),
        ("trsv", ((8, 8), (8,))),
        ("ger", ((8,), (8,))),
        ("gemvt", ((8, 8), (8,), (8,))),
    ],
)
def test_batches_of_more_than_two_axes_become_several_launches(name, shapes, monkeypatch):
    """One for each index of the smallest axis; what a launch counts is its own part."""
    letters = {"kl": 1} if name == "gbmv" else None
    given = [np.zeros((5, 2, 1, 4, *shapes[0])), np.zeros((5, 2, 3, 4, *shapes[1]))]
    given += [np.zeros((5, 2, 3, 4, *shape)) for shape in shapes[2:]]
    found = launches(name, given, letters=letters)
    # The axes of 5 and 2 are one for each operand.
    assert len(found) == 3
    alone = one(name, [array[0, 0, 0, 0] for array in given], letters=letters)
    for launch in found:
        assert launch.grid == 40 * alone.grid
        assert constants(launch)["BATCHED"]
        assert launch.partial_bytes == 40 * alone.partial_bytes
    starts = {tuple(a.value for a in launch.arguments if a.kind == "pointer") for launch in found}
    assert len(starts) == 3
    monkeypatch.setattr(binder, "MAX_GRID", 7 * alone.grid)
    parts = launches(name, given, letters=letters)
    assert sum(launch.grid for launch in parts) == 120 * alone.grid
    assert max(launch.grid for launch in parts) <= 7 * alone.grid


# ---- variants ----------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", LEVEL_2, ids=lambda spec: spec.name)
def test_sizes_make_no_variants(spec):
    """Only the tile, the kernel and the alignment may follow from a size, or hints for L2."""
    free, kinds = KNOBS | {"POLICY", "BANDED"}, {}
    for problem, alignment in problems(spec, (spec.dtypes[-1],)):
        for launch in spec.plan(problem, SM_90, alignment):
            variant = variant_of(launch, Target(90))
            plain = replace(
                variant,
                constants=tuple(item for item in variant.constants if item[0] not in free),
                **{"num_warps": 0, "num_stages": 0, "max_registers": 0, "divisors": ()},
            )
            known, beta = problem.structure, problem.scalar("beta")[0]
            places = tuple(
                (lies_by_columns(view), 1 in view.strides, any(view.curve), view.conj)
                if len(view.shape) == 2
                else view.conj
                for view in problem.views
            )
            triangle = known and known.kind not in ("transpose", "adjoint")
            letters = known and (known.kind, triangle and known.lower, known.unit)
            kinds.setdefault((launch.kernel, letters, places, beta), set()).add(plain)
    assert kinds
    assert all(len(found) == 1 for found in kinds.values())


@pytest.mark.parametrize("name", ["symv", "trmv", "trsv", "ger", "gemvt"])
def test_a_vector_with_gaps_costs_the_matrix_no_wide_loads(name):
    a, x = np.zeros((64, 64)), np.zeros((64, 2))[:, 0]
    given = {"ger": (x, x, a), "gemvt": (a, x, x)}.get(name, (a, x))
    launch = one(name, given)
    assert launch.alignment == 16
    assert dict(variant_of(launch, Target(90)).divisors)["a"] == 16


@pytest.mark.parametrize("order", ["row", "col"])
def test_the_vector_along_the_columns_of_a_mirrored_product_is_loaded_wide(order):
    """It is as aligned as the matrix, in all members of a batch; of gemvt it can be w."""
    a, x, w = matrix(64, 32, np.float32, order), vector(32, np.float32), vector(64, np.float32)
    launch = one("gemvt", (a, x, w))
    divisors = dict(variant_of(launch, Target(90)).divisors)
    slot = next(argument.slot for argument in launch.arguments if argument.name == "x")
    assert slot == ("x" if order == "col" else "w")
    assert [divisors.get(name, 1) for name in "axwyz"] == [16, 16, 1, 1, 1]
    batch = np.zeros((3, 64, 64), np.float32)
    for steps, alignment in ((64, 16), (68, 16), (66, 8), (65, 1)):
        vectors = np.zeros((3, steps), np.float32)[:, :64]
        assert one("symv", (batch, vectors)).alignment == alignment


@pytest.mark.parametrize(("rows", "alignment"), [(5, 16), (6, 1), (7, 8), (8, 1)])
def test_a_band_is_as_aligned_as_its_main_diagonal_and_its_steps(rows, alignment):
    """Its columns lie together: the diagonal begins rows - 1 numbers on, and so far are steps."""
    band = virtual(np.float32, (rows, 64), (1, rows))
    assert product("sbmv", band, 64, letters={"uplo": "U"}).alignment == alignment


def test_scalars_on_a_device_reach_the_kernels():
    for name, given in (("symv", (matrix(9000, 9000), vector(9000))), ("syr", (vector(50),))):
        problem = posed(name, given)
        kinds = tuple(
            (scalar, "real_pointer" if scalar == "alpha" else kind, "float64")
            for scalar, kind, _ in problem.scalars
        )
        (launch,) = ROUTINES[name].plan(replace(problem, scalars=kinds), SM_90, 16)
        assert constants(launch)["ALPHA_KIND"] == "real_pointer"
        assert next(a for a in launch.arguments if a.name == "alpha").loose


def test_a_grid_that_is_too_large_is_refused_by_name():
    """Of a matrix that takes no memory: all its elements are one number."""
    n = 1 << 25
    a = virtual(np.complex128, (n, n), (0, 0))
    with pytest.raises(ValueError, match=rf"hemv.*{n}.*2147483647"):
        product("hemv", a, n)


def test_a_batch_of_solves_is_cut_where_its_squares_would_take_much_memory():
    """1 GiB of squares a launch, or those of one member; each member is in one part."""
    n, members = 1000, 5000
    a = virtual(np.float32, (members, n, n), (n * n, 1, n))
    x = virtual(np.float32, (members, n), (n, 1))
    found = launches("trsv", (a, x))
    assert len(found) > 1
    assert all(launch.partial_bytes <= 1 << 30 for launch in found)
    assert sum(value(launch, "members") for launch in found) == members
    small = launches("trsv", (a[:2], x[:2]))
    assert len(small) == 1
