"""Squares on the diagonal of a triangle: how they are read, divided and solved."""

import triton
import triton.language as tl

from tileblas.kernels import tile


@triton.jit
def turn(index, count, UPPER: tl.constexpr):
    """Where the index-th of `count` things in the order of solving lies."""
    if UPPER:
        return count - 1 - index
    else:
        return index


@triton.jit
def distance(i, j, UPPER: tl.constexpr):
    """How many diagonals element (i, j) of a triangle lies from the main one."""
    if UPPER:
        return j - i
    else:
        return i - j


@triton.jit
def load_square(square, one, UPPER: tl.constexpr, COMPLEX: tl.constexpr, SIDE: tl.constexpr):
    """What `substitute` needs of a square: of each four columns these, and the six elements of them
    that lie among four rows; re, and im after each."""
    columns = square + turn(tl.arange(0, SIDE), SIDE, UPPER) * one
    found = ()
    for group in tl.static_range(0, SIDE, 4):
        for column in tl.static_range(4):
            offset = (group + column) * SIDE
            found = found + load_part(columns, offset, COMPLEX, SIDE)
            for row in tl.static_range(column + 1, 4):
                found = found + load_part(square, offset + group + row, COMPLEX, SIDE)
    return found


@triton.jit
def load_part(place, offset: tl.constexpr, COMPLEX: tl.constexpr, SIDE: tl.constexpr):
    """The elements of a square `offset` beyond a place in it, as (re,) or (re, im)."""
    re = tl.load(place + offset)
    if COMPLEX:
        return re, tl.load(place + SIDE * SIDE + offset)
    else:
        return (re,)


@triton.jit
def substitute(
    square, one, b_re, b_im, UPPER: tl.constexpr, COMPLEX: tl.constexpr, SIDE: tl.constexpr
):
    """z with L z = b for a unit lower square L as `load_square` gives it, as (re, im).

    Four rows at a time: their z are taken out of b at once, finished among themselves, and
    subtracted from all rows below. To hand a number to all threads takes longer than to multiply
    it, and four can be on their way together.
    """
    k = turn(tl.arange(0, SIDE), SIDE, UPPER) * one
    # What is left of b, apart from z: to choose between them would be on the way to the next rows.
    re, im = b_re, b_im
    for group in tl.static_range(0, SIDE, 4):
        # A column, and below it its elements in the next rows: 4, 3, 2 and 1 of them together.
        z0, y0 = pick(re, im, turn(group, SIDE, UPPER), COMPLEX)
        z1, y1 = pick(re, im, turn(group + 1, SIDE, UPPER), COMPLEX)
        z2, y2 = pick(re, im, turn(group + 2, SIDE, UPPER), COMPLEX)
        z3, y3 = pick(re, im, turn(group + 3, SIDE, UPPER), COMPLEX)
        re, im = subtract(re, im, square, group, 0, z0, y0, COMPLEX)
        z1, y1 = subtract(z1, y1, square, group, 1, z0, y0, COMPLEX)
        z2, y2 = subtract(z2, y2, square, group, 2, z0, y0, COMPLEX)
        z3, y3 = subtract(z3, y3, square, group, 3, z0, y0, COMPLEX)
        re, im = subtract(re, im, square, group, 4, z1, y1, COMPLEX)
        z2, y2 = subtract(z2, y2, square, group, 5, z1, y1, COMPLEX)
        z3, y3 = subtract(z3, y3, square, group, 6, z1, y1, COMPLEX)
        re, im = subtract(re, im, square, group, 7, z2, y2, COMPLEX)
        z3, y3 = subtract(z3, y3, square, group, 8, z2, y2, COMPLEX)
        re, im = subtract(re, im, square, group, 9, z3, y3, COMPLEX)
        b_re = tl.where(k == group, z0, b_re)
        b_re = tl.where(k == group + 1, z1, b_re)
        b_re = tl.where(k == group + 2, z2, b_re)
        b_re = tl.where(k == group + 3, z3, b_re)
        if COMPLEX:
            b_im = tl.where(k == group, y0, b_im)
            b_im = tl.where(k == group + 1, y1, b_im)
            b_im = tl.where(k == group + 2, y2, b_im)
            b_im = tl.where(k == group + 3, y3, b_im)
        else:
            b_im = b_re
    return b_re, b_im


@triton.jit
def pick(re, im, index, COMPLEX: tl.constexpr):
    """Element `index` of a vector, in every place of one."""
    at = tl.zeros(re.shape, tl.int32) + index
    re = tl.gather(re, at, 0)
    if COMPLEX:
        im = tl.gather(im, at, 0)
    else:
        im = re
    return re, im


@triton.jit
def subtract(
    re, im, square, group: tl.constexpr, index: tl.constexpr, z_re, z_im, COMPLEX: tl.constexpr
):
    """(re, im) - l z for the index-th of the ten l that `load_square` gives for four columns."""
    if COMPLEX:
        l_re = square[group // 4 * 20 + 2 * index]
        l_im = square[group // 4 * 20 + 2 * index + 1]
        return re - l_re * z_re + l_im * z_im, im - l_re * z_im - l_im * z_re
    else:
        value = re - square[group // 4 * 10 + index] * z_re
        return value, value


@triton.jit
def substitute_in_turn(
    a, start, n, reach, a_m, a_n, a_curve, b_re, b_im, d_re, d_im,
    COMPLEX: tl.constexpr, CONJ_A: tl.constexpr, UNIT_DIAG: tl.constexpr, UPPER: tl.constexpr,
    CURVED: tl.constexpr, BANDED: tl.constexpr, SIDE: tl.constexpr,
):  # fmt: skip
    """x with A x = b for the square on the diagonal from `start` on, element by element."""
    k = tl.arange(0, SIDE)
    row_offset = tile.along(start + k, a_m, a_curve, CURVED == "rows")
    for step in range(0, SIDE):
        column = turn(step, SIDE, UPPER)
        q_re = b_re
        q_im = b_im
        if not UNIT_DIAG:
            q_re, q_im = divide(b_re, b_im, d_re, d_im, COMPLEX)
        x_re, x_im = pick(q_re, q_im, column, COMPLEX)
        apart = distance(k, column, UPPER)
        keep = (apart > 0) & (start + k < n) & (start + column < n)
        if BANDED:
            keep &= apart <= reach
        offset = row_offset + tile.along(start + column, a_n, a_curve, CURVED == "columns")
        a_re, a_im = tile.load_vector(a, offset, keep, COMPLEX)
        if COMPLEX and CONJ_A:
            a_im = -a_im
        p_re, p_im = tile.multiply(a_re, a_im, x_re, x_im, COMPLEX)
        b_re = tl.where(keep, b_re - p_re, tl.where(k == column, x_re, b_re))
        if COMPLEX:
            b_im = tl.where(keep, b_im - p_im, tl.where(k == column, x_im, b_im))
        else:
            b_im = b_re
    return b_re, b_im


@triton.jit
def load_diagonal(
    a, i, mask, a_m, a_n, a_curve,
    COMPLEX: tl.constexpr, CONJ_A: tl.constexpr, UNIT_DIAG: tl.constexpr, CURVED: tl.constexpr,
):  # fmt: skip
    """Diagonal elements of A as (re, im): ones where UNIT_DIAG, without being read."""
    if UNIT_DIAG:
        re = tl.full(i.shape, 1, tile.compute_type(a.dtype))
        im = tl.zeros(i.shape, tile.compute_type(a.dtype))
    else:
        offset = tile.along(i, a_m, a_curve, CURVED == "rows")
        offset += tile.along(i, a_n, a_curve, CURVED == "columns")
        re, im = tile.load_vector(a, offset, mask, COMPLEX)
        re = tl.where(mask, re, 1)  # rows beyond the last have x = 0, not 0 / 0
        if COMPLEX and CONJ_A:
            im = -im
    return re, im


@triton.jit
def load_tile(
    a, row_offset, col_offset, keep,
    COMPLEX: tl.constexpr, CONJ_A: tl.constexpr, BY_ROWS: tl.constexpr,
):  # fmt: skip
    """The tile of A at these offsets as (re, im), 0 where it is not there."""
    if COMPLEX:
        if BY_ROWS:
            # Threads follow each other down the first axis of pairs.
            offset = row_offset[None, :] + col_offset[:, None]
            if keep is not None:
                keep = tl.trans(keep)
            re, im = tile.load_pair(a, offset, keep)
            re = tl.trans(re)
            im = tl.trans(im)
        else:
            re, im = tile.load_pair(a, row_offset[:, None] + col_offset[None, :], keep)
        if CONJ_A:
            im = -im
    else:
        re = tile.load(a, row_offset[:, None] + col_offset[None, :], keep)
        im = re
    return re, im


@triton.jit
def divide(re, im, d_re, d_im, COMPLEX: tl.constexpr):
    """(re, im) / d, rounded as IEEE division is; complex by Smith's algorithm (CACM 5, 1962)."""
    if COMPLEX:
        wide = tl.abs(d_re) >= tl.abs(d_im)
        large = tl.where(wide, d_re, d_im)
        small = tl.where(wide, d_im, d_re)
        ratio = tl.where(small == 0, small, quotient(small, large))
        whole = large + small * ratio
        p = tl.where(wide, re + im * ratio, re * ratio + im)
        q = tl.where(wide, im - re * ratio, im * ratio - re)
        return quotient(p, whole), quotient(q, whole)
    else:
        value = quotient(re, d_re)
        return value, value


@triton.jit
def quotient(p, q):
    """p / q, rounded to nearest: Triton's own FP32 division is not."""
    if p.dtype == tl.float32:
        return tl.div_rn(p, q)
    else:
        return p / q


@triton.jit
def is_normal(re, im, COMPLEX: tl.constexpr):
    """Whether numbers are normal ones: neither 0 nor subnormal, Inf nor NaN."""
    size = tl.abs(re)
    if COMPLEX:
        size = tl.maximum(size, tl.abs(im), propagate_nan=tl.PropagateNan.ALL)
    return (size >= smallest_normal(re.dtype)) & (size <= largest(re.dtype))


@triton.constexpr_function
def smallest_normal(dtype):
    """The smallest number of a type that has all its bits."""
    return 2.0**-1022 if dtype == tl.float64 else 2.0**-126


@triton.constexpr_function
def largest(dtype):
    """The largest finite number of a type."""
    return 1.7976931348623157e308 if dtype == tl.float64 else 3.4028234663852886e38
