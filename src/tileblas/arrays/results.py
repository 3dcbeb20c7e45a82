"""Arrays that a call makes itself: new results, and copies that stand in for immutable outputs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from tileblas.arrays.ingest import ingest
from tileblas.core.dtypes import DType, numpy_dtype
from tileblas.core.operand import HOST, Operand


def new_array(like: Operand, shape: tuple[int, ...], dtype: DType, stream: Any) -> Operand:
    """An uninitialised C-ordered array of the library of `like`, on its device.

    Raises MemoryError naming the bytes where the library's allocator has none left.
    """
    empty = _EMPTY.get(like.library)
    if empty is None:
        return _own_array(like, shape, dtype, stream)
    try:
        return ingest(empty(like.array, shape))
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        raise MemoryError(_wanted(shape, dtype)) from error


def _empty_numpy(like: Any, shape: tuple[int, ...]) -> Any:
    return np.empty(shape, like.dtype)


def _empty_torch(like: Any, shape: tuple[int, ...]) -> Any:
    return sys.modules["torch"].empty(shape, dtype=like.dtype, device=like.device)


def _empty_cupy(like: Any, shape: tuple[int, ...]) -> Any:
    with like.device:
        return sys.modules["cupy"].empty(shape, like.dtype)


# Each library's own allocator, so that its memory pool and its idea of the current stream hold.
_EMPTY: dict[str, Callable[[Any, tuple[int, ...]], Any]] = {
    "numpy": _empty_numpy,
    "torch": _empty_torch,
    "cupy": _empty_cupy,
}


def own_copy(operand: Operand) -> Operand:
    """A writable copy of an immutable (JAX) operand, which the call returns in its place."""
    if operand.device == HOST:
        return ingest(np.array(operand.array))._replace(library="jax")
    from tileblas.runtime.memory import copy_of

    return _device_operand(copy_of(operand.pointer, operand), "jax", operand.dtype)


def returned(operand: Operand, fresh: bool) -> Any:
    """What the caller gets for an output: NumPy scalars for 0-d results, JAX arrays for JAX."""
    if operand.library == "jax":
        return _to_jax(operand)
    if fresh and operand.library == "numpy" and operand.shape == ():
        return operand.array[()]
    return operand.array


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception of an array library means that memory ran out."""
    return isinstance(error, MemoryError) or "OutOfMemory" in type(error).__name__


def _wanted(shape: tuple[int, ...], dtype: DType) -> str:
    count = dtype.itemsize
    for n in shape:
        count *= n
    return f"out of memory: {count} bytes asked for a result of shape {shape}, {dtype}"


def _own_array(like: Operand, shape: tuple[int, ...], dtype: DType, stream: Any) -> Operand:
    """For callers whose library we do not know (or cannot allocate in): memory of ours."""
    if like.device == HOST:
        library = "jax" if like.library == "jax" else "numpy"
        return ingest(np.empty(shape, numpy_dtype(dtype)))._replace(library=library)
    from tileblas.arrays import streams
    from tileblas.runtime import memory

    target = streams.LEGACY if stream is None else streams.named(stream)
    array = memory.empty(shape, dtype.name, like.device, target.handle, target.owner)
    return _device_operand(array, like.library, dtype)


def _device_operand(array: Any, library: str, dtype: DType | None) -> Operand:
    return Operand(
        array.address, dtype, array.shape, array.strides, 0, array.device, library, array
    )


def _to_jax(operand: Operand) -> Any:
    import jax

    if operand.device == HOST:
        return jax.numpy.asarray(operand.array)
    return jax.dlpack.from_dlpack(operand.array)
