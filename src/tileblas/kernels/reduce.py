"""Reductions to one value per batch member: dot products and Euclidean norms."""

import triton
import triton.language as tl

from tileblas.kernels import tile


@triton.jit
def dot_kernel(
    x, y, out, partial, arrived, n, x_inc, y_inc,
    inner, x_b0, x_b1, y_b0, y_b1, out_b0, out_b1, splits,
    COMPLEX: tl.constexpr, CONJ_X: tl.constexpr, CONJ_Y: tl.constexpr, NEGATE: tl.constexpr,
    BATCHED: tl.constexpr, SPLIT: tl.constexpr, BLOCK: tl.constexpr, MAX_SPLITS: tl.constexpr,
):  # fmt: skip
    """out := (+-) sum_i op(x_i) op(y_i), for each batch member.

    `splits` programs share a batch member, more than one where SPLIT: each sums every splits-th
    block, and the last one to arrive adds the partial sums in a fixed order, whatever the order of
    arrival. BATCHED says that there is more than one member.
    """
    batch, split = tile.position(tl.program_id(0), splits, BATCHED, SPLIT)
    x = tile.batch_base(x, batch, inner, x_b0, x_b1, COMPLEX)
    y = tile.batch_base(y, batch, inner, y_b0, y_b1, COMPLEX)
    out = tile.batch_base(out, batch, inner, out_b0, out_b1, COMPLEX)

    re, im = sum_products(
        x, y, n, x_inc, y_inc, split, splits, COMPLEX, CONJ_X, CONJ_Y, SPLIT, BLOCK
    )
    if not SPLIT:
        store_sum(out, 0, re, im, COMPLEX, NEGATE)
    else:
        partial = tile.advance(partial, batch.to(tl.int64) * splits, COMPLEX)
        store_sum(partial, split, re, im, COMPLEX, False)
        if tile.arrives_last(arrived + batch, splits):
            PARTS: tl.constexpr = 2 if COMPLEX else 1
            re = add_partials(partial, 0, PARTS, splits, MAX_SPLITS)
            im = re
            if COMPLEX:
                im = add_partials(partial, 1, PARTS, splits, MAX_SPLITS)
            store_sum(out, 0, re, im, COMPLEX, NEGATE)
            tl.store(arrived + batch, 0)


@triton.jit
def sum_products(
    x, y, n, x_inc, y_inc, split, splits,
    COMPLEX: tl.constexpr, CONJ_X: tl.constexpr, CONJ_Y: tl.constexpr,
    SPLIT: tl.constexpr, BLOCK: tl.constexpr,
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
    if tile.has_last(whole, split, splits, SPLIT):
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
def add_partials(partial, part, PARTS: tl.constexpr, splits, MAX_SPLITS: tl.constexpr):
    """The sum over the splits of one of the PARTS numbers that each of them left.

    They are read from L2, where the other programs left them.
    """
    i = tl.arange(0, MAX_SPLITS)
    pointers = partial + i * PARTS + part
    return tl.sum(tl.load(pointers, mask=i < splits, other=0, cache_modifier=".cg"))


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


# Squares of float64 may overflow or underflow. So there are three sums: of the squares of big
# numbers times SCALE_BIG, of small ones times SCALE_SMALL, and of those between as they are.
# The constants are those of Anderson, Algorithm 978 (2017), which netlib's dnrm2 uses too.
BIG = tl.constexpr(2.0**486)
SMALL = tl.constexpr(2.0**-511)
SCALE_BIG = tl.constexpr(2.0**-538)
SCALE_SMALL = tl.constexpr(2.0**537)


@triton.jit
def nrm2_kernel(
    x, out, partial, arrived, n, x_inc, inner, x_b0, x_b1, out_b0, out_b1, splits,
    COMPLEX: tl.constexpr, BATCHED: tl.constexpr, SPLIT: tl.constexpr,
    BLOCK: tl.constexpr, MAX_SPLITS: tl.constexpr,
):  # fmt: skip
    """out := sqrt(sum_i |x_i|^2), for each batch member, shared by `splits` programs as in dot.

    Squares of float32 and narrower types are exact in float64, and are added there.
    """
    batch, split = tile.position(tl.program_id(0), splits, BATCHED, SPLIT)
    x = tile.batch_base(x, batch, inner, x_b0, x_b1, COMPLEX)
    out = tile.batch_base(out, batch, inner, out_b0, out_b1, False)

    SCALED: tl.constexpr = x.dtype.element_ty == tl.float64
    small, medium, big = sum_squares(x, n, x_inc, split, splits, COMPLEX, SCALED, SPLIT, BLOCK)
    if not SPLIT:
        store_root(out, small, medium, big, SCALED)
    else:
        PARTS: tl.constexpr = 3 if SCALED else 1
        partial += batch.to(tl.int64) * splits * PARTS
        tl.store(partial + split * PARTS, medium)
        if SCALED:
            tl.store(partial + split * PARTS + 1, small)
            tl.store(partial + split * PARTS + 2, big)
        if tile.arrives_last(arrived + batch, splits):
            medium = add_partials(partial, 0, PARTS, splits, MAX_SPLITS)
            if SCALED:
                small = add_partials(partial, 1, PARTS, splits, MAX_SPLITS)
                big = add_partials(partial, 2, PARTS, splits, MAX_SPLITS)
            store_root(out, small, medium, big, SCALED)
            tl.store(arrived + batch, 0)


@triton.jit
def sum_squares(
    x, n, x_inc, split, splits,
    COMPLEX: tl.constexpr, SCALED: tl.constexpr, SPLIT: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """The sums of squares over blocks split, split + splits, ... of [0, n) as (small, medium, big).

    Not SCALED: medium is the sum of all.
    """
    lanes = tl.arange(0, BLOCK).to(tl.int64)
    medium = tl.zeros((BLOCK,), tl.float64)
    small = medium
    big = medium
    whole = (n // BLOCK).to(tl.int32)
    end = whole.to(tl.int64) * BLOCK
    for start in range(split.to(tl.int64) * BLOCK, end, splits * BLOCK):
        offset = (start + lanes) * x_inc
        small, medium, big = add_elements(small, medium, big, x, offset, None, COMPLEX, SCALED)
    if tile.has_last(whole, split, splits, SPLIT):
        i = end + lanes
        small, medium, big = add_elements(small, medium, big, x, i * x_inc, i < n, COMPLEX, SCALED)
    medium = tl.sum(medium)
    if SCALED:
        small = tl.sum(small)
        big = tl.sum(big)
    else:
        small = medium
        big = medium
    return small, medium, big


@triton.jit
def add_elements(small, medium, big, x, offset, mask, COMPLEX: tl.constexpr, SCALED: tl.constexpr):
    """(small, medium, big) + |x|^2, elementwise."""
    if COMPLEX:
        re, im = tile.load_pair(x, offset, mask)
        small, medium, big = add_square(small, medium, big, re, SCALED)
        small, medium, big = add_square(small, medium, big, im, SCALED)
    else:
        value = tile.load(x, offset, mask)
        small, medium, big = add_square(small, medium, big, value, SCALED)
    return small, medium, big


@triton.jit
def add_square(small, medium, big, value, SCALED: tl.constexpr):
    """(small, medium, big) + value^2, where it belongs. A NaN is medium, an infinity big."""
    value = value.to(tl.float64)
    if SCALED:
        is_small = tl.abs(value) < SMALL
        is_big = tl.abs(value) > BIG
        scaled = tl.where(is_small, value * SCALE_SMALL, 0.0)
        small = small + scaled * scaled
        scaled = tl.where(is_big, value * SCALE_BIG, 0.0)
        big = big + scaled * scaled
        value = tl.where(is_small | is_big, 0.0, value)
    medium = medium + value * value
    return small, medium, big


@triton.jit
def store_root(pointer, small, medium, big, SCALED: tl.constexpr):
    """Store the root of the sum of all squares.

    Beside a medium square a small one counts in the last bits only, beside a big one not at all.
    """
    scale = tl.full((), 1.0, tl.float64)
    total = medium
    if SCALED:
        # The medium sum is NaN where an element is: so it counts unless it is exactly 0.
        scale = tl.where(big > 0, 1 / SCALE_BIG, tl.where(medium != 0, 1.0, 1 / SCALE_SMALL))
        all_small = tl.where(medium != 0, medium + small / SCALE_SMALL / SCALE_SMALL, small)
        total = tl.where(big > 0, big + medium * SCALE_BIG * SCALE_BIG, all_small)
    root = scale * tl.sqrt(total)  # tl.sqrt rounds correctly in float64, unlike in float32
    tile.store(pointer, 0, root.to(tile.compute_type(pointer.dtype)))
