"""Element-wise vector updates: y := alpha x + beta y, and [x y] := H [x y]."""

import triton
import triton.language as tl

from tileblas.kernels import tile


@triton.jit
def combine_kernel(
    x, y, alpha, alpha_im, beta, beta_im, n, x_inc, y_inc, inner, x_b0, x_b1, y_b0, y_b1, blocks,
    COMPLEX: tl.constexpr, CONJ_X: tl.constexpr, NEGATE: tl.constexpr, CONJ_SCALARS: tl.constexpr,
    ALPHA_KIND: tl.constexpr, BETA_KIND: tl.constexpr, IDLE: tl.constexpr,
    POLICY: tl.constexpr, BATCHED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """y := (+-) alpha op(x) + beta y, for each batch member, one block of it a program.

    copy and axpby as they stand, axpy with the kind "one" of beta, scal without x: the kind "zero"
    says that the term is not there and its vector not read. A scalar behind a pointer may turn out
    to leave y as it is, if IDLE says so: alpha = 0 in "axpy", beta = 1 in "scal". In axpby, which
    has neither name, it may be 0: its vector is then not read. POLICY says how long L2 should keep
    what is read.
    """
    batch, block = tile.position(tl.program_id(0), blocks, BATCHED, True)
    COMPUTE: tl.constexpr = tile.compute_type(y.dtype)
    alpha = tile.load_scalar(alpha, alpha_im, COMPUTE, tile.number_kind(ALPHA_KIND))
    beta = tile.load_scalar(beta, beta_im, COMPUTE, tile.number_kind(BETA_KIND))
    x_end = n
    y_end = n
    # Of numbers that the host knows no variant has these branches: they cost short vectors time.
    if tile.on_device(ALPHA_KIND):
        if IDLE == "axpy":
            if tile.is_zero(alpha):
                return
        else:
            x_end = tl.where(tile.is_zero(alpha), 0, n)
    if tile.on_device(BETA_KIND):
        if IDLE == "scal":
            if tile.is_one(beta):
                return
        else:
            y_end = tl.where(tile.is_zero(beta), 0, n)
    alpha = tile.orient(alpha, NEGATE, CONJ_SCALARS)
    beta = tile.orient(beta, False, CONJ_SCALARS)

    if ALPHA_KIND != "zero":
        x = tile.batch_base(x, batch, inner, x_b0, x_b1, COMPLEX)
    y = tile.batch_base(y, batch, inner, y_b0, y_b1, COMPLEX)
    i = block.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    # A mask narrows loads and stores, so only a short block, and a scalar of 0, has one.
    if (block + 1).to(tl.int64) * BLOCK <= tl.minimum(x_end, y_end):
        combine(
            alpha, x, i * x_inc, None, beta, y, i * y_inc, None, None,
            COMPLEX, CONJ_X, NEGATE, ALPHA_KIND, BETA_KIND, POLICY,
        )  # fmt: skip
    else:
        combine(
            alpha, x, i * x_inc, i < x_end, beta, y, i * y_inc, i < y_end, i < n,
            COMPLEX, CONJ_X, NEGATE, ALPHA_KIND, BETA_KIND, POLICY,
        )  # fmt: skip


@triton.jit
def combine(
    alpha, x, x_offset, x_mask, beta, y, y_offset, y_mask, mask,
    COMPLEX: tl.constexpr, CONJ_X: tl.constexpr, NEGATE: tl.constexpr,
    ALPHA_KIND: tl.constexpr, BETA_KIND: tl.constexpr, POLICY: tl.constexpr,
):  # fmt: skip
    """y := alpha op(x) + beta y on one block; 0 where neither term is there."""
    COMPUTE: tl.constexpr = tile.compute_type(y.dtype)
    if COMPLEX:
        re = tl.zeros(y_offset.shape, COMPUTE)
        im = re
        if BETA_KIND != "zero":
            re, im = tile.load_pair(y, y_offset, y_mask, POLICY)
            re, im = scaled_pair(beta, re, im, False, BETA_KIND)
        if ALPHA_KIND != "zero":
            x_re, x_im = tile.load_pair(x, x_offset, x_mask, POLICY)
            if CONJ_X:
                x_im = -x_im
            x_re, x_im = scaled_pair(alpha, x_re, x_im, NEGATE, ALPHA_KIND)
            if BETA_KIND != "zero":
                x_re += re
                x_im += im
            re = x_re
            im = x_im
        tile.store_pair(y, y_offset, re, im, mask)
    elif ALPHA_KIND == "zero" and BETA_KIND == "zero":
        tile.store(y, y_offset, tl.zeros(y_offset.shape, COMPUTE), mask)
    elif ALPHA_KIND == "zero":
        old = tile.load(y, y_offset, y_mask, POLICY)
        tile.store(y, y_offset, scaled(beta, old, y, False, BETA_KIND), mask)
    else:
        value = scaled(alpha, tile.load(x, x_offset, x_mask, POLICY), y, NEGATE, ALPHA_KIND)
        if BETA_KIND == "zero":
            tile.store(y, y_offset, value, mask)
        else:
            old = scaled(beta, tile.load(y, y_offset, y_mask, POLICY), y, False, BETA_KIND)
            tile.store(y, y_offset, value.to(COMPUTE) + old.to(COMPUTE), mask)


@triton.jit
def scaled(scalar, value, y, NEGATE: tl.constexpr, KIND: tl.constexpr):
    """scalar value in the compute type; of kind "one" the value as it was loaded, or negated."""
    if KIND == "one":
        if NEGATE:
            value = -value
        return value
    else:
        return tile.scale(scalar, value.to(tile.compute_type(y.dtype)))


@triton.jit
def scaled_pair(scalar, re, im, NEGATE: tl.constexpr, KIND: tl.constexpr):
    """A scalar times complex values as (re, im)."""
    if KIND == "one":
        if NEGATE:
            re = -re
            im = -im
        return re, im
    else:
        return tile.scale_pair(scalar, re, im, KIND)


@triton.jit
def transform_kernel(
    x, y, c, s, s_im, flag, h11, h21, h12, h22, n, x_inc, y_inc,
    inner, x_b0, x_b1, y_b0, y_b1, blocks,
    OP: tl.constexpr, COMPLEX: tl.constexpr, CONJ_X: tl.constexpr, NEGATE: tl.constexpr,
    CONJ_SCALARS: tl.constexpr, C_KIND: tl.constexpr, S_KIND: tl.constexpr,
    FLAG_KIND: tl.constexpr, H11_KIND: tl.constexpr, H21_KIND: tl.constexpr,
    H12_KIND: tl.constexpr, H22_KIND: tl.constexpr,
    POLICY: tl.constexpr, BATCHED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """[op(x) y] := H [op(x) y], for each batch member, one block of it a program.

    OP "swap" exchanges the two; "rot" is the plane rotation [c s; -conj(s) c], real c; "rotm" the
    modified one, whose elements `flag` completes: -1 all four are given, 0 the diagonal is 1, 1 the
    other one is 1 and -1, -2 nothing is done. NEGATE says that one of the two vectors is stored
    negated, which turns the signs off the diagonal.
    """
    batch, block = tile.position(tl.program_id(0), blocks, BATCHED, True)
    COMPUTE: tl.constexpr = tile.compute_type(y.dtype)
    first = (tile.to_scalar(1, COMPUTE), tile.to_scalar(0, COMPUTE))
    second = first
    third = first
    last = first
    if OP == "rot":
        first = tile.load_scalar(c, 0, COMPUTE, C_KIND)
        last = first
        second = tile.load_scalar(s, s_im, COMPUTE, S_KIND)
        second = tile.orient(second, NEGATE, CONJ_SCALARS)
        third = tile.orient(second, True, True)
    if OP == "rotm":
        kind = tile.load_scalar(flag, 0, COMPUTE, FLAG_KIND)[0]
        if kind == -2:
            return
        one = tile.to_scalar(1, COMPUTE)
        zero = tile.to_scalar(0, COMPUTE)
        a11 = tile.load_scalar(h11, 0, COMPUTE, H11_KIND)[0]
        a21 = tile.load_scalar(h21, 0, COMPUTE, H21_KIND)[0]
        a12 = tile.load_scalar(h12, 0, COMPUTE, H12_KIND)[0]
        a22 = tile.load_scalar(h22, 0, COMPUTE, H22_KIND)[0]
        others = (kind < 0) | (kind == 0)  # those off the diagonal are given
        first = (tl.where(kind == 0, one, a11), zero)
        second = tile.orient((tl.where(others, a12, one), zero), NEGATE, False)
        third = tile.orient((tl.where(others, a21, -one), zero), NEGATE, False)
        last = (tl.where(kind == 0, one, a22), zero)

    x = tile.batch_base(x, batch, inner, x_b0, x_b1, COMPLEX)
    y = tile.batch_base(y, batch, inner, y_b0, y_b1, COMPLEX)
    i = block.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    if (block + 1).to(tl.int64) * BLOCK <= n:
        transform(
            x, i * x_inc, y, i * y_inc, None, first, second, third, last,
            OP, COMPLEX, CONJ_X, NEGATE, S_KIND, POLICY,
        )  # fmt: skip
    else:
        transform(
            x, i * x_inc, y, i * y_inc, i < n, first, second, third, last,
            OP, COMPLEX, CONJ_X, NEGATE, S_KIND, POLICY,
        )  # fmt: skip


@triton.jit
def transform(
    x, x_offset, y, y_offset, mask, h11, h12, h21, h22,
    OP: tl.constexpr, COMPLEX: tl.constexpr, CONJ_X: tl.constexpr, NEGATE: tl.constexpr,
    S_KIND: tl.constexpr, POLICY: tl.constexpr,
):  # fmt: skip
    """[op(x) y] := H [op(x) y] on one block. y is stored first: where x is y, x counts."""
    if COMPLEX:
        x_re, x_im = tile.load_pair(x, x_offset, mask, POLICY)
        y_re, y_im = tile.load_pair(y, y_offset, mask, POLICY)
        if CONJ_X:
            x_im = -x_im
        if OP == "swap":
            re, im = signed_pair(y_re, y_im, NEGATE)
            y_re, y_im = signed_pair(x_re, x_im, NEGATE)
        else:
            re, im = tile.scale_pair(h12, y_re, y_im, S_KIND)
            re += h11[0] * x_re
            im += h11[0] * x_im
            x_re, x_im = tile.scale_pair(h21, x_re, x_im, S_KIND)
            y_re = h22[0] * y_re + x_re
            y_im = h22[0] * y_im + x_im
        if CONJ_X:
            im = -im
        tile.store_pair(y, y_offset, y_re, y_im, mask)
        tile.store_pair(x, x_offset, re, im, mask)
    else:
        x_value = tile.load(x, x_offset, mask, POLICY)
        y_value = tile.load(y, y_offset, mask, POLICY)
        if OP == "swap":
            if NEGATE:
                x_value = -x_value
                y_value = -y_value
            tile.store(y, y_offset, x_value, mask)
            tile.store(x, x_offset, y_value, mask)
        else:
            x_value = x_value.to(tile.compute_type(y.dtype))
            y_value = y_value.to(tile.compute_type(y.dtype))
            tile.store(y, y_offset, h21[0] * x_value + h22[0] * y_value, mask)
            tile.store(x, x_offset, h11[0] * x_value + h12[0] * y_value, mask)


@triton.jit
def signed_pair(re, im, NEGATE: tl.constexpr):
    """(re, im), or its negative."""
    if NEGATE:
        re = -re
        im = -im
    return re, im
