"""The one statement of the error bars: how far a result may be from its reference, and where.

Hard bar, for every element (a failure is a bug):

    |error| <= (K + 2) u_acc g + u_out |c| + one smallest subnormal

with K the length of the sum, u the unit roundoffs of the accumulation and of the output type, g the
gauge |alpha| sum |a||b| + |beta||c|, and |z| = |re| + |im| for complex z. A norm is its own gauge,
and so are the numbers of a rotation. Elements that are moved, and places, are exact. Solutions of
A x = b are judged by their residuals, for every row, with n unknowns and eps = 2 u:

    |b - A x| <= (16 for n <= 9, else n + 2) eps |A| |x| + what underflows

Quality bar, for each matrix, vector or norm: the Frobenius norm of the error, in the scale of
BLAS++, is below u.

Every comparison asks whether an element is good, so that NaN fails; masks come before values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tileblas.check.evaluation import (
    ANY,
    FINITE,
    INFINITE,
    NAN,
    NONFINITE,
    Exact,
    Expected,
    Reference,
    Solution,
    abs1,
    evaluate,
    finite,
    widen,
)
from tileblas.core.dtypes import DType, numpy_dtype

_WANTED = {FINITE: "a finite value", INFINITE: "an infinity", NAN: "NaN", NONFINITE: "NaN or Inf"}


@dataclass(frozen=True)
class Verdict:
    """The judgement of one result: `ratio` is the largest error over the bar, 1 just passes."""

    passed: bool
    ratio: float
    where: tuple[int, ...] | None
    message: str
    quality: float = 0.0


def finfo(name: str) -> tuple[float, float, float]:
    """Unit roundoff, smallest subnormal and largest finite value of a real type."""
    if name == "bfloat16":  # written out, so that no package is needed to judge it
        return 2.0**-8, 2.0**-133, (2 - 2.0**-7) * 2.0**127
    info = np.finfo(name)
    return float(info.eps) / 2, float(info.smallest_subnormal), float(info.max)


def hard_bar(expected: Reference, dtype: DType) -> np.ndarray:
    """The largest error allowed for each element of an output of type `dtype`."""
    u_acc, _, _ = finfo(dtype.compute)
    u_out, tiny, _ = finfo(dtype.real)
    with np.errstate(over="ignore", invalid="ignore"):
        size = abs1(np.where(expected.kind == FINITE, expected.value, 0))
        return (expected.terms + 2) * u_acc * expected.gauge + u_out * size + tiny


def judge(result: np.ndarray, expected: Expected, dtype: DType, exact: bool = False) -> Verdict:
    """Whether a result of type `dtype` is right everywhere.

    `exact` is for data whose every sum is exact: then the result must be the rounded value itself,
    and a solution has no residual.
    """
    if result.shape != expected.value.shape:
        message = f"shape {result.shape}, expected {expected.value.shape}"
        return Verdict(False, np.inf, None, message)
    if result.size == 0:
        return Verdict(True, 0.0, None, "")
    if isinstance(expected, Exact):
        return _judge_bits(result, expected.value)
    computed = widen(result)
    quality = 0.0
    with np.errstate(all="ignore"):
        if isinstance(expected, Solution):
            masks = _of_kind(computed, expected, np.isfinite(computed))
            ratio = _residuals(computed, expected, dtype, exact)
        else:
            masks = _right_kind(computed, expected, dtype)
            ratio = _ratios(computed, expected, dtype, masks)
            if exact:
                ratio = np.where(_equals_rounded(result, expected, dtype), 0.0, np.inf)
            quality = _quality(computed, expected, dtype)
    good = masks & (ratio <= 1)
    where = np.unravel_index(
        int(np.argmin(good) if not good.all() else np.argmax(ratio)), good.shape
    )
    place = tuple(int(i) for i in where)
    worst = float(np.where(good, ratio, np.inf).max())
    if not good.all():
        return Verdict(False, worst, place, _describe(computed, expected, place, masks, ratio))
    if not quality < 1:
        message = f"Frobenius error is {quality:.3g} times the quality bar"
        return Verdict(False, worst, place, message, quality)
    return Verdict(True, worst, place, "", quality)


def _judge_bits(result: np.ndarray, expected: np.ndarray) -> Verdict:
    """Whether every element has the very bytes expected, a NaN those of that NaN."""
    size = result.dtype.itemsize
    planes = (np.frombuffer(x.tobytes(), np.uint8).reshape(-1, size) for x in (result, expected))
    good = np.equal(*planes).all(axis=1).reshape(result.shape)
    if good.all():
        return Verdict(True, 0.0, None, "")
    place = tuple(int(i) for i in np.unravel_index(int(np.argmin(good)), good.shape))
    message = f"at {place}: got {result[place]!r}, expected {expected[place]!r}"
    return Verdict(False, np.inf, place, message)


def _right_kind(computed: np.ndarray, expected: Reference, dtype: DType) -> np.ndarray:
    """Per element, whether it is finite, infinite, NaN or real where it has to be."""
    passing = np.isfinite(computed) | _may_overflow(computed, expected, dtype)
    good = _of_kind(computed, expected, passing)
    return good if expected.real is None else good & (~expected.real | (computed.imag == 0))


def _of_kind(
    computed: np.ndarray, expected: Reference | Solution, passing: np.ndarray
) -> np.ndarray:
    """Per element, whether it is of its kind; `passing` says which pass where it is finite."""
    kind = expected.kind
    good = np.where(kind == INFINITE, computed == expected.value, passing)
    good = np.where(kind == NAN, np.isnan(computed), good)
    good = np.where(kind == NONFINITE, ~np.isfinite(computed), good)
    return good | (kind == ANY)


def _may_overflow(computed: np.ndarray, expected: Reference, dtype: DType) -> np.ndarray:
    """Where a finite value may come out infinite: in the sum, or in the rounding to the output."""
    _, _, largest = finfo(dtype.real)
    _, _, largest_sum = finfo(dtype.compute)
    bar = hard_bar(expected, dtype)
    in_sum = expected.reach + bar > largest_sum
    good = np.ones(bar.shape, bool)
    for got, want in _planes(computed, expected.value):
        rounded_up = np.isinf(got) & (got * want > 0) & (np.abs(want) + bar > largest)
        good &= np.isfinite(got) | rounded_up
    return in_sum | good


def _planes(*arrays: np.ndarray):
    """The real parts of the arrays, then, for complex ones, the imaginary parts."""
    yield tuple(array.real for array in arrays)
    if np.iscomplexobj(arrays[0]):
        yield tuple(array.imag for array in arrays)


def _ratios(computed: np.ndarray, expected: Reference, dtype: DType, masks: np.ndarray):
    """|error| / bar where a finite value is expected and was computed, else 0."""
    error = abs1((computed - expected.value) - expected.tail)
    ratio = error / hard_bar(expected, dtype)
    judged = (expected.kind == FINITE) & np.isfinite(computed)
    return np.where(judged, ratio, np.where(masks, 0.0, np.inf))


def _equals_rounded(result: np.ndarray, expected: Reference, dtype: DType) -> np.ndarray:
    """Whether each element is the expected value rounded to the type; zeros have no sign here."""
    judged = expected.kind != ANY
    if expected.tail[judged].any() or (expected.kind[judged] != FINITE).any():
        raise ValueError("exact data expected: the reference is not a float64 number")
    return ~judged | (result == expected.value.astype(numpy_dtype(dtype)))


def _residuals(computed: np.ndarray, expected: Solution, dtype: DType, exact: bool) -> np.ndarray:
    """|b - A x| over its bar for each row, and 0 where no finite element is expected."""
    a, n = expected.matrix, computed.shape[-1]
    x = np.where(expected.there, finite(computed)[..., None, :], 0)
    rows = a[..., :, None, :], x[..., :, :, None]
    rest = evaluate(*rows, expected.right[..., None, None], -1.0, 1.0, dtype.compute)
    residual = abs1(rest.value + rest.tail)[..., 0, 0]
    diagonal = np.diagonal(a, axis1=-2, axis2=-1)
    u, tiny, _ = finfo(dtype.real)
    # Products may underflow, and the row's own element, whose error the diagonal magnifies.
    lost = tiny * (1 + (2 if dtype.is_complex else 1) * n + abs1(diagonal))
    bar = (16 if n <= 9 else n + 2) * 2 * u * (abs1(a) * abs1(x)).sum(axis=-1) + lost
    ratio = np.where(residual == 0, 0.0, np.inf if exact else residual / bar)
    # An infinite divisor leaves nothing: there, x is 0 itself.
    ratio = np.where(np.isfinite(diagonal), ratio, np.where(computed == 0, 0.0, np.inf))
    return np.where(expected.kind == FINITE, ratio, 0.0)


def _quality(computed: np.ndarray, expected: Reference, dtype: DType) -> float:
    """The worst Frobenius error of a matrix over u times its BLAS++ scale."""
    scale = expected.quality
    if scale is None or dtype.name in ("float16", "bfloat16"):
        return 0.0
    axes = tuple(range(-expected.core, 0))
    error = (computed - expected.value) - expected.tail
    error = np.where(expected.kind == ANY, 0, error)
    norm = np.sqrt((np.abs(error) ** 2).sum(axis=axes) if axes else np.abs(error) ** 2)
    u, tiny, _ = finfo(dtype.real)
    ratio = norm / (u * scale * (np.sqrt(8) if dtype.is_complex else 1) + tiny)
    # A matrix with an element that is not finite has no norm; the hard bar judges the others.
    return float(np.max(np.where(np.isfinite(scale) & np.isfinite(norm), ratio, 0.0), initial=0.0))


def _describe(computed, expected: Reference | Solution, place, masks, ratio) -> str:
    got, kind = computed[place], int(expected.kind[place])
    if not masks[place]:
        wanted = _WANTED[kind] if kind != FINITE or not np.isfinite(got) else "a real value"
        return f"at {place}: got {got}, expected {wanted}"
    message = f"at {place}: got {got!r}, expected {expected.value[place]!r}"
    return f"{message}, {ratio[place]:.3g} times the bar"
