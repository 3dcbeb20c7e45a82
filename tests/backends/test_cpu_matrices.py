"""Products and solves of level 2 on the CPU: each storage and layout beside wider sums."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from stored_matrices import (
    LARGE,
    LAYOUTS,
    NAN,
    PRODUCTS,
    SOLVES,
    TRIANGULAR,
    WIDE,
    abs1,
    cases,
    close_combination,
    draw,
    each,
    gaps_are_whole,
    lay,
    matrix,
)

import tileblas as tb
from tileblas.backends import cpu_elements

BEYOND = cpu_elements.COLUMNS + 70  # more than one block, and no multiple of one

pytestmark = pytest.mark.usefixtures("way")


# ---- products -----------------------------------------------------------------------------------


@each(PRODUCTS)
def test_products(name, dtype):
    rng = np.random.default_rng(1)
    scalars = itertools.cycle([(1, 0), (0.7, 0.9), (-2, 1), (1, -0.5), (0.3, 0)])
    for n, layout, letters in cases(name):
        for k in {0, n // 2, n + 1} if "b" in name else {0}:
            check_product(name, dtype, rng, n, k, layout, letters, next(scalars))


def check_product(name, dtype, rng, n, k, layout, letters, scalars):
    m, kl, more = n, 0, {}
    if name == "gbmv":
        m, kl = n + n // 3, k // 2
        more = {"kl": kl, "m": m}
    a = matrix(name, dtype, draw(rng, dtype, m, n), k, kl, **letters)
    x, y = (draw(rng, dtype, size) for size in a.meaning.shape[::-1])
    alpha, beta = scalars
    given = lay(y if beta else np.full_like(y, NAN), layout)
    arrays = lay(a.array, layout), lay(x, layout), given
    assert getattr(tb, name)(*arrays, alpha=alpha, beta=beta, **letters, **more) is given
    assert gaps_are_whole(given)
    close_combination(given, scalars, a.meaning, x, y)


@each(TRIANGULAR)
def test_triangular_products(name, dtype):
    rng = np.random.default_rng(2)
    for n, layout, letters in cases(name):
        a = matrix(name, dtype, draw(rng, dtype, n, n), n // 3, **letters)
        x = draw(rng, dtype, n)
        given = lay(x, layout)
        assert getattr(tb, name)(lay(a.array, layout), given, **letters) is given
        assert gaps_are_whole(given)
        close_combination(given, (1, 0), a.meaning, x, x)


@each(["gemvt"])
def test_both_products(name, dtype):
    rng = np.random.default_rng(3)
    shapes = [(1, 1), (2, 5), (5, 2), (LARGE, LARGE + 1), (3 * LARGE, 3), (3, 3 * LARGE)]
    every_scalar = itertools.cycle([(1, 0), (0.7, 0.9), (-2, 1)])
    for (m, n), layout, trans in itertools.product(shapes, LAYOUTS, "TC"):
        scalars = alpha, beta = next(every_scalar)
        a = draw(rng, dtype, m, n)
        x, w, y, z = (draw(rng, dtype, size) for size in (n, m, m, n))
        given = [lay(v if beta else np.full_like(v, NAN), layout) for v in (y, z)]
        arrays = *(lay(v, layout) for v in (a, x, w)), *given
        found = tb.gemvt(*arrays, alpha=alpha, beta=beta, trans=trans)
        assert all(one is other for one, other in zip(found, given, strict=True))
        assert all(gaps_are_whole(target) for target in given)
        wide = a.astype(WIDE[dtype])
        close_combination(given[0], scalars, wide, x, y)
        close_combination(given[1], scalars, wide.conj().T if trans == "C" else wide.T, w, z)


def test_without_a_product_both_vectors_are_scaled():
    """alpha = 0 or an empty side: neither A nor x and w are read."""
    a = np.full((2, 3), NAN)
    for beta, wanted in ((0, 0), (2, 4)):
        y, z = np.full(2, 2.0 if beta else NAN), np.full(3, 2.0 if beta else NAN)
        tb.gemvt(a, a[0], a[:, 0], y, z, alpha=0, beta=beta)
        np.testing.assert_array_equal([*y, *z], wanted)
        for m, n in ((2, 0), (0, 3)):
            y, z = (np.full(size, 2.0 if beta else NAN) for size in (m, n))
            tb.gemvt(a[:m, :n], a[0, :n], a[:m, 0], y, z, beta=beta)
            np.testing.assert_array_equal([*y, *z], wanted)


# ---- solves -------------------------------------------------------------------------------------


@each(SOLVES)
def test_solves(name, dtype):
    rng = np.random.default_rng(4)
    for n, layout, letters in cases(name):
        values = draw(rng, dtype, n, n)
        np.fill_diagonal(values, values.diagonal() + 2)
        check_solve(name, dtype, rng, values, layout, letters)


@each(SOLVES)
def test_solves_of_ill_conditioned_triangles(name, dtype):
    """Off the diagonal ones of either sign: solutions grow by up to 2 from row to row."""
    rng = np.random.default_rng(5)
    for n, layout, letters in cases(name):
        if n > 2:
            values = np.sign(rng.uniform(-1, 1, (n, n))).astype(dtype)
            check_solve(name, dtype, rng, values, layout, letters)


def check_solve(name, dtype, rng, values, layout, letters):
    n = len(values)
    a, b = matrix(name, dtype, values, n - 1 - n // 3, **letters), draw(rng, dtype, n)
    given = lay(b, layout)
    assert getattr(tb, name)(lay(a.array, layout), given, **letters) is given
    assert gaps_are_whole(given)
    assert np.isfinite(given).all()
    residual = abs1(b.astype(a.meaning.dtype) - a.meaning @ given.astype(a.meaning.dtype))
    gauge = abs1(a.meaning) @ abs1(given)
    assert (residual <= (16 if n <= 9 else n + 2) * np.finfo(dtype).eps * gauge).all()


@pytest.mark.parametrize("name", SOLVES)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("turn", [1, 1j, 1 + 1j, 1 - 0.5j, 1e-5 + 1j])
def test_complex_elements_are_divided_at_any_size(name, dtype, turn):
    """A number by itself is 1, also where a sum of its parts overflows, or 1 by it does."""
    info = np.finfo(dtype)
    for size in (info.smallest_subnormal, info.tiny / 4, info.tiny, 1, info.max / 2, info.max):
        number = np.array(complex(float(size) * turn.real, float(size) * turn.imag)).astype(dtype)
        values = np.zeros((3, 3), dtype)
        np.fill_diagonal(values, number)
        a = matrix(name, dtype, values).array
        x = np.full(3, number)
        with np.errstate(all="raise"):
            getattr(tb, name)(a, x)
        np.testing.assert_allclose(x, 1, rtol=2 * info.eps)


@each(SOLVES)
def test_a_zero_diagonal_divides(name, dtype):
    """As IEEE says: Inf, or NaN for 0 / 0, and no warning."""
    for n in (1, 3):
        a = matrix(name, dtype, np.zeros((n, n)), n - 1).array
        with np.errstate(all="raise"):
            x = getattr(tb, name)(a, np.ones(n, dtype))
            y = getattr(tb, name)(a, np.zeros(n, dtype))
        assert np.isinf(x[-1])
        assert not np.isfinite(x).any()
        assert np.isnan(y).all()


@each(SOLVES)
def test_subnormal_diagonals_divide(name, dtype):
    tiny = np.finfo(dtype).smallest_subnormal
    a = matrix(name, dtype, np.diag(np.full(5, 3 * tiny)).astype(dtype)).array
    x = getattr(tb, name)(a, np.full(5, 6 * tiny).astype(dtype))
    np.testing.assert_array_equal(x, 2)


# ---- beyond one block ---------------------------------------------------------------------------


def test_a_product_beyond_one_block_of_numpy():
    rng = np.random.default_rng(6)
    check_product("skewsymv", "float64", rng, BEYOND, 0, "C", {"uplo": "L"}, (0.7, 0.9))


@pytest.mark.parametrize("name", SOLVES)
def test_solves_beyond_one_block(name):
    rng = np.random.default_rng(7)
    values = draw(rng, "float64", BEYOND, BEYOND) / BEYOND + 2 * np.eye(BEYOND)
    check_solve(name, "float64", rng, values, "C", {"uplo": "L"})
