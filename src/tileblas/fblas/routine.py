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
from tileblas.core.spec import DIAG, SIDE, TRANS, UPLO, Spec
from tileblas.core.storage import packed_length
from tileblas.errors import BlasError
from tileblas.fblas.vectors import (
    Vector,
    copied,
    is_torch,
    lies_flat,
    placed,
    reshaped,
    view_of,
    zeros,
)
from tileblas.routines.documentation import docstring

#: Letters that SciPy has a number for, counted from 0, and what to say where there is no such.
_TRANSPOSES = TRANS, ("0", "1 (transposed)", "2 (conjugate transposed)")
_OPTIONS = {
    "lower": (UPLO, ("0 (the upper triangle)", "1 (the lower one)")),
    "side": (SIDE, ("0 (A on the left)", "1 (on the right)")),
    "diag": (DIAG, ("0", "1 (a diagonal of ones)")),
}


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
        about = f"{inspect.getdoc(body)}\n\ntileblas.{spec.name}, which computes it:\n"
        self.__doc__ = f"{name}{self.__signature__}\n\n{about}\n{docstring(spec)}"

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
        """A scalar: where that has to be real, the real part; one on a device as it is."""
        if argument in self._spec.real_scalars:
            return self._number(argument, value).real
        return self._number(argument, value)

    def _number(self, argument: str, value: Any) -> Any:
        if _is_foreign(value):
            return value
        try:
            number = complex(np.asarray(value).reshape(-1)[0])
        except (TypeError, ValueError, IndexError):
            raise ValueError(f"{self.__name__}: {argument!r} is no number: {value!r}") from None
        return number if self._type.is_complex else number.real

    def real(self, argument: str, value: Any) -> Any:
        """A scalar that is real whatever the type of the arrays: the real part."""
        return self._number(argument, value).real

    def numbers(self, **values: Any) -> list[Any]:
        """Numbers as arrays of the routine's type: if one of them is an array of a library, all are
        of that library and where that is."""
        found = {name: self.number(name, value) for name, value in values.items()}
        arrays = [self.array(value) for value in found.values() if _is_foreign(value)]
        if not arrays:
            return [np.asarray(number, self.dtype) for number in found.values()]
        zero = zeros(arrays[0], arrays[0].shape, self.dtype)
        return [self.array(v) if _is_foreign(v) else zero + v for v in found.values()]

    def option(self, argument: str, value: Any) -> str:
        """The letter of SciPy's number for an option, with its default for None, and its casts."""
        letters, meanings = _OPTIONS.get(argument, _TRANSPOSES)
        taken = self._letters_of(argument) or letters
        number = 0 if value is None else int(value)
        if not 0 <= number < len(letters) or letters[number] not in taken:
            pairs = zip(letters, meanings, strict=True)
            *others, last = (meaning for letter, meaning in pairs if letter in taken)
            self.fail(argument, f"is {value}; it is {', '.join(others)} or {last}")
        return letters[number]

    def _letters_of(self, argument: str) -> str:
        """The letters that an option of that name has for the routine's type, if there is one."""
        option = next((o for o in self._spec.options if o.name == argument), None)
        if option is None:
            return ""
        return (self._type.is_complex and option.complex_letters) or option.letters

    def size(self, argument: str, value: Any) -> int:
        """A size or a number of diagonals."""
        size = int(value)
        if size < 0:
            self.fail(argument, f"is {size}; it has to be 0 or more")
        return size

    def array(self, value: Any) -> Any:
        """An array of the routine's type: the very one where it is of that type already."""
        if not _is_foreign(value):
            return np.asarray(value, self.dtype)
        if not hasattr(value, "reshape"):
            kinds = "NumPy, CuPy, PyTorch and JAX"
            raise TypeError(f"{self.__name__} takes arrays of {kinds}, not {type(value).__name__}")
        if ingest(value).dtype is self._type:
            return value
        if is_torch(value):
            return value.to(getattr(sys.modules["torch"], self._type.name))
        return value.astype(self._type.name)

    def matrix(self, value: Any) -> Any:
        """A matrix: a vector is one column of it, and axes beyond the second are joined."""
        array = self.array(value)
        if array.ndim == 2:
            return array
        rows = array.shape[0] if array.ndim else 1
        return reshaped(array, rows, prod(array.shape[1:]))

    def square(self, argument: str, value: Any) -> Any:
        """A matrix with as many rows as columns."""
        array = self.matrix(value)
        if array.shape[0] != array.shape[1]:
            self.fail(argument, f"has shape {tuple(array.shape)}; it has to be square")
        return array

    def band(self, argument: str, value: Any, diagonals: int) -> Any:
        """The diagonals of a band matrix, which are the first rows of an array."""
        array = self.matrix(value)
        if array.shape[0] < diagonals:
            self.fail(argument, f"has {array.shape[0]} rows; the band has {diagonals} diagonals")
        return array[:diagonals]

    def packed(self, argument: str, value: Any, n: int) -> Any:
        """A packed triangle of order n, with which an array begins."""
        vector, count = self.read(value, 0, 1), packed_length(n)
        self.check(argument, vector, count)
        return view_of(vector, count)

    def read(self, value: Any, offset: Any, increment: Any) -> Vector:
        """A vector to read."""
        return placed(self.array(value), offset, increment)

    def written(self, value: Any, overwrite: Any, offset: Any, increment: Any) -> Vector:
        """A vector to write: in the caller's array where it may be overwritten, is of the routine's
        type and has its elements one after the other, else in a copy."""
        array = self.array(value)
        mine = array is value and overwrite
        return placed(array if mine and lies_flat(array) else copied(array), offset, increment)

    def output_matrix(self, value: Any, overwrite: bool) -> Any:
        """The same of a matrix, in the shape it is given in. NumPy's has to lie by columns."""
        array = self.array(value)
        mine = array is value and overwrite
        if isinstance(array, np.ndarray):
            return array if mine and array.flags.f_contiguous else array.copy("F")
        return array if mine and (array.ndim == 2 or lies_flat(array)) else copied(array)

    def updated_matrix(
        self,
        argument: str,
        value: Any,
        overwrite: Any,
        shape: tuple[int, int],
        like: Any,
        update: Callable[[Any], Any],
    ) -> Any:
        """The array of a matrix that `update` has written, in place where it can change; if none is
        given, one of zeros as `like` has them."""
        if value is None:
            value, overwrite = zeros(like, shape, self.dtype), True
        array = self.output_matrix(value, bool(overwrite))
        matrix = self.matrix(array)
        if tuple(matrix.shape) != shape:
            self.fail(argument, f"has shape {tuple(array.shape)}; the result has {shape}")
        found = update(matrix)
        return array if found is matrix else reshaped(found, *array.shape)

    def count(self, vectors: Mapping[str, Vector], n: Any, last: int = 0) -> int:
        """The number of elements that are meant: n, or what the first vector has.

        That is its length by the increment, rounded down; with `last` = 1 rounded up, so that one
        element is left at the end without a whole increment behind it.
        """
        for name, vector in vectors.items():
            self._check_place(name, vector)
        if n is None:
            array, offset, step = next(iter(vectors.values()))
            n = (prod(array.shape) - offset - last) // abs(step) + last
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


def _is_foreign(value: Any) -> bool:
    """Whether a value is an array of another library than NumPy."""
    return not isinstance(value, np.ndarray) and is_array(value)
