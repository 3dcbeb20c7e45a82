"""axpy_kernel in the interpreter against extended precision."""

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
    axpy,
    fenced,
    magnitude,
    placed,
    random,
    untouched,
    wide,
)

BLOCK = 64
each_dtype = pytest.mark.parametrize("dtype", DTYPES)


def check(x, y, alpha, dtype, *, conj_x=False, negate=False, conj_alpha=False):
    y0 = y.copy()
    axpy(x, y, alpha, conj_x=conj_x, negate=negate, conj_alpha=conj_alpha, block=BLOCK)
    factor = wide(alpha) if isinstance(alpha, np.ndarray) else compute(alpha, dtype)
    factor = (factor.conj() if conj_alpha else factor) * (-1 if negate else 1)
    product = factor * (wide(x).conj() if conj_x else wide(x))
    gauge = magnitude(factor) * magnitude(x) + magnitude(y0)
    assert_close(y, product + wide(y0), gauge, 1, dtype)


def compute(alpha, dtype):
    """A host scalar as the kernel has it: in the compute type."""
    real = np.dtype(COMPUTE[dtype])
    kind = np.result_type(real, np.complex64) if isinstance(alpha, complex) else real
    return wide(kind.type(alpha))


@each_dtype
@pytest.mark.parametrize("n", [1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5])
def test_lengths(dtype, n):
    rng = np.random.default_rng(n)
    check(random(rng, dtype, n), random(rng, dtype, n), 0.7, dtype)


@each_dtype
@pytest.mark.parametrize(("x_step", "y_step"), [(1, 1), (2, -1), (-1, 3)])
def test_increments_leave_the_gaps_alone(dtype, x_step, y_step):
    rng = np.random.default_rng(1)
    x, _ = placed(random(rng, dtype, 150), [x_step])
    y, buffer = placed(random(rng, dtype, 150), [y_step])
    before = buffer.copy()
    check(x, y, -1.3, dtype)
    assert untouched(buffer, y, before)


@each_dtype
def test_batches(dtype):
    rng = np.random.default_rng(2)
    x = np.broadcast_to(random(rng, dtype, 3, 70), (2, 3, 70))
    y, buffer = placed(random(rng, dtype, 2, 3, 70), [1, 2, 1])
    before = buffer.copy()
    check(x, y, 0.3, dtype)
    assert untouched(buffer, y, before)


@each_dtype
@pytest.mark.parametrize("flags", [{}, {"negate": True}, {"conj_x": True, "conj_alpha": True}])
def test_device_alpha(dtype, flags):
    """A device scalar comes in the operand or the compute type."""
    rng = np.random.default_rng(3)
    real = COMPUTE[dtype] if not dtype.startswith("complex") else dtype
    for scalar_type in {NUMPY[dtype], np.dtype(real)}:
        alpha = np.asarray(random(rng, dtype, 1)[0]).astype(scalar_type)
        check(random(rng, dtype, 100), random(rng, dtype, 100), alpha, dtype, **flags)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_alpha_with_flags(dtype):
    rng = np.random.default_rng(4)
    x, y = random(rng, dtype, 100), random(rng, dtype, 100)
    check(x, y, 0.7 - 0.9j, dtype, conj_x=True, conj_alpha=True, negate=True)
    check(x, y, 0.7 - 0.9j, dtype)


@each_dtype
def test_alpha_zero_reads_no_x_and_keeps_y_bit_for_bit(dtype):
    x = np.full(70, np.nan, NUMPY[dtype])
    y = random(np.random.default_rng(5), dtype, 70)
    y.view(np.uint8)[: y.itemsize] = 0x7F  # a NaN with a payload
    before = y.tobytes()
    axpy(x, y, np.zeros((), NUMPY[dtype]), block=BLOCK)
    axpy(x, y, -0.0, block=BLOCK)
    assert y.tobytes() == before


def test_alpha_nan_is_not_zero():
    y = np.ones(3, np.float32)
    axpy(np.ones(3, np.float32), y, np.array(np.nan, np.float32))
    assert np.isnan(y).all()


@pytest.mark.parametrize("alpha", [2.0, np.array(2.0, np.float32)], ids=["host", "device"])
def test_real_alpha_scales_the_parts_of_complex_data_separately(alpha):
    """Complex multiplication by 2 + 0i would make NaN of the other part of an infinity."""
    x = np.array([complex(np.inf, 1), complex(1, -np.inf)], np.complex64)
    y = np.zeros(2, np.complex64)
    axpy(x, y, alpha)
    assert y.tolist() == [complex(np.inf, 2), complex(2, -np.inf)]


def test_host_alpha_keeps_all_its_digits():
    y = np.zeros(1)
    axpy(np.ones(1), y, 0.1)
    assert y[0] == 0.1


def test_bfloat16_rounds_to_nearest_even():
    """alpha x + 0 for every kind of tail, infinities, the largest finite value, and NaN."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    bits = np.array([0x3F80, 0x3F81, 0x7F7F, 0x7F80, 0xFF80, 0x7FC0, 0x0001, 0x8001], np.uint16)
    x = bits.view(ml_dtypes.bfloat16)
    for alpha in (1.0, 1.00390625, 1.005859375, 0.998046875, 3.0, -0.5):
        y = np.zeros_like(x)
        axpy(x, y, alpha)
        with np.errstate(over="ignore"):
            rounded = (np.float32(alpha) * x.astype(np.float32)).astype(ml_dtypes.bfloat16)
        np.testing.assert_array_equal(y.astype(np.float32), rounded.astype(np.float32))


@each_dtype
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_nothing_beyond_the_operands_is_accessed(dtype, after):
    """A read or write past either end would be a segmentation fault here."""
    rng = np.random.default_rng(6)
    x, y = (fenced(random(rng, dtype, BLOCK + 5), after) for _ in "xy")
    check(x, y, 0.7, dtype)
    check(x[::-2], y[::-2], 0.7, dtype)
