"""Squares on the diagonal solved by their inverses, each solution judged by its residual."""

import triton
import triton.language as tl

from tileblas.kernels import division, squares, tile


@triton.jit
def prepare(
    a, place, strip, strips, i, row_offset, d_re, d_im, n, reach, a_n, a_curve,
    COMPLEX: tl.constexpr, CONJ_A: tl.constexpr, UNIT_DIAG: tl.constexpr, UPPER: tl.constexpr,
    CURVED: tl.constexpr, BANDED: tl.constexpr, BY_ROWS: tl.constexpr, SIDE: tl.constexpr,
):  # fmt: skip
    """Leave four squares at `place`; whether the first two may be used.

    These are (A D^-1)^-1, (A D^-1)^-1 B, A and B, where A is the square on the diagonal of a strip,
    D its diagonal, and B the square beside it, under or over the strip that is solved before. The
    first two may be used if the condition of A D^-1 is at most `may_be_inverted`, and substitution
    would not be exact where they are not. They lie column by column, re before im.
    """
    k = tl.arange(0, SIDE)
    AREA: tl.constexpr = 2 * SIDE * SIDE if COMPLEX else SIDE * SIDE
    apart = squares.distance(k[:, None], k[None, :], UPPER)
    keep = (apart > 0) & (i < n)[:, None] & (i < n)[None, :]
    if BANDED:
        keep &= apart <= reach
    col_offset = tile.along(i, a_n, a_curve, CURVED == "columns")
    re, im = squares.load_tile(a, row_offset, col_offset, keep, COMPLEX, CONJ_A, BY_ROWS)
    j = squares.rows(strip - 1, strips, UPPER, SIDE)
    keep = (i < n)[:, None] & (j < n)[None, :] & (strip > 0)
    if BANDED:
        keep &= squares.distance(i[:, None], j[None, :], UPPER) <= reach
    col_offset = tile.along(j, a_n, a_curve, CURVED == "columns")
    b_re, b_im = squares.load_tile(a, row_offset, col_offset, keep, COMPLEX, CONJ_A, BY_ROWS)

    squares.store_square(place + 3 * AREA, b_re, b_im, COMPLEX, True)
    on_it = apart == 0
    whole_im = im
    if COMPLEX:
        whole_im = tl.where(on_it, d_im[:, None], im)
    squares.store_square(
        place + 2 * AREA, tl.where(on_it, d_re[:, None], re), whole_im, COMPLEX, True
    )
    exact = is_exact(re, im, d_re, d_im, COMPLEX)
    if not UNIT_DIAG:
        # Beside a diagonal element of 0 zeros become NaN: not to be used.
        unit = tl.full(d_re.shape, 1, d_re.dtype)
        q_re, q_im = division.divide(
            unit, tl.zeros_like(unit), division.divisor(d_re, d_im, COMPLEX), False, COMPLEX
        )
        re, im = tile.multiply(re, im, q_re[None, :], q_im[None, :], COMPLEX)
    squares.store_square(place, re, im, COMPLEX, False)
    sums = tl.sum(squares.size(re, im, COMPLEX), 1)
    norm = 1 + tl.max(tl.where(sums == sums, sums, float("inf")), 0)
    tl.debug_barrier()
    x_re, x_im = invert(place, re.dtype, COMPLEX, UPPER, SIDE)
    fine = norm * tl.sum(squares.size(x_re, x_im, COMPLEX), 0) <= may_be_inverted(re.dtype)
    tl.debug_barrier()  # all have read what was there
    squares.store_square(place, x_re, x_im, COMPLEX, False)
    tl.debug_barrier()
    HALF: tl.constexpr = SIDE * SIDE
    b = place + 3 * AREA
    w_re = product(b, place, re.dtype, SIDE)
    w_im = w_re
    if COMPLEX:
        w_im = product(b, place + HALF, re.dtype, SIDE) + product(b + HALF, place, re.dtype, SIDE)
        w_re -= product(b + HALF, place + HALF, re.dtype, SIDE)
    squares.store_square(place + AREA, w_re, w_im, COMPLEX, False)
    tl.debug_barrier()
    return (tl.min(fine.to(tl.int32), 0) > 0) & (exact == 0)


@triton.jit
def is_exact(re, im, d_re, d_im, COMPLEX: tl.constexpr):
    """Whether substitution makes whole numbers of whole ones, which the inverse need not do.

    It does if the elements beside the diagonal are whole, not all 0, and those on it powers of two.
    """
    whole = re == tl.floor(re)
    other = re != 0
    power = squares.is_power_of_two(d_re)
    if COMPLEX:
        whole &= im == tl.floor(im)
        other |= im != 0
        power = (power & (d_im == 0)) | (squares.is_power_of_two(d_im) & (d_re == 0))
    whole = tl.min(tl.min(whole.to(tl.int32), 1) & power.to(tl.int32), 0)
    return whole & tl.max(tl.max(other.to(tl.int32), 1), 0)


@triton.jit
def product(a, b, DTYPE: tl.constexpr, SIDE: tl.constexpr):
    """A B for two real squares that lie row by row."""
    STEP: tl.constexpr = min(16, SIDE)  # more would take more registers than there are
    k = tl.arange(0, SIDE)
    part = tl.arange(0, STEP)
    total = tl.zeros((SIDE, SIDE), DTYPE)
    for start in range(0, SIDE, STEP):
        left = tl.load(a + (k[:, None] * SIDE + (start + part)[None, :]))
        right = tl.load(b + ((start + part)[:, None] * SIDE + k[None, :]))
        total = tl.dot(left, right, total, input_precision="ieee", out_dtype=DTYPE)
    return total


@triton.jit
def invert(
    place, DTYPE: tl.constexpr, COMPLEX: tl.constexpr, UPPER: tl.constexpr, SIDE: tl.constexpr
):
    """L^-1, columns first, for the square L at `place`, which lies row by row.

    L has ones on its diagonal, which are not there. A thread has rows of L^-1, whose columns are
    finished from the last to the first: each is subtracted from those before it, times the elements
    of the row of L that bears its number. To find it among those of a thread takes as long as to
    subtract it: so they go by fours. The next four rows are on their way meanwhile.
    """
    k = tl.arange(0, SIDE)
    x_re = (k[:, None] == k[None, :]).to(DTYPE)
    x_im = tl.zeros((SIDE, SIDE), DTYPE)
    GROUPS: tl.constexpr = SIDE // 4
    next_re, next_im = load_four(place, 0, COMPLEX, UPPER, SIDE)
    for group in range(0, GROUPS):
        base = squares.turn(GROUPS - 1 - group, GROUPS, UPPER)
        among = load_among(place + base * 4 * (SIDE + 1), COMPLEX, UPPER, SIDE)
        l_re = in_order(tl.reshape(next_re, (4, SIDE)), UPPER)
        c_re = in_order(four_of(x_re, base), UPPER)
        l_im = l_re
        c_im = c_re
        if COMPLEX:
            l_im = in_order(tl.reshape(next_im, (4, SIDE)), UPPER)
            c_im = in_order(four_of(x_im, base), UPPER)
        next_re, next_im = load_four(place, tl.minimum(group + 1, GROUPS - 1), COMPLEX, UPPER, SIDE)
        done_re = ()
        done_im = ()
        for step in tl.static_range(4):
            f_re = c_re[step]
            f_im = c_im[step]
            # What the columns just finished have not yet been subtracted from this one.
            for last in tl.static_range(step):
                f_re, f_im = minus(
                    f_re, f_im, among[step * (step - 1) + 2 * last],
                    among[step * (step - 1) + 2 * last + 1], done_re[last], done_im[last], COMPLEX,
                )  # fmt: skip
            done_re = done_re + (f_re,)
            done_im = done_im + (f_im,)
        for step in tl.static_range(4):
            x_re, x_im = minus(
                x_re, x_im, l_re[step][:, None], l_im[step][:, None],
                done_re[step][None, :], done_im[step][None, :], COMPLEX,
            )  # fmt: skip
    return x_re, x_im


@triton.jit
def load_four(place, group, COMPLEX: tl.constexpr, UPPER: tl.constexpr, SIDE: tl.constexpr):
    """The four rows of a group of a square at `place`, one after the other."""
    base = squares.turn(SIDE // 4 - 1 - group, SIDE // 4, UPPER) * 4 * SIDE
    return load_number(place, base + tl.arange(0, 4 * SIDE), COMPLEX, SIDE)


@triton.jit
def load_among(place, COMPLEX: tl.constexpr, UPPER: tl.constexpr, SIDE: tl.constexpr):
    """The elements below the diagonal of the 4 x 4 at `place`, re and im of each, row by row as its
    columns are finished."""
    found = ()
    for step in tl.static_range(4):
        for last in tl.static_range(step):
            at = squares.turn(3 - last, 4, UPPER) * SIDE + squares.turn(3 - step, 4, UPPER)
            found = found + load_number(place, at, COMPLEX, SIDE)
    return found


@triton.jit
def four_of(tiles, group):
    """The four columns of a group, columns first."""
    COUNT: tl.constexpr = tiles.shape[0] // 4
    here = (tl.arange(0, COUNT) == group)[:, None, None]
    return tl.sum(tl.where(here, tl.reshape(tiles, (COUNT, 4, tiles.shape[1])), 0), 0)


@triton.jit
def in_order(four, UPPER: tl.constexpr):
    """Four vectors, in the order in which columns are finished."""
    even, odd = tl.split(tl.permute(tl.reshape(four, (2, 2, four.shape[1])), (2, 0, 1)))
    v0, v2 = tl.split(even)
    v1, v3 = tl.split(odd)
    if UPPER:
        return v0, v1, v2, v3
    else:
        return v3, v2, v1, v0


@triton.jit
def minus(c_re, c_im, l_re, l_im, f_re, f_im, COMPLEX: tl.constexpr):
    """c - l f as (re, im)."""
    if COMPLEX:
        return c_re - l_re * f_re + l_im * f_im, c_im - l_re * f_im - l_im * f_re
    else:
        return c_re - l_re * f_re, c_im


@triton.jit
def load_number(place, offset, COMPLEX: tl.constexpr, SIDE: tl.constexpr):
    """Elements of a square at `place` as (re, im)."""
    re = tl.load(place + offset)
    if COMPLEX:
        return re, tl.load(place + SIDE * SIDE + offset)
    else:
        return re, re


@triton.constexpr_function
def may_be_inverted(dtype):
    """The largest condition number of a square whose inverse is used, so that a solution can be
    mended by it. Squares of 64 rows of LU factors of random matrices have 600 to 2000.
    """
    return 2.0**36 if dtype == tl.float64 else 2.0**12


@triton.jit
def settle(
    place, square, by, z_re, z_im, b_re, b_im, p_re, p_im, gauge, usable, one,
    UNIT_DIAG: tl.constexpr, COMPLEX: tl.constexpr, SIDE: tl.constexpr,
):  # fmt: skip
    """(x, whether it is good) with A x = b - p for the square A, from a first guess z of D x.

    p are partial sums. The guess is the work of an inverse, so its error is in proportion to the
    condition of A. It is judged by its residual, row by row, and mended by what the inverse at
    `place` makes of that.
    """
    x_re, x_im = z_re, z_im
    if not UNIT_DIAG:
        x_re, x_im = division.divide(z_re, z_im, by, True, COMPLEX)
    r_re, r_im = residual(square, x_re, x_im, b_re, b_im, p_re, p_im, COMPLEX)
    # Most rows pass by what is known of |A| |x|, which is no less than each of these.
    gauge = tl.maximum(gauge, squares.size(b_re, b_im, COMPLEX))
    bar = tl.maximum(gauge, squares.size(z_re, z_im, COMPLEX))
    good = tl.where(usable, is_small(r_re, r_im, bar, COMPLEX), 0)
    rounds = tl.where(usable & (good == 0), 3, 0)
    while rounds > 0:
        sizes = squares.size(square[0], square[1], COMPLEX)
        sizes *= squares.size(x_re, x_im, COMPLEX)[:, None]
        good = is_small(r_re, r_im, tl.maximum(gauge, tl.sum(by_fours(sizes), 0)), COMPLEX)
        rounds = tl.where((good > 0) | tile.is_wild(r_re) | tile.is_wild(r_im), 0, rounds - 1)
        if rounds > 0:
            inverted = squares.load_square(place, usable, one, COMPLEX, SIDE)
            y_re, y_im = apply(inverted, r_re, r_im, COMPLEX)
            if not UNIT_DIAG:
                y_re, y_im = division.divide(y_re, y_im, by, True, COMPLEX)
            x_re += y_re
            if COMPLEX:
                x_im += y_im
            else:
                x_im = x_re
            r_re, r_im = residual(square, x_re, x_im, b_re, b_im, p_re, p_im, COMPLEX)
    return x_re, x_im, good


@triton.jit
def residual(square, x_re, x_im, b_re, b_im, p_re, p_im, COMPLEX: tl.constexpr):
    """b - p - A x for a square A and partial sums p."""
    re, im = partial_sums(square, x_re, x_im, COMPLEX)
    re, im = add_up(p_re + re, p_im + im, COMPLEX)
    return b_re - re, b_im - im


@triton.jit
def is_small(r_re, r_im, bar, COMPLEX: tl.constexpr):
    """Whether all residuals are within the tolerance times their bars, which are finite."""
    limit = tolerance(r_re.dtype, r_re.shape[0]) * bar
    fine = (squares.size(r_re, r_im, COMPLEX) <= limit) & (bar < float("inf"))
    return tl.min(fine.to(tl.int32), 0)


@triton.constexpr_function
def tolerance(dtype, SIDE):
    """SIDE / 4 eps. The bar of a solution is n + 2 eps, of which rounding may take (n + 1) / 2."""
    return SIDE / 4 * (2.0**-52 if dtype == tl.float64 else 2.0**-23)


@triton.jit
def apply(square, x_re, x_im, COMPLEX: tl.constexpr):
    """A x for a square A, columns first."""
    re, im = partial_sums(square, x_re, x_im, COMPLEX)
    return add_up(re, im, COMPLEX)


@triton.jit
def partial_sums(square, x_re, x_im, COMPLEX: tl.constexpr):
    """What is to be added up for A x: the sums of each four columns."""
    re, im = tile.multiply(square[0], square[1], x_re[:, None], x_im[:, None], COMPLEX)
    return by_fours(re), by_fours(im)


@triton.jit
def by_fours(products):
    """Sums of each four along the first axis, which a thread has: several at a time."""
    COUNT: tl.constexpr = products.shape[0] // 4
    return tl.sum(tl.reshape(products, (COUNT, 4, products.shape[1])), 1)


@triton.jit
def add_up(re, im, COMPLEX: tl.constexpr):
    """Sums over the first axis: of both parts at once, as warps wait for each other there."""
    if COMPLEX:
        return tl.split(tl.sum(tl.join(re, im), 0))
    else:
        re = tl.sum(re, 0)
        return re, re
