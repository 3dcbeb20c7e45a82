"""The triangular solve: x := op(A)^-1 x for a triangle, dense, banded or packed."""

import triton
import triton.language as tl

from tileblas.kernels import messages, squares, tile


@triton.jit
def solve_kernel(
    a, x, partial, arrived, words, n, reach, a_m, a_n, a_curve, x_inc,
    inner, a_b0, a_b1, x_b0, x_b1, strips, members, one,
    COMPLEX: tl.constexpr, CONJ_A: tl.constexpr, NEGATE: tl.constexpr, UNIT_DIAG: tl.constexpr,
    UPPER: tl.constexpr, CURVED: tl.constexpr, BANDED: tl.constexpr, BY_ROWS: tl.constexpr,
    BATCHED: tl.constexpr, SIDE: tl.constexpr, HELD: tl.constexpr, PATIENT: tl.constexpr,
):  # fmt: skip
    """x := (+-) A^-1 x for each batch member, A triangular; a program has a strip of SIDE rows.

    Strips are solved one after the other: downwards, or of an UPPER triangle upwards. A program
    takes the next one when it begins (its number is in `arrived`), so that what it waits for is
    always under way. It subtracts A x over the columns before its square on the diagonal, as other
    programs send their x in `words`, then solves the square and sends its own x. The square, over
    its diagonal elements, lies in `partial`.
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
    WORDS: tl.constexpr = messages.word_count(a.dtype.element_ty, COMPLEX) * SIDE
    partial += ticket.to(tl.int64) * PARTS * SIDE * SIDE
    words += member.to(tl.int64) * strips * WORDS

    start = squares.turn(strip, strips, UPPER).to(tl.int64) * SIDE
    i = start + tl.arange(0, SIDE)
    there = i < n
    row_offset = tile.along(i, a_m, a_curve, CURVED == "rows")
    # What need not wait is read before.
    d_re, d_im = squares.load_diagonal(
        a, i, there, a_m, a_n, a_curve, COMPLEX, CONJ_A, UNIT_DIAG, CURVED
    )
    safe = divide_square(
        a, partial, row_offset, i, d_re, d_im, n, reach, a_n, a_curve,
        COMPLEX, CONJ_A, UNIT_DIAG, UPPER, CURVED, BANDED, BY_ROWS, SIDE,
    )  # fmt: skip
    square = squares.load_square(partial, one, UPPER, COMPLEX, SIDE)
    re, im = subtract_solved(
        a, x, words, row_offset, i, start, n, reach, a_n, a_curve, x_inc, strip, strips,
        COMPLEX, CONJ_A, NEGATE, UPPER, CURVED, BANDED, BY_ROWS, SIDE, HELD, PATIENT,
    )  # fmt: skip

    # Gathered in the order they have, so that each thread gets one, not what a sum leaves in it.
    lane = tl.arange(0, SIDE) * one
    b_re = tl.gather(re, lane, 0)
    b_im = b_re
    if COMPLEX:
        b_im = tl.gather(im, lane, 0)
    # A loop of one round, which keeps apart the layouts before and after it: else Triton does every
    # step twice, once with a number in one thread, once as the tile of A has it.
    x_re, x_im = b_re, b_im
    rounds = one
    while rounds > 0:
        x_re, x_im = squares.substitute(square, one, x_re, x_im, UPPER, COMPLEX, SIDE)
        rounds -= 1
    if not UNIT_DIAG:
        x_re, x_im = squares.divide(x_re, x_im, d_re, d_im, COMPLEX)
    if BANDED:
        # Inf or NaN times an element that is not there, which the square has as 0, would be NaN; of
        # either part of a complex number it makes the real part NaN, and the other.
        safe = tl.where(tile.is_wild(x_re), 0, safe)
    # Shuffles cost more in a branch, so the usual way is not in one.
    if safe == 0:
        x_re, x_im = squares.substitute_in_turn(
            a, start, n, reach, a_m, a_n, a_curve, b_re, b_im, d_re, d_im,
            COMPLEX, CONJ_A, UNIT_DIAG, UPPER, CURVED, BANDED, SIDE,
        )  # fmt: skip
    if strip < strips - 1:
        messages.send(words + strip * WORDS, x_re, x_im, COMPLEX)
    else:
        # All others have received what they wait for, since this one waited for them; nobody waits
        # for this one. Its own threads have too, after the barrier.
        tl.debug_barrier()
        messages.clear(words, strips * WORDS, 1024)
    tile.store_vector(x, i * x_inc, x_re, x_im, there, COMPLEX)


@triton.jit
def divide_square(
    a, partial, row_offset, i, d_re, d_im, n, reach, a_n, a_curve,
    COMPLEX: tl.constexpr, CONJ_A: tl.constexpr, UNIT_DIAG: tl.constexpr, UPPER: tl.constexpr,
    CURVED: tl.constexpr, BANDED: tl.constexpr, BY_ROWS: tl.constexpr, SIDE: tl.constexpr,
):  # fmt: skip
    """Leave a_ij / a_jj of the square on the diagonal in `partial`; whether it is safe.

    Its columns and rows lie in the order of solving, re before im. It is safe if no quotient has
    left the normal numbers: only then is it as good to multiply by the quotient as to multiply by
    a_ij and divide by a_jj.
    """
    k = tl.arange(0, SIDE)
    apart = squares.distance(k[:, None], k[None, :], UPPER)
    keep = (apart > 0) & (i < n)[:, None] & (i < n)[None, :]
    if BANDED:
        keep &= apart <= reach
    col_offset = tile.along(i, a_n, a_curve, CURVED == "columns")
    re, im = squares.load_tile(a, row_offset, col_offset, keep, COMPLEX, CONJ_A, BY_ROWS)
    safe = tl.full((), 1, tl.int32)
    if not UNIT_DIAG:
        zero = (re == 0) & (im == 0)
        # Beside a diagonal of 0, Inf or NaN no zero is safe: what it meets is not finite.
        good = squares.is_normal(d_re, d_im, COMPLEX) | (i >= n)
        re, im = squares.divide(re, im, d_re[None, :], d_im[None, :], COMPLEX)
        fine = (squares.is_normal(re, im, COMPLEX) | zero) & good[None, :]
        fine |= keep == 0
        safe = tl.min(tl.min(fine.to(tl.int32), 1), 0)
        re = tl.where(keep & (zero == 0), re, 0)
        im = tl.where(keep & (zero == 0), im, 0)
    place = squares.turn(k, SIDE, UPPER)
    here = place[:, None] + place[None, :] * SIDE
    tl.store(partial + here, re)
    if COMPLEX:
        tl.store(partial + SIDE * SIDE + here, im)
    tl.debug_barrier()
    return safe


@triton.jit
def subtract_solved(
    a, x, words, row_offset, i, start, n, reach, a_n, a_curve, x_inc, strip, strips,
    COMPLEX: tl.constexpr, CONJ_A: tl.constexpr, NEGATE: tl.constexpr, UPPER: tl.constexpr,
    CURVED: tl.constexpr, BANDED: tl.constexpr, BY_ROWS: tl.constexpr, SIDE: tl.constexpr,
    HELD: tl.constexpr, PATIENT: tl.constexpr,
):  # fmt: skip
    """x - A x for the rows i, over all columns that come before them, as their x are received.

    A thread adds up the HELD columns of a tile that it has, which are next to each other if A lies
    BY_ROWS and equally far from each other if it does not.
    """
    DTYPE: tl.constexpr = a.dtype.element_ty
    WORDS: tl.constexpr = messages.word_count(DTYPE, COMPLEX) * SIDE
    b_re, b_im = tile.load_vector(x, i * x_inc, i < n, COMPLEX)
    if NEGATE:
        b_re = -b_re
        b_im = -b_im
    re = tl.zeros((SIDE, SIDE // HELD), tile.compute_type(a.dtype))
    im = re
    begin = tl.full((), 0, tl.int32)
    if BANDED:
        begin = (tl.maximum(strip.to(tl.int64) * SIDE - reach, 0) // SIDE).to(tl.int32)
        # For the strip before it waits even one that is alone on its diagonal: so the last one to
        # end is the last strip, which may then clear the words.
        begin = tl.maximum(tl.minimum(begin, strip - 1), 0)
    for before in range(begin, strip):
        left = squares.turn(before, strips, UPPER) * tl.full((), SIDE, tl.int64)
        j = left + tl.arange(0, SIDE)
        col_offset = tile.along(j, a_n, a_curve, CURVED == "columns")
        keep = None
        if BANDED:
            keep = squares.distance(i[:, None], j[None, :], UPPER) <= reach
        # The tile is on its way while x is waited for. To compare with n narrows loads, so only
        # tiles at an edge do.
        if (start + SIDE <= n) & (left + SIDE <= n):
            a_re, a_im = squares.load_tile(
                a, row_offset, col_offset, keep, COMPLEX, CONJ_A, BY_ROWS
            )
        else:
            there = (i < n)[:, None] & (j < n)[None, :]
            if BANDED:
                there &= keep
            a_re, a_im = squares.load_tile(
                a, row_offset, col_offset, there, COMPLEX, CONJ_A, BY_ROWS
            )
        x_re, x_im = messages.receive(
            words + before * WORDS, before + 1 == strip, DTYPE, COMPLEX, SIDE, PATIENT
        )
        p_re, p_im = tile.multiply(a_re, a_im, x_re[None, :], x_im[None, :], COMPLEX)
        if BANDED:
            p_re = tl.where(keep, p_re, 0)
            p_im = tl.where(keep, p_im, 0)
        re += tile.of_threads(p_re, HELD, BY_ROWS)
        im += tile.of_threads(p_im, HELD, BY_ROWS)
    re = b_re - tl.sum(re, 1)
    if COMPLEX:
        im = b_im - tl.sum(im, 1)
    else:
        im = re
    return re, im
