"""Givens rotations from their numbers: rotg in exact fractions, rotmg as netlib computes it.

The results of rotg are quotients and roots: a few roundings, each of the size of the result. Those
of rotmg depend on how every operation is rounded, down to the sign of u; so the oracle makes the
same operations in the operands' type.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from tileblas.check.arithmetic import Rational
from tileblas.check.evaluation import (
    FINITE,
    INFINITE,
    NAN,
    NONFINITE,
    Reference,
    References,
    abs1,
    joined,
    with_underflow,
)

_ROUNDINGS = 6  # with the rounding of the result, and two more that every bar has, 9 u
_ROOT_BITS = 256

# ---- rotg ---------------------------------------------------------------------------------------


def rotg(a, b, compute) -> References:
    """c, s, r and for real numbers z, from which c and s can be had again."""
    a, b = np.broadcast_arrays(a, b)
    is_complex = np.iscomplexobj(a)
    table = np.empty((a.size, 5 if is_complex else 4), object)
    rotate = _rotated_pair if is_complex else _rotated
    smallest = Fraction(float(np.finfo(a.real.dtype.name).smallest_subnormal))
    for row, (p, q) in enumerate(zip(a.ravel(), b.ravel(), strict=True)):
        table[row] = rotate(p, q, smallest)
    c, *others = (table[:, i].reshape(a.shape) for i in range(table.shape[1]))
    parts = 2 if is_complex else 1
    planes = {"c": (c,), "s": others[:parts], "r": others[parts : 2 * parts]}
    expected: References = {name: _exactly(compute, *those) for name, those in planes.items()}
    if not is_complex:
        # A c between 0 and the smallest number is rounded to either: then z is 1, or 1 / c.
        doubtful = [smallest / 4 < abs(x) <= 2 * smallest for x in c.flat]
        reach = np.where(np.reshape(doubtful, c.shape), np.inf, 0.0)
        expected["z"] = replace(_exactly(compute, others[-1]), reach=reach)
    return expected


def _rotated(a, b, smallest: Fraction) -> tuple[Fraction, ...]:
    """c, s, r, z; r has the sign of the larger of the two, that of b if they are alike."""
    a, b = Fraction(float(a)), Fraction(float(b))
    if b == 0:
        return Fraction(1), Fraction(0), a, Fraction(0)
    if a == 0:
        return Fraction(0), Fraction(1), b, Fraction(1)
    r = _root(a * a + b * b)
    r = -r if (a if abs(a) > abs(b) else b) < 0 else r
    c, s = a / r, b / r
    if abs(a) > abs(b):
        return c, s, r, s
    return c, s, r, 1 / c if abs(c) > 2 * smallest else Fraction(1)


def _rotated_pair(a, b, smallest: Fraction) -> tuple[Fraction, ...]:
    """c, re s, im s, re r, im r; s and r have the phase of a, which is 1 where a is 0."""
    a_re, a_im, b_re, b_im = (Fraction(float(x)) for x in (a.real, a.imag, b.real, b.imag))
    if b_re == 0 and b_im == 0:
        return Fraction(1), Fraction(0), Fraction(0), a_re, a_im
    square = a_re**2 + a_im**2
    size, h = _root(square), _root(square + b_re**2 + b_im**2)
    re, im = (a_re / size, a_im / size) if size else (Fraction(1), Fraction(0))
    return size / h, (re * b_re + im * b_im) / h, (im * b_re - re * b_im) / h, re * h, im * h


def _root(square: Fraction) -> Fraction:
    """The root of a fraction whose denominator is a power of two, to many bits."""
    if square == 0:
        return square
    bits = square.numerator.bit_length() - square.denominator.bit_length()
    shift = max(0, _ROOT_BITS - bits // 2)
    return Fraction(math.isqrt(int(square * 4**shift)), 2**shift)


def _exactly(compute: str, *planes: np.ndarray) -> Reference:
    """The reference of fractions, or of their real and imaginary parts."""
    value, tail = (joined(list(parts)) for parts in zip(*map(Rational.split, planes), strict=True))
    return with_underflow(_judged_by_size(value, tail), 2 * len(planes), compute)


def _judged_by_size(value: np.ndarray, tail: np.ndarray) -> Reference:
    """A few roundings of the result itself; a complex one may be infinite in either part."""
    beyond = NONFINITE if np.iscomplexobj(value) else INFINITE
    kind = np.where(np.isnan(value), NAN, np.where(np.isinf(value), beyond, FINITE))
    with np.errstate(over="ignore"):
        size = abs1(np.where(kind == FINITE, value, 0))
    return Reference(value, tail, size, np.zeros_like(size), kind, _ROUNDINGS, 0)


# ---- rotmg --------------------------------------------------------------------------------------

_GAM = 4096.0
_GAM_SQUARED = 16777216.0
_INVERSE_SQUARE = 5.9604645e-8


def rotmg(d1, d2, x1, y1, compute) -> References:
    """d1, d2, x1 and param = (flag, h11, h21, h12, h22)."""
    kind = d1.dtype.type
    y1 = np.broadcast_to(y1, d1.shape)
    param = np.empty((*d1.shape, 5), kind)
    updated = [np.array(x) for x in (d1, d2, x1)]
    with np.errstate(all="ignore"):
        for place in np.ndindex(d1.shape):
            *numbers, flag, h = _modified(d1[place], d2[place], x1[place], y1[place], kind)
            for array, number in zip(updated, numbers, strict=True):
                array[place] = number
            param[place] = (flag, *h)
    found = dict(zip(("d1", "d2", "x1"), updated, strict=True)) | {"param": param}
    wide = {name: x.astype(np.float64) for name, x in found.items()}
    return {name: _judged_by_size(x, np.zeros_like(x)) for name, x in wide.items()}


def _modified(d1, d2, x1, y1, kind) -> tuple[Any, Any, Any, int, list[Any]]:
    """d1, d2, x1, the flag and (h11, h21, h12, h22), with zeros for what the flag stands for."""
    zero, one = kind(0), kind(1)
    void = zero, zero, zero, -1, [zero] * 4
    if d1 < 0:
        return void
    p1, p2 = d1 * x1, d2 * y1
    if p2 == 0:
        return d1, d2, x1, -2, [zero] * 4
    q1, q2 = p1 * x1, p2 * y1
    if abs(q1) > abs(q2):
        h21, h12 = -y1 / x1, p2 / p1
        u = one - h12 * h21
        if u <= 0:
            return void
        numbers, flag, h = [d1 / u, d2 / u, x1 * u], 0, [zero, h21, h12, zero]
    elif q2 < 0:
        return void
    else:
        h11, h22 = p1 / p2, x1 / y1
        u = one + h11 * h22
        numbers, flag, h = [d2 / u, d1 / u, y1 * u], 1, [h11, zero, zero, h22]
    return _in_scale(numbers, flag, h, kind)


def _in_scale(numbers, flag: int, h, kind) -> tuple[Any, Any, Any, int, list[Any]]:
    """Bring d1 and d2 between 2^-24 and 2^24; H is completed at the first step, and only then."""
    gam, (d1, d2, x1) = kind(_GAM), numbers
    while _is_off_scale(d1):
        flag, h = _completed(flag, h, kind)
        up = _is_low(d1)
        d1 = d1 * gam * gam if up else d1 / gam / gam
        x1, h[0], h[2] = (v / gam if up else v * gam for v in (x1, h[0], h[2]))
    while _is_off_scale(d2):
        flag, h = _completed(flag, h, kind)
        up = _is_low(d2)
        d2 = d2 * gam * gam if up else d2 / gam / gam
        h[1], h[3] = (v / gam if up else v * gam for v in (h[1], h[3]))
    return d1, d2, x1, flag, h


def _is_low(d) -> bool:
    return bool(abs(float(d)) <= _INVERSE_SQUARE)


def _is_off_scale(d) -> bool:
    """Whether d is to be scaled: an infinity never ends, and a zero neither."""
    size = abs(float(d))
    return size != 0 and math.isfinite(size) and (_is_low(d) or size >= _GAM_SQUARED)


def _completed(flag: int, h, kind) -> tuple[int, list[Any]]:
    """All four elements of H, written out."""
    if flag == 0:
        h = [kind(1), h[1], h[2], kind(1)]
    elif flag == 1:
        h = [h[0], kind(-1), kind(1), h[3]]
    return -1, h
