"""The tile GEMM: C := (+-) alpha op(A) op(B) + beta C, for any strides and structures."""

import triton
import triton.language as tl

from tileblas.kernels import structured, tile
from tileblas.kernels.panels import multiply_panels, no_product


@triton.jit
def gemm_kernel(
    a, b, c, alpha, alpha_im, beta, beta_im, m, n, k, a_m, a_k, b_k, b_n, c_m, c_n,
    inner, a_b0, a_b1, b_b0, b_b1, c_b0, c_b1,
    COMPLEX: tl.constexpr, CONJ_A: tl.constexpr, CONJ_B: tl.constexpr,
    NEGATE: tl.constexpr, CONJ_SCALARS: tl.constexpr,
    ALPHA_KIND: tl.constexpr, BETA_KIND: tl.constexpr, MATH: tl.constexpr,
    A_KIND: tl.constexpr, A_LOWER: tl.constexpr,
    C_KIND: tl.constexpr, C_LOWER: tl.constexpr, FRESH: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    """C := (+-) alpha op(A) op(B) + beta C, for each batch member, one tile of C a program.

    With alpha = 0 or k = 0 the product is dropped and A and B are not read; with beta = 0, C is
    not read.
    A_KIND "symmetric", "hermitian" or "skew": one triangle of A is stored, the A_LOWER or the upper
    one. C_KIND "general", "symmetric", "hermitian" or "skew": one triangle of C is written, and of
    a FRESH one 0 in the other.
    """
    batch, row, col = locate_tile(m, n, BLOCK_M, BLOCK_N, GROUP_M)
    a = tile.batch_base(a, batch, inner, a_b0, a_b1, COMPLEX)
    b = tile.batch_base(b, batch, inner, b_b0, b_b1, COMPLEX)
    c = tile.batch_base(c, batch, inner, c_b0, c_b1, COMPLEX)
    if A_KIND == "":  # of one that is stored in a triangle, elements lie in other rows too
        a = tile.advance(a, row * a_m, COMPLEX)
    b = tile.advance(b, col * b_n, COMPLEX)
    c = tile.advance(c, row * c_m + col * c_n, COMPLEX)

    COMPUTE: tl.constexpr = tile.compute_type(a.dtype)
    alpha = tile.load_scalar(alpha, alpha_im, COMPUTE, ALPHA_KIND)
    beta = tile.load_scalar(beta, beta_im, COMPUTE, BETA_KIND)
    k = tl.where(tile.is_zero(alpha), 0, k)
    if (k == 0) & tile.is_one(beta):
        return  # C stays as it is, bit for bit
    alpha = tile.orient(alpha, NEGATE, CONJ_SCALARS)
    beta = tile.orient(beta, False, CONJ_SCALARS)

    # A mask narrows loads and stores, so tiles that lie inside C run without one.
    inside = (row + BLOCK_M <= m) & (col + BLOCK_N <= n)
    if C_KIND != "":
        part = structured.part_of_triangle(row, col, C_LOWER, BLOCK_M, BLOCK_N)
        if part == 0:
            if FRESH:
                structured.clear_tile(c, m - row, n - col, c_m, c_n, COMPLEX, BLOCK_M, BLOCK_N)
            return
        inside &= part == 2
    if inside:
        update_tile(
            a, b, c, alpha, beta, row, col, m - row, n - col, k, a_m, a_k, b_k, b_n, c_m, c_n,
            COMPLEX, CONJ_A, CONJ_B, ALPHA_KIND, BETA_KIND, MATH,
            A_KIND, A_LOWER, C_KIND, C_LOWER, FRESH, BLOCK_M, BLOCK_N, BLOCK_K, MASKED=False,
        )  # fmt: skip
    else:
        update_tile(
            a, b, c, alpha, beta, row, col, m - row, n - col, k, a_m, a_k, b_k, b_n, c_m, c_n,
            COMPLEX, CONJ_A, CONJ_B, ALPHA_KIND, BETA_KIND, MATH,
            A_KIND, A_LOWER, C_KIND, C_LOWER, FRESH, BLOCK_M, BLOCK_N, BLOCK_K, MASKED=True,
        )  # fmt: skip


@triton.jit
def locate_tile(m, n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP_M: tl.constexpr):
    """(batch member, first row, first column) of this program's tile.

    Consecutive programs go down GROUP_M tiles before they step one to the right, so that the
    tiles in flight share panels of A and B in L2.
    """
    tiles_m = tl.cdiv(m, BLOCK_M).to(tl.int32)
    tiles_n = tl.cdiv(n, BLOCK_N).to(tl.int32)
    batch = tl.program_id(0) // (tiles_m * tiles_n)
    index = tl.program_id(0) % (tiles_m * tiles_n)

    group_size = GROUP_M * tiles_n
    group_row = index // group_size * GROUP_M
    group_rows = tl.minimum(tiles_m - group_row, GROUP_M)
    tile_row = group_row + index % group_size % group_rows
    tile_col = index % group_size // group_rows
    return batch, tile_row.to(tl.int64) * BLOCK_M, tile_col.to(tl.int64) * BLOCK_N


@triton.jit
def update_tile(
    a, b, c, alpha, beta, row, col, m, n, k, a_m, a_k, b_k, b_n, c_m, c_n,
    COMPLEX: tl.constexpr, CONJ_A: tl.constexpr, CONJ_B: tl.constexpr,
    ALPHA_KIND: tl.constexpr, BETA_KIND: tl.constexpr, MATH: tl.constexpr,
    A_KIND: tl.constexpr, A_LOWER: tl.constexpr,
    C_KIND: tl.constexpr, C_LOWER: tl.constexpr, FRESH: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    """C := alpha op(A) op(B) + beta C on the tile at (row, col), with m rows and n columns left.

    a, b and c point to its first row, its first column and its corner; a to all of A if that has an
    A_KIND. k = 0 drops the product.
    """
    rows = tl.arange(0, BLOCK_M).to(tl.int64)[:, None]
    cols = tl.arange(0, BLOCK_N).to(tl.int64)[None, :]
    old_mask = rows < tl.where(tile.is_zero(beta), 0, m)
    row_mask = None
    col_mask = None
    mask = None
    if MASKED:
        row_mask = rows < m
        col_mask = cols < n
        mask = row_mask & col_mask
        old_mask &= col_mask

    if A_KIND != "":
        re, im = structured.multiply(
            a, row, rows, row_mask, b, cols * b_n, col_mask, k, a_m, a_k, b_k,
            A_KIND, A_LOWER, COMPLEX, CONJ_A, CONJ_B, MATH, BLOCK_M, BLOCK_N, BLOCK_K,
        )  # fmt: skip
    else:
        re, im = no_product(a.dtype, MATH, BLOCK_M, BLOCK_N)
        re, im = multiply_panels(
            re, im, a, rows * a_m, row_mask, b, cols * b_n, col_mask, k, a_k, b_k,
            COMPLEX, CONJ_A, CONJ_B, MATH, BLOCK_K,
        )  # fmt: skip
    offset = rows * c_m + cols * c_n
    if C_KIND != "" and MASKED:
        structured.update_triangle(
            c, offset, row + rows, col + cols, mask, old_mask, alpha, beta, re, im, k,
            C_KIND, C_LOWER, FRESH, COMPLEX, ALPHA_KIND, BETA_KIND,
        )  # fmt: skip
    else:
        tile.update(
            c, offset, mask, old_mask, alpha, beta, re, im, k, COMPLEX, ALPHA_KIND, BETA_KIND
        )
