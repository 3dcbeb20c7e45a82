"""Updates of a matrix by vectors: A := alpha x op(y) + A, and both ways for a triangle."""

import triton
import triton.language as tl

from tileblas.kernels import matvec, tile


@triton.jit
def rank_kernel(
    x, y, a, alpha, alpha_im, m, n, x_inc, y_inc, a_m, a_n, a_curve,
    inner, x_b0, x_b1, y_b0, y_b1, a_b0, a_b1, down, across, tiles,
    KIND: tl.constexpr, RANK: tl.constexpr, LOWER: tl.constexpr, FRESH: tl.constexpr,
    COMPLEX: tl.constexpr, CONJ_X: tl.constexpr, CONJ_Y: tl.constexpr,
    NEGATE: tl.constexpr, CONJ_SCALARS: tl.constexpr, ALPHA_KIND: tl.constexpr,
    BATCHED: tl.constexpr, CURVED: tl.constexpr, UNIT: tl.constexpr, POLICY: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """A := (+-) alpha op(x) op(y)^T + A for each batch member, one tile of A a program.

    The KINDs "symmetric", "hermitian" and "skew" update one triangle, LOWER or not. For those of
    RANK 1 y is x, to be conjugated for "hermitian". RANK 2 adds the same with x and y exchanged,
    times conj(alpha) for "hermitian"; for "skew" the first term is subtracted.
    A FRESH A has no old value: it becomes the product, and 0 in the other triangle.
    """
    TRIANGLE: tl.constexpr = KIND != "general"
    batch, index = tile.position(tl.program_id(0), tiles, BATCHED, True)
    row, col = find_tile(index, down, across, TRIANGLE and not FRESH, LOWER)
    COMPUTE: tl.constexpr = tile.compute_type(a.dtype)
    alpha = tile.load_scalar(alpha, alpha_im, COMPUTE, ALPHA_KIND)
    idle = tile.is_zero(alpha)
    if not FRESH:  # noqa: SIM102 - a compile-time condition around one of run time
        if idle:
            return
    alpha = tile.orient(alpha, NEGATE, CONJ_SCALARS)

    x = tile.batch_base(x, batch, inner, x_b0, x_b1, COMPLEX)
    y = tile.batch_base(y, batch, inner, y_b0, y_b1, COMPLEX)
    a = tile.batch_base(a, batch, inner, a_b0, a_b1, COMPLEX)
    PARTS: tl.constexpr = 2 if COMPLEX else 1
    i = row.to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    j = col.to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    part = col.to(tl.int64) * (PARTS * BLOCK_N) + tl.arange(0, PARTS * BLOCK_N)[None, :]
    i_mask = i < tl.where(idle, 0, m)
    j_mask = j < tl.where(idle, 0, n)
    value = outer(
        alpha, x, i * x_inc, i_mask, y, j * y_inc, j_mask, KIND == "skew",
        COMPLEX, CONJ_X, CONJ_Y, ALPHA_KIND,
    )  # fmt: skip
    if RANK == 2:
        if KIND == "hermitian":
            alpha = tile.orient(alpha, False, True)
        # In the second term the roles of x and y, and so what is conjugated, change.
        HERMITIAN: tl.constexpr = KIND == "hermitian"
        value += outer(
            alpha, y, i * y_inc, i_mask, x, j * x_inc, j_mask, False,
            COMPLEX, CONJ_Y != HERMITIAN, CONJ_X != HERMITIAN, ALPHA_KIND,
        )  # fmt: skip

    offset = PARTS * tile.along(i[:, None], a_m, a_curve, CURVED)
    offset += matvec.spread(part, a_n, PARTS, UNIT)
    i = i[:, None]
    if TRIANGLE and FRESH:
        update_edge(a, offset, value, i, part, m, n, KIND, LOWER, FRESH, COMPLEX, CURVED, POLICY)
    else:
        # A mask narrows loads and stores, so only tiles at an edge have one.
        whole = (row + 1).to(tl.int64) * BLOCK_M <= m
        whole &= (col + 1).to(tl.int64) * BLOCK_N <= n
        if TRIANGLE:
            whole &= row != col
        if whole:
            if not FRESH:
                value += tile.load(a, offset, None, POLICY)
            tile.store(a, offset, value)
        else:
            update_edge(
                a, offset, value, i, part, m, n, KIND, LOWER, FRESH, COMPLEX, CURVED, POLICY
            )


@triton.jit
def update_edge(
    a, offset, value, i, part, m, n,
    KIND: tl.constexpr, LOWER: tl.constexpr, FRESH: tl.constexpr, COMPLEX: tl.constexpr,
    CURVED: tl.constexpr, POLICY: tl.constexpr,
):  # fmt: skip
    """A := value + A for a tile of which not all elements are there, or are to be updated."""
    PARTS: tl.constexpr = 2 if COMPLEX else 1
    j = part // PARTS
    there = (i < m) & (j < n)
    keep = there
    if KIND != "general":
        if KIND == "skew":
            keep &= i != j
        if LOWER:
            keep &= i >= j
        else:
            keep &= i <= j
    if FRESH:
        value = tl.where(keep, value, 0)
        if not CURVED:
            keep = there  # the other triangle becomes 0; a packed one has no other
    else:
        value += tile.load(a, offset, keep, POLICY)
    if COMPLEX and KIND == "hermitian":
        value = tl.where((i == j) & (part % 2 == 1), 0, value)
    tile.store(a, offset, value, keep)


@triton.jit
def find_tile(index, down, across, TRIANGLE: tl.constexpr, LOWER: tl.constexpr):
    """(row, column) of a tile by its number, in blocks, among those of a matrix or a triangle."""
    if TRIANGLE:
        # Rows r and down - 1 - r of a triangle have down + 1 tiles together.
        pair = index // (down + 1)
        number = index % (down + 1)
        first = number <= pair
        high = tl.where(first, pair, down - 1 - pair)
        low = tl.where(first, number, number - pair - 1)
        if LOWER:
            return high, low
        else:
            return low, high
    else:
        return index // across, index % across


@triton.jit
def outer(
    alpha, x, x_offset, x_mask, y, y_offset, y_mask, MINUS: tl.constexpr,
    COMPLEX: tl.constexpr, CONJ_X: tl.constexpr, CONJ_Y: tl.constexpr, ALPHA_KIND: tl.constexpr,
):  # fmt: skip
    """(+-) op(x) (alpha op(y))^T as a tile of reals, of complex elements both parts in turn."""
    COMPUTE: tl.constexpr = tile.compute_type(x.dtype)
    if COMPLEX:
        x_re, x_im = tile.load_pair(x, x_offset, x_mask)
        y_re, y_im = tile.load_pair(y, y_offset, y_mask)
        if CONJ_X:
            x_im = -x_im
        if CONJ_Y:
            y_im = -y_im
        y_re, y_im = tile.scale_pair(alpha, y_re, y_im, ALPHA_KIND)
        PARTS: tl.constexpr = 2 * y_re.shape[0]
        y_same = tl.reshape(tl.join(y_re, y_im), (1, PARTS))
        y_other = tl.reshape(tl.join(-y_im, y_re), (1, PARTS))
        value = x_re[:, None] * y_same + x_im[:, None] * y_other
    else:
        y_re = tile.scale(alpha, tile.load(y, y_offset, y_mask).to(COMPUTE))
        value = tile.load(x, x_offset, x_mask).to(COMPUTE)[:, None] * y_re[None, :]
    if MINUS:
        value = -value
    return value
