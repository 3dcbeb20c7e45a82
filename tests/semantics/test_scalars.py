"""alpha and beta: rounded once to the compute type, real or complex as typed, 0 and NaN apart."""

import decimal

import numpy as np
import pytest

import tileblas as tb
from tileblas.core.dtypes import DTYPES, numpy_dtype

TYPES = {name: numpy_dtype(row) for name, row in DTYPES.items()}
NAN, INF = float("nan"), float("inf")


def axpy1(alpha, dtype, x=1, y=0):
    """alpha x + y of one element."""
    return tb.axpy(np.full(1, x, TYPES[dtype]), np.full(1, y, TYPES[dtype]), alpha=alpha)[0]


def scal1(alpha, dtype, x=1):
    """alpha x of one element."""
    return tb.scal(np.full(1, x, TYPES[dtype]), alpha=alpha)[0]


def gemv1(alpha, dtype, beta=0, y=0):
    one = np.ones((1, 1), TYPES[dtype])
    return tb.gemv(one, one[0], np.full(1, y, TYPES[dtype]), alpha=alpha, beta=beta)[0]


def gemm1(alpha, dtype, beta=0, c=0):
    one = np.ones((1, 1), TYPES[dtype])
    return tb.gemm(one, one, np.full((1, 1), c, TYPES[dtype]), alpha=alpha, beta=beta)[0, 0]


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_scalar_is_rounded_once_to_the_compute_type(backend, dtype):
    wanted = np.dtype(DTYPES[dtype].compute).type(0.1).astype(TYPES[dtype])
    for got in (
        axpy1(0.1, dtype),
        scal1(0.1, dtype),
        gemv1(0.1, dtype),
        gemv1(0, dtype, beta=0.1, y=1),
        gemm1(0.1, dtype),
        gemm1(0, dtype, beta=0.1, c=1),
    ):
        assert got == wanted


def test_half_scalars_are_not_rounded_to_half(backend):
    """1 + 2^-12 is no float16, but 2048 times it less 2048 is."""
    alpha = 1 + 2.0**-12
    x, y = np.full(1, 2048, np.float16), np.full(1, -2048, np.float16)
    assert tb.gemv(x[None, :], np.ones(1, np.float16), y.copy(), alpha=alpha, beta=1) == 0.5
    assert tb.axpy(x, y, alpha=alpha) == 0.5
    assert (
        tb.scal(np.full(1, 3, np.float16), alpha=1 + 2.0**-11) == 3 + 2.0**-9
    )  # 3.00146, rounded up


@pytest.mark.parametrize(
    "alpha", [3, 3.0, np.int64(3), np.float16(3), np.float64(3), np.array(3.0), np.array(3, "f4")]
)
@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_of_every_kind(cpu, dtype, alpha):
    assert axpy1(alpha, dtype, x=2, y=1) == 7
    assert scal1(alpha, dtype, x=2) == 6
    assert gemv1(alpha, dtype, beta=alpha, y=2) == 9
    assert gemm1(alpha, dtype, beta=alpha, c=2) == 9


@pytest.mark.parametrize("alpha", [1j, 2 + 0j, 1 + 0j, np.complex64(2), np.array(2 + 0j)])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_a_complex_scalar_on_real_operands(cpu, dtype, alpha):
    for call in (
        lambda: axpy1(alpha, dtype),
        lambda: scal1(alpha, dtype),
        lambda: gemv1(alpha, dtype),
        lambda: gemv1(1, dtype, beta=alpha),
        lambda: gemm1(alpha, dtype),
        lambda: gemm1(1, dtype, beta=alpha),
    ):
        with pytest.raises(TypeError, match=r"(alpha|beta).*complex"):
            call()


@pytest.mark.parametrize(
    "alpha",
    ["1", b"1", [1.0], (1.0,), {}, object(), decimal.Decimal(1), np.array("1"), np.array([1.0])],
)
def test_what_is_no_number(cpu, alpha):
    y = np.ones(2)
    with pytest.raises(TypeError, match=r"axpy.*'alpha'"):
        tb.axpy(np.ones(2), y, alpha=alpha)
    with pytest.raises(TypeError, match=r"gemm.*'beta'"):
        tb.gemm(np.ones((1, 1)), np.ones((1, 1)), np.ones((1, 1)), beta=alpha)
    with pytest.raises(TypeError, match=r"scal.*'alpha'"):
        tb.scal(y, alpha=alpha)
    with pytest.raises(TypeError, match=r"gemv.*'beta'"):
        tb.gemv(np.ones((2, 1)), np.ones(1), y, beta=alpha)
    assert (y == 1).all()


@pytest.mark.parametrize("dtype", ["int64", "bool", "object"])
def test_0d_arrays_of_foreign_dtypes(cpu, dtype):
    with pytest.raises(TypeError, match="alpha"):
        axpy1(np.array(1, dtype), "float64")


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_a_real_alpha_scales_parts_separately(backend, dtype):
    """As csscal does: 2.0 (Inf + i) is Inf + 2i, where 2 + 0i would make NaN."""
    x = np.array([complex(INF, 1), complex(2, -INF)], dtype)
    got = tb.axpy(x, np.zeros(2, dtype), alpha=2.0)
    np.testing.assert_array_equal(got.real, [INF, 4])
    np.testing.assert_array_equal(got.imag, [2, -INF])
    for step in (1, 2, -1):
        z = np.zeros(4, dtype)[::step][:2]
        z[...] = x
        got = tb.scal(z, alpha=2.0)
        np.testing.assert_array_equal(got.real, [INF, 4])
        np.testing.assert_array_equal(got.imag, [2, -INF])


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_a_complex_alpha_multiplies_as_complex_numbers_do(backend, dtype):
    x = np.array([1 + 2j, -3j, 4], dtype)
    np.testing.assert_array_equal(tb.scal(x, alpha=2 - 1j), [4 + 3j, -3 - 6j, 8 - 4j])
    z = np.array([complex(NAN, 1), complex(1, NAN)], dtype)
    assert np.isnan(tb.scal(z, alpha=0 + 2j)).all()


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_a_real_beta_scales_parts_separately(backend, dtype):
    a, c = np.zeros((1, 1), dtype), np.full((1, 1), complex(INF, 3), dtype)
    y = c[0].copy()
    for got in (tb.gemm(a, a, c, beta=2.0)[0, 0], tb.gemv(a, a[0], y, beta=2.0)[0]):
        assert (got.real, got.imag) == (INF, 6)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("alpha", [0, 0.0, -0.0, np.float64(0), np.array(0.0)])
def test_alpha_zero_does_not_read_the_inputs(backend, dtype, alpha):
    assert axpy1(alpha, dtype, x=NAN, y=5) == 5
    bad = np.full((1, 2), INF, TYPES[dtype])
    got = tb.gemm(bad, bad, np.full((1, 1), 5, TYPES[dtype]), alpha=alpha, beta=2, trans_b="T")
    assert got == 10
    for trans, x in (("N", bad[0]), ("T", bad[0, :1])):
        y = np.full(3 - x.size, 5, TYPES[dtype])
        assert (tb.gemv(bad, x, y, alpha=alpha, beta=2, trans=trans) == 10).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("alpha", [0, 0.0, -0.0, np.float64(0), np.array(0.0)])
def test_alpha_zero_multiplies_in_scal(backend, dtype, alpha):
    """The one routine where 0 NaN and 0 Inf are NaN; what is finite becomes 0."""
    x = np.array([1, NAN, -2, INF, 0, -INF], TYPES[dtype])
    got = tb.scal(x, alpha=alpha).astype(complex)
    np.testing.assert_array_equal(np.isnan(got), [False, True, False, True, False, True])
    assert (got[::2] == 0).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("alpha", [0, 0.0, -0.0, -1e-60])
def test_a_zero_alpha_gives_scal_the_sign_of_the_product(cpu, dtype, alpha):
    """-1e-60 is -0 in float32. Not in the interpreter, whose tl.full makes 0 of a number -0."""
    for x in (1, -1):
        found = float(scal1(alpha, dtype, x))
        assert abs(found) <= 1e-60
        assert np.signbit(found) == (np.signbit(float(alpha)) != (x < 0))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("alpha", [1, 1.0, np.float32(1), np.array(1.0)])
def test_alpha_one_leaves_scal_alone(backend, dtype, alpha):
    """Every bit, those of a NaN among them."""
    x = np.array([1, NAN, -0.0, INF], TYPES[dtype])
    before = x.tobytes()
    assert tb.scal(x, alpha=alpha) is x
    assert x.tobytes() == before


def test_an_alpha_that_rounds_to_zero_is_zero(backend):
    assert axpy1(1e-60, "float32", x=INF, y=5) == 5
    assert np.isnan(scal1(1e-60, "float32", x=INF))
    assert axpy1(1e-60, "float64", x=1e60, y=0) == pytest.approx(1)


def test_an_alpha_that_rounds_to_infinity_is_infinity(backend):
    assert axpy1(1e60, "float32", x=1, y=0) == INF
    assert scal1(1e60, "float32", x=-1) == -INF
    assert gemv1(1e60, "float32") == INF
    assert axpy1(10**300, "float32", x=-1, y=0) == -INF


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("beta", [0, 0.0, -0.0, np.array(0.0)])
@pytest.mark.parametrize("old", [NAN, INF])
def test_beta_zero_does_not_read_the_output(backend, dtype, beta, old):
    assert gemv1(3, dtype, beta=beta, y=old) == 3
    assert gemm1(3, dtype, beta=beta, c=old) == 3


@pytest.mark.parametrize("dtype", DTYPES)
def test_nan_is_not_zero(backend, dtype):
    assert np.isnan(complex(axpy1(NAN, dtype, x=0, y=1)))
    assert np.isnan(complex(scal1(NAN, dtype, x=0)))
    assert np.isnan(complex(gemv1(NAN, dtype)))
    assert np.isnan(complex(gemv1(0, dtype, beta=NAN, y=0)))
    assert np.isnan(complex(gemv1(1, dtype, beta=NAN, y=0)))
    assert np.isnan(complex(gemm1(NAN, dtype)))
    assert np.isnan(complex(gemm1(0, dtype, beta=NAN, c=0)))
    assert np.isnan(complex(gemm1(1, dtype, beta=NAN, c=0)))


def test_an_empty_sum_leaves_no_product_whatever_alpha_is(backend):
    c = np.full((2, 2), 3.0)
    tb.gemm(np.ones((2, 0)), np.ones((0, 2)), c, alpha=NAN, beta=2)
    assert (c == 6).all()
    tb.gemv(np.ones((2, 0)), np.ones(0), c[0], alpha=NAN, beta=2)
    np.testing.assert_array_equal(c, [[12, 12], [6, 6]])


def test_alpha_and_beta_are_optional(backend):
    x, y = np.arange(3.0), np.ones(3)
    np.testing.assert_array_equal(tb.axpy(x, y), [1, 2, 3])
    c = np.full((3, 3), 7.0)
    assert (tb.gemm(np.eye(3), np.eye(3), c) == np.eye(3)).all()
    np.testing.assert_array_equal(tb.gemv(np.eye(3), x, c[0]), x)


def test_scal_has_no_alpha_of_its_own(cpu):
    with pytest.raises(TypeError, match="alpha"):
        tb.scal(np.ones(2))


@pytest.mark.parametrize("beta", [0, 0.0, -0.0, 0j, np.float32(0), np.array(0.0)])
def test_a_zero_of_any_type_needs_no_output(cpu, beta):
    one = np.ones((1, 1), complex)
    assert tb.gemm(one, one, beta=beta) == 1
    assert tb.gemv(one, one[0], beta=beta) == 1


@pytest.mark.parametrize("beta", [1, 1e-300, NAN, 1j])
def test_any_other_beta_needs_an_output(cpu, beta):
    one = np.ones((1, 1), complex)
    with pytest.raises(tb.BlasError, match="beta") as caught:
        tb.gemm(one, one, beta=beta)
    assert (caught.value.argument, caught.value.position) == ("beta", 11)
    with pytest.raises(tb.BlasError, match="beta") as caught:
        tb.gemv(one, one[0], beta=beta)
    assert (caught.value.argument, caught.value.position) == ("beta", 9)
