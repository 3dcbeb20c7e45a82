"""The oracles of products and updates of level 2, against exact fractions."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from exact_matrices import (
    TRIANGULAR,
    N,
    check,
    combined,
    conj,
    exactly,
    random,
    rows,
    stored,
    times,
    total,
    triangle,
    triangular,
)

from tileblas.check.evaluation import ANY, FINITE, INFINITE, NAN
from tileblas.check.oracle import reference, references
from tileblas.check.tolerance import judge
from tileblas.core.dtypes import DTYPES
from tileblas.routines.registry import ROUTINES

NAN_, INF = float("nan"), float("inf")
each_uplo = pytest.mark.parametrize("uplo", "UL")
each_size = pytest.mark.parametrize("n", [1, 2, N])


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


@pytest.mark.parametrize("routine", ["her", "her2", "hpr", "hpr2"])
def test_a_hermitian_diagonal_stays_as_it_is_with_alpha_0(routine):
    x = np.array([1 + 2j, 3j])
    stored = {"a": np.array([[5 + 9j, 1j], [NAN_, 2 + 9j]])}
    if routine.startswith("hp"):
        stored = {"ap": np.array([5 + 9j, 1j, 2 + 9j])}
    y = {"y": x} if routine.endswith("2") else {}
    expected = reference(routine, {"x": x, **y, **stored}, {"alpha": 0}, {}, "float64")
    (kept,) = stored.values()
    assert judge(kept, expected, DTYPES["complex128"]).passed
    cleared = kept.copy()
    cleared.imag[(0,) * kept.ndim] = 0
    assert not judge(cleared, expected, DTYPES["complex128"]).passed


def test_a_hermitian_diagonal_must_come_out_real():
    x, a = np.array([1 + 2j, 3j]), np.array([[5 + 9j, 1j], [NAN_, 2 + 9j]])
    expected = reference("her", {"x": x, "a": a}, {}, {}, "float64")
    right = np.array([[10, 6 - 2j], [0, 11]])
    assert judge(right, expected, DTYPES["complex128"]).passed
    for wrong in (1e-300, NAN_):
        broken = right.copy()
        broken.imag[1, 1] = wrong
        verdict = judge(broken, expected, DTYPES["complex128"])
        assert verdict.where == (1, 1)
        assert ("a real value" in verdict.message) is (wrong == 1e-300)
    right[1, 0] = NAN_  # no part of the result
    assert judge(right, expected, DTYPES["complex128"]).passed
