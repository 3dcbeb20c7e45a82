"""A broken routine fails its case: each kind of wrong output, of damage, of wrong return."""

import numpy as np
import pytest

import tileblas
import tileblas as tb
from tileblas.check import grids, runner
from tileblas.check.cases import (
    axpy_case,
    dot_case,
    gemm_case,
    gemv_case,
    nrm2_case,
    numbers_case,
    scal_case,
    vectors_case,
)
from tileblas.check.guards import GUARD

BROKEN = {
    "reads padding": lambda a, b, c: np.matmul(a, b, out=c) + 0 * c.base.sum(),
    "not beta": lambda a, b, c: c.__setitem__(..., a @ b),
    "NaN": lambda a, b, c: c.fill(np.nan),
    "writes input": lambda a, b, c: (c.__setitem__(..., a @ b + c), a.fill(0)),
    "writes beyond": lambda a, b, c: (c.__setitem__(..., a @ b + c), c.base.fill(0)),
    "does nothing": lambda a, b, c: None,
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_gemm_fails_its_case(monkeypatch, fault):
    def gemm(a, b, c, **_):
        BROKEN[fault](a, b, c)
        return c

    monkeypatch.setattr(tb, "gemm", gemm)
    case = gemm_case("float64", (5, 6, 7), "NN", "row+7", 1, 1)
    assert not runner.check_case(case).passed


def zero_is_dropped(x, alpha):
    x[...] = alpha * x if alpha else 0
    return x


def plain_norm(x):
    """What squares without scaling give."""
    with np.errstate(all="ignore"):
        return np.sqrt((x * x).sum(dtype=x.dtype))


def adds_a_product_of_nothing(a, x, y, alpha, beta, trans):
    y[...] = alpha * (a @ x) + beta * y
    return y


@pytest.mark.parametrize(
    ("routine", "broken", "case"),
    [
        ("scal", zero_is_dropped, scal_case("float64", 9, alpha=0, fill="special")),
        ("scal", lambda x, alpha: x, scal_case("float64", 9)),
        ("nrm2", plain_norm, nrm2_case("float32", 65, fill="small:safmax")),
        ("nrm2", plain_norm, nrm2_case("float64", 4, fill="2safmin:2safmin")),
        ("nrm2", plain_norm, nrm2_case("float16", 4, fill="1/ulp:1/ulp")),
        (
            "gemv",
            adds_a_product_of_nothing,
            gemv_case("float64", (5, 4), fill=("random",) * 2 + ("nan",)),
        ),
        ("gemv", adds_a_product_of_nothing, gemv_case("float64", (4, 4), "T", beta=1)),
    ],
)
def test_broken_routines_fail_their_cases(monkeypatch, routine, broken, case):
    monkeypatch.setattr(tb, routine, broken)
    with np.errstate(all="ignore"):
        assert not runner.check_case(case).passed


def test_a_result_that_depends_on_the_poison_fails(monkeypatch):
    """A read of padding that is multiplied by 0 shows as NaN under two of three poisons."""

    def axpy(x, y, alpha):
        y += alpha * x + 0 * x.base.view(y.dtype)[GUARD - 1]
        return y

    monkeypatch.setattr(tb, "axpy", axpy)
    case = axpy_case("float64", 5)
    assert runner.check_case(case, poisons=("finite",)).passed
    assert not runner.check_case(case).passed


def test_another_array_than_the_given_output_fails(monkeypatch):
    monkeypatch.setattr(tb, "axpy", lambda x, y, alpha: (y.__iadd__(alpha * x)).copy())
    assert "not returned" in runner.check_case(axpy_case("float64", 5)).message


def swaps_only_y(x, y):
    y[...] = x
    return x, y


def swaps_numbers(x, y):
    """NaN comes back with other bits."""
    x[...], y[...] = np.where(np.isnan(y), -np.nan, y), np.where(np.isnan(x), -np.nan, x)
    return x, y


def returns_copies(x, y):
    x[...], y[...] = y.copy(), x.copy()
    return x, y.copy()


@pytest.mark.parametrize(
    ("broken", "fill", "told"),
    [
        (swaps_only_y, "random", "x at"),
        (swaps_numbers, "nan", "at (0,)"),
        (returns_copies, "random", "y was not returned"),
        (lambda x, y: x, "random", "x, y are to be returned"),
    ],
)
def test_each_of_two_outputs_is_checked(monkeypatch, broken, fill, told):
    monkeypatch.setattr(tb, "swap", broken)
    verdict = runner.check_case(vectors_case("swap", "float64", 5, fill=fill))
    assert not verdict.passed
    assert told in verdict.message


def r_of_another_z(w, v, u, z, alpha):
    unrounded = w.astype(np.float32) - np.float32(alpha) * v.astype(np.float32)
    z[...] = unrounded
    return z, np.float16(unrounded @ u.astype(np.float32))


def test_r_is_judged_by_the_z_that_was_found(monkeypatch):
    monkeypatch.setattr(tb, "axpydot", r_of_another_z)
    case = vectors_case("axpydot", "float16", 65, scalars={"alpha": 0.7})
    assert "r at" in runner.check_case(case).message
    case = vectors_case("axpydot", "float16", 65, scalars={"alpha": 2}, fill="integers")
    assert runner.check_case(case).passed


def rounds_before_adding(x, y, alpha):
    return np.float32(alpha + np.float32(x.astype(float) @ y))


def accumulates_in_single(x, y, alpha):
    return np.float32(alpha) + np.add.accumulate(x * y)[-1]


@pytest.mark.parametrize("broken", [accumulates_in_single, rounds_before_adding])
def test_sdsdot_in_single_precision_fails(monkeypatch, broken):
    monkeypatch.setattr(tb, "sdsdot", broken)
    case = vectors_case("sdsdot", "float32", 1025, fill="=0.3", scalars={"alpha": -92.25})
    assert not runner.check_case(case).passed


def test_a_given_number_that_is_not_updated_fails(monkeypatch):
    right = np.array([0, 0, -1 / 6, 0.5, 0])
    monkeypatch.setattr(tb, "rotmg", lambda d1, d2, x1, y1: right)
    case = numbers_case("rotmg", "float64", fill=("=0.1", "=0.3", "=1.2", "=0.2"))
    assert "d1 at ()" in runner.check_case(case).message


def test_another_result_type_fails(monkeypatch):
    monkeypatch.setattr(
        tb, "dot", lambda x, y: np.float64(np.dot(x.astype(float), y.astype(float)))
    )
    assert "float64" in runner.check_case(dot_case("dot", "float32", 5)).message


def test_a_call_that_raises_fails_its_case(monkeypatch):
    monkeypatch.setattr(tb, "dot", lambda x, y: 1 / 0)
    verdict = runner.check_case(dot_case("dot", "float32", 5))
    assert not verdict.passed
    assert "ZeroDivisionError" in verdict.message


def test_bits_that_differ_between_poisons_are_a_failure(cpu, monkeypatch):
    """Each result is within the bar: only together they show that something beside was read."""
    calls = []

    def asum(x):
        calls.append(1)
        exact = np.float32(np.abs(x).sum())
        return exact if len(calls) == 1 else np.nextafter(exact, np.float32(np.inf))

    monkeypatch.setattr(tileblas, "asum", asum)
    case = next(c for c in grids.grid("asum", "float32", "reduced") if "129" in c.id)
    verdict = runner.check_case(case)
    assert not verdict.passed
    assert "bits depend on what lies around" in verdict.message
