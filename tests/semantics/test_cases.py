"""Inputs that broke other libraries, with the right answers. Each test names the public report."""

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
