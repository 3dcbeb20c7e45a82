"""The checker can fail: each kind of wrong result and of damage is noticed, and right ones pass."""

import dataclasses
import itertools

import numpy as np
import pytest

import tileblas as tb
from tileblas.check import grids, parameters, runner
from tileblas.check.cases import (
    MATRIX_LAYOUTS,
    gemm_case,
    gemv_case,
    nrm2_case,
    numbers_case,
    scal_case,
    vector,
    vectors_case,
)
from tileblas.check.data import filled
from tileblas.check.guards import GUARD, POISONS, Guarded, Layout, NumpyLibrary, poisoned
from tileblas.check.oracle import reference
from tileblas.check.tolerance import finfo, hard_bar, judge
from tileblas.core.dtypes import DTYPES, numpy_dtype
from tileblas.routines.registry import ROUTINES

D = DTYPES["float64"]
HOST = NumpyLibrary()


def product(dtype="float64", fill="integers"):
    """A 32 x 32 product: its operands, its reference, and the correctly rounded result."""
    random = np.random.default_rng(0)
    row = DTYPES[dtype]
    values = {name: filled(fill, random, (32, 32), row) for name in "abc"}
    scalars = {"alpha": 2, "beta": 3}
    expected = reference("gemm", values, scalars, {}, row.compute)
    return expected, expected.value.astype(numpy_dtype(row))


# ---- values -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_exact_integers_have_ratio_0(dtype):
    expected, result = product(dtype)
    verdict = judge(result, expected, DTYPES[dtype], exact=True)
    assert (verdict.passed, verdict.ratio) == (True, 0.0)
    inexact = judge(result, expected, DTYPES[dtype])
    assert inexact.passed
    assert inexact.ratio == 0 or DTYPES[dtype].itemsize == 2


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_perturbed_element_fails(dtype):
    expected, result = product(dtype, "random")
    result[5, 7] += 3 * hard_bar(expected, DTYPES[dtype])[5, 7]
    verdict = judge(result, expected, DTYPES[dtype])
    assert not verdict.passed
    assert verdict.where == (5, 7)
    assert verdict.ratio == np.inf
    assert "times the bar" in verdict.message


def test_the_first_column_counts_as_much_as_the_last():
    """netlib's checker reports the ratio of the last column only."""
    expected, result = product()
    result[3, 0] += 1
    assert judge(result, expected, D).where == (3, 0)


def test_one_unit_in_the_last_place_fails_where_data_are_exact():
    expected, result = product()
    result[1, 2] = np.nextafter(result[1, 2], np.inf)
    assert judge(result, expected, D).passed
    assert not judge(result, expected, D, exact=True).passed


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_nan_and_inf_fail(wrong):
    expected, result = product()
    result[31, 0] = wrong
    verdict = judge(result, expected, D)
    assert not verdict.passed
    assert verdict.where == (31, 0)
    assert "expected a finite value" in verdict.message


def test_nan_in_one_part_of_a_complex_number_fails():
    expected, result = product("complex128")
    result.imag[4, 4] = np.nan
    assert judge(result, expected, DTYPES["complex128"]).where == (4, 4)


def test_a_result_of_nan_only_fails():
    expected, result = product()
    assert not judge(np.full_like(result, np.nan), expected, D).passed


@pytest.mark.parametrize(("there", "computed"), [(np.nan, 0.0), (np.inf, 1e300), (np.inf, -np.inf)])
def test_missing_nan_and_inf_fail(there, computed):
    x, y = np.array([there, 1.0]), np.array([1.0, 1.0])
    expected = reference("dot", {"x": x, "y": y}, {}, {}, "float64")
    assert judge(np.float64(there), expected, D).passed
    assert not judge(np.float64(computed), expected, D).passed


def test_a_wrong_shape_fails():
    expected, result = product()
    assert not judge(result[:-1], expected, D).passed


def test_overflow_is_allowed_only_where_the_bar_reaches_it():
    half = DTYPES["float16"]
    x = np.full(4, 150.0, np.float16)
    over = reference("dot", {"x": x, "y": x}, {}, {}, "float32")  # 90000 > 65504
    assert judge(np.float16(np.inf), over, half).passed
    assert not judge(np.float16(-np.inf), over, half).passed
    assert not judge(np.float16(65504), over, half).passed
    under = reference("dot", {"x": x[:2], "y": x[:2]}, {}, {}, "float32")
    assert not judge(np.float16(np.inf), under, half).passed


def test_the_bar_is_the_stated_one():
    a, b, c = (np.full((1, 1), v) for v in (3.0, 5.0, 7.0))
    expected = reference("gemm", {"a": a, "b": b, "c": c}, {"alpha": -2, "beta": 1}, {}, "float64")
    u = 2.0**-53
    assert hard_bar(expected, D) == 3 * u * (30 + 7) + u * 23 + 5e-324
    assert finfo("bfloat16")[0] == 2.0**-8


def test_rounding_inputs_to_tf32_fails():
    """The classic silent loss: 10 bits of each factor."""
    random = np.random.default_rng(1)
    a, b = random.uniform(1, 2, (2, 64, 64)).astype(np.float32)
    expected = reference("gemm", {"a": a, "b": b}, {}, {}, "float32")
    tf32 = [(x.view(np.uint32) & 0xFFFFE000).view(np.float32).astype(float) for x in (a, b)]
    single = DTYPES["float32"]
    right = np.einsum("ip,pj->ij", a.astype(float), b.astype(float)).astype(np.float32)
    assert judge(right, expected, single).passed
    assert not judge(np.einsum("ip,pj->ij", *tf32).astype(np.float32), expected, single).passed


def test_the_quality_bar_sees_what_every_element_may_do():
    """Each element within its hard bar, all of them far beyond what rounding does on average."""
    expected, result = product("float64", "random")
    result += 0.9 * hard_bar(expected, D)
    verdict = judge(result, expected, D)
    assert verdict.ratio <= 1
    assert not verdict.passed
    assert "quality" in verdict.message


def norm_of_ones(n=99, dtype="float64"):
    x = np.ones(n, numpy_dtype(DTYPES[dtype]))
    return reference("nrm2", {"x": x}, {}, {}, DTYPES[dtype].compute), float(np.sqrt(n))


def test_a_norm_is_judged_by_its_own_size():
    """(n + 2) u of the norm; the quality bar, sqrt(n + 1) u of it, is the sharper one."""
    expected, norm = norm_of_ones()
    assert judge(np.float64(norm), expected, D).passed
    for error, passed in ((5, True), (20, False), (500, False)):
        verdict = judge(np.float64(norm * (1 + error * 2.0**-53)), expected, D)
        assert verdict.passed is passed
        assert (verdict.ratio <= 1) is (error < 101)


def test_a_complex_norm_is_judged_as_the_real_number_that_it_is():
    x = np.array([3 + 4j, 12j], np.complex64)
    expected = reference("nrm2", {"x": x}, {}, {}, "float32")
    single = DTYPES["float32"]
    assert judge(np.float32(13), expected, single).passed
    assert hard_bar(expected, single) == pytest.approx(7 * 2.0**-24 * 13, rel=1e-12)
    assert not judge(np.float32(13 * (1 + 2e-6)), expected, single).passed


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, 0.0, 1e308])
def test_a_norm_at_the_end_of_the_range_is_no_excuse(wrong):
    """Neither NaN nor Inf passes where only a square overflows, nor NaN where the norm does."""
    expected = reference("nrm2", {"x": np.full(3, 1e300)}, {}, {}, "float64")
    assert not judge(np.float64(wrong), expected, D).passed
    over = reference("nrm2", {"x": np.full(3, 1.5e308)}, {}, {}, "float64")
    assert judge(np.float64(wrong), over, D).passed is (wrong == np.inf)
    single = reference("nrm2", {"x": np.full(3, 3e38, np.float32)}, {}, {}, "float32")
    with np.errstate(over="ignore"):
        narrow = np.float32(wrong)
    assert judge(narrow, single, DTYPES["float32"]).passed is bool(narrow == np.inf)


# ---- memory -------------------------------------------------------------------------------------


def guarded(poison="nan", layout=None, values=None):
    values = np.arange(12.0).reshape(3, 4) if values is None else values
    return Guarded(values, layout or Layout("F", pad=2, offset=1), poison, HOST)


@pytest.mark.parametrize("poison", POISONS)
def test_untouched_memory_is_no_damage(poison):
    operand = guarded(poison)
    assert operand.damage(is_output=False) is None
    operand.array[...] = 7
    assert operand.damage(is_output=True) is None
    np.testing.assert_array_equal(operand.result(), np.full((3, 4), 7.0))


@pytest.mark.parametrize("poison", POISONS)
@pytest.mark.parametrize("where", [0, GUARD - 1, -GUARD, -1])
def test_a_written_guard_is_damage(poison, where):
    operand = guarded(poison)
    operand.buffer[where] = -1
    assert "guard" in operand.damage(is_output=True)


def test_written_padding_is_damage():
    operand = guarded()
    operand.buffer[GUARD + 1 + 3] = 0  # the first element after a column of three
    assert "padding" in operand.damage(is_output=True)
    assert "padding" in operand.damage(is_output=False)


def test_a_written_input_is_damage():
    operand = guarded()
    operand.array[2, 1] += 1
    assert operand.damage(is_output=True) is None
    assert "input element" in operand.damage(is_output=False)


def test_nan_written_over_nan_with_other_bits_is_damage():
    operand = guarded("nan")
    operand.buffer.view(np.uint64)[5] ^= 1
    assert operand.damage(is_output=True) is not None


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("poison", POISONS)
def test_poison_is_what_it_is_called(dtype, poison):
    values = poisoned(numpy_dtype(DTYPES[dtype]), poison, 10)
    test = {"nan": np.isnan, "inf": np.isinf, "finite": np.isfinite}[poison]
    assert test(values.astype(complex) if DTYPES[dtype].is_complex else values.astype(float)).all()


@pytest.mark.parametrize("layout", MATRIX_LAYOUTS)
def test_layouts_hold_the_values_they_are_given(layout):
    values = np.arange(24.0).reshape(2, 3, 4)
    operand = guarded(layout=MATRIX_LAYOUTS[layout], values=values)
    if layout.startswith("same"):
        assert 0 in operand.array.strides
    else:
        np.testing.assert_array_equal(operand.array, values)
    np.testing.assert_array_equal(operand.array, operand.values)


@pytest.mark.parametrize("inc", [1, 2, -1, -3, 0])
def test_increments_are_strides(inc):
    operand = guarded(layout=vector(inc), values=np.ones(5))
    assert operand.array.strides == (8 * inc,)


# ---- grids --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("routine", "calls"), [("nrm2", 1600), ("gemv", 3461), ("gemm", 17496)])
@pytest.mark.parametrize("dtype", ["float64", "complex64"])
def test_netlibs_grids_are_complete(routine, calls, dtype):
    assert sum(1 for _ in grids.grid(routine, dtype, "netlib")) == calls


@pytest.mark.parametrize("name", ["interpret", "reduced"])
@pytest.mark.parametrize(
    ("routine", "dtype"), [(r, dtype) for r, spec in ROUTINES.items() for dtype in spec.dtypes]
)
def test_ids_are_unique_and_seeds_follow_from_them(name, routine, dtype):
    cases = list(grids.grid(routine, dtype, name))
    assert len({case.id for case in cases}) == len(cases)
    assert all(case.id.startswith(DTYPES[dtype].letter + routine) for case in cases)
    assert cases[0].seed == dataclasses.replace(cases[0]).seed


@pytest.mark.parametrize("name", ["interpret", "reduced"])
def test_thinned_grids_keep_every_pair_of_parameters(name):
    """Each transpose and each k meets each pair of alpha and beta, and they meet each other."""
    met = set()
    for case in grids.grid("gemm", "float64", name):
        options, scalars = dict(case.options), tuple(value for _, value in case.scalars)
        trans = options["trans_a"] + options["trans_b"]
        k = case.plans[0].shape[-1 if trans[0] == "N" else -2]
        met |= {(trans, scalars), (k, scalars), (trans, k)}
    pairs = list(itertools.product(*parameters.REAL_SCALARS))
    wanted = set(itertools.product(parameters.TRANS, pairs))
    wanted |= set(itertools.product(parameters.NETLIB_SIZES, pairs))
    wanted |= set(itertools.product(parameters.TRANS, parameters.NETLIB_SIZES))
    assert wanted <= met


def test_the_thinned_grid_of_gemv_keeps_every_pair_of_parameters():
    """Transposes, increments, alpha and beta meet each other and every shape."""
    met = set()
    for case in grids.grid("gemv", "float64", "reduced"):
        a, x, *y = case.plans
        if a.layout == MATRIX_LAYOUTS["col+1"] and y:
            incs = tuple(-p.layout.step if p.layout.reverse else p.layout.step for p in (x, *y))
            words = (a.shape, *case.options, incs, *case.scalars)
            met |= {frozenset(pair) for pair in itertools.combinations(words, 2)}
    axes = (
        parameters.NETLIB_SHAPES,
        [("trans", letter) for letter in "NTC"],
        parameters.NETLIB_INCS_OF_GEMV,
        [("alpha", value) for value in parameters.REAL_SCALARS_OF_GEMV[0]],
        [("beta", value) for value in parameters.REAL_SCALARS_OF_GEMV[1]],
    )
    for left, right in itertools.combinations(axes, 2):
        assert {frozenset(pair) for pair in itertools.product(left, right)} <= met


def test_an_id_reads_like_blas():
    case = gemm_case("complex128", (3, 5, 9), "NT", "col+1", 0.7 - 0.9j, 0)
    assert case.id == "zgemm-NT-3x5x9-col+1-alpha0.7-0.9j-beta0"
    case = gemv_case("float32", (3, 5), "T", "row", (1, -2), 0.7, 0.9)
    assert case.id == "sgemv-T-3x5-row-inc1,-2-alpha0.7-beta0.9"
    assert nrm2_case("complex64", 4, 0, fill="0:inf").id == "cnrm2-4-inc0-0:inf"
    assert scal_case("float16", 4, -1, 2, (3,)).id == "hscal-3*4-inc-1-alpha2"
    case = vectors_case("axpydot", "float32", 4, (1, 2), ((3,), ()), scalars={"alpha": 2}, new=True)
    assert case.id == "saxpydot-3,1,1*4-inc1,2,2-alpha2-new"
    case = numbers_case("rotg", "complex64", ((2, 3), (3,)), (2,), ("wide", "=1"))
    assert case.id == "crotg-2x3,3-inc2,2-wide/=1"


def test_an_unknown_grid_is_refused():
    with pytest.raises(ValueError, match="no grid 'big'"):
        list(grids.grid("dot", "float32", "big"))


def test_count_is_what_run_does(cpu):
    seen = []
    report = runner.run(
        ["dot"], "cpu", progress=lambda label, n: seen.append((label, n)), grid="netlib"
    )
    assert (
        len(seen) == sum(row.cases for row in report.rows) == runner.count(["dot"], "cpu", "netlib")
    )
    assert {row.routine for row in report.rows} == {"dot", "dotc", "dotu"}
    assert report.passed


def test_names_of_routines_families_and_levels():
    assert runner.expanded(["dot", "gemm"]) == ["dot", "dotc", "dotu", "gemm"]
    assert runner.expanded(["dotc"]) == ["dotc"]
    assert runner.expanded(["dot", "dotu"]) == ["dot", "dotc", "dotu"]
    assert runner.expanded(["iamax"]) == ["iamax", "iamin"]
    level3 = ["gemm", "gemmtr", "symm", "hemm", "skewsymm", "syrk", "herk"]
    level3 += ["syrkx", "herkx", "syr2k", "her2k", "skewsyr2k"]
    assert runner.expanded(["level3", "gemv"]) == [*level3, "gemv"]
    assert {"rotmg", "dsdot", "swap"} < set(runner.expanded(["level1"]))
    with pytest.raises(ValueError, match=r"'trsm'.*gemm.*level1"):
        runner.expanded(["trsm"])


def test_a_report_names_the_first_failures(monkeypatch, cpu):
    monkeypatch.setattr(tb, "axpy", lambda x, y, alpha: y)
    report = runner.run(["axpy"], "cpu", grid="netlib")
    assert not report.passed
    assert report.rows[0].failures[0].startswith("haxpy-1-inc1,1-alpha0.7")
