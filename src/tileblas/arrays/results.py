"""Arrays that a call makes itself: new results, and copies that stand in for immutable outputs."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from tileblas.arrays import streams
from tileblas.arrays.ingest import ingest
from tileblas.arrays.streams import Stream
from tileblas.core.dtypes import DType, numpy_dtype
from tileblas.core.operand import HOST, READONLY, Operand, c_strides


def new_array(
    like: Operand, shape: tuple[int, ...], dtype: DType, target: Stream | None
) -> Operand:
    """An uninitialised C-ordered array of the library of `like`, on its device.

    `target` is the stream that the caller named. Raises MemoryError naming the bytes where the
    library's allocator has none left.
    """
    empty = _EMPTY.get(like.library)
    wanted = math.prod(shape) * dtype.itemsize
    try:
        if wanted > sys.maxsize:
            raise MemoryError
        if empty is None:
            return _own_array(like, shape, dtype, target or streams.LEGACY)
        array, address = empty(like.array, shape, dtype)
        strides = c_strides(shape)
        return Operand(address, dtype, shape, strides, 0, like.device, like.library, array)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        raise MemoryError(_no_memory(wanted, shape, dtype)) from error


def _no_memory(wanted: int, shape: tuple[int, ...], dtype: DType) -> str:
    return f"out of memory: {wanted} bytes asked for a result of shape {shape}, {dtype}"


def _empty_numpy(like: Any, shape: tuple[int, ...], dtype: DType) -> tuple[Any, int]:
    array = np.empty(shape, numpy_dtype(dtype))
    return array, array.ctypes.data


def _empty_torch(like: Any, shape: tuple[int, ...], dtype: DType) -> tuple[Any, int]:
    torch = sys.modules["torch"]
    array = torch.empty(shape, dtype=getattr(torch, dtype.name), device=like.device)
    return array, array.data_ptr()


def _empty_cupy(like: Any, shape: tuple[int, ...], dtype: DType) -> tuple[Any, int]:
    with like.device:
        array = sys.modules["cupy"].empty(shape, dtype.name)
    return array, array.data.ptr


# Each library's own allocator, so that its memory pool and its idea of the current stream hold. A
# result may be of a type that no operand has, so it is not read as an operand is.
_EMPTY: dict[str, Callable[[Any, tuple[int, ...], DType], tuple[Any, int]]] = {
    "numpy": _empty_numpy,
    "torch": _empty_torch,
    "cupy": _empty_cupy,
}


#: (an array, handle of the current stream) -> a new array and its address.
Maker = Callable[[Any, int], tuple[Any, int]]


def maker(like: Operand, shape: tuple[int, ...], dtype: DType) -> Maker:
    """What makes results of one kind for repeated calls: as `new_array`, with less on the way."""
    if like.library == "torch":
        return _torch_number_maker(like, dtype) if shape == () else _torch_maker(like, shape, dtype)

    model = like._replace(array=None)  # a memory of calls keeps no array alive

    def make(array: Any, handle: int) -> tuple[Any, int]:
        made = new_array(model._replace(array=array), shape, dtype, None)
        return made.array, made.pointer

    return make


def _torch_maker(like: Operand, shape: tuple[int, ...], dtype: DType) -> Maker:
    torch = sys.modules["torch"]
    empty, device, kind = torch.empty_strided, like.array.device, getattr(torch, dtype.name)
    strides, wanted = c_strides(shape), math.prod(shape) * dtype.itemsize

    def make(array: Any, handle: int) -> tuple[Any, int]:
        try:
            made = empty(shape, strides, dtype=kind, device=device)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            raise MemoryError(_no_memory(wanted, shape, dtype)) from error
        return made, made.data_ptr()

    return make


_NUMBERS = 64  # 0-d results that are made at once


def _torch_number_maker(like: Operand, dtype: DType) -> Maker:
    """0-d results, of which many are made at once on the default stream, and for it.

    Not on others, since a graph keeps the memory of its own stream. Where the default stream is the
    current one the first are made here: that loads torch's kernel, which may wait for the device,
    as a first call may.
    """
    one = _torch_maker(like, (), dtype)
    ready, make_many = _torch_numbers(like.array.device, dtype)
    if not ready and not streams.current(like).handle:
        make_many()

    def make(array: Any, handle: int) -> tuple[Any, int]:
        if not handle:
            try:
                return ready.pop()
            except IndexError:
                make_many()
        return one(array, handle)

    return make


@cache
def _torch_numbers(device: Any, dtype: DType) -> tuple[list[tuple[Any, int]], Callable[[], None]]:
    """0-d tensors with their addresses, of all calls on a device, and what makes more of them.

    Making one tensor by a call of torch takes as long as half a launch, most of it to read the
    arguments. torch's way to make many is to compute them: one small kernel, whose values are not
    used. Where memory has run out none are made; who then asks for one is told so.
    """
    torch = sys.modules["torch"]
    kind, compute = getattr(torch, dtype.name), getattr(torch, "_foreach_neg", None)
    ready: list[tuple[Any, int]] = []
    models: list[Any] = []

    def make_many() -> None:
        if compute is None:  # torch promises no such function
            return
        with torch.inference_mode(False), torch.no_grad():
            try:
                if not models:
                    models.extend(torch.zeros(_NUMBERS, dtype=kind, device=device).unbind())
                numbers = compute(models)
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
                return
            ready.extend((number, number.data_ptr()) for number in numbers)

    return ready, make_many


def own_copy(operand: Operand, target: Stream | None) -> Operand:
    """A writable copy of an immutable (JAX) operand, made in the order of the call's stream."""
    if operand.device == HOST:
        copy = ingest(np.array(operand.array))
        return copy._replace(library="jax", keep=next(iter(operand.array.devices())))
    from tileblas.runtime.memory import copy_of

    stream = target or streams.LEGACY
    streams.order_after(stream, (operand,))
    made = copy_of(operand.pointer, operand, stream.handle, stream.owner)
    copy = _device_operand(made, "jax", operand.dtype)
    streams.hold(stream, (operand,))
    return copy


def returned(operand: Operand, fresh: bool) -> Any:
    """What the caller gets for an output: NumPy scalars for 0-d results, JAX arrays for JAX."""
    if operand.library == "jax":
        # An output that was left as it is comes back itself.
        return operand.array if operand.flags & READONLY else _to_jax(operand)
    if fresh and operand.library == "numpy" and operand.shape == ():
        return operand.array[()]
    return operand.array


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception of an array library means that memory ran out."""
    named = isinstance(error, MemoryError) or "OutOfMemory" in type(error).__name__
    # torch's CPU allocator raises a plain RuntimeError.
    return named or (isinstance(error, RuntimeError) and "allocate memory" in str(error))


def _own_array(like: Operand, shape: tuple[int, ...], dtype: DType, target: Stream) -> Operand:
    """For callers whose library we do not know (or cannot allocate in): memory of ours."""
    if like.device == HOST:
        array, address = _empty_numpy(like.array, shape, dtype)
        made = Operand(address, dtype, shape, c_strides(shape), 0, HOST, "numpy", array)
        if like.library != "jax":
            return made
        return made._replace(library="jax", keep=next(iter(like.array.devices())))
    from tileblas.runtime import memory

    block = memory.empty(shape, dtype.name, like.device, target.handle, target.owner)
    return _device_operand(block, like.library, dtype)


def _device_operand(array: Any, library: str, dtype: DType | None) -> Operand:
    return Operand(
        array.address,
        dtype,
        array.shape,
        array.strides,
        0,
        array.device,
        library,
        array,
        array.stream,
    )


def _to_jax(operand: Operand) -> Any:
    """A JAX array of the result: on the host, on the device that the inputs were on."""
    import jax

    if operand.device == HOST:
        return jax.device_put(operand.array, operand.keep)
    return jax.dlpack.from_dlpack(operand.array)
