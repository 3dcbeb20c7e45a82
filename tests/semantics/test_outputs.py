"""Outputs: returned themselves, refused where writing them would harm, new ones in C order."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import tileblas as tb
from tileblas.core.dtypes import DTYPES, numpy_dtype

TYPES = {name: numpy_dtype(row) for name, row in DTYPES.items()}


def refuses(argument, position, call, *untouched):
    """The call raises BlasError for the argument, and the arrays keep their bytes."""
    before = [array.tobytes() for array in untouched]
    with pytest.raises(tb.BlasError) as caught:
        call()
    assert (caught.value.argument, caught.value.position) == (argument, position)
    assert [array.tobytes() for array in untouched] == before
    return str(caught.value)


# ---- what is returned ---------------------------------------------------------------------------


def test_a_given_output_is_returned_itself(backend):
    y, c = np.ones(3), np.ones((2, 2), order="F")[::-1]
    assert tb.axpy(np.ones(3), y) is y
    assert tb.axpy(np.ones(3), y, alpha=0) is y
    assert tb.scal(y, alpha=2) is y
    assert tb.scal(y, alpha=1) is y
    assert tb.gemv(np.ones((3, 2)), np.ones(2), y, alpha=0, beta=1) is y
    assert tb.gemv(np.ones((3, 2)), np.ones(2), y) is y
    assert tb.gemm(np.ones((2, 3)), np.ones((3, 2)), c) is c
    assert tb.gemm(np.ones((2, 0)), np.ones((0, 2)), c, beta=1) is c


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_new_output_is_c_ordered(backend, dtype, order):
    a = np.ones((3, 4), TYPES[dtype], order=order)
    c = tb.gemm(a, a, trans_b="T")
    assert c.flags.c_contiguous
    assert c.flags.writeable
    assert (c.shape, c.dtype) == ((3, 3), TYPES[dtype])
    assert (c == 4).all()


@pytest.mark.parametrize("dtype", TYPES)
def test_dot_returns_a_numpy_scalar(backend, dtype):
    x = np.ones(3, TYPES[dtype])
    got = tb.dot(x, x)
    assert type(got) is TYPES[dtype].type
    assert got == 3


@pytest.mark.parametrize("dtype", TYPES)
def test_nrm2_returns_a_real_numpy_scalar(backend, dtype):
    got = tb.nrm2(np.full(4, 3, TYPES[dtype]))
    assert type(got) is TYPES[DTYPES[dtype].real].type
    assert got == 6


@pytest.mark.parametrize("dtype", TYPES)
def test_nrm2_of_stacks_returns_a_real_array(backend, dtype):
    x = np.array([[[3, 4], [5, 12]], [[8, 15], [0, 1]], [[6, 8], [0, 0]]], TYPES[dtype])
    for stack in (x, np.asfortranarray(x), x[::-1], x.swapaxes(0, 1)):
        got = tb.nrm2(stack)
        assert type(got) is np.ndarray
        assert got.dtype == TYPES[DTYPES[dtype].real]
        assert got.flags.c_contiguous
        np.testing.assert_array_equal(got, np.sqrt((stack.astype(complex).real ** 2).sum(-1)))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_new_vector_is_contiguous(backend, dtype, order):
    a = np.ones((2, 3, 4), TYPES[dtype], order=order)
    for trans, n, m in (("N", 4, 3), ("T", 3, 4), ("C", 3, 4)):
        y = tb.gemv(a, np.ones(n, TYPES[dtype]), trans=trans)
        assert y.flags.c_contiguous
        assert (y.shape, y.dtype) == ((2, m), TYPES[dtype])
        assert (y == n).all()


def test_dot_of_stacks_returns_an_array(backend):
    x = np.arange(24.0).reshape(2, 3, 4)
    got = tb.dot(x, np.ones((3, 1)).repeat(4, axis=1))
    assert type(got) is np.ndarray
    np.testing.assert_array_equal(got, x.sum(-1))
    assert got.flags.c_contiguous


# ---- read-only and overlapping outputs ----------------------------------------------------------


def test_read_only_outputs(cpu):
    y, c = np.ones(3), np.ones((2, 2))
    y.flags.writeable = c.flags.writeable = False
    message = refuses("y", 5, lambda: tb.axpy(np.ones(3), y), y)
    assert "read-only" in message
    refuses("y", 5, lambda: tb.axpy(np.ones(3), y, alpha=0), y)
    refuses("c", 12, lambda: tb.gemm(np.ones((2, 1)), np.ones((1, 2)), c), c)
    refuses("y", 10, lambda: tb.gemv(np.ones((3, 1)), np.ones(1), y), y)
    for alpha in (2, 1, 0):
        assert "read-only" in refuses("x", 3, lambda alpha=alpha: tb.scal(y, alpha=alpha), y)


def test_read_only_after_the_same_call_on_a_writable_array(cpu):
    """What was checked once is remembered, but not for other arrays."""
    x, y = np.ones(3), np.ones(3)
    tb.axpy(x, y)
    y.flags.writeable = False
    refuses("y", 5, lambda: tb.axpy(x, y), y)
    tb.scal(x, alpha=2)
    x.flags.writeable = False
    refuses("x", 3, lambda: tb.scal(x, alpha=2), x)


def test_read_only_inputs_are_inputs(backend):
    x = np.ones(3)
    x.flags.writeable = False
    assert tb.dot(x, x) == 3
    assert tb.nrm2(np.broadcast_to(x[:1], 4)) == 2
    assert (tb.axpy(x, np.ones(3)) == 2).all()
    assert tb.gemv(x[None, :], x) == 3


@pytest.mark.parametrize(
    ("shape", "strides"),
    [
        ((4, 5), (0, 1)),
        ((4, 5), (5, 0)),
        ((4, 5), (1, 1)),
        ((4, 5), (4, 1)),  # the last element of a row is the first of the next
        ((4, 5), (2, 4)),
        ((4, 5), (-1, 1)),
        ((2, 2), (0, 0)),
        ((3, 2), (2, 4)),  # one pair only: 2 * 2 = 1 * 4
    ],
)
def test_outputs_that_overlap_themselves(cpu, shape, strides):
    buffer = np.zeros(64)
    c = as_strided(buffer[20:], shape, [8 * s for s in strides])
    assert "overlap" in refuses("x", 3, lambda: tb.scal(c, alpha=2), buffer)
    stack = np.ones((shape[0], shape[1], 3))
    assert "overlap" in refuses("y", 10, lambda: tb.gemv(stack, np.ones(3), c), buffer)
    a, b = np.ones((shape[0], 3)), np.ones((3, shape[1]))
    assert "overlap" in refuses("c", 12, lambda: tb.gemm(a, b, c), buffer)


@pytest.mark.parametrize(
    ("shape", "strides"),
    [
        ((4, 5), (7, 1)),
        ((4, 5), (1, 4)),
        ((4, 5), (-10, 2)),
        ((2, 3), (2, 3)),  # 0 3 6 / 2 5 8: interleaved, and no two alike
        ((3, 2), (2, 3)),  # 0 3 / 2 5 / 4 7
        ((1, 5), (0, 1)),  # the stride of an axis of size 1 says nothing
        ((4, 1), (1, 0)),
    ],
)
def test_outputs_with_odd_strides_that_do_not_overlap(backend, shape, strides):
    buffer = np.zeros(128)
    c = as_strided(buffer[64:], shape, [8 * s for s in strides])
    a, b = np.arange(shape[0] * 3.0).reshape(-1, 3), np.arange(shape[1] * 3.0).reshape(3, -1)
    tb.gemm(a, b, c)
    wanted = np.zeros(128)
    as_strided(wanted[64:], shape, [8 * s for s in strides])[...] = a @ b
    np.testing.assert_array_equal(buffer, wanted)
    tb.scal(c, alpha=3)
    np.testing.assert_array_equal(buffer, 3 * wanted)
    tb.gemv(np.broadcast_to(a[:, None, :], (*shape, 3)), np.arange(3.0), c)
    as_strided(wanted[64:], shape, [8 * s for s in strides])[...] = (a @ np.arange(3.0))[:, None]
    np.testing.assert_array_equal(buffer, wanted)


def test_overlapping_inputs_are_views(backend):
    windows = as_strided(np.arange(10.0), (4, 5), (8, 8))
    np.testing.assert_array_equal(tb.gemm(windows, np.ones((5, 1)))[:, 0], [10, 15, 20, 25])


# ---- aliasing -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("view", [np.s_[:], np.s_[::-1], np.s_[1::2], np.s_[2:2]])
def test_axpy_of_one_and_the_same_view(backend, dtype, view):
    buffer = np.arange(9).astype(TYPES[dtype])
    wanted = buffer.copy()
    wanted[view] *= TYPES[dtype].type(3)
    tb.axpy(buffer[view], buffer[view], alpha=2)
    np.testing.assert_array_equal(buffer, wanted)


def test_axpy_of_an_array_and_itself(backend):
    y = np.arange(5.0)
    assert tb.axpy(y, y, alpha=-1) is y
    assert (y == 0).all()


def test_interleaved_columns_do_not_coincide(backend):
    buffer = np.arange(20.0).reshape(10, 2)
    wanted = buffer.copy()
    wanted[:, 1] += 2 * wanted[:, 0]
    tb.axpy(buffer[:, 0], buffer[:, 1], alpha=2)
    np.testing.assert_array_equal(buffer, wanted)


def test_gemm_between_interleaved_columns(backend):
    buffer = np.arange(24.0).reshape(4, 6)
    a, c = buffer[:, ::2], buffer[:, 1::2]
    wanted = buffer.copy()
    wanted[:, 1::2] = a @ np.full((3, 3), 2.0)
    tb.gemm(a, np.full((3, 3), 2.0), c)
    np.testing.assert_array_equal(buffer, wanted)


def test_gemv_between_columns_and_rows_of_one_matrix(backend):
    m = np.arange(36.0).reshape(6, 6)
    wanted = m.copy()
    wanted[:, 5] = 2 * (m[:, :4] @ m[0, :4]) + m[:, 5]
    tb.gemv(m[:, :4], m[0, :4], m[:, 5], alpha=2, beta=1)
    np.testing.assert_array_equal(m, wanted)


def test_gemv_into_an_input(cpu):
    a, buffer = np.arange(16.0).reshape(4, 4), np.arange(12.0)
    for y in (a[0], a[:, 1], a[::-1, 2], a.reshape(16)[::5]):
        assert "'a'" in refuses("y", 10, lambda y=y: tb.gemv(a, np.ones(4), y), a)
    for x, y in (
        (buffer[:4], buffer[:4]),
        (buffer[:4], buffer[3:7]),
        (buffer[:4], buffer[:8:2]),
        (np.broadcast_to(buffer[2:3], 4), buffer[:4]),
    ):
        assert "'x'" in refuses("y", 10, lambda x=x, y=y: tb.gemv(np.eye(4), x, y), buffer)


def test_gemm_between_quadrants_of_one_matrix(backend):
    m = np.arange(64.0).reshape(8, 8)
    wanted = m.copy()
    wanted[4:, 4:] -= m[4:, :4] @ m[:4, 4:]
    tb.gemm(m[4:, :4], m[:4, 4:], m[4:, 4:], alpha=-1, beta=1)
    np.testing.assert_array_equal(m, wanted)


def test_real_and_imaginary_planes_do_not_coincide(backend):
    z = np.array([1 + 2j, 3 + 4j])
    tb.axpy(z.real, z.imag)
    np.testing.assert_array_equal(z, [1 + 3j, 3 + 7j])


def test_partial_overlap_in_axpy(cpu):
    buffer = np.arange(12.0)
    for x, y in (
        (buffer[:5], buffer[1:6]),
        (buffer[:5], buffer[:5][::-1]),
        (buffer[:5], buffer[:9:2]),
        (np.broadcast_to(buffer[2:3], 5), buffer[:5]),
    ):
        assert "'x'" in refuses("y", 5, lambda x=x, y=y: tb.axpy(x, y), buffer)


def test_gemm_into_an_input(cpu):
    a = np.arange(16.0).reshape(4, 4)
    for c in (a, a.T, a[::-1], a[:]):
        assert "'a'" in refuses("c", 12, lambda c=c: tb.gemm(a, np.eye(4), c), a)
    assert "'b'" in refuses("c", 12, lambda: tb.gemm(np.eye(4), a, a), a)
    corner = a[1:, 1:]
    refuses("c", 12, lambda: tb.gemm(a[:3, :3], np.eye(3), corner), a)


def test_overlap_is_found_after_the_same_call_without_it(cpu):
    """Addresses are no part of what is remembered of a call."""
    x, buffer = np.ones(5), np.arange(12.0)
    tb.axpy(x, buffer[1:6].copy())
    tb.axpy(x, buffer[1:6])
    refuses("y", 5, lambda: tb.axpy(buffer[:5], buffer[1:6]), buffer)
    square = np.ones((3, 3))
    tb.gemm(square, square.copy(), np.empty((3, 3)))
    refuses("c", 12, lambda: tb.gemm(square, square.copy(), square), square)


def test_inputs_may_be_one_array(backend):
    a = np.arange(4.0).reshape(2, 2)
    np.testing.assert_array_equal(tb.gemm(a, a, trans_a="T"), a.T @ a)
    assert tb.dot(a[0], a[0]) == 1
    np.testing.assert_array_equal(tb.gemv(a, a[1]), a @ a[1])


def test_empty_arrays_never_coincide(backend):
    y = np.ones(5)
    tb.axpy(y[2:2], y[2:2])
    c = np.ones((3, 3))
    tb.gemm(c[:, :0], c[:0], c, beta=2)
    assert (c == 2).all()
    tb.gemv(c[:, :0], c[0, :0], c[0], beta=2)
    np.testing.assert_array_equal(c, [[4] * 3, [2] * 3, [2] * 3])


# ---- JAX and other libraries --------------------------------------------------------------------


def test_jax_outputs_are_new_arrays(backend):
    jax = pytest.importorskip("jax")
    x, y = jax.numpy.arange(3.0), jax.numpy.ones(3)
    got = tb.axpy(x, y, alpha=2)
    assert isinstance(got, jax.Array)
    np.testing.assert_array_equal(got, [1, 3, 5])
    np.testing.assert_array_equal(y, [1, 1, 1])
    c = jax.numpy.ones((3, 3))
    got = tb.gemm(x[:, None], x[None, :], c, beta=1)
    assert isinstance(got, jax.Array)
    np.testing.assert_array_equal(got, np.outer(x, x) + 1)
    assert (np.asarray(c) == 1).all()
    got = tb.scal(y, alpha=3)
    assert isinstance(got, jax.Array)
    np.testing.assert_array_equal(got, [3, 3, 3])
    np.testing.assert_array_equal(y, [1, 1, 1])
    got = tb.gemv(c, x, y, beta=2)
    assert isinstance(got, jax.Array)
    np.testing.assert_array_equal(got, [5, 5, 5])
    np.testing.assert_array_equal(y, [1, 1, 1])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64"])
def test_jax_inputs_give_jax_results(backend, dtype):
    jax = pytest.importorskip("jax")
    x = jax.numpy.ones((2, 3), dtype)
    for got, shape in ((tb.dot(x[0], x[1]), ()), (tb.dot(x, x), (2,)), (tb.gemm(x, x.T), (2, 2))):
        assert isinstance(got, jax.Array)
        assert (got.shape, got.dtype) == (shape, dtype)
        assert (got == 3).all()
    got = tb.gemv(x, x[0])
    assert isinstance(got, jax.Array)
    assert (got.shape, got.dtype) == ((2,), dtype)
    assert (got == 3).all()
    got = tb.nrm2(jax.numpy.full((2, 4), 2, dtype))
    assert isinstance(got, jax.Array)
    assert (got.shape, got.dtype) == ((2,), DTYPES[dtype].real)
    assert (got == 4).all()


@pytest.fixture
def jax():
    """JAX with its arrays on the host, beside those of NumPy."""
    jax = pytest.importorskip("jax")
    with jax.default_device(jax.devices("cpu")[0]):
        yield jax


def test_two_libraries_give_the_outputs_or_else_the_firsts(backend, jax):
    x, y = jax.numpy.ones(3), np.ones(3, np.float32)
    assert isinstance(tb.dot(x, y), jax.Array)
    assert isinstance(tb.dot(y, x), np.float32)
    assert tb.axpy(x, y) is y
    assert isinstance(tb.axpy(y, x), jax.Array)


def test_a_jax_scalar_is_a_number(backend, jax):
    got = tb.axpy(np.ones(2), np.ones(2), alpha=jax.numpy.float32(3))
    np.testing.assert_array_equal(got, [4, 4])


def test_any_dlpack_object_is_an_array(backend):
    class Tensor:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **more):
            return self.array.__dlpack__(**more)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    x, y = np.arange(6.0)[::2], np.ones(3)
    assert tb.dot(Tensor(x), Tensor(y)) == 6
    tensor = Tensor(y)
    assert tb.axpy(Tensor(x), tensor) is tensor
    np.testing.assert_array_equal(y, [1, 3, 5])


def test_a_remembered_jax_call_does_not_open_read_only_arrays():
    """Both outputs are flagged read-only; only the immutable one is replaced by a copy."""
    jnp = pytest.importorskip("jax").numpy
    x, y = jnp.ones(37, "float32"), jnp.zeros(37, "float32")
    kept = np.zeros(37, np.float32)
    kept.flags.writeable = False
    with tb.backend("cpu"):
        for _ in range(2):
            np.testing.assert_array_equal(np.asarray(tb.axpy(x, y)), 1)
            with pytest.raises(tb.BlasError, match="read-only"):
                tb.axpy(np.asarray(x), kept)
    np.testing.assert_array_equal(kept, 0)
