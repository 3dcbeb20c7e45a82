"""reduce_kernel in the interpreter: sums of products and of magnitudes, in extended precision."""

import numpy as np
import pytest

pytest.importorskip("triton")
pytest.importorskip("ml_dtypes")
pytestmark = pytest.mark.interpret

from kernel_harness import (  # noqa: E402
    DTYPES,
    NUMPY,
    REAL,
    SOME,
    UNIT,
    assert_close,
    fenced,
    magnitude,
    placed,
    random,
    reduce_to,
    wide,
)

BLOCK = 64
each_dtype = pytest.mark.parametrize("dtype", DTYPES)
each_type = pytest.mark.parametrize("dtype", SOME)


def dot(x, y, **options):
    return reduce_to("dot", x, y, **options)


def asum(x, **options):
    return reduce_to("asum", x, **options)


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


# ---- in float64, and with a number added --------------------------------------------------------


@pytest.mark.parametrize("splits", [1, 3])
@pytest.mark.parametrize("n", [0, 1, BLOCK, 7 * BLOCK + 5])
@pytest.mark.parametrize("out", ["float32", "float64"])
def test_products_of_float32_are_added_in_float64(splits, n, out):
    """Cancelling sums, whose digits float32 would lose; alpha is added before they are rounded."""
    rng = np.random.default_rng(n)
    x, y = random(rng, "float32", n), random(rng, "float32", n)
    if n > 1:
        x[: n // 2], y[n - n // 2 :] = x[n - n // 2 :][::-1], -y[: n // 2][::-1]
    for alpha in (None, 0.1, np.array(-3.5, np.float32)):
        found = reduce_to("dot", x, y, out=out, alpha=alpha, splits=splits, block=BLOCK)
        assert found.dtype == np.dtype(out)
        added = 0 if alpha is None else wide(alpha)
        expected_sum = expected(x, y) + added
        gauge = (magnitude(x) * magnitude(y)).sum() + abs(added)
        assert_close(found, expected_sum, gauge, n, "float64", u_out=UNIT[out])


def test_alpha_is_added_once_whatever_the_splits():
    x = np.ones(10 * BLOCK, np.float32)
    for splits in (1, 5):
        found = reduce_to("dot", x, x, out="float32", alpha=2.0, splits=splits, block=BLOCK)
        assert found == 10 * BLOCK + 2


def test_a_negated_sum_gets_its_alpha_as_it_is():
    x = np.ones(3, np.float32)
    assert reduce_to("dot", x, x, out="float32", alpha=10.0, negate=True) == 7


def test_2_to_the_60_is_no_longer_lost():
    """In float32 2^60 + 1 - 2^60 is 0."""
    x = np.array([2.0**30, 1, -(2.0**30)], np.float32)
    y = np.array([2.0**22, 1, 2.0**22], np.float32)
    assert reduce_to("dot", x, y, out="float64") == 1
    assert dot(x, y) == 0


# ---- magnitudes ---------------------------------------------------------------------------------


def check_asum(x, dtype, **options):
    found = asum(x, block=BLOCK, **options)
    assert found.dtype == NUMPY[REAL.get(dtype, dtype)]
    total = magnitude(x).sum(-1)
    assert_close(found, total, total, 2 * x.shape[-1], REAL.get(dtype, dtype))


@each_dtype
@pytest.mark.parametrize("splits", [1, 3])
@pytest.mark.parametrize("n", [0, 1, BLOCK, 7 * BLOCK + 5])
def test_magnitudes_of_any_length(dtype, splits, n):
    check_asum(random(np.random.default_rng(n), dtype, n), dtype, splits=splits)


@each_type
def test_magnitudes_of_batches_and_gaps(dtype):
    x, _ = placed(random(np.random.default_rng(8), dtype, 2, 3, 70), [1, -2, 3])
    for splits in (1, 2):
        check_asum(x, dtype, splits=splits)
    check_asum(np.broadcast_to(x[:1, :, :1], (2, 3, 70)), dtype)


@each_dtype
@pytest.mark.parametrize("splits", [1, 3])
def test_magnitudes_of_special_values(dtype, splits):
    x = np.ones(200, NUMPY[dtype])
    x[190] = -np.inf
    assert asum(x, splits=splits, block=BLOCK) == np.inf
    x[3] = np.nan
    assert np.isnan(asum(x, splits=splits, block=BLOCK))
    assert asum(np.array([-0.0, -3.0], NUMPY[dtype])) == 3


def test_both_parts_of_a_complex_number_count():
    assert asum(np.array([3 - 4j, -1 - 1j], np.complex64)) == 9
    assert asum(np.array([complex(0, -np.inf)])) == np.inf


@each_type
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_no_magnitude_beyond_the_operand_is_accessed(dtype, after):
    x = fenced(random(np.random.default_rng(9), dtype, 2 * BLOCK + 5), after)
    check_asum(x, dtype, splits=2)
    check_asum(x[::-2], dtype)
