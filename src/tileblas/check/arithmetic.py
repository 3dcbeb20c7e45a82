"""Three ways to evaluate a sum of products in more precision than the type under test.

`Double` (float64) serves the types that compute in float32, `DoubleDouble` (about 106 bits)
float64, and `Rational` (exact) any data near the ends of float64's range, where the splittings
behind double-double would overflow or lose bits. All are plain NumPy: no BLAS is called.

Each arithmetic lifts real float64 arrays to its own numbers, contracts two stacks of matrices
given as float64, and rounds a number to a leading float64 and the tail that is left over.
Its numbers support `+`, unary `-`, and `*` by another lifted number that is a plain float64.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

SAFE = 2.0**300  # a product of three numbers within [1/SAFE, SAFE] keeps all its error terms
_SPLITTER = 2.0**27 + 1  # Veltkamp: halves of 26 bits, whose products are exact
_CHUNK = 1 << 15  # terms at a time: a few arrays of this size stay in the cache


class Double:
    """float64, for data of at most 24 bits: products are exact, only the sum rounds."""

    @staticmethod
    def lift(x: np.ndarray) -> np.ndarray:
        return x

    @staticmethod
    def contract(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """sum over p of a[..., i, p] b[..., p, j]; einsum without optimize calls no BLAS."""
        return np.einsum("...ip,...pj->...ij", a, b)

    @staticmethod
    def split(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return x, np.zeros_like(x)


def two_sum(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """s + e = a + b exactly, s = fl(a + b) (Knuth)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def halves(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """a = high + low exactly, each of at most 26 bits (Veltkamp)."""
    t = _SPLITTER * a
    high = t - (t - a)
    return high, a - high


def product_error(p, a_halves, b_halves) -> np.ndarray:
    """a b - p exactly, for p = fl(a b) (Dekker)."""
    (ah, al), (bh, bl) = a_halves, b_halves
    return ((ah * bh - p) + ah * bl + al * bh) + al * bl


class DoubleDouble:
    """Unevaluated sums high + low of float64 arrays."""

    def __init__(self, high: np.ndarray, low: np.ndarray) -> None:
        self.high, self.low = high, low

    @classmethod
    def lift(cls, x: np.ndarray) -> DoubleDouble:
        return cls(x, np.zeros_like(x))

    def __add__(self, other: DoubleDouble) -> DoubleDouble:
        s, e = two_sum(self.high, other.high)
        return DoubleDouble(*two_sum(s, e + (self.low + other.low)))

    def __neg__(self) -> DoubleDouble:
        return DoubleDouble(-self.high, -self.low)

    def __mul__(self, other: DoubleDouble) -> DoubleDouble:
        """The product with a number that has no low part."""
        p = self.high * other.high
        e = product_error(p, halves(self.high), halves(other.high)) + self.low * other.high
        return DoubleDouble(*two_sum(p, e))

    @classmethod
    def contract(cls, a: np.ndarray, b: np.ndarray) -> DoubleDouble:
        """sum over p of a[..., i, p] b[..., p, j], as the Dot2 of Ogita, Rump and Oishi.

        The error is about 2^-106 k sum |a||b|: each product and each pairwise sum leaves its
        rounding error in `low`.
        """
        a, b = a[..., :, :, None], b[..., None, :, :]
        k = a.shape[-2]
        shape = np.broadcast_shapes(a[..., :1, :].shape, b[..., :1, :].shape)
        shape = (*shape[:-2], shape[-1])
        total = cls(np.zeros(shape), np.zeros(shape))
        step = max(1, _CHUNK // max(1, total.high.size))
        for start in range(0, k, step):
            part = slice(start, start + step)
            total = total + cls._sum_of_products(a[..., part, :], b[..., part, :])
        return total

    @classmethod
    def _sum_of_products(cls, a: np.ndarray, b: np.ndarray) -> DoubleDouble:
        product = a * b
        error = product_error(product, halves(a), halves(b))
        high, low = np.moveaxis(product, -2, 0), error.sum(axis=-2)
        while len(high) > 1:
            even = len(high) & ~1
            rest = high[even:]
            high, error = two_sum(high[0:even:2], high[1:even:2])
            low = low + error.sum(axis=0)
            high = np.concatenate([high, rest])
        return cls(high[0], low)

    @staticmethod
    def split(x: DoubleDouble) -> tuple[np.ndarray, np.ndarray]:
        return two_sum(x.high, x.low)


class Rational:
    """Exact fractions in object arrays: slow, and right for every finite float64."""

    @staticmethod
    def lift(x: np.ndarray) -> np.ndarray:
        return np.vectorize(Fraction, otypes=[object])(x)

    @classmethod
    def contract(cls, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """sum over p of a[..., i, p] b[..., p, j]; matmul of objects is a plain loop."""
        if a.shape[-1] == 0:
            shape = np.einsum("...ip,...pj->...ij", a, b).shape
            return cls.lift(np.zeros(shape))
        return np.matmul(cls.lift(a), cls.lift(b))

    @staticmethod
    def split(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        high = np.vectorize(_rounded, otypes=[float])(x)
        low = np.vectorize(_remainder, otypes=[float])(x, high)
        return high, low


def _rounded(x: Fraction) -> float:
    try:
        return float(x)
    except OverflowError:
        return float("inf") if x > 0 else float("-inf")


def _remainder(x: Fraction, high: float) -> float:
    return float(x - Fraction(high)) if np.isfinite(high) else 0.0


Arithmetic = type[Double] | type[DoubleDouble] | type[Rational]


def suited(compute: str, *arrays: np.ndarray) -> Arithmetic:
    """The cheapest arithmetic that serves a compute type and these (finite, real) values."""
    if compute == "float32":
        return Double
    return DoubleDouble if all(map(_in_safe_range, arrays)) else Rational


def root_of_squares(x: np.ndarray, compute: str) -> tuple[np.ndarray, np.ndarray]:
    """sqrt(sum x^2) over the last axis of finite float64 numbers, as a leading part and a tail.

    Powers of two bring the largest element to [1/2, 1), so that no square overflows and those that
    underflow do not count. One step of Newton gives the root the bits of the sum.
    """
    arithmetic = Double if compute == "float32" else DoubleDouble
    _, exponent = np.frexp(np.abs(x).max(axis=-1, initial=0.0))
    scaled = np.ldexp(x, -exponent[..., None])
    total: Any = arithmetic.contract(scaled[..., None, :], scaled[..., :, None])
    high, low = (part[..., 0, 0] for part in arithmetic.split(total))
    root = np.sqrt(high)
    square = root * root
    rest = (high - square) - product_error(square, halves(root), halves(root)) + low
    tail = np.divide(rest, 2 * root, out=np.zeros_like(root), where=root > 0)
    with np.errstate(over="ignore"):
        return np.ldexp(root, exponent), np.ldexp(tail, exponent)


def _in_safe_range(x: np.ndarray) -> bool:
    magnitude = np.abs(x)
    return bool(((magnitude == 0) | ((magnitude >= 1 / SAFE) & (magnitude <= SAFE))).all())
