"""The oracles of level 1 that have more than one output, places, or a rule of their own."""

from fractions import Fraction

import numpy as np
import pytest

from tileblas.check.evaluation import FINITE, INFINITE, NAN, Exact
from tileblas.check.level1_oracles import (
    asum,
    axpby,
    axpydot,
    dsdot,
    iamax,
    iamin,
    rot,
    rotm,
    sdsdot,
)
from tileblas.check.oracle import reference, references
from tileblas.check.rotation_oracles import rotg, rotmg
from tileblas.check.tolerance import hard_bar, judge
from tileblas.core.dtypes import DTYPES

NAN_, INF = float("nan"), float("inf")


def exactly(*terms):
    """The sum of products of floats, as a fraction."""
    return sum(Fraction(float(p)) * Fraction(float(q)) for p, q in terms)


def distance(expected, exact) -> Fraction:
    """The error of value + tail at the only element, relative to the gauge."""
    got = Fraction(float(expected.value[0])) + Fraction(float(expected.tail[0]))
    return abs(got - exact) / Fraction(float(expected.gauge[0]))


def test_updates_have_100_bits():
    x, y, a, b = np.random.default_rng(1).standard_normal((4, 1))
    got = axpby(x, y, "float64", a[0], b[0])
    assert distance(got, exactly((a[0], x[0]), (b[0], y[0]))) < Fraction(1, 2**100)
    got = rot(x, y, "float64", a[0], b[0])
    assert distance(got["x"], exactly((a[0], x[0]), (b[0], y[0]))) < Fraction(1, 2**100)
    assert distance(got["y"], exactly((a[0], y[0]), (-b[0], x[0]))) < Fraction(1, 2**100)


def test_rotations_with_a_complex_s():
    x, y = np.array([1 + 2j]), np.array([3 - 1j])
    got = rot(x, y, "float64", 2.0, 1 - 1j)
    assert got["x"].value == 2 * x + (1 - 1j) * y
    assert got["y"].value == 2 * y - (1 + 1j) * x


@pytest.mark.parametrize(
    ("param", "x", "y"),
    [
        ((-1, 2, -3, 4, 5), 14, 12),
        ((0, NAN_, 2, -3, NAN_), -8, 5),
        ((1, 5, NAN_, NAN_, -4), 8, -13),
    ],
)
def test_the_flags_of_modified_rotations(param, x, y):
    got = rotm(np.ones(2), np.full(2, 3.0), "float64", *param)
    assert got["x"].value.tolist() == [x, x]
    assert got["y"].value.tolist() == [y, y]
    assert (got["x"].kind == FINITE).all()


def test_moved_elements_are_exact():
    x, y = np.array([NAN_, 1.0]), np.ones((3, 2))
    got = references("copy", {"x": x, "y": y}, {}, {}, "float64")["y"]
    assert isinstance(got, Exact)
    assert judge(np.stack([x] * 3), got, DTYPES["float64"]).passed
    other = np.stack([x] * 3)
    other.view(np.uint64)[2, 0] ^= 1
    assert judge(other, got, DTYPES["float64"]).where == (2, 0)
    assert isinstance(rotm(x, x, "float64", -2)["x"], Exact)


@pytest.mark.parametrize(
    ("x", "largest", "smallest"),
    [
        ([5, INF, NAN_, 8, NAN_], 2, 2),
        ([5, INF, -INF, 5], 1, 0),
        ([3, -4, 4, 1, -1], 1, 3),
        ([3 + 1j, 2 - 3j, 1j], 1, 2),
        ([1e308 * (1 + 1j), 1.5e308 * (1 + 1j), 1.5e308 * (1 + 1j)], 1, 0),
        ([1e308 * (1 + 1j), complex(1, INF)], 1, 0),
        ([1.7e308, 1e308 * (1 + 1j)], 1, 0),
    ],
)
def test_places(x, largest, smallest):
    assert iamax(np.array(x), "float64").value == largest
    assert iamin(np.array(x), "float64").value == smallest


def test_magnitudes_are_rounded_in_the_compute_type():
    """1 + 2^-30 is 1 in float32, so that the first of the two counts."""
    x = np.array([1, 1 + 2.0**-30 * 1j], np.complex64)
    assert iamax(x, "float32").value == 0
    assert iamax(x.astype(complex), "float64").value == 1


def test_sums_of_magnitudes():
    got = asum(np.array([[3 - 4j, 1j], [NAN_, INF], [INF, 1]]), "float64")
    assert got.kind.tolist() == [FINITE, NAN, INFINITE]
    assert (got.value[0], got.gauge[0], got.terms) == (8, 8, 4)


def test_sums_in_double_precision_have_its_bar():
    x, y = np.random.default_rng(2).standard_normal((2, 100)).astype(np.float32)
    got = dsdot(x, y, "float32")
    assert abs(got.value - x.astype(float) @ y) <= hard_bar(got, DTYPES["float64"])
    single = sdsdot(x, y, "float32", alpha=-float(got.value))
    assert hard_bar(single, DTYPES["float32"]) < 200 * 2.0**-53 * got.gauge


def test_r_follows_the_z_that_was_found():
    w, v, u = np.array([1.0]), np.array([2.0]), np.array([3.0])
    got = axpydot(w, v, u, "float64", alpha=2.0)
    assert (got["z"].value, got["r"].value) == (-3, -9)
    got = axpydot(w, v, u, "float64", alpha=2.0, found={"z": np.array([5.0])})
    assert (got["z"].value, got["r"].value) == (-3, 15)


def test_the_reference_of_several_outputs_is_that_of_the_last():
    operands = {name: np.ones(2) for name in "wvu"}
    assert reference("axpydot", operands, {"alpha": 3}, {}, "float64").value == -4


def test_rotations_of_numbers_beyond_the_range():
    got = rotg(np.array(1.5e308), np.array(-1.5e308), "float64")
    assert got["r"].kind == INFINITE
    assert got["r"].value == -INF
    assert got["c"].value == -np.sqrt(0.5)
    got = rotg(np.array([5e-324]), np.array([-1e308]), "float64")
    assert [got[name].value[0] for name in "csrz"] == [0, 1, -1e308, 1]
    got = rotg(np.zeros((2, 0)), np.zeros((2, 0)), "float64")
    assert {x.value.shape for x in got.values()} == {(2, 0)}


def test_modified_rotations_end():
    numbers = [np.array(x) for x in (INF, 1.0, 1.0, 1.0)]
    got = rotmg(*numbers, "float64")
    assert got["param"].value.tolist() == [0, 0, -1, 0, 0]
    assert got["d1"].kind == INFINITE
    numbers = [np.array(x) for x in (2.0**-1074, 2.0**1023, 3.0, 2.0**-500)]
    got = rotmg(*numbers, "float64")
    assert got["param"].value[0] == -1
    assert 2.0**-24 <= got["d1"].value < 2.0**24
