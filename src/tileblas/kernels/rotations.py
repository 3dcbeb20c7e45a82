"""Givens rotations from their numbers: rotg, and rotmg for modified ones."""

import triton
import triton.language as tl

from tileblas.kernels import tile


@triton.jit
def rotg_kernel(
    a, b, c, s, z, r, n, a_inc, b_inc, c_inc, s_inc, z_inc, r_inc,
    inner, a_b0, a_b1, b_b0, b_b1, c_b0, c_b1, s_b0, s_b1, z_b0, z_b1, r_b0, r_b1, blocks,
    COMPLEX: tl.constexpr, BATCHED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """c, s, r with [c s; -conj(s) c] [a b] = [r 0], and for real numbers z, from which c and s can
    be had again; one block of each batch member a program.

    Everything is computed in float64 with powers of two taken out, so that nothing overflows or
    underflows but a result itself.
    """
    batch, block = tile.position(tl.program_id(0), blocks, BATCHED, True)
    i = block.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    a = tile.batch_base(a, batch, inner, a_b0, a_b1, COMPLEX)
    b = tile.batch_base(b, batch, inner, b_b0, b_b1, COMPLEX)
    c = tile.batch_base(c, batch, inner, c_b0, c_b1, False)
    s = tile.batch_base(s, batch, inner, s_b0, s_b1, COMPLEX)
    r = tile.batch_base(r, batch, inner, r_b0, r_b1, COMPLEX)
    if COMPLEX:
        a_re, a_im = tile.load_pair(a, i * a_inc, mask)
        b_re, b_im = tile.load_pair(b, i * b_inc, mask)
        cos, s_re, s_im, r_re, r_im = rotate_pair(
            a_re.to(tl.float64), a_im.to(tl.float64), b_re.to(tl.float64), b_im.to(tl.float64)
        )
        tile.store_pair(s, i * s_inc, s_re, s_im, mask)
        tile.store_pair(r, i * r_inc, r_re, r_im, mask)
    else:
        z = tile.batch_base(z, batch, inner, z_b0, z_b1, False)
        a_value = tile.load(a, i * a_inc, mask).to(tl.float64)
        b_value = tile.load(b, i * b_inc, mask).to(tl.float64)
        cos, sin, z_value, r_value = rotate(a_value, b_value, c.dtype.element_ty)
        tile.store(s, i * s_inc, sin, mask)
        tile.store(z, i * z_inc, z_value, mask)
        tile.store(r, i * r_inc, r_value, mask)
    tile.store(c, i * c_inc, cos, mask)


@triton.jit
def rotate(a, b, TYPE: tl.constexpr):
    """(c, s, z, r) of real numbers; r has the sign of the larger one.

    z tells from 1 that c is 0, which is as it will be stored.
    """
    size_a = tl.abs(a)
    size_b = tl.abs(b)
    scale = power_of_two(tl.maximum(size_a, size_b))
    x = a / scale
    y = b / scale
    h = tl.sqrt(x * x + y * y)
    h = tl.where(tl.where(size_a > size_b, x, y) < 0, -h, h)
    a_is_all = b == 0
    b_is_all = (a == 0) & (b != 0)
    one = tl.full(a.shape, 1.0, tl.float64)
    zero = tl.full(a.shape, 0.0, tl.float64)
    c = tl.where(a_is_all, one, tl.where(b_is_all, zero, x / h))
    s = tl.where(a_is_all, zero, tl.where(b_is_all, one, y / h))
    r = tl.where(a_is_all, a, tl.where(b_is_all, b, h * scale))
    z = tl.where(size_a > size_b, s, tl.where(rounded(c, TYPE) != 0, 1 / c, one))
    z = tl.where(a_is_all, zero, z)
    return c, s, z, r


@triton.jit
def rotate_pair(a_re, a_im, b_re, b_im):
    """(c, s_re, s_im, r_re, r_im) of complex numbers; c is real, r has the phase of a."""
    size_a = tl.maximum(tl.abs(a_re), tl.abs(a_im))
    size_b = tl.maximum(tl.abs(b_re), tl.abs(b_im))
    scale = power_of_two(tl.maximum(size_a, size_b))
    scale_a = power_of_two(size_a)
    x_re = a_re / scale_a
    x_im = a_im / scale_a
    b_re = b_re / scale
    b_im = b_im / scale
    modulus = tl.sqrt(x_re * x_re + x_im * x_im)
    a_is_none = modulus == 0
    one = tl.full(a_re.shape, 1.0, tl.float64)
    zero = tl.full(a_re.shape, 0.0, tl.float64)
    phase_re = tl.where(a_is_none, one, x_re / modulus)
    phase_im = tl.where(a_is_none, zero, x_im / modulus)
    ratio = scale_a / scale
    share = modulus * ratio  # |a| in the scale of the larger one, at most as large as h
    h = tl.sqrt(share * share + (b_re * b_re + b_im * b_im))
    # Without b it is the identity. The ratio comes last: what underflows then is c itself.
    is_identity = (b_re == 0) & (b_im == 0)
    c = tl.where(is_identity, one, modulus / h * ratio)
    h_or_one = tl.where(h == 0, one, h)
    s_re = (phase_re * b_re + phase_im * b_im) / h_or_one
    s_im = (phase_im * b_re - phase_re * b_im) / h_or_one
    r_re = tl.where(is_identity, a_re, phase_re * h * scale)
    r_im = tl.where(is_identity, a_im, phase_im * h * scale)
    return c, s_re, s_im, r_re, r_im


@triton.jit
def power_of_two(size):
    """The largest power of two that is no larger than `size`, which is not negative.

    At least the smallest normal number, at the most the largest power that there is.
    """
    bits = size.to(tl.int64, bitcast=True) & 0x7FF0000000000000
    bits = tl.minimum(tl.maximum(bits, 0x0010000000000000), 0x7FE0000000000000)
    return bits.to(tl.float64, bitcast=True)


# rotmg brings d1 and d2 between these by powers of GAM, as netlib's does.
GAM = tl.constexpr(4096.0)
LEAST = tl.constexpr(5.9604645e-8)
MOST = tl.constexpr(16777216.0)


@triton.jit
def rotmg_kernel(
    d1, d2, x1, y1, param, n, d1_inc, d2_inc, x1_inc, y1_inc, param_inc,
    inner, d1_b0, d1_b1, d2_b0, d2_b1, x1_b0, x1_b1, y1_b0, y1_b1, param_b0, param_b1, blocks,
    BATCHED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """param := (flag, h11, h21, h12, h22) of an H that makes the second element of H [x1 y1] vanish
    in the scale of sqrt(d1), sqrt(d2); d1, d2, x1 are updated; one block of each batch member a
    program.

    netlib's algorithm with every operation rounded to the operands' type, which decides whether u
    is positive: the compiler must not fuse products and sums. Unlike netlib's it ends for every
    input, and completes H once only (OpenMathLib/OpenBLAS#6031, #1452).
    """
    batch, block = tile.position(tl.program_id(0), blocks, BATCHED, True)
    i = block.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    d1 = tile.batch_base(d1, batch, inner, d1_b0, d1_b1, False) + i * d1_inc
    d2 = tile.batch_base(d2, batch, inner, d2_b0, d2_b1, False) + i * d2_inc
    x1 = tile.batch_base(x1, batch, inner, x1_b0, x1_b1, False) + i * x1_inc
    y1 = tile.batch_base(y1, batch, inner, y1_b0, y1_b1, False) + i * y1_inc
    param = tile.batch_base(param, batch, inner, param_b0, param_b1, False) + i * param_inc

    # float32 is computed in float64 and rounded after each operation, which is IEEE float32: the
    # compiler's own division of float32 is not.
    d1_value = tl.load(d1, mask=mask, other=0).to(tl.float64)
    d2_value = tl.load(d2, mask=mask, other=0).to(tl.float64)
    x1_value = tl.load(x1, mask=mask, other=0).to(tl.float64)
    y1_value = tl.load(y1, mask=mask, other=0).to(tl.float64)
    TYPE: tl.constexpr = param.dtype.scalar.element_ty
    flag, h11, h21, h12, h22, d1_new, d2_new, x1_new = modify(
        d1_value, d2_value, x1_value, y1_value, TYPE
    )
    is_active = flag != -2
    d1_new, x1_new, h11, h12, h22, h21, flag = rescale(
        d1_new, x1_new, h11, h12, h22, h21, flag, is_active, 1.0, TYPE
    )
    unused = d2_new
    d2_new, unused, h21, h22, h11, h12, flag = rescale(
        d2_new, unused, h21, h22, h11, h12, flag, is_active, -1.0, TYPE
    )
    tl.store(d1, d1_new.to(TYPE), mask=mask)
    tl.store(d2, d2_new.to(TYPE), mask=mask)
    tl.store(x1, x1_new.to(TYPE), mask=mask)
    tl.store(param, flag.to(TYPE), mask=mask)
    tl.store(param + 1, h11.to(TYPE), mask=mask)
    tl.store(param + 2, h21.to(TYPE), mask=mask)
    tl.store(param + 3, h12.to(TYPE), mask=mask)
    tl.store(param + 4, h22.to(TYPE), mask=mask)


@triton.jit
def modify(d1, d2, x1, y1, TYPE: tl.constexpr):
    """(flag, h11, h21, h12, h22, d1, d2, x1) before they are brought to scale."""
    zero = tl.full(d1.shape, 0.0, tl.float64)
    one = tl.full(d1.shape, 1.0, tl.float64)
    p1 = rounded(d1 * x1, TYPE)
    p2 = rounded(d2 * y1, TYPE)
    q1 = rounded(p1 * x1, TYPE)
    q2 = rounded(p2 * y1, TYPE)
    x_leads = tl.abs(q1) > tl.abs(q2)
    # Where x leads, H has a diagonal of 1, else its other diagonal is (1, -1).
    h21 = rounded(-y1 / x1, TYPE)
    h12 = rounded(p2 / p1, TYPE)
    h11 = rounded(p1 / p2, TYPE)
    h22 = rounded(x1 / y1, TYPE)
    product = rounded(tl.where(x_leads, h12 * -h21, h11 * h22), TYPE)
    u = rounded(one + product, TYPE)
    d1_new = rounded(tl.where(x_leads, d1, d2) / u, TYPE)
    d2_new = rounded(tl.where(x_leads, d2, d1) / u, TYPE)
    x1_new = rounded(tl.where(x_leads, x1, y1) * u, TYPE)
    flag = tl.where(x_leads, zero, one)

    is_idle = (p2 == 0) & ((d1 < 0) == 0)
    is_void = (d1 < 0) | ((x_leads & (u <= 0)) | ((x_leads == 0) & (q2 < 0)))
    is_void = is_void & (is_idle == 0)
    flag = tl.where(is_idle, zero - 2, tl.where(is_void, -one, flag))
    is_full = (is_idle | is_void) == 0
    h11 = tl.where(is_full & (x_leads == 0), h11, zero)
    h22 = tl.where(is_full & (x_leads == 0), h22, zero)
    h21 = tl.where(is_full & x_leads, h21, zero)
    h12 = tl.where(is_full & x_leads, h12, zero)
    d1_new = tl.where(is_idle, d1, tl.where(is_void, zero, d1_new))
    d2_new = tl.where(is_idle, d2, tl.where(is_void, zero, d2_new))
    x1_new = tl.where(is_idle, x1, tl.where(is_void, zero, x1_new))
    return flag, h11, h21, h12, h22, d1_new, d2_new, x1_new


@triton.jit
def rescale(d, x, p, q, r, s, flag, is_active, SIGN: tl.constexpr, TYPE: tl.constexpr):
    """Bring |d| into scale, and with it x and its row (p, q) of H, of which (r, s) is the other.

    p and r lie on the diagonal where SIGN is 1, else q and s do. What the flag left out of H is
    written out first. Each step brings a finite d nearer by 2^24; an infinite one stays as it is.
    """
    one = tl.full(d.shape, 1.0, tl.float64)
    left = tl.full((), 1, tl.int32)
    while left > 0:
        size = tl.abs(d)
        is_low = is_active & (size != 0) & (size <= LEAST)
        is_high = is_active & (size >= MOST) & (size < float("inf"))
        is_off = is_low | is_high
        fills_diagonal = is_off & (flag == 0)
        fills_other = is_off & (flag == 1)
        if SIGN == 1:
            p = tl.where(fills_diagonal, one, p)
            r = tl.where(fills_diagonal, one, r)
            q = tl.where(fills_other, one, q)
            s = tl.where(fills_other, -one, s)
        else:
            p = tl.where(fills_other, -one, p)
            r = tl.where(fills_diagonal, one, r)
            q = tl.where(fills_diagonal, one, q)
            s = tl.where(fills_other, one, s)
        flag = tl.where(is_off, -one, flag)
        up = tl.where(is_low, one * GAM, tl.where(is_high, one / GAM, one))
        d = rounded(d * up * up, TYPE)
        x = rounded(x / up, TYPE)
        p = rounded(p / up, TYPE)
        q = rounded(q / up, TYPE)
        left = tl.max(is_off.to(tl.int32))
    return d, x, p, q, r, s, flag


@triton.jit
def rounded(value, TYPE: tl.constexpr):
    """A value of float64 rounded to the type."""
    return value.to(TYPE).to(tl.float64)
