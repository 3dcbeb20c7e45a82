"""Reductions to one value per batch member: sums of products, magnitudes and squares, extrema.

Each lane of a program keeps up to three running values (a, b, c), which mean by operation

- "dot"             re, im of the sum
- "asum"            the sum
- "nrm2"            sums of squares: of medium, small and big elements
- "iamax", "iamin"  the best key so far and where it was found

`start`, one of the `add_*`, `collapse` and `finish` are all that tells one operation from another.
"""

import triton
import triton.language as tl

from tileblas.kernels import extrema, tile


@triton.jit
def reduce_kernel(
    x, y, out, partial, arrived, alpha, n, x_inc, y_inc,
    inner, x_b0, x_b1, y_b0, y_b1, out_b0, out_b1, splits,
    OP: tl.constexpr, COMPLEX: tl.constexpr, CONJ_X: tl.constexpr, CONJ_Y: tl.constexpr,
    NEGATE: tl.constexpr, ALPHA_KIND: tl.constexpr, WIDE: tl.constexpr, POLICY: tl.constexpr,
    BATCHED: tl.constexpr, SPLIT: tl.constexpr, BLOCK: tl.constexpr, MAX_SPLITS: tl.constexpr,
):  # fmt: skip
    """out := the reduction OP of x, or of x and y, for each batch member.

    `splits` programs share a batch member, more than one where SPLIT: each reduces every splits-th
    block, and the last one to arrive combines what they have left in a fixed order, whatever the
    order of arrival. BATCHED says that there is more than one member. WIDE asks for sums of
    products in float64 (dsdot); alpha is added to the last one (sdsdot). POLICY says how long L2
    should keep what is read.
    """
    batch, split = tile.position(tl.program_id(0), splits, BATCHED, SPLIT)
    x = tile.batch_base(x, batch, inner, x_b0, x_b1, COMPLEX)
    if OP == "dot":
        y = tile.batch_base(y, batch, inner, y_b0, y_b1, COMPLEX)
    out = tile.batch_base(out, batch, inner, out_b0, out_b1, COMPLEX and OP == "dot")

    a, b, c = start(x, OP, WIDE, BLOCK)
    lanes = tl.arange(0, BLOCK).to(tl.int64)
    whole = (n // BLOCK).to(tl.int32)
    end = whole.to(tl.int64) * BLOCK
    # Only the last block can be short, and only that one is masked, since a mask narrows loads.
    for first in range(split.to(tl.int64) * BLOCK, end, splits * BLOCK):
        i = first + lanes
        a, b, c = add_block(
            a, b, c, x, i * x_inc, y, i * y_inc, i, None, OP, COMPLEX, CONJ_X, CONJ_Y, POLICY
        )
    if tile.has_last(whole, split, splits, SPLIT):
        i = end + lanes
        a, b, c = add_block(
            a, b, c, x, i * x_inc, y, i * y_inc, i, i < n, OP, COMPLEX, CONJ_X, CONJ_Y, POLICY
        )
    a, b, c = collapse(a, b, c, OP)

    PARTS: tl.constexpr = parts(OP, COMPLEX, x.dtype)
    if SPLIT:
        partial += batch.to(tl.int64) * splits * PARTS
        leave(partial + split * PARTS, a, b, c, PARTS)
        if tile.arrives_last(arrived + batch, splits):
            all_a, all_b, all_c = gather(partial, splits, a, PARTS, MAX_SPLITS)
            all_a, all_b, all_c = collapse(all_a, all_b, all_c, OP)
            finish(out, all_a, all_b, all_c, alpha, x, OP, COMPLEX, NEGATE, ALPHA_KIND)
            tl.store(arrived + batch, 0)
    else:
        finish(out, a, b, c, alpha, x, OP, COMPLEX, NEGATE, ALPHA_KIND)


@triton.jit
def axpydot_kernel(
    w, v, u, z, out, partial, arrived, alpha, alpha_im, n, w_inc, v_inc, u_inc, z_inc,
    inner, w_b0, w_b1, v_b0, v_b1, u_b0, u_b1, z_b0, z_b1, out_b0, out_b1, splits,
    COMPLEX: tl.constexpr, CONJ_W: tl.constexpr, CONJ_V: tl.constexpr, CONJ_U: tl.constexpr,
    ALPHA_KIND: tl.constexpr, POLICY: tl.constexpr, BATCHED: tl.constexpr, SPLIT: tl.constexpr,
    BLOCK: tl.constexpr, MAX_SPLITS: tl.constexpr,
):  # fmt: skip
    """z := w - alpha v, out := sum_i z_i u_i in one pass, for each batch member.

    The programs share a member as in `reduce_kernel`. With alpha = 0, v is not read. z may be one
    of the other vectors: an element is written by the program that has read it.
    """
    batch, split = tile.position(tl.program_id(0), splits, BATCHED, SPLIT)
    w = tile.batch_base(w, batch, inner, w_b0, w_b1, COMPLEX)
    v = tile.batch_base(v, batch, inner, v_b0, v_b1, COMPLEX)
    u = tile.batch_base(u, batch, inner, u_b0, u_b1, COMPLEX)
    z = tile.batch_base(z, batch, inner, z_b0, z_b1, COMPLEX)
    out = tile.batch_base(out, batch, inner, out_b0, out_b1, COMPLEX)
    alpha = tile.load_scalar(alpha, alpha_im, tile.compute_type(w.dtype), ALPHA_KIND)
    v_end = tl.where(tile.is_zero(alpha), 0, n)
    alpha = tile.orient(alpha, True, False)

    a, b, c = start(w, "dot", False, BLOCK)
    lanes = tl.arange(0, BLOCK).to(tl.int64)
    whole = (tl.minimum(n, v_end) // BLOCK).to(tl.int32)
    end = whole.to(tl.int64) * BLOCK
    for first in range(split.to(tl.int64) * BLOCK, end, splits * BLOCK):
        i = first + lanes
        a, b = update_and_add(
            a, b, alpha, w, i * w_inc, v, i * v_inc, None, u, i * u_inc, z, i * z_inc, None,
            COMPLEX, CONJ_W, CONJ_V, CONJ_U, ALPHA_KIND, POLICY,
        )  # fmt: skip
    # What is left is one short block, or all of them where alpha is 0.
    first_left = end + split.to(tl.int64) * BLOCK
    for first in range(first_left, n, splits * BLOCK):
        i = first + lanes
        a, b = update_and_add(
            a, b, alpha, w, i * w_inc, v, i * v_inc, i < v_end, u, i * u_inc, z, i * z_inc, i < n,
            COMPLEX, CONJ_W, CONJ_V, CONJ_U, ALPHA_KIND, POLICY,
        )  # fmt: skip
    a, b, c = collapse(a, b, c, "dot")

    PARTS: tl.constexpr = parts("dot", COMPLEX, w.dtype)
    if SPLIT:
        partial += batch.to(tl.int64) * splits * PARTS
        leave(partial + split * PARTS, a, b, c, PARTS)
        if tile.arrives_last(arrived + batch, splits):
            all_a, all_b, all_c = gather(partial, splits, a, PARTS, MAX_SPLITS)
            all_a, all_b, all_c = collapse(all_a, all_b, all_c, "dot")
            finish(out, all_a, all_b, all_c, 0, w, "dot", COMPLEX, False, "zero")
            tl.store(arrived + batch, 0)
    else:
        finish(out, a, b, c, 0, w, "dot", COMPLEX, False, "zero")


@triton.jit
def update_and_add(
    re, im, alpha, w, w_offset, v, v_offset, v_mask, u, u_offset, z, z_offset, mask,
    COMPLEX: tl.constexpr, CONJ_W: tl.constexpr, CONJ_V: tl.constexpr, CONJ_U: tl.constexpr,
    ALPHA_KIND: tl.constexpr, POLICY: tl.constexpr,
):  # fmt: skip
    """z := alpha v + w on one block; (re, im) + z u, of z as it is stored."""
    if COMPLEX:
        w_re, w_im = tile.load_pair(w, w_offset, mask, POLICY)
        v_re, v_im = tile.load_pair(v, v_offset, v_mask, POLICY)
        u_re, u_im = tile.load_pair(u, u_offset, mask, POLICY)
        if CONJ_W:
            w_im = -w_im
        if CONJ_V:
            v_im = -v_im
        if CONJ_U:
            u_im = -u_im
        z_re, z_im = tile.scale_pair(alpha, v_re, v_im, ALPHA_KIND)
        z_re += w_re
        z_im += w_im
        tile.store_pair(z, z_offset, z_re, z_im, mask)
        re = re + z_re * u_re - z_im * u_im
        im = im + z_re * u_im + z_im * u_re
    else:
        w_value = tile.load(w, w_offset, mask, POLICY).to(re.dtype)
        v_value = tile.load(v, v_offset, v_mask, POLICY).to(re.dtype)
        u_value = tile.load(u, u_offset, mask, POLICY).to(re.dtype)
        z_value = tile.rounded(tile.scale(alpha, v_value) + w_value, z)
        tile.store(z, z_offset, z_value, mask)
        re = re + z_value * u_value
    return re, im


# ---- what the operations share ------------------------------------------------------------------


@triton.constexpr_function
def parts(op, is_complex, pointer_type):
    """How many of the running values an operation has."""
    if op == "nrm2":
        return 3 if pointer_type.element_ty == tl.float64 else 1
    return 2 if op in ("iamax", "iamin") or (op == "dot" and is_complex) else 1


@triton.jit
def start(x, OP: tl.constexpr, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    """The running values before the first element."""
    if OP == "iamax" or OP == "iamin":
        key = tl.zeros((BLOCK,), extrema.key_type(x.dtype))
        place = tl.zeros((BLOCK,), tl.int64)
        return key, place, place
    else:
        SUM: tl.constexpr = sum_type(x.dtype, OP, WIDE)
        zero = tl.zeros((BLOCK,), SUM)
        return zero, zero, zero


@triton.constexpr_function
def sum_type(pointer_type, op, wide):
    """The type that sums are accumulated in: squares in float64, which holds those of float32."""
    return tl.float64 if wide or op == "nrm2" else tile.compute_type(pointer_type)


@triton.jit
def add_block(
    a, b, c, x, x_offset, y, y_offset, i, mask,
    OP: tl.constexpr, COMPLEX: tl.constexpr, CONJ_X: tl.constexpr, CONJ_Y: tl.constexpr,
    POLICY: tl.constexpr,
):  # fmt: skip
    """The running values with the elements i of one block."""
    if OP == "dot":
        a, b = add_products(a, b, x, x_offset, y, y_offset, mask, COMPLEX, CONJ_X, CONJ_Y, POLICY)
    elif OP == "asum":
        a = add_magnitudes(a, x, x_offset, mask, COMPLEX, POLICY)
    elif OP == "nrm2":
        a, b, c = add_squares(a, b, c, x, x_offset, mask, COMPLEX, POLICY)
    else:
        tl.static_assert(OP == "iamax" or OP == "iamin")
        a, b = extrema.pick_better(a, b, x, x_offset, i, mask, OP, COMPLEX, POLICY)
    return a, b, c


@triton.jit
def collapse(a, b, c, OP: tl.constexpr):
    """The running values of all lanes as one of each."""
    if OP == "iamax" or OP == "iamin":
        best = tl.max(a)
        place = tl.min(tl.where(a == best, b, 0x7FFFFFFFFFFFFFFF))
        return best, place, place
    else:
        return tl.sum(a), tl.sum(b), tl.sum(c)


@triton.jit
def leave(pointer, a, b, c, PARTS: tl.constexpr):
    """Store the running values of a program, each in 64 bits."""
    store_part(pointer, a)
    if PARTS > 1:
        store_part(pointer + 1, b)
    if PARTS > 2:
        store_part(pointer + 2, c)


@triton.jit
def store_part(pointer, value):
    if pointer.dtype.element_ty == tl.int64:
        tl.store(pointer, value.to(tl.int64))  # a key with the highest bit set becomes negative
    else:
        tl.store(pointer, value.to(tl.float64))


@triton.jit
def gather(partial, splits, like, PARTS: tl.constexpr, MAX_SPLITS: tl.constexpr):
    """The running values that the programs of a member have left, a lane for each program.

    They are read from L2, where the other programs left them. Keys have the type of `like` again.
    """
    i = tl.arange(0, MAX_SPLITS)
    pointers = partial + i * PARTS
    a = tl.load(pointers, mask=i < splits, other=0, cache_modifier=".cg")
    b = a
    c = a
    if PARTS > 1:
        b = tl.load(pointers + 1, mask=i < splits, other=0, cache_modifier=".cg")
    if PARTS > 2:
        c = tl.load(pointers + 2, mask=i < splits, other=0, cache_modifier=".cg")
    if partial.dtype.element_ty == tl.int64:
        a = a.to(like.dtype)
    return a, b, c


@triton.jit
def finish(
    out, a, b, c, alpha, x,
    OP: tl.constexpr, COMPLEX: tl.constexpr, NEGATE: tl.constexpr, ALPHA_KIND: tl.constexpr,
):  # fmt: skip
    """Store the result of a member."""
    if OP == "iamax" or OP == "iamin":
        tile.store(out, 0, b)
    elif OP == "nrm2":
        store_root(out, a, b, c, x.dtype.element_ty == tl.float64)
    elif OP == "asum":
        tile.store(out, 0, a.to(tile.compute_type(out.dtype)))
    else:
        if NEGATE:
            a = -a
            b = -b
        if ALPHA_KIND != "zero":
            a += tile.load_scalar(alpha, 0, tl.float64, ALPHA_KIND)[0]
        tile.store(out, 0, a.to(tile.compute_type(out.dtype)))
        if COMPLEX:
            tile.store(out, 1, b.to(tile.compute_type(out.dtype)))


# ---- sums of products, of magnitudes, of squares ------------------------------------------------


@triton.jit
def add_products(
    re, im, x, x_offset, y, y_offset, mask,
    COMPLEX: tl.constexpr, CONJ_X: tl.constexpr, CONJ_Y: tl.constexpr, POLICY: tl.constexpr,
):  # fmt: skip
    """(re, im) + op(x) op(y), elementwise."""
    if COMPLEX:
        x_re, x_im = tile.load_pair(x, x_offset, mask, POLICY)
        y_re, y_im = tile.load_pair(y, y_offset, mask, POLICY)
        if CONJ_X:
            x_im = -x_im
        if CONJ_Y:
            y_im = -y_im
        re = re + x_re * y_re - x_im * y_im
        im = im + x_re * y_im + x_im * y_re
    else:
        x_value = tile.load(x, x_offset, mask, POLICY).to(re.dtype)
        y_value = tile.load(y, y_offset, mask, POLICY).to(re.dtype)
        re = re + x_value * y_value
    return re, im


@triton.jit
def add_magnitudes(total, x, offset, mask, COMPLEX: tl.constexpr, POLICY: tl.constexpr):
    """total + |re| + |im|, elementwise."""
    if COMPLEX:
        re, im = tile.load_pair(x, offset, mask, POLICY)
        return total + tl.abs(re) + tl.abs(im)
    else:
        return total + tl.abs(tile.load(x, offset, mask, POLICY).to(total.dtype))


# Squares of float64 may overflow or underflow. So there are three sums: of the squares of big
# numbers times SCALE_BIG, of small ones times SCALE_SMALL, and of those between as they are.
# The constants are those of Anderson, Algorithm 978 (2017), which netlib's dnrm2 uses too.
# Squares of float32 and narrower types are exact in float64, and are added there.
BIG = tl.constexpr(2.0**486)
SMALL = tl.constexpr(2.0**-511)
SCALE_BIG = tl.constexpr(2.0**-538)
SCALE_SMALL = tl.constexpr(2.0**537)


@triton.jit
def add_squares(medium, small, big, x, offset, mask, COMPLEX: tl.constexpr, POLICY: tl.constexpr):
    """(medium, small, big) + |x|^2, elementwise."""
    SCALED: tl.constexpr = x.dtype.element_ty == tl.float64
    if COMPLEX:
        re, im = tile.load_pair(x, offset, mask, POLICY)
        medium, small, big = add_square(medium, small, big, re, SCALED)
        medium, small, big = add_square(medium, small, big, im, SCALED)
    else:
        value = tile.load(x, offset, mask, POLICY)
        medium, small, big = add_square(medium, small, big, value, SCALED)
    return medium, small, big


@triton.jit
def add_square(medium, small, big, value, SCALED: tl.constexpr):
    """(medium, small, big) + value^2, where it belongs. A NaN is medium, an infinity big."""
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
    return medium, small, big


@triton.jit
def store_root(pointer, medium, small, big, SCALED: tl.constexpr):
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
