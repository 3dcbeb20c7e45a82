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
    ALPHA_KIND: tl.constexpr, BETA_KIND: tl.constexpr, BY_COLUMNS: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """y := (+-) alpha op(A) op(x) + beta y, for each batch member.

    BY_COLUMNS says that A lies by columns, else by rows. `splits` programs share BLOCK_M rows of a
    batch member: each sums over every splits-th block of columns, and the last one to arrive adds
    the partial sums in a fixed order, whatever the order of arrival. With alpha = 0 or n = 0 the
    product is dropped and A and x are not read; with beta = 0, y is not read.
    """
    group = tl.program_id(0) // splits
    split = tl.program_id(0) % splits
    batch = group // row_blocks
    row = (group % row_blocks).to(tl.int64) * BLOCK_M
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
        COMPLEX, CONJ_A, CONJ_X, BY_COLUMNS, BLOCK_M, BLOCK_N,
    )  # fmt: skip
    if splits == 1:
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
    COMPLEX: tl.constexpr, CONJ_A: tl.constexpr, CONJ_X: tl.constexpr, BY_COLUMNS: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """op(A) op(x) for BLOCK_M rows over this split's blocks of columns as (re, im).

    Rows from m on, which do not exist, hold no sum that means anything. im is re for real operands.
    """
    rows = tl.arange(0, BLOCK_M).to(tl.int64)[:, None]
    if BY_COLUMNS:
        # A mask narrows loads down the columns, so blocks that lie inside A run without one.
        if m >= BLOCK_M:
            re, im = sum_products(
                a, rows * a_m, None, x, n, a_n, x_inc, split, splits,
                COMPLEX, CONJ_A, CONJ_X, BY_COLUMNS, BLOCK_M, BLOCK_N,
            )  # fmt: skip
        else:
            re, im = sum_products(
                a, rows * a_m, rows < m, x, n, a_n, x_inc, split, splits,
                COMPLEX, CONJ_A, CONJ_X, BY_COLUMNS, BLOCK_M, BLOCK_N,
            )  # fmt: skip
    else:
        # Rows beyond the last are the last one again: no mask narrows loads along the rows.
        re, im = sum_products(
            a, tl.minimum(rows, m - 1) * a_m, None, x, n, a_n, x_inc, split, splits,
            COMPLEX, CONJ_A, CONJ_X, BY_COLUMNS, BLOCK_M, BLOCK_N,
        )  # fmt: skip
    return re, im


@triton.jit
def sum_products(
    a, a_rows, row_mask, x, n, a_n, x_inc, split, splits,
    COMPLEX: tl.constexpr, CONJ_A: tl.constexpr, CONJ_X: tl.constexpr, BY_COLUMNS: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """op(A) op(x) over blocks split, split + splits, ... of [0, n), as (re, im).

    Only the last block can be short, and only that one is masked along the columns. The products
    are added up in a tile, which is summed along its rows once, at the end.
    """
    cols = tl.arange(0, BLOCK_N).to(tl.int64)[None, :]
    a_offset = a_rows + cols * a_n
    x_offset = cols * x_inc
    first = split.to(tl.int64) * BLOCK_N
    step = splits.to(tl.int64) * BLOCK_N
    a = tile.advance(a, first * a_n, COMPLEX)
    x = tile.advance(x, first * x_inc, COMPLEX)
    re = tl.zeros((BLOCK_M, BLOCK_N), tile.compute_type(a.dtype))
    im = re
    whole = (n // BLOCK_N).to(tl.int32)
    for _ in range(split, whole, splits):
        re, im = add_products(
            re, im, a, a_offset, row_mask, x, x_offset, None, COMPLEX, CONJ_A, CONJ_X, BY_COLUMNS
        )
        a = tile.advance(a, step * a_n, COMPLEX)
        x = tile.advance(x, step * x_inc, COMPLEX)
    if (whole % splits == split) & (n % BLOCK_N != 0):
        x_mask = cols < n % BLOCK_N
        a_mask = x_mask
        if row_mask is not None:
            a_mask &= row_mask
        re, im = add_products(
            re, im, a, a_offset, a_mask, x, x_offset, x_mask, COMPLEX, CONJ_A, CONJ_X, BY_COLUMNS
        )
    re = tl.sum(re, 1)
    if COMPLEX:
        im = tl.sum(im, 1)
    else:
        im = re
    return re, im


@triton.jit
def add_products(
    re, im, a, a_offset, a_mask, x, x_offset, x_mask,
    COMPLEX: tl.constexpr, CONJ_A: tl.constexpr, CONJ_X: tl.constexpr, BY_COLUMNS: tl.constexpr,
):  # fmt: skip
    """(re, im) + op(A) op(x), elementwise, for a tile of A and x along its columns."""
    # x is loaded first: where registers have to be exchanged between threads, Triton then takes
    # those of x and not those of A.
    if COMPLEX:
        x_re, x_im = tile.load_pair(x, x_offset, x_mask)
        a_re, a_im = load_tile(a, a_offset, a_mask, COMPLEX, BY_COLUMNS)
        if CONJ_A:
            a_im = -a_im
        if CONJ_X:
            x_im = -x_im
        re = re + a_re * x_re - a_im * x_im
        im = im + a_re * x_im + a_im * x_re
    else:
        x_value = tile.load(x, x_offset, x_mask).to(re.dtype)
        a_value = load_tile(a, a_offset, a_mask, COMPLEX, BY_COLUMNS).to(re.dtype)
        re = re + a_value * x_value
        im = re
    return re, im


@triton.jit
def load_tile(a, offset, mask, COMPLEX: tl.constexpr, BY_COLUMNS: tl.constexpr):
    """A tile of A, complex elements as (re, im)."""
    # Where Triton sees no contiguity along either axis, as in a tile of pairs, threads follow each
    # other along the first one: so a matrix that lies by rows is loaded transposed.
    if not BY_COLUMNS:
        offset = tl.trans(offset)
        if mask is not None:
            mask = tl.trans(mask)
    if COMPLEX:
        re, im = tile.load_pair(a, offset, mask)
        if not BY_COLUMNS:
            re, im = tl.trans(re), tl.trans(im)
        return re, im
    else:
        value = tile.load(a, offset, mask)
        if not BY_COLUMNS:
            value = tl.trans(value)
        return value


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
