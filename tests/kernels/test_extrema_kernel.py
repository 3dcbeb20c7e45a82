"""reduce_kernel in the interpreter: the places of extrema, against exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

pytest.importorskip("triton")
pytest.importorskip("ml_dtypes")
pytestmark = pytest.mark.interpret

from kernel_harness import (  # noqa: E402
    COMPUTE,
    DTYPES,
    NUMPY,
    REAL,
    SOME,
    fenced,
    placed,
    random,
    reduce_to,
    wide,
)

BLOCK = 64
each_dtype = pytest.mark.parametrize("dtype", DTYPES)
each_type = pytest.mark.parametrize("dtype", SOME)
each_complex = pytest.mark.parametrize("dtype", ["complex64", "complex128"])
each_op = pytest.mark.parametrize("op", ["iamax", "iamin"])
each_split = pytest.mark.parametrize("splits", [1, 3])


def find(op, x, **options):
    found = reduce_to(op, x, **({"block": BLOCK} | options))
    assert found.dtype == np.int64
    return found


def rounded(size, bits):
    """A fraction rounded to even as a number of so many bits whose exponent has no limits."""
    if not size:
        return size
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    ulp = Fraction(2) ** (exponent + 1 - bits)
    return round(size / ulp) * ulp


def rank(op, value):
    """What orders elements, the best one last: NaN, then the size |re| + |im|, without overflow."""
    bits = 53 if COMPUTE[value.dtype.name] == "float64" else 24
    value = complex(wide(value))
    parts = abs(value.real), abs(value.imag)
    if any(part != part for part in parts):
        return 2, Fraction(0)
    infinite = np.inf in parts
    size = Fraction(0) if infinite else rounded(Fraction(parts[0]) + Fraction(parts[1]), bits)
    if op == "iamax":
        return (1, Fraction(0)) if infinite else (0, size)
    return (-1, Fraction(0)) if infinite else (0, -size)


def best(op, x):
    """The first place of the best element of one vector."""
    ranks = [rank(op, value) for value in x]
    return ranks.index(max(ranks))


def check(op, x, **options):
    expected = np.array([best(op, row) for row in x.reshape(-1, x.shape[-1])])
    found = find(op, x, **options)
    np.testing.assert_array_equal(found, expected.reshape(x.shape[:-1]))


@each_op
@each_dtype
@each_split
@pytest.mark.parametrize("n", [1, BLOCK - 1, BLOCK + 1, 6 * BLOCK, 7 * BLOCK + 5])
def test_lengths(op, dtype, splits, n):
    """One, around a block, a share for each split, and a short last block."""
    check(op, random(np.random.default_rng(n), dtype, n), splits=splits)


@each_op
@each_type
@pytest.mark.parametrize("step", [2, -1, -3])
def test_increments(op, dtype, step):
    """The place counts elements of the view, and the gaps are NaN."""
    x, _ = placed(random(np.random.default_rng(1), dtype, 150), [step])
    check(op, x, splits=2)


@each_op
@each_type
@each_split
def test_batches(op, dtype, splits):
    x, _ = placed(random(np.random.default_rng(2), dtype, 2, 3, 150), [1, 2, 1])
    check(op, x, splits=splits)
    check(op, np.broadcast_to(x[:1], (2, 3, 150)), splits=splits)


@each_op
@each_type
@each_split
@pytest.mark.parametrize("places", [(0, 199), (199,), (3, 4), (70, 130), (BLOCK - 1, BLOCK)])
def test_of_equal_elements_the_first_one_counts(op, dtype, splits, places):
    """In other lanes, blocks and splits; signs do not count, and of all equal ones it is 0."""
    x = np.full(200, -2, NUMPY[dtype])
    assert find(op, x, splits=splits) == 0
    x[list(places)] = 5 if op == "iamax" else 1
    x[places[-1]] *= -1
    assert find(op, x, splits=splits) == places[0]


@each_op
@each_type
def test_few_values_tie_everywhere(op, dtype):
    """Of small whole numbers nearly all are equal to others."""
    rng = np.random.default_rng(3)
    x = rng.integers(-2, 3, (4, 300)) + (1j * rng.integers(-2, 3, (4, 300)) if dtype in REAL else 0)
    for splits in (1, 4):
        check(op, x.astype(NUMPY[dtype]), splits=splits)


@each_op
@each_type
@each_split
@pytest.mark.parametrize("places", [[0], [74], [149], [0, 149], [10, 74, 140]])
def test_a_nan_counts_before_everything(op, dtype, splits, places):
    """The first one, beside infinities of both signs and zeros, whatever its sign and payload."""
    x = random(np.random.default_rng(4), dtype, 150)
    x[[5, 9]] = np.array([np.inf, 0], NUMPY[dtype])
    x[places] = np.nan
    x[places[0]] = -x[places[0]]
    assert find(op, x, splits=splits) == places[0]


@each_dtype
@each_split
def test_an_infinity_is_largest_and_never_smallest(dtype, splits):
    x = random(np.random.default_rng(5), dtype, 150)
    x[[20, 90, 120]] = np.array([-np.inf, np.inf, 0], NUMPY[dtype])
    assert find("iamax", x, splits=splits) == 20
    assert find("iamin", x, splits=splits) == 120
    x[:] = np.inf
    assert find("iamin", x, splits=splits) == find("iamax", x, splits=splits) == 0
    x[140] = 1
    assert find("iamin", x, splits=splits) == 140


@each_op
@each_dtype
def test_zeros_and_subnormals_are_told_apart(op, dtype):
    smallest = {"bfloat16": 2.0**-133}.get(dtype)
    smallest = smallest or np.finfo(REAL.get(dtype, dtype)).smallest_subnormal
    x = np.zeros(100, NUMPY[dtype])
    x[::2] = -0.0
    assert find(op, x) == 0
    x[[30, 60]] = [smallest, 2 * smallest]
    assert find("iamax", x) == 60
    x[[0, 1, 2]] = smallest
    assert find("iamin", x) == 3


@each_op
@each_dtype
def test_neighbours_of_the_largest_number_are_told_apart(op, dtype):
    real = REAL.get(dtype, dtype)
    bits = {2: np.uint16, 4: np.uint32, 8: np.uint64}[NUMPY[real].itemsize]
    most = np.array(np.inf, NUMPY[real]).view(bits) - bits(1)  # the largest finite number
    values = np.array([most - bits(k) for k in (3, 2, 0, 1)], bits).view(NUMPY[real])
    x = (values if op == "iamax" else values[::-1]).astype(NUMPY[dtype])
    assert find(op, x) == (2 if op == "iamax" else 3)


@each_op
@each_complex
@each_split
def test_sums_of_parts_that_overflow_are_still_ordered(op, dtype, splits):
    """|re| + |im| beyond the largest number: compared as rounded, below every infinity."""
    most = float(np.finfo(REAL[dtype]).max)
    unit = most - float(np.nextafter(np.finfo(REAL[dtype]).max, NUMPY[REAL[dtype]].type(0)))
    parts = (most, most - unit, most / 2, most / 2 + 4 * unit, 0.75 * most)
    values = [complex(a, -b) for a in parts for b in parts]
    rng = np.random.default_rng(6)
    for _ in range(4):
        x = rng.permutation(np.array(values * 6, NUMPY[dtype]))
        x = x[: 2 * BLOCK + 9]
        check(op, x, splits=splits)
    x[50] = complex(0, np.inf)
    check(op, x, splits=splits)
    assert (find(op, x, splits=splits) == 50) == (op == "iamax")


@each_complex
def test_sums_are_rounded_as_the_type_rounds_them(dtype):
    """Without overflow: what rounds to equal sums is equal, and the first one counts."""
    tiny = float(np.finfo(REAL[dtype]).eps) / 8
    x = np.array([complex(1, 0), complex(1, tiny), complex(1, 0)], NUMPY[dtype])
    assert find("iamax", x) == 0
    assert find("iamin", x[1:]) == 0


@each_complex
def test_both_parts_of_a_complex_number_count(dtype):
    x = np.array([3 + 0j, 1 - 2.5j, -1 - 1j, 0.5j], NUMPY[dtype])
    assert find("iamax", x) == 1
    assert find("iamin", x) == 3
    x[2] = complex(0, np.nan)
    assert find("iamax", x) == find("iamin", x) == 2


@each_op
@each_type
@pytest.mark.parametrize("splits", [2, 5, 16])
def test_the_place_does_not_depend_on_the_splits(op, dtype, splits):
    x = random(np.random.default_rng(7), dtype, 1000)
    assert find(op, x, splits=splits) == find(op, x)


@each_op
@each_type
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_nothing_beyond_the_operand_is_accessed(op, dtype, after):
    """A read past either end would be a segmentation fault here."""
    x = fenced(random(np.random.default_rng(8), dtype, 2 * BLOCK + 5), after)
    check(op, x, splits=2)
    check(op, x[::-2])
