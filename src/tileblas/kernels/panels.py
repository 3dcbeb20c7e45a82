"""Panels of A and B: their product, step by step along k, in real and complex types."""

import triton
import triton.language as tl

from tileblas.kernels import tile


@triton.jit
def no_product(
    DTYPE: tl.constexpr, MATH: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):
    """The (re, im) of an empty sum; im is re where nothing is complex."""
    re = tl.zeros((BLOCK_M, BLOCK_N), accumulator_type(DTYPE, MATH))
    return re, re


@triton.jit
def multiply_panels(
    re, im, a, a_rows, row_mask, b, b_cols, col_mask, k, a_k, b_k,
    COMPLEX: tl.constexpr, CONJ_A: tl.constexpr, CONJ_B: tl.constexpr, MATH: tl.constexpr,
    BLOCK_K: tl.constexpr,
):  # fmt: skip
    """(re, im) + op(A) op(B) over [0, k); im is re for real operands.

    Only the last step, where BLOCK_K does not divide k, is masked along k.
    """
    # Which way the tiles of complex operands lie in memory.
    A_BY_ROWS: tl.constexpr = tile.is_unit(a_k)
    B_BY_ROWS: tl.constexpr = not tile.is_unit(b_k)
    depth = tl.arange(0, BLOCK_K).to(tl.int64)
    a_offset = a_rows + depth[None, :] * a_k
    b_offset = depth[:, None] * b_k + b_cols
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
    """(re, im) + op(A) op(B) for one step along k."""
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
    return dot_complex(re, im, a_re, a_im, b_re, b_im, MATH)


@triton.jit
def dot_complex(re, im, a_re, a_im, b_re, b_im, MATH: tl.constexpr):
    """(re, im) + A B of complex tiles: four real products of planes."""
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
