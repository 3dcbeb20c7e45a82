"""Plans of level 1: grids, splits, workspace, what a variant says, and what is prebuilt."""

from __future__ import annotations

import numpy as np
import pytest
from planning import REAL, ZERO, arrays, constants, launches, one, value, virtual

from tileblas.core.call import Scalar
from tileblas.core.dtypes import DTYPES
from tileblas.core.operand import Operand
from tileblas.routines.registry import ROUTINES
from tileblas.runtime.target import Target
from tileblas.runtime.variant import variant_of
from tileblas.tuning.table import table

LEVEL1 = [name for name, spec in ROUTINES.items() if spec.level == 1]
REDUCTIONS = ("dot", "dsdot", "sdsdot", "nrm2", "asum", "iamax", "iamin", "axpydot")
UPDATES = ("copy", "scal", "axpy", "axpby")
TRANSFORMS = ("swap", "rot", "rotm")


# ---- reductions ---------------------------------------------------------------------------------


def test_a_batched_dot_keeps_wide_loads_although_its_results_lie_close():
    x = np.empty((3, 1024), np.float32)
    launch = one("dot", (x, x))
    assert launch.alignment == 16
    assert launch.grid == 3


@pytest.mark.parametrize("name", ["dot", "iamax", "axpydot"])
@pytest.mark.parametrize(
    ("shape", "flags"),
    [((1000,), (False, False)), ((1 << 20,), (False, True)), ((9, 1000), (True, False))],
)
def test_kernels_are_told_whether_there_is_a_batch_and_a_split(name, shape, flags):
    if shape == (9, 1000) and name == "axpydot":
        shape = (9, 500)  # its blocks are shorter
    launch = one(name, arrays(name, np.empty(shape, np.float32)))
    found = constants(launch)
    assert (found["BATCHED"], found["SPLIT"]) == flags
    assert (value(launch, "splits") > 1) == flags[1]


@pytest.mark.parametrize(
    ("name", "dtype", "type", "count"),
    [
        ("dot", "float32", "*fp64", 1),
        ("dot", "complex64", "*fp64", 2),
        ("axpydot", "float16", "*fp64", 1),
        ("axpydot", "complex128", "*fp64", 2),
        ("dsdot", "float32", "*fp64", 1),
        ("asum", "complex128", "*fp64", 1),
        ("nrm2", "complex64", "*fp64", 1),
        ("nrm2", "float64", "*fp64", 3),  # where squares are sorted by magnitude
        ("nrm2", "complex128", "*fp64", 3),
        ("iamax", "float32", "*i64", 2),
        ("iamin", "complex128", "*i64", 2),
    ],
)
def test_long_vectors_are_split_and_the_workspace_holds_every_part(name, dtype, type, count):
    """Eight bytes for each number that each program leaves, and one counter."""
    launch = one(name, arrays(name, np.empty(1 << 20, dtype)))
    splits = value(launch, "splits")
    assert launch.grid == splits > 1
    assert launch.partial_bytes == 8 * count * splits
    assert launch.counters == 1
    (partial,) = (a for a in launch.arguments if a.name == "partial")
    assert (partial.type, partial.itemsize) == (type, 8)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_short_vectors_need_no_workspace(name):
    launch = one(name, arrays(name, np.empty((9, 50), np.float32)))
    assert (launch.partial_bytes, launch.counters, launch.grid) == (0, 0, 9)


@pytest.mark.parametrize("name", [*REDUCTIONS, "gemv"])
def test_small_reductions_are_split_under_the_interpreter(name):
    """So that the programs that add up partial sums run there too."""
    x = np.empty(1000, np.float32)
    given = (np.empty((50, 1000), np.float32), x) if name == "gemv" else arrays(name, x)
    assert value(one(name, given, tables=table("interpret")), "splits") > 1


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("n", [1, 1000, 5000, 1 << 20, (1 << 27) + 1])
def test_no_program_of_a_reduction_is_without_a_block(name, n):
    launch = one(name, arrays(name, virtual(np.float32, (n,), (1,))))
    splits, knobs = value(launch, "splits"), constants(launch)
    assert (splits - 1) * knobs["BLOCK"] < n
    assert splits <= knobs["MAX_SPLITS"]


def test_no_alignment_is_promised_of_a_result_or_a_device_scalar():
    x = np.empty((3, 1024), np.float32)
    on_device = Scalar("real_pointer", 0, Operand(64, DTYPES["float32"], (), (), 0, 0, "", None))
    for name, numbers in (("dot", {}), ("axpydot", {"alpha": on_device})):
        launch = one(name, arrays(name, x), numbers=numbers)
        promised = {name for name, _ in variant_of(launch, Target(90)).divisors}
        assert promised >= set(ROUTINES[name].argument_names) | {"partial", "arrived"}
        assert not promised & {"out", "alpha", "out_b0", "out_b1"}


def test_a_batch_beyond_the_largest_grid_is_cut_into_parts():
    """Of 2^31 + 5 dot products of one element each: no memory is touched."""
    count = 2**31 + 5
    x = np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (count, 1), (4, 4))
    found = launches("dot", (x, np.zeros(1, np.float32)))
    assert [launch.grid for launch in found] == [2**31 - 1, 6]
    starts = [next(a.value[1] for a in launch.arguments if a.name == "x") for launch in found]
    assert starts == [0, 2**31 - 1]


def test_products_of_dsdot_are_added_in_float64_and_those_of_dot_are_not():
    x = np.empty(100, np.float32)
    wide = {name: constants(one(name, (x, x)))["WIDE"] for name in ("dot", "dsdot", "sdsdot")}
    assert wide == {"dot": False, "dsdot": True, "sdsdot": True}


def test_only_sdsdot_adds_a_scalar():
    x = np.empty(100, np.float32)
    kinds = {name: constants(one(name, (x, x)))["ALPHA_KIND"] for name in ("dsdot", "sdsdot")}
    assert kinds == {"dsdot": "zero", "sdsdot": "real"}
    assert value(one("sdsdot", (x, x)), "alpha") == ("alpha", "re")


def test_what_is_summed_from_one_vector_does_not_depend_on_conjugation_or_sign():
    """So there are no variants for it."""
    x = np.empty((100, 2), complex)[:, 0]
    for name in ("nrm2", "asum", "iamax"):
        plain, lazy = (one(name, (x,), flags=(flags,)) for flags in (0, 3))
        assert plain == lazy
    assert one("dot", (x, x)) != one("dot", (x, x), flags=(3,))


# ---- axpydot ------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [3, 4], ids=["new z", "given z"])
def test_axpydot_is_one_launch_that_writes_z_on_its_way(given):
    w, v, u, z = (np.empty((5, 2000), np.complex64) for _ in range(4))
    launch = one("axpydot", (w, v, u, z)[:given])
    assert launch.kernel == "reduce.axpydot_kernel"
    slots = {a.name: a.value[0] for a in launch.arguments if a.kind == "pointer"}
    assert slots == {n: n for n in "wvuz"} | {
        "out": "r",
        "partial": "partial",
        "arrived": "arrived",
    }
    assert [value(launch, f"{name}_b1") for name in (*"wvuz", "out")] == [2000] * 4 + [1]


def test_axpydot_conjugates_lazy_views_and_no_other():
    x = np.empty(2000, np.complex64)
    for place, name in enumerate(("CONJ_W", "CONJ_V", "CONJ_U")):
        found = constants(one("axpydot", (x,) * 4, flags=[int(i == place) for i in range(3)]))
        assert [key for key in ("CONJ_W", "CONJ_V", "CONJ_U") if found[key]] == [name]


# ---- element-wise updates -----------------------------------------------------------------------


@pytest.mark.parametrize("name", UPDATES + TRANSFORMS)
def test_the_axes_of_a_dense_array_are_updated_as_one_vector(name):
    x = np.empty((6, 5, 700), np.float32)
    launch = one(name, arrays(name, x))
    assert value(launch, "n") == x.size
    assert launch.alignment == 16
    columns = x.transpose(2, 0, 1)
    assert value(one(name, arrays(name, columns)), "n") == x.size


@pytest.mark.parametrize("name", UPDATES + TRANSFORMS)
@pytest.mark.parametrize("shape", [(1,), (1000,), (1 << 20,), ((1 << 23) + 1,), (9, 3001)], ids=str)
def test_the_blocks_of_an_update_cover_every_element_once(name, shape):
    x = virtual(np.float32, shape, (shape[-1] + 16, 1)[-len(shape) :])
    launch = one(name, arrays(name, x))
    blocks, block = value(launch, "blocks"), constants(launch)["BLOCK"]
    assert (blocks - 1) * block < shape[-1] <= blocks * block
    assert launch.grid == blocks * (shape[0] if len(shape) > 1 else 1)


@pytest.mark.parametrize(
    ("name", "kinds", "idle"),
    [
        ("copy", ("one", "zero"), ""),
        ("scal", ("zero", "real"), "scal"),
        ("axpy", ("real", "one"), "axpy"),
        ("axpby", ("real", "real"), ""),
    ],
)
def test_the_routines_of_one_kernel_differ_by_the_kinds_of_its_scalars(name, kinds, idle):
    x = np.empty(100, np.float32)
    launch = one(name, arrays(name, x), beta=REAL)
    found = constants(launch)
    assert (found["ALPHA_KIND"], found["BETA_KIND"]) == kinds
    assert found["IDLE"] == idle
    scalars = {a.name: a.value for a in launch.arguments if a.kind == "fp32"}
    expected = {"scal": {"beta": ("alpha", "re")}, "copy": {}}
    both = {"alpha": ("alpha", "re"), "beta": ("beta", "re")}
    expected |= {"axpy": {"alpha": ("alpha", "re")}, "axpby": both}
    assert scalars == expected[name]


def test_a_term_of_axpby_whose_factor_is_the_number_0_is_left_out():
    x = np.empty(100, np.float32)
    for alpha, beta in ((ZERO, REAL), (REAL, ZERO), (ZERO, ZERO)):
        found = constants(one("axpby", (x, x), beta=beta, numbers={"alpha": alpha}))
        assert (found["ALPHA_KIND"], found["BETA_KIND"]) == (alpha.kind, beta.kind)
    # In scal and axpy a 0 is a number as others are: 0 NaN is NaN, and axpy is not even launched.
    assert constants(one("scal", (x,), numbers={"alpha": ZERO}))["BETA_KIND"] == "real"


@pytest.mark.parametrize(
    ("name", "given"),
    [("swap", ""), ("rot", "C S"), ("rotm", "FLAG H11 H21 H12 H22")],
)
def test_a_transformation_takes_the_scalars_of_its_routine_alone(name, given):
    x = np.empty(100, np.float32)
    found = constants(one(name, (x, x)))
    kinds = {key.removesuffix("_KIND"): kind for key, kind in found.items() if "_KIND" in key}
    none = dict.fromkeys(("C", "S", "FLAG", "H11", "H21", "H12", "H22"), "zero")
    assert kinds == none | dict.fromkeys(given.split(), "real")
    assert found["OP"] == name


def test_a_complex_sine_has_two_parts_beside_a_real_cosine():
    x = np.empty(100, np.complex64)
    launch = one("rot", (x, x), numbers={"s": Scalar("complex", 1j)})
    parts = [a.value for a in launch.arguments if a.kind == "fp32"]
    assert parts == [("c", "re"), ("s", "re"), ("s", "im")]


# ---- rotations from their numbers ---------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_numbers_of_rotations_are_a_lane_each(dtype):
    a = np.empty((3, 500), dtype)
    launch = one("rotg", (a, a))
    names = {argument.name for argument in launch.arguments}
    assert ("z" in names) == (dtype == "float32")
    assert value(launch, "n") == 1500
    assert launch.grid == -(-1500 // constants(launch)["BLOCK"])
    assert constants(launch)["COMPLEX"] == (dtype == "complex128")
    assert one("rotg", (np.empty((), dtype),) * 2).grid == 1


def test_the_parameters_of_a_modified_rotation_lie_together():
    d1, *others = np.empty((4, 7, 40))
    launch = one("rotmg", (d1, *others))
    assert value(launch, "n") == 280
    incs = [value(launch, f"{name}_inc") for name in ("d1", "d2", "x1", "y1", "param")]
    assert incs == [1, 1, 1, 1, 5]


@pytest.mark.parametrize("name", LEVEL1)
def test_only_rotations_from_numbers_round_every_product(name):
    shape = (10,) if ROUTINES[name].dims else ()
    launch = one(name, arrays(name, np.empty(shape, np.float32)))
    assert launch.fuse == (name not in ("rotg", "rotmg"))
    assert variant_of(launch, Target(90)).options["enable_fp_fusion"] == launch.fuse


def test_nothing_is_promised_of_the_numbers_of_a_rotation():
    a = np.empty((3, 512))
    for name, given in (("rotg", (a, a)), ("rotmg", (a,) * 4)):
        assert variant_of(one(name, given), Target(90)).divisors == ()
