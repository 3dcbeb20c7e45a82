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


def gemm1(alpha, dtype, beta=0, c=0):
    one = np.ones((1, 1), TYPES[dtype])
    return tb.gemm(one, one, np.full((1, 1), c, TYPES[dtype]), alpha=alpha, beta=beta)[0, 0]


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_scalar_is_rounded_once_to_the_compute_type(backend, dtype):
    wanted = np.dtype(DTYPES[dtype].compute).type(0.1).astype(TYPES[dtype])
    for got in (axpy1(0.1, dtype), gemm1(0.1, dtype), gemm1(0, dtype, beta=0.1, c=1)):
        assert got == wanted


def test_half_scalars_are_not_rounded_to_half(backend):
    """1 + 2^-12 is no float16, but 2048 times it less 2048 is."""
    alpha = 1 + 2.0**-12
    got = tb.axpy(np.full(1, 2048, np.float16), np.full(1, -2048, np.float16), alpha=alpha)
    assert got == 0.5


@pytest.mark.parametrize(
    "alpha", [3, 3.0, np.int64(3), np.float16(3), np.float64(3), np.array(3.0), np.array(3, "f4")]
)
@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_of_every_kind(cpu, dtype, alpha):
    assert axpy1(alpha, dtype, x=2, y=1) == 7
    assert gemm1(alpha, dtype, beta=alpha, c=2) == 9


@pytest.mark.parametrize("alpha", [1j, 2 + 0j, 1 + 0j, np.complex64(2), np.array(2 + 0j)])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_a_complex_scalar_on_real_operands(cpu, dtype, alpha):
    for call in (
        lambda: axpy1(alpha, dtype),
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


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_a_real_beta_scales_parts_separately(backend, dtype):
    a, c = np.zeros((1, 1), dtype), np.full((1, 1), complex(INF, 3), dtype)
    got = tb.gemm(a, a, c, beta=2.0)[0, 0]
    assert (got.real, got.imag) == (INF, 6)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("alpha", [0, 0.0, -0.0, np.float64(0), np.array(0.0)])
def test_alpha_zero_does_not_read_the_inputs(backend, dtype, alpha):
    assert axpy1(alpha, dtype, x=NAN, y=5) == 5
    bad = np.full((1, 2), INF, TYPES[dtype])
    got = tb.gemm(bad, bad, np.full((1, 1), 5, TYPES[dtype]), alpha=alpha, beta=2, trans_b="T")
    assert got == 10


def test_an_alpha_that_rounds_to_zero_is_zero(backend):
    assert axpy1(1e-60, "float32", x=INF, y=5) == 5
    assert axpy1(1e-60, "float64", x=1e60, y=0) == pytest.approx(1)


def test_an_alpha_that_rounds_to_infinity_is_infinity(backend):
    assert axpy1(1e60, "float32", x=1, y=0) == INF
    assert axpy1(10**300, "float32", x=-1, y=0) == -INF


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("beta", [0, 0.0, -0.0, np.array(0.0)])
@pytest.mark.parametrize("old", [NAN, INF])
def test_beta_zero_does_not_read_the_output(backend, dtype, beta, old):
    assert gemm1(3, dtype, beta=beta, c=old) == 3


@pytest.mark.parametrize("dtype", DTYPES)
def test_nan_is_not_zero(backend, dtype):
    assert np.isnan(complex(axpy1(NAN, dtype, x=0, y=1)))
    assert np.isnan(complex(gemm1(NAN, dtype)))
    assert np.isnan(complex(gemm1(0, dtype, beta=NAN, c=0)))
    assert np.isnan(complex(gemm1(1, dtype, beta=NAN, c=0)))


def test_an_empty_sum_leaves_no_product_whatever_alpha_is(backend):
    c = np.full((2, 2), 3.0)
    tb.gemm(np.ones((2, 0)), np.ones((0, 2)), c, alpha=NAN, beta=2)
    assert (c == 6).all()


def test_alpha_and_beta_are_optional(backend):
    x, y = np.arange(3.0), np.ones(3)
    np.testing.assert_array_equal(tb.axpy(x, y), [1, 2, 3])
    c = np.full((3, 3), 7.0)
    assert (tb.gemm(np.eye(3), np.eye(3), c) == np.eye(3)).all()


@pytest.mark.parametrize("beta", [0, 0.0, -0.0, 0j, np.float32(0), np.array(0.0)])
def test_a_zero_of_any_type_needs_no_c(cpu, beta):
    one = np.ones((1, 1), complex)
    assert tb.gemm(one, one, beta=beta) == 1


@pytest.mark.parametrize("beta", [1, 1e-300, NAN, 1j])
def test_any_other_beta_needs_c(cpu, beta):
    one = np.ones((1, 1), complex)
    with pytest.raises(tb.BlasError, match="beta") as caught:
        tb.gemm(one, one, beta=beta)
    assert (caught.value.argument, caught.value.position) == ("beta", 11)
