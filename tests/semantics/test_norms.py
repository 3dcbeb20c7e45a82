"""nrm2: NaN before Inf, no square that overflows or underflows, and a result that is real."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import tileblas as tb
from tileblas.check.tolerance import finfo
from tileblas.core.dtypes import DTYPES, numpy_dtype

pytestmark = pytest.mark.usefixtures("backend")

TYPES = {name: numpy_dtype(row) for name, row in DTYPES.items()}
NAN, INF = float("nan"), float("inf")
each_dtype = pytest.mark.parametrize("dtype", TYPES)


def exact_norm(x) -> Fraction:
    """sqrt(sum |x_i|^2) to a thousand bits, by integers."""
    z = np.asarray(x).astype(complex)
    squares = sum(Fraction(float(part)) ** 2 for part in (*z.real, *z.imag))
    bits = 2200  # the square of the smallest subnormal of float64 is 2^-2148
    return Fraction(math.isqrt(int(squares * 4**bits)), 2**bits)


def close(got, x, dtype):
    """Whether a norm is right to a few units in the last place."""
    u, tiny, _ = finfo(DTYPES[dtype].real)
    exact = exact_norm(x)
    error = abs(Fraction(float(got)) - exact)
    return error <= 4 * Fraction(u) * exact + Fraction(tiny)


@each_dtype
@pytest.mark.parametrize(
    ("values", "norm"), [([3, 4], 5), ([2, -3, 6], 7), ([1, 4, 8], 9), ([0] * 5, 0), ([-7], 7)]
)
def test_whole_norms(dtype, values, norm):
    got = tb.nrm2(np.array(values, TYPES[dtype]))
    assert got.dtype == TYPES[DTYPES[dtype].real]
    assert got == norm


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_both_parts_count(dtype):
    assert tb.nrm2(np.array([2 - 3j, -6j], dtype)) == 7


@each_dtype
@pytest.mark.parametrize("n", [1, 2, 5, 33, 300])
def test_norms_of_ordinary_numbers(dtype, n):
    random = np.random.default_rng(n)
    x = random.standard_normal(n).astype(TYPES[dtype])
    if DTYPES[dtype].is_complex:
        x.imag = random.standard_normal(n)
    for view in (x, x[::-1], x[::-2], x[1:]):
        assert close(tb.nrm2(view), view, dtype)


@each_dtype
def test_an_increment_of_0_repeats_one_element(dtype):
    one = np.full(1, -3, TYPES[dtype])
    assert tb.nrm2(np.broadcast_to(one, 16)) == 12
    assert tb.nrm2(np.broadcast_to(one, 1)) == 3


@pytest.mark.parametrize(
    ("dtype", "n"), [("float16", 4096), ("bfloat16", 4096), ("float32", 2**16)]
)
def test_sums_do_not_stall(dtype, n):
    """A sum of ones in float16 stalls at 2048, in bfloat16 at 256."""
    assert tb.nrm2(np.ones(n, TYPES[dtype])) == math.isqrt(n)


# ---- NaN and Inf --------------------------------------------------------------------------------


@each_dtype
@pytest.mark.parametrize("n", [1, 2, 3, 70])
def test_nan_wins_over_everything(dtype, n):
    """One, two or three NaNs, first, in the middle and last, with and without Inf at the ends."""
    places = sorted({0, n // 2, n - 1})
    for count in range(1, len(places) + 1):
        for where in itertools.combinations(places, count):
            for ends in (1, INF, -INF):
                x = np.ones(n, TYPES[dtype])
                x[[0, -1]] = ends
                x[list(where)] = NAN
                assert np.isnan(float(tb.nrm2(x)))


@each_dtype
@pytest.mark.parametrize("n", [1, 2, 100])
@pytest.mark.parametrize("infinity", [INF, -INF])
def test_infinity_wins_over_every_number(dtype, n, infinity):
    _, _, largest = finfo(DTYPES[dtype].real)
    for where in {0, n // 2, n - 1}:
        x = np.full(n, largest, TYPES[dtype])
        x[where] = infinity
        assert tb.nrm2(x) == INF


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_nan_and_inf_in_either_part(dtype):
    for special, test in ((NAN, np.isnan), (INF, np.isposinf), (-INF, np.isposinf)):
        for part in ("real", "imag"):
            x = np.ones(5, dtype)
            getattr(x, part)[3] = special
            assert test(tb.nrm2(x))
    mixed = np.array([complex(INF, NAN), 1], dtype)
    assert np.isnan(tb.nrm2(mixed))


# ---- the ends of the range ----------------------------------------------------------------------


@each_dtype
@pytest.mark.parametrize("n", [1, 2, 9, 100])
def test_squares_neither_overflow_nor_underflow(dtype, n):
    """Numbers whose squares are beyond the range, up to a norm at the end of it."""
    u, tiny, largest = finfo(DTYPES[dtype].real)
    parts = 2 * n if DTYPES[dtype].is_complex else n
    for scale in (
        largest / 2 / parts**0.5,
        largest**0.5,
        (tiny / u) ** 0.5,
        tiny / u,
        9 * tiny,
        tiny,
    ):
        x = np.full(n, scale, TYPES[dtype])
        if DTYPES[dtype].is_complex:
            x.imag = -x.real
        assert close(tb.nrm2(x), x, dtype)
        assert np.isfinite(float(tb.nrm2(x)))


@each_dtype
def test_numbers_of_every_magnitude_in_one_vector(dtype):
    """Big ones make small ones not count, wherever they are."""
    u, tiny, largest = finfo(DTYPES[dtype].real)
    scales = [largest / 4, largest**0.5, 1, (tiny / u) ** 0.5, tiny / u, 3 * tiny]
    for start in range(len(scales)):
        x = np.array(scales[start:] * 2, TYPES[dtype])
        for view in (x, x[::-1]):
            assert close(tb.nrm2(view), view, dtype)


@each_dtype
def test_a_norm_beyond_the_largest_number_is_infinite(dtype):
    _, _, largest = finfo(DTYPES[dtype].real)
    assert tb.nrm2(np.full(2, largest, TYPES[dtype])) == INF
    assert tb.nrm2(np.full(1, largest, TYPES[dtype])) == largest
