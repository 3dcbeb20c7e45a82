"""dot_kernel in the interpreter against sums in extended precision."""

import numpy as np
import pytest

pytest.importorskip("triton")
pytest.importorskip("ml_dtypes")
pytestmark = pytest.mark.interpret

from kernel_harness import DTYPES, assert_close, dot, fenced, magnitude, placed, random, wide  # noqa: E402

BLOCK = 64
each_dtype = pytest.mark.parametrize("dtype", DTYPES)


def expected(x, y, conj_x=False, conj_y=False):
    x, y = wide(x), wide(y)
    return ((x.conj() if conj_x else x) * (y.conj() if conj_y else y)).sum(-1)


def check(x, y, dtype, **options):
    conj = {name: options.get(name, False) for name in ("conj_x", "conj_y")}
    sign = -1 if options.get("negate") else 1
    computed = dot(x, y, block=BLOCK, **options)
    gauge = (magnitude(x) * magnitude(y)).sum(-1)
    assert_close(computed, sign * expected(x, y, **conj), gauge, x.shape[-1], dtype)


@each_dtype
@pytest.mark.parametrize("splits", [1, 3])
@pytest.mark.parametrize("n", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 6 * BLOCK, 7 * BLOCK + 5])
def test_lengths(dtype, splits, n):
    """None, one, one less and one more than a block, a share for each split, a short last block."""
    rng = np.random.default_rng(n)
    check(random(rng, dtype, n), random(rng, dtype, n), dtype, splits=splits)


@each_dtype
@pytest.mark.parametrize(("x_step", "y_step"), [(1, 2), (-1, 1), (-3, -2)])
def test_increments(dtype, x_step, y_step):
    rng = np.random.default_rng(1)
    x, _ = placed(random(rng, dtype, 150), [x_step])
    y, _ = placed(random(rng, dtype, 150), [y_step])
    check(x, y, dtype, splits=2)


def test_increment_zero():
    rng = np.random.default_rng(2)
    x = np.broadcast_to(random(rng, "float32", 1), 100)
    check(x, random(rng, "float32", 100), "float32")


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("conj_x", [False, True])
@pytest.mark.parametrize("conj_y", [False, True])
def test_conjugation(dtype, conj_x, conj_y):
    rng = np.random.default_rng(3)
    x, y = random(rng, dtype, 130), random(rng, dtype, 130)
    check(x, y, dtype, conj_x=conj_x, conj_y=conj_y, splits=2, negate=conj_x)


@each_dtype
def test_batches(dtype):
    """Two batch axes, one of them broadcast, the other with padding."""
    rng = np.random.default_rng(4)
    x, _ = placed(random(rng, dtype, 2, 3, 70), [1, 2, 1])
    y = np.broadcast_to(random(rng, dtype, 1, 3, 70), (2, 3, 70))
    check(x, y, dtype, splits=2)
    check(x, y, dtype)


def test_half_is_summed_in_float32_and_rounded_once():
    """2048 + 1 - 2048 is 0 in float16; each product and sum here is exact in float32."""
    x = np.array([2048, 1, 0.0625, -2048], np.float16)
    assert dot(x, np.ones_like(x)) == np.float16(1.0625)


def test_sums_are_exact_where_they_can_be():
    rng = np.random.default_rng(5)
    x, y = rng.integers(-40, 41, (2, 1000)).astype(np.float32)
    assert dot(x, y, splits=4, block=BLOCK) == x.astype(int) @ y.astype(int)


@pytest.mark.parametrize("splits", [1, 3])
@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_exceptional_values_propagate(splits, bad):
    x, y = np.ones(200, np.float32), np.ones(200, np.float32)
    x[190] = bad
    np.testing.assert_equal(dot(x, y, splits=splits, block=BLOCK), np.float32(bad))
    y[190] = 0
    assert np.isnan(dot(x, y, splits=splits, block=BLOCK))


def test_bits_depend_on_the_splits_alone():
    rng = np.random.default_rng(6)
    x, y = random(rng, "float32", 1000), random(rng, "float32", 1000)
    first = dot(x, y, splits=5, block=BLOCK)
    gapped, _ = placed(x, [2])
    assert dot(gapped, y, splits=5, block=BLOCK) == first
    assert dot(np.stack([y, x]), np.stack([y, y]), splits=5, block=BLOCK)[1] == first


@each_dtype
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_nothing_beyond_the_operands_is_accessed(dtype, after):
    """A read past either end would be a segmentation fault here."""
    rng = np.random.default_rng(7)
    x, y = (fenced(random(rng, dtype, 2 * BLOCK + 5), after) for _ in "xy")
    check(x, y, dtype, splits=2)
    check(x[::-2], y[::-2], dtype)
