"""A matrix times a vector and its transpose times another, in one pass over it: symv, gemvt."""

import triton
import triton.language as tl

from tileblas.kernels import matvec, tile


@triton.jit
def mirrored_kernel(
    a, x, w, y, z, partial, arrived, alpha, alpha_im, beta, beta_im,
    m, n, reach, a_m, a_n, a_curve, x_inc, w_inc, y_inc, z_inc,
    inner, a_b0, a_b1, x_b0, x_b1, w_b0, w_b1, y_b0, y_b1, z_b0, z_b1,
    down, across, near, tiles,
    KIND: tl.constexpr, LOWER: tl.constexpr, BANDED: tl.constexpr,
    COMPLEX: tl.constexpr, CONJ_A: tl.constexpr, CONJ_X: tl.constexpr, CONJ_W: tl.constexpr,
    NEGATE: tl.constexpr, CONJ_SCALARS: tl.constexpr,
    ALPHA_KIND: tl.constexpr, BETA_KIND: tl.constexpr,
    BATCHED: tl.constexpr, CURVED: tl.constexpr, UNIT: tl.constexpr, POLICY: tl.constexpr,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """y := (+-) alpha A op(x) + beta y, z := (+-) alpha op(A) op(w) + beta z, one tile a program.

    op(A) is A^T, or A^H for the KINDs "adjoint" and "hermitian". Of the kinds "symmetric",
    "hermitian" and "skew" A is one triangle, x is w and y is z: tiles beside the diagonal serve
    both their rows and, mirrored, their columns. A tile's two products go to the workspace, and the
    last program to serve a block of y or z adds up what all have left for it, in a fixed order.
    Blocks of rows number `down`, those of columns `across`; a band has only those tiles whose
    numbers differ by less than `near`.
    """
    TRIANGLE: tl.constexpr = KIND == "symmetric" or KIND == "hermitian" or KIND == "skew"
    batch, index = tile.position(tl.program_id(0), tiles, BATCHED, True)
    row, col = find_tile(index, down, across, near, TRIANGLE, LOWER, BANDED)
    if (row >= down) | (col >= across):
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

    re, im, t_re, t_im = multiply_tile(
        a, x, w, row, col, m, k, reach, a_m, a_n, a_curve, x_inc, w_inc,
        KIND, LOWER, BANDED, COMPLEX, CONJ_A, CONJ_X, CONJ_W, CURVED, UNIT, POLICY, BLOCK,
    )  # fmt: skip

    WIDTH: tl.constexpr = 2 * BLOCK if COMPLEX else BLOCK
    if TRIANGLE:
        # Block b of y gets what the tiles (b, ...) and (..., b) leave, by the number of the other.
        slots = tl.minimum(2 * near - 1, down)
        partial += batch.to(tl.int64) * down * slots * WIDTH
        arrived += batch * down
        row_first, row_count = neighbours(row, near, down)
        col_first, col_count = neighbours(col, near, down)
        row_sums = partial + row.to(tl.int64) * slots * WIDTH
        col_sums = partial + col.to(tl.int64) * slots * WIDTH
        row_counter = arrived + row
        col_counter = arrived + col
        if row == col:
            re, im = add_pair(re, im, t_re, t_im, COMPLEX)
    else:
        partial += batch.to(tl.int64) * 2 * down * across * WIDTH
        arrived += batch * (down + across)
        row_first, row_count = 0, across
        col_first, col_count = 0, down
        row_sums = partial + row.to(tl.int64) * across * WIDTH
        col_sums = partial + (down * across + col * down).to(tl.int64) * WIDTH
        row_counter = arrived + row
        col_counter = arrived + down + col
    matvec.store_partial(row_sums, col - row_first, re, im, COMPLEX)
    both = True
    if TRIANGLE:
        both = row != col
    if both:
        matvec.store_partial(col_sums, row - col_first, t_re, t_im, COMPLEX)
    if tile.arrives_last(row_counter, row_count):
        finish(
            y, row, y_inc, m, k, alpha, beta, row_sums, row_count, row_counter,
            COMPLEX, ALPHA_KIND, BETA_KIND, BLOCK,
        )  # fmt: skip
    if both:  # noqa: SIM102 - a compile-time condition where A is no triangle
        if tile.arrives_last(col_counter, col_count):
            finish(
                z, col, z_inc, n, k, alpha, beta, col_sums, col_count, col_counter,
                COMPLEX, ALPHA_KIND, BETA_KIND, BLOCK,
            )  # fmt: skip


@triton.jit
def find_tile(
    index, down, across, near,
    TRIANGLE: tl.constexpr, LOWER: tl.constexpr, BANDED: tl.constexpr,
):  # fmt: skip
    """(row, column) of a tile by its number, in blocks; beyond the last one where there is none."""
    if not TRIANGLE:
        return index // across, index % across
    else:
        if BANDED:
            low = index // near
            high = low + index % near
        else:
            # Rows r and down - 1 - r of a triangle have down + 1 tiles together.
            pair = index // (down + 1)
            place = index % (down + 1)
            first = place <= pair
            high = tl.where(first, pair, down - 1 - pair)
            low = tl.where(first, place, place - pair - 1)
        if LOWER:
            return high, low
        else:
            return low, high


@triton.jit
def neighbours(block, near, blocks):
    """The first of the blocks that share a tile with `block`, and how many there are."""
    first = tl.maximum(block - near + 1, 0)
    return first, tl.minimum(block + near, blocks) - first


@triton.jit
def add_pair(re, im, t_re, t_im, COMPLEX: tl.constexpr):
    """The two products of a tile on the diagonal, which serve the same rows, as one."""
    if COMPLEX:
        return re + t_re, im + t_im
    else:
        value = re + t_re
        return value, value


@triton.jit
def finish(
    y, block, y_inc, m, k, alpha, beta, sums, count, counter,
    COMPLEX: tl.constexpr, ALPHA_KIND: tl.constexpr, BETA_KIND: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """y := alpha (the sum of what `count` programs have left) + beta y for one block of y."""
    re, im = matvec.sum_partials(sums, count, COMPLEX, BLOCK)
    start = block.to(tl.int64) * BLOCK
    y = tile.advance(y, start * y_inc, COMPLEX)
    matvec.update_rows(y, y_inc, m - start, k, alpha, beta, re, im, COMPLEX, ALPHA_KIND, BETA_KIND)
    tl.store(counter, 0)


@triton.jit
def multiply_tile(
    a, x, w, row, col, m, n, reach, a_m, a_n, a_curve, x_inc, w_inc,
    KIND: tl.constexpr, LOWER: tl.constexpr, BANDED: tl.constexpr,
    COMPLEX: tl.constexpr, CONJ_A: tl.constexpr, CONJ_X: tl.constexpr, CONJ_W: tl.constexpr,
    CURVED: tl.constexpr, UNIT: tl.constexpr, POLICY: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """A x for the rows of a tile and op(A) w for its columns: (re, im) of both.

    The tile is read as reals, of complex elements both parts in turn.
    """
    PARTS: tl.constexpr = 2 if COMPLEX else 1
    TRIANGLE: tl.constexpr = KIND == "symmetric" or KIND == "hermitian" or KIND == "skew"
    i = row.to(tl.int64) * BLOCK + tl.arange(0, BLOCK).to(tl.int64)[:, None]
    part = col.to(tl.int64) * (PARTS * BLOCK) + tl.arange(0, PARTS * BLOCK).to(tl.int64)[None, :]
    j = part // PARTS
    offset = PARTS * tile.along(i, a_m, a_curve, CURVED) + matvec.spread(part, a_n, PARTS, UNIT)
    # Vectors come before the tile: see `matvec.add_columns`.
    w_re = tile.load(w, PARTS * i * w_inc, i < tl.where(n > 0, m, 0))
    w_im = w_re
    if COMPLEX:
        w_im = tile.load(w, PARTS * i * w_inc + 1, i < tl.where(n > 0, m, 0))
    x_same = tile.load(x, matvec.spread(part, x_inc, PARTS, tile.is_unit(x_inc)), j < n)
    x_other = x_same
    if COMPLEX:
        x_re, x_im = tl.split(tl.reshape(x_same, (1, BLOCK, 2)))
        x_other = tl.reshape(tl.join(x_im, x_re), x_same.shape)
        x_same, x_other = matvec.signed(x_same, x_other, part % 2 == 1, CONJ_A, CONJ_X)

    corner = (row + 1).to(tl.int64) * BLOCK, (col + 1).to(tl.int64) * BLOCK
    inside = (corner[0] <= m) & (corner[1] <= n)
    if TRIANGLE:
        inside &= row != col
    if BANDED:
        inside &= tl.abs(row - col).to(tl.int64) * BLOCK + BLOCK - 1 <= reach
    if inside:
        value = tile.load(a, offset, None, POLICY)
        p, q, s, t = products(value, x_same, x_other, w_re, w_im, None, None, COMPLEX)
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
        p, q, s, t = products(value, x_same, x_other, w_re, w_im, keep, beside, COMPLEX)
    CONJ_T: tl.constexpr = (KIND == "hermitian" or KIND == "adjoint") != CONJ_A
    s, t = matvec.combine(s, t, COMPLEX, CONJ_T, CONJ_W)
    if KIND == "skew":
        s = -s
        t = -t
    return p, q, s, t


@triton.jit
def products(value, x_same, x_other, w_re, w_im, keep, beside, COMPLEX: tl.constexpr):
    """Sums of a tile's products with x along its rows and with w down its columns.

    Only elements that are to be kept count for the rows, only those beside the diagonal of a
    triangle for the columns, all where None.
    """
    p = tl.sum(matvec.kept(value * x_same, keep), 1)
    s = tl.sum(matvec.kept(value * w_re, beside), 0)
    if COMPLEX:
        q = tl.sum(matvec.kept(value * x_other, keep), 1)
        t = tl.sum(matvec.kept(value * w_im, beside), 0)
    else:
        q = p
        t = s
    return p, q, s, t
