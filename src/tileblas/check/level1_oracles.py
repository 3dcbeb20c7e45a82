"""What the routines on vectors must return: sums, places of elements, updates, rotations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from tileblas.check.arithmetic import root_of_squares
from tileblas.check.evaluation import (
    FINITE,
    INFINITE,
    NAN,
    Exact,
    Reference,
    References,
    evaluate,
    finite,
    sign,
    widen,
    with_underflow,
    without_axes,
)

# ---- sums ---------------------------------------------------------------------------------------


def dot(x, y, compute, conj=False) -> Reference:
    """sum_i x_i y_i over the last axis, or conj(x_i) y_i."""
    x, y = widen(x), widen(y)
    x = x.conj() if conj else x
    out = evaluate(x[..., None, :], y[..., :, None], None, 1.0, 0.0, compute)
    return without_axes(out, 2, quality=out.quality)


def nrm2(x, compute) -> Reference:
    """sqrt(sum_i |x_i|^2) over the last axis: no square may overflow or underflow on the way.

    A NaN among the elements gives NaN, else an infinity gives Inf, as a finite norm beyond the
    largest number does. The error of a norm scales with the norm, so it is its own gauge.
    """
    x = widen(x)
    parts = np.concatenate([x.real, x.imag], axis=-1) if np.iscomplexobj(x) else x
    value, tail = root_of_squares(finite(parts), compute)
    is_infinite = np.isinf(parts).any(-1) | np.isinf(value)
    kind = np.where(np.isnan(parts).any(-1), NAN, np.where(is_infinite, INFINITE, FINITE))
    value = np.where(kind == INFINITE, np.inf, value)
    with np.errstate(over="ignore"):
        quality = np.sqrt(x.shape[-1] + 1) * value * (np.sqrt(8) if np.iscomplexobj(x) else 1)
    reach = np.zeros_like(value)
    return Reference(value, tail, value, reach, kind, parts.shape[-1], 0, quality)


def asum(x, compute) -> Reference:
    """sum_i |re x_i| + |im x_i| over the last axis."""
    x = widen(x)
    parts = np.concatenate([x.real, x.imag], axis=-1) if np.iscomplexobj(x) else x
    ones = np.ones((parts.shape[-1], 1))
    out = evaluate(np.abs(parts)[..., None, :], ones, None, 1.0, 0.0, compute)
    return without_axes(out, 2, quality=out.quality)


def dsdot(x, y, compute) -> Reference:
    """sum_i x_i y_i, added and returned in float64, in which the products are exact."""
    return dot(x, y, "float64")


def sdsdot(x, y, compute, alpha=0.0) -> Reference:
    """alpha + sum_i x_i y_i, added in float64 and rounded to float32 once."""
    x, y = widen(x)[..., None, :], widen(y)[..., :, None]
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    out = evaluate(x, y, np.full((*batch, 1, 1), alpha), 1.0, 1.0, "float64")
    # The bar is that of a result in float32; its sum errs as one in float64.
    out = without_axes(out, 2, quality=out.quality)
    return replace(out, gauge=out.gauge * 2.0**-29)


# ---- places -------------------------------------------------------------------------------------


def iamax(x, compute) -> Exact:
    """The first NaN, else the first Inf, else the first of the largest |re| + |im|."""
    level, size = _magnitudes(x, compute)
    leads = level == level.max(axis=-1, keepdims=True)
    return Exact(np.asarray(np.argmax(np.where(leads, size, -1), axis=-1)))


def iamin(x, compute) -> Exact:
    """The first NaN, else the first of the smallest |re| + |im|."""
    level, size = _magnitudes(x, compute)
    level = np.where(level == _OF_NAN, -1, level)
    leads = level == level.min(axis=-1, keepdims=True)
    return Exact(np.asarray(np.argmin(np.where(leads, size, np.inf), axis=-1)))


_OF_SUM, _OF_QUARTERS, _OF_INF, _OF_NAN = range(4)


def _magnitudes(x, compute) -> tuple[np.ndarray, np.ndarray]:
    """|re| + |im| as rounded in the compute type: a level, and a size among those of the level.

    Where the sum of finite parts overflows, the size is that of a quarter of them.
    """
    x = np.asarray(x)
    kind = np.dtype(compute)
    re = np.abs(x.real).astype(kind)
    im = np.abs(x.imag).astype(kind) if np.iscomplexobj(x) else np.zeros_like(re)
    with np.errstate(over="ignore", under="ignore"):
        total, quarter = re + im, kind.type(0.25) * re + kind.type(0.25) * im
    level = np.where(np.isinf(total), _OF_QUARTERS, _OF_SUM)
    level = np.where(np.isinf(re) | np.isinf(im), _OF_INF, level)
    level = np.where(np.isnan(total), _OF_NAN, level)
    size = np.where(level == _OF_QUARTERS, quarter, total)
    return level, np.where(level >= _OF_INF, 0, size)


# ---- updates ------------------------------------------------------------------------------------


def scal(x, compute, alpha=1.0) -> Reference:
    """alpha x; alpha = 0 multiplies, so that 0 NaN and 0 Inf are NaN."""
    x = widen(x)
    scaled = evaluate(x[..., None], np.ones((1, 1)), None, alpha or 1.0, 0.0, compute)
    out = without_axes(scaled, 1, quality=None)
    if alpha == 0:
        kind = np.where(np.isfinite(x), FINITE, NAN)
        zero = np.zeros(x.shape)
        return replace(out, value=np.zeros_like(x), tail=zero, gauge=zero, reach=zero, kind=kind)
    if np.iscomplexobj(x):
        return out
    with np.errstate(invalid="ignore"):
        value = sign(x) * alpha  # one product: an infinite alpha leaves no choice of order
    kind = np.where(np.isnan(value), NAN, np.where(np.isinf(value), INFINITE, FINITE))
    return replace(out, value=np.where(kind == INFINITE, value, out.value), kind=kind)


def axpy(x, y, compute, alpha=1.0) -> Reference:
    """alpha x + y."""
    x, y = widen(x), widen(y)
    one = np.ones((1, 1))
    out = evaluate(x[..., None], one, y[..., None], alpha, 1.0, compute)
    return without_axes(out, 1, quality=None)


def axpby(x, y, compute, alpha=1.0, beta=1.0) -> Reference:
    """alpha x + beta y."""
    x, y = np.broadcast_to(widen(x), y.shape), widen(y)
    out = evaluate(x[..., None], np.ones((1, 1)), y[..., None], alpha, beta, compute)
    return _updated(out, compute)


def copy(x, y, compute) -> Exact:
    """x, in the shape of y."""
    return Exact(np.broadcast_to(x, y.shape))


def swap(x, y, compute) -> References:
    """y and x."""
    return {"x": Exact(y), "y": Exact(x)}


def rot(x, y, compute, c=1.0, s=0.0) -> References:
    """c x + s y and c y - conj(s) x."""
    return _transformed(x, y, ((c, s), (-np.conj(s), c)), compute)


def rotm(x, y, compute, flag=-2.0, h11=0.0, h21=0.0, h12=0.0, h22=0.0) -> References:
    """h11 x + h12 y and h21 x + h22 y, with what the flag says of h; -2 leaves x and y."""
    if flag == -2:
        return {"x": Exact(x), "y": Exact(y)}
    rows = {
        -1: ((h11, h12), (h21, h22)),
        0: ((1.0, h12), (h21, 1.0)),
        1: ((h11, 1.0), (-1.0, h22)),
    }
    return _transformed(x, y, rows[int(flag)], compute)


def _transformed(x, y, rows, compute) -> References:
    """Each element of x and y as two sums of two products with the numbers of a row."""
    pair = np.stack([widen(x), widen(y)], axis=-1)
    outs = [evaluate(pair, np.array(row)[:, None], None, 1.0, 0.0, compute) for row in rows]
    first, second = (_updated(out, compute) for out in outs)
    return {"x": first, "y": second}


def _updated(out: Reference, compute: str) -> Reference:
    """The reference of a vector each of whose elements is a sum of two products."""
    products = 8 if np.iscomplexobj(out.value) else 2
    return with_underflow(without_axes(out, 1, quality=None), products, compute)


def axpydot(
    w, v, u, compute, z=None, alpha=1.0, found: Mapping[str, np.ndarray] | None = None
) -> References:
    """w - alpha v as z, and sum_i z_i u_i as r: of the z that was found, as it is rounded."""
    shape = np.broadcast_shapes(*(x.shape for x in (w, v, u, z) if x is not None))
    updated = axpby(v, np.broadcast_to(widen(w), shape), compute, -alpha, 1.0)
    seen = found["z"] if found else updated.value
    return {"z": updated, "r": dot(seen, u, compute)}
