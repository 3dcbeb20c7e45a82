"""Division of real and complex numbers, rounded as IEEE division is."""

import triton
import triton.language as tl


@triton.jit
def divisor(re, im, COMPLEX: tl.constexpr):
    """What can be done of a division by (re, im) before it is known what is divided."""
    ratio = re
    wide = re == re
    if COMPLEX:
        wide = tl.abs(re) >= tl.abs(im)
        large = tl.where(wide, re, im)
        small = tl.where(wide, im, re)
        ratio = tl.where(small == 0, small, quotient(small, large))
        re = large + small * ratio
    return wide, ratio, re, quotient(tl.full(re.shape, 1, re.dtype), re)


@triton.jit
def divide(re, im, by, SOON: tl.constexpr, COMPLEX: tl.constexpr):
    """(re, im) / d, as IEEE division rounds; complex numbers by Smith's algorithm (CACM 5, 1962).

    SOON: if no number leaves the normal ones. FP64 division has more to do for those that do.
    """
    wide, ratio, whole, reciprocal = by
    if COMPLEX:
        p = tl.where(wide, re + im * ratio, re * ratio + im)
        q = tl.where(wide, im - re * ratio, im * ratio - re)
        return divide_real(p, whole, reciprocal, SOON), divide_real(q, whole, reciprocal, SOON)
    else:
        value = divide_real(re, whole, reciprocal, SOON)
        return value, value


@triton.jit
def divide_real(p, q, reciprocal, SOON: tl.constexpr):
    """p / q; SOON by its reciprocal, and mended once (Markstein, IBM J. Res. Dev. 34, 1990)."""
    if SOON and p.dtype == tl.float64:
        value = p * reciprocal
        return tl.fma(tl.fma(-q, value, p), reciprocal, value)
    else:
        return quotient(p, q)


@triton.jit
def quotient(p, q):
    """p / q, rounded to nearest: Triton's own FP32 division is not."""
    if p.dtype == tl.float32:
        return tl.div_rn(p, q)
    else:
        return p / q
