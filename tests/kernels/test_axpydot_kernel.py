"""axpydot_kernel in the interpreter: z := w - alpha v and sum_i z_i u_i in extended precision."""

import numpy as np
import pytest

pytest.importorskip("triton")
pytest.importorskip("ml_dtypes")
pytestmark = pytest.mark.interpret

from kernel_harness import (  # noqa: E402
    DTYPES,
    NUMPY,
    SOME,
    assert_close,
    axpydot,
    factor,
    fenced,
    magnitude,
    placed,
    random,
    scalar_forms,
    untouched,
    wide,
)

BLOCK = 64
each_dtype = pytest.mark.parametrize("dtype", DTYPES)
each_type = pytest.mark.parametrize("dtype", SOME)
each_complex = pytest.mark.parametrize("dtype", ["complex64", "complex128"])
each_split = pytest.mark.parametrize("splits", [1, 3])


def check(w, v, u, z, alpha, dtype, conj=(False, False, False), splits=1):
    """z is judged by itself; the sum is of z as it is rounded."""
    w, v, u = (np.copy(x) if x is z else x for x in (w, v, u))
    given = [wide(x).conj() if c else wide(x) for x, c in zip((w, v, u), conj, strict=True)]
    before = [x.copy() for x in (w, v, u)]
    r = axpydot(w, v, u, z, alpha, conj=conj, splits=splits, block=BLOCK)
    a = factor(alpha, dtype, False)
    gauge = magnitude(given[0]) + magnitude(a) * magnitude(given[1])
    assert_close(z, given[0] - a * given[1], gauge, 2, dtype)
    # The unrounded z of a complex type differs from the stored one by its last rounding at most.
    gauge = (magnitude(z) * magnitude(given[2])).sum(-1)
    assert_close(r, (wide(z) * given[2]).sum(-1), gauge, z.shape[-1] + 2, dtype)
    for x, old in zip((w, v, u), before, strict=True):
        assert x.tobytes() == old.tobytes()


def vectors(seed, dtype, *shape):
    rng = np.random.default_rng(seed)
    return [random(rng, dtype, *shape) for _ in range(3)]


@each_dtype
@each_split
@pytest.mark.parametrize("n", [0, 1, BLOCK, 7 * BLOCK + 5])
def test_lengths(dtype, splits, n):
    w, v, u = vectors(n, dtype, n)
    check(w, v, u, np.full(n, np.nan, w.dtype), 0.7, dtype, splits=splits)


@each_type
@pytest.mark.parametrize("steps", [(1, 2, -1, -3), (-1, 1, 3, 2)])
def test_increments_leave_the_gaps_alone(dtype, steps):
    given = vectors(1, dtype, 150)
    views = [placed(x, [step])[0] for x, step in zip(given, steps[:3], strict=True)]
    z, buffer = placed(np.zeros_like(given[0]), [steps[3]])
    before = buffer.copy()
    check(*views, z, -1.3, dtype, splits=2)
    assert untouched(buffer, z, before)


@each_type
@each_split
def test_batches(dtype, splits):
    w, v, u = vectors(2, dtype, 2, 3, 70)
    v, u = np.broadcast_to(v[0], (2, 3, 70)), np.broadcast_to(u[:, :1], (2, 3, 70))
    z, buffer = placed(np.zeros_like(w), [1, 2, 1])
    before = buffer.copy()
    check(w, v, u, z, 0.3, dtype, splits=splits)
    assert untouched(buffer, z, before)


@each_type
@each_split
@pytest.mark.parametrize("place", [0, 1, 2])
def test_z_may_be_one_of_the_other_vectors(dtype, splits, place):
    """Each element is written by the program that has read it, and counts as it was read."""
    n = 3 * BLOCK + 5
    given = vectors(3, dtype, n)
    expected = np.zeros_like(given[0])
    r = axpydot(*given, expected, 0.5, splits=splits, block=BLOCK)
    same = axpydot(*given, given[place], 0.5, splits=splits, block=BLOCK)
    assert given[place].tobytes() == expected.tobytes()
    assert same == r


@each_complex
@pytest.mark.parametrize("place", [None, 0, 1, 2])
def test_conjugated_vectors_and_complex_factors(dtype, place):
    conj = tuple(place == i for i in range(3))
    for alpha in scalar_forms(0.7 - 0.9j, dtype):
        w, v, u = vectors(4, dtype, 130)
        check(w, v, u, np.zeros_like(w), alpha, dtype, conj=conj, splits=2)


@each_dtype
@each_split
@pytest.mark.parametrize("n", [BLOCK + 5, 4 * BLOCK])
def test_with_alpha_zero_v_is_not_read(dtype, splits, n):
    """z is w then, bit for bit but for the sign of a zero."""
    w, _, u = vectors(5, dtype, n)
    v = np.full(n, np.nan, w.dtype)
    for alpha in scalar_forms(0.0, dtype):
        z = np.full(n, np.nan, w.dtype)
        r = axpydot(w, v, u, z, alpha, splits=splits, block=BLOCK)
        np.testing.assert_array_equal(wide(z), wide(w))
        gauge = (magnitude(w) * magnitude(u)).sum()
        assert_close(r, (wide(w) * wide(u)).sum(), gauge, n, dtype)


@each_dtype
def test_nan_and_infinities_propagate(dtype):
    w, v, u = (np.ones(200, NUMPY[dtype]) for _ in range(3))
    z = np.zeros_like(w)
    for x in (w, v, u):
        for bad in (np.nan, np.inf):
            x[190] = bad
            r = axpydot(w, v, u, z, 0.5, splits=3, block=BLOCK)
            assert not np.isfinite(wide(r))
            assert np.isfinite(wide(z)).sum() == (200 if x is u else 199)
            x[190] = 1
    assert axpydot(w, v, u, z, np.array(np.nan, np.float32), block=BLOCK) != 0
    assert np.isnan(wide(z).real).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_the_sum_of_half_types_is_of_z_as_it_is_rounded(dtype):
    """1 + 2^-12 rounds to 1 in both: the sum of z - w is then exactly 0."""
    w, v = np.full(100, -1, NUMPY[dtype]), np.full(100, 2.0**-12, NUMPY[dtype])
    u, z = np.ones(100, NUMPY[dtype]), np.zeros(100, NUMPY[dtype])
    u[50:] = -1
    v[50:] = 0
    assert axpydot(w, v, u, z, 1.0, block=BLOCK) == 0
    np.testing.assert_array_equal(wide(z), -1)


def test_bits_depend_on_the_splits_alone():
    w, v, u = vectors(6, "float32", 1000)
    z = np.zeros_like(w)
    first = axpydot(w, v, u, z, 0.7, splits=5, block=BLOCK)
    gapped, _ = placed(u, [2])
    assert axpydot(w, v, gapped, z, 0.7, splits=5, block=BLOCK) == first
    pairs = [np.stack([x[::-1], x]) for x in (w, v, u, z)]
    assert axpydot(*pairs, 0.7, splits=5, block=BLOCK)[1] == first


@each_type
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_nothing_beyond_the_operands_is_accessed(dtype, after):
    """A read or write past either end would be a segmentation fault here."""
    given = [fenced(x, after) for x in (*vectors(7, dtype, 2 * BLOCK + 5), *vectors(8, dtype, 133))]
    check(*given[:4], 0.7, dtype, splits=2)
    check(*(x[::-2] for x in given[:4]), 0.7, dtype)
