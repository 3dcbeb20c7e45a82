"""A matrix times a vector and its transpose times another, in one pass over it: symv, gemvt."""

import triton
import triton.language as tl

from tileblas.kernels import matvec, tile


@triton.jit
def mirrored_kernel(
    a, x, w, y, z, partial, arrived, alpha, alpha_im, beta, beta_im,
    m, n, reach, a_m, a_n, a_curve, x_inc, w_inc, y_inc, z_inc,
    inner, a_b0, a_b1, x_b0, x_b1, w_b0, w_b1, y_b0, y_b1, z_b0, z_b1,
    down, across, near, strips,
    KIND: tl.constexpr, LOWER: tl.constexpr, BANDED: tl.constexpr,
    COMPLEX: tl.constexpr, CONJ_A: tl.constexpr, CONJ_X: tl.constexpr, CONJ_W: tl.constexpr,
    NEGATE: tl.constexpr, CONJ_SCALARS: tl.constexpr,
    ALPHA_KIND: tl.constexpr, BETA_KIND: tl.constexpr,
    BATCHED: tl.constexpr, CURVED: tl.constexpr, UNIT: tl.constexpr, POLICY: tl.constexpr,
    BLOCK: tl.constexpr, TILES: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """y := (+-) alpha A op(x) + beta y, z := (+-) alpha op(A) op(w) + beta z, for each member.

    op(A) is A^T, or A^H for the KINDs "adjoint" and "hermitian". Of the kinds "symmetric",
    "hermitian" and "skew" A is one triangle, x is w and y is z: tiles beside the diagonal serve
    both their rows and, mirrored, their columns.
    A program takes a strip of up to TILES tiles of a block of rows. It leaves one sum for these and
    one for each block of columns in the workspace, and the last program to serve a block of y or z
    adds up what all have left for it, in a fixed order.
    There are `down` blocks of rows and `across` of columns; the tiles of a band are those whose
    numbers differ by less than `near`; `strips` is the most that a block of rows has.
    """
    TRIANGLE: tl.constexpr = KIND == "symmetric" or KIND == "hermitian" or KIND == "skew"
    PARTS: tl.constexpr = 2 if COMPLEX else 1
    group, strip = tile.position(tl.program_id(0), strips, True, True)
    batch, row = tile.position(group, down, BATCHED, True)
    first, last = strip_of(row, strip, across, near, TILES, TRIANGLE)
    if first >= last:
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

    # What is left for a block of y or z lies together: of its strips first, then of other rows.
    WIDTH: tl.constexpr = PARTS * BLOCK
    if TRIANGLE:
        slots = (strips + tl.minimum(near, down)).to(tl.int64)
        partial += batch * down * slots * WIDTH
        arrived += batch * down
        columns = partial
    else:
        slots = strips.to(tl.int64)
        partial += batch * (down * slots + across * down) * WIDTH
        arrived += batch * (down + across)
        columns = partial + down * slots * WIDTH

    UPPER: tl.constexpr = TRIANGLE and not LOWER
    top = place(row, down, UPPER).to(tl.int64) * BLOCK
    i = top + tl.arange(0, BLOCK).to(tl.int64)[:, None]
    i_end = tl.where(k > 0, m, 0)
    # Vectors come before tiles: see `matvec.add_columns`.
    w_re = tile.load(w, PARTS * i * w_inc, i < i_end)
    w_im = w_re
    if COMPLEX:
        w_im = tile.load(w, PARTS * i * w_inc + 1, i < i_end)
    re = tl.zeros((BLOCK, PARTS * BLOCK), COMPUTE)
    im = re
    own_re = tl.zeros((BLOCK,), COMPUTE)
    own_im = own_re
    inner = first
    if STAGES > 1 and not BANDED:
        # Tiles that are whole are read ahead, through shared memory.
        inner = whole_tiles(row, first, last, down, m, k, TRIANGLE, UPPER, BLOCK)
        for col in tl.range(first, inner, num_stages=STAGES):
            re, im, t_re, t_im = multiply_tile(
                re, im, a, x, i, top, w_re, w_im, place(col, across, UPPER), m, k, reach,
                a_m, a_n, a_curve, x_inc,
                True, KIND, LOWER, BANDED, COMPLEX, CONJ_A, CONJ_X, CONJ_W, CURVED, UNIT, POLICY,
                BLOCK,
            )  # fmt: skip
            leave(columns, row, col, down, near, slots, t_re, t_im, TRIANGLE, COMPLEX, BLOCK, TILES)
    for col in range(inner, last):
        re, im, t_re, t_im = multiply_tile(
            re, im, a, x, i, top, w_re, w_im, place(col, across, UPPER), m, k, reach,
            a_m, a_n, a_curve, x_inc,
            False, KIND, LOWER, BANDED, COMPLEX, CONJ_A, CONJ_X, CONJ_W, CURVED, UNIT, POLICY,
            BLOCK,
        )  # fmt: skip
        beside = True
        if TRIANGLE:
            beside = row != col
        if beside:
            leave(columns, row, col, down, near, slots, t_re, t_im, TRIANGLE, COMPLEX, BLOCK, TILES)
        else:
            own_re = t_re
            own_im = t_im
    re = tl.sum(re, 1)
    if COMPLEX:
        im = tl.sum(im, 1)
    else:
        im = re
    if TRIANGLE:  # a tile on the diagonal serves the same rows twice
        re += own_re
        im += own_im
    matvec.store_partial(partial + row * slots * WIDTH, strip, re, im, COMPLEX)

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
    else:
        expected = tl.where(lane == 0, (across + TILES - 1) // TILES, down)
        counter = tl.where(lane == 0, row, down + served)
        sums = tl.where(lane == 0, row * slots, down * slots + served * down.to(tl.int64))
        served = tl.where(lane == 0, row, served)
    active |= lane == 0
    tl.debug_barrier()  # all threads have stored their sums before the arrivals are announced
    before = tl.atomic_add(arrived + counter, 1, mask=active, sem="acq_rel")
    expected = tl.where(active & (before == expected - 1), expected, 0)
    if tl.max(expected, 0) > 0:
        tl.store(arrived + counter, tl.zeros_like(counter), mask=expected > 0)
        if TRIANGLE:
            for pair in range(0, TILES):
                finish(
                    y, place(served, down, UPPER), y_inc, m, k, alpha, beta, partial, sums,
                    expected, lane // 2 == pair, COMPLEX, ALPHA_KIND, BETA_KIND, BLOCK,
                )  # fmt: skip
        else:
            finish(
                y, served, y_inc, m, k, alpha, beta, partial, sums, expected, lane == 0,
                COMPLEX, ALPHA_KIND, BETA_KIND, BLOCK,
            )  # fmt: skip
            for pair in range(0, TILES):
                finish(
                    z, served, z_inc, n, k, alpha, beta, partial, sums, expected,
                    (lane // 2 == pair) & (lane > 0), COMPLEX, ALPHA_KIND, BETA_KIND, BLOCK,
                )  # fmt: skip


@triton.jit
def whole_tiles(
    row, first, last, down, m, n,
    TRIANGLE: tl.constexpr, UPPER: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Where the first tiles of a strip end that are whole: inside the matrix, beside the diagonal.

    It is the last block of rows or columns that can be short, which an upper triangle has first.
    """
    rows = (place(row, down, UPPER) + 1) * tl.full((), BLOCK, tl.int64)
    if TRIANGLE:
        end = tl.minimum(last, row)
        if UPPER:
            # The strip that begins with the last block of columns is not worth a loop of its own.
            return tl.where((first > 0) | (n % BLOCK == 0), tl.where(n > 0, end, first), first)
        else:
            return tl.where(rows <= tl.where(n > 0, m, 0), end, first)
    else:
        end = tl.minimum(last, (n // BLOCK).to(tl.int32))
        return tl.where(rows <= m, tl.maximum(end, first), first)


@triton.jit
def leave(
    columns, row, col, down, near, slots, re, im,
    TRIANGLE: tl.constexpr, COMPLEX: tl.constexpr, BLOCK: tl.constexpr, TILES: tl.constexpr,
):  # fmt: skip
    """Leave a sum for a block of columns in the workspace."""
    WIDTH: tl.constexpr = 2 * BLOCK if COMPLEX else BLOCK
    if TRIANGLE:
        slot = col * slots + strips_of(col, near, TILES) + row - col - 1
    else:
        slot = col * down.to(tl.int64) + row
    matvec.store_partial(columns + slot * WIDTH, 0, re, im, COMPLEX)


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
    y, served, y_inc, m, k, alpha, beta, partial, sums, expected, chosen,
    COMPLEX: tl.constexpr, ALPHA_KIND: tl.constexpr, BETA_KIND: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """y := alpha (the sum of what `expected` programs have left) + beta y for the blocks `served`.

    Of all that are listed two are `chosen`, next to each other, and read together; none where
    nobody is expected.
    """
    count = of_two(expected, chosen)
    if tl.max(count, 0) > 0:
        WIDTH: tl.constexpr = 2 * BLOCK if COMPLEX else BLOCK
        STEP: tl.constexpr = max(1, 2048 // WIDTH)
        ways = tl.arange(0, STEP)[None, :, None]
        lanes = tl.arange(0, BLOCK)[None, None, :]
        offset = of_two(sums, chosen)[:, None, None] * WIDTH + ways * WIDTH + lanes
        re = tl.zeros((2, STEP, BLOCK), partial.dtype.element_ty)
        im = re
        for start in range(0, tl.max(count, 0), STEP):
            mask = ways < count[:, None, None] - start
            re += tl.load(partial + offset, mask=mask, other=0, cache_modifier=".cg")
            if COMPLEX:
                im += tl.load(partial + BLOCK + offset, mask=mask, other=0, cache_modifier=".cg")
            offset += STEP * WIDTH
        re = tl.sum(re, 1)
        if COMPLEX:
            im = tl.sum(im, 1)
        else:
            im = re
        rows = of_two(served, chosen).to(tl.int64)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
        mask = (rows < m) & (count > 0)[:, None]
        old_mask = mask & (tile.is_zero(beta) == 0)
        tile.update(
            y, rows * y_inc, mask, old_mask, alpha, beta, re, im, k, COMPLEX, ALPHA_KIND, BETA_KIND
        )


@triton.jit
def of_two(values, chosen):
    """Two neighbours of a vector, those that are chosen; 0 for one that is not."""
    lane = tl.arange(0, values.shape[0])
    picked = chosen[None, :] & (lane[None, :] % 2 == tl.arange(0, 2)[:, None])
    return tl.sum(tl.where(picked, values[None, :], 0), 1)


@triton.jit
def multiply_tile(
    p, q, a, x, i, top, w_re, w_im, col, m, n, reach, a_m, a_n, a_curve, x_inc,
    WHOLE: tl.constexpr, KIND: tl.constexpr, LOWER: tl.constexpr, BANDED: tl.constexpr,
    COMPLEX: tl.constexpr, CONJ_A: tl.constexpr, CONJ_X: tl.constexpr, CONJ_W: tl.constexpr,
    CURVED: tl.constexpr, UNIT: tl.constexpr, POLICY: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """(p, q) + A x elementwise for a tile's rows i, from `top` on, and op(A) w for its columns.

    `col` is the tile's place. It is read as reals, of complex elements both parts in turn; a WHOLE
    one without asking which elements are there.
    """
    PARTS: tl.constexpr = 2 if COMPLEX else 1
    TRIANGLE: tl.constexpr = KIND == "symmetric" or KIND == "hermitian" or KIND == "skew"
    right = (col + 1) * tl.full((), BLOCK, tl.int64)
    part = PARTS * (right - BLOCK) + tl.arange(0, PARTS * BLOCK).to(tl.int64)[None, :]
    j = part // PARTS
    offset = PARTS * tile.along(i, a_m, a_curve, CURVED) + matvec.spread(part, a_n, PARTS, UNIT)
    j_mask = None
    if not WHOLE:
        j_mask = j < n
    x_same = tile.load(x, matvec.spread(part, x_inc, PARTS, tile.is_unit(x_inc)), j_mask)
    x_other = x_same
    if COMPLEX:
        # Loaded again, the parts the other way round: to exchange registers would take barriers.
        x_other = tile.load(x, PARTS * j * x_inc + 1 - part % 2, j_mask)
        x_same, x_other = matvec.signed(x_same, x_other, part % 2 == 1, CONJ_A, CONJ_X)

    # A mask narrows loads, so tiles of which all elements are there are read without one.
    inside = WHOLE
    if not WHOLE:
        inside = (top + BLOCK <= m) & (right <= n)
        if TRIANGLE:
            inside &= top + BLOCK != right
        if BANDED:
            inside &= tl.abs(top + BLOCK - right) + BLOCK - 1 <= reach
    if inside:
        value = tile.load(a, offset, None, POLICY)
        p, q, s, t = add_products(p, q, value, x_same, x_other, w_re, w_im, None, None, COMPLEX)
    else:
        keep = (i < m) & (j < n)
        if BANDED:
            keep &= tl.abs(i - j) <= reach
        beside = keep
        if TRIANGLE:
            if LOWER:
                beside &= i > j
            else:
                beside &= i < j
            if KIND == "skew":
                keep = beside
            else:
                keep = beside | (keep & (i == j))
        value = tile.load(a, offset, keep, POLICY)
        if COMPLEX and KIND == "hermitian":
            value = tl.where((i == j) & (part % 2 == 1), 0, value)
        p, q, s, t = add_products(p, q, value, x_same, x_other, w_re, w_im, keep, beside, COMPLEX)
    CONJ_T: tl.constexpr = (KIND == "hermitian" or KIND == "adjoint") != CONJ_A
    s, t = matvec.combine(s, t, COMPLEX, CONJ_T, CONJ_W)
    if KIND == "skew":
        s = -s
        t = -t
    return p, q, s, t


@triton.jit
def add_products(p, q, value, x_same, x_other, w_re, w_im, keep, beside, COMPLEX: tl.constexpr):
    """(p, q) + a tile's products with x elementwise, and the sums of those with w down its columns.

    Only elements that are to be kept count for the rows, only those beside the diagonal of a
    triangle for the columns, all where None.
    """
    p += matvec.kept(value * x_same, keep)
    s = tl.sum(matvec.kept(value * w_re, beside), 0)
    if COMPLEX:
        q += matvec.kept(value * x_other, keep)
        t = tl.sum(matvec.kept(value * w_im, beside), 0)
    else:
        q = p
        t = s
    return p, q, s, t
