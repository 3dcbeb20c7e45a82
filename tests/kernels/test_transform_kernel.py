"""transform_kernel in the interpreter: swap, rot and rotm against extended precision."""

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
    assert_close,
    factor,
    fenced,
    magnitude,
    placed,
    random,
    scalar_forms,
    transform,
    untouched,
    wide,
)

BLOCK = 64
REALS = DTYPES[:4]
each_dtype = pytest.mark.parametrize("dtype", DTYPES)
each_complex = pytest.mark.parametrize("dtype", ["complex64", "complex128"])
CASES = [
    *(("swap", dtype, ()) for dtype in DTYPES),
    *(("rot", dtype, (0.6, -0.8)) for dtype in DTYPES),
    *(("rotm", dtype, (-1.0, 0.5, 2.0, -0.25, 3.0)) for dtype in REALS),
]
each_case = pytest.mark.parametrize(("op", "dtype", "numbers"), CASES)
each_layout = pytest.mark.parametrize(
    ("op", "dtype", "numbers"), [c for c in CASES if c[1] in SOME]
)


def matrix(op, numbers, dtype, conj_scalars=False):
    """H, in extended precision, of [x y] := H [x y]."""
    if op == "swap":
        return wide([[0.0, 1.0], [1.0, 0.0]])
    c, s, *_ = h = [factor(value, dtype, conj_scalars) for value in numbers]
    if op == "rot":
        return [[c, s], [-np.conj(s), c]]
    flag, h11, h21, h12, h22 = h
    return {
        -2: [[1.0, 0.0], [0.0, 1.0]],
        -1: [[h11, h12], [h21, h22]],
        0: [[1.0, h12], [h21, 1.0]],
        1: [[h11, 1.0], [-1.0, h22]],
    }[int(flag)]


def check(op, x, y, numbers, dtype, *, conj_x=False, negate=False, conj_scalars=False):
    x0, y0 = wide(x.copy()), wide(y.copy())
    flags = {"conj_x": conj_x, "negate": negate, "conj_scalars": conj_scalars}
    transform(op, x, y, numbers, block=BLOCK, **flags)
    # x is stored conjugated, and negated; y is not.
    sign = -1 if negate else 1
    x0 = sign * (x0.conj() if conj_x else x0)
    (h11, h12), (h21, h22) = matrix(op, numbers, dtype, conj_scalars)
    new_x = sign * (h11 * x0 + h12 * y0)
    gauges = (
        magnitude(h11) * magnitude(x0) + magnitude(h12) * magnitude(y0),
        magnitude(h21) * magnitude(x0) + magnitude(h22) * magnitude(y0),
    )
    assert_close(x, new_x.conj() if conj_x else new_x, gauges[0], 2, dtype)
    assert_close(y, h21 * x0 + h22 * y0, gauges[1], 2, dtype)


def vectors(seed, dtype, *shape):
    rng = np.random.default_rng(seed)
    return random(rng, dtype, *shape), random(rng, dtype, *shape)


@each_case
@pytest.mark.parametrize("n", [1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5])
def test_lengths(op, dtype, numbers, n):
    check(op, *vectors(n, dtype, n), numbers, dtype)


@each_layout
@pytest.mark.parametrize("steps", [(2, -1), (-1, 3)])
def test_increments_leave_the_gaps_alone(op, dtype, numbers, steps):
    placings = [placed(v, [step]) for v, step in zip(vectors(1, dtype, 150), steps, strict=True)]
    before = [buffer.copy() for _, buffer in placings]
    check(op, *(view for view, _ in placings), numbers, dtype)
    for (view, buffer), old in zip(placings, before, strict=True):
        assert untouched(buffer, view, old)


@each_layout
def test_batches(op, dtype, numbers):
    placings = [placed(v, [1, 2, 1]) for v in vectors(2, dtype, 2, 3, 70)]
    before = [buffer.copy() for _, buffer in placings]
    check(op, *(view for view, _ in placings), numbers, dtype)
    for (view, buffer), old in zip(placings, before, strict=True):
        assert untouched(buffer, view, old)


@each_case
def test_a_vector_that_is_stored_negated(op, dtype, numbers):
    """It turns the signs off the diagonal."""
    check(op, *vectors(3, dtype, 100), numbers, dtype, negate=True)


@each_complex
@pytest.mark.parametrize("op", ["swap", "rot"])
def test_a_vector_that_is_stored_conjugated(op, dtype):
    for negate in (False, True):
        numbers = () if op == "swap" else (0.6, 0.48 - 0.64j)
        check(op, *vectors(4, dtype, 100), numbers, dtype, conj_x=True, negate=negate)


@each_complex
@pytest.mark.parametrize("conj_scalars", [False, True])
def test_a_complex_sine(dtype, conj_scalars):
    for s in scalar_forms(0.48 - 0.64j, dtype):
        for c in scalar_forms(0.6, REAL[dtype]):
            check("rot", *vectors(5, dtype, 100), (c, s), dtype, conj_scalars=conj_scalars)


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("flag", [-2, -1, 0, 1])
def test_the_flag_of_a_modified_rotation_completes_it(dtype, flag):
    numbers = (flag, 0.5, 2.0, -0.25, 3.0)
    check("rotm", *vectors(6, dtype, 100), tuple(map(float, numbers)), dtype)
    on_device = tuple(np.asarray(value, NUMPY[dtype]) for value in numbers)
    check("rotm", *vectors(6, dtype, 100), on_device, dtype, negate=flag == 1)


@pytest.mark.parametrize("dtype", REALS)
def test_elements_that_the_flag_replaces_are_not_used(dtype):
    x, y = vectors(7, dtype, 70)
    x0, y0 = wide(x.copy()), wide(y.copy())
    nan = np.nan
    transform("rotm", x, y, (0.0, nan, 0.0, 0.0, nan), block=BLOCK)
    np.testing.assert_array_equal([wide(x), wide(y)], [x0, y0])
    transform("rotm", x, y, (1.0, 0.0, nan, nan, 0.0), block=BLOCK)
    np.testing.assert_array_equal([wide(x), wide(y)], [y0, -x0])
    transform("rotm", x, y, (-2.0, nan, nan, nan, nan), block=BLOCK)
    np.testing.assert_array_equal([wide(x), wide(y)], [y0, -x0])


def odd_values(dtype, seed):
    x = random(np.random.default_rng(seed), dtype, 70)
    x[1:4] = np.array([np.inf, -np.inf, 0], NUMPY[dtype])
    x.view(np.uint8)[: x.itemsize] = 0x7F  # a NaN with a payload
    return x


@each_dtype
def test_swap_changes_no_bit(dtype):
    x, y = odd_values(dtype, 8), odd_values(dtype, 9)
    before = x.tobytes(), y.tobytes()
    transform("swap", x, y, block=BLOCK)
    assert (y.tobytes(), x.tobytes()) == before


@pytest.mark.parametrize("dtype", REALS)
def test_the_idle_modified_rotation_keeps_every_bit(dtype):
    x, y = odd_values(dtype, 10), odd_values(dtype, 11)
    before = x.tobytes(), y.tobytes()
    transform("rotm", x, y, (-2.0, 1.0, 2.0, 3.0, 4.0), block=BLOCK)
    assert (x.tobytes(), y.tobytes()) == before


@each_dtype
def test_of_one_view_as_both_vectors_x_counts(dtype):
    x, _ = vectors(12, dtype, 100)
    x0 = wide(x.copy())
    transform("swap", x, x, block=BLOCK)
    np.testing.assert_array_equal(wide(x), x0)
    transform("rot", x, x, (0.5, 0.25), block=BLOCK)
    np.testing.assert_array_equal(wide(x), wide((x0 * 0.75).astype(NUMPY[dtype])))


def test_a_real_sine_rotates_the_parts_of_complex_data_separately():
    """s = 0.5 + 0i would make NaN of the other part of an infinity."""
    x, y = np.zeros(1, np.complex64), np.array([complex(np.inf, 1)], np.complex64)
    transform("rot", x, y, (0.5, 0.5))
    assert x.tolist() == [complex(np.inf, 0.5)]
    assert y.tolist() == [complex(np.inf, 0.5)]


def test_the_identity_still_multiplies():
    """As BLAS does: 0 Inf is NaN."""
    x, y = np.array([1.0, np.inf]), np.array([np.inf, 2.0])
    transform("rot", x, y, (1.0, 0.0))
    np.testing.assert_array_equal([x, y], [[np.nan, np.inf], [np.inf, np.nan]])


def test_host_scalars_keep_all_their_digits():
    x, y = np.ones(1), np.zeros(1)
    transform("rot", x, y, (0.1, 0.3))
    assert (x[0], y[0]) == (0.1, -0.3)


@each_layout
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_nothing_beyond_the_operands_is_accessed(op, dtype, numbers, after):
    """A read or write past either end would be a segmentation fault here."""
    x, y = (fenced(v, after) for v in vectors(13, dtype, BLOCK + 5))
    check(op, x, y, numbers, dtype)
    check(op, x[::-2], y[::-2], numbers, dtype)
