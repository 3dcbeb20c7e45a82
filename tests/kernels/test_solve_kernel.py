"""solve_kernel in the interpreter: residuals, quotients that are not safe, and what is sent."""

import numpy as np
import pytest

triton = pytest.importorskip("triton")
pytest.importorskip("ml_dtypes")
pytestmark = pytest.mark.interpret

import triton.language as tl  # noqa: E402
from kernel_harness import UNIT, magnitude, placed, random, untouched, wide  # noqa: E402
from level2_harness import solve_in_place, store  # noqa: E402

from tileblas.kernels import messages  # noqa: E402


def assert_solved(full, x, b, n):
    """|b - A x| <= (n + 2) eps |A| |x|, element by element; complex numbers count twice."""
    assert np.isfinite(x).all()
    residual = magnitude(wide(b) - (full * wide(x)[..., None, :]).sum(-1))
    sums = (magnitude(full) * magnitude(x)[..., None, :]).sum(-1)
    tiny = np.finfo(x.dtype).smallest_subnormal * (1 + magnitude(full).sum(-1))
    assert np.all(residual <= 2 * (n + 2) * UNIT[x.dtype.name] * (sums + magnitude(b)) + tiny)


def triangle(rng, dtype, n, lower, storage="", reach=None, unit=False, batch=(), by_columns=True):
    """A triangle that is no worse to solve than its order, and its whole matrix."""
    values = random(rng, dtype, *batch, n, n) / n
    i = np.arange(n)
    values[..., i, i] += 1 + (i % 3)
    reach = n - 1 if reach is None else reach
    below, above = (reach, 0) if lower else (0, reach)
    a = store(values, storage, below, above, by_columns, diagonal=not unit)
    full = wide(a.values)
    if unit:
        full[..., i, i] = 1
    return a, full


# Squares are 8 x 8 in these tests.
@pytest.mark.parametrize("storage", ["", "band", "packed"])
@pytest.mark.parametrize("lower", [False, True], ids=["upper", "lower"])
@pytest.mark.parametrize(
    ("dtype", "n", "trans", "unit"),
    [
        ("float32", 25, "N", False),
        ("float64", 26, "T", True),
        ("complex64", 19, "C", False),
        ("complex128", 16, "N", True),
    ],
)
def test_triangles(storage, lower, dtype, n, trans, unit):
    """The other triangle and a unit diagonal are NaN; the matrix stays as it is."""
    rng = np.random.default_rng(n)
    reach = 11 if storage == "band" else n - 1
    a, full = triangle(rng, dtype, n, lower, storage, reach, unit, by_columns=n % 2 == 0)
    before = a.memory.copy()
    if trans != "N":
        a, full, lower = a.transposed, full.T, not lower
    if trans == "C":
        full = full.conj()
    x = random(rng, dtype, n)
    b = x.copy()
    solve_in_place(a, x, upper=not lower, reach=reach, unit_diag=unit, conj_a=trans == "C")
    assert_solved(full, x, b, n)
    assert a.memory.tobytes() == before.tobytes()


@pytest.mark.parametrize(
    ("n", "lower", "by_columns"),
    [(1, True, True), (5, False, True), (8, True, False), (70, False, False), (70, True, True),
     (140, True, False), (140, False, True)],
)  # fmt: skip
def test_sizes(n, lower, by_columns):
    rng = np.random.default_rng(n)
    a, full = triangle(rng, "float32", n, lower, by_columns=by_columns)
    x = random(rng, "float32", n)
    b = x.copy()
    solve_in_place(a, x, upper=not lower, side=8 if n < 70 else 16)
    assert_solved(full, x, b, n)


@pytest.mark.parametrize("reach", [0, 1, 8, 9])
@pytest.mark.parametrize("lower", [False, True], ids=["upper", "lower"])
def test_bands_that_end_at_any_place_in_a_square(reach, lower):
    rng = np.random.default_rng(reach)
    a, full = triangle(rng, "float64", 27, lower, "band", reach)
    x = random(rng, "float64", 27)
    b = x.copy()
    solve_in_place(a, x, upper=not lower, reach=reach)
    assert_solved(full, x, b, 27)


def test_batches_steps_and_minus_signs():
    """Two batch axes, x backwards with gaps among NaN that stays; -A is solved as -b."""
    rng = np.random.default_rng(6)
    a, full = triangle(rng, "float32", 12, True, batch=(2, 2))
    x, buffer = placed(random(rng, "float32", 2, 2, 12), (1, 1, -2))
    b, before = x.copy(), buffer.copy()
    solve_in_place(a, x, upper=False, negate=True)
    assert_solved(-full, x, b, 12)
    assert untouched(buffer, x, before)


# ---- quotients of elements and diagonal elements that are no normal numbers --------------------


def solved_in_turn(full, b, upper):
    """x with A x = b, element by element in the type of b, as BLAS does; nothing is skipped."""
    x, order = b.copy(), range(b.size)
    with np.errstate(all="ignore"):
        for j in reversed(order) if upper else order:
            x[j] = x[j] / full[j, j]
            rest = slice(0, j) if upper else slice(j + 1, None)
            x[rest] = x[rest] - full[rest, j] * x[j]
    return x


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("bad", [0.0, np.inf, np.nan, "subnormal"])
def test_a_diagonal_element_that_is_not_normal(dtype, upper, bad):
    """Zeros meet what it gives too: the same elements are NaN and Inf as in BLAS."""
    n, place = 13, 6
    values = np.triu(np.ones((n, n), dtype), 1) if upper else np.tril(np.ones((n, n), dtype), -1)
    values[:, place] *= np.arange(n) % 2
    np.fill_diagonal(values, 1)
    b = np.ones(n, dtype)
    if bad == "subnormal":
        values[place, place] = 4 * np.finfo(dtype).smallest_subnormal
        b[place] = 8 * np.finfo(dtype).smallest_subnormal
        values[np.arange(n) != place, place] = 0
    else:
        values[place, place] = bad
    x = b.copy()
    a = store(values, "", 0 if upper else n - 1, n - 1 if upper else 0)
    solve_in_place(a, x, upper=upper)
    expected = solved_in_turn(values, b, upper)
    np.testing.assert_array_equal(np.isnan(x), np.isnan(expected))
    np.testing.assert_array_equal(np.isinf(x), np.isinf(expected))
    if bad == "subnormal":
        np.testing.assert_array_equal(x, expected)  # whole numbers: exact


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("upper", [False, True])
def test_quotients_that_overflow_or_vanish_have_harmless_products(dtype, upper):
    """a_ij / a_jj leaves the normal numbers, a_ij x_j does not: one of each kind in a square."""
    n, real = 16, np.finfo(dtype)
    big, small = 16 * np.sqrt(real.max), np.sqrt(real.tiny) / 16
    number = 1.25 + 0.5j if dtype.startswith("complex") else 1.25
    values, b = np.diag(np.full(n, 2, dtype)), np.ones(n, dtype)
    for s in (0, 8):
        values[s + 4, s + 4], b[s + 4] = small, small / 8
        values[s + 6, s + 4] = number * big
        values[s + 5, s + 5], b[s + 5] = big, big * 8
        values[s + 7, s + 5], b[s + 7] = number * small, small
    if upper:
        values, b = values[::-1, ::-1], b[::-1].copy()
    x = b.copy()
    solve_in_place(store(values, "", *((0, n - 1) if upper else (n - 1, 0))), x, upper=upper)
    assert_solved(wide(values), x, b, n)


@pytest.mark.parametrize("lower", [True, False], ids=["lower", "upper"])
@pytest.mark.parametrize("value", [np.inf, np.nan, 0.0], ids=["Inf", "NaN", "divided by 0"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_infinity_does_not_meet_what_is_beyond_a_band(dtype, value, lower):
    """Of b, or of a diagonal of 0. It goes on from row to row; 0 Inf would make it NaN."""
    n, place = 20, 9
    values = np.eye(n, dtype=dtype) + 0.5 * np.eye(n, k=-1 if lower else 1, dtype=dtype)
    b = np.ones(n, dtype)
    if value == 0:
        values[place, place] = 0
    else:
        b[place] = value
    x, expected, before = b.copy(), b.copy(), 0.0
    below, above = (1, 0) if lower else (0, 1)
    solve_in_place(store(values, "band", below, above, by_columns=True), x, upper=not lower,
                   reach=1)  # fmt: skip
    with np.errstate(all="ignore"):
        for i in range(n) if lower else reversed(range(n)):
            expected[i] = before = (b[i] - b.dtype.type(0.5) * before) / values[i, i]
    assert not np.isfinite(expected[place])
    np.testing.assert_allclose(x, expected, rtol=1e-5)


def test_no_zero_is_skipped():
    """A NaN below a zero of b."""
    values = np.tril(np.ones((20, 20), np.float32))
    values[12, 2] = np.nan
    x = np.zeros(20, np.float32)
    solve_in_place(store(values, "", 19, 0), x, upper=False)
    assert np.isnan(x[12:]).all()
    assert not x[:12].any()


@pytest.mark.parametrize("by_columns", [False, True], ids=["rows", "columns"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_how_a_program_waits_changes_no_bit(dtype, by_columns):
    """Nor does it matter how many columns a thread adds up, but for rounding."""
    rng = np.random.default_rng(4)
    a, full = triangle(rng, dtype, 40, True, by_columns=by_columns)
    b = random(rng, dtype, 40)
    found = {}
    for held, patient in ((2, False), (2, True), (1, False), (8, False)):
        x = b.copy()
        solve_in_place(a, x, upper=False, held=held, patient=patient)
        assert_solved(full, x, b, 40)
        found[held, patient] = x.tobytes()
    assert found[2, False] == found[2, True]


# ---- messages ----------------------------------------------------------------------------------


@pytest.mark.parametrize("zero", [0.0, -0.0])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_zeros_are_sent_too(dtype, zero):
    """A word of 0 is one that has not come: who waited for it would wait for ever."""
    a, _ = triangle(np.random.default_rng(2), dtype, 20, True)
    x = np.full(20, zero, dtype)
    x[10] = 1
    solve_in_place(a, x, upper=False)
    np.testing.assert_array_equal(x[:10], 0)
    assert (x[10:] != 0).all()


@triton.jit
def keep(words, count, STEP: tl.constexpr):
    """Words are not cleared."""
    tl.static_assert(STEP > 0)


@pytest.mark.parametrize("reach", [0, 1, 19])
def test_the_last_strip_which_nobody_waits_for_sends_nothing(reach, monkeypatch):
    """It clears all words, and threads of a program are in no order: its own could stay."""
    monkeypatch.setattr(messages, "clear", keep)
    a, _ = triangle(np.random.default_rng(1), "float32", 20, True, "band", reach)
    words = np.zeros((3, 8), np.int32)
    solve_in_place(a, np.ones(20, np.float32), upper=False, reach=reach, words=words)
    np.testing.assert_array_equal(words.any(1), [True, True, False])


@triton.jit
def note(
    words, own, is_next,
    DTYPE: tl.constexpr, COMPLEX: tl.constexpr, SIDE: tl.constexpr, PATIENT: tl.constexpr,
):  # fmt: skip
    """A message is not read: that somebody waits for it stays in its place."""
    tl.store(words, 7)
    zero = tl.zeros((SIDE,), DTYPE)
    return zero, zero


@pytest.mark.parametrize("reach", [0, 1, 8, 19])
@pytest.mark.parametrize("upper", [False, True], ids=["lower", "upper"])
def test_each_strip_waits_for_the_one_before_it(upper, reach, monkeypatch):
    """Even where no element of A makes it: so none is still at work when the last one clears."""
    monkeypatch.setattr(messages, "clear", keep)
    monkeypatch.setattr(messages, "receive", note)
    a, _ = triangle(np.random.default_rng(1), "float32", 20, not upper, "band", reach)
    words = np.zeros((3, 8), np.int32)
    solve_in_place(a, np.ones(20, np.float32), upper=upper, reach=reach, words=words)
    np.testing.assert_array_equal(words[:, 0] == 7, [True, True, False])
