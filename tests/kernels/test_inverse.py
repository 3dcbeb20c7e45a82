"""Squares solved by their inverses, in the interpreter: what is prepared, judged and mended."""

import numpy as np
import pytest

triton = pytest.importorskip("triton")
pytest.importorskip("ml_dtypes")
pytestmark = pytest.mark.interpret

import triton.language as tl  # noqa: E402
from kernel_harness import UNIT, Pointer, magnitude, random, wide  # noqa: E402
from level2_harness import solve_in_place, store  # noqa: E402

from tileblas.kernels import inverse, squares  # noqa: E402

TYPES = ["float32", "float64", "complex64", "complex128"]


@triton.jit
def prepared(
    a, place, usable, strip, strips, n, reach, a_m, a_n,
    COMPLEX: tl.constexpr, CONJ_A: tl.constexpr, UNIT_DIAG: tl.constexpr, UPPER: tl.constexpr,
    BANDED: tl.constexpr, BY_ROWS: tl.constexpr, SIDE: tl.constexpr,
):  # fmt: skip
    """What a strip prepares, and whether it may be used."""
    i = squares.rows(strip, strips, UPPER, SIDE)
    d_re, d_im = squares.load_diagonal(a, i, i < n, a_m, a_n, 0, COMPLEX, CONJ_A, UNIT_DIAG, "")
    found = inverse.prepare(
        a, place, strip, strips, i, i * a_m, d_re, d_im, n, reach, a_n, 0,
        COMPLEX, CONJ_A, UNIT_DIAG, UPPER, "", BANDED, BY_ROWS, SIDE,
    )  # fmt: skip
    tl.store(usable, tl.where(found, 1, 0))


def prepare(values, strip, side, *, upper=False, unit=False, conj=False, by_columns=True):
    """The four squares of a strip as arrays (row, column), and whether they may be used."""
    n = len(values)
    reach = (0, n - 1) if upper else (n - 1, 0)
    a = store(values, "", *reach, by_columns=by_columns, diagonal=not unit)
    is_complex = values.dtype.kind == "c"
    real = values.real.dtype
    place = np.full((4, 1 + is_complex, side, side), np.nan, real)
    usable = np.full(1, -1, np.int32)
    with np.errstate(all="ignore"):
        prepared[(1,)](
            a.pointer, Pointer(place), Pointer(usable), strip, -(-n // side), n, n - 1, *a.strides,
            COMPLEX=is_complex, CONJ_A=conj, UNIT_DIAG=unit, UPPER=upper, BANDED=False,
            BY_ROWS=not by_columns, SIDE=side,
        )  # fmt: skip
    squares_of = place.swapaxes(2, 3)  # they lie column by column
    return (squares_of[:, 0] + 1j * squares_of[:, 1] if is_complex else squares_of[:, 0]), usable[0]


def triangle(rng, dtype, n, upper, unit=False):
    """A random well-conditioned triangle."""
    values = random(rng, dtype, n, n) / n
    values[np.arange(n), np.arange(n)] += 1 + np.arange(n) % 3
    if unit:
        np.fill_diagonal(values, 1)
    return np.triu(values) if upper else np.tril(values)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("upper", [False, True], ids=["lower", "upper"])
@pytest.mark.parametrize(
    ("n", "strip", "unit", "by_columns"),
    [(32, 1, False, True), (32, 0, True, False), (27, 1, False, False), (35, 2, True, True)],
)
def test_what_is_prepared(dtype, upper, n, strip, unit, by_columns):
    """Beyond the last row there is an identity; the first strip has no square beside its own."""
    side = 16
    rng = np.random.default_rng(n)
    full = triangle(rng, dtype, n, upper, unit)
    conj = dtype.startswith("complex") and unit
    found, usable = prepare(
        full, strip, side, upper=upper, unit=unit, conj=conj, by_columns=by_columns
    )
    strips = -(-n // side)
    padded = np.eye(strips * side, dtype=wide(full).dtype)
    padded[:n, :n] = wide(full.conj() if conj else full)
    at = lambda s: (strips - 1 - s if upper else s) * side  # noqa: E731
    rows = slice(at(strip), at(strip) + side)
    a = padded[rows, rows]
    b = np.zeros_like(a)
    if strip:
        b = padded[rows, at(strip - 1) : at(strip - 1) + side]
    inverted = np.linalg.inv((a / np.diag(a)).astype(complex))
    assert usable == 1
    bar = 40 * UNIT[dtype]
    for square, expected in zip(found, (inverted, inverted @ b, a, b), strict=True):
        assert np.abs(square - expected).max() <= bar


@pytest.mark.parametrize("dtype", TYPES)
def test_a_square_that_is_badly_conditioned_may_not_be_used(dtype):
    limit = 2.0**36 if UNIT[dtype] < 1e-10 else 2.0**12
    for large, expected in ((limit / 8, 1), (limit * 8, 0)):
        a = np.eye(16, dtype=dtype)
        a[9, 3] = np.sqrt(large)  # of the inverse too: the condition is its square
        assert prepare(a, 0, 16)[1] == expected
    for place, bad in (((5, 5), 0), ((5, 5), np.nan), ((7, 5), np.inf), ((7, 5), np.nan)):
        a = np.eye(16, dtype=dtype)
        a[place] = bad
        assert prepare(a, 0, 16)[1] == 0


# ---- judged and mended -------------------------------------------------------------------------


@triton.jit
def nobody(
    a, start, n, reach, a_m, a_n, a_curve, b_re, b_im, by,
    COMPLEX: tl.constexpr, CONJ_A: tl.constexpr, UNIT_DIAG: tl.constexpr, UPPER: tl.constexpr,
    CURVED: tl.constexpr, BANDED: tl.constexpr, SIDE: tl.constexpr,
):  # fmt: skip
    """In the place of substitute_in_turn: NaN."""
    return b_re * float("nan"), b_im * float("nan")


def residual(full, x, b):
    """|b - A x| / (eps |A| |x|), the largest."""
    rest = magnitude(wide(b) - wide(full) @ wide(x))
    return (rest / (2 * UNIT[x.dtype.name] * (magnitude(full) @ magnitude(x)))).max()


def lu(rng, dtype, n):
    """The unit lower factor of a random matrix, with partial pivoting."""
    a = wide(random(rng, dtype, n, n))
    for k in range(n):
        pivot = k + np.abs(a[k:, k]).argmax()
        a[[k, pivot]] = a[[pivot, k]]
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return (np.tril(a, -1) + np.eye(n)).astype(dtype)


def cholesky(rng, dtype, n):
    a = random(rng, dtype, n, n).astype(complex)
    if not dtype.startswith("complex"):
        a = a.real
    return np.linalg.cholesky(a @ a.conj().T / n + 0.01 * np.eye(n)).astype(dtype)


def graded(rng, dtype, n):
    """Rows and columns of very different size."""
    scale = np.logspace(-4, 4, n)
    return (triangle(rng, dtype, n, False) * scale[:, None] / scale[::-1]).astype(dtype)


def diagonal(rng, dtype, n):
    """Powers of two beside nothing: solved exactly by an inverse too."""
    return np.diag(2.0 ** rng.integers(-9, 9, n)).astype(dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("made", [lu, cholesky, graded, diagonal])
def test_ordinary_triangles_are_not_solved_in_turn(dtype, made, monkeypatch):
    """Factors have condition numbers of hundreds in a square; many residuals are near the bar."""
    monkeypatch.setattr(squares, "substitute_in_turn", nobody)
    n = 96
    rng = np.random.default_rng(1)
    full = made(rng, dtype, n)
    x = random(rng, dtype, n)
    b = (wide(full) @ wide(x)).astype(dtype)
    x = b.copy()
    solve_in_place(store(full, "", n - 1, 0), x, upper=False, side=32)
    assert residual(full, x, b) < 20


@triton.jit
def off(place, DTYPE: tl.constexpr, COMPLEX: tl.constexpr, UPPER: tl.constexpr, SIDE: tl.constexpr):
    """An inverse of the identity, with an error."""
    k = tl.arange(0, SIDE)
    x = tl.where(k[:, None] == k[None, :], 0.999, 0).to(DTYPE)
    return x, x * 0


@triton.jit
def useless(
    place, DTYPE: tl.constexpr, COMPLEX: tl.constexpr, UPPER: tl.constexpr, SIDE: tl.constexpr
):
    """An inverse that is zero."""
    x = tl.zeros((SIDE, SIDE), DTYPE)
    return x, x


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("upper", [False, True], ids=["lower", "upper"])
def test_a_solution_that_is_slightly_wrong_is_mended(dtype, upper, monkeypatch):
    monkeypatch.setattr(squares, "substitute_in_turn", nobody)
    monkeypatch.setattr(inverse, "invert", off)
    n = 40
    rng = np.random.default_rng(2)
    full = np.diag(np.diag(triangle(rng, dtype, n, upper)))
    b = random(rng, dtype, n)
    x = b.copy()
    solve_in_place(store(full, "", *((0, n - 1) if upper else (n - 1, 0))), x, upper=upper, side=16)
    # Each of two rounds leaves a thousandth: enough for float32 alone.
    if UNIT[dtype] > 1e-10:
        assert residual(full, x, b) < 10
    else:
        assert np.isnan(x).all()


@pytest.mark.parametrize("dtype", TYPES)
def test_a_solution_that_is_wrong_is_found_in_turn(dtype, monkeypatch):
    monkeypatch.setattr(inverse, "invert", useless)
    n = 40
    rng = np.random.default_rng(3)
    full = triangle(rng, dtype, n, False)
    b = random(rng, dtype, n)
    x = b.copy()
    solve_in_place(store(full, "", n - 1, 0), x, upper=False, side=16)
    assert residual(full, x, b) < 10


def beside(n):
    """A well-conditioned square beside one whose numbers are large."""
    full = np.eye(n)
    full[n - 1, n - n // 4 : n - 1] = -1
    full[n // 2 :, : n // 2] = np.random.default_rng(0).integers(100, 200, (n - n // 2, n // 2))
    return full


def dense(n, diagonal, largest):
    rng = np.random.default_rng(diagonal)
    return np.tril(rng.integers(-largest, largest + 1, (n, n)), -1) + diagonal * np.eye(n)


def mixed(n):
    """Diagonals of several powers of two and either sign; few numbers beside them."""
    rng = np.random.default_rng(4)
    few = rng.integers(-1, 2, (n, n)) * (rng.random((n, n)) < 0.1)
    return np.tril(few, -1) + np.diag(rng.choice([-1, 1], n) * 2.0 ** rng.integers(-1, 3, n))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("upper", [False, True], ids=["lower", "upper"])
@pytest.mark.parametrize(
    ("full", "largest"),
    [
        (mixed(64), 2000),
        (dense(32, 8, 3), 10),
        (dense(64, 8, 3), 2000),
        (dense(64, 16, 5), 2000),
        (dense(48, 4, 1), 100),
        (dense(32, 1, 3), 10),
        (beside(32), 2000),
        (np.diag(2.0 ** np.arange(-20, 20)), 2000),
    ],
    ids=["mixed", "8", "8 many", "16", "4", "1", "beside", "diagonal"],
)
def test_whole_numbers_stay_whole(dtype, upper, full, largest):
    """Diagonals are powers of two. Substitution rounds nothing; an inverse has fractions, or adds
    up more than there are bits for."""
    rng = np.random.default_rng(largest)
    n = len(full)
    full = (full[::-1, ::-1] if upper else full).astype(dtype)
    for _ in range(3):
        expected = rng.integers(-largest, largest + 1, n).astype(dtype)
        if dtype.startswith("complex"):
            expected += 1j * rng.integers(-largest, largest + 1, n)
        x = (wide(full) @ expected).astype(dtype)
        np.testing.assert_array_equal(x, wide(full) @ expected)
        reach = (0, n - 1) if upper else (n - 1, 0)
        solve_in_place(store(full, "", *reach), x, upper=upper, side=16)
        np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("upper", [False, True], ids=["lower", "upper"])
def test_unit_triangles_of_any_condition_meet_the_bar(dtype, upper):
    """Entries of +-1: condition numbers beyond 1 / eps; b makes x grow or cancel."""
    n = 64
    rng = np.random.default_rng(5)
    full = np.sign(rng.standard_normal((n, n))).astype(dtype)
    np.fill_diagonal(full, 1)
    full = np.triu(full) if upper else np.tril(full)
    for b in (random(rng, dtype, n), (wide(full) @ wide(random(rng, dtype, n))).astype(dtype)):
        x = b.copy()
        reach = (0, n - 1) if upper else (n - 1, 0)
        solve_in_place(
            store(full, "", *reach, diagonal=False), x, upper=upper, unit_diag=True, side=32
        )
        assert residual(full, x, b) <= n + 2
