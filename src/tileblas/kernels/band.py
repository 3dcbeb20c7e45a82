"""The product of a vector and a triangular, banded or mirrored matrix: trmv, gbmv, sbmv."""

import triton
import triton.language as tl

from tileblas.kernels import matvec, tile


@triton.jit
def band_kernel(
    a, x, y, partial, arrived, alpha, alpha_im, beta, beta_im,
    m, n, below, above, a_m, a_n, a_curve, x_inc, y_inc,
    inner, a_b0, a_b1, x_b0, x_b1, y_b0, y_b1, row_blocks, splits, share,
    COMPLEX: tl.constexpr, CONJ_A: tl.constexpr, CONJ_X: tl.constexpr,
    NEGATE: tl.constexpr, CONJ_SCALARS: tl.constexpr,
    ALPHA_KIND: tl.constexpr, BETA_KIND: tl.constexpr,
    MIRROR: tl.constexpr, IN_PLACE: tl.constexpr, UNIT_DIAG: tl.constexpr, CURVED: tl.constexpr,
    BATCHED: tl.constexpr,
    BY_COLUMNS: tl.constexpr, UNIT: tl.constexpr, POLICY: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, UNROLL: tl.constexpr,
):  # fmt: skip
    """y := (+-) alpha op(A) op(x) + beta y, for each batch member, over a band of A.

    Element (i, j) is there where -below <= j - i <= above; a triangle is a band as wide as it can
    be. With UNIT_DIAG ones are added to the diagonal, which is outside of the band then. MIRROR
    "symmetric", "hermitian" or "skew" says that (i, j) beyond the triangle's side of the diagonal
    is what (j, i) makes of it: these are read as columns.
    A program multiplies up to `share` blocks of the columns that its BLOCK_M rows have, and the
    last one of these rows adds the sums up in a fixed order, as in gemv. IN_PLACE y is x: sums wait
    in the workspace until nobody reads x any more, and the last program of all moves them there.
    The axis across the one along which A lies is CURVED where A is packed.
    """
    group, split = tile.position(tl.program_id(0), splits, True, True)
    batch, row_block = tile.position(group, row_blocks, BATCHED, True)
    a = tile.batch_base(a, batch, inner, a_b0, a_b1, COMPLEX)
    x = tile.batch_base(x, batch, inner, x_b0, x_b1, COMPLEX)
    y = tile.batch_base(y, batch, inner, y_b0, y_b1, COMPLEX)
    row = row_block.to(tl.int64) * BLOCK_M

    if not IN_PLACE:
        COMPUTE: tl.constexpr = tile.compute_type(a.dtype)
        alpha = tile.load_scalar(alpha, alpha_im, COMPUTE, ALPHA_KIND)
        beta = tile.load_scalar(beta, beta_im, COMPUTE, BETA_KIND)
        n = tl.where(tile.is_zero(alpha), 0, n)
        if (n == 0) & tile.is_one(beta):
            return  # y stays as it is, bit for bit
        alpha = tile.orient(alpha, NEGATE, CONJ_SCALARS)
        beta = tile.orient(beta, False, CONJ_SCALARS)

    # The blocks of columns that these rows have, of which this program takes a share.
    left, right = below, above
    if MIRROR != "":
        left = tl.maximum(below, above)
        right = left
    first = (tl.minimum(tl.maximum(row - left, 0), n) // BLOCK_N).to(tl.int32)
    end = tl.minimum(tl.minimum(row + BLOCK_M, m) + right, n)
    last = tl.maximum(((end + BLOCK_N - 1) // BLOCK_N).to(tl.int32), first)
    shares = tl.maximum((last - first + share - 1) // share, 1)
    if split >= shares:
        return
    begin = first + split * share
    end = tl.minimum(begin + share, last)
    if MIRROR != "":
        re, im = sum_mirrored(
            a, x, row, m, n, below, above, a_m, a_n, a_curve, x_inc, begin, end,
            MIRROR, COMPLEX, CONJ_A, CONJ_X, CURVED, BY_COLUMNS, UNIT, POLICY,
            BLOCK_M, BLOCK_N, UNROLL,
        )  # fmt: skip
    else:
        re, im = sum_band(
            a, x, row, m, n, below, above, a_m, a_n, a_curve, x_inc, begin, end,
            False, COMPLEX, CONJ_A, CONJ_X, CURVED, BY_COLUMNS, UNIT, POLICY,
            BLOCK_M, BLOCK_N, UNROLL,
        )  # fmt: skip
    rows = row + tl.arange(0, BLOCK_M)
    if UNIT_DIAG:  # noqa: SIM102 - a compile-time condition around one of run time
        if split == 0:
            re, im = add_vector(re, im, x, rows * x_inc, rows < m, COMPLEX, CONJ_X)

    WIDTH: tl.constexpr = 2 * BLOCK_M if COMPLEX else BLOCK_M
    done = shares == 1
    if shares > 1:
        sums = partial + group.to(tl.int64) * splits * WIDTH
        matvec.store_partial(sums, split, re, im, COMPLEX)
        done = tile.arrives_last(arrived + group, shares)
        if done:
            re, im = matvec.sum_partials(sums, shares, COMPLEX, BLOCK_M)
            tl.store(arrived + group, 0)
    if done:
        if IN_PLACE:
            groups = tl.num_programs(0) // splits
            results = partial + groups.to(tl.int64) * splits * WIDTH
            results += batch.to(tl.int64) * row_blocks * WIDTH
            re, im = tile.orient((re, im), NEGATE, False)
            matvec.store_partial(results, row_block, re, im, COMPLEX)
            if tile.arrives_last(arrived + groups + batch, row_blocks):
                move_results(results, y, m, y_inc, COMPLEX, BLOCK_M)
                tl.store(arrived + groups + batch, 0)
        else:
            y = tile.advance(y, row * y_inc, COMPLEX)
            matvec.update_rows(
                y, y_inc, m - row, n, alpha, beta, re, im, COMPLEX, ALPHA_KIND, BETA_KIND
            )


@triton.jit
def sum_mirrored(
    a, x, row, m, n, below, above, a_m, a_n, a_curve, x_inc, begin, end,
    MIRROR: tl.constexpr, COMPLEX: tl.constexpr, CONJ_A: tl.constexpr, CONJ_X: tl.constexpr,
    CURVED: tl.constexpr, BY_COLUMNS: tl.constexpr, UNIT: tl.constexpr, POLICY: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, UNROLL: tl.constexpr,
):  # fmt: skip
    """A x for BLOCK_M rows of a matrix of which one triangle is stored, as (re, im).

    First over the elements that are stored in these rows, then over those that are stored in the
    columns of the same numbers.
    """
    REAL_DIAG: tl.constexpr = COMPLEX and MIRROR == "hermitian"
    begin_2, end_2 = begin, end
    middle = ((row + BLOCK_M + BLOCK_N - 1) // BLOCK_N).to(tl.int32)
    start = (row // BLOCK_N).to(tl.int32)
    if above > below:  # the upper triangle is stored: its rows begin at the diagonal
        begin = tl.maximum(begin, start)
        end_2 = tl.minimum(end_2, middle)
        mirrored_below = above
        mirrored_above = tl.full((), -1, tl.int64)
    else:
        end = tl.minimum(end, middle)
        begin_2 = tl.maximum(begin_2, start)
        mirrored_above = below
        mirrored_below = tl.full((), -1, tl.int64)
    re, im = sum_band(
        a, x, row, m, n, below, above, a_m, a_n, a_curve, x_inc, begin, end,
        REAL_DIAG, COMPLEX, CONJ_A, CONJ_X, CURVED, BY_COLUMNS, UNIT, POLICY,
        BLOCK_M, BLOCK_N, UNROLL,
    )  # fmt: skip
    other_re, other_im = sum_band(
        a, x, row, m, n, mirrored_below, mirrored_above, a_n, a_m, a_curve, x_inc, begin_2, end_2,
        False, COMPLEX, CONJ_A != REAL_DIAG, CONJ_X, CURVED, not BY_COLUMNS, UNIT, POLICY,
        BLOCK_M, BLOCK_N, UNROLL,
    )  # fmt: skip
    if MIRROR == "skew":
        other_re = -other_re
        other_im = -other_im
    if COMPLEX:
        return re + other_re, im + other_im
    else:
        re += other_re
        return re, re


@triton.jit
def sum_band(
    a, x, row, m, n, below, above, a_m, a_n, a_curve, x_inc, begin, end,
    REAL_DIAG: tl.constexpr,
    COMPLEX: tl.constexpr, CONJ_A: tl.constexpr, CONJ_X: tl.constexpr, CURVED: tl.constexpr,
    BY_COLUMNS: tl.constexpr, UNIT: tl.constexpr, POLICY: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, UNROLL: tl.constexpr,
):  # fmt: skip
    """op(A) op(x) for BLOCK_M rows over the blocks [begin, end) of columns, as (re, im).

    With REAL_DIAG the imaginary parts on the diagonal are not read, and 0.
    """
    PARTS: tl.constexpr = 2 if COMPLEX else 1
    DOWN: tl.constexpr = PARTS * BLOCK_M if BY_COLUMNS else BLOCK_M
    ALONG: tl.constexpr = BLOCK_N if BY_COLUMNS else PARTS * BLOCK_N
    rows = tl.arange(0, DOWN).to(tl.int64)[:, None]
    cols = tl.arange(0, ALONG).to(tl.int64)[None, :]
    if BY_COLUMNS:
        i = row + rows // PARTS
        a = tile.advance(a, row * a_m, COMPLEX)
        row_offset = matvec.spread(rows, a_m, PARTS, UNIT)
    else:
        i = row + rows
        row_offset = PARTS * tile.along(i, a_m, a_curve, CURVED)
    p = tl.zeros((DOWN, ALONG), tile.compute_type(a.dtype))
    q = p
    width = tl.full((), ALONG, tl.int64)
    step = tl.full((), BLOCK_N, tl.int64)
    for block in tl.range(begin, end, loop_unroll_factor=UNROLL):
        j = block * width + cols
        left = block * step
        right = left + BLOCK_N
        # A mask narrows loads, so blocks that lie inside the band run without one.
        inside = (left >= row + BLOCK_M - 1 - below) & (right - 1 <= row + above)
        if inside & (right <= n) & (row + BLOCK_M <= m):
            if BY_COLUMNS:
                p, q = matvec.add_columns(
                    p, q, a, row_offset, None, x, j, None, a_n, a_curve, x_inc, None,
                    COMPLEX, CURVED, POLICY,
                )  # fmt: skip
            else:
                p, q = matvec.add_rows(
                    p, q, a, row_offset, x, j, None, None, a_n, x_inc,
                    COMPLEX, CONJ_A, CONJ_X, UNIT, POLICY,
                )  # fmt: skip
        else:
            apart = j - i
            if not BY_COLUMNS:
                apart = j // PARTS - i
            keep = (apart >= -below) & (apart <= above) & (i < m)
            if REAL_DIAG:
                part = cols
                if BY_COLUMNS:
                    part = rows
                keep &= (apart != 0) | (part % 2 == 0)
            if BY_COLUMNS:
                keep &= j < n
                p, q = matvec.add_columns(
                    p, q, a, row_offset, keep, x, j, j < n, a_n, a_curve, x_inc, keep,
                    COMPLEX, CURVED, POLICY,
                )  # fmt: skip
            else:
                keep &= j < PARTS * n
                p, q = matvec.add_rows(
                    p, q, a, row_offset, x, j, j < PARTS * n, keep, a_n, x_inc,
                    COMPLEX, CONJ_A, CONJ_X, UNIT, POLICY,
                )  # fmt: skip
    p = tl.sum(p, 1)
    if COMPLEX:
        q = tl.sum(q, 1)
    else:
        q = p
    if BY_COLUMNS:
        p, q = matvec.combine(p, q, COMPLEX, CONJ_A, CONJ_X)
    return p, q


@triton.jit
def add_vector(re, im, x, offset, mask, COMPLEX: tl.constexpr, CONJ_X: tl.constexpr):
    """(re, im) + op(x) for the elements of x at `offset`."""
    if COMPLEX:
        x_re, x_im = tile.load_pair(x, offset, mask)
        if CONJ_X:
            x_im = -x_im
        return re + x_re, im + x_im
    else:
        re += tile.load(x, offset, mask)
        return re, re


@triton.jit
def move_results(results, y, m, y_inc, COMPLEX: tl.constexpr, BLOCK_M: tl.constexpr):
    """y := the results that all programs of a batch member have left, which lie as `store_partial`
    leaves them: blocks of rows, re before im."""
    STEP: tl.constexpr = max(2048, BLOCK_M)
    PARTS: tl.constexpr = 2 if COMPLEX else 1
    lanes = tl.arange(0, STEP).to(tl.int64)
    for start in range(0, m, STEP):
        i = start + lanes
        offset = i // BLOCK_M * (PARTS * BLOCK_M) + i % BLOCK_M
        re = tl.load(results + offset, mask=i < m, other=0, cache_modifier=".cg")
        if COMPLEX:
            im = tl.load(results + BLOCK_M + offset, mask=i < m, other=0, cache_modifier=".cg")
            tile.store_pair(y, i * y_inc, re, im, i < m)
        else:
            tile.store(y, i * y_inc, re, i < m)
