"""DLPack export: a capsule that describes an array and keeps its memory alive.

Written with ctypes, since no dependency exports typed memory that is not its own. The layout is
that of the DLPack header, version 0 (DLManagedTensor), which every consumer takes.
"""

from __future__ import annotations

import ctypes
from typing import Any

CPU, CUDA = 1, 2

# name: (type code of DLPack, bits)
TYPES: dict[str, tuple[int, int]] = {
    "int32": (0, 32),
    "int64": (0, 64),
    "float16": (2, 16),
    "float32": (2, 32),
    "float64": (2, 64),
    "bfloat16": (4, 16),
    "complex64": (5, 64),
    "complex128": (5, 128),
}

_NAME = b"dltensor"  # a consumer renames the capsule; then the tensor is the consumer's to delete


class _Device(ctypes.Structure):
    _fields_ = (("kind", ctypes.c_int32), ("ordinal", ctypes.c_int32))


class _Type(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _Type),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _ManagedTensor(ctypes.Structure):
    _fields_ = (
        ("tensor", _Tensor),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


# What exported tensors hold on to, by the address of the tensor, until it is deleted.
_exported: dict[int, tuple[Any, ...]] = {}

_Function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


# The capsule is passed as an address: in its destructor it is no longer an object to refer to.
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)
_get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


# Consumers may delete tensors while the interpreter takes modules apart: what the two callbacks
# need they hold themselves, as defaults, and they themselves outlive that.


@_Function
def _delete(tensor: int, forget: Any = _exported.pop) -> None:
    """Called by the consumer, on any thread: let go of the array."""
    forget(tensor, None)


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _drop(
    capsule: int,
    forget: Any = _exported.pop,
    is_valid: Any = _is_valid,
    get_pointer: Any = _get_pointer,
    name: bytes = _NAME,
) -> None:
    """Called when a capsule dies: a tensor that nobody took is deleted."""
    if is_valid(capsule, name):
        forget(get_pointer(capsule, name), None)


_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)

for _callback in (_delete, _drop):
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_callback))


def capsule(
    address: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    dtype: str,
    device: tuple[int, int],
    owner: Any,
) -> Any:
    """A DLPack capsule of the memory at `address`; `owner` lives until the consumer is done.

    `strides` are in elements, `device` is (device type, ordinal).
    """
    code, bits = TYPES[dtype]
    extents = ctypes.c_int64 * max(1, len(shape))
    shape_array, stride_array = extents(*shape), extents(*strides)
    managed = _ManagedTensor(
        tensor=_Tensor(
            data=address,
            device=_Device(*device),
            ndim=len(shape),
            dtype=_Type(code, bits, 1),
            shape=shape_array,
            strides=stride_array,
            byte_offset=0,
        ),
        deleter=ctypes.cast(_delete, ctypes.c_void_p),
    )
    pointer = ctypes.addressof(managed)
    _exported[pointer] = (managed, shape_array, stride_array, owner)
    return _new(pointer, _NAME, ctypes.cast(_drop, ctypes.c_void_p))
