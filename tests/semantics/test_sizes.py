"""Empty problems, and sizes and strides that need 64 bits."""

import itertools
import mmap
import sys

import numpy as np
import pytest

import tileblas as tb
from tileblas.core.dtypes import DTYPES, numpy_dtype

TYPES = {name: numpy_dtype(row) for name, row in DTYPES.items()}
each_dtype = pytest.mark.parametrize("dtype", TYPES)


@each_dtype
def test_an_empty_dot_is_zero(backend, dtype):
    x = np.ones(0, TYPES[dtype])
    for function in (tb.dot, tb.dotc, tb.dotu):
        got = function(x, x)
        assert type(got) is TYPES[dtype].type
        assert got == 0


@each_dtype
def test_a_stack_of_empty_dots_is_zeros(backend, dtype):
    x = np.ones((3, 2, 0), TYPES[dtype])
    np.testing.assert_array_equal(tb.dot(x, x), np.zeros((3, 2), TYPES[dtype]))
    assert tb.dot(np.ones((0, 4)), np.ones((0, 4))).shape == (0,)


@each_dtype
def test_an_empty_norm_is_zero(backend, dtype):
    real = TYPES[DTYPES[dtype].real]
    got = tb.nrm2(np.ones(0, TYPES[dtype]))
    assert type(got) is real.type
    assert got == 0
    np.testing.assert_array_equal(tb.nrm2(np.ones((3, 2, 0), TYPES[dtype])), np.zeros((3, 2), real))
    assert tb.nrm2(np.ones((0, 4), TYPES[dtype])).shape == (0,)


@each_dtype
@pytest.mark.parametrize("alpha", [2, 0, float("nan")])
def test_an_empty_scal_is_nothing(backend, dtype, alpha):
    for shape in ((0,), (3, 0), (0, 3)):
        x = np.ones(shape, TYPES[dtype])
        assert tb.scal(x, alpha=alpha) is x


@each_dtype
@pytest.mark.parametrize("sizes", [(0, 0), (0, 3), (3, 0)])
@pytest.mark.parametrize("trans", ["N", "T", "C"])
def test_gemv_with_an_empty_dimension(backend, dtype, sizes, trans):
    """beta y where the sum is empty, unlike Fortran's gemv; nothing where the output is empty."""
    m, n = sizes
    a = np.ones((m, n) if trans == "N" else (n, m), TYPES[dtype])
    x = np.ones(n, TYPES[dtype])
    np.testing.assert_array_equal(tb.gemv(a, x, trans=trans), np.zeros(m, TYPES[dtype]))
    for step in (1, 2, -2):
        buffer = np.full(8, 5, TYPES[dtype])
        wanted = buffer.copy()
        for beta in (1, 3, 0):
            y = buffer[1:7][::step][:m]
            assert tb.gemv(a, x, y, beta=beta, trans=trans) is y
            wanted[1:7][::step][:m] *= TYPES[dtype].type(beta)
            np.testing.assert_array_equal(buffer, wanted)


@each_dtype
def test_an_empty_axpy_is_nothing(backend, dtype):
    for shape in ((0,), (3, 0), (0, 3)):
        y = np.ones(shape, TYPES[dtype])
        assert tb.axpy(np.ones(shape, TYPES[dtype]), y, alpha=2) is y


@each_dtype
@pytest.mark.parametrize("sizes", [s for s in itertools.product((0, 2), repeat=3) if 0 in s])
@pytest.mark.parametrize("trans", ["NN", "TC"])
def test_gemm_with_an_empty_dimension(backend, dtype, sizes, trans):
    """beta C where k = 0; nothing where the output is empty."""
    m, n, k = sizes
    a = np.ones((m, k) if trans[0] == "N" else (k, m), TYPES[dtype])
    b = np.ones((k, n) if trans[1] == "N" else (n, k), TYPES[dtype])
    letters = {"trans_a": trans[0], "trans_b": trans[1]}
    np.testing.assert_array_equal(tb.gemm(a, b, **letters), np.zeros((m, n), TYPES[dtype]))
    buffer = np.full((m + 2, n + 3), 5, TYPES[dtype])
    wanted = buffer.copy()
    for beta in (1, 3, 0):
        c = buffer[1 : m + 1, 2 : n + 2]
        assert tb.gemm(a, b, c, beta=beta, **letters) is c
        wanted[1 : m + 1, 2 : n + 2] *= TYPES[dtype].type(beta)
        np.testing.assert_array_equal(buffer, wanted)


def test_an_empty_sum_does_not_read_what_it_overwrites(backend):
    c = np.full((2, 3), np.nan)
    assert (tb.gemm(np.ones((2, 0)), np.ones((0, 3)), c) == 0).all()
    y = np.full((2, 3), np.nan)
    assert (tb.gemv(np.ones((3, 0)), np.ones(0), y) == 0).all()


@pytest.mark.parametrize(
    ("a", "b", "c"), [((0, 2, 3), (3, 4), (0, 2, 4)), ((2, 3), (0, 3, 4), (0, 2, 4))]
)
def test_an_empty_batch(backend, a, b, c):
    assert tb.gemm(np.ones(a), np.ones(b)).shape == c
    output = np.ones(c)
    assert tb.gemm(np.ones(a), np.ones(b), output, beta=3) is output


@pytest.mark.parametrize(("a", "x", "y"), [((0, 2, 3), (3,), (0, 2)), ((2, 3), (0, 3), (0, 2))])
def test_an_empty_batch_of_vectors(backend, a, x, y):
    assert tb.gemv(np.ones(a), np.ones(x)).shape == y
    output = np.ones(y)
    assert tb.gemv(np.ones(a), np.ones(x), output, beta=3) is output


def test_dimensions_of_an_empty_product_may_be_huge(backend):
    long = np.broadcast_to(np.float32(1), (0, 2**40))
    assert tb.gemm(long, long, trans_b="T").shape == (0, 0)
    assert tb.axpy(long, np.empty((0, 2**40), np.float32)).shape == (0, 2**40)
    assert tb.scal(np.empty((0, 2**40), np.float32), alpha=2).shape == (0, 2**40)
    assert tb.gemv(long, np.broadcast_to(np.float32(1), 2**40)).shape == (0,)


def test_an_empty_dimension_is_still_checked(cpu):
    with pytest.raises(tb.BlasError, match="trans_a"):
        tb.gemm(np.ones((0, 2)), np.ones((2, 0)), trans_a="X")
    with pytest.raises(tb.BlasError, match="'b'"):
        tb.gemm(np.ones((0, 2)), np.ones((3, 0)))
    with pytest.raises(tb.BlasError, match="'y'"):
        tb.axpy(np.ones(0), np.ones(1))
    with pytest.raises(tb.BlasError, match="trans"):
        tb.gemv(np.ones((0, 2)), np.ones(2), trans="X")
    with pytest.raises(tb.BlasError, match="'x'"):
        tb.gemv(np.ones((0, 2)), np.ones(3))


# ---- 64 bits ------------------------------------------------------------------------------------


@pytest.fixture
def sparse():
    """12 GiB of zeros that take memory only where they are touched."""
    if sys.platform != "linux":
        pytest.skip("needs memory that is not reserved: Linux")
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000  # MAP_NORESERVE, which Python lacks
    return np.frombuffer(mmap.mmap(-1, 12 << 30, flags), np.float32)


FAR = 2**30 + 3  # the third element is beyond 2^31 elements, the second beyond 2^32 bytes


def test_vectors_with_a_stride_beyond_32_bits(backend, sparse):
    if backend == "cuda":
        pytest.skip("staging to a device would copy 12 GiB")
    x = sparse[::FAR]
    x[:3] = 1, 10, 100
    assert tb.dot(x, np.array([3, 2, 1], np.float32)) == 123
    assert tb.dot(x[::-1], np.array([3, 2, 1], np.float32)) == 321
    tb.axpy(np.array([1, 2, 3], np.float32), x, alpha=2)
    np.testing.assert_array_equal(x, [3, 14, 106])
    assert sparse[FAR - 1] == sparse[FAR + 1] == 0
    tb.scal(x[::-1], alpha=2)
    np.testing.assert_array_equal(x, [6, 28, 212])
    assert sparse[FAR - 1] == sparse[FAR + 1] == 0
    x[:] = 2, 3, 6
    assert tb.nrm2(x) == tb.nrm2(x[::-1]) == 7
    ones = np.ones((3, 3), np.float32)
    np.testing.assert_array_equal(tb.gemv(ones, x), [11] * 3)
    tb.gemv(ones, np.ones(3, np.float32), x, beta=2)
    np.testing.assert_array_equal(x, [7, 9, 15])


@pytest.mark.parametrize("turned", [False, True], ids=["rows", "columns"])
def test_matrices_with_a_leading_dimension_beyond_32_bits(backend, sparse, turned):
    if backend == "cuda":
        pytest.skip("staging to a device would copy 12 GiB")
    a = np.lib.stride_tricks.as_strided(sparse, (3, 3), (4 * FAR, 4))
    a = a.T if turned else a
    a[...] = np.arange(9).reshape(3, 3)
    eye = np.eye(3, dtype=np.float32)
    np.testing.assert_array_equal(tb.gemm(a, eye), np.arange(9).reshape(3, 3))
    np.testing.assert_array_equal(tb.gemv(a, eye[1]), [1, 4, 7])
    np.testing.assert_array_equal(tb.gemv(a, eye[1], trans="T"), [3, 4, 5])
    tb.gemm(eye, eye, a, alpha=2, beta=1)
    np.testing.assert_array_equal(a, np.arange(9).reshape(3, 3) + 2 * np.eye(3))


def test_batches_with_a_stride_beyond_32_bits(backend, sparse):
    if backend == "cuda":
        pytest.skip("staging to a device would copy 12 GiB")
    a = np.lib.stride_tricks.as_strided(sparse, (3, 2, 2), (4 * FAR, 8, 4))
    a[...] = np.arange(12).reshape(3, 2, 2)
    np.testing.assert_array_equal(tb.gemm(a, np.eye(2, dtype=np.float32)), a)
    assert tb.dot(a[:, 0], a[:, 0])[2] == 64 + 81
    np.testing.assert_array_equal(tb.gemv(a, np.ones(2, np.float32)), a.sum(-1))
    np.testing.assert_allclose(tb.nrm2(a[:, 1]) ** 2, [13, 85, 221], rtol=1e-6)
    np.testing.assert_array_equal(tb.scal(a, alpha=2), 2.0 * np.arange(12).reshape(3, 2, 2))


def test_a_length_beyond_32_bits(cpu):
    """2^31 + 3 times one and the same element."""
    x = np.broadcast_to(np.float64(1), (2**31 + 3,))
    assert tb.dot(x, x) == 2**31 + 3
    assert tb.nrm2(x) == np.sqrt(2.0**31 + 3)


def test_007_a_norm_of_more_than_32_bits(cpu, sparse):
    """JuliaGPU/CUDA.jl#598: the length was cut to 32 bits."""
    x = sparse[: 2**31 + 8]
    assert tb.nrm2(x[2**31 :]) == 0
    x[2**31 - 1], x[-1] = 3, 4
    assert tb.nrm2(x) == 5
