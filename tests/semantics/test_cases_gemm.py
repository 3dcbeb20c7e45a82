"""Inputs that broke gemm, batches and threads of other libraries, with the right answers.

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


def within_the_bar(got, dtype, a, b, **more):
    row = DTYPES[dtype]
    verdict = judge(got, reference("gemm", {"a": a, "b": b}, {}, more, row.compute), row)
    assert verdict.passed, verdict.message


def turned(x, letter):
    return x if letter == "N" else np.ascontiguousarray(x.T)


# ---- gemm: values and shapes --------------------------------------------------------------------


@each_dtype
def test_028_a_matrix_of_stride_0(dtype):
    """pytorch/pytorch#1517: its leading dimension was taken as 0."""
    a = as_strided(np.full(1, 2, TYPES[dtype]), (1, 64), (TYPES[dtype].itemsize, 0))
    equal(tb.gemm(a, np.ones((64, 1), TYPES[dtype])), [[128]])


@each_dtype
def test_052_one_row_with_an_odd_stride(dtype):
    """torch/torch7#58: a one-row operand led to an illegal leading dimension."""
    a = np.array([[1, 2]], TYPES[dtype])
    b = as_strided(np.array([5, 6], TYPES[dtype]), (2, 2), (TYPES[dtype].itemsize, 0))
    equal(tb.gemm(a, b), [[17, 17]])


@each_dtype
def test_053_windows_as_a_matrix(dtype):
    """pytorch/pytorch#30596: an overlapping view was taken as an ordinary matrix."""
    size = TYPES[dtype].itemsize
    buffer = np.arange(10).astype(TYPES[dtype])
    windows = as_strided(buffer, (4, 5), (size, size))
    equal(tb.gemm(windows, np.ones((5, 1), TYPES[dtype])), [[10], [15], [20], [25]])
    before = buffer.tobytes()
    with pytest.raises(tb.BlasError, match="overlap"):
        tb.gemm(np.ones((4, 4), TYPES[dtype]), np.ones((4, 5), TYPES[dtype]), windows)
    assert buffer.tobytes() == before


def test_055_a_batched_product_into_its_input():
    """cupy/cupy#6214: silently wrong values."""
    a = np.ones((2, 99, 99), np.float32)
    with pytest.raises(tb.BlasError, match="'a'") as caught:
        tb.gemm(a, a.copy(), a)
    assert (caught.value.argument, caught.value.position) == ("c", 12)
    assert (a == 1).all()


@each_dtype
def test_056_an_output_with_two_negative_strides(dtype):
    """numpy/numpy#29164: a crash."""
    a, b = integers((5, 3), dtype, 1), integers((3, 2), dtype, 2)
    buffer = integers((10, 4), dtype, 3)
    wanted = buffer.copy()
    wanted[::-2, ::-2] = np.einsum("ip,pj->ij", a.astype(complex), b.astype(complex)).real
    tb.gemm(a, b, buffer[::-2, ::-2])
    equal(buffer, wanted)


@each_dtype
def test_059_an_empty_inner_dimension_in_a_batch(dtype):
    """pytorch/pytorch#31421: the output was left uninitialised."""
    a, b = np.ones((3, 2, 0), TYPES[dtype]), np.ones((3, 0, 3), TYPES[dtype])
    for _ in range(3):
        np.full((3, 2, 3), nan, np.float32)  # memory that the next array may get
        equal(tb.gemm(a, b), np.zeros((3, 2, 3)))
    equal(tb.gemm(a, b, np.full((3, 2, 3), nan, TYPES[dtype])), np.zeros((3, 2, 3)))


@each_dtype
def test_061_beta_with_an_empty_inner_dimension(dtype):
    """pytorch/pytorch#33467: beta C was lost."""
    a, b = np.ones((2, 1, 0), TYPES[dtype]), np.ones((2, 0, 1), TYPES[dtype])
    equal(tb.gemm(a, b, np.ones((2, 1, 1), TYPES[dtype]), beta=3), [[[3]], [[3]]])


@each_dtype
def test_062_beta_with_alpha_0_and_an_empty_inner_dimension(dtype):
    """ml-explore/mlx#2698: zeros instead of beta C."""
    a, b = np.ones((2, 0), TYPES[dtype]), np.ones((0, 2), TYPES[dtype])
    equal(tb.gemm(a, b, np.ones((2, 2), TYPES[dtype]), alpha=0, beta=2), [[2, 2], [2, 2]])


@each_dtype
def test_065_nan_behind_zero_factors(dtype):
    """pytorch/pytorch#196596: NaN in C under beta = 0, or in A under alpha = 0, came through."""
    a, b = np.ones((1, 4), TYPES[dtype]), np.ones((4, 4), TYPES[dtype])
    equal(tb.gemm(a, b, np.full((1, 4), nan, TYPES[dtype]), beta=0), [[4] * 4])
    bad = np.full((1, 4), nan, TYPES[dtype])
    equal(tb.gemm(bad, b, np.ones((1, 4), TYPES[dtype]), alpha=0, beta=2), [[2] * 4])


@pytest.mark.parametrize("sizes", [(129, 129, 129), (127, 131, 65)])
def test_067_beta_0_on_every_tile(sizes):
    """robertknight/rten#81: only edge tiles were multiplied by beta = 0."""
    m, n, k = sizes
    c = np.full((m, n), nan, np.float32)
    tb.gemm(np.ones((m, k), np.float32), np.ones((k, n), np.float32), c, beta=0)
    equal(c, np.full((m, n), k))


@each_dtype
@pytest.mark.parametrize("old", [nan, np.inf])
def test_068_beta_0_never_reads_c(dtype, old):
    """icl-utk-edu/blaspp#39, kokkos/kokkos-kernels#509: layers disagreed on 0 * NaN."""
    a = np.ones((3, 2), TYPES[dtype])
    for layout in "CF":
        c = np.full((3, 3), old, TYPES[dtype], order=layout)
        equal(tb.gemm(a, a, c, beta=0, trans_b="T"), np.full((3, 3), 2))


@pytest.mark.parametrize("trans", ["NN", "NT", "TN", "TT"])
@each_full_dtype
def test_070_nan_around_the_operands(dtype, trans):
    """MAGMA's Fermi kernels multiplied lanes outside the matrix by 0, so that NaN spread."""
    whole = np.full((4, 4), nan, dtype)
    whole[:3, :3] = np.arange(101, 110).reshape(3, 3)
    before = whole.tobytes()
    a = whole[:3, :3]
    left, right = (a if letter == "N" else a.T for letter in trans)
    wanted = np.einsum("ip,pj->ij", left.real, right.real)
    equal(tb.gemm(a, a, trans_a=trans[0], trans_b=trans[1]), wanted)
    assert whole.tobytes() == before


@pytest.mark.parametrize("n", [7, 11, 15])
@pytest.mark.parametrize("trans", ["NN", "TN", "NT", "TT"])
@each_dtype
def test_071_transposes_that_differ_at_small_odd_sizes(dtype, n, trans):
    """clMathLibraries/clBLAS#246: wrong for N = 7, 11, 15."""
    a, b = integers((n, n), dtype, 1), integers((n, n), dtype, 2)
    got = tb.gemm(turned(a, trans[0]), turned(b, trans[1]), trans_a=trans[0], trans_b=trans[1])
    equal(
        got,
        np.einsum("ip,pj->ij", a.astype(complex), b.astype(complex)).astype(TYPES["complex128"]),
    )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("sizes", [(2, 3, 4), (3, 5, 7)])
def test_073_a_misaligned_base(dtype, sizes):
    """NVIDIA/cutlass#49: misaligned access for odd sizes."""
    m, n, k = sizes

    def place(shape, seed):
        buffer = np.zeros(100, TYPES[dtype])
        view = as_strided(
            buffer[1:], shape, (TYPES[dtype].itemsize * (shape[1] + 2), TYPES[dtype].itemsize)
        )
        view[...] = integers(shape, dtype, seed)
        return view

    a, b, c = place((m, k), 1), place((k, n), 2), place((m, n), 3)
    wanted = np.einsum("ip,pj->ij", a.astype(float), b.astype(float)) + c.astype(float)
    equal(tb.gemm(a, b, c, beta=1), wanted)


def test_074_an_outer_product_in_arrays_of_exact_size():
    """flame/blis#203: a kernel read outside an unpadded matrix."""
    a, b = np.arange(5, dtype=np.float32)[:, None], np.arange(5, 10, dtype=np.float32)[None, :]
    equal(tb.gemm(a.copy(), b.copy()), np.outer(a, b))


@each_dtype
def test_076_nan_times_anything_is_nan(dtype):
    """jax-ml/jax#33349: nothing is skipped."""
    a = np.array([[nan, nan, 1]], TYPES[dtype])
    b = np.array([[nan] * 2, [nan] * 2, [1.5, 2.5]], TYPES[dtype])
    assert np.isnan(tb.gemm(a, b).astype(complex)).all()
    zeros = np.zeros((3, 2), TYPES[dtype])
    assert np.isnan(tb.gemm(a, zeros).astype(complex)).all()


def test_077_another_output_type():
    """jax-ml/jax#11678: float32 inputs with a float64 output gave garbage."""
    a, c = np.array([[1, 2], [3, 4]], np.float32), np.full((2, 2), 7.0)
    with pytest.raises(TypeError, match="float64"):
        tb.gemm(a, a, c)
    assert (c == 7).all()


# ---- gemm: precision ----------------------------------------------------------------------------


def test_079_integers_that_tf32_rounds():
    """triton-lang/triton#2654: integers above 2048 got rounded."""
    b = np.arange(46 * 46, dtype=np.float32).reshape(46, 46)
    equal(tb.gemm(np.eye(46, dtype=np.float32), b), b)
    equal(tb.gemm(b, np.eye(46, dtype=np.float32)), b)


def test_080_float32_keeps_24_bits():
    """triton-lang/triton#8654: users could not tell which precision ran."""
    a = (1 + np.arange(64 * 64).reshape(64, 64) * 2.0**-23).astype(np.float32)
    within_the_bar(tb.gemm(a, a), "float32", a, a)
    within_the_bar(tb.gemm(a, a, trans_a="T"), "float32", a, a, trans_a="T")
    equal(tb.gemm(a, np.eye(64, dtype=np.float32)), a)


def test_082_float32_that_was_bfloat16():
    """triton-lang/triton#10176: converted inputs still ran in reduced precision."""
    random = np.random.default_rng(2)
    a = random.standard_normal((64, 64)).astype(TYPES["bfloat16"]).astype(np.float32)
    b = random.standard_normal((64, 64)).astype(np.float32)
    within_the_bar(tb.gemm(a, b), "float32", a, b)
    within_the_bar(tb.gemm(b, a), "float32", b, a)


# ---- batches, threads, errors -------------------------------------------------------------------


@pytest.mark.parametrize("trans", ["NT", "NN", "TN"])
@each_full_dtype
def test_097_a_strided_view_of_a_batch(dtype, trans):
    """JuliaGPU/CUDA.jl#2529: every matrix of a batch with a leading dimension of its own."""
    whole = integers((10, 16, 20), dtype, 1)
    a = whole[:, :, :16]
    b = integers((10, 16, 16), dtype, 2)
    letters = {"trans_a": trans[0], "trans_b": trans[1]}
    got = tb.gemm(a, b, **letters)
    for i in range(10):
        equal(got[i], tb.gemm(a[i], b[i], **letters))


def test_107_the_first_call_is_like_the_later_ones():
    """triton-lang/triton#6547: tuning applied an in-place update many times."""
    for size in (16, 33, 48):
        a, c = np.ones((size, 64), np.float32), np.ones((size, size), np.float32)
        equal(tb.gemm(a, a, c, beta=1, trans_b="T"), np.full((size, size), 65))
        equal(tb.gemm(a, a, c, beta=1, trans_b="T"), np.full((size, size), 129))


def test_110_batches_that_do_not_fit():
    """cupy/cupy#736: an assertion in the place of a message."""
    with pytest.raises(tb.BlasError) as caught:
        tb.gemm(np.ones((5, 3, 1)), np.ones((3, 1, 4)))
    message = str(caught.value)
    assert "(5, 3, 1)" in message
    assert "(3, 1, 4)" in message
    assert "5 and 3" in message or "3 and 5" in message
    assert (caught.value.routine, caught.value.argument, caught.value.position) == ("gemm", "b", 9)
