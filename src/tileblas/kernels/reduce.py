"""Reductions to one value per batch member: dot products."""

import triton
import triton.language as tl

from tileblas.kernels import tile


@triton.jit
def dot_kernel(
    x, y, out, partial, arrived, n, x_inc, y_inc,
    inner, x_b0, x_b1, y_b0, y_b1, out_b0, out_b1, splits,
    COMPLEX: tl.constexpr, CONJ_X: tl.constexpr, CONJ_Y: tl.constexpr, NEGATE: tl.constexpr,
    BLOCK: tl.constexpr, MAX_SPLITS: tl.constexpr,
):  # fmt: skip
    """out := (+-) sum_i op(x_i) op(y_i), for each batch member.

    `splits` programs share a batch member: each sums every splits-th block, and the last one to
    arrive adds the partial sums in a fixed order, whatever the order of arrival.
    """
    batch = tl.program_id(0) // splits
    split = tl.program_id(0) % splits
    x = tile.batch_base(x, batch, inner, x_b0, x_b1, COMPLEX)
    y = tile.batch_base(y, batch, inner, y_b0, y_b1, COMPLEX)
    out = tile.batch_base(out, batch, inner, out_b0, out_b1, COMPLEX)

    re, im = sum_products(x, y, n, x_inc, y_inc, split, splits, COMPLEX, CONJ_X, CONJ_Y, BLOCK)
    if splits == 1:
        store_sum(out, 0, re, im, COMPLEX, NEGATE)
    else:
        partial = tile.advance(partial, batch.to(tl.int64) * splits, COMPLEX)
        store_sum(partial, split, re, im, COMPLEX, False)
        tl.debug_barrier()  # the partial sum is stored before the arrival is announced
        if tl.atomic_add(arrived + batch, 1, sem="acq_rel") == splits - 1:
            re, im = sum_partials(partial, splits, COMPLEX, MAX_SPLITS)
            store_sum(out, 0, re, im, COMPLEX, NEGATE)
            tl.store(arrived + batch, 0)


@triton.jit
def sum_products(
    x, y, n, x_inc, y_inc, split, splits,
    COMPLEX: tl.constexpr, CONJ_X: tl.constexpr, CONJ_Y: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """The sum over blocks split, split + splits, ... of [0, n) as (re, im); real: im is re.

    Only the last block can be short, and only that one is masked, since a mask narrows loads.
    """
    lanes = tl.arange(0, BLOCK).to(tl.int64)
    re = tl.zeros((BLOCK,), tile.compute_type(x.dtype))
    im = re
    whole = (n // BLOCK).to(tl.int32)
    end = whole.to(tl.int64) * BLOCK
    for start in range(split.to(tl.int64) * BLOCK, end, splits * BLOCK):
        i = start + lanes
        if COMPLEX:
            re, im = add_complex(re, im, x, i * x_inc, y, i * y_inc, None, CONJ_X, CONJ_Y)
        else:
            re = add_real(re, x, i * x_inc, y, i * y_inc, None)
    if whole % splits == split:
        i = end + lanes
        if COMPLEX:
            re, im = add_complex(re, im, x, i * x_inc, y, i * y_inc, i < n, CONJ_X, CONJ_Y)
        else:
            re = add_real(re, x, i * x_inc, y, i * y_inc, i < n)
    re = tl.sum(re)
    if COMPLEX:
        im = tl.sum(im)
    else:
        im = re
    return re, im


@triton.jit
def add_real(acc, x, x_offset, y, y_offset, mask):
    """acc + x y, elementwise."""
    x_value = tile.load(x, x_offset, mask).to(acc.dtype)
    y_value = tile.load(y, y_offset, mask).to(acc.dtype)
    return acc + x_value * y_value


@triton.jit
def add_complex(re, im, x, x_offset, y, y_offset, mask, CONJ_X: tl.constexpr, CONJ_Y: tl.constexpr):
    """(re, im) + op(x) op(y), elementwise."""
    x_re, x_im = tile.load_pair(x, x_offset, mask)
    y_re, y_im = tile.load_pair(y, y_offset, mask)
    if CONJ_X:
        x_im = -x_im
    if CONJ_Y:
        y_im = -y_im
    re = re + x_re * y_re - x_im * y_im
    im = im + x_re * y_im + x_im * y_re
    return re, im


@triton.jit
def sum_partials(partial, splits, COMPLEX: tl.constexpr, MAX_SPLITS: tl.constexpr):
    """The sum of the partial sums, read from L2, where the other programs left them."""
    i = tl.arange(0, MAX_SPLITS)
    mask = i < splits
    if COMPLEX:
        re = tl.sum(tl.load(partial + 2 * i, mask=mask, other=0, cache_modifier=".cg"))
        im = tl.sum(tl.load(partial + 2 * i + 1, mask=mask, other=0, cache_modifier=".cg"))
    else:
        re = tl.sum(tl.load(partial + i, mask=mask, other=0, cache_modifier=".cg"))
        im = re
    return re, im


@triton.jit
def store_sum(pointer, offset, re, im, COMPLEX: tl.constexpr, NEGATE: tl.constexpr):
    """Store one sum, or its negative."""
    if NEGATE:
        re = -re
        im = -im
    if COMPLEX:
        tile.store(pointer, 2 * offset, re)
        tile.store(pointer, 2 * offset + 1, im)
    else:
        tile.store(pointer, offset, re)
