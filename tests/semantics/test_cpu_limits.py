"""What SciPy's BLAS cannot take: 32-bit sizes, and products that pass through buffers."""

from __future__ import annotations

import ctypes
from dataclasses import replace

import numpy as np
import pytest

import tileblas as tb
from tileblas.backends import blas_pointers, select
from tileblas.core.call import View
from tileblas.core.dtypes import DTYPES
from tileblas.runtime import fork


def test_a_size_beyond_32_bits_is_never_wrapped():
    view = View("a", DTYPES["float32"], (1, 2**31 + 8), (2**31 + 8, 1), ())
    assert blas_pointers.operation(view) is None
    with pytest.raises(OverflowError, match="32 bits"):
        blas_pointers._int(2**31)


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_vectors_longer_than_a_blas_integer_go_in_parts(monkeypatch, dtype):
    """As beyond 2^31, with a limit that a test can reach."""
    monkeypatch.setattr(blas_pointers, "INT_MAX", 20)
    random = np.random.default_rng(1)
    long, short = (random.integers(-3, 4, n).astype(dtype) for n in (50, 3))
    wide = random.integers(-3, 4, (3, 50)).astype(dtype)
    columns = np.asfortranarray(wide)
    exact = np.einsum("ij,j->i", wide, long), np.einsum("ij,i->j", wide, short)
    with tb.backend("cpu"), tb.options(copies="forbid"):
        np.testing.assert_allclose(tb.nrm2(long), np.sqrt((abs(long) ** 2).sum()), rtol=1e-6)
        for alpha in (2, 2.0 + 0j) if dtype == "complex128" else (2,):
            np.testing.assert_array_equal(tb.scal(long.copy(), alpha=alpha), 2 * long)
        np.testing.assert_array_equal(tb.gemv(columns, long), exact[0])
        np.testing.assert_array_equal(tb.gemv(columns, short, long.copy(), trans="T"), exact[1])
        got = tb.gemv(columns, long[::-1], short.copy(), alpha=2, beta=3)
        np.testing.assert_array_equal(got, 2 * np.einsum("ij,j->i", wide, long[::-1]) + 3 * short)
        got = tb.gemv(columns, short, long.copy()[::-1], beta=2, trans="T")
        np.testing.assert_array_equal(got, exact[1] + 2 * long[::-1])


def test_one_element_over_and_over_goes_in_parts(monkeypatch):
    monkeypatch.setattr(blas_pointers, "BUFFER_ELEMENTS", 16)
    a, y = np.arange(150.0).reshape(3, 50), np.ones(3)
    with tb.backend("cpu"):
        got = tb.gemv(a, np.broadcast_to(2.0, 50), y, alpha=3, beta=5)
    np.testing.assert_array_equal(got, 6 * a.sum(-1) + 5)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_alpha_0_multiplies_whatever_the_blas_does(monkeypatch, dtype):
    """OpenBLAS before 0.3.28 wrote zeros, as this stand-in for ?scal does."""

    def writes_zeros(n, alpha, x, inc):
        ctypes.memset(x.value, 0, n._obj.value * inc._obj.value)

    monkeypatch.setattr(blas_pointers, "function", lambda *name: writes_zeros)
    for alpha in (0, -0.0, 0j) if dtype.startswith("complex") else (0, -0.0):
        for step in (1, -2):
            x = np.full(10, np.inf, dtype)
            with tb.backend("cpu"):
                tb.scal(x[::step], alpha=alpha)
            assert np.isnan(x[::step].real).all()
            assert step == 1 or (x[::2].real == np.inf).all()  # the gaps


def test_half_norms_go_in_parts(monkeypatch):
    """Each part rounds to float32, and their squares are far beyond float16."""
    monkeypatch.setattr(blas_pointers, "BUFFER_ELEMENTS", 16)
    x = np.full(64, 4096, np.float16)
    with tb.backend("cpu"):
        assert tb.nrm2(x) == 32768
        x[40] = np.inf
        assert tb.nrm2(x) == np.inf
        x[0] = np.nan
        assert np.isnan(tb.nrm2(x))


def test_a_row_longer_than_a_blas_integer_is_read_by_its_parts():
    view = View("a", DTYPES["float32"], (1, 2**31 + 8), (0, 1), ())
    assert blas_pointers.operation_on_vectors(view) is None
    assert blas_pointers.operation_on_vectors(replace(view, shape=(1, 2**31 - 1))) is not None


def test_alpha_multiplies_the_whole_sum_not_its_blocks():
    k = 2048
    a = np.zeros((2, 2 * k), np.float32)[:, ::2]
    a[:, 0], a[:, 1500] = 1e30, -1e30
    with tb.backend("cpu"):
        found = tb.gemm(a, np.ones((k, 1), np.float32), alpha=1e10)
        one = np.zeros((1, k), np.float16)
        one[0, 0] = 1
        infinite = tb.gemm(one, np.ones((k, 1), np.float16), alpha=float("inf"))
    np.testing.assert_array_equal(found, 0)
    assert infinite == np.inf


def test_a_real_alpha_scales_parts_separately_through_buffers():
    a = np.full((1, 2), 1e200 + 0j)[:, ::2]
    with tb.backend("cpu"):
        found = tb.gemm(a[::-1], np.array([[1e100 + 1e-200j]]), alpha=1e200)
    assert found[0, 0].real == np.inf
    assert found[0, 0].imag == 1e200


def test_auto_stays_on_the_cpu_where_a_fork_has_lost_cuda(monkeypatch):
    monkeypatch.setattr(select, "cuda_available", lambda: True)
    monkeypatch.setattr(fork, "lost", True)
    a = np.ones((1500, 1500), np.float32)
    with tb.backend("auto"):
        assert tb.gemm(a, a)[0, 0] == 1500


def test_interleaved_contexts_leave_the_process_as_it_was():
    from tileblas.settings import copies_forbidden

    first, second = tb.options(copies="forbid"), tb.options(copies="forbid")
    with first:
        assert copies_forbidden()
    with second:
        assert copies_forbidden()
    assert not copies_forbidden()
    with first, first:
        assert copies_forbidden()
    assert not copies_forbidden()


def test_nothing_is_copied_where_nothing_is_read():
    a = np.ones((3, 2))[::-1]
    with tb.backend("cpu"), tb.options(copies="forbid"):
        found = tb.gemm(a, np.ones((2, 2)), np.ones((3, 2)), alpha=0, beta=2)
    np.testing.assert_array_equal(found, 2)


def test_a_bfloat16_number_is_a_number():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    with tb.backend("cpu"):
        found = tb.axpy(np.ones(2), np.ones(2), alpha=ml_dtypes.bfloat16(2))
    np.testing.assert_array_equal(found, 3)


def test_a_result_beyond_all_memory_is_a_memory_error_with_its_bytes():
    a = np.broadcast_to(np.float64(1), (2**40, 1))
    with tb.backend("cpu"), pytest.raises(MemoryError, match=str(8 * 2**80)):
        tb.gemm(a, a, trans_b="T")
