"""Formulas evaluated in higher precision, with all that judging a result needs.

Plain NumPy, and never a BLAS. One rule covers exceptional values: a result is the IEEE evaluation
of its formula over the referenced elements, except that alpha = 0 removes the product term (but
multiplies in scal) and beta = 0 removes the old value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tileblas.check.arithmetic import suited

# What an element of the result must be, beside its value.
FINITE = 0  # within the error bar (or overflowed, where `reach` or the bar allows it)
INFINITE = 1  # an infinity of the sign of `value`
NAN = 2
NONFINITE = 3  # NaN or an infinity: both are legal evaluations of the formula
ANY = 4  # whatever: not a part of the result, or beyond an overflow that decides what follows


@dataclass(frozen=True)
class Reference:
    """The expected result. All arrays have the result's shape, except `quality`.

    The value is `value + tail`; `gauge` is |alpha| sum |a||b| + |beta||c| with |re| + |im| for
    |z| (a norm is its own gauge), and `reach` the largest intermediate value, which may overflow
    where the result does not.
    `terms` is K, the length of the sum. `quality` is the norm-wise scale of BLAS++, one number for
    each matrix of `core` trailing axes, or None where BLAS++ has no such bar. `real` says where
    the imaginary part is exactly 0.
    """

    value: np.ndarray
    tail: np.ndarray
    gauge: np.ndarray
    reach: np.ndarray
    kind: np.ndarray
    terms: int
    core: int
    quality: np.ndarray | None = None
    real: np.ndarray | None = None


@dataclass(frozen=True)
class Exact:
    """An expected result of which every bit is known: elements that are moved, and places."""

    value: np.ndarray


@dataclass(frozen=True)
class Solution:
    """What is expected of x in A x = b: each row has a small residual |b - A x|.

    `matrix` is A where it is `there`, and 0 elsewhere; `right` is b. `value` is x by substitution:
    it says of what `kind` the elements are, their values are those that leave small residuals.
    """

    matrix: np.ndarray
    there: np.ndarray
    right: np.ndarray
    value: np.ndarray
    kind: np.ndarray


Expected = Reference | Exact | Solution
#: The expected outputs of one call, by name.
References = dict[str, Expected]
#: alpha, a and b of a term alpha a b.
Product = tuple[complex, np.ndarray, np.ndarray]


def without_axes(out: Reference, axes: int, quality: np.ndarray | None) -> Reference:
    """The same, for a result without the last axes of length 1 that made it a matrix."""
    last: Any = (..., *(0,) * axes)
    return replace(
        out,
        value=out.value[last],
        tail=out.tail[last],
        gauge=out.gauge[last],
        reach=out.reach[last],
        kind=out.kind[last],
        core=out.core - axes,
        quality=quality,
    )


def with_underflow(out: Reference, products: int, compute: str) -> Reference:
    """The same where so many products each may lose half of the smallest number of a type."""
    info = np.finfo(compute)
    lost = products / 2 * float(info.smallest_subnormal)
    return replace(out, gauge=out.gauge + lost / ((out.terms + 2) * float(info.eps) / 2))


def widen(x: Any) -> np.ndarray:
    """The same values as float64 or complex128."""
    x = np.asarray(x)
    with np.errstate(invalid="ignore"):  # a signalling NaN, in memory that nobody wrote
        return x.astype(np.complex128 if np.iscomplexobj(x) else np.float64)


def transposed(x: np.ndarray, letter: str) -> np.ndarray:
    """op(x) of the last two axes for the letter N, T or C."""
    if letter == "N":
        return x
    return np.swapaxes(x.conj() if letter == "C" else x, -1, -2)


def abs1(z: np.ndarray) -> np.ndarray:
    """|re| + |im|, the magnitude in which BLAS gauges errors."""
    return np.abs(z.real) + np.abs(z.imag) if np.iscomplexobj(z) else np.abs(z)


def evaluate(a, b, c, alpha, beta, compute: str) -> Reference:
    """alpha a b + beta c over stacks of matrices, with everything that judging it needs."""
    return evaluate_sum([(alpha, a, b)], c, beta, compute)


def evaluate_sum(products: Sequence[Product], c, beta, compute: str) -> Reference:
    """sum alpha a b + beta c, over products with a factor each: such as those of her2."""
    _, a, b = products[0]
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    shape = (*batch, a.shape[-2], b.shape[-1])
    products = [_read(*product) for product in products]
    if c is None or beta == 0:
        c, beta = np.zeros(shape, a.dtype), 0.0  # the old value is not read
    terms = sum(a.shape[-1] for _, a, _ in products)
    with np.errstate(all="ignore"):
        sound = [(alpha, finite(a), finite(b)) for alpha, a, b in products]
        value, tail = _value(sound, finite(c), beta, compute)
        kind, infinities = _kind(products, c, beta)
        sums = [
            (abs1(np.asarray(alpha)), np.einsum("...ip,...pj->...ij", abs1(a), abs1(b)))
            for alpha, a, b in sound
        ]
        gauge = abs1(np.asarray(beta)) * abs1(finite(c)) + sum(size * s for size, s in sums)
        reach = np.maximum(gauge, sum(s for _, s in sums))
        quality = scale(products, c, beta, terms)
    value = np.where(kind == INFINITE, infinities, value)
    return Reference(value, tail, gauge, reach, kind, terms, 2, quality)


def _read(alpha, a, b) -> Product:
    """A product, of nothing where alpha is 0 or there is nothing: its factors are not read."""
    if a.shape[-1] == 0 or alpha == 0:
        return 0.0, a[..., :0], b[..., :0, :]
    return alpha, a, b


def scale(products: Sequence[Product], c: np.ndarray, beta, terms: int, axes: int = 2):
    """BLAS++'s scale of a Frobenius error: of matrices, or of vectors b and c where `axes` is 1."""
    norms = [max(abs(alpha), 1) * _norm(a, 2) * _norm(b, axes) for alpha, a, b in products]
    return np.sqrt(terms + 2) * sum(norms) + 2 * max(abs(beta), 1) * _norm(c, axes)


def finite(x: np.ndarray) -> np.ndarray:
    """x with 0 in the place of NaN and Inf, which `_kind` accounts for."""
    return np.where(np.isfinite(x), x, 0)


def _value(products: list[Product], c, beta, compute: str) -> tuple[np.ndarray, np.ndarray]:
    """sum alpha a b + beta c for finite arrays, as a leading part and a tail."""
    arrays = [z for _, a, b in products for z in (a, b)]
    factors = [_finite_factor(z) for z in (beta, *(alpha for alpha, _, _ in products))]
    planes = [np.asarray(p) for z in (*arrays, c, *factors) for p in _planes(z)]
    arithmetic = suited(compute, *planes)
    total = _scaled([arithmetic.lift(plane) for plane in _planes(c)], factors[0], arithmetic)
    for (_, a, b), alpha in zip(products, factors[1:], strict=True):
        product = [arithmetic.contract(*pair) for pair in _real_products(a, b)]
        terms = _scaled(product, alpha, arithmetic)
        total = [p + q for p, q in zip(terms, total, strict=True)]
    parts = [arithmetic.split(plane) for plane in total]
    return joined([high for high, _ in parts]), joined([low for _, low in parts])


def _finite_factor(scalar):
    return scalar if np.isfinite(scalar) else 1.0


def _planes(z) -> list[np.ndarray]:
    """A real array as [re], a complex one as [re, im]."""
    z = np.asarray(z)
    return [z.real, z.imag] if np.iscomplexobj(z) else [z.astype(np.float64)]


def joined(planes: list[np.ndarray]) -> np.ndarray:
    if len(planes) == 1:
        return planes[0]
    out = np.empty(planes[0].shape, np.complex128)
    out.real, out.imag = planes
    return out


def _real_products(a, b) -> list[tuple[np.ndarray, np.ndarray]]:
    """The product a b as real products: one, or the real and the imaginary plane of twice k."""
    if not np.iscomplexobj(a):
        return [(a, b)]
    re_im = np.concatenate([b.real, b.imag], axis=-2)
    im_re = np.concatenate([b.imag, b.real], axis=-2)
    return [
        (np.concatenate([a.real, -a.imag], axis=-1), re_im),
        (np.concatenate([a.real, a.imag], axis=-1), im_re),
    ]


def _scaled(planes: list, scalar, arithmetic) -> list:
    """scalar z on lifted planes; a real scalar multiplies re and im separately."""
    re, *im = (arithmetic.lift(plane) for plane in _planes(scalar))
    if not im:
        return [plane * re for plane in planes]
    return [planes[0] * re + -(planes[1] * im[0]), planes[0] * im[0] + planes[1] * re]


def _kind(products: Sequence[Product], c, beta) -> tuple[np.ndarray, np.ndarray]:
    """Per element: FINITE, INFINITE, NAN or NONFINITE; and the infinity, where it is one."""
    _, a, _ = products[0]
    if np.iscomplexobj(a) or np.iscomplexobj(c):
        kind = _complex_kind(products, c, beta)
        return kind, np.zeros(kind.shape)
    value = sign(c) * beta
    nan, undecided = np.isnan(value), False
    for alpha, a, b in products:
        # Signs stand for finite numbers, so that no sum of them overflows.
        product = np.einsum("...ip,...pj->...ij", sign(a), sign(b))
        nan = nan | np.isnan(product)
        if a.shape[-1]:
            # alpha (a b) and (alpha a) b differ where alpha is infinite: both are legal.
            undecided |= bool(np.isinf(alpha))
            product = np.where(np.isfinite(product), 0.0, product) * alpha
        value = product + value
    if undecided:
        return np.where(nan, NAN, NONFINITE), np.zeros(value.shape)
    return np.where(np.isnan(value), NAN, np.where(np.isinf(value), INFINITE, FINITE)), value


def sign(x: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(x), np.sign(x), x)


def _complex_kind(products: Sequence[Product], c, beta) -> np.ndarray:
    """Complex products with Inf may give NaN or Inf in either part; NaN alone must give NaN."""

    def meets(test) -> np.ndarray:
        met = test(c) | test(np.asarray(beta))
        for alpha, a, b in products:
            met = met | test(a).any(-1)[..., :, None] | test(b).any(-2)[..., None, :]
            if a.shape[-1]:
                met = met | test(np.asarray(alpha))
        return met

    infinite, nan = meets(np.isinf), meets(np.isnan)
    return np.where(infinite, NONFINITE, np.where(nan, NAN, FINITE))


def _norm(x: np.ndarray, axes: int) -> np.ndarray:
    """The 2-norm over the last `axes` axes; NaN and Inf make it useless, as they should."""
    with np.errstate(all="ignore"):
        return np.sqrt((np.abs(x) ** 2).sum(axis=tuple(range(-axes, 0))))
