"""gemm_kernel in the interpreter where A or C is told by one triangle."""

import numpy as np
import pytest

pytest.importorskip("triton")
pytest.importorskip("ml_dtypes")
pytestmark = pytest.mark.interpret

from kernel_harness import (  # noqa: E402
    UNIT,
    assert_close,
    fenced,
    gemm_in_place,
    magnitude,
    random,
    wide,
)

REAL = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
KINDS = [
    *((kind, dtype) for kind in ("symmetric", "skew") for dtype in REAL),
    *((kind, dtype) for kind in ("symmetric", "hermitian") for dtype in COMPLEX),
]
each_triangle = pytest.mark.parametrize("lower", [False, True], ids=["upper", "lower"])


def stored(a, kind, lower):
    """What A is, made of one triangle, and its array, NaN where nothing may be read."""
    i, j = np.indices(a.shape)
    keep = i > j if lower else i < j
    triangle, diagonal = np.where(keep, wide(a), 0), np.where(i == j, wide(a), 0)
    array = np.where(keep | (i == j), a, np.nan).astype(a.dtype)
    if kind == "skew":
        array[i == j] = np.nan
        return triangle - triangle.T, array
    if kind == "hermitian":
        array.imag[i == j] = np.nan
        return triangle + triangle.conj().T + diagonal.real, array
    return triangle + triangle.T + diagonal, array


def by_columns(array, swap):
    return np.asfortranarray(array) if swap else array


# Blocks are 32 x 32 x 16, so that one meets the diagonal in up to three steps.
@each_triangle
@pytest.mark.parametrize(("kind", "dtype"), KINDS)
@pytest.mark.parametrize(("m", "n"), [(1, 3), (16, 5), (33, 40), (70, 9)])
def test_one_triangle_of_a(kind, dtype, m, n, lower):
    rng = np.random.default_rng(m)
    full, array = stored(random(rng, dtype, m, m), kind, lower)
    b, c = random(rng, dtype, m, n), random(rng, dtype, m, n)
    expected = 2 * (full @ wide(b)) + 3 * wide(c)
    gauge = 2 * magnitude(full) @ magnitude(b) + 3 * magnitude(c)
    gemm_in_place(by_columns(array, n % 2), b, c, 2.0, 3.0, a_kind=kind, lower=lower)
    assert_close(c, expected, gauge, m, dtype, UNIT[dtype])


@each_triangle
@pytest.mark.parametrize("dtype", COMPLEX)
def test_a_conjugate_of_a_hermitian_matrix(dtype, lower):
    rng = np.random.default_rng(5)
    full, array = stored(random(rng, dtype, 37, 37), "hermitian", lower)
    b, c = random(rng, dtype, 37, 20), np.full((37, 20), np.nan, dtype)
    gemm_in_place(array, b, c, a_kind="hermitian", lower=lower, conj_a=True)
    gauge = magnitude(full) @ magnitude(b)
    assert_close(c, full.conj() @ wide(b), gauge, 37, dtype, UNIT[dtype])


@each_triangle
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_skew_diagonal_multiplies_nothing(lower, bad):
    """Not even NaN: the other elements of its column do."""
    rng = np.random.default_rng(6)
    full, array = stored(random(rng, "float64", 40, 40), "skew", lower)
    b, c = random(rng, "float64", 40, 7), np.zeros((40, 7))
    b[20, 3] = bad
    gemm_in_place(array, b, c, a_kind="skew", lower=lower)
    expected = full @ np.where(np.isfinite(b), b, 0)
    assert not np.isfinite(np.delete(c[:, 3], 20)).any()
    others = np.arange(40) != 20
    c[others, 3] = expected[others, 3] = 0
    assert_close(c, expected, magnitude(full) @ np.ones((40, 7)), 40, "float64", UNIT["float64"])


@each_triangle
@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        *(("general", "float32"), ("symmetric", "float64"), ("hermitian", "complex64")),
        ("skew", "float32"),
    ],
)
@pytest.mark.parametrize(("n", "k"), [(1, 1), (17, 0), (40, 19), (97, 33)])
def test_one_triangle_of_c(kind, dtype, n, k, fresh, lower):
    rng = np.random.default_rng(n)
    a, b = random(rng, dtype, n, k), random(rng, dtype, k, n)
    if kind == "hermitian":
        b = a.conj().T.copy()
    c = fenced(random(rng, dtype, n, n))
    i, j = np.indices((n, n))
    keep = i >= j if lower else i <= j
    if kind == "skew":  # whose diagonal is as the other triangle
        keep &= i != j
    old = c.copy()
    if kind == "hermitian":
        old.imag[i == j], c.imag[i == j] = 0, np.nan
    beta = None if fresh else 3.0
    expected = 2 * (wide(a) @ wide(b)) + (0 if fresh else 3) * wide(old)
    gauge = 2 * magnitude(a) @ magnitude(b) + 3 * magnitude(old)
    gemm_in_place(a, b, c, 2.0, beta, c_kind=kind, lower=lower, fresh=fresh)
    expected = np.where(keep, expected, 0 if fresh else wide(old))
    assert_close(c, expected, gauge, k, dtype, UNIT[dtype])
    assert np.array_equal(c[~keep], np.zeros_like(c[~keep]) if fresh else old[~keep])
    if kind == "hermitian":
        assert (c.imag[i == j] == 0).all()


@each_triangle
@pytest.mark.parametrize("alpha", [np.nan, np.inf])
def test_the_other_triangle_of_a_new_c_is_0_whatever_alpha_is(alpha, lower):
    a = np.ones((50, 3))
    c = np.full((50, 50), 7.0)
    gemm_in_place(a, a.T.copy(), c, alpha, c_kind="symmetric", lower=lower, fresh=True)
    i, j = np.indices(c.shape)
    assert (c[i < j if lower else i > j] == 0).all()
    assert not np.isfinite(c[i >= j if lower else i <= j]).any()
