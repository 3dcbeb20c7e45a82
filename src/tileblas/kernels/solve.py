"""The triangular solve: x := op(A)^-1 x for a triangle, dense, banded or packed."""

import triton
import triton.language as tl

from tileblas.kernels import division, inverse, messages, squares, tile


@triton.jit
def solve_kernel(
    a, x, partial, arrived, words, n, reach, a_m, a_n, a_curve, x_inc,
    inner, a_b0, a_b1, x_b0, x_b1, strips, members, one,
    COMPLEX: tl.constexpr, CONJ_A: tl.constexpr, NEGATE: tl.constexpr, UNIT_DIAG: tl.constexpr,
    UPPER: tl.constexpr, CURVED: tl.constexpr, BANDED: tl.constexpr, BY_ROWS: tl.constexpr,
    BATCHED: tl.constexpr, SIDE: tl.constexpr, HELD: tl.constexpr, PATIENT: tl.constexpr,
    EARLY: tl.constexpr,
):  # fmt: skip
    """x := (+-) A^-1 x for each batch member, A triangular; a program has a strip of SIDE rows.

    Strips are solved one after the other: downwards, or of an UPPER triangle upwards. A program
    takes the next one when it begins (its number is in `arrived`), so that what it waits for is
    always under way. It prepares four squares, which lie in `partial`; subtracts A x over the
    columns of all strips but the last before its own, as other programs send their x in `words`;
    and has little left to do when the last x comes, which all that follow wait for.
    The inverse is read EARLY, before it waits, if there are registers enough to keep it.
    Elements more than `reach` from the diagonal are not there if BANDED. The axis that A is CURVED
    along, if it is packed, is that of "rows" or "columns".
    `one` is 1, which the compiler is not to know: it would give a thread several elements of a
    column, and each is to have rows.
    """
    ticket = tl.atomic_add(arrived, 1, sem="relaxed")
    if ticket == strips * members - 1:
        tl.store(arrived, 0)  # all have theirs: the next launch begins anew
    member, strip = tile.position(ticket, strips, BATCHED, True)
    a = tile.batch_base(a, member, inner, a_b0, a_b1, COMPLEX)
    x = tile.batch_base(x, member, inner, x_b0, x_b1, COMPLEX)
    PARTS: tl.constexpr = 2 if COMPLEX else 1
    WORDS: tl.constexpr = messages.word_count(a.dtype.element_ty, COMPLEX) * SIDE
    partial += ticket.to(tl.int64) * 4 * PARTS * SIDE * SIDE
    words += member.to(tl.int64) * strips * WORDS

    i = squares.rows(strip, strips, UPPER, SIDE)
    start = squares.turn(strip, strips, UPPER).to(tl.int64) * SIDE
    there = i < n
    row_offset = tile.along(i, a_m, a_curve, CURVED == "rows")
    # What need not wait is read before.
    d_re, d_im = squares.load_diagonal(
        a, i, there, a_m, a_n, a_curve, COMPLEX, CONJ_A, UNIT_DIAG, CURVED
    )
    by = division.divisor(d_re, d_im, COMPLEX)
    o_re, o_im = tile.load_vector(x, i * x_inc, there, COMPLEX)
    gauge = squares.size(o_re, o_im, COMPLEX)
    usable = False
    if strips > 1:
        usable = inverse.prepare(
            a, partial, strip, strips, i, row_offset, d_re, d_im, n, reach, a_n, a_curve,
            COMPLEX, CONJ_A, UNIT_DIAG, UPPER, CURVED, BANDED, BY_ROWS, SIDE,
        )  # fmt: skip
    AREA: tl.constexpr = PARTS * SIDE * SIDE
    carried = squares.load_square(partial + AREA, usable, one, COMPLEX, SIDE)
    square = squares.load_square(partial + 2 * AREA, usable, one, COMPLEX, SIDE)
    beside = squares.load_square(partial + 3 * AREA, strip > 0, one, COMPLEX, SIDE)

    if EARLY:
        inverted = squares.load_square(partial, usable, one, COMPLEX, SIDE)
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
    if not EARLY:
        inverted = squares.load_square(partial, usable, one, COMPLEX, SIDE)
    z_re, z_im = inverse.apply(inverted, b_re, b_im, COMPLEX)
    p_re = tl.zeros((SIDE // 4, SIDE), z_re.dtype)
    p_im = p_re
    # A loop of one round, or of none in the first strip: loops keep the layouts of their numbers.
    for before in range(tl.maximum(strip - 1, 0), strip):
        x_re, x_im = messages.receive(
            words + before * WORDS, words + strip * WORDS, True,
            a.dtype.element_ty, COMPLEX, SIDE, PATIENT,
        )  # fmt: skip
        w_re, w_im = inverse.apply(carried, x_re, x_im, COMPLEX)
        z_re -= w_re
        z_im -= w_im
        p_re, p_im = tile.multiply(beside[0], beside[1], x_re[:, None], x_im[:, None], COMPLEX)
        if BANDED:
            j = squares.rows(before, strips, UPPER, SIDE)
            keep = squares.distance(i[None, :], j[:, None], UPPER) <= reach
            p_re = tl.where(keep, p_re, 0)
            p_im = tl.where(keep, p_im, 0)
        p_re = inverse.by_fours(p_re)
        p_im = inverse.by_fours(p_im)
    x_re, x_im, good = inverse.settle(
        partial, square, by, z_re, z_im, b_re, b_im, p_re, p_im, gauge, usable, one,
        UNIT_DIAG, COMPLEX, SIDE,
    )  # fmt: skip
    if good == 0:
        q_re, q_im = inverse.add_up(p_re, p_im, COMPLEX)
        x_re, x_im = squares.substitute_in_turn(
            a, start, n, reach, a_m, a_n, a_curve, b_re - q_re, b_im - q_im, by,
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
def subtract_solved(
    a, x, words, row_offset, i, start, n, reach, a_n, a_curve, x_inc, strip, strips,
    COMPLEX: tl.constexpr, CONJ_A: tl.constexpr, NEGATE: tl.constexpr, UPPER: tl.constexpr,
    CURVED: tl.constexpr, BANDED: tl.constexpr, BY_ROWS: tl.constexpr, SIDE: tl.constexpr,
    HELD: tl.constexpr, PATIENT: tl.constexpr,
):  # fmt: skip
    """x - A x for the rows i, over the columns of all strips but the last before them, as their x
    are received.

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
    for before in range(begin, strip - 1):
        # The tile is on its way while x is waited for.
        a_re, a_im = load_before(
            a, row_offset, i, start, before, strips, n, reach, a_n, a_curve,
            COMPLEX, CONJ_A, UPPER, CURVED, BANDED, BY_ROWS, SIDE,
        )  # fmt: skip
        x_re, x_im = messages.receive(
            words + before * WORDS, words + strip * WORDS, before + 2 == strip,
            DTYPE, COMPLEX, SIDE, PATIENT,
        )  # fmt: skip
        p_re, p_im = tile.multiply(a_re, a_im, x_re[None, :], x_im[None, :], COMPLEX)
        if BANDED:
            j = squares.rows(before, strips, UPPER, SIDE)
            keep = squares.distance(i[:, None], j[None, :], UPPER) <= reach
            p_re = tl.where(keep, p_re, 0)
            p_im = tl.where(keep, p_im, 0)
        p_re = tile.of_threads(p_re, HELD, BY_ROWS)
        p_im = tile.of_threads(p_im, HELD, BY_ROWS)
        re += p_re
        im += p_im
    re = b_re - tl.sum(re, 1)
    if COMPLEX:
        im = b_im - tl.sum(im, 1)
    else:
        im = re
    return re, im


@triton.jit
def load_before(
    a, row_offset, i, start, before, strips, n, reach, a_n, a_curve,
    COMPLEX: tl.constexpr, CONJ_A: tl.constexpr, UPPER: tl.constexpr, CURVED: tl.constexpr,
    BANDED: tl.constexpr, BY_ROWS: tl.constexpr, SIDE: tl.constexpr,
):  # fmt: skip
    """The tile of A at the rows i and the columns of the strip `before` in the order of solving."""
    left = squares.turn(before, strips, UPPER) * tl.full((), SIDE, tl.int64)
    j = squares.rows(before, strips, UPPER, SIDE)
    col_offset = tile.along(j, a_n, a_curve, CURVED == "columns")
    keep = None
    if BANDED:
        keep = squares.distance(i[:, None], j[None, :], UPPER) <= reach
    # To compare with n narrows loads, so only tiles at an edge do.
    if (start + SIDE <= n) & (left + SIDE <= n):
        re, im = squares.load_tile(a, row_offset, col_offset, keep, COMPLEX, CONJ_A, BY_ROWS)
    else:
        there = (i < n)[:, None] & (j < n)[None, :]
        if BANDED:
            there &= keep
        re, im = squares.load_tile(a, row_offset, col_offset, there, COMPLEX, CONJ_A, BY_ROWS)
    return re, im
