"""The matrix-vector product: y := (+-) alpha op(A) op(x) + beta y, for any strides."""

import triton
import triton.language as tl

from tileblas.kernels import tile


@triton.jit
def gemv_kernel(
    a, x, y, partial, arrived, alpha, alpha_im, beta, beta_im, m, n, a_m, a_n, x_inc, y_inc,
    inner, a_b0, a_b1, x_b0, x_b1, y_b0, y_b1, row_blocks, splits,
    COMPLEX: tl.constexpr, CONJ_A: tl.constexpr, CONJ_X: tl.constexpr,
    NEGATE: tl.constexpr, CONJ_SCALARS: tl.constexpr,
    ALPHA_KIND: tl.constexpr, BETA_KIND: tl.constexpr,
    BATCHED: tl.constexpr, SPLIT: tl.constexpr,
    BY_COLUMNS: tl.constexpr, UNIT: tl.constexpr, POLICY: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, STAGES: tl.constexpr, UNROLL: tl.constexpr,
):  # fmt: skip
    """y := (+-) alpha op(A) op(x) + beta y, for each batch member.

    BY_COLUMNS says that A lies by columns, else by rows, UNIT that elements are neighbours there,
    POLICY how long L2 should keep them. A complex A is read as reals, two for each element.
    `splits` programs, more than one where SPLIT, share BLOCK_M rows of a batch member: each sums
    over every splits-th block of columns, and the last one to arrive adds the partial sums in a
    fixed order, whatever the order of arrival. UNROLL blocks are on their way at a time. BATCHED
    says that there is more than one member. With alpha = 0 or n = 0 the product is dropped and A
    and x are not read; with beta = 0, y is not read.
    """
    group, split = tile.position(tl.program_id(0), splits, True, SPLIT)
    batch, row_block = tile.position(group, row_blocks, BATCHED, True)
    row = row_block.to(tl.int64) * BLOCK_M
    a = tile.batch_base(a, batch, inner, a_b0, a_b1, COMPLEX)
    x = tile.batch_base(x, batch, inner, x_b0, x_b1, COMPLEX)
    y = tile.batch_base(y, batch, inner, y_b0, y_b1, COMPLEX)
    a = tile.advance(a, row * a_m, COMPLEX)
    y = tile.advance(y, row * y_inc, COMPLEX)
    m -= row

    COMPUTE: tl.constexpr = tile.compute_type(a.dtype)
    alpha = tile.load_scalar(alpha, alpha_im, COMPUTE, ALPHA_KIND)
    beta = tile.load_scalar(beta, beta_im, COMPUTE, BETA_KIND)
    n = tl.where(tile.is_zero(alpha), 0, n)
    if (n == 0) & tile.is_one(beta):
        return  # y stays as it is, bit for bit
    alpha = tile.orient(alpha, NEGATE, CONJ_SCALARS)
    beta = tile.orient(beta, False, CONJ_SCALARS)

    re, im = multiply_rows(
        a, x, m, n, a_m, a_n, x_inc, split, splits,
        COMPLEX, CONJ_A, CONJ_X, BY_COLUMNS, UNIT, POLICY, SPLIT, BLOCK_M, BLOCK_N, STAGES,
        UNROLL,
    )  # fmt: skip
    if not SPLIT:
        update_rows(y, y_inc, m, n, alpha, beta, re, im, COMPLEX, ALPHA_KIND, BETA_KIND)
    else:
        partial = tile.advance(partial, group.to(tl.int64) * splits * BLOCK_M, COMPLEX)
        store_partial(partial, split, re, im, COMPLEX)
        if tile.arrives_last(arrived + group, splits):
            re, im = sum_partials(partial, splits, COMPLEX, BLOCK_M)
            update_rows(y, y_inc, m, n, alpha, beta, re, im, COMPLEX, ALPHA_KIND, BETA_KIND)
            tl.store(arrived + group, 0)


@triton.jit
def multiply_rows(
    a, x, m, n, a_m, a_n, x_inc, split, splits,
    COMPLEX: tl.constexpr, CONJ_A: tl.constexpr, CONJ_X: tl.constexpr,
    BY_COLUMNS: tl.constexpr, UNIT: tl.constexpr, POLICY: tl.constexpr,
    SPLIT: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, STAGES: tl.constexpr,
    UNROLL: tl.constexpr,
):  # fmt: skip
    """op(A) op(x) for BLOCK_M rows over this split's blocks of columns as (re, im).

    Rows from m on, which do not exist, hold no sum that means anything. im is re for real operands.
    """
    PARTS: tl.constexpr = 2 if COMPLEX else 1
    if BY_COLUMNS:
        rows = tl.arange(0, PARTS * BLOCK_M).to(tl.int64)[:, None]
        offset = spread(rows, a_m, PARTS, UNIT)
        # A mask narrows loads down the columns, so blocks that lie inside A run without one.
        if m >= BLOCK_M:
            p, q = sum_columns(
                a, offset, None, x, n, a_n, x_inc, split, splits,
                COMPLEX, POLICY, SPLIT, BLOCK_M, BLOCK_N, STAGES, UNROLL,
            )  # fmt: skip
        else:
            p, q = sum_columns(
                a, offset, rows < PARTS * m, x, n, a_n, x_inc, split, splits,
                COMPLEX, POLICY, SPLIT, BLOCK_M, BLOCK_N, STAGES, UNROLL,
            )  # fmt: skip
        return combine(p, q, COMPLEX, CONJ_A, CONJ_X)
    else:
        # Rows beyond the last are the last one again: no mask narrows loads along the rows.
        rows = tl.minimum(tl.arange(0, BLOCK_M).to(tl.int64)[:, None], m - 1)
        return sum_rows(
            a, PARTS * rows * a_m, x, n, a_n, x_inc, split, splits,
            COMPLEX, CONJ_A, CONJ_X, UNIT, POLICY, SPLIT, BLOCK_M, BLOCK_N, STAGES, UNROLL,
        )  # fmt: skip


@triton.jit
def spread(part, stride, PARTS: tl.constexpr, UNIT: tl.constexpr):
    """Offsets, in reals, of the parts of elements `stride` apart, which come in turn.

    For a UNIT stride they are the numbers themselves, so that loads are wide.
    """
    if UNIT:
        return part
    else:
        return part // PARTS * (PARTS * stride) + part % PARTS


@triton.jit
def sum_columns(
    a, a_rows, row_mask, x, n, a_n, x_inc, split, splits,
    COMPLEX: tl.constexpr, POLICY: tl.constexpr,
    SPLIT: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, STAGES: tl.constexpr,
    UNROLL: tl.constexpr,
):  # fmt: skip
    """(A x_re, A x_im) over blocks split, split + splits, ... of [0, n), the parts of A in turn.

    A has real rows, twice as many where it is complex; real operands give (A x, A x). Only the last
    block can be short, and only that one is masked along the columns. The products are added up in
    a tile, which is summed along its rows once, at the end.
    """
    PARTS: tl.constexpr = 2 if COMPLEX else 1
    cols = tl.arange(0, BLOCK_N).to(tl.int64)[None, :]
    width = tl.full((), BLOCK_N, tl.int64)
    p = tl.zeros((PARTS * BLOCK_M, BLOCK_N), tile.compute_type(a.dtype))
    q = p
    whole = (n // BLOCK_N).to(tl.int32)
    for block in tl.range(split, whole, splits, num_stages=STAGES, loop_unroll_factor=UNROLL):
        j = block * width + cols
        p, q = add_columns(
            p, q, a, a_rows, row_mask, x, j, None, a_n, 0, x_inc, None, COMPLEX, False, POLICY
        )
    if tile.has_last(whole, split, splits, SPLIT) & (n % BLOCK_N != 0):
        j = whole * width + cols
        x_mask = j < n
        a_mask = x_mask
        if row_mask is not None:
            a_mask &= row_mask
        p, q = add_columns(
            p, q, a, a_rows, a_mask, x, j, x_mask, a_n, 0, x_inc, None, COMPLEX, False, POLICY
        )
    p = tl.sum(p, 1)
    if COMPLEX:
        q = tl.sum(q, 1)
    else:
        q = p
    return p, q


@triton.jit
def add_columns(
    p, q, a, a_rows, a_mask, x, j, x_mask, a_n, a_curve, x_inc, keep,
    COMPLEX: tl.constexpr, CURVED: tl.constexpr, POLICY: tl.constexpr,
):  # fmt: skip
    """(p, q) + A (x_re, x_im), elementwise, for a tile of A and x at the columns j.

    Only products that are to be kept count, all where `keep` is None: an element of A that is not
    there is 0, and 0 times Inf would be NaN.
    """
    # x is loaded first: where registers have to be exchanged between threads, Triton then takes
    # those of x and not those of A.
    PARTS: tl.constexpr = 2 if COMPLEX else 1
    x_re = tile.load(x, PARTS * j * x_inc, x_mask).to(p.dtype)
    if COMPLEX:
        x_im = tile.load(x, PARTS * j * x_inc + 1, x_mask).to(p.dtype)
    if CURVED:
        offset = a_rows + PARTS * tile.along(j, a_n, a_curve, True)
    else:
        offset = a_rows + PARTS * j * a_n
    value = tile.load(a, offset, a_mask, POLICY).to(p.dtype)
    p = p + kept(value * x_re, keep)
    if COMPLEX:
        q = q + kept(value * x_im, keep)
    else:
        q = p
    return p, q


@triton.jit
def kept(product, keep):
    """A tile of products, 0 where they are not to be kept."""
    if keep is not None:
        product = tl.where(keep, product, 0)
    return product


@triton.jit
def combine(p, q, COMPLEX: tl.constexpr, CONJ_A: tl.constexpr, CONJ_X: tl.constexpr):
    """op(A) op(x) as (re, im) from p = A x_re and q = A x_im, parts in turn; real: (p, p)."""
    if COMPLEX:
        p_re, p_im = tl.split(tl.reshape(p, (p.shape[0] // 2, 2)))
        q_re, q_im = tl.split(tl.reshape(q, (q.shape[0] // 2, 2)))
        if CONJ_X:
            q_re, q_im = -q_re, -q_im
        if CONJ_A:
            p_im, q_im = -p_im, -q_im
        return p_re - q_im, p_im + q_re
    else:
        return p, p


@triton.jit
def sum_rows(
    a, a_rows, x, n, a_n, x_inc, split, splits,
    COMPLEX: tl.constexpr, CONJ_A: tl.constexpr, CONJ_X: tl.constexpr,
    UNIT: tl.constexpr, POLICY: tl.constexpr,
    SPLIT: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, STAGES: tl.constexpr,
    UNROLL: tl.constexpr,
):  # fmt: skip
    """op(A) op(x) over blocks split, split + splits, ... of [0, n), as (re, im).

    Complex rows are read as reals, whose parts come in turn: re sums A times (x_re, -x_im) in turn,
    im sums A times (x_im, x_re). The short last block is masked; the tile is summed once.
    """
    PARTS: tl.constexpr = 2 if COMPLEX else 1
    cols = tl.arange(0, PARTS * BLOCK_N).to(tl.int64)[None, :]
    width = tl.full((), PARTS * BLOCK_N, tl.int64)
    re = tl.zeros((BLOCK_M, PARTS * BLOCK_N), tile.compute_type(a.dtype))
    im = re
    whole = (n // BLOCK_N).to(tl.int32)
    for block in tl.range(split, whole, splits, num_stages=STAGES, loop_unroll_factor=UNROLL):
        j = block * width + cols
        re, im = add_rows(
            re, im, a, a_rows, x, j, None, None, a_n, x_inc, COMPLEX, CONJ_A, CONJ_X, UNIT, POLICY
        )
    if tile.has_last(whole, split, splits, SPLIT) & (n % BLOCK_N != 0):
        j = whole * width + cols
        re, im = add_rows(
            re, im, a, a_rows, x, j, j < PARTS * n, None, a_n, x_inc,
            COMPLEX, CONJ_A, CONJ_X, UNIT, POLICY,
        )  # fmt: skip
    re = tl.sum(re, 1)
    if COMPLEX:
        im = tl.sum(im, 1)
    else:
        im = re
    return re, im


@triton.jit
def add_rows(
    re, im, a, a_rows, x, j, mask, keep, a_n, x_inc,
    COMPLEX: tl.constexpr, CONJ_A: tl.constexpr, CONJ_X: tl.constexpr,
    UNIT: tl.constexpr, POLICY: tl.constexpr,
):  # fmt: skip
    """(re, im) + op(A) op(x), elementwise, for a tile of A and x at the parts j of their rows.

    `mask` says which x there are, `keep` which elements of A; None says all of them.
    """
    PARTS: tl.constexpr = 2 if COMPLEX else 1
    # x before A, as in add_columns.
    x_same = tile.load(x, spread(j, x_inc, PARTS, tile.is_unit(x_inc)), mask).to(re.dtype)
    if COMPLEX:
        # The parts change places in registers: to load them would take as many loads as A.
        x_re, x_im = tl.split(tl.reshape(x_same, (1, x_same.shape[1] // 2, 2)))
        x_other = tl.reshape(tl.join(x_im, x_re), x_same.shape)
        x_same, x_other = signed(x_same, x_other, j % 2 == 1, CONJ_A, CONJ_X)
    a_mask = mask
    if keep is not None:
        a_mask = keep
    value = load_rows(a, a_rows + spread(j, a_n, PARTS, UNIT), a_mask, UNIT, POLICY).to(re.dtype)
    re = re + kept(value * x_same, keep)
    if COMPLEX:
        im = im + kept(value * x_other, keep)
    else:
        im = re
    return re, im


@triton.jit
def signed(x_same, x_other, odd, CONJ_A: tl.constexpr, CONJ_X: tl.constexpr):
    """(x_re, x_im) and (x_im, x_re), in turn, with the signs that the parts of A meet in a product:
    a_re x_re - a_im x_im and a_re x_im + a_im x_re without conjugation."""
    if CONJ_A == CONJ_X:
        x_same = tl.where(odd, -x_same, x_same)
    if CONJ_X:
        x_other = tl.where(odd, x_other, -x_other)
    if CONJ_A:
        x_other = tl.where(odd, -x_other, x_other)
    return x_same, x_other


@triton.jit
def load_rows(a, offset, mask, UNIT: tl.constexpr, POLICY: tl.constexpr):
    """A tile of A that lies by rows."""
    if UNIT:
        return tile.load(a, offset, mask, POLICY)
    else:
        # Where Triton sees no contiguity, threads follow each other along the first axis of a tile:
        # so this one is loaded transposed.
        if mask is not None:
            mask = tl.trans(tl.broadcast_to(mask, offset.shape))
        return tl.trans(tile.load(a, tl.trans(offset), mask, POLICY))


@triton.jit
def store_partial(partial, split, re, im, COMPLEX: tl.constexpr):
    """Leave the sums of this split for the last program: all of re, then all of im."""
    BLOCK_M: tl.constexpr = re.shape[0]
    lanes = tl.arange(0, BLOCK_M)
    partial = tile.advance(partial, split * BLOCK_M, COMPLEX)
    tl.store(partial + lanes, re)
    if COMPLEX:
        tl.store(partial + BLOCK_M + lanes, im)


@triton.jit
def sum_partials(partial, splits, COMPLEX: tl.constexpr, BLOCK_M: tl.constexpr):
    """The sum over the splits for each row, read from L2, where the other programs left them."""
    WIDTH: tl.constexpr = 2 * BLOCK_M if COMPLEX else BLOCK_M
    STEP: tl.constexpr = max(1, 4096 // WIDTH)
    ways = tl.arange(0, STEP)[:, None]
    lanes = tl.arange(0, BLOCK_M)[None, :]
    offset = ways * WIDTH + lanes
    re = tl.zeros((STEP, BLOCK_M), partial.dtype.element_ty)
    im = re
    for start in range(0, splits, STEP):
        mask = ways < splits - start
        re += tl.load(partial + offset, mask=mask, other=0, cache_modifier=".cg")
        if COMPLEX:
            im += tl.load(partial + BLOCK_M + offset, mask=mask, other=0, cache_modifier=".cg")
        partial += STEP * WIDTH
    re = tl.sum(re, 0)
    if COMPLEX:
        im = tl.sum(im, 0)
    else:
        im = re
    return re, im


@triton.jit
def update_rows(
    y, y_inc, m, n, alpha, beta, re, im,
    COMPLEX: tl.constexpr, ALPHA_KIND: tl.constexpr, BETA_KIND: tl.constexpr,
):  # fmt: skip
    """y := alpha (re, im) + beta y on the rows of one block, of which m are left in y."""
    rows = tl.arange(0, re.shape[0]).to(tl.int64)
    old_mask = rows < tl.where(tile.is_zero(beta), 0, m)
    tile.update(
        y, rows * y_inc, rows < m, old_mask, alpha, beta, re, im, n,
        COMPLEX, ALPHA_KIND, BETA_KIND,
    )  # fmt: skip
