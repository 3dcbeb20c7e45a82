"""The triangular solve: x := op(A)^-1 x for a lower triangle, dense, banded or packed."""

import triton
import triton.language as tl

from tileblas.kernels import messages, squares, tile


@triton.jit
def solve_kernel(
    a, x, partial, arrived, words, n, reach, a_m, a_n, a_curve, x_inc,
    inner, a_b0, a_b1, x_b0, x_b1, strips, members, one,
    COMPLEX: tl.constexpr, CONJ_A: tl.constexpr, NEGATE: tl.constexpr, UNIT_DIAG: tl.constexpr,
    UPPER: tl.constexpr, CURVED: tl.constexpr, BANDED: tl.constexpr, BY_ROWS: tl.constexpr,
    BATCHED: tl.constexpr, ROWS: tl.constexpr, SIDE: tl.constexpr, AHEAD: tl.constexpr,
):  # fmt: skip
    """x := (+-) A^-1 x for each batch member, A triangular; a program has a strip of ROWS rows.

    Strips, and the squares of SIDE rows in them, are solved one after the other: downwards, or of
    an UPPER triangle upwards. A program takes the next strip when it begins (the number in
    `arrived`), so that what it waits for is always under way. It subtracts A x over the columns
    that come before its own, as other programs send their x in `words`, then solves its squares,
    and sends the x of each. The squares, divided by their diagonal elements, lie in `partial`;
    with AHEAD one is read while the one before it is solved.
    Elements more than `reach` from the diagonal are not there if BANDED. The axis that A is CURVED
    along, if it is packed, is that of "rows" or "columns".
    `one` is 1, which the compiler is not to know: it would give a thread four elements of a column,
    and each is to have one, so that a number is handed to all threads by one shuffle.
    """
    ticket = tl.atomic_add(arrived, 1, sem="relaxed")
    if ticket == strips * members - 1:
        tl.store(arrived, 0)  # all have theirs: the next launch begins anew
    member, strip = tile.position(ticket, strips, BATCHED, True)
    a = tile.batch_base(a, member, inner, a_b0, a_b1, COMPLEX)
    x = tile.batch_base(x, member, inner, x_b0, x_b1, COMPLEX)
    PARTS: tl.constexpr = 2 if COMPLEX else 1
    SQUARE: tl.constexpr = PARTS * SIDE * SIDE
    SQUARES: tl.constexpr = ROWS // SIDE
    WORDS: tl.constexpr = messages.word_count(a.dtype.element_ty, COMPLEX) * SIDE
    partial += ticket.to(tl.int64) * SQUARES * SQUARE
    words += member.to(tl.int64) * strips * SQUARES * WORDS

    first = squares.turn(strip, strips, UPPER).to(tl.int64) * ROWS
    i = first + tl.arange(0, ROWS)
    row_offset = tile.along(i, a_m, a_curve, CURVED == "rows")
    safe = divide_squares(
        a, partial, first, n, reach, a_m, a_n, a_curve,
        COMPLEX, CONJ_A, UNIT_DIAG, UPPER, CURVED, BANDED, BY_ROWS, ROWS, SIDE,
    )  # fmt: skip
    # What need not wait is read before, if it fits into registers.
    ahead = squares.load_square(partial, one, UPPER, COMPLEX, SIDE)
    re, im = subtract_solved(
        a, x, words, row_offset, i, first, n, reach, a_n, a_curve, x_inc, strip, strips,
        COMPLEX, CONJ_A, NEGATE, UPPER, CURVED, BANDED, BY_ROWS, ROWS, SIDE,
    )  # fmt: skip

    k = tl.arange(0, SIDE)
    for square in tl.static_range(SQUARES):
        start = first + squares.turn(square, SQUARES, UPPER) * SIDE
        j = start + k
        col_offset = tile.along(j, a_n, a_curve, CURVED == "columns")
        # What the rows still to come meet of the square is on its way while it is solved.
        if UPPER:
            later = i < start
        else:
            later = i >= start + SIDE
        keep = later[:, None] & (k[None, :] >= 0)
        if BANDED:
            keep &= squares.distance(i[:, None], j[None, :], UPPER) <= reach
        if square + 1 < SQUARES:
            a_re, a_im = load_strip(
                a, row_offset, col_offset, i, j, n, first + ROWS <= n, keep,
                COMPLEX, CONJ_A, BY_ROWS,
            )  # fmt: skip
        here = (start - first).to(tl.int32) + k
        b_re = tl.gather(re, here, 0)
        b_im = b_re
        if COMPLEX:
            b_im = tl.gather(im, here, 0)
        d_re, d_im = squares.load_diagonal(
            a, j, j < n, a_m, a_n, a_curve, COMPLEX, CONJ_A, UNIT_DIAG, CURVED
        )
        if square > 0 and not AHEAD:
            ahead = squares.load_square(partial + square * SQUARE, one, UPPER, COMPLEX, SIDE)
        now = ahead
        if square + 1 < SQUARES and AHEAD:
            ahead = squares.load_square(partial + (square + 1) * SQUARE, one, UPPER, COMPLEX, SIDE)
        # A loop of one round, over which Triton does not carry the layout of the tile: without it
        # every step would be done twice, once with a number in one thread, once as the tile has it.
        x_re, x_im = b_re, b_im
        rounds = one
        while rounds > 0:
            x_re, x_im = squares.substitute(now, one, x_re, x_im, UPPER, COMPLEX, SIDE)
            rounds -= 1
        if not UNIT_DIAG:
            x_re, x_im = squares.divide(x_re, x_im, d_re, d_im, COMPLEX)
        # Shuffles cost more in a branch, so the usual way is not in one.
        if ((safe >> square) & 1) == 0:
            x_re, x_im = squares.substitute_in_turn(
                a, start, n, reach, a_m, a_n, a_curve, b_re, b_im, d_re, d_im,
                COMPLEX, CONJ_A, UNIT_DIAG, UPPER, CURVED, BANDED, SIDE,
            )  # fmt: skip
        messages.send(words + (strip * SQUARES + square) * WORDS, x_re, x_im, COMPLEX)
        squares.store_vector(x, j * x_inc, x_re, x_im, j < n, COMPLEX)
        if square + 1 < SQUARES:
            p_re, p_im = squares.multiply(a_re, a_im, x_re[None, :], x_im[None, :], COMPLEX)
            if BANDED:
                p_re = tl.where(keep, p_re, 0)
                p_im = tl.where(keep, p_im, 0)
            re -= tl.sum(p_re, 1)
            if COMPLEX:
                im -= tl.sum(p_im, 1)
    if strip == strips - 1:
        # All others have received what they wait for: this one came after them.
        messages.clear(words, strips * SQUARES * WORDS, 1024)


@triton.jit
def divide_squares(
    a, partial, first, n, reach, a_m, a_n, a_curve,
    COMPLEX: tl.constexpr, CONJ_A: tl.constexpr, UNIT_DIAG: tl.constexpr, UPPER: tl.constexpr,
    CURVED: tl.constexpr, BANDED: tl.constexpr, BY_ROWS: tl.constexpr,
    ROWS: tl.constexpr, SIDE: tl.constexpr,
):  # fmt: skip
    """Leave a_ij / a_jj of the squares on the diagonal in `partial`; a bit for each safe one.

    Squares, their columns and their rows lie in the order of solving, re before im. A square is
    safe if no quotient has left the normal numbers: only then is it as good to multiply by the
    quotient as to multiply by a_ij and divide by a_jj.
    """
    PARTS: tl.constexpr = 2 if COMPLEX else 1
    k = tl.arange(0, SIDE)
    place = squares.turn(k, SIDE, UPPER)
    here = place[:, None] + place[None, :] * SIDE
    safe = tl.full((), 0, tl.int32)
    for square in range(0, ROWS // SIDE):
        i = first + squares.turn(square, ROWS // SIDE, UPPER) * SIDE + k
        row_offset = tile.along(i, a_m, a_curve, CURVED == "rows")
        col_offset = tile.along(i, a_n, a_curve, CURVED == "columns")
        apart = squares.distance(k[:, None], k[None, :], UPPER)
        keep = (apart > 0) & (i < n)[:, None] & (i < n)[None, :]
        if BANDED:
            keep &= apart <= reach
        re, im = squares.load_tile(a, row_offset, col_offset, keep, COMPLEX, CONJ_A, BY_ROWS)
        if not UNIT_DIAG:
            zero = (re == 0) & (im == 0)
            d_re, d_im = squares.load_diagonal(
                a, i, i < n, a_m, a_n, a_curve, COMPLEX, CONJ_A, UNIT_DIAG, CURVED
            )
            # Beside a diagonal of 0, Inf or NaN no zero is safe: what it meets is not finite.
            good = squares.is_normal(d_re, d_im, COMPLEX) | (i >= n)
            re, im = squares.divide(re, im, d_re[None, :], d_im[None, :], COMPLEX)
            fine = (squares.is_normal(re, im, COMPLEX) | zero) & good[None, :]
            fine |= keep == 0
            safe |= tl.min(tl.min(fine.to(tl.int32), 1), 0) << square
            re = tl.where(keep & (zero == 0), re, 0)
            im = tl.where(keep & (zero == 0), im, 0)
        at = partial + square * PARTS * SIDE * SIDE
        tl.store(at + here, re)
        if COMPLEX:
            tl.store(at + SIDE * SIDE + here, im)
    if UNIT_DIAG:
        safe = tl.full((), -1, tl.int32)
    tl.debug_barrier()
    return safe


@triton.jit
def subtract_solved(
    a, x, words, row_offset, i, first, n, reach, a_n, a_curve, x_inc, strip, strips,
    COMPLEX: tl.constexpr, CONJ_A: tl.constexpr, NEGATE: tl.constexpr, UPPER: tl.constexpr,
    CURVED: tl.constexpr,
    BANDED: tl.constexpr, BY_ROWS: tl.constexpr, ROWS: tl.constexpr, SIDE: tl.constexpr,
):  # fmt: skip
    """x - A x for the rows i, over all columns that come before them, as their x are received."""
    k = tl.arange(0, SIDE)
    b_re, b_im = squares.load_vector(x, i * x_inc, i < n, COMPLEX, "")
    if NEGATE:
        b_re = -b_re
        b_im = -b_im
    re = tl.zeros((ROWS, SIDE), tile.compute_type(a.dtype))
    im = re
    begin = tl.full((), 0, tl.int32)
    SQUARES: tl.constexpr = ROWS // SIDE
    side = tl.full((), SIDE, tl.int64)
    if BANDED:
        begin = (tl.maximum(strip.to(tl.int64) * ROWS - reach, 0) // SIDE).to(tl.int32)
    DTYPE: tl.constexpr = a.dtype.element_ty
    WORDS: tl.constexpr = messages.word_count(DTYPE, COMPLEX) * SIDE
    for square in range(begin, strip * SQUARES):
        start = squares.turn(square, strips * SQUARES, UPPER) * side
        j = start + k
        whole = (first + ROWS <= n) & (start + SIDE <= n)
        keep = None
        if BANDED:
            keep = squares.distance(i[:, None], j[None, :], UPPER) <= reach
        col_offset = tile.along(j, a_n, a_curve, CURVED == "columns")
        a_re, a_im = load_strip(
            a, row_offset, col_offset, i, j, n, whole, keep, COMPLEX, CONJ_A, BY_ROWS
        )
        x_re, x_im = messages.receive(words + square * WORDS, DTYPE, COMPLEX, SIDE)
        p_re, p_im = squares.multiply(a_re, a_im, x_re[None, :], x_im[None, :], COMPLEX)
        if BANDED:
            p_re = tl.where(keep, p_re, 0)
            p_im = tl.where(keep, p_im, 0)
        re += p_re
        im += p_im
    re = b_re - tl.sum(re, 1)
    if COMPLEX:
        im = b_im - tl.sum(im, 1)
    else:
        im = re
    return re, im


@triton.jit
def load_strip(
    a, row_offset, col_offset, i, j, n, whole, keep,
    COMPLEX: tl.constexpr, CONJ_A: tl.constexpr, BY_ROWS: tl.constexpr,
):  # fmt: skip
    """The tile of a strip's rows i at the columns j, of which it keeps some; all where None."""
    # To compare with n narrows loads, so only the last strip does.
    if whole:
        re, im = squares.load_tile(a, row_offset, col_offset, keep, COMPLEX, CONJ_A, BY_ROWS)
    else:
        there = (i < n)[:, None] & (j < n)[None, :]
        if keep is not None:
            there &= keep
        re, im = squares.load_tile(a, row_offset, col_offset, there, COMPLEX, CONJ_A, BY_ROWS)
    return re, im
