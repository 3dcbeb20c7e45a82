"""Inputs that broke vectors and gemv of other libraries, with the right answers.

Each test names the public report.
"""

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import tileblas as tb
from tileblas.check.oracle import reference
from tileblas.check.tolerance import judge
from tileblas.core.dtypes import DTYPES, numpy_dtype

pytestmark = pytest.mark.usefixtures("backend")

TYPES = {name: numpy_dtype(row) for name, row in DTYPES.items()}
FULL = ("float32", "float64", "complex64", "complex128")
each_dtype = pytest.mark.parametrize("dtype", TYPES)
each_full_dtype = pytest.mark.parametrize("dtype", FULL)
nan = np.nan


def equal(got, wanted):
    """Same shape and values; NaN equals NaN."""
    np.testing.assert_array_equal(got, np.asarray(wanted))


def integers(shape, dtype, seed=0):
    values = np.random.default_rng(seed).integers(-3, 4, shape)
    return values.astype(TYPES[dtype])


# ---- dot and axpy -------------------------------------------------------------------------------


@each_dtype
def test_001_dot_of_overlapping_views(dtype):
    """numpy/numpy#5485: the kernel read past the end of the buffer."""
    a = np.array([0, 1, 2], TYPES[dtype])
    assert tb.dot(a[1:], a[:-1]) == 2


@each_dtype
def test_002_dot_with_a_negative_increment(dtype):
    """ROCm/rocBLAS#129: success, but no result."""
    x, y = np.array([1, 2, 3, 4], TYPES[dtype]), np.array([1, 10, 100, 0], TYPES[dtype])
    assert tb.dot(x[::-1], y) == 4 + 30 + 200


def test_002_dot_with_a_negative_increment_as_reported():
    x, y = np.array([1, 2, 3, 4], np.float32), np.array([1, 10, 100, 1000], np.float32)
    assert tb.dot(x[::-1], y) == 1234


@each_full_dtype
def test_004_the_norm_of_an_infinity(dtype):
    """OpenMathLib/OpenBLAS#2998: NaN, from a scale of Inf/Inf."""
    x = np.zeros(100, dtype)
    x[0] = -np.inf
    assert tb.nrm2(x) == np.inf


def test_005_the_norm_of_subnormals():
    """OpenMathLib/OpenBLAS#3679: the reciprocal of a subnormal scale overflowed."""
    got = tb.nrm2(np.full(28, 7.457008414e-310))
    np.testing.assert_allclose(got, 3.945877957592e-309, rtol=1e-12, atol=5e-324)


def test_008_the_norm_of_a_complex_vector_is_real():
    """JuliaGPU/CUDA.jl#1290: the result had the type of the vector."""
    got = tb.nrm2(np.array([3 + 4j], np.complex64))
    assert got.dtype == np.float32
    assert got == 5


@pytest.mark.parametrize("inc", [1, 2])
@pytest.mark.parametrize(("alpha", "old"), [(0, nan), (0, np.inf), (np.inf, 0), (nan, 0)])
@each_dtype
def test_010_a_zero_factor_multiplies(dtype, alpha, old, inc):
    """OpenMathLib/OpenBLAS#4728: zeros were written in the place of NaN."""
    buffer = np.full(9 * inc, 5, TYPES[dtype])
    buffer[::inc] = old
    tb.scal(buffer[::inc], alpha=alpha)
    values = buffer.astype(complex)
    assert np.isnan(values[::inc]).all()
    assert (values.reshape(9, inc)[:, 1:] == 5).all()


@pytest.mark.parametrize("n", [4096, 4098])
def test_011_dot_in_half(n):
    """pytorch/pytorch#2391: a float16 sum stalls at 2048."""
    x = np.ones(n, np.float16)
    assert tb.dot(x, x) == n


def test_011_dot_in_bfloat16():
    """The same for bfloat16, whose sums stall at 256."""
    x = np.ones(4096, TYPES["bfloat16"])
    assert tb.dot(x, x) == 4096


def test_013_alpha_is_a_double():
    """pytorch/pytorch#190340: a kernel took the double scalar as float32."""
    for got in (
        tb.axpy(np.ones(1), np.zeros(1), alpha=0.1)[0],
        tb.scal(np.ones(1), alpha=0.1)[0],
        tb.gemv(np.ones((1, 1)), np.ones(1), alpha=0.1)[0],
        tb.gemv(np.zeros((1, 1)), np.zeros(1), np.ones(1), beta=0.1)[0],
        tb.gemm(np.ones((1, 1)), np.ones((1, 1)), alpha=0.1)[0, 0],
        tb.gemm(np.zeros((1, 1)), np.zeros((1, 1)), np.ones((1, 1)), beta=0.1)[0, 0],
    ):
        assert float(got).hex() == (0.1).hex()


@each_dtype
def test_029_a_vector_of_zero_stride(dtype):
    """numpy/numpy#9177: a broadcast vector gave a wrong result."""
    v = np.broadcast_to(TYPES[dtype].type(2), 2)
    m = np.array([[1, 2], [3, 4]], TYPES[dtype])
    equal(tb.gemm(v[None, :], m), [[8, 12]])
    equal(tb.gemm(m, v[:, None]), [[6], [14]])
    equal(tb.gemv(m, v), [6, 14])
    equal(tb.gemv(m, v, trans="T"), [8, 12])
    assert tb.dot(v, m[1]) == 14
    assert tb.nrm2(np.broadcast_to(v[:1], 4)) == 4


def test_020_views_at_every_offset():
    """clMathLibraries/clBLAS#290: a crash where a view began at no multiple of the vector width."""
    parent = np.arange(100, dtype=np.float32)
    for start in (1, 2, 3, 5, 7):
        for step in (1, 3):
            x = parent[start::step]
            assert tb.dot(x, np.ones_like(x)) == x.sum()
            assert tb.gemv(x[None, :], np.ones_like(x)) == x.sum()
            equal(tb.scal(x.copy(), alpha=2), 2 * x)
            np.testing.assert_allclose(tb.nrm2(x) ** 2, (x * x).sum(), rtol=1e-5)


@each_dtype
def test_112_a_reversed_view(dtype):
    """numba/numba#3705: the view was described wrongly."""
    x = np.arange(5).astype(TYPES[dtype])[::-1]
    y = np.array([1, 10, 100, 0, 0], TYPES[dtype])
    assert tb.dot(x, y) == 4 + 30 + 200


def test_112_a_reversed_view_as_reported():
    x = np.arange(5.0)[::-1]
    assert tb.dot(x, np.array([1.0, 10, 100, 1000, 10000])) == 1234


# ---- gemv ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("old", [nan, np.inf])
def test_025_beta_0_overwrites_nan(old):
    """OpenMathLib/OpenBLAS#929: NaN in y survived."""
    y = np.full(5, complex(old, old))
    equal(tb.gemv(np.zeros((5, 5), complex), np.zeros(5, complex), y, alpha=1, beta=0), [0] * 5)


def test_026_nan_in_a_workspace():
    """OpenMathLib/OpenBLAS#746: NaN of an earlier call leaked into the next."""
    random = np.random.default_rng(3)
    a, x = (
        (random.standard_normal(s) + 1j * random.standard_normal(s)).astype(np.complex64)
        for s in ((59, 50), (59,))
    )
    a = np.asfortranarray(a)
    tb.gemv(np.full_like(a, nan), x, trans="T")
    got = tb.gemv(a, x, trans="T")
    row = DTYPES["complex64"]
    wanted = reference("gemv", {"a": a, "x": x}, {}, {"trans": "T"}, row.compute)
    verdict = judge(got, wanted, row)
    assert verdict.passed, verdict.message


@each_dtype
def test_028_gemv_with_a_matrix_of_stride_0(dtype):
    """pytorch/pytorch#1517: its leading dimension was taken as 0."""
    size = TYPES[dtype].itemsize
    a = as_strided(np.full(1, 2, TYPES[dtype]), (1, 64), (size, 0))
    equal(tb.gemv(a, np.ones(64, TYPES[dtype])), [128])
    equal(tb.gemv(a, np.ones(1, TYPES[dtype]), trans="T"), [2] * 64)


@pytest.mark.parametrize("order", ["C", "F"])
def test_031_a_conjugate_transpose_of_no_rows(order):
    """Reference-LAPACK/lapack#1374: a loop without end. Here beta y, as for every empty sum."""
    a, y = np.ones((0, 2), complex, order=order), np.array([1, 2], complex)
    assert tb.gemv(a, np.ones(0, complex), y, beta=0.5, trans="C") is y
    equal(y, [0.5, 1])


@each_dtype
def test_032_beta_with_an_empty_inner_dimension(dtype):
    """pytorch/pytorch#30898: beta was ignored."""
    a, x = np.ones((3, 0), TYPES[dtype]), np.ones(0, TYPES[dtype])
    equal(tb.gemv(a, x, np.ones(3, TYPES[dtype]), beta=2), [2, 2, 2])
    equal(tb.gemv(a, x), [0, 0, 0])
    equal(tb.gemv(a, x, np.full(3, nan, TYPES[dtype])), [0, 0, 0])


def test_034_a_tall_matrix_transposed(backend):
    """OpenMathLib/OpenBLAS#154: access out of bounds."""
    rows = 4194305 if backend != "interpret" else 41947  # interpreted, every block takes a while
    equal(tb.gemv(np.ones((rows, 2)), np.ones(rows), trans="T"), [rows, rows])
    turned = np.ones((rows, 2), order="F")
    equal(tb.gemv(turned, np.ones(rows), trans="T"), [rows, rows])


def test_035_one_long_column(backend):
    """OpenMathLib/OpenBLAS#173: parts of the sum were lost."""
    rows = 4456448 if backend != "interpret" else 44566
    one = np.ones((rows, 1), np.float32)
    equal(tb.gemv(one, one[:, 0], trans="T"), [rows])


@each_dtype
@pytest.mark.parametrize("old", [nan, np.inf])
def test_068_gemv_with_beta_0_never_reads_y(dtype, old):
    """icl-utk-edu/blaspp#39: layers disagreed on 0 * NaN."""
    for order in "CF":
        a = np.ones((3, 2), TYPES[dtype], order=order)
        y = np.full(6, old, TYPES[dtype])
        equal(tb.gemv(a, np.ones(2, TYPES[dtype]), y[::2], beta=0), [2, 2, 2])
        equal(tb.gemv(a, np.ones(3, TYPES[dtype]), y[1:4:2], beta=0, trans="T"), [3, 3])


@pytest.mark.parametrize("trans", ["N", "T", "C"])
@each_full_dtype
def test_070_nan_around_the_operands_of_gemv(dtype, trans):
    """MAGMA's Fermi kernels multiplied lanes outside the matrix by 0, so that NaN spread."""
    for order in "CF":
        whole, vector = np.full((5, 5), nan, dtype, order=order), np.full(7, nan, dtype)
        whole[:3, :3], vector[:6:2] = np.arange(101, 110).reshape(3, 3), (1, 2, 3)
        a = whole[:3, :3]
        wanted = np.einsum("ij,j->i", (a if trans == "N" else a.T).real, [1, 2, 3])
        equal(tb.gemv(a, vector[:6:2], trans=trans), wanted)


@pytest.mark.parametrize("n", [7, 11, 15, 17, 33])
@pytest.mark.parametrize("trans", ["N", "T", "C"])
@each_dtype
def test_071_transposes_of_gemv_agree(dtype, n, trans):
    """The kind of clMathLibraries/clBLAS#246: transposes that differ at small odd sizes."""
    a, x = integers((n, n + 2), dtype, 1), integers((n + 2,), dtype, 2)
    wanted = np.einsum("ij,j->i", a.astype(complex), x.astype(complex))
    for order in "CF":
        stored = np.array(a if trans == "N" else a.T, order=order)
        equal(tb.gemv(stored, x, trans=trans), wanted.astype(TYPES["complex128"]))


@each_dtype
def test_076_nothing_is_skipped_in_gemv(dtype):
    """jax-ml/jax#33349: NaN times 0 is NaN."""
    a = np.array([[nan, 1], [1, 1]], TYPES[dtype])
    for matrix in (a, np.asfortranarray(a)):
        got = tb.gemv(matrix, np.array([0, 1], TYPES[dtype])).astype(complex)
        assert np.isnan(got[0])
        assert got[1] == 1
