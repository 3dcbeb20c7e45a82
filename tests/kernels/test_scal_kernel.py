"""scal_kernel in the interpreter against extended precision."""

import numpy as np
import pytest

pytest.importorskip("triton")
pytest.importorskip("ml_dtypes")
pytestmark = pytest.mark.interpret

from kernel_harness import (  # noqa: E402
    COMPUTE,
    DTYPES,
    NUMPY,
    assert_close,
    factor,
    fenced,
    magnitude,
    placed,
    random,
    scal,
    scalar_forms,
    untouched,
    wide,
)

BLOCK = 64
each_dtype = pytest.mark.parametrize("dtype", DTYPES)
each_complex = pytest.mark.parametrize("dtype", ["complex64", "complex128"])


def check(x, alpha, dtype, *, conj_alpha=False):
    x0 = x.copy()
    scal(x, alpha, conj_alpha=conj_alpha, block=BLOCK)
    alpha_wide = factor(alpha, dtype, conj_alpha)
    assert_close(x, alpha_wide * wide(x0), magnitude(alpha_wide) * magnitude(x0), 1, dtype)


@each_dtype
@pytest.mark.parametrize("n", [1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5])
def test_lengths(dtype, n):
    check(random(np.random.default_rng(n), dtype, n), 0.7, dtype)


@each_dtype
@pytest.mark.parametrize("step", [2, -1, -3])
def test_increments_leave_the_gaps_alone(dtype, step):
    x, buffer = placed(random(np.random.default_rng(1), dtype, 150), [step])
    before = buffer.copy()
    check(x, -1.3, dtype)
    assert untouched(buffer, x, before)


@each_dtype
def test_batches(dtype):
    x, buffer = placed(random(np.random.default_rng(2), dtype, 2, 3, 70), [1, 2, 1])
    before = buffer.copy()
    check(x, 0.3, dtype)
    assert untouched(buffer, x, before)


@each_dtype
def test_device_alpha(dtype):
    """A device scalar comes in the operand or the compute type."""
    rng = np.random.default_rng(3)
    for kind in {NUMPY[dtype], np.dtype(COMPUTE[dtype])}:
        alpha = np.asarray(random(rng, dtype, 1)[0]).real.astype(kind)
        check(random(rng, dtype, 100), alpha, dtype)


@each_complex
@pytest.mark.parametrize("conj_alpha", [False, True])
def test_complex_alpha(dtype, conj_alpha):
    rng = np.random.default_rng(4)
    for alpha in scalar_forms(0.7 - 0.9j, dtype):
        check(random(rng, dtype, 100), alpha, dtype, conj_alpha=conj_alpha)


@each_dtype
def test_alpha_one_keeps_x_bit_for_bit(dtype):
    x = random(np.random.default_rng(5), dtype, 70)
    x.view(np.uint8)[: x.itemsize] = 0x7F  # a NaN with a payload
    before = x.tobytes()
    for alpha in scalar_forms(1.0, dtype):
        scal(x, alpha, block=BLOCK)
        assert x.tobytes() == before


@each_dtype
@pytest.mark.parametrize(
    ("alpha", "bad"), [(0.0, np.nan), (0.0, np.inf), (np.inf, 0.0), (np.nan, 0.0)]
)
def test_alpha_zero_multiplies(dtype, alpha, bad):
    """0 NaN, 0 Inf, Inf 0 and NaN 0 are NaN, in the elements that have them and in no other gap."""
    for form in scalar_forms(alpha, dtype):
        x, buffer = placed(np.full(9, bad, NUMPY[dtype]), [2])
        before = buffer.copy()
        scal(x, form, block=BLOCK)
        assert np.isnan(wide(x).real).all()
        assert untouched(buffer, x, before)
    x = np.ones(9, NUMPY[dtype])
    scal(x, 0.0, block=BLOCK)
    assert not wide(x).any()


@pytest.mark.parametrize("alpha", [2.0, np.array(2.0, np.float32)], ids=["host", "device"])
def test_real_alpha_scales_the_parts_of_complex_data_separately(alpha):
    """Complex multiplication by 2 + 0i would make NaN of the other part of an infinity."""
    x = np.array([complex(np.inf, 1), complex(1, -np.inf)], np.complex64)
    scal(x, alpha)
    assert x.tolist() == [complex(np.inf, 2), complex(2, -np.inf)]


def test_host_alpha_keeps_all_its_digits():
    x = np.ones(1)
    scal(x, 0.1)
    assert x[0] == 0.1


@each_dtype
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_nothing_beyond_the_operand_is_accessed(dtype, after):
    """A read or write past either end would be a segmentation fault here."""
    x = fenced(random(np.random.default_rng(6), dtype, BLOCK + 5), after)
    check(x, 0.7, dtype)
    check(x[::-2], 0.7, dtype)
