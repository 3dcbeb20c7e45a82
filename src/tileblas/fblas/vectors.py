"""Vectors as SciPy names them: elements of an array laid flat, from an offset on, steps apart."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tileblas.arrays.ingest import ingest
from tileblas.core.operand import c_strides


class Vector(NamedTuple):
    """An array, the offset of the first element, and the increment to the next."""

    array: Any
    offset: int
    step: int


def placed(array: Any, offset: Any, increment: Any) -> Vector:
    """A vector with SciPy's defaults for None, and its casts: 1.5 is 1."""
    step = 1 if increment is None else int(increment)
    return Vector(array, 0 if offset is None else int(offset), step)


def is_torch(array: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def reshaped(array: Any, *shape: int) -> Any:
    """The elements in another shape, both read by columns as in Fortran; a view if that can be."""
    if is_torch(array):
        return _turned(_turned(array).reshape(shape[::-1]))
    return array.reshape(shape, order="F")


def copied(array: Any) -> Any:
    """A copy to write, whose elements lie one after the other by columns; JAX's array as it is."""
    if is_torch(array):
        contiguous = sys.modules["torch"].contiguous_format
        return _turned(_turned(array).clone(memory_format=contiguous))
    return array if _cannot_change(array) else array.copy(order="F")


def lies_flat(array: Any) -> bool:
    """Whether the elements have a flat view by columns; of NumPy, as f2py has it, without gaps."""
    if isinstance(array, np.ndarray):
        return array.flags.f_contiguous
    if array.ndim < 2 or _cannot_change(array):
        return True
    operand = ingest(array)
    shape, strides = operand.shape[::-1], operand.strides[::-1]
    steps = zip(shape, strides, c_strides(shape), strict=True)
    return all(size < 2 or step == dense for size, step, dense in steps)


def view_of(vector: Vector, count: int) -> Any:
    """The elements that BLAS means: for a negative increment from the far end back."""
    forward = _forward(vector, count)
    return forward if vector.step > 0 else _backward(forward)


def updated(vector: Vector, count: int, update: Callable[[Any], Any]) -> Any:
    """The array of a vector whose elements `update` has written, in place where it can change."""
    view = view_of(vector, count)
    return stored(vector, count, view, update(view))


def all_updated(
    vectors: Sequence[Vector], count: int, update: Callable[..., Any]
) -> tuple[Any, ...]:
    """The same for several vectors that `update` writes at once."""
    views = [view_of(vector, count) for vector in vectors]
    written = zip(vectors, views, update(*views), strict=True)
    return tuple(stored(vector, count, view, found) for vector, view, found in written)


def stored(vector: Vector, count: int, view: Any, found: Any) -> Any:
    """The array of a vector after a routine was given the `view` of it to write, and returned
    `found`."""
    array, _, step = vector
    if found is view:
        if step < 0 and is_torch(array):
            _forward(vector, count).copy_(_backward(view))
        return array
    # JAX's arrays cannot change: a new one comes back.
    found = found if step > 0 else _backward(found)
    whole = reshaped(array, -1).at[_place(vector, count)].set(found)
    return reshaped(whole, *array.shape)


def zeros(like: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """Zeros of the library of an array; of NumPy by columns."""
    if isinstance(like, np.ndarray):
        return np.zeros(shape, dtype, order="F")
    if is_torch(like):
        return like.new_zeros(shape)
    if hasattr(like, "__array_namespace__"):  # JAX
        return like.__array_namespace__().zeros_like(like, shape=shape)
    return np.zeros_like(like, shape=shape)  # CuPy answers in NumPy's place


def plain(found: Any) -> Any:
    """A number of Python for one of NumPy, as f2py returns it; of other libraries as it is."""
    return found.item() if isinstance(found, np.generic) else found


def _cannot_change(array: Any) -> bool:
    """Whether an array is JAX's: an update of it is a new one."""
    return hasattr(array, "at")


def _turned(array: Any) -> Any:
    """A tensor with its axes in the opposite order."""
    return array.permute(*range(array.ndim - 1, -1, -1)) if array.ndim > 1 else array


def _place(vector: Vector, count: int) -> slice:
    """Where `count` elements of a vector lie in its array, laid flat."""
    _, offset, step = vector
    return slice(offset, offset + (count - 1) * abs(step) + 1 if count else offset, abs(step))


def _forward(vector: Vector, count: int) -> Any:
    """The elements of a vector in the order of memory."""
    array = vector.array
    flat = array if array.ndim == 1 else reshaped(array, -1)
    return flat[_place(vector, count)]


def _backward(view: Any) -> Any:
    """The elements from the last to the first: of torch, which cannot walk back, a copy."""
    return view.flip(0) if is_torch(view) else view[::-1]
