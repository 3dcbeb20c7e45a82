"""rotg and rotmg on the CPU: NumPy over the whole batch, by the formulas of the kernels."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tileblas.core.call import Problem, View
from tileblas.core.operand import Operand, numpy_view

_GAM = 4096.0
_LEAST, _MOST = 5.9604645e-8, 16777216.0  # between which rotmg brings d1 and d2
_STEPS = 48  # that bring every number there by factors of 2^24


def rotg(problem: Problem, operands: Mapping[str, Operand]) -> None:
    """c, s, r, and z of real numbers, for every pair of the batch."""
    arrays = {view.slot: _whole(problem, view, operands) for view in problem.views}
    wide = "complex128" if problem.is_complex else "float64"
    a, b = (arrays[name].astype(wide) for name in "ab")
    with np.errstate(all="ignore"):
        if problem.is_complex:
            found = _rotate_complex(a, b)
        else:
            found = _rotate(a, b, arrays["c"].dtype)
        for name, values in found.items():
            arrays[name][...] = values


def _whole(problem: Problem, view: View, operands: Mapping[str, Operand]) -> np.ndarray:
    """An operand over the batch, its own axes last."""
    shape, strides = (*problem.batch, *view.shape), (*view.batch, *view.strides)
    return numpy_view(operands[view.slot].pointer, view.dtype, shape, strides)


def _power_of_two(size: np.ndarray) -> np.ndarray:
    """The largest normal power of two that is no larger; the smallest for subnormal sizes."""
    info = np.finfo(np.float64)
    bounded = np.clip(np.nan_to_num(size, nan=1.0), info.smallest_normal, 2.0**1023)
    return np.ldexp(0.5, np.frexp(bounded)[1])


def _rotate(a: np.ndarray, b: np.ndarray, dtype: np.dtype) -> dict[str, np.ndarray]:
    size_a, size_b = np.abs(a), np.abs(b)
    scale = _power_of_two(np.maximum(size_a, size_b))
    x, y = a / scale, b / scale
    h = np.sqrt(x * x + y * y)
    h = np.where(np.where(size_a > size_b, x, y) < 0, -h, h)
    a_is_all, b_is_all = b == 0, (a == 0) & (b != 0)
    c = np.where(a_is_all, 1.0, np.where(b_is_all, 0.0, x / h))
    s = np.where(a_is_all, 0.0, np.where(b_is_all, 1.0, y / h))
    r = np.where(a_is_all, a, np.where(b_is_all, b, h * scale))
    z = np.where(size_a > size_b, s, np.where(c.astype(dtype) != 0, 1 / c, 1.0))
    return {"c": c, "s": s, "r": r, "z": np.where(a_is_all, 0.0, z)}


def _rotate_complex(a: np.ndarray, b: np.ndarray) -> dict[str, np.ndarray]:
    size_a, size_b = (np.maximum(np.abs(v.real), np.abs(v.imag)) for v in (a, b))
    scale, scale_a = _power_of_two(np.maximum(size_a, size_b)), _power_of_two(size_a)
    x_re, x_im = a.real / scale_a, a.imag / scale_a
    y_re, y_im = b.real / scale, b.imag / scale
    modulus = np.sqrt(x_re * x_re + x_im * x_im)
    phase_re = np.where(modulus == 0, 1.0, x_re / modulus)
    phase_im = np.where(modulus == 0, 0.0, x_im / modulus)
    ratio = scale_a / scale
    share = modulus * ratio
    h = np.sqrt(share * share + (y_re * y_re + y_im * y_im))
    is_identity = b == 0
    c = np.where(is_identity, 1.0, modulus / h * ratio)
    h_or_one = np.where(h == 0, 1.0, h)
    s = _paired(
        (phase_re * y_re + phase_im * y_im) / h_or_one,
        (phase_im * y_re - phase_re * y_im) / h_or_one,
    )
    r = _paired(phase_re * h * scale, phase_im * h * scale)
    return {"c": c, "s": s, "r": np.where(is_identity, a, r)}


def _paired(re: np.ndarray, im: np.ndarray) -> np.ndarray:
    """Complex numbers of two parts: re + 1j im would make NaN of an infinite one."""
    out = np.empty(np.shape(re), np.complex128)
    out.real, out.imag = re, im
    return out


def rotmg(problem: Problem, operands: Mapping[str, Operand]) -> None:
    """param, and new d1, d2, x1, for every rotation of the batch."""
    arrays = {view.slot: _whole(problem, view, operands) for view in problem.views}
    given = [np.array(arrays[name]) for name in ("d1", "d2", "x1", "y1")]
    with np.errstate(all="ignore"):
        flag, rows, d, x = _modify(*given)
        active = flag != -2
        for row in (0, 1):
            flag, x = _rescale(flag, rows, d, x, row, active)
    arrays["d1"][...], arrays["d2"][...], arrays["x1"][...] = d[0], d[1], x
    columns = (flag, rows[0][0], rows[1][0], rows[0][1], rows[1][1])
    for place, values in enumerate(columns):
        arrays["param"][..., place] = values


def _modify(
    d1: np.ndarray, d2: np.ndarray, x1: np.ndarray, y1: np.ndarray
) -> tuple[np.ndarray, list[list[np.ndarray]], list[np.ndarray], np.ndarray]:
    """(flag, the rows of H, [d1, d2], x1) before they are brought to scale."""
    zero, one = np.zeros_like(d1), np.ones_like(d1)
    p1, p2 = d1 * x1, d2 * y1
    q1, q2 = p1 * x1, p2 * y1
    x_leads = np.abs(q1) > np.abs(q2)
    diagonal, across = (p1 / p2, x1 / y1), (p2 / p1, -y1 / x1)
    u = one + np.where(x_leads, -(across[0] * across[1]), diagonal[0] * diagonal[1])
    is_idle = (p2 == 0) & ~(d1 < 0)
    is_void = ~is_idle & ((d1 < 0) | np.where(x_leads, u <= 0, q2 < 0))
    is_full = ~is_idle & ~is_void
    kept = [
        [
            np.where(is_full & ~x_leads, diagonal[0], zero),
            np.where(is_full & x_leads, across[0], zero),
        ],
        [
            np.where(is_full & x_leads, across[1], zero),
            np.where(is_full & ~x_leads, diagonal[1], zero),
        ],
    ]
    new = (
        np.where(x_leads, d1, d2) / u,
        np.where(x_leads, d2, d1) / u,
        np.where(x_leads, x1, y1) * u,
    )
    d1, d2, x1 = (
        np.where(is_idle, old, np.where(is_void, zero, value))
        for old, value in zip((d1, d2, x1), new, strict=True)
    )
    flag = np.where(is_idle, -2, np.where(is_void, -1, np.where(x_leads, 0, 1))).astype(zero.dtype)
    return flag, kept, [d1, d2], x1


def _rescale(
    flag: np.ndarray,
    rows: list[list[np.ndarray]],
    d: list[np.ndarray],
    x: np.ndarray,
    row: int,
    active: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Bring d[row] into scale, with it the row of H, and x with the first; returns (flag, x).

    What the flag left out of H is written out first. An infinite d stays as it is.
    """
    for _ in range(_STEPS):
        size = np.abs(d[row])
        is_low = active & (size != 0) & (size <= _LEAST)
        is_high = active & (size >= _MOST) & np.isfinite(size)
        is_off = is_low | is_high
        if not is_off.any():
            break
        for place, value, kind in ((0, 1, 0), (1, 1, 0), (0, 1, 1), (1, -1, 1)):
            column = place if kind == 0 else 1 - place
            fills = is_off & (flag == kind)
            rows[place][column] = np.where(fills, value, rows[place][column]).astype(x.dtype)
        flag = np.where(is_off, -1, flag).astype(x.dtype)
        up = np.where(is_low, _GAM, np.where(is_high, 1 / _GAM, 1.0)).astype(x.dtype)
        d[row] = d[row] * up * up
        x = x / up if row == 0 else x
        rows[row] = [values / up for values in rows[row]]
    return flag, x
