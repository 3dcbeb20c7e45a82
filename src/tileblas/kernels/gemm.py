"""The tile GEMM: C := (+-) alpha op(A) op(B) + beta C, for any strides."""

import triton
import triton.language as tl

from tileblas.kernels import tile


@triton.jit
def gemm_kernel(
    a, b, c, alpha, alpha_im, beta, beta_im, m, n, k, a_m, a_k, b_k, b_n, c_m, c_n,
    inner, a_b0, a_b1, b_b0, b_b1, c_b0, c_b1,
    COMPLEX: tl.constexpr, CONJ_A: tl.constexpr, CONJ_B: tl.constexpr,
    NEGATE: tl.constexpr, CONJ_SCALARS: tl.constexpr,
    ALPHA_KIND: tl.constexpr, BETA_KIND: tl.constexpr, MATH: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    """C := (+-) alpha op(A) op(B) + beta C, for each batch member, one tile of C a program.

    With alpha = 0 or k = 0 the product is dropped and A and B are not read; with beta = 0, C is
    not read.
    """
    batch, row, col = locate_tile(m, n, BLOCK_M, BLOCK_N, GROUP_M)
    a = tile.batch_base(a, batch, inner, a_b0, a_b1, COMPLEX)
    b = tile.batch_base(b, batch, inner, b_b0, b_b1, COMPLEX)
    c = tile.batch_base(c, batch, inner, c_b0, c_b1, COMPLEX)
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
    if inside:
        update_tile(
            a, b, c, alpha, beta, m - row, n - col, k, a_m, a_k, b_k, b_n, c_m, c_n,
            COMPLEX, CONJ_A, CONJ_B, ALPHA_KIND, BETA_KIND, MATH,
            BLOCK_M, BLOCK_N, BLOCK_K, MASKED=False,
        )  # fmt: skip
    else:
        update_tile(
            a, b, c, alpha, beta, m - row, n - col, k, a_m, a_k, b_k, b_n, c_m, c_n,
            COMPLEX, CONJ_A, CONJ_B, ALPHA_KIND, BETA_KIND, MATH,
            BLOCK_M, BLOCK_N, BLOCK_K, MASKED=True,
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
    a, b, c, alpha, beta, m, n, k, a_m, a_k, b_k, b_n, c_m, c_n,
    COMPLEX: tl.constexpr, CONJ_A: tl.constexpr, CONJ_B: tl.constexpr,
    ALPHA_KIND: tl.constexpr, BETA_KIND: tl.constexpr, MATH: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    """C := alpha op(A) op(B) + beta C on one tile, with m rows and n columns left from its corner.

    k = 0 drops the product.
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

    re, im = multiply_panels(
        a, rows * a_m, row_mask, b, cols * b_n, col_mask, k, a_k, b_k,
        COMPLEX, CONJ_A, CONJ_B, MATH, BLOCK_M, BLOCK_N, BLOCK_K,
    )  # fmt: skip
    offset = rows * c_m + cols * c_n
    tile.update(c, offset, mask, old_mask, alpha, beta, re, im, k, COMPLEX, ALPHA_KIND, BETA_KIND)


@triton.jit
def multiply_panels(
    a, a_rows, row_mask, b, b_cols, col_mask, k, a_k, b_k,
    COMPLEX: tl.constexpr, CONJ_A: tl.constexpr, CONJ_B: tl.constexpr, MATH: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """op(A) op(B) over [0, k) as (re, im); im is re for real operands.

    Only the last step, where BLOCK_K does not divide k, is masked along k.
    """
    # Which way the tiles of complex operands lie in memory.
    A_BY_ROWS: tl.constexpr = tile.is_unit(a_k)
    B_BY_ROWS: tl.constexpr = not tile.is_unit(b_k)
    depth = tl.arange(0, BLOCK_K).to(tl.int64)
    a_offset = a_rows + depth[None, :] * a_k
    b_offset = depth[:, None] * b_k + b_cols
    re = tl.zeros((BLOCK_M, BLOCK_N), accumulator_type(a.dtype, MATH))
    im = re
    for _ in range((k // BLOCK_K).to(tl.int32)):
        if COMPLEX:
            re, im = add_complex(
                re, im, a, a_offset, row_mask, b, b_offset, col_mask,
                CONJ_A, CONJ_B, A_BY_ROWS, B_BY_ROWS, MATH,
            )  # fmt: skip
        else:
            re = add_real(re, a, a_offset, row_mask, b, b_offset, col_mask, MATH)
        a = tile.advance(a, BLOCK_K * a_k, COMPLEX)
        b = tile.advance(b, BLOCK_K * b_k, COMPLEX)
    if k % BLOCK_K != 0:
        a_mask = depth[None, :] < k % BLOCK_K
        b_mask = depth[:, None] < k % BLOCK_K
        if row_mask is not None:
            a_mask &= row_mask
            b_mask &= col_mask
        if COMPLEX:
            re, im = add_complex(
                re, im, a, a_offset, a_mask, b, b_offset, b_mask,
                CONJ_A, CONJ_B, A_BY_ROWS, B_BY_ROWS, MATH,
            )  # fmt: skip
        else:
            re = add_real(re, a, a_offset, a_mask, b, b_offset, b_mask, MATH)
    return re, im


@triton.jit
def add_real(acc, a, a_offset, a_mask, b, b_offset, b_mask, MATH: tl.constexpr):
    """acc + A B for one step along k."""
    a_value = load_operand(a, a_offset, a_mask, MATH)
    b_value = load_operand(b, b_offset, b_mask, MATH)
    return dot(a_value, b_value, acc, MATH)


@triton.jit
def add_complex(
    re, im, a, a_offset, a_mask, b, b_offset, b_mask,
    CONJ_A: tl.constexpr, CONJ_B: tl.constexpr,
    A_BY_ROWS: tl.constexpr, B_BY_ROWS: tl.constexpr, MATH: tl.constexpr,
):  # fmt: skip
    """(re, im) + op(A) op(B) for one step along k: four real products of planes."""
    # Each plane is loaded by itself, with stride 2: split pairs would pass through registers on
    # their way to shared memory, and spill.
    a_re = load_plane(a, 2 * a_offset, a_mask, A_BY_ROWS, MATH)
    a_im = load_plane(a, 2 * a_offset + 1, a_mask, A_BY_ROWS, MATH)
    b_re = load_plane(b, 2 * b_offset, b_mask, B_BY_ROWS, MATH)
    b_im = load_plane(b, 2 * b_offset + 1, b_mask, B_BY_ROWS, MATH)
    if CONJ_A:
        a_im = -a_im
    if CONJ_B:
        b_im = -b_im
    re = dot(a_re, b_re, re, MATH)
    im = dot(a_re, b_im, im, MATH)
    im = dot(a_im, b_re, im, MATH)
    re = dot(-a_im, b_im, re, MATH)
    return re, im


@triton.jit
def load_plane(pointer, offset, mask, BY_ROWS: tl.constexpr, MATH: tl.constexpr):
    """One part of a complex tile."""
    # Triton orders the threads of a load by contiguity, and down the columns where it sees none:
    # a tile that lies by rows is therefore loaded transposed.
    if BY_ROWS:
        if mask is not None:
            mask = tl.trans(mask)
        return tl.trans(load_operand(pointer, tl.trans(offset), mask, MATH))
    else:
        return load_operand(pointer, offset, mask, MATH)


@triton.jit
def load_operand(pointer, offset, mask, MATH: tl.constexpr):
    """Elements of A or B in the type they are multiplied in."""
    value = tile.load(pointer, offset, mask)
    if MATH == "fp64":
        value = value.to(tl.float64)
    return value


@triton.jit
def dot(a_value, b_value, acc, MATH: tl.constexpr):
    """acc + A B, with its precision named: Triton's own choice for float32 is TF32."""
    PRECISION: tl.constexpr = "ieee" if MATH == "fp64" else MATH
    return tl.dot(a_value, b_value, acc, input_precision=PRECISION, out_dtype=acc.dtype)


@triton.constexpr_function
def accumulator_type(pointer_type, math):
    """The compute type; float64 where float32 operands are multiplied as float64."""
    return tl.float64 if math == "fp64" else tile.compute_type(pointer_type)
