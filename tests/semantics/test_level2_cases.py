"""Inputs that broke level 2 of other libraries, with the right answers.

Each test names the public report. Products by gemv are in test_cases.
"""

import itertools

import numpy as np
import pytest

import tileblas as tb
from tileblas.check.oracle import reference, references
from tileblas.check.tolerance import judge
from tileblas.core.dtypes import DTYPES, numpy_dtype
from tileblas.routines.registry import ROUTINES

pytestmark = pytest.mark.usefixtures("backend")

FULL = ("float32", "float64", "complex64", "complex128")
nan, inf = np.nan, np.inf
each_dtype = pytest.mark.parametrize("dtype", FULL)
each_uplo = pytest.mark.parametrize("uplo", "UL")


def integers(shape, dtype, seed=0):
    values = np.random.default_rng(seed).integers(-3, 4, shape)
    return values.astype(numpy_dtype(DTYPES[dtype]))


def stored(a, uplo):
    """One triangle of a matrix, and NaN in the other."""
    upper = np.triu(np.ones(a.shape, bool))
    return np.where(upper if uplo == "U" else upper.T, a, nan).astype(a.dtype)


def equal(got, wanted):
    """Same shape and values; NaN equals NaN."""
    np.testing.assert_array_equal(got, np.asarray(wanted))


# ---- updates ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ROUTINES["ger"].dtypes)
@pytest.mark.parametrize("order", "CF")
def test_040_a_zero_of_y_does_not_hide_a_nan_of_x(dtype, order):
    """Reference-LAPACK/lapack, the zero test of ger: the column is skipped, and the NaN with it."""
    kind = numpy_dtype(DTYPES[dtype])
    x, y, a = np.array([nan, 1], kind), np.array([0, 1], kind), np.zeros((2, 2), kind, order=order)
    got = tb.ger(x, y, a)
    assert np.isnan(got[0].astype(complex)).all()
    equal(got[1].astype(complex), [0, 1])


@each_uplo
@pytest.mark.parametrize(
    ("routine", "dtype"), [(r, d) for r in ("syr2", "her2") for d in ROUTINES[r].dtypes]
)
@pytest.mark.parametrize(("incx", "incy"), [(1, 3), (3, 1), (-2, 3)])
def test_043_two_increments(routine, incx, incy, dtype, uplo):
    """clMathLibraries/clBLAS#290: the increment of one vector was used for both."""
    x, y = (integers(5 * abs(inc), dtype, seed)[::inc] for seed, inc in enumerate((incx, incy)))
    a = integers((5, 5), dtype, 2)
    a = a + a.conj().T
    product = np.outer(x, y.conj() if routine == "her2" else y)
    product = product + (product.conj().T if routine == "her2" else product.T)
    got = getattr(tb, routine)(x, y, stored(a, uplo), uplo=uplo)
    equal(got, stored(a + product, uplo))


# ---- products -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("order", "CF")
def test_031_the_conjugate_transpose_of_a_band_without_rows(dtype, order):
    """Reference-LAPACK/lapack#1374: the wrapper for rows looped for ever where m = 0."""
    kind = numpy_dtype(DTYPES[dtype])
    a, x, y = np.ones((1, 2), kind, order=order), np.ones(0, kind), np.array([1, 2], kind)
    equal(tb.gbmv(a, x, y, beta=0.5, trans="C", kl=0), [0.5, 1])


@pytest.mark.parametrize("n", [1, 2, 3, 7, 16, 17, 31, 40])
def test_041_products_with_a_gram_matrix(n):
    """OpenMathLib/OpenBLAS#1388: the first elements were wrong for the upper triangle."""
    random = np.random.default_rng(n)
    x = random.standard_normal((20, n)).astype(np.float32)
    a, v = (x.T @ x).astype(np.float32), random.standard_normal(n).astype(np.float32)
    a = np.triu(a) + np.triu(a, 1).T
    expected = reference("symv", {"a": a, "x": v}, {}, {}, "float32")
    for uplo, order in itertools.product("UL", "CF"):
        got = tb.symv(np.asarray(stored(a, uplo), order=order), v, uplo=uplo)
        assert judge(got, expected, DTYPES["float32"]).passed


@pytest.mark.parametrize("n", [1, 2, 16, 17, 18, 33, 64])
@each_dtype
def test_044_triangular_products_in_a_larger_array(dtype, n):
    """OpenMathLib/OpenBLAS#1332: wrong from n = 17 on."""
    whole = np.full((64, 64), nan, numpy_dtype(DTYPES[dtype]), order="F")
    a = whole[:n, :n]
    full, x = integers((n, n), dtype), integers(n, dtype, 1)
    a[...] = stored(full, "U")
    equal(tb.trmv(a, x.copy()), np.triu(full) @ x)


def test_047_a_long_bidiagonal_matrix(backend):
    """OpenMathLib/OpenBLAS#1089: the stack overflowed."""
    n = 2**20 if backend != "interpret" else 2**11
    a, x = np.ones((2, n)), np.ones(n)
    a[0, 0] = nan
    tb.tbmv(a, x)
    assert (x[:-1] == 2).all()
    assert x[-1] == 1


@each_uplo
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("routine", ["hemv", "hpmv", "hbmv"])
def test_050_the_diagonal_of_a_hermitian_matrix(routine, dtype, uplo):
    """kokkos/stdBLAS#278: it was added twice, and its imaginary part used."""
    kind = numpy_dtype(DTYPES[dtype])
    off_diagonal = [2, nan] if uplo == "U" else [nan, 2]
    a = {
        "hemv": [[1 + 9j, off_diagonal[0]], [off_diagonal[1], 3 + 9j]],
        "hpmv": [1 + 9j, 2, 3 + 9j],
        "hbmv": [[nan, 2], [1 + 9j, 3 + 9j]] if uplo == "U" else [[1 + 9j, 3 + 9j], [2, nan]],
    }[routine]
    equal(getattr(tb, routine)(np.array(a, kind), np.ones(2, kind), uplo=uplo), [3, 5])


PRODUCTS = [spec.name for spec in ROUTINES.values() if spec.level == 2 and "beta" in spec.scalars]


@pytest.mark.parametrize("routine", PRODUCTS)
@pytest.mark.parametrize("old", [nan, inf])
def test_068_beta_0_never_reads_y(routine, old):
    """icl-utk-edu/blaspp#39, kokkos/kokkos-kernels#509: the layers above BLAS disagreed."""
    spec = ROUTINES[routine]
    kind = numpy_dtype(DTYPES[spec.dtypes[-1]])
    shapes = {"nn": (3, 3), "mn": (3, 3), "bn": (1, 3), "p": (6,), "n": (3,), "m": (3,)}
    operands = {
        arg.name: np.full(shapes[arg.axes], old if arg.is_output else 1, kind)
        for arg in spec.arguments
    }
    more = {"kl": 0} if routine == "gbmv" else {}
    for alpha in (1, 0):
        returned = getattr(tb, routine)(**operands, alpha=alpha, beta=0, **more)
        for y in returned if isinstance(returned, tuple) else (returned,):
            assert np.isfinite(y).all()
            assert alpha or not y.any()


# ---- solves -------------------------------------------------------------------------------------


@pytest.mark.parametrize("diag", "NU")
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_046_a_strided_right_hand_side_of_a_band(dtype, diag):
    """OpenMathLib/OpenBLAS#3337: wrong for complex numbers and an increment."""
    kind = numpy_dtype(DTYPES[dtype])
    random = np.random.default_rng(0)
    a = (random.standard_normal((4, 4)) + 1j * random.standard_normal((4, 4))).astype(kind)
    buffer = np.full(8, 7 + 7j, kind)
    x = buffer[::2]
    x[...] = random.standard_normal(4) + 1j * random.standard_normal(4)
    options = {"uplo": "U", "trans": "N", "diag": diag}
    row = DTYPES[dtype]
    expected = references("tbsv", {"a": a, "x": x.copy()}, {}, options, row.compute)["x"]
    assert tb.tbsv(a, x, **options) is x
    verdict = judge(x, expected, row)
    assert verdict.passed, verdict.message
    equal(buffer[1::2], np.full(4, 7 + 7j))


@each_dtype
def test_049_a_singular_matrix_raises_nothing(dtype):
    """pytorch/pytorch#56326: an exception, or garbage, was wanted for a zero on the diagonal."""
    kind = numpy_dtype(DTYPES[dtype])
    a = np.array([[1, 2, 3], [0, 4, 5], [0, 0, 0]], kind)
    assert np.isnan(tb.trsv(a, np.array([1, 3, 0], kind))).all()
    assert not np.isfinite(tb.trsv(a, np.array([1, 3, 1], kind))).any()


@each_dtype
def test_086_subnormal_diagonals(dtype):
    """flame/blis#461: the reciprocal of a subnormal number overflowed."""
    row = DTYPES[dtype]
    kind = numpy_dtype(row)
    tiny = np.finfo(row.real).smallest_subnormal
    a = np.full((3, 3), nan, kind)
    a[np.tril_indices(3)] = 0
    np.fill_diagonal(a, tiny)
    for column in np.eye(3, dtype=kind):
        equal(tb.trsv(a, (column * tiny).astype(kind), uplo="L"), column)


@pytest.mark.parametrize("batch", [1, 3])
def test_088_stacks_of_singular_matrices(batch):
    """openxla/xla#3891: results of a stack and of one matrix differed."""
    a, b = np.array([[1.0, 1], [0, 0]]), np.array([1.0, 1])
    got = tb.trsv(np.stack([a] * batch), np.stack([b] * batch))
    equal(got, [[-inf, inf]] * batch)
