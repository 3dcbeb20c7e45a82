"""ingest(array) -> Operand, for NumPy, CuPy, torch, JAX, CUDA-array-interface and DLPack."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from tileblas.core.dtypes import lookup
from tileblas.core.operand import CONJ, HOST, NEG, READONLY, Operand, c_strides

LEGACY_STREAM = 1  # the legacy default stream in the numbering of DLPack and the CUDA interface
_DLPACK_CPU, _DLPACK_CUDA, _DLPACK_CUDA_HOST, _DLPACK_MANAGED = 1, 2, 3, 13

_readers: dict[type, Callable[[Any], Operand]] = {}


def ingest(array: Any) -> Operand:
    """Describe `array` without copying it.

    Raises TypeError for what is no array, ValueError for strides that are not whole elements.
    """
    kind = type(array)
    reader = _readers.get(kind)
    if reader is None:
        reader = _readers[kind] = _find_reader(array)
    return reader(array)


def is_array(value: Any) -> bool:
    """Whether `value` offers its elements as an array (NumPy's own scalars count as numbers)."""
    if isinstance(value, (int, float, complex, np.generic)):
        return False
    return any(
        hasattr(value, name)
        for name in ("__dlpack__", "__cuda_array_interface__", "__array_interface__")
    )


def _find_reader(array: Any) -> Callable[[Any], Operand]:
    kind = type(array)
    roots = {base.__module__.partition(".")[0] for base in kind.__mro__}
    # A masked array cannot exist before numpy.ma is imported, which takes 10 ms.
    masked = sys.modules.get("numpy.ma")
    if masked is not None and isinstance(array, masked.MaskedArray):
        raise TypeError("a masked array has no BLAS meaning; pass its filled data")
    if isinstance(array, np.ndarray):
        return _numpy
    if kind.__module__ == "tileblas.runtime.memory":
        return _own
    if "torch" in roots and hasattr(array, "data_ptr"):
        return _torch
    if "cupy" in roots and hasattr(array, "data"):
        return _cupy
    if roots & {"jax", "jaxlib"}:
        return _jax
    if hasattr(array, "__cuda_array_interface__"):
        return _cuda_interface
    if hasattr(array, "__dlpack__") and hasattr(array, "__dlpack_device__"):
        return _dlpack
    raise TypeError(
        f"expected an array (NumPy, CuPy, torch, JAX, DLPack, CUDA array interface), "
        f"got {kind.__module__}.{kind.__qualname__}"
    )


@lru_cache(maxsize=1024)
def _elements(
    shape: tuple[int, ...], byte_strides: tuple[int, ...], itemsize: int
) -> tuple[int, ...]:
    """Strides in elements; an axis that is never walked has stride 0, whatever its bytes say."""
    walked = [s if n > 1 else 0 for n, s in zip(shape, byte_strides, strict=True)]
    if any(s % itemsize for s in walked):
        raise ValueError(f"has strides of {byte_strides} bytes, no multiples of {itemsize}")
    return tuple(s // itemsize for s in walked)


def _numpy(array: Any) -> Operand:
    dtype = lookup(array.dtype)
    flags = array.flags
    if dtype is None:
        return Operand(0, None, array.shape, (), 0, HOST, "numpy", array)
    if not flags.aligned:
        raise ValueError("is not aligned to its element size; copy it first")
    strides = _elements(array.shape, array.strides, dtype.itemsize)
    readonly = 0 if flags.writeable else READONLY
    return Operand(array.ctypes.data, dtype, array.shape, strides, readonly, HOST, "numpy", array)


def _torch(array: Any) -> Operand:
    if array.layout.__str__() != "torch.strided":
        raise TypeError(f"expected a dense torch tensor, got layout {array.layout}")
    where = array.device
    if where.type not in ("cuda", "cpu"):
        raise TypeError(f"a torch tensor on {where} is neither on a CUDA device nor on the CPU")
    device = where.index if where.type == "cuda" else HOST
    flags = (CONJ if array.is_conj() else 0) | (NEG if array.is_neg() else 0)
    return Operand(
        array.data_ptr(),
        lookup(array.dtype),
        tuple(array.shape),
        array.stride(),
        flags,
        device,
        "torch",
        array,
    )


def _cupy(array: Any) -> Operand:
    dtype = lookup(array.dtype)
    memory = array.data
    strides = _elements(array.shape, array.strides, dtype.itemsize) if dtype else ()
    return Operand(memory.ptr, dtype, array.shape, strides, 0, memory.device_id, "cupy", array)


def _own(array: Any) -> Operand:
    """Device memory that tileblas itself made for a caller whose library it cannot allocate in."""
    return Operand(
        array.address,
        lookup(array.dtype),
        array.shape,
        array.strides,
        0,
        array.device,
        "tileblas",
        array,
        array.stream,
    )


def _jax(array: Any) -> Operand:
    if not hasattr(array, "unsafe_buffer_pointer"):
        raise TypeError("a traced JAX value has no memory; call outside jit")
    devices = array.devices()
    if len(devices) != 1:
        raise TypeError(f"a JAX array over {len(devices)} devices has no single memory")
    if next(iter(devices)).platform == "cpu":
        operand = _numpy(np.asarray(array))
    else:
        # The exchange makes the legacy stream wait for the producer; the host does not.
        operand = _dlpack(array)
    return operand._replace(library="jax", array=array, flags=operand.flags | READONLY)


def _cuda_interface(array: Any) -> Operand:
    interface = array.__cuda_array_interface__
    if interface.get("mask") is not None:
        raise TypeError("a masked array has no BLAS meaning")
    stored = np.dtype(interface["typestr"])
    dtype = lookup(stored)
    shape = tuple(interface["shape"])
    pointer, readonly = interface["data"]
    byte_strides = interface.get("strides")
    if dtype is None:
        strides: tuple[int, ...] = ()
    elif byte_strides is None:
        strides = c_strides(shape)
    else:
        strides = _elements(shape, tuple(byte_strides), dtype.itemsize)
    stream = interface.get("stream")
    if stream == 0:
        raise ValueError("names stream 0, which the CUDA array interface does not allow")
    return Operand(
        pointer or 0,
        dtype,
        shape,
        strides,
        READONLY if readonly else 0,
        _pointer_device(pointer),
        "cuda_interface",
        array,
        LEGACY_STREAM if stream is None and interface.get("version", 0) < 3 else stream,
    )


def _pointer_device(pointer: int) -> int:
    """The CUDA device that owns an address; a null pointer (empty array) counts as device 0."""
    if not pointer:
        return 0
    from tileblas.runtime.driver import driver

    return driver().device_of(pointer)


def _refuse_in_forked_child() -> None:
    """Raise before an exporter is asked: in a forked child it may wait for good, or abort (JAX)."""
    from tileblas.runtime.driver import driver

    driver()  # finds a fork out even where only another library had used CUDA before it


def _dlpack(array: Any) -> Operand:
    kind, device = array.__dlpack_device__()
    if kind in (_DLPACK_CPU, _DLPACK_CUDA_HOST):
        try:
            view = np.from_dlpack(array)
        except BufferError as error:  # bfloat16, for one, which NumPy's DLPack has no name for
            raise TypeError(f"NumPy cannot read this DLPack array: {error}") from error
        return _numpy(view)._replace(library="dlpack", array=array, keep=view)
    if kind not in (_DLPACK_CUDA, _DLPACK_MANAGED):
        raise TypeError(f"DLPack device type {int(kind)} is neither CPU nor CUDA memory")
    _refuse_in_forked_child()
    from cuda.core.utils import StridedMemoryView

    view = StridedMemoryView(array, stream_ptr=LEGACY_STREAM)
    dtype = lookup(view.dtype) if view.dtype is not None else None
    shape = tuple(view.shape)
    strides = tuple(view.strides) if view.strides is not None else c_strides(shape)
    readonly = READONLY if view.readonly else 0
    return Operand(
        view.ptr, dtype, shape, strides, readonly, device, "dlpack", array, LEGACY_STREAM, view
    )
