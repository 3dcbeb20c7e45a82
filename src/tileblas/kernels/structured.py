"""Structure in the tile GEMM: A of which one triangle is stored, C of which one is written."""

import triton
import triton.language as tl

from tileblas.kernels import panels, tile


@triton.jit
def multiply(
    a, row, rows, row_mask, b, b_cols, col_mask, k, a_m, a_k, b_k,
    KIND: tl.constexpr, LOWER: tl.constexpr, COMPLEX: tl.constexpr, CONJ_A: tl.constexpr,
    CONJ_B: tl.constexpr, MATH: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """A op(B) for some rows of A from `row` on, of which one triangle is stored, as (re, im).

    Left of the steps that meet the diagonal all elements of these rows are stored, if A is LOWER,
    and right of them none: those are read where they are mirrored, down the columns of A. Of an
    upper triangle it is the other way round.
    """
    begin = tl.minimum(row // BLOCK_K * BLOCK_K, k)
    end = tl.minimum((row + BLOCK_M + BLOCK_K - 1) // BLOCK_K * BLOCK_K, k)
    re, im = panels.no_product(a.dtype, MATH, BLOCK_M, BLOCK_N)
    i = row + rows
    re, im = multiply_beside(
        re, im, a, i, row_mask, b, b_cols, col_mask, 0, begin, a_m, a_k, b_k,
        not LOWER, KIND, COMPLEX, CONJ_A, CONJ_B, MATH, BLOCK_K,
    )  # fmt: skip
    for start in range(begin, end, BLOCK_K):
        re, im = add_crossing(
            re, im, a, i, row_mask, b, b_cols, col_mask, start, k, a_m, a_k, b_k,
            KIND, LOWER, COMPLEX, CONJ_A, CONJ_B, MATH, BLOCK_K,
        )  # fmt: skip
    re, im = multiply_beside(
        re, im, a, i, row_mask, b, b_cols, col_mask, end, k, a_m, a_k, b_k,
        LOWER, KIND, COMPLEX, CONJ_A, CONJ_B, MATH, BLOCK_K,
    )  # fmt: skip
    return re, im


@triton.jit
def multiply_beside(
    re, im, a, i, row_mask, b, b_cols, col_mask, begin, end, a_m, a_k, b_k,
    MIRRORED: tl.constexpr, KIND: tl.constexpr, COMPLEX: tl.constexpr, CONJ_A: tl.constexpr,
    CONJ_B: tl.constexpr, MATH: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """(re, im) + A op(B) over [begin, end), where no element of A is on the diagonal."""
    b = tile.advance(b, begin * b_k, COMPLEX)
    if MIRRORED:
        a = tile.advance(a, begin * a_m, COMPLEX)
        MINUS: tl.constexpr = KIND == "skew"
        CONJ: tl.constexpr = (KIND == "hermitian") != CONJ_A
        # The sums before have the other sign meanwhile, which is exact.
        if MINUS:
            re = -re
            im = -im
        re, im = panels.multiply_panels(
            re, im, a, i * a_k, row_mask, b, b_cols, col_mask, end - begin, a_m, b_k,
            COMPLEX, CONJ, CONJ_B, MATH, BLOCK_K,
        )  # fmt: skip
        if MINUS:
            re = -re
            im = -im
    else:
        a = tile.advance(a, begin * a_k, COMPLEX)
        re, im = panels.multiply_panels(
            re, im, a, i * a_m, row_mask, b, b_cols, col_mask, end - begin, a_k, b_k,
            COMPLEX, CONJ_A, CONJ_B, MATH, BLOCK_K,
        )  # fmt: skip
    return re, im


@triton.jit
def add_crossing(
    re, im, a, i, row_mask, b, b_cols, col_mask, start, k, a_m, a_k, b_k,
    KIND: tl.constexpr, LOWER: tl.constexpr, COMPLEX: tl.constexpr, CONJ_A: tl.constexpr,
    CONJ_B: tl.constexpr, MATH: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """(re, im) + A op(B) for one step along k that meets the diagonal."""
    depth = start + tl.arange(0, BLOCK_K).to(tl.int64)
    there = depth < k
    j = depth[None, :]
    stored = i >= j if LOWER else i <= j
    offset = tl.where(stored, i * a_m + j * a_k, j * a_m + i * a_k)
    a_mask = there[None, :]
    if row_mask is not None:
        a_mask &= row_mask
    if KIND == "skew":
        a_mask &= i != j
    b_offset = depth[:, None] * b_k + b_cols
    b_mask = there[:, None]
    if col_mask is not None:
        b_mask &= col_mask
    if COMPLEX:
        a_re = panels.load_operand(a, 2 * offset, a_mask, MATH)
        a_im = panels.load_operand(a, 2 * offset + 1, a_mask, MATH)
        if KIND == "hermitian":
            a_im = tl.where(i == j, 0, tl.where(stored, a_im, -a_im))
        if CONJ_A:
            a_im = -a_im
        b_re = panels.load_operand(b, 2 * b_offset, b_mask, MATH)
        b_im = panels.load_operand(b, 2 * b_offset + 1, b_mask, MATH)
        if CONJ_B:
            b_im = -b_im
        re, im = panels.dot_complex(re, im, a_re, a_im, b_re, b_im, MATH)
    else:
        a_value = panels.load_operand(a, offset, a_mask, MATH)
        b_value = panels.load_operand(b, b_offset, b_mask, MATH)
        if KIND == "skew":
            a_value = tl.where(stored, a_value, -a_value)
            # A diagonal that is not there multiplies nothing, and a product with 0 may be NaN.
            if tile.is_wild(b_value):
                re = add_rows_in_turn(re, a_value, i, b, b_cols, col_mask, start, k, b_k, BLOCK_K)
            else:
                re = panels.dot(a_value, b_value, re, MATH)
        else:
            re = panels.dot(a_value, b_value, re, MATH)
        im = re
    return re, im


@triton.jit
def add_rows_in_turn(re, a_value, i, b, b_cols, col_mask, start, k, b_k, BLOCK_K: tl.constexpr):
    """re + A B row by row of B, without the products of the diagonal of A."""
    lane = tl.arange(0, BLOCK_K)[None, :]
    for step in range(0, tl.minimum(BLOCK_K, k - start).to(tl.int32)):
        column = tl.sum(tl.where(lane == step, a_value, 0), 1)[:, None]
        j = start + step
        value = tile.load(b, j * b_k + b_cols, col_mask).to(re.dtype)
        re += tl.where(i == j, 0, column.to(re.dtype) * value)
    return re


@triton.jit
def part_of_triangle(row, col, LOWER: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """How much of a tile is in a triangle: 0 nothing, 1 some of it, 2 all."""
    if LOWER:
        some = row + BLOCK_M > col
        whole = row >= col + BLOCK_N
    else:
        some = col + BLOCK_N > row
        whole = col >= row + BLOCK_M
    return some.to(tl.int32) + whole.to(tl.int32)


@triton.jit
def clear_tile(
    c, m, n, c_m, c_n, COMPLEX: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):
    """C := 0 on one tile, with m rows and n columns left from its corner."""
    rows = tl.arange(0, BLOCK_M).to(tl.int64)[:, None]
    cols = tl.arange(0, BLOCK_N).to(tl.int64)[None, :]
    mask = (rows < m) & (cols < n)
    clear(c, rows * c_m + cols * c_n, mask, COMPLEX, BLOCK_M, BLOCK_N)


@triton.jit
def clear(c, offset, mask, COMPLEX: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """C := 0 where a mask says so."""
    zero = tl.zeros((BLOCK_M, BLOCK_N), tile.compute_type(c.dtype))
    if COMPLEX:
        tile.store_pair(c, offset, zero, zero, mask)
    else:
        tile.store(c, offset, zero, mask)


@triton.jit
def update_triangle(
    c, offset, i, j, mask, old_mask, alpha, beta, re, im, k,
    KIND: tl.constexpr, LOWER: tl.constexpr, FRESH: tl.constexpr,
    COMPLEX: tl.constexpr, ALPHA_KIND: tl.constexpr, BETA_KIND: tl.constexpr,
):  # fmt: skip
    """C := alpha (re, im) + beta C in a triangle, for a tile that is not all in it.

    The other part of a FRESH C becomes 0. A Hermitian diagonal is real, before and after; a skew
    one is not touched.
    """
    keep = i >= j if LOWER else i <= j
    if KIND == "skew":
        keep &= i != j
    if FRESH:
        clear(c, offset, mask & (keep == 0), COMPLEX, re.shape[0], re.shape[1])
    mask &= keep
    old_mask &= keep
    tile.update(c, offset, mask, old_mask, alpha, beta, re, im, k, COMPLEX, ALPHA_KIND, BETA_KIND)
    if KIND == "hermitian" and COMPLEX:
        # Other threads may have stored what is now replaced.
        tl.debug_barrier()
        tl.store(c + 2 * offset + 1, tl.zeros(re.shape, c.dtype.element_ty), mask & (i == j))
