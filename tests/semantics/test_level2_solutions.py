"""The oracle of solves: what it says of a solution, and how residuals are judged."""

import itertools

import numpy as np
import pytest
from exact_matrices import TRIANGULAR, N, conj, exactly, random, times, total, triangular

from tileblas.check.evaluation import ANY, FINITE, INFINITE, NAN, NONFINITE, Solution
from tileblas.check.oracle import reference, references
from tileblas.check.tolerance import judge
from tileblas.core.dtypes import DTYPES

NAN_, INF = float("nan"), float("inf")
D, Z = DTYPES["float64"], DTYPES["complex128"]
each_size = pytest.mark.parametrize("n", [1, 2, N])
each_triangle = pytest.mark.parametrize(
    ("uplo", "trans", "diag"), list(itertools.product("UL", "NTC", "NU"))
)


def solved(elements, b, n, lower):
    """Substitution in exact fractions."""
    x = [None] * n
    for i in range(n) if lower else reversed(range(n)):
        known = [times(value, x[j]) for (r, j), value in elements.items() if r == i and j != i]
        rest = total([exactly(b[i]), *((-p, -q) for p, q in known)])
        d = elements[i, i]
        size = d[0] ** 2 + d[1] ** 2
        x[i] = tuple(part / size for part in times(rest, conj(d)))
    return x


@each_size
@each_triangle
@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize(("prefix", "storage"), TRIANGULAR)
def test_solutions(prefix, storage, is_complex, n, uplo, trans, diag):
    """The right one passes, with any element changed it does not."""
    name, array, elements = triangular(storage, n, uplo, trans, diag, is_complex)
    b = random((n,), is_complex, 1)
    options = {"uplo": uplo, "trans": trans, "diag": diag}
    expected = references(prefix + "sv", {name: array, "x": b}, {}, options, "float64")["x"]
    assert isinstance(expected, Solution)
    exact = solved(elements, b, n, (uplo == "L") == (trans == "N"))
    x = np.array([complex(*(float(part) for part in z)) for z in exact])
    x, dtype = (x, Z) if is_complex else (x.real, D)
    np.testing.assert_allclose(expected.value, x, rtol=1e-12)
    verdict = judge(x, expected, dtype)
    assert verdict.passed
    assert verdict.ratio < 0.1
    for i in range(n):
        wrong = x.copy()
        wrong[i] += 1e-12 * abs(x).max()
        assert not judge(wrong, expected, dtype).passed


def solution(a, b, **options):
    return references("trsv", {"a": np.array(a), "x": np.array(b)}, {}, options, "float64")["x"]


def test_the_bar_of_a_residual_is_the_stated_one():
    """16 eps |A| |x| for up to 9 unknowns, (n + 2) eps beyond."""
    for n, factor in ((1, 16), (9, 16), (10, 12), (40, 42)):
        expected = solution(np.eye(n), np.ones(n))
        for error, passed in ((factor - 1, True), (factor + 1, False)):
            x = np.ones(n)
            x[-1] += error * 2.0**-52
            assert judge(x, expected, D).passed is passed


def test_an_exact_solution_has_no_residual():
    a = np.array([[2.0, 3], [NAN_, 4]])
    expected = solution(a, a[:, 1] * [1, 1] + [2, 0])
    x = np.array([1.0, 1.0])
    assert judge(x, expected, D, exact=True).ratio == 0
    x[0] = np.nextafter(1, 2)
    assert judge(x, expected, D).passed
    assert not judge(x, expected, D, exact=True).passed


def test_a_large_solution_is_judged_by_its_residual():
    """Elements of 2^50 cancel to 1: their own errors do not count, that of the row does."""
    n = 51
    a = np.where(np.arange(n)[:, None] < np.arange(n), -1.0, np.eye(n))
    expected = solution(a, np.ones(n))
    x = 2.0 ** np.arange(n)[::-1]
    assert judge(x, expected, D, exact=True).passed
    assert judge(x * (1 + 2.0**-50), expected, D).passed
    x[-1] = 0
    assert not judge(x, expected, D).passed


def test_subnormal_solutions_may_lose_what_underflows():
    tiny = 5e-324
    expected = solution([[16.0]], [7 * tiny])
    assert judge(np.zeros(1), expected, D).passed
    assert not judge(np.array([3 * tiny]), expected, D).passed


@pytest.mark.parametrize(
    ("a", "b", "kinds", "infinity"),
    [
        ([[0.0]], [0.0], [NAN], None),
        ([[0.0]], [-2.0], [INFINITE], -INF),
        ([[1.0, 0], [0, 0]], [1.0, 1], [NAN, INFINITE], INF),  # 0 Inf
        ([[1.0, 2], [0, 0]], [1.0, 1], [INFINITE, INFINITE], INF),
        ([[1.0, NAN_], [0, 1]], [1.0, 0], [NAN, FINITE], None),  # NaN 0
        ([[1.0, 5], [NAN_, 1]], [1.0, 0], [FINITE, FINITE], None),  # the other triangle
        ([[1.0, 5], [0, INF]], [1.0, 3], [FINITE, FINITE], None),  # 3 / Inf
        ([[INF]], [INF], [NAN], None),
        ([[1.0, 1], [0, 1]], [1.0, NAN_], [NAN, NAN], None),
        ([[1.0, 1], [0, 1e-300]], [1.0, 1e300], [ANY, ANY], None),  # overflows
        ([[1j]], [NAN_], [NONFINITE], None),
        ([[0j]], [1 + 1j], [NONFINITE], None),
        ([[1 + 0j, 1], [0, complex(INF, 0)]], [1, 1j], [ANY, ANY], None),
    ],
)
def test_kinds_of_solutions(a, b, kinds, infinity):
    expected = solution(a, b)
    assert expected.kind.tolist() == kinds
    if INFINITE in kinds:
        assert expected.value[kinds.index(INFINITE)] in (infinity, -infinity)
        assert expected.value[-1] == infinity


def test_solutions_that_are_not_finite_are_judged_by_kind():
    expected = solution([[1.0, 2], [0, 0]], [1.0, 1])
    assert judge(np.array([-INF, INF]), expected, D).passed
    for wrong in ([INF, INF], [NAN_, INF], [-INF, 1e308], [0, INF]):
        assert not judge(np.array(wrong), expected, D).passed
    by_infinity = solution([[INF]], [3.0])
    assert judge(np.zeros(1), by_infinity, D).passed
    assert not judge(np.ones(1), by_infinity, D).passed


def test_stacks_of_matrices_and_vectors():
    a = np.stack([np.triu(random((3, 3), False, seed)) + 2 * np.eye(3) for seed in range(2)])
    b = random((4, 2, 3), False, 5)
    expected = solution(a, b)
    x = np.linalg.solve(np.broadcast_to(a, (4, 2, 3, 3)), b[..., None])[..., 0]
    assert judge(x, expected, D).passed
    x[3, 1, 0] += 1e-12
    assert judge(x, expected, D).where == (3, 1, 0)
    got = reference("trmv", {"a": a, "x": b}, {}, {}, "float64")
    np.testing.assert_allclose(got.value, np.einsum("bij,abj->abi", a, b), rtol=1e-13)
    assert got.quality.shape == (4, 2)
    got = reference("syr", {"x": b, "a": np.zeros((4, 2, 3, 3))}, {}, {}, "float64")
    np.testing.assert_allclose(got.value[..., 0, 2], b[..., 0] * b[..., 2], rtol=1e-14)
