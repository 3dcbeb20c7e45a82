"""Elementwise vector updates: axpy and scal."""

import triton
import triton.language as tl

from tileblas.kernels import tile


@triton.jit
def axpy_kernel(
    x, y, alpha, alpha_im, n, x_inc, y_inc, inner, x_b0, x_b1, y_b0, y_b1, blocks,
    COMPLEX: tl.constexpr, CONJ_X: tl.constexpr, NEGATE: tl.constexpr, CONJ_ALPHA: tl.constexpr,
    ALPHA_KIND: tl.constexpr, BATCHED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """y := (+-) alpha op(x) + y, for each batch member, one block of it a program.

    With alpha = 0, x is not read and y is not touched.
    """
    batch, block = tile.position(tl.program_id(0), blocks, BATCHED, True)
    x = tile.batch_base(x, batch, inner, x_b0, x_b1, COMPLEX)
    y = tile.batch_base(y, batch, inner, y_b0, y_b1, COMPLEX)
    alpha = tile.load_scalar(alpha, alpha_im, tile.compute_type(y.dtype), ALPHA_KIND)
    if tile.is_zero(alpha):
        return
    alpha = tile.orient(alpha, NEGATE, CONJ_ALPHA)

    i = block.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    if (block + 1).to(tl.int64) * BLOCK <= n:
        update(alpha, x, i * x_inc, y, i * y_inc, None, COMPLEX, CONJ_X, ALPHA_KIND)
    else:
        update(alpha, x, i * x_inc, y, i * y_inc, i < n, COMPLEX, CONJ_X, ALPHA_KIND)


@triton.jit
def update(
    alpha, x, x_offset, y, y_offset, mask,
    COMPLEX: tl.constexpr, CONJ_X: tl.constexpr, ALPHA_KIND: tl.constexpr,
):  # fmt: skip
    """y := alpha op(x) + y on one block."""
    if COMPLEX:
        x_re, x_im = tile.load_pair(x, x_offset, mask)
        y_re, y_im = tile.load_pair(y, y_offset, mask)
        if CONJ_X:
            x_im = -x_im
        re, im = tile.scale_pair(alpha, x_re, x_im, ALPHA_KIND)
        tile.store_pair(y, y_offset, re + y_re, im + y_im, mask)
    else:
        COMPUTE: tl.constexpr = tile.compute_type(y.dtype)
        x_value = tile.load(x, x_offset, mask).to(COMPUTE)
        y_value = tile.load(y, y_offset, mask).to(COMPUTE)
        tile.store(y, y_offset, tile.scale(alpha, x_value) + y_value, mask)


@triton.jit
def scal_kernel(
    x, alpha, alpha_im, n, x_inc, inner, x_b0, x_b1, blocks,
    COMPLEX: tl.constexpr, CONJ_ALPHA: tl.constexpr, ALPHA_KIND: tl.constexpr,
    BATCHED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """x := alpha x, for each batch member, one block of it a program.

    With alpha = 1, x is not touched; alpha = 0 multiplies.
    """
    batch, block = tile.position(tl.program_id(0), blocks, BATCHED, True)
    x = tile.batch_base(x, batch, inner, x_b0, x_b1, COMPLEX)
    alpha = tile.load_scalar(alpha, alpha_im, tile.compute_type(x.dtype), ALPHA_KIND)
    if tile.is_one(alpha):
        return
    alpha = tile.orient(alpha, False, CONJ_ALPHA)

    i = block.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    if (block + 1).to(tl.int64) * BLOCK <= n:
        scale_in_place(alpha, x, i * x_inc, None, COMPLEX, ALPHA_KIND)
    else:
        scale_in_place(alpha, x, i * x_inc, i < n, COMPLEX, ALPHA_KIND)


@triton.jit
def scale_in_place(alpha, x, offset, mask, COMPLEX: tl.constexpr, ALPHA_KIND: tl.constexpr):
    """x := alpha x on one block."""
    if COMPLEX:
        re, im = tile.load_pair(x, offset, mask)
        re, im = tile.scale_pair(alpha, re, im, ALPHA_KIND)
        tile.store_pair(x, offset, re, im, mask)
    else:
        value = tile.load(x, offset, mask).to(tile.compute_type(x.dtype))
        tile.store(x, offset, tile.scale(alpha, value), mask)
