"""reduce_kernel in the interpreter: norms against those in extended precision."""

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
    fenced,
    placed,
    random,
    reduce_to,
    wide,
)

BLOCK = 64
TINY, HUGE = 2.0**-1022, 2.0**1023  # around the ends of float64's normal numbers
each_dtype = pytest.mark.parametrize("dtype", DTYPES)
each_type = pytest.mark.parametrize("dtype", SOME)
each_split = pytest.mark.parametrize("splits", [1, 3])
each_scaled = pytest.mark.parametrize("dtype", ["float64", "complex128"])


def nrm2(x, **options):
    return reduce_to("nrm2", x, **options)


def norm(x):
    """Along the last axis, in extended precision, whose range holds every square of float64."""
    x = wide(x)
    return np.sqrt((x.real**2 + x.imag**2).sum(-1))


def check(x, dtype, **options):
    """The sum is in float64, for every type; the result is rounded once more."""
    computed = nrm2(x, block=BLOCK, **options)
    assert computed.dtype == NUMPY[REAL.get(dtype, dtype)]
    expected = norm(x)
    relative = (x.shape[-1] + 4) * UNIT["float64"] + UNIT[dtype]
    error = abs(wide(computed) - expected)
    assert np.all(error <= relative * expected + wide(smallest(dtype)))


def smallest(dtype):
    """The smallest subnormal of the type of the result."""
    if dtype == "bfloat16":
        return 2.0**-133
    return np.finfo(REAL.get(dtype, dtype)).smallest_subnormal


@each_dtype
@each_split
@pytest.mark.parametrize("n", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 6 * BLOCK, 7 * BLOCK + 5])
def test_lengths(dtype, splits, n):
    """None, one, one less and one more than a block, a share for each split, a short last block."""
    check(random(np.random.default_rng(n), dtype, n), dtype, splits=splits)


@each_dtype
@pytest.mark.parametrize("step", [2, -1, -3])
def test_increments(dtype, step):
    x, _ = placed(random(np.random.default_rng(1), dtype, 150), [step])
    check(x, dtype, splits=2)


@each_dtype
def test_increment_zero(dtype):
    check(np.broadcast_to(random(np.random.default_rng(2), dtype, 1), 100), dtype)


@each_dtype
@each_split
def test_batches(dtype, splits):
    x, _ = placed(random(np.random.default_rng(3), dtype, 2, 3, 70), [1, 2, 1])
    check(x, dtype, splits=splits)
    check(np.broadcast_to(x[:1], (2, 3, 70)), dtype, splits=splits)


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("float16", 2.0**-24),
        ("float16", 5000.0),
        ("bfloat16", 2.0**-133),
        ("bfloat16", 2.0**120),
        ("float32", 2.0**-149),
        ("float32", 2.0**122),
        ("complex64", 2.0**-149 * (1 + 1j)),
        ("complex64", 2.0**122 * (1 - 1j)),
        ("float64", 2.0**-1074),
        ("float64", 1e-310),
        ("float64", 1e200),
        ("float64", 2.0**1018),
        ("complex128", 2.0**-1074 * (1 - 1j)),
        ("complex128", 2.0**1016 * (1 + 1j)),
    ],
)
@each_split
def test_squares_neither_overflow_nor_underflow(dtype, value, splits):
    check(np.full(150, value, NUMPY[dtype]), dtype, splits=splits)


@each_scaled
@each_split
@pytest.mark.parametrize(
    "parts",
    [
        (2.0**-520, 1.0),  # small ones that do not count
        (2.0**-512, 2.0**-511),  # on both sides of the lower threshold, where all count
        (2.0**-511 * (1 - 2.0**-53), 2.0**-511 * (1 + 2.0**-52)),
        (2.0**486, 2.0**486 * (1 + 2.0**-52)),  # on both sides of the upper one
        (2.0**480, 2.0**487),
        (1.0, 2.0**600),
        (TINY, HUGE / 32),
        (2.0**-530, 1.0, 2.0**500),
    ],
)
def test_mixtures_of_magnitudes(dtype, parts, splits):
    """Small, medium and big ones in turn, so that every split and lane has some of each."""
    rng = np.random.default_rng(4)
    signs = rng.choice([-1.0, 1.0], 150)
    check((np.resize(parts, 150) * signs).astype(NUMPY[dtype]), dtype, splits=splits)


@each_scaled
def test_many_small_ones_count_beside_few_medium_ones(dtype):
    x = np.full(3000, 2.0**-511.5, NUMPY[dtype])
    x[7] = 2.0**-511
    check(x, dtype, splits=4)


@each_scaled
def test_random_magnitudes(dtype):
    rng = np.random.default_rng(5)
    for low, high in ((-1074, 1010), (-560, -480), (440, 530)):
        x = rng.standard_normal(400) * 2.0 ** rng.uniform(low, high, 400)
        check(x.astype(NUMPY[dtype]), dtype, splits=2)


def test_a_norm_beyond_the_largest_number_is_infinite():
    assert nrm2(np.full(4, 2.0**1023)) == np.inf
    assert nrm2(np.full(4, np.float32(2.0**127))) == np.inf


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        ([3.0, 4.0], 5.0),
        ([5.0, 12.0], 13.0),
        ([0.0, -0.0], 0.0),
        ([-7.0], 7.0),
    ],
)
@each_dtype
def test_exact_norms(dtype, x, expected):
    assert nrm2(np.array(x, NUMPY[dtype])) == expected


def test_both_parts_of_a_complex_number_count_and_the_result_is_real():
    result = nrm2(np.array([3 + 4j], np.complex64))
    assert result.dtype == np.float32
    assert result == 5


def test_subnormals_keep_their_digits():
    """OpenBLAS issue 3679: sqrt(28) x, where 1 / x overflows."""
    x = np.full(28, 7.457008414e-310)
    assert abs(nrm2(x) / np.sqrt(28) / x[0] - 1) < 1e-12


@each_type
@each_split
@pytest.mark.parametrize("places", [[0], [74], [149], [0, 149], [0, 74, 149]])
def test_nan_wins_over_infinity(dtype, splits, places):
    """One to three of them at the ends and in the middle, NaN beside infinities of both signs."""
    x = random(np.random.default_rng(6), dtype, 150)
    x[places] = -np.inf
    assert nrm2(x, splits=splits, block=BLOCK) == np.inf
    for place in places:
        y = x.copy()
        y[place] = np.nan
        assert np.isnan(nrm2(y, splits=splits, block=BLOCK))
        y[(place + 1) % 150] = np.inf
        assert np.isnan(nrm2(y, splits=splits, block=BLOCK))


@each_dtype
@each_split
def test_exceptional_members_of_a_batch_leave_the_others_alone(dtype, splits):
    x = random(np.random.default_rng(9), dtype, 2, 3, 150)
    x[0, 1, 149], x[1, 0, 3] = np.nan, -np.inf
    x[1, 2] = smallest(dtype)
    found = nrm2(x, splits=splits, block=BLOCK)
    ordinary = np.array([[True, False, True], [False, True, True]])
    expected = norm(x)[ordinary]
    relative = 154 * UNIT["float64"] + UNIT[dtype]
    error = abs(wide(found[ordinary]) - expected)
    assert np.all(error <= relative * expected + wide(smallest(dtype)))
    assert np.isnan(found[0, 1])
    assert found[1, 0] == np.inf


@each_scaled
def test_nan_wins_over_big_and_small_numbers(dtype):
    for other in (2.0**600, 2.0**-600):
        x = np.full(150, other, NUMPY[dtype])
        x[100] = np.nan
        assert np.isnan(nrm2(x, splits=3, block=BLOCK))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_exceptional_imaginary_parts_count(dtype):
    x = np.ones(70, NUMPY[dtype])
    x[3] = complex(0, -np.inf)
    assert nrm2(x) == np.inf
    x[4] = complex(0, np.nan)
    assert np.isnan(nrm2(x))


@each_type
def test_bits_depend_on_the_splits_alone(dtype):
    x = random(np.random.default_rng(7), dtype, 1000)
    first = nrm2(x, splits=5, block=BLOCK)
    gapped, _ = placed(x, [2])
    assert nrm2(gapped, splits=5, block=BLOCK) == first
    assert nrm2(np.stack([x[::-1], x]), splits=5, block=BLOCK)[1] == first


@each_dtype
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_nothing_beyond_the_operand_is_accessed(dtype, after):
    """A read past either end would be a segmentation fault here."""
    x = fenced(random(np.random.default_rng(8), dtype, 2 * BLOCK + 5), after)
    check(x, dtype, splits=2)
    check(x[::-2], dtype)
