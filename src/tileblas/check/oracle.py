"""What each routine must return: plain NumPy in higher precision, and never a BLAS.

`reference(routine, operands, scalars, options, compute)` evaluates the defining formula. One rule
covers exceptional values: the result is the IEEE evaluation of the formula over the referenced
elements, except that alpha = 0 removes the product term (but multiplies in scal) and beta = 0
removes the old value. An empty sum (k = 0) has no product term either.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tileblas.check.arithmetic import root_of_squares, suited

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


def reference(
    routine: str,
    operands: Mapping[str, np.ndarray],
    scalars: Mapping[str, Any],
    options: Mapping[str, str],
    compute: str,
) -> Reference:
    """The expected result of one call; `compute` is the real type that rounds the scalars."""
    rounded = {name: round_scalar(value, compute) for name, value in scalars.items()}
    return _ORACLES[routine](**operands, **rounded, **options, compute=compute)


def dot(x, y, compute, conj=False) -> Reference:
    """sum_i x_i y_i over the last axis, or conj(x_i) y_i."""
    x, y = widen(x), widen(y)
    x = x.conj() if conj else x
    out = _evaluate(x[..., None, :], y[..., :, None], None, 1.0, 0.0, compute)
    return _without_axes(out, 2, quality=out.quality)


def nrm2(x, compute) -> Reference:
    """sqrt(sum_i |x_i|^2) over the last axis: no square may overflow or underflow on the way.

    A NaN among the elements gives NaN, else an infinity gives Inf, as a finite norm beyond the
    largest number does. The error of a norm scales with the norm, so it is its own gauge.
    """
    x = widen(x)
    parts = np.concatenate([x.real, x.imag], axis=-1) if np.iscomplexobj(x) else x
    value, tail = root_of_squares(_finite(parts), compute)
    is_infinite = np.isinf(parts).any(-1) | np.isinf(value)
    kind = np.where(np.isnan(parts).any(-1), NAN, np.where(is_infinite, INFINITE, FINITE))
    value = np.where(kind == INFINITE, np.inf, value)
    with np.errstate(over="ignore"):
        quality = np.sqrt(x.shape[-1] + 1) * value * (np.sqrt(8) if np.iscomplexobj(x) else 1)
    reach = np.zeros_like(value)
    return Reference(value, tail, value, reach, kind, parts.shape[-1], 0, quality)


def scal(x, compute, alpha=1.0) -> Reference:
    """alpha x; alpha = 0 multiplies, so that 0 NaN and 0 Inf are NaN."""
    x = widen(x)
    scaled = _evaluate(x[..., None], np.ones((1, 1)), None, alpha or 1.0, 0.0, compute)
    out = _without_axes(scaled, 1, quality=None)
    if alpha == 0:
        kind = np.where(np.isfinite(x), FINITE, NAN)
        zero = np.zeros(x.shape)
        return replace(out, value=np.zeros_like(x), tail=zero, gauge=zero, reach=zero, kind=kind)
    if np.iscomplexobj(x):
        return out
    with np.errstate(invalid="ignore"):
        value = _sign(x) * alpha  # one product: an infinite alpha leaves no choice of order
    kind = np.where(np.isnan(value), NAN, np.where(np.isinf(value), INFINITE, FINITE))
    return replace(out, value=np.where(kind == INFINITE, value, out.value), kind=kind)


def axpy(x, y, compute, alpha=1.0) -> Reference:
    """alpha x + y."""
    x, y = widen(x), widen(y)
    one = np.ones((1, 1))
    out = _evaluate(x[..., None], one, y[..., None], alpha, 1.0, compute)
    return _without_axes(out, 1, quality=None)


def gemv(a, x, compute, y=None, alpha=1.0, beta=0.0, trans="N") -> Reference:
    """alpha op(a) x + beta y, over stacks of matrices and vectors."""
    a, x = transposed(widen(a), trans), widen(x)
    y = None if y is None else widen(y)[..., None]
    out = _evaluate(a, x[..., None], y, alpha, beta, compute)
    return _without_axes(out, 1, quality=out.quality)


def gemm(a, b, compute, c=None, alpha=1.0, beta=0.0, trans_a="N", trans_b="N") -> Reference:
    """alpha op(a) op(b) + beta c, over stacks of matrices."""
    a, b = transposed(widen(a), trans_a), transposed(widen(b), trans_b)
    return _evaluate(a, b, None if c is None else widen(c), alpha, beta, compute)


def _without_axes(out: Reference, axes: int, quality: np.ndarray | None) -> Reference:
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


_ORACLES: dict[str, Callable[..., Reference]] = {
    "dot": dot,
    "dotu": dot,
    "dotc": lambda x, y, compute: dot(x, y, compute, conj=True),
    "nrm2": nrm2,
    "scal": scal,
    "axpy": axpy,
    "gemv": gemv,
    "gemm": gemm,
}

_COMPLEX = {"float32": "complex64", "float64": "complex128"}


def round_scalar(value: Any, compute: str) -> float | complex:
    """alpha or beta as the routine sees it: rounded once to the compute type, real kept real."""
    number = np.asarray(value)[()]
    with np.errstate(over="ignore"):
        if np.iscomplexobj(number):
            return complex(np.dtype(_COMPLEX[compute]).type(number))
        return float(np.dtype(compute).type(number))


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


def _evaluate(a, b, c, alpha, beta, compute: str) -> Reference:
    """alpha a b + beta c over stacks of matrices, with everything that judging it needs."""
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    shape = (*batch, a.shape[-2], b.shape[-1])
    if a.shape[-1] == 0 or alpha == 0:
        a, b, alpha = a[..., :0], b[..., :0, :], 0.0  # neither is read
    if c is None or beta == 0:
        c, beta = np.zeros(shape, a.dtype), 0.0  # the old value is not read
    terms = a.shape[-1]
    with np.errstate(all="ignore"):
        value, tail = _value(_finite(a), _finite(b), _finite(c), alpha, beta, compute)
        kind, infinities = _kind(a, b, c, alpha, beta)
        sums = np.einsum("...ip,...pj->...ij", abs1(_finite(a)), abs1(_finite(b)))
        gauge = abs1(np.asarray(alpha)) * sums + abs1(np.asarray(beta)) * abs1(_finite(c))
        quality = np.sqrt(terms + 2) * max(abs(alpha), 1) * _norm(a, 2) * _norm(b, 2)
        quality = quality + 2 * max(abs(beta), 1) * _norm(c, 2)
    value = np.where(kind == INFINITE, infinities, value)
    return Reference(value, tail, gauge, np.maximum(gauge, sums), kind, terms, 2, quality)


def _finite(x: np.ndarray) -> np.ndarray:
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
    return _joined([high for high, _ in parts]), _joined([low for _, low in parts])


def _planes(z) -> list[np.ndarray]:
    """A real array as [re], a complex one as [re, im]."""
    z = np.asarray(z)
    return [z.real, z.imag] if np.iscomplexobj(z) else [z.astype(np.float64)]


def _joined(planes: list[np.ndarray]) -> np.ndarray:
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
    product, old = np.einsum("...ip,...pj->...ij", _sign(a), _sign(b)), _sign(c) * beta
    if np.isinf(alpha) and a.shape[-1]:  # alpha (a b) and (alpha a) b differ: both are legal
        kind = np.where(np.isnan(product) | np.isnan(old), NAN, NONFINITE)
        return kind, np.zeros(kind.shape)
    if a.shape[-1]:
        product = np.where(np.isfinite(product), 0.0, product) * alpha
    value = product + old
    return np.where(np.isnan(value), NAN, np.where(np.isinf(value), INFINITE, FINITE)), value


def _sign(x: np.ndarray) -> np.ndarray:
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
