"""The oracles of level 2 against exact fractions, element by element as LAPACK stores them.

What no routine may refer to holds NaN in every test.
"""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from tileblas.check.evaluation import ANY, FINITE, INFINITE, NAN, NONFINITE, Solution
from tileblas.check.oracle import reference, references
from tileblas.check.tolerance import judge
from tileblas.core.dtypes import DTYPES
from tileblas.routines.registry import ROUTINES

NAN_, INF = float("nan"), float("inf")
N, K = 5, 2
D, Z = DTYPES["float64"], DTYPES["complex128"]
each_uplo = pytest.mark.parametrize("uplo", "UL")
each_size = pytest.mark.parametrize("n", [1, 2, N])


def exactly(z):
    """A number as exact real and imaginary parts."""
    return Fraction(float(z.real)), Fraction(float(z.imag))


def times(p, q):
    return p[0] * q[0] - p[1] * q[1], p[0] * q[1] + p[1] * q[0]


def conj(p):
    return p[0], -p[1]


def total(terms):
    return tuple(sum(part) for part in zip((Fraction(0),) * 2, *terms, strict=True))


def random(shape, is_complex, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return x + 1j * rng.standard_normal(shape) if is_complex else x


def triangle(n, uplo):
    """The places (i, j) of one triangle, column by column."""
    return [(i, j) for j in range(n) for i in range(n) if (i <= j if uplo == "U" else i >= j)]


def stored(places, uplo, storage, n, value):
    """(array, places that it holds) for a triangle: cells that hold no element of it are NaN."""
    if storage == "packed":
        return np.array([value(i, j) for i, j in places]), places
    if storage == "band":
        places = [(i, j) for i, j in places if abs(i - j) <= K]
        array = np.full((K + 1, n), NAN_ + 0 * value(0, 0))
        for i, j in places:
            array[K + i - j if uplo == "U" else i - j, j] = value(i, j)
        return array, places
    array = np.full((n, n), NAN_ + 0 * value(0, 0))
    for i, j in places:
        array[i, j] = value(i, j)
    return array, places


def distance(expected, exact, where=None):
    """The largest error of value + tail over the gauge."""
    worst = Fraction(0)
    for index in np.ndindex(expected.value.shape) if where is None else where:
        got = exactly(expected.value[index]), exactly(expected.tail[index])
        error = sum(abs(p + q - r) for p, q, r in zip(*got, exact[index], strict=True))
        gauge = Fraction(float(expected.gauge[index]))
        worst = max(worst, error / gauge if gauge else error)
    return worst


def check(expected, exact, where=None):
    assert distance(expected, exact, where) < Fraction(1, 2**100)


def rows(elements, x, n):
    """sum_j A[i, j] x[j] for each i, over the elements that there are."""
    return {
        (i,): total(times(value, exactly(x[j])) for (r, j), value in elements.items() if r == i)
        for i in range(n)
    }


def combined(alpha, product, beta, y):
    """alpha product + beta y."""
    alpha, beta = exactly(alpha), exactly(beta)
    return {
        index: total((times(alpha, value), times(beta, exactly(y[index]))))
        for index, value in product.items()
    }


# ---- products -----------------------------------------------------------------------------------

MIRRORED = [
    ("symv", "", False),
    ("symv", "", True),
    ("sbmv", "band", False),
    ("sbmv", "band", True),
    ("spmv", "packed", False),
    ("spmv", "packed", True),
    ("hemv", "", True),
    ("hbmv", "band", True),
    ("hpmv", "packed", True),
    ("skewsymv", "", False),
]


@each_uplo
@each_size
@pytest.mark.parametrize(("routine", "storage", "is_complex"), MIRRORED)
def test_mirrored_products(routine, storage, is_complex, n, uplo):
    values, (x, y) = random((n, n), is_complex), random((2, n), is_complex, 1)
    places = triangle(n, uplo)
    hermitian, skew = routine[0] == "h", routine == "skewsymv"
    if skew:
        places = [(i, j) for i, j in places if i != j]

    def value(i, j):  # the imaginary part of a Hermitian diagonal is not referred to
        z = values[i, j]
        return complex(z.real, NAN_) if hermitian and i == j else z

    array, places = stored(places, uplo, storage, n, value)
    elements = {}
    for i, j in places:
        z = exactly(values[i, j])
        if i == j:
            elements[i, i] = (z[0], Fraction(0)) if hermitian else z
        else:
            elements[i, j] = z
            elements[j, i] = conj(z) if hermitian else (-z[0], -z[1]) if skew else z
    alpha, beta = (0.7 - 0.9j, 1.3 - 1.1j) if is_complex else (0.7, 1.3)
    name = "ap" if storage == "packed" else "a"
    got = reference(
        routine,
        {name: array, "x": x, "y": y},
        {"alpha": alpha, "beta": beta},
        {"uplo": uplo},
        "float64",
    )
    check(got, combined(alpha, rows(elements, x, n), beta, y))
    assert (got.kind == FINITE).all()
    widest = max([sum(r == i for r, _ in elements) for i in range(n)])
    assert (got.terms, got.core) == (widest, 1)


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("trans", "NTC")
@pytest.mark.parametrize(("m", "n"), [(4, 6), (6, 4), (1, 3), (5, 5)])
@pytest.mark.parametrize(("kl", "ku"), [(0, 0), (1, 2), (2, 0), (7, 6)])
@pytest.mark.parametrize("told", [False, True])
def test_general_bands(m, n, kl, ku, trans, is_complex, told):
    values = random((m, n), is_complex)
    array = np.full((kl + ku + 1, n), NAN_ + 0 * values[0, 0])
    elements = {}
    for j in range(n):
        for i in range(max(0, j - ku), min(m, j + kl + 1)):
            array[ku + i - j, j] = values[i, j]
            z = exactly(values[i, j])
            place, z = ((i, j), z) if trans == "N" else ((j, i), conj(z) if trans == "C" else z)
            elements[place] = z
    rows_of_op, columns_of_op = (m, n) if trans == "N" else (n, m)
    x, y = random((columns_of_op,), is_complex, 1), random((rows_of_op,), is_complex, 2)
    operands = {"a": array, "x": x} if told else {"a": array, "x": x, "y": y}
    beta = 0 if told else -0.5
    got = reference(
        "gbmv",
        operands,
        {"alpha": 0.7, "beta": beta},
        {"trans": trans, "kl": kl} | ({"m": m} if told else {}),
        "float64",
    )
    assert got.value.shape == (rows_of_op,)
    check(got, combined(0.7, rows(elements, x, rows_of_op), beta, y))


def test_the_rows_of_a_band_are_as_many_as_its_columns_if_nothing_says_otherwise():
    operands = {"a": np.ones((3, 4)), "x": np.ones(4)}
    got = reference("gbmv", operands, {}, {"kl": 1}, "float64")
    assert got.value.tolist() == [2, 3, 3, 2]


TRIANGULAR = [("tr", ""), ("tb", "band"), ("tp", "packed")]


def triangular(storage, n, uplo, trans, diag, is_complex):
    """(name, array, elements of op(A)) of a random triangle, whose unit diagonal is not stored."""
    values = random((n, n), is_complex) + 3 * np.eye(n)
    unit = diag == "U"

    def value(i, j):
        return NAN_ + 0 * values[i, j] if unit and i == j else values[i, j]

    array, places = stored(triangle(n, uplo), uplo, storage, n, value)
    elements = {}
    for i, j in places:
        z = (Fraction(1), Fraction(0)) if unit and i == j else exactly(values[i, j])
        elements[(i, j) if trans == "N" else (j, i)] = conj(z) if trans == "C" else z
    return "ap" if storage == "packed" else "a", array, elements


each_triangle = pytest.mark.parametrize(
    ("uplo", "trans", "diag"), list(itertools.product("UL", "NTC", "NU"))
)


@each_size
@each_triangle
@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize(("prefix", "storage"), TRIANGULAR)
def test_triangular_products(prefix, storage, is_complex, n, uplo, trans, diag):
    name, array, elements = triangular(storage, n, uplo, trans, diag, is_complex)
    x = random((n,), is_complex, 1)
    options = {"uplo": uplo, "trans": trans, "diag": diag}
    got = reference(prefix + "mv", {name: array, "x": x}, {}, options, "float64")
    check(got, rows(elements, x, n))
    assert (got.kind == FINITE).all()


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("trans", "TC")
def test_both_products_of_one_matrix(is_complex, trans):
    a = random((3, 4), is_complex)
    x, z = random((2, 4), is_complex, 1)
    w, y = random((2, 3), is_complex, 2)
    operands = {"a": a, "x": x, "w": w, "y": y, "z": z}
    found = references("gemvt", operands, {"alpha": 0.7, "beta": 2}, {"trans": trans}, "float64")
    forward = {index: exactly(value) for index, value in np.ndenumerate(a)}
    turn = conj if trans == "C" else tuple
    backward = {(j, i): turn(value) for (i, j), value in forward.items()}
    check(found["y"], combined(0.7, rows(forward, x, 3), 2, y))
    check(found["z"], combined(0.7, rows(backward, w, 4), 2, z))
    new = references("gemvt", {"a": a, "x": x, "w": w}, {}, {}, "float64")
    np.testing.assert_allclose(new["z"].value, a.T @ w, rtol=1e-14)


def test_elements_that_are_not_there_do_not_multiply():
    """A NaN of x meets what is stored, and nothing else."""
    x = np.array([NAN_, 1.0, 2.0])
    a = np.array([[1.0, 1, 1], [NAN_, 1, 1], [NAN_, NAN_, 1]])
    got = reference("trmv", {"a": a, "x": x}, {}, {}, "float64")
    assert got.kind.tolist() == [NAN, FINITE, FINITE]
    assert got.value.tolist()[1:] == [3, 2]
    got = reference("skewsymv", {"a": a, "x": x}, {}, {"uplo": "U"}, "float64")
    assert got.kind.tolist() == [FINITE, NAN, NAN]  # its diagonal is no element
    band = np.array([[NAN_, 1.0, 1.0], [1.0, 1.0, 1.0]])
    got = reference("sbmv", {"a": band, "x": x}, {}, {"uplo": "U"}, "float64")
    assert got.kind.tolist() == [NAN, NAN, FINITE]


def test_stored_zeros_do_multiply():
    a, x = np.zeros((2, 2)), np.array([INF, 1.0])
    assert reference("symv", {"a": a, "x": x}, {}, {}, "float64").kind.tolist() == [NAN, NAN]
    assert reference("trmv", {"a": a, "x": x}, {}, {}, "float64").kind.tolist() == [NAN, FINITE]


def test_alpha_and_beta_of_0_leave_their_operands_unread():
    bad, y = np.full((2, 2), NAN_), np.array([1.0, 2.0])
    got = reference("symv", {"a": bad, "x": bad[0], "y": y}, {"alpha": 0, "beta": 3}, {}, "float64")
    assert got.value.tolist() == [3, 6]
    got = reference("symv", {"a": np.eye(2), "x": y, "y": bad[0]}, {"beta": 0}, {}, "float64")
    assert got.value.tolist() == [1, 2]


# ---- updates ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("routine", "is_complex"), [("ger", False), ("ger", True), ("geru", True), ("gerc", True)]
)
def test_general_updates(routine, is_complex):
    x, y, a = random((3,), is_complex), random((4,), is_complex, 1), random((3, 4), is_complex, 2)
    alpha = 0.7 - 0.9j if is_complex else 0.7
    got = reference(routine, {"x": x, "y": y, "a": a}, {"alpha": alpha}, {}, "float64")
    exact = {}
    for i, j in np.ndindex(a.shape):
        second = conj(exactly(y[j])) if routine == "gerc" else exactly(y[j])
        product = times(exactly(alpha), times(exactly(x[i]), second))
        exact[i, j] = total((product, exactly(a[i, j])))
    check(got, exact)
    assert (got.kind == FINITE).all()
    new = reference(routine, {"x": x, "y": y}, {"alpha": 0}, {}, "float64")
    assert new.value.shape == (3, 4)
    assert not new.value.any()


def update_terms(routine, alpha, x, y):
    """The products of an update at (i, j), from the formula of the routine."""
    alpha, other = exactly(alpha), conj if routine[0] == "h" else tuple
    x, y = ([exactly(z) for z in vector] for vector in (x, y))
    if not routine.endswith("2"):
        return lambda i, j: [times(alpha, times(x[i], other(x[j])))]
    first = (-alpha[0], -alpha[1]) if routine == "skewsyr2" else alpha
    return lambda i, j: [
        times(first, times(x[i], other(y[j]))),
        times(other(alpha), times(y[i], other(x[j]))),
    ]


TRIANGLE_UPDATES = [
    (routine, "packed" if "p" in routine else "", is_complex)
    for routine in ("syr", "spr", "her", "hpr", "syr2", "spr2", "her2", "hpr2", "skewsyr2")
    for is_complex in (False, True)
    if DTYPES["complex128" if is_complex else "float64"].name in ROUTINES[routine].dtypes
]


@each_uplo
@each_size
@pytest.mark.parametrize(("routine", "storage", "is_complex"), TRIANGLE_UPDATES)
def test_updates_of_triangles(routine, storage, is_complex, n, uplo):
    values, (x, y) = random((n, n), is_complex), random((2, n), is_complex, 1)
    hermitian = routine[0] == "h"
    alpha = 0.7 if not is_complex or routine in ("her", "hpr") else 0.7 - 0.9j
    places = triangle(n, uplo)
    if routine == "skewsyr2":
        places = [(i, j) for i, j in places if i != j]

    def value(i, j):
        return complex(values[i, j].real, NAN_) if hermitian and i == j else values[i, j]

    array, _ = stored(places, uplo, storage, n, value)
    name = "ap" if storage else "a"
    vectors = {"x": x, "y": y} if routine.endswith("2") else {"x": x}
    options = {"uplo": uplo}
    got = reference(routine, {**vectors, name: array}, {"alpha": alpha}, options, "float64")
    terms = update_terms(routine, alpha, x, y)
    exact = {}
    for cell, (i, j) in enumerate(triangle(n, uplo)):
        if (i, j) in places:
            old = exactly(values[i, j])
            if hermitian and i == j:
                old = old[0], Fraction(0)
            exact[(cell,) if storage else (i, j)] = total((*terms(i, j), old))
    check(got, exact, list(exact))
    used = np.zeros(got.value.shape, bool)
    for index in exact:
        used[index] = True
    assert (got.kind[used] == FINITE).all()
    assert (got.kind[~used] == ANY).all()
    if hermitian:
        assert got.real.sum() == n
        assert not got.value.imag[got.real].any()
    new = reference(routine, vectors, {"alpha": alpha}, options, "float64")
    assert not new.value[~used].any()
    assert (new.kind == FINITE).all()
    assert new.value.shape == got.value.shape


def test_zeros_multiply_in_updates():
    x, y = np.array([NAN_, 0.0]), np.array([0.0, 1.0])
    got = reference("ger", {"x": x, "y": y, "a": np.zeros((2, 2))}, {}, {}, "float64")
    assert got.kind.tolist() == [[NAN, NAN], [FINITE, FINITE]]
    got = reference("syr", {"x": x, "a": np.zeros((2, 2))}, {}, {}, "float64")
    assert got.kind.tolist() == [[NAN, NAN], [ANY, FINITE]]


def test_infinities_of_two_products_may_cancel():
    x, y = np.array([INF, 1.0]), np.array([1.0, 1.0])
    got = reference("skewsyr2", {"x": x, "y": y, "a": np.zeros((2, 2))}, {}, {}, "float64")
    assert got.kind.tolist() == [[ANY, INFINITE], [ANY, ANY]]
    assert got.value[0, 1] == -INF
    y[0] = INF
    got = reference("skewsyr2", {"x": x, "y": y, "a": np.zeros((2, 2))}, {}, {}, "float64")
    assert got.kind[0, 1] == NAN


def test_a_hermitian_diagonal_must_come_out_real():
    x, a = np.array([1 + 2j, 3j]), np.array([[5 + 9j, 1j], [NAN_, 2 + 9j]])
    expected = reference("her", {"x": x, "a": a}, {}, {}, "float64")
    right = np.array([[10, 6 - 2j], [0, 11]])
    assert judge(right, expected, Z).passed
    for wrong in (1e-300, NAN_):
        broken = right.copy()
        broken.imag[1, 1] = wrong
        verdict = judge(broken, expected, Z)
        assert verdict.where == (1, 1)
        assert ("a real value" in verdict.message) is (wrong == 1e-300)
    right[1, 0] = NAN_  # no part of the result
    assert judge(right, expected, Z).passed


# ---- solutions ----------------------------------------------------------------------------------


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
