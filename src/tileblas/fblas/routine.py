"""Routine: a function of `tileblas.blas`, and what it makes of arguments as SciPy passes them."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np

from tileblas import api
from tileblas.arrays.ingest import ingest, is_array
from tileblas.core.dtypes import DType
from tileblas.core.operand import c_strides
from tileblas.core.spec import TRANS, Spec
from tileblas.errors import BlasError
from tileblas.routines.documentation import docstring

Vector = tuple[Any, int, int]  # as SciPy names one: an array, an offset, an increment


class Routine:
    """One function, such as `dgemm`: a routine on arrays of one type, called as SciPy does.

    `typecode`, `prefix`, `dtype`, `int_dtype` and `module_name` are what SciPy's functions have.
    """

    module_name = "tileblas"
    int_dtype = np.dtype(np.int64)

    def __init__(self, name: str, spec: Spec, dtype: DType, body: Callable[..., Any]) -> None:
        self.__name__, self._spec, self._type, self._body = name, spec, dtype, body
        self.typecode = self.prefix = dtype.letter
        self.dtype = np.dtype(dtype.name)
        parameters = list(inspect.signature(body).parameters.values())[1:]
        self.__signature__ = inspect.Signature(
            [parameter.replace(annotation=parameter.empty) for parameter in parameters]
        )
        self.__doc__ = f"{name}{self.__signature__}\n\n{docstring(spec)}"

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self._body(self, *arguments, **keywords)

    def __repr__(self) -> str:
        return f"<tileblas.blas.{self.__name__}>"

    @property
    def compute(self) -> Callable[..., Any]:
        """The function of the array interface."""
        return getattr(api, self._spec.name)

    def fail(self, argument: str, message: str) -> None:
        raise BlasError(self.__name__, argument, message)

    def number(self, argument: str, value: Any) -> Any:
        """A scalar: of a real routine the real part; one on a device as it is."""
        if not isinstance(value, np.ndarray) and is_array(value):
            return value
        try:
            number = complex(np.asarray(value).reshape(-1)[0])
        except (TypeError, ValueError, IndexError):
            raise ValueError(f"{self.__name__}: {argument!r} is no number: {value!r}") from None
        return number if self._type.is_complex else number.real

    def option(self, argument: str, value: int) -> str:
        """The letter of SciPy's number for a transpose: 0, 1 or 2."""
        if value not in (0, 1, 2):
            self.fail(argument, f"is {value}; it is 0, 1 (transposed) or 2 (conjugate transposed)")
        return TRANS[int(value)]

    def array(self, value: Any) -> Any:
        """An array of the routine's type: the very one where it is of that type already."""
        if isinstance(value, np.ndarray) or not is_array(value):
            return np.asarray(value, self.dtype)
        if not hasattr(value, "reshape"):
            kinds = "NumPy, CuPy, PyTorch and JAX"
            raise TypeError(f"{self.__name__} takes arrays of {kinds}, not {type(value).__name__}")
        if ingest(value).dtype is self._type:
            return value
        if _is_torch(value):
            return value.to(getattr(sys.modules["torch"], self._type.name))
        return value.astype(self._type.name)

    def matrix(self, value: Any) -> Any:
        """A matrix: a vector is one column of it, and axes beyond the second are joined."""
        array = self.array(value)
        if array.ndim == 2:
            return array
        rows = array.shape[0] if array.ndim else 1
        return array.reshape(rows, prod(array.shape[1:]))

    def output(self, value: Any, overwrite: bool) -> Any:
        """A vector to write: the caller's array where it may be overwritten, is of the routine's
        type and has its elements one after the other, else a copy."""
        array = self.array(value)
        mine = array is value and overwrite
        if isinstance(array, np.ndarray):
            return array if mine and array.flags.c_contiguous else array.copy("C")
        if mine and (array.ndim == 1 or _is_dense(array)):
            return array
        return _copied(array.reshape(-1)).reshape(array.shape)

    def output_matrix(self, value: Any, overwrite: bool) -> Any:
        """The same of a matrix, in the shape it is given in. NumPy's has to lie by columns."""
        array = self.array(value)
        mine = array is value and overwrite
        if isinstance(array, np.ndarray):
            return array if mine and array.flags.f_contiguous else array.copy("F")
        return array if mine else _copied(array)

    def count(self, vectors: Mapping[str, Vector], n: int | None) -> int:
        """The number of elements that are meant: n, or what the first vector has."""
        for name, vector in vectors.items():
            self._check_place(name, vector)
        if n is None:
            array, offset, step = next(iter(vectors.values()))
            n = (prod(array.shape) - offset) // abs(step)
        count = max(int(n), 0)
        for name, vector in vectors.items():
            self.check(name, vector, count)
        return count

    def check(self, name: str, vector: Vector, count: int) -> None:
        """Raise where a vector has fewer than `count` elements."""
        self._check_place(name, vector)
        array, offset, step = vector
        size = prod(array.shape)
        needed = offset + (count - 1) * abs(step) + 1 if count else 0
        if needed > size:
            place = f"{count} of them from {offset} on, {step} apart"
            self.fail(name, f"has {size} elements; {place}, need {needed}")

    def _check_place(self, name: str, vector: Vector) -> None:
        array, offset, step = vector
        size = prod(array.shape)
        if step == 0:
            self.fail(f"inc{name}", "is 0; an increment leads to another element")
        if not (0 <= offset < size or offset == size == 0):
            self.fail(f"off{name}", f"is {offset}; {name} has {size} elements")


def _is_torch(array: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def _is_dense(array: Any) -> bool:
    """Whether all elements have a flat view in C order."""
    operand = ingest(array)
    steps = zip(operand.shape, operand.strides, c_strides(operand.shape), strict=True)
    return all(size < 2 or step == dense for size, step, dense in steps)


def _copied(array: Any) -> Any:
    return array.clone() if _is_torch(array) else array.copy()


def _place(vector: Vector, count: int) -> slice:
    """Where `count` elements of a vector lie in its array, laid flat."""
    _, offset, step = vector
    return slice(offset, offset + (count - 1) * abs(step) + 1 if count else offset, abs(step))


def _forward(vector: Vector, count: int) -> Any:
    """The elements of a vector in the order of memory."""
    array = vector[0]
    flat = array if array.ndim == 1 else array.reshape(-1)
    return flat[_place(vector, count)]


def _backward(view: Any) -> Any:
    """The elements from the last to the first: of torch, which cannot walk back, a copy."""
    return view.flip(0) if _is_torch(view) else view[::-1]


def view_of(vector: Vector, count: int) -> Any:
    """The elements that BLAS means: for a negative increment from the far end back."""
    forward = _forward(vector, count)
    return forward if vector[2] > 0 else _backward(forward)


def updated(vector: Vector, count: int, update: Callable[[Any], Any]) -> Any:
    """The array of a vector whose elements `update` has written, in place where it can change."""
    array, _, step = vector
    view = view_of(vector, count)
    found = update(view)
    if found is view:
        if step < 0 and _is_torch(array):
            _forward(vector, count).copy_(_backward(view))
        return array
    # JAX's arrays cannot change: a new one comes back.
    found = found if step > 0 else _backward(found)
    whole = array.reshape(-1).at[_place(vector, count)].set(found)
    return whole.reshape(array.shape)


def zeros(like: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """Zeros of the library of an array; of NumPy by columns."""
    if isinstance(like, np.ndarray):
        return np.zeros(shape, dtype, order="F")
    if _is_torch(like):
        return like.new_zeros(shape)
    if hasattr(like, "__array_namespace__"):  # JAX
        return like.__array_namespace__().zeros_like(like, shape=shape)
    return np.zeros_like(like, shape=shape)  # CuPy answers in NumPy's place


def plain(found: Any) -> Any:
    """A number of Python for one of NumPy, as f2py returns it; of other libraries as it is."""
    return found.item() if isinstance(found, np.generic) else found
