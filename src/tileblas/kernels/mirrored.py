"""A matrix times a vector and its transpose times another, in one pass over it: symv, gemvt."""

import triton
import triton.language as tl

from tileblas.kernels import matvec, slices, tile


@triton.jit
def mirrored_kernel(
    a, x, w, y, z, partial, arrived, alpha, alpha_im, beta, beta_im,
    m, n, reach, a_m, a_n, a_curve, x_inc, w_inc, y_inc, z_inc,
    inner, a_b0, a_b1, x_b0, x_b1, w_b0, w_b1, y_b0, y_b1, z_b0, z_b1,
    down, across, near, strips, programs,
    KIND: tl.constexpr, LOWER: tl.constexpr, BANDED: tl.constexpr,
    COMPLEX: tl.constexpr, CONJ_A: tl.constexpr, CONJ_X: tl.constexpr, CONJ_W: tl.constexpr,
    NEGATE: tl.constexpr, CONJ_SCALARS: tl.constexpr,
    ALPHA_KIND: tl.constexpr, BETA_KIND: tl.constexpr,
    BATCHED: tl.constexpr, CURVED: tl.constexpr, UNIT: tl.constexpr, POLICY: tl.constexpr,
    BLOCK: tl.constexpr, SLICE: tl.constexpr, HELD: tl.constexpr, TILES: tl.constexpr,
    SUMS: tl.constexpr,
):  # fmt: skip
    """y := (+-) alpha A op(x) + beta y, z := (+-) alpha op(A) op(w) + beta z, for each member.

    op(A) is A^T, or A^H for the KINDs "adjoint" and "hermitian". Of the kinds "symmetric",
    "hermitian" and "skew" A is one triangle, x is w and y is z: tiles beside the diagonal serve
    both their rows and, mirrored, their columns.
    A program takes a strip of up to TILES tiles of a block of rows, and of each SLICE columns at a
    time, of which a thread holds HELD. It leaves one sum for the rows and one for each block of
    columns in the workspace, and the last program to serve a block of y or z adds up what all have
    left for it, SUMS at once, in a fixed order.
    There are `down` blocks of rows and `across` of columns; the tiles of a band are those whose
    numbers differ by less than `near`; `strips` is the most that a block of rows has. A batch
    member has `programs`.
    """
    TRIANGLE: tl.constexpr = KIND == "symmetric" or KIND == "hermitian" or KIND == "skew"
    PARTS: tl.constexpr = 2 if COMPLEX else 1
    batch, index = tile.position(tl.program_id(0), programs, BATCHED, True)
    row, strip = find_strip(index, strips, down, programs, TILES, TRIANGLE, BANDED)
    first, last = strip_of(row, strip, across, near, TILES, TRIANGLE)
    if (row >= down) | (first >= last):
        return
    a = tile.batch_base(a, batch, inner, a_b0, a_b1, COMPLEX)
    x = tile.batch_base(x, batch, inner, x_b0, x_b1, COMPLEX)
    w = tile.batch_base(w, batch, inner, w_b0, w_b1, COMPLEX)
    y = tile.batch_base(y, batch, inner, y_b0, y_b1, COMPLEX)
    z = tile.batch_base(z, batch, inner, z_b0, z_b1, COMPLEX)

    COMPUTE: tl.constexpr = tile.compute_type(a.dtype)
    alpha = tile.load_scalar(alpha, alpha_im, COMPUTE, ALPHA_KIND)
    beta = tile.load_scalar(beta, beta_im, COMPUTE, BETA_KIND)
    # Nothing is read where alpha is 0.
    k = tl.where(tile.is_zero(alpha), 0, n)
    if (k == 0) & tile.is_one(beta):
        return
    alpha = tile.orient(alpha, NEGATE, CONJ_SCALARS)
    beta = tile.orient(beta, False, CONJ_SCALARS)

    # What is left for a block of y or z lies together: of its strips first, then of its columns.
    WIDTH: tl.constexpr = PARTS * BLOCK
    if TRIANGLE:
        slots = (strips + near).to(tl.int64)
        partial += batch * down * slots * WIDTH
        arrived += batch * down
        columns = partial
    else:
        slots = strips.to(tl.int64)
        partial += batch * (down * slots + across * down) * WIDTH
        arrived += batch * (down + across)
        columns = partial + down * slots * WIDTH

    UPPER: tl.constexpr = TRIANGLE and not LOWER
    CONJ_T: tl.constexpr = (KIND == "hermitian" or KIND == "adjoint") != CONJ_A
    # Rows are those of reals, of complex elements both parts in turn.
    top = place(row, down, UPPER).to(tl.int64) * BLOCK
    part = PARTS * top + tl.arange(0, WIDTH).to(tl.int64)[:, None]
    i = part // PARTS
    a_rows = a + matvec.spread(part, a_m, PARTS, UNIT)
    row_mask = i < tl.where(k > 0, m, 0)
    w_same = tile.load(w, PARTS * i * w_inc + part % PARTS, row_mask).to(COMPUTE)
    w_other = w_same
    if COMPLEX:
        w_other = tile.load(w, PARTS * i * w_inc + 1 - part % 2, row_mask).to(COMPUTE)
        w_same, w_other = matvec.signed(w_same, w_other, part % 2 == 1, CONJ_T, CONJ_W)
    p = tl.zeros((WIDTH, SLICE // HELD), COMPUTE)
    q = p

    begin, end = whole_tiles(row, first, last, down, m, k, reach, TRIANGLE, UPPER, BANDED, BLOCK)
    SLICES: tl.constexpr = BLOCK // SLICE
    for step in range(0, (end - begin) * SLICES):
        col = begin + step // SLICES
        start = step % SLICES * SLICE
        left = place(col, across, UPPER) * tl.full((), BLOCK, tl.int64) + start
        p, q, s, t = slices.multiply_whole(
            p, q, a_rows, x, w_same, w_other, left, a_n, a_curve, x_inc,
            COMPLEX, CURVED, POLICY, SLICE, HELD,
        )  # fmt: skip
        slot = column_slot(row, col, down, near, slots, TRIANGLE, TILES)
        leave(columns + slot * WIDTH + start, s, t, COMPLEX, KIND == "skew", BLOCK)
    # Other loops for the edges, since what masks take in registers would be taken from the first
    # one. Where 0 Inf could arise, products need masks too: then fewer columns at a time.
    wild = tl.full((), False, tl.int1)
    if (begin > first) | (end < last):
        beyond = place(tl.where(UPPER, last - 1, first), across, UPPER)
        j = beyond * tl.full((), BLOCK, tl.int64) + tl.arange(0, TILES * BLOCK)
        x_re, x_im = tile.load_vector(x, j * x_inc, j < k, COMPLEX)
        wild = tile.is_wild(w_same) | tile.is_wild(x_re) | tile.is_wild(x_im)
    p, q = multiply_edges(
        p, q, a_rows, x, w_same, w_other, columns, row, first, tl.where(wild, first, last),
        begin, end, top, m, k, reach, a_n, a_curve, x_inc, down, across, near, slots,
        KIND, LOWER, BANDED, COMPLEX, CURVED, POLICY, False, BLOCK, SLICE, HELD, TILES,
    )  # fmt: skip
    p, q = multiply_edges(
        p, q, a_rows, x, w_same, w_other, columns, row, first, tl.where(wild, last, first),
        begin, end, top, m, k, reach, a_n, a_curve, x_inc, down, across, near, slots,
        KIND, LOWER, BANDED, COMPLEX, CURVED, POLICY, True, BLOCK, SLICE // 4, HELD // 4, TILES,
    )  # fmt: skip
    p = tl.sum(p, 1)
    if COMPLEX:
        q = tl.sum(q, 1)
    else:
        q = p
    re, im = matvec.combine(p, q, COMPLEX, CONJ_A, CONJ_X)
    if TRIANGLE and KIND != "skew":
        at_end = tl.where(last > row, k, 0)
        d_re, d_im = slices.multiply_diagonal(
            a, x, top, at_end, a_m, a_n, a_curve, x_inc, KIND == "hermitian",
            COMPLEX, CONJ_A, CONJ_X, CURVED, BLOCK,
        )  # fmt: skip
        re += d_re
        im += d_im
    matvec.store_partial(partial + row * slots * WIDTH, strip.to(tl.int64), re, im, COMPLEX)

    # Who is served, the rows first; how many programs serve them, and where their sums lie.
    lane = tl.arange(0, 2 * TILES)
    served = first + lane - 1
    active = (lane > 0) & (served < last)
    if TRIANGLE:
        served = tl.where(lane == 0, row, served)
        active &= served != row
        expected = strips_of(served, near, TILES) + tl.minimum(near - 1, down - 1 - served)
        counter = served
        sums = served * slots
        count = expected + 1  # the program of the tile on the diagonal leaves two
    else:
        expected = tl.where(lane == 0, (across + TILES - 1) // TILES, down)
        counter = tl.where(lane == 0, row, down + served)
        sums = tl.where(lane == 0, row * slots, down * slots + served * down.to(tl.int64))
        served = tl.where(lane == 0, row, served)
        count = expected
    active |= lane == 0
    tl.debug_barrier()  # all threads have stored their sums before the arrivals are announced
    before = tl.atomic_add(arrived + counter, 1, mask=active, sem="acq_rel")
    count = tl.where(active & (before == expected - 1), count, 0)
    if tl.max(count, 0) > 0:
        tl.store(arrived + counter, tl.zeros_like(counter), mask=count > 0)
        for number in range(0, TILES + 1):
            chosen = lane == number
            which = one_of(served, chosen)
            at = partial + one_of(sums, chosen) * WIDTH
            left_by = one_of(count, chosen)
            if TRIANGLE or number == 0:
                finish(
                    y, place(which, down, UPPER), y_inc, m, k, alpha, beta, at, left_by,
                    COMPLEX, ALPHA_KIND, BETA_KIND, BLOCK, SUMS,
                )  # fmt: skip
            else:
                finish(
                    z, which, z_inc, n, k, alpha, beta, at, left_by,
                    COMPLEX, ALPHA_KIND, BETA_KIND, BLOCK, SUMS,
                )  # fmt: skip


@triton.jit
def find_strip(
    index, strips, down, programs,
    TILES: tl.constexpr, TRIANGLE: tl.constexpr, BANDED: tl.constexpr,
):  # fmt: skip
    """(row, strip) of a program by its number, in blocks of rows and in strips of them.

    Those of a triangle begin with its longest rows: a block is then complete with its own row,
    early for most, and what is left for it is added up while others read on.
    """
    if TRIANGLE and not BANDED:
        # Each TILES rows of it have as many strips, one more than those before them.
        back = programs - 1 - index
        number = back // TILES
        group = ((tl.sqrt(8.0 * number.to(tl.float32) + 1) - 1) / 2).to(tl.int32)
        group = tl.where(strips_before(group) > number, group - 1, group)
        group = tl.where(strips_before(group + 1) <= number, group + 1, group)
        strip = (number - strips_before(group)).to(tl.int32)
        return group * TILES + back % TILES, strip
    elif TRIANGLE:
        return down - 1 - index // strips, index % strips
    else:
        return index // strips, index % strips


@triton.jit
def strips_before(group):
    """How many strips a triangle has before its rows of a group, where each has one row."""
    return group.to(tl.int64) * (group + 1) // 2


@triton.jit
def whole_tiles(
    row, first, last, down, m, n, reach,
    TRIANGLE: tl.constexpr, UPPER: tl.constexpr, BANDED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Of the tiles of a strip those that are whole, [begin, end): not cut off by an edge of the
    matrix, the diagonal or the end of the band. None where there are no columns.

    It is the last block of rows or columns that can be short, which an upper triangle has first.
    """
    begin = first
    if TRIANGLE:
        end = tl.minimum(last, row)
        if BANDED:
            begin = tl.maximum(begin, (row + 1 - (reach + 1) // BLOCK).to(tl.int32))
        if UPPER:
            begin = tl.where(n % BLOCK == 0, begin, tl.maximum(begin, 1))
            whole = (row > 0) | (m % BLOCK == 0)
        else:
            whole = (row + 1) * tl.full((), BLOCK, tl.int64) <= m
    else:
        end = tl.minimum(last, (n // BLOCK).to(tl.int32))
        whole = (row + 1) * tl.full((), BLOCK, tl.int64) <= m
    end = tl.where(whole & (n > 0), end, begin)
    return begin, tl.maximum(begin, end)


@triton.jit
def multiply_edges(
    p, q, a_rows, x, w_same, w_other, columns, row, first, last, begin, end, top, m, n, reach,
    a_n, a_curve, x_inc, down, across, near, slots,
    KIND: tl.constexpr, LOWER: tl.constexpr, BANDED: tl.constexpr,
    COMPLEX: tl.constexpr, CURVED: tl.constexpr, POLICY: tl.constexpr, WILD: tl.constexpr,
    BLOCK: tl.constexpr, SLICE: tl.constexpr, HELD: tl.constexpr, TILES: tl.constexpr,
):  # fmt: skip
    """(p, q) + A (x_re, x_im) for the tiles of a strip that are not whole, those not in
    [begin, end); the sums of their columns are left in the workspace."""
    TRIANGLE: tl.constexpr = KIND == "symmetric" or KIND == "hermitian" or KIND == "skew"
    SLICES: tl.constexpr = BLOCK // SLICE
    WIDTH: tl.constexpr = w_same.shape[0]
    for step in range(0, (last - first) * SLICES):
        col = first + step // SLICES
        if (col < begin) | (col >= end):
            start = step % SLICES * SLICE
            left = place(col, across, TRIANGLE and not LOWER) * tl.full((), BLOCK, tl.int64)
            left += start
            p, q, s, t = slices.multiply_edge(
                p, q, a_rows, x, w_same, w_other, top, left, m, n, reach, a_n, a_curve, x_inc,
                TRIANGLE, LOWER, BANDED, COMPLEX, CURVED, POLICY, WILD, BLOCK, SLICE, HELD,
            )  # fmt: skip
            slot = column_slot(row, col, down, near, slots, TRIANGLE, TILES)
            leave(columns + slot * WIDTH + start, s, t, COMPLEX, KIND == "skew", BLOCK)
    return p, q


@triton.jit
def column_slot(row, col, down, near, slots, TRIANGLE: tl.constexpr, TILES: tl.constexpr):
    """Where the sum of a tile for its columns lies in the workspace, among those of all columns."""
    if TRIANGLE:
        return col * slots + strips_of(col, near, TILES) + row - col
    else:
        return col * down.to(tl.int64) + row


@triton.jit
def leave(at, re, im, COMPLEX: tl.constexpr, MINUS: tl.constexpr, BLOCK: tl.constexpr):
    """Leave the sums of a slice in the workspace, where those of a block have im after re."""
    if MINUS:
        re = -re
        im = -im
    lanes = tl.arange(0, re.shape[0])
    tl.store(at + lanes, re)
    if COMPLEX:
        tl.store(at + BLOCK + lanes, im)


@triton.jit
def place(block, blocks, UPPER: tl.constexpr):
    """Where a block lies: those of an upper triangle are numbered from the last one on."""
    if UPPER:
        return blocks - 1 - block
    else:
        return block


@triton.jit
def strip_of(row, strip, across, near, TILES: tl.constexpr, TRIANGLE: tl.constexpr):
    """The tiles [first, last) of a strip: of a triangle's row up to that on the diagonal."""
    if TRIANGLE:
        first = tl.maximum(row - near + 1, 0) + strip * TILES
        return first, tl.minimum(first + TILES, row + 1)
    else:
        first = strip * TILES
        return first, tl.minimum(first + TILES, across)


@triton.jit
def strips_of(row, near, TILES: tl.constexpr):
    """How many strips a triangle's row has."""
    return (tl.minimum(row + 1, near) + TILES - 1) // TILES


@triton.jit
def finish(
    y, block, y_inc, m, k, alpha, beta, partial, count,
    COMPLEX: tl.constexpr, ALPHA_KIND: tl.constexpr, BETA_KIND: tl.constexpr, BLOCK: tl.constexpr,
    SUMS: tl.constexpr,
):  # fmt: skip
    """y := alpha (the total of `count` sums that programs have left) + beta y for a block of y.

    Nothing where there are none, since others have not left theirs yet.
    """
    if count > 0:
        WIDTH: tl.constexpr = 2 * BLOCK if COMPLEX else BLOCK
        ways = tl.arange(0, SUMS)[:, None]
        lanes = tl.arange(0, BLOCK)[None, :]
        re = tl.zeros((SUMS, BLOCK), partial.dtype.element_ty)
        im = re
        for start in range(0, count, SUMS):
            at = partial + (start + ways).to(tl.int64) * WIDTH + lanes
            mask = ways < count - start
            re += tl.load(at, mask=mask, other=0, cache_modifier=".cg")
            if COMPLEX:
                im += tl.load(at + BLOCK, mask=mask, other=0, cache_modifier=".cg")
        re = tl.sum(re, 0)
        if COMPLEX:
            im = tl.sum(im, 0)
        else:
            im = re
        rows = block.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        mask = rows < m
        old_mask = mask & (tile.is_zero(beta) == 0)
        tile.update(
            y, rows * y_inc, mask, old_mask, alpha, beta, re, im, k, COMPLEX, ALPHA_KIND, BETA_KIND
        )


@triton.jit
def one_of(values, chosen):
    """The number of a vector that is chosen."""
    return tl.sum(tl.where(chosen, values, 0), 0)
