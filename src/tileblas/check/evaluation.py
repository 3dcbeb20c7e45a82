"""Formulas evaluated in higher precision, with all that judging a result needs.

Plain NumPy, and never a BLAS. One rule covers exceptional values: a result is the IEEE evaluation
of its formula over the referenced elements, except that alpha = 0 removes the product term (but
multiplies in scal) and beta = 0 removes the old value.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tileblas.check.arithmetic import suited

# What an element of the result must be, beside its value.
FINITE = 0  # within the error bar (or overflowed, where `reach` or the bar allows it)
INFINITE = 1  # an infinity of the sign of `value`
NAN = 2
NONFINITE = 3  # NaN or an infinity: both are legal evaluations of the formula


@dataclass(frozen=True)
class Reference:
    """The expected result. All arrays have the result's shape, except `quality`.

    The value is `value + tail`; `gauge` is |alpha| sum |a||b| + |beta||c| with |re| + |im| for
    |z| (a norm is its own gauge), and `reach` the largest intermediate value, which may overflow
    where the result does not.
    `terms` is K, the length of the sum. `quality` is the norm-wise scale of BLAS++, one number for
    each matrix of `core` trailing axes, or None where BLAS++ has no such bar.
    """

    value: np.ndarray
    tail: np.ndarray
    gauge: np.ndarray
    reach: np.ndarray
    kind: np.ndarray
    terms: int
    core: int
    quality: np.ndarray | None = None


@dataclass(frozen=True)
class Exact:
    """An expected result of which every bit is known: elements that are moved, and places."""

    value: np.ndarray


#: The expected outputs of one call, by name.
References = dict[str, Reference | Exact]


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
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    shape = (*batch, a.shape[-2], b.shape[-1])
    if a.shape[-1] == 0 or alpha == 0:
        a, b, alpha = a[..., :0], b[..., :0, :], 0.0  # neither is read
    if c is None or beta == 0:
        c, beta = np.zeros(shape, a.dtype), 0.0  # the old value is not read
    terms = a.shape[-1]
    with np.errstate(all="ignore"):
        value, tail = _value(finite(a), finite(b), finite(c), alpha, beta, compute)
        kind, infinities = _kind(a, b, c, alpha, beta)
        sums = np.einsum("...ip,...pj->...ij", abs1(finite(a)), abs1(finite(b)))
        gauge = abs1(np.asarray(alpha)) * sums + abs1(np.asarray(beta)) * abs1(finite(c))
        quality = np.sqrt(terms + 2) * max(abs(alpha), 1) * _norm(a, 2) * _norm(b, 2)
        quality = quality + 2 * max(abs(beta), 1) * _norm(c, 2)
    value = np.where(kind == INFINITE, infinities, value)
    return Reference(value, tail, gauge, np.maximum(gauge, sums), kind, terms, 2, quality)


def finite(x: np.ndarray) -> np.ndarray:
    """x with 0 in the place of NaN and Inf, which `_kind` accounts for."""
    return np.where(np.isfinite(x), x, 0)


def _value(a, b, c, alpha, beta, compute: str) -> tuple[np.ndarray, np.ndarray]:
    """alpha a b + beta c for finite arrays, as a leading part and a tail."""
    alpha, beta = (s if np.isfinite(s) else 1.0 for s in (alpha, beta))
    planes = [np.asarray(p) for z in (a, b, c, alpha, beta) for p in _planes(z)]
    arithmetic = suited(compute, *planes)
    product = [arithmetic.contract(*pair) for pair in _real_products(a, b)]
    lifted = [arithmetic.lift(plane) for plane in _planes(c)]
    terms = zip(
        _scaled(product, alpha, arithmetic),
        _scaled(lifted, beta, arithmetic),
        strict=True,
    )
    parts = [arithmetic.split(p + q) for p, q in terms]
    return joined([high for high, _ in parts]), joined([low for _, low in parts])


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


def _kind(a, b, c, alpha, beta) -> tuple[np.ndarray, np.ndarray]:
    """Per element: FINITE, INFINITE, NAN or NONFINITE; and the infinity, where it is one."""
    if np.iscomplexobj(a) or np.iscomplexobj(c):
        kind = _complex_kind(a, b, c, alpha, beta)
        return kind, np.zeros(kind.shape)
    # Signs stand for finite numbers, so that no sum of them overflows.
    product, old = np.einsum("...ip,...pj->...ij", sign(a), sign(b)), sign(c) * beta
    if np.isinf(alpha) and a.shape[-1]:  # alpha (a b) and (alpha a) b differ: both are legal
        kind = np.where(np.isnan(product) | np.isnan(old), NAN, NONFINITE)
        return kind, np.zeros(kind.shape)
    if a.shape[-1]:
        product = np.where(np.isfinite(product), 0.0, product) * alpha
    value = product + old
    return np.where(np.isnan(value), NAN, np.where(np.isinf(value), INFINITE, FINITE)), value


def sign(x: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(x), np.sign(x), x)


def _complex_kind(a, b, c, alpha, beta) -> np.ndarray:
    """Complex products with Inf may give NaN or Inf in either part; NaN alone must give NaN."""

    def meets(test) -> np.ndarray:
        product = test(a).any(-1)[..., :, None] | test(b).any(-2)[..., None, :]
        if a.shape[-1]:
            product = product | test(np.asarray(alpha))
        return product | test(c) | test(np.asarray(beta))

    infinite, nan = meets(np.isinf), meets(np.isnan)
    return np.where(infinite, NONFINITE, np.where(nan, NAN, FINITE))


def _norm(x: np.ndarray, axes: int) -> np.ndarray:
    """The 2-norm over the last `axes` axes; NaN and Inf make it useless, as they should."""
    with np.errstate(all="ignore"):
        return np.sqrt((np.abs(x) ** 2).sum(axis=tuple(range(-axes, 0))))
