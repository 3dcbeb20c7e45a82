"""alpha and beta: from what the caller passed to a Scalar, rounded once to the compute type."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from numbers import Complex, Number, Real
from typing import Any

import numpy as np

from tileblas.arrays.ingest import ingest, is_array
from tileblas.core.call import Scalar
from tileblas.core.dtypes import DType, lookup, numpy_dtype
from tileblas.core.operand import CONJ, HOST, NEG, Operand, numpy_view
from tileblas.core.spec import Spec
from tileblas.errors import BlasError


def numbers(spec: Spec, values: Sequence[Any]) -> tuple[Any, ...]:
    """The operands of a routine on numbers: numbers of Python and NumPy as 0-d arrays of one type.

    That is the type in which NumPy would compute with them, at least float64. Arrays stay what they
    are. Raises TypeError for what is neither.
    """
    if all(is_array(value) for value in values):
        return tuple(values)
    for name, value in zip(spec.argument_names, values, strict=True):
        if not is_array(value) and (
            isinstance(value, bool | np.bool_) or not isinstance(value, Number | np.generic)
        ):
            what = f"must be a number or an array, got {type(value).__name__}"
            raise TypeError(_named(spec, name, what))
    arrays = [np.asarray(value) for value in values if not is_array(value)]
    common = np.result_type(*arrays)
    dtype = common if common.kind in "fc" else np.dtype("float64")
    return tuple(v if is_array(v) else np.asarray(v, dtype) for v in values)


def unpacked(spec: Spec, param: Any) -> tuple[Any, ...]:
    """The numbers of the one sequence that stands for all scalars of a routine (rotm's param).

    A sequence of numbers, or an array along one axis, of which the elements stay where they are.
    TypeError for what is no sequence, BlasError for one of another length.
    """
    try:
        items = _elements(param) if is_array(param) else tuple(param)
    except TypeError:
        what = f"must be a sequence of {len(spec.scalars)} numbers, got {type(param).__name__}"
        raise TypeError(_named(spec, spec.packed, what)) from None
    if len(items) != len(spec.scalars):
        message = f"has {len(items)} numbers; it is ({', '.join(spec.scalars)})"
        raise _blas_error(spec, spec.packed, message)
    return items


def _elements(array: Any) -> tuple[Any, ...]:
    """The elements of an array with one axis: as its library views them, where it does.

    Those of others on a device as Operands: to iterate over them might copy each to the host.
    """
    operand = ingest(array)
    if operand.library in ("numpy", "torch", "cupy") or operand.dtype is None:
        return tuple(array)
    if len(operand.shape) != 1:
        raise TypeError
    step = operand.strides[0] * operand.dtype.itemsize
    place = operand._replace(shape=(), strides=())
    return tuple(
        place._replace(pointer=operand.pointer + i * step) for i in range(operand.shape[0])
    )


_ONE, _ZERO = Scalar("one", 1.0), Scalar("zero", 0.0)


def parse(spec: Spec, name: str, value: Any, dtype: DType, device: int) -> Scalar:
    """`value` as the routine's scalar `name` for operands of `dtype` on `device`.

    Raises TypeError for what is no number or not allowed beside these operands, BlasError for an
    integer beyond every floating-point number.
    """
    kind = type(value)
    if kind is int or kind is float:
        if value == 1:
            return _ONE
        if value == 0:
            return _zero(value)
    elif kind is Operand or is_array(value):
        operand = value if kind is Operand else _ingest(spec, name, value)
        if operand.device != HOST:
            return _device_scalar(spec, name, operand, dtype, device)
        value = _element(spec, name, operand)
    elif isinstance(value, np.generic) and not isinstance(value, Number):
        value = value.item() if lookup(value.dtype) else value  # bfloat16 of ml_dtypes
    if isinstance(value, bool | np.bool_) or not isinstance(value, Complex):
        what = "must be a number or a 0-d array of the operands' device"
        raise TypeError(_named(spec, name, f"{what}, got {kind.__name__}"))
    return _host_scalar(spec, name, value, dtype)


def _zero(value: float) -> Scalar:
    """0 or -0: scal gives its elements the sign of the product."""
    return Scalar("zero", value) if math.copysign(1, value) < 0 else _ZERO


def _ingest(spec: Spec, name: str, value: Any) -> Operand:
    try:
        return ingest(value)
    except (TypeError, ValueError) as error:
        raise TypeError(_named(spec, name, str(error))) from error


def _element(spec: Spec, name: str, operand: Operand) -> Any:
    """The one element of a 0-d host array, as a number."""
    if operand.shape != () or operand.dtype is None:
        kind = getattr(operand.array, "dtype", "unknown type")
        what = f"must be a number, got shape {operand.shape} of {kind}"
        raise TypeError(_named(spec, name, what))
    stored = numpy_view(operand.pointer, operand.dtype, (), (), operand.array)
    value = stored.view(numpy_dtype(operand.dtype))[()].item()
    value = value.conjugate() if operand.flags & CONJ else value
    return -value if operand.flags & NEG else value


def _host_scalar(spec: Spec, name: str, value: Complex, dtype: DType) -> Scalar:
    rounded: complex
    try:
        if isinstance(value, Real):
            kind, rounded = "real", _round(float(value), dtype)
        elif name in spec.real_scalars:
            raise TypeError(_named(spec, name, "is complex, but it has to be real"))
        elif dtype.is_complex:
            number = complex(value)
            kind, rounded = (
                "complex",
                complex(_round(number.real, dtype), _round(number.imag, dtype)),
            )
        else:
            raise TypeError(_named(spec, name, f"is complex, but the operands are {dtype}"))
    except OverflowError as error:
        message = f"is {value}, beyond every floating-point number"
        raise _blas_error(spec, name, message) from error
    if rounded == 0:
        return _zero(rounded.real) if kind == "real" else _ZERO
    return _ONE if rounded == 1 else Scalar(kind, rounded)


def _round(value: float, dtype: DType) -> float:
    """Round once to the compute type; beyond float32 means Inf, as in IEEE conversion."""
    return value if dtype.compute == "float64" else ctypes.c_float(value).value


def _device_scalar(spec: Spec, name: str, operand: Operand, dtype: DType, device: int) -> Scalar:
    if operand.shape != () or operand.device != device:
        place = "on the host" if device == HOST else f"on CUDA device {device}"
        got = f"shape {operand.shape} on CUDA device {operand.device}"
        what = f"must be a number or a 0-d array {place} like the operands, got {got}"
        raise TypeError(_named(spec, name, what))
    if operand.dtype is None or operand.dtype.name not in (dtype.name, dtype.compute):
        found = getattr(operand.array, "dtype", operand.dtype)
        allowed = dtype.name if dtype.name == dtype.compute else f"{dtype.name} or {dtype.compute}"
        raise TypeError(_named(spec, name, f"on the device must be {allowed}, got {found}"))
    if operand.flags & (CONJ | NEG):
        message = "is a lazily conjugated or negated view; resolve it first"
        raise _blas_error(spec, name, message)
    if operand.dtype.is_complex and name in spec.real_scalars:
        raise TypeError(_named(spec, name, f"is {operand.dtype}, but it has to be real"))
    kind = "complex_pointer" if operand.dtype.is_complex else "real_pointer"
    return Scalar(kind, 0.0, operand)


def _named(spec: Spec, name: str, message: str) -> str:
    return f"{spec.name}: argument {spec.passed_as(name)!r} {message}"


def _blas_error(spec: Spec, name: str, message: str) -> BlasError:
    argument = spec.passed_as(name)
    return BlasError(spec.name, argument, message, spec.position(argument))
