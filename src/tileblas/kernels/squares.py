"""Squares of a triangle: how they are read, kept and solved in turn."""

import triton
import triton.language as tl

from tileblas.kernels import division, tile


@triton.jit
def turn(index, count, UPPER: tl.constexpr):
    """Where the index-th of `count` things in the order of solving lies."""
    if UPPER:
        return count - 1 - index
    else:
        return index


@triton.jit
def rows(strip, strips, UPPER: tl.constexpr, SIDE: tl.constexpr):
    """The rows of a strip, as 64-bit integers."""
    return turn(strip, strips, UPPER) * tl.full((), SIDE, tl.int64) + tl.arange(0, SIDE)


@triton.jit
def distance(i, j, UPPER: tl.constexpr):
    """How many diagonals element (i, j) of a triangle lies from the main one."""
    if UPPER:
        return j - i
    else:
        return i - j


@triton.jit
def size(re, im, COMPLEX: tl.constexpr):
    """|re| + |im|, which BLAS measures complex numbers by."""
    if COMPLEX:
        return tl.abs(re) + tl.abs(im)
    else:
        return tl.abs(re)


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
def is_power_of_two(value):
    """Whether numbers are normal powers of two, of either sign."""
    if value.dtype == tl.float64:
        fraction = value.to(tl.int64, bitcast=True) & ((1 << 52) - 1)
    else:
        fraction = value.to(tl.int32, bitcast=True) & ((1 << 23) - 1)
    return (fraction == 0) & (value != 0) & (tl.abs(value) < float("inf"))


@triton.jit
def store_square(place, re, im, COMPLEX: tl.constexpr, TURNED: tl.constexpr):
    """Store a tile at `place` row by row, or TURNED: column by column. re lies before im."""
    SIDE: tl.constexpr = re.shape[0]
    k = tl.arange(0, SIDE)
    if TURNED:
        here = k[:, None] + k[None, :] * SIDE
    else:
        here = k[:, None] * SIDE + k[None, :]
    tl.store(place + here, re)
    if COMPLEX:
        tl.store(place + SIDE * SIDE + here, im)


@triton.jit
def load_square(place, there, one, COMPLEX: tl.constexpr, SIDE: tl.constexpr):
    """The square that lies at `place` column by column, if it is there, columns first.

    A thread gets rows of it: `one` hides how the place is aligned, or a thread would have several
    elements of a column; and three axes make it unlike other tiles, whose threads may have.
    """
    column = tl.reshape(tl.arange(0, SIDE), (SIDE // 4, 4, 1))
    at = place + (one - 1) + (column * SIDE + tl.arange(0, SIDE)[None, None, :])
    keep = (column >= 0) & there
    re = tl.load(at, mask=keep, other=0)
    re = tl.reshape(re, (SIDE, SIDE))
    im = re
    if COMPLEX:
        im = tl.load(at + SIDE * SIDE, mask=keep, other=0)
        im = tl.reshape(im, (SIDE, SIDE))
    return re, im


@triton.jit
def substitute_in_turn(
    a, start, n, reach, a_m, a_n, a_curve, b_re, b_im, by,
    COMPLEX: tl.constexpr, CONJ_A: tl.constexpr, UNIT_DIAG: tl.constexpr, UPPER: tl.constexpr,
    CURVED: tl.constexpr, BANDED: tl.constexpr, SIDE: tl.constexpr,
):  # fmt: skip
    """x with A x = b for the square on the diagonal from `start` on, element by element."""
    k = tl.arange(0, SIDE)
    row_offset = tile.along(start + k, a_m, a_curve, CURVED == "rows")
    # Rows beyond the last are solved, or rather not, before all others of an UPPER triangle.
    count = tl.minimum(n - start, SIDE)
    first = SIDE - count if UPPER else 0
    for step in range(first, first + count):
        column = turn(step, SIDE, UPPER)
        q_re = b_re
        q_im = b_im
        if not UNIT_DIAG:
            q_re, q_im = division.divide(b_re, b_im, by, False, COMPLEX)
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
def pick(re, im, index, COMPLEX: tl.constexpr):
    """Element `index` of a vector, in every place of one."""
    at = tl.zeros(re.shape, tl.int32) + index
    re = tl.gather(re, at, 0)
    if COMPLEX:
        im = tl.gather(im, at, 0)
    else:
        im = re
    return re, im
