"""The oracle itself, against exact rational numbers and against rules written out by hand."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from tileblas.check import oracle
from tileblas.check.arithmetic import Double, DoubleDouble, Rational, halves, product_error, two_sum
from tileblas.check.evaluation import FINITE, INFINITE, NAN, NONFINITE
from tileblas.check.level1_oracles import dot, nrm2, scal
from tileblas.check.oracle import reference

NAN_, INF = float("nan"), float("inf")


def fractions(x):
    """An array as nested pairs (re, im) of exact fractions."""
    x = np.asarray(x)
    return np.vectorize(
        lambda z: (Fraction(float(z.real)), Fraction(float(z.imag))), otypes=[object]
    )(x)


def times(p, q):
    return p[0] * q[0] - p[1] * q[1], p[0] * q[1] + p[1] * q[0]


def plus(p, q):
    return p[0] + q[0], p[1] + q[1]


def exact_gemm(a, b, c, alpha, beta):
    """alpha a b + beta c of small matrices, element by element in exact arithmetic."""
    a, b, c = fractions(a), fractions(b), fractions(c)
    alpha, beta = fractions(alpha)[()], fractions(beta)[()]
    out = np.empty(c.shape, object)
    for i, j in np.ndindex(c.shape):
        total = (Fraction(0), Fraction(0))
        for p in range(a.shape[1]):
            total = plus(total, times(a[i, p], b[p, j]))
        out[i, j] = plus(times(alpha, total), times(beta, c[i, j]))
    return out


def random(shape, is_complex, seed, scale=1.0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) * scale
    return x + 1j * rng.standard_normal(shape) * scale if is_complex else x


def distance(expected: oracle.Reference, exact) -> Fraction:
    """The largest error of value + tail over the gauge."""
    worst = Fraction(0)
    for index in np.ndindex(exact.shape):
        re, im = exact[index]
        got = np.asarray(expected.value[index]), np.asarray(expected.tail[index])
        error = abs(Fraction(float(got[0].real)) + Fraction(float(got[1].real)) - re)
        error += abs(Fraction(float(got[0].imag)) + Fraction(float(got[1].imag)) - im)
        gauge = Fraction(float(expected.gauge[index]))
        worst = max(worst, error / gauge if gauge else error)
    return worst


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize(
    "scale", [1.0, 1e-290, 1e160, 2.0**-1060], ids=["1", "tiny", "big", "subnormal"]
)
def test_float64_results_have_100_bits(is_complex, scale):
    a, b, c = (random(s, is_complex, i) for i, s in enumerate([(3, 6), (6, 4), (3, 4)]))
    a = a * scale
    alpha, beta = (0.7 - 0.9j, 1.3 - 1.1j) if is_complex else (0.7, 1.3)
    scalars = {"alpha": alpha, "beta": beta}
    got = reference("gemm", {"a": a, "b": b, "c": c}, scalars, {}, "float64")
    exact = exact_gemm(a, b, c, alpha, beta)
    assert distance(got, exact) < Fraction(1, 2**100)
    assert (got.kind == FINITE).all()


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
def test_float32_results_have_50_bits(is_complex):
    kind = np.complex64 if is_complex else np.float32
    a, b, c = (
        random(s, is_complex, i).astype(kind) for i, s in enumerate([(3, 6), (6, 4), (3, 4)])
    )
    got = reference("gemm", {"a": a, "b": b, "c": c}, {"alpha": 0.7, "beta": 1.3}, {}, "float32")
    alpha, beta = float(np.float32(0.7)), float(np.float32(1.3))
    assert distance(got, exact_gemm(a, b, c, alpha, beta)) < Fraction(1, 2**50)


def test_cancellation_is_seen_to_the_last_bit():
    x = np.array([1e16, 1.0, -1e16, 2.0**-40])
    y = np.array([1.0, 2.0**-60, 1.0, 2.0**-40])
    got = dot(x, y, "float64")
    assert got.value == 2.0**-60 + 2.0**-80
    assert got.gauge == 2e16 + 2.0**-60 + 2.0**-80


def test_long_sums_of_float64_are_exact_enough():
    random = np.random.default_rng(0)
    x, y = random.standard_normal((2, 50_001))
    got = dot(x, y, "float64")
    exact = sum(Fraction(p) * Fraction(q) for p, q in zip(x.tolist(), y.tolist(), strict=True))
    error = abs(Fraction(float(got.value)) + Fraction(float(got.tail)) - exact)
    assert error < Fraction(float(got.gauge)) / 2**90


def test_error_free_transformations_are_error_free():
    random = np.random.default_rng(3)
    a, b = random.standard_normal((2, 200)) * 2.0 ** random.integers(-200, 200, (2, 200))
    s, e = two_sum(a, b)
    p = a * b
    f = product_error(p, halves(a), halves(b))
    for i in range(a.size):
        left, right = Fraction(a[i]), Fraction(b[i])
        assert Fraction(s[i]) + Fraction(e[i]) == left + right
        assert Fraction(p[i]) + Fraction(f[i]) == left * right


def test_the_three_arithmetics_agree():
    random = np.random.default_rng(4)
    a, b = (
        random.integers(-50, 50, (2, 3, 5)).astype(float),
        random.integers(-50, 50, (5, 4)).astype(float),
    )
    results = [kind.split(kind.contract(a, b)) for kind in (Double, DoubleDouble, Rational)]
    for high, low in results:
        np.testing.assert_array_equal(high, results[0][0])
        assert not low.any()


# ---- norms, scaled vectors, matrix-vector products -----------------------------------------------


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("n", [1, 2, 50])
@pytest.mark.parametrize("scale", [1.0, 1e-300, 1e-160, 1e160, 1e300, 2.0**-1040])
def test_norms_of_float64_have_more_bits_than_float64(is_complex, n, scale):
    """100 bits, as far as the subnormal numbers let value and tail hold them."""
    x = random((n,), is_complex, n, scale)
    got = reference("nrm2", {"x": x}, {}, {}, "float64")
    squares = sum(re**2 + im**2 for re, im in fractions(x))
    exact = Fraction(math.isqrt(int(squares * 4**2400)), 2**2400)
    error = abs(Fraction(float(got.value)) + Fraction(float(got.tail)) - exact)
    assert error < exact / 2**100 + Fraction(5e-324)
    assert (got.kind, got.terms) == (FINITE, 2 * n if is_complex else n)
    assert got.gauge == got.value
    assert got.reach == 0


def test_norms_of_float32_have_50_bits():
    x = random((300,), True, 1).astype(np.complex64) * np.float32(1e-30)
    got = reference("nrm2", {"x": x}, {}, {}, "float32")
    squares = sum(re**2 + im**2 for re, im in fractions(x))
    exact = Fraction(math.isqrt(int(squares * 4**400)), 2**400)
    assert abs(Fraction(float(got.value)) + Fraction(float(got.tail)) - exact) < exact / 2**50


def test_small_elements_count_beside_large_ones():
    """1 + 2^-100 differs from 1 far below float64, and half of that is in the tail."""
    got = nrm2(np.array([1.0, 2.0**-50]), "float64")
    assert (got.value, got.tail) == (1.0, 2.0**-101)


@pytest.mark.parametrize(
    ("x", "kind", "value"),
    [
        ([], FINITE, 0),
        ([0, 0], FINITE, 0),
        ([3, 4], FINITE, 5),
        ([5e-324], FINITE, 5e-324),
        ([1.5e308, -1.5e308], INFINITE, INF),
        ([-INF, 1], INFINITE, INF),
        ([INF, NAN_], NAN, None),
        ([complex(0, -INF), 1], INFINITE, INF),
        ([complex(INF, NAN_), 1], NAN, None),
    ],
)
def test_rules_of_norms(x, kind, value):
    got = nrm2(np.array(x), "float64")
    assert got.kind == kind
    assert value is None or got.value == value


def test_norms_are_those_of_the_last_axis():
    x = np.array([[[3.0, 4.0], [5.0, 12.0]], [[8.0, 15.0], [0.0, 1.0]]])
    np.testing.assert_array_equal(nrm2(x, "float64").value, [[5, 13], [17, 1]])


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
def test_scaled_vectors(is_complex):
    x, alpha = random((2, 7), is_complex, 3), (0.7 - 0.9j if is_complex else 0.7)
    got = reference("scal", {"x": x}, {"alpha": alpha}, {}, "float64")
    exact = exact_gemm(x, np.eye(7), np.zeros((2, 7)), alpha, 0)
    assert distance(got, exact) < Fraction(1, 2**100)
    assert got.value.shape == (2, 7)


@pytest.mark.parametrize(
    ("alpha", "x", "kind", "value"),
    [
        (0, 5, FINITE, 0),
        (0, NAN_, NAN, None),  # multiplied, not dropped
        (0, INF, NAN, None),
        (INF, 0, NAN, None),
        (INF, -2, INFINITE, -INF),
        (NAN_, 0, NAN, None),
        (-2, INF, INFINITE, -INF),
        (1, NAN_, NAN, None),
        (0j, complex(1, INF), NAN, None),
        (2j, complex(NAN_, 1), NAN, None),
        (2j, complex(1, INF), NONFINITE, None),
        (complex(0, NAN_), 1 + 0j, NAN, None),
    ],
)
def test_rules_of_scaled_vectors(alpha, x, kind, value):
    got = scal(np.array([x]), "float64", alpha=alpha)
    assert got.kind == kind
    assert value is None or got.value == value


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("trans", ["N", "T", "C"])
def test_matrix_vector_products(is_complex, trans):
    a, x, y = (random(s, is_complex, i) for i, s in enumerate([(3, 5), (5,), (3,)]))
    stored = {"N": a, "T": a.T, "C": a.conj().T}[trans]
    scalars = {"alpha": 0.7, "beta": 1.3 - 1.1j if is_complex else 1.3}
    got = reference("gemv", {"a": stored, "x": x, "y": y}, scalars, {"trans": trans}, "float64")
    exact = exact_gemm(a, x[:, None], y[:, None], *scalars.values())[:, 0]
    assert distance(got, exact) < Fraction(1, 2**100)
    assert (got.value.shape, got.core, got.terms) == ((3,), 1, 5)
    assert got.quality.shape == ()


def test_stacks_of_matrices_and_vectors_broadcast():
    a, x = random((2, 1, 3, 4), False, 1), random((5, 4), False, 2)
    got = oracle.gemv(a, x, "float64")
    np.testing.assert_allclose(got.value, np.einsum("aij,bj->abi", a[:, 0], x), rtol=1e-13)
    assert got.quality.shape == (2, 5)


def test_matrix_vector_products_of_nothing():
    """n = 0 leaves beta y, as an array interface has to; alpha = 0 drops the product."""
    a, x, y = np.ones((2, 0)), np.ones(0), np.array([1.0, NAN_])
    got = oracle.gemv(a, x, "float64", y=y, alpha=NAN_, beta=3.0)
    assert got.kind.tolist() == [FINITE, NAN]
    assert got.value[0] == 3
    got = oracle.gemv(a, x, "float64", y=y, beta=0.0)
    assert got.kind.tolist() == [FINITE, FINITE]
    assert got.value.tolist() == [0, 0]
    bad = np.full((2, 2), NAN_)
    got = oracle.gemv(bad, bad[0], "float64", y=np.ones(2), alpha=0.0, beta=2.0)
    assert got.value.tolist() == [2, 2]


# ---- rules --------------------------------------------------------------------------------------


def gemm(a, b, c=None, compute="float64", **more):
    operands = {"a": np.array(a), "b": np.array(b)} | ({} if c is None else {"c": np.array(c)})
    scalars = {key: more.pop(key) for key in ("alpha", "beta") if key in more}
    return reference("gemm", operands, scalars, more, compute)


@pytest.mark.parametrize(("trans_a", "trans_b"), list(itertools.product("NTC", repeat=2)))
def test_transposes(trans_a, trans_b):
    a, b = random((2, 3), True, 1), random((3, 4), True, 2)
    turn = {"N": lambda x: x, "T": np.transpose, "C": lambda x: x.conj().T}
    stored = turn[trans_a](a), turn[trans_b](b)
    got = gemm(*stored, trans_a=trans_a, trans_b=trans_b)
    np.testing.assert_allclose(got.value, a @ b, rtol=1e-14)


def test_batches_broadcast():
    a, b = random((2, 1, 3, 4), False, 1), random((5, 4, 2), False, 2)
    np.testing.assert_allclose(gemm(a, b).value, a @ b, rtol=1e-13, atol=1e-15)
    x, y = random((2, 1, 7), True, 3), random((5, 7), True, 4)
    np.testing.assert_allclose(
        dot(x, y, "float64", conj=True).value, (x.conj() * y).sum(-1), rtol=1e-13, atol=1e-15
    )


def test_alpha_zero_removes_the_product():
    got = gemm([[NAN_, INF]], [[1.0], [1.0]], [[3.0]], alpha=0, beta=2)
    assert (got.value, got.kind, got.gauge) == (6, FINITE, 6)


def test_beta_zero_removes_the_old_value():
    got = gemm([[1.0, 2.0]], [[1.0], [1.0]], [[NAN_]], beta=0)
    assert (got.value, got.kind) == (3, FINITE)


def test_an_empty_sum_is_no_term():
    got = gemm(np.ones((2, 0)), np.ones((0, 2)), np.ones((2, 2)), alpha=NAN_, beta=3)
    assert (got.value == 3).all()
    assert (got.kind == FINITE).all()


def test_scalars_are_rounded_to_the_compute_type():
    one = np.ones((1, 1), np.float16)
    assert gemm(one, one, one, compute="float32", alpha=0.1, beta=0).value == float(np.float32(0.1))
    assert gemm(one, one, one, alpha=0.1, beta=0).value == 0.1
    assert gemm(one, one, one, compute="float32", alpha=1e-60, beta=1).value == 1


@pytest.mark.parametrize(
    ("a", "b", "kind", "value"),
    [
        ([1, NAN_], [0, 0], NAN, None),
        ([INF, 1], [0, 1], NAN, None),  # Inf * 0
        ([INF, 1], [2, 1], INFINITE, INF),
        ([INF, 1], [-2, 1], INFINITE, -INF),
        ([INF, INF], [1, -1], NAN, None),
        ([INF, 1e308], [1, -1e308], INFINITE, INF),  # finite terms cannot outweigh an infinity
        ([1e308, 1e308], [1, -1], FINITE, 0),
    ],
)
def test_exceptional_values_of_real_sums(a, b, kind, value):
    got = dot(np.array(a, float), np.array(b, float), "float64")
    assert got.kind == kind
    assert value is None or got.value == value


@pytest.mark.parametrize(
    ("alpha", "beta", "kind"),
    [(NAN_, 0, NAN), (1, NAN_, NAN), (INF, 0, NONFINITE), (1, INF, INFINITE), (1, -INF, INFINITE)],
)
def test_exceptional_scalars(alpha, beta, kind):
    got = gemm([[1.0, 2.0]], [[1.0], [1.0]], [[5.0]], alpha=alpha, beta=beta)
    assert got.kind == kind
    assert kind != INFINITE or got.value == beta


def test_complex_infinities_may_be_anything_but_finite():
    assert dot(np.array([complex(INF, 0)]), np.array([1j]), "float64").kind == NONFINITE
    assert dot(np.array([complex(NAN_, 0)]), np.array([1j]), "float64").kind == NAN
    both = np.array([complex(NAN_, 0), complex(0, INF)])
    assert dot(both, np.ones(2, complex), "float64").kind == NONFINITE


def test_gauge_uses_sums_of_magnitudes():
    got = gemm([[3 + 4j, 1j]], [[1 - 1j], [2]], [[1 + 1j]], alpha=2j, beta=-3)
    assert got.gauge == 2 * (7 * 2 + 1 * 2) + 3 * 2
    assert got.terms == 2
