"""Matrices and sums in exact fractions, element by element as LAPACK says how they are stored.

What no routine may refer to holds NaN.
"""

from fractions import Fraction

import numpy as np

NAN = float("nan")
N, K = 5, 2


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
        array = np.full((K + 1, n), NAN + 0 * value(0, 0))
        for i, j in places:
            array[K + i - j if uplo == "U" else i - j, j] = value(i, j)
        return array, places
    array = np.full((n, n), NAN + 0 * value(0, 0))
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


TRIANGULAR = [("tr", ""), ("tb", "band"), ("tp", "packed")]


def triangular(storage, n, uplo, trans, diag, is_complex):
    """(name, array, elements of op(A)) of a random triangle, whose unit diagonal is not stored."""
    values = random((n, n), is_complex) + 3 * np.eye(n)
    unit = diag == "U"

    def value(i, j):
        return NAN + 0 * values[i, j] if unit and i == j else values[i, j]

    array, places = stored(triangle(n, uplo), uplo, storage, n, value)
    elements = {}
    for i, j in places:
        z = (Fraction(1), Fraction(0)) if unit and i == j else exactly(values[i, j])
        elements[(i, j) if trans == "N" else (j, i)] = conj(z) if trans == "C" else z
    return "ap" if storage == "packed" else "a", array, elements
