"""Whether elements coincide: within one operand, or between two. Nothing is read."""

from __future__ import annotations

import numpy as np

from tileblas.core.operand import Operand, extent, numpy_view

#: Bound of NumPy's exact search; beyond it two operands count as meeting, which is the safe answer.
_MAX_WORK = 10**6


def overlaps_itself(operand: Operand) -> bool:
    """Whether two indices of the operand address the same element.

    Axes sorted by stride that each step over all smaller ones cannot meet. Otherwise two indices
    that coincide first differ in some axis: that axis at 0 meets the same axis from 1 on.
    """
    axes = sorted((abs(s), n) for s, n in zip(operand.strides, operand.shape, strict=True) if n > 1)
    if 0 in operand.shape or not axes:
        return False
    if axes[0][0] == 0:
        return True
    reach = 0
    for stride, n in axes:
        if stride <= reach:
            break
        reach += (n - 1) * stride
    else:
        return False
    view = _view(operand)
    for axis in range(view.ndim):
        head = (0,) * axis
        if view.shape[axis] > 1 and _share(
            view[(*head, slice(0, 1))], view[(*head, slice(1, None))]
        ):
            return True
    return False


def share_elements(left: Operand, right: Operand) -> bool:
    """Whether two operands have an element in common: ranges first, exactly if they meet."""
    return ranges_meet(left, right) and _share(_view(left), _view(right))


def ranges_meet(left: Operand, right: Operand) -> bool:
    """Whether the address ranges of two operands meet."""
    if left.device != right.device:
        return False
    (a0, a1), (b0, b1) = byte_range(left), byte_range(right)
    return a0 < b1 and b0 < a1


def byte_range(operand: Operand) -> tuple[int, int]:
    """First and one past the last byte address of an operand."""
    low, high = byte_reach(operand)
    return operand.pointer + low, operand.pointer + high


def byte_reach(operand: Operand) -> tuple[int, int]:
    """The same, relative to the operand's pointer: it follows from shape and strides alone."""
    assert operand.dtype is not None
    low, high = extent(operand.shape, operand.strides)
    return low * operand.dtype.itemsize, high * operand.dtype.itemsize


def _view(operand: Operand):
    assert operand.dtype is not None
    return numpy_view(operand.pointer, operand.dtype, operand.shape, operand.strides)


def _share(left, right) -> bool:
    try:
        return np.shares_memory(left, right, max_work=_MAX_WORK)
    except np.exceptions.TooHardError:
        return True
