"""SciPy's BLAS as C functions: the pointers in scipy.linalg.cython_blas, called through ctypes."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from tileblas.core.call import View
from tileblas.core.dtypes import DTYPES, DType
from tileblas.core.operand import numpy_view

BUFFER_ELEMENTS = 1 << 16  # elements of a vector that goes through a buffer at a time
INT_MAX = 2**31 - 1  # the largest size, increment or leading dimension of SciPy's BLAS

_REAL = {"float32": ctypes.c_float, "float64": ctypes.c_double}


class _Complex64(ctypes.Structure):
    _fields_ = [("re", ctypes.c_float), ("im", ctypes.c_float)]


class _Complex128(ctypes.Structure):
    _fields_ = [("re", ctypes.c_double), ("im", ctypes.c_double)]


_C_TYPE = {**_REAL, "complex64": _Complex64, "complex128": _Complex128}


class Vector(NamedTuple):
    """A vector that BLAS can take: address of element 0, length, signed increment."""

    address: int
    n: int
    inc: int
    dtype: DType
    keep: object = None  # the buffer behind the address, if it is ours

    @property
    def base(self) -> int:
        """BLAS passes the lowest address of a vector whose increment is negative."""
        return self.address + min(0, (self.n - 1) * self.inc) * self.dtype.itemsize

    @property
    def step(self) -> int:
        """The increment from `base` up, where order does not matter; at least 1."""
        return max(1, abs(self.inc))


@cache
def function(name: str, returns: str | None = None):
    """The BLAS routine `name`; every argument is a pointer, `returns` the dtype of its value."""
    from scipy.linalg import cython_blas

    capsule = cython_blas.__pyx_capi__[name]
    get_name = ctypes.pythonapi.PyCapsule_GetName
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = get_pointer(capsule, get_name(capsule))
    return ctypes.CFUNCTYPE(_C_TYPE[returns] if returns else None)(address)


def _int(value: int):
    if not -INT_MAX <= value <= INT_MAX:  # ctypes would wrap it
        raise OverflowError(f"{value} is no size for SciPy's BLAS, whose integers have 32 bits")
    return ctypes.byref(ctypes.c_int(value))


def _scalar(dtype: DType, value: complex):
    if dtype.is_complex:
        return ctypes.byref(_C_TYPE[dtype.name](value.real, value.imag))
    return ctypes.byref(_C_TYPE[dtype.name](value))


def _at(address: int):
    return ctypes.c_void_p(address)


def chunks(n: int, buffered: bool) -> Iterator[tuple[int, int]]:
    """(start, count) of parts of a vector that BLAS can take at once."""
    step = BUFFER_ELEMENTS if buffered else INT_MAX
    for start in range(0, n, step):
        yield start, min(step, n - start)


def dot(x: Vector, y: Vector, conj_x: bool, conj_y: bool):
    """sum op(x_i) op(y_i), as a Python number."""
    dtype = x.dtype
    name = (
        f"{dtype.letter}dot"
        if not dtype.is_complex
        else f"{dtype.letter}dot{'c' if conj_x != conj_y else 'u'}"
    )
    first, second = (y, x) if conj_y and not conj_x else (x, y)
    value = function(name, dtype.name)(
        _int(x.n), _at(first.base), _int(first.inc), _at(second.base), _int(second.inc)
    )
    if not dtype.is_complex:
        return value
    total = complex(value.re, value.im)
    return total.conjugate() if conj_x and conj_y else total


def axpy(alpha: complex, x: Vector, y: Vector, conj_x: bool = False) -> None:
    """y := alpha op(x) + y; a real-typed alpha on complex vectors runs on their components."""
    if not x.dtype.is_complex or isinstance(alpha, complex):
        function(f"{x.dtype.letter}axpy")(
            _int(x.n), _scalar(x.dtype, alpha), _at(x.base), _int(x.inc), _at(y.base), _int(y.inc)
        )
        return
    for component, sign in ((0, 1), (1, -1 if conj_x else 1)):
        axpy(sign * alpha, _component(x, component), _component(y, component))


def nrm2(x: Vector) -> float:
    """sqrt(sum |x_i|^2), which overflows only where the norm itself does."""
    if x.inc == 0 and x.n > 1:
        return math.sqrt(x.n) * nrm2(x._replace(n=1))
    letters = x.dtype.letter
    name = f"s{letters}" if letters == "c" else f"d{letters}" if letters == "z" else letters
    # A norm does not depend on the order, and no BLAS need take a negative increment here.
    return function(f"{name}nrm2", x.dtype.real)(_int(x.n), _at(x.base), _int(x.step))


def scal(alpha: complex, x: Vector) -> None:
    """x := alpha x; a real-typed alpha on complex vectors runs on their components."""
    if x.dtype.is_complex and not isinstance(alpha, complex):
        for component in _components(x):
            scal(alpha, component)
        return
    if alpha == 0:  # OpenBLAS before 0.3.28, as in SciPy 1.13, writes zeros: 0 NaN has to be NaN
        values = numpy_view(x.address, x.dtype, (x.n,), (x.inc,))
        with np.errstate(invalid="ignore"):
            values *= alpha
        return
    function(f"{x.dtype.letter}scal")(_int(x.n), _scalar(x.dtype, alpha), _at(x.base), _int(x.step))


def _components(v: Vector) -> tuple[Vector, ...]:
    """A complex vector as real ones: one of twice the length, or the real and imaginary parts."""
    if abs(v.inc) == 1 and 2 * v.n <= INT_MAX:
        return (Vector(v.base, 2 * v.n, 1, DTYPES[v.dtype.real]),)
    return _component(v, 0), _component(v, 1)


def _component(v: Vector, which: int) -> Vector:
    """The real (0) or imaginary (1) parts of a complex vector, as a real one."""
    real = DTYPES[v.dtype.real]
    return Vector(v.address + which * real.itemsize, v.n, 2 * v.inc, real)


# A matrix with unit stride along its last axis is, to column-major BLAS, its own transpose.


def is_blas_matrix(view: View) -> bool:
    """Whether BLAS can read the matrix where it lies: a unit stride, a valid ld, an op it has."""
    return operation(view) is not None


def is_blas_output(view: View) -> bool:
    """Whether BLAS can write the matrix where it lies, in the canonical turn (unit last axis)."""
    found = operation(view)
    return found is not None and found[0] == "N"


def operation(view: View) -> tuple[str, int] | None:
    """(op letter, ld) with which BLAS reads the transpose of `view`, or None if it cannot."""
    letters = {"N": "" if view.conj else "N", "T": "C" if view.conj else "T"}
    return next(((letters[op], ld) for op, ld in _readings(view) if letters[op]), None)


def operation_on_vectors(view: View) -> tuple[str, int] | None:
    """(op letter, ld) with which ?gemv reads `view` itself, or None if it cannot."""
    letters = {"N": "C" if view.conj else "T", "T": "" if view.conj else "N"}
    return next(((letters[op], ld) for op, ld in _readings(view) if letters[op]), None)


def _readings(view: View) -> Iterator[tuple[str, int]]:
    """(op letter, ld) of each way to read the transpose of a matrix as stored."""
    if view.dtype.name not in _C_TYPE or max(view.shape) > INT_MAX:
        return
    rows, columns = view.shape
    row_step, column_step = view.strides
    if column_step == 1 or columns <= 1:
        ld = row_step if rows > 1 else max(1, columns)
        if max(1, columns) <= ld <= INT_MAX:
            yield "N", ld
    if row_step == 1 or rows <= 1:
        ld = column_step if columns > 1 else max(1, rows)
        if max(1, rows) <= ld <= INT_MAX:
            yield "T", ld


def gemv(alpha: complex, a: tuple[View, int], x: Vector, beta: complex, y: Vector) -> None:
    """y := alpha A x + beta y for a matrix given as (view, address)."""
    view, address = a
    found = operation_on_vectors(view)
    assert found is not None
    letter, ld = found
    stored = view.shape if letter == "N" else view.shape[::-1]
    function(f"{view.dtype.letter}gemv")(
        ctypes.c_char_p(letter.encode()),
        _int(stored[0]),
        _int(stored[1]),
        _scalar(view.dtype, alpha),
        _at(address),
        _int(ld),
        _at(x.base),
        _int(x.inc or 1),  # one element has no increment
        _scalar(view.dtype, beta),
        _at(y.base),
        _int(y.inc or 1),
    )


def by_name(
    name: str,
    dtype: DType,
    arguments: Sequence[str],
    values: Mapping[str, Any],
    real: Sequence[str] = (),
) -> None:
    """Call a routine with values by the names of its Fortran arguments; `real` names real scalars.

    Arrays are addresses, the lowest ones where an increment is negative.
    """

    def pointer(argument: str):
        value = values[argument]
        if argument in ("a", "ap", "b", "c", "x", "y"):
            return _at(value)
        if argument in ("alpha", "beta"):
            return _scalar(DTYPES[dtype.real] if argument in real else dtype, value)
        return ctypes.c_char_p(value.encode()) if isinstance(value, str) else _int(value)

    function(f"{dtype.letter}{name}")(*map(pointer, arguments))


def gemm(
    dims: tuple[int, ...],
    alpha: complex,
    a: tuple[View, int],
    b: tuple[View, int],
    beta: complex,
    c: tuple[View, int],
) -> None:
    """C := alpha A B + beta C for (view, address) pairs, as C^T := alpha B^T A^T + beta C^T."""
    m, n, k = dims
    dtype = c[0].dtype
    (op_a, ld_a), (op_b, ld_b), (_, ld_c) = (_known(v) for v, _ in (a, b, c))
    function(f"{dtype.letter}gemm")(
        ctypes.c_char_p(op_b.encode()),
        ctypes.c_char_p(op_a.encode()),
        _int(n),
        _int(m),
        _int(k),
        _scalar(dtype, alpha),
        _at(b[1]),
        _int(ld_b),
        _at(a[1]),
        _int(ld_a),
        _scalar(dtype, beta),
        _at(c[1]),
        _int(ld_c),
    )


def _known(view: View) -> tuple[str, int]:
    found = operation(view)
    assert found is not None
    return found
