"""Device memory of our own: DeviceArray, and copies between it and NumPy arrays.

For NumPy operands that are computed on a GPU, and for results of callers whose library only shows
its memory (DLPack, CUDA array interface).
"""

from __future__ import annotations

import contextlib
import math
import sys
from typing import Any

import numpy as np

from tileblas.core.operand import c_strides
from tileblas.runtime import dlpack, fork
from tileblas.runtime.driver import LEGACY_STREAM, Driver, driver
from tileblas.runtime.pinned import DIRECT_BYTES, Copy, Transfer, link

_ITEMSIZES = {name: bits // 8 for name, (_, bits) in dlpack.TYPES.items()}
_NO_SYNCHRONISATION = -1  # a consumer's stream in DLPack: it takes care of the order itself


class _Allocation:
    """Memory on a device, given back in the order of its stream when the last reference goes."""

    __slots__ = ("_device", "_driver", "_owner", "_pooled", "_stream", "address")

    def __init__(self, on: Driver, nbytes: int, device: int, stream: int, owner: Any) -> None:
        self.address = 0
        self._driver, self._device, self._stream, self._owner = on, device, stream, owner
        with on.current(device):
            self.address, self._pooled = on.allocate(max(nbytes, 1), device, stream)

    def __del__(self, finalizing: Any = sys.is_finalizing) -> None:
        # At the end of the process modules are taken apart, `sys` too: the driver frees all then.
        if self.address and not finalizing() and not fork.lost:
            block = self.address, self._device, self._pooled, self._stream, self._owner
            _give_back(self._driver, block)


# Memory whose stream was being captured when the last reference went: the graph would record the
# free. (driver, block) with block as _give_back takes it.
_waiting: list[tuple[Driver, tuple]] = []


def _give_back(on: Driver, block: tuple[int, int, bool, int, Any]) -> None:
    address, device, pooled, stream, _ = block  # the owner of the stream has lived until here
    with on.current(device):
        if on.capturing(stream):
            _waiting.append((on, block))
        else:
            on.free(address, pooled, stream)


def _give_back_waiting() -> None:
    with contextlib.suppress(IndexError):  # other threads do the same
        for _ in range(len(_waiting)):
            _give_back(*_waiting.pop(0))


class DeviceArray:
    """An array in device memory, readable by every library through DLPack or the CUDA interface.

    `strides` are in elements, `dtype` is a name, `stream` the handle of the stream in whose order
    the array was made and is given back.
    """

    __slots__ = ("_allocation", "address", "device", "dtype", "shape", "stream", "strides")

    def __init__(
        self,
        allocation: _Allocation,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        dtype: str,
        device: int,
        stream: int,
    ) -> None:
        self._allocation = allocation
        self.address = allocation.address
        self.shape, self.strides, self.dtype = shape, strides, dtype
        self.device, self.stream = device, stream

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * _ITEMSIZES[self.dtype]

    def __repr__(self) -> str:
        return f"DeviceArray(shape={self.shape}, dtype={self.dtype}, device=cuda:{self.device})"

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The CUDA array interface, version 3; it has no name for bfloat16."""
        if self.dtype == "bfloat16":
            raise AttributeError("the CUDA array interface has no bfloat16; use DLPack")
        itemsize = _ITEMSIZES[self.dtype]
        return {
            "version": 3,
            "shape": self.shape,
            "typestr": np.dtype(self.dtype).str,
            "data": (self.address if self.size else 0, False),
            "strides": tuple(stride * itemsize for stride in self.strides),
            "stream": self.stream or LEGACY_STREAM,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack.CUDA, self.device

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A DLPack capsule; the consumer's stream waits for the work queued on this array's."""
        if dl_device not in (None, self.__dlpack_device__()) or copy:
            raise BufferError("DeviceArray is exported in place, on its own device, only")
        if stream != _NO_SYNCHRONISATION:
            self._order_before(stream or LEGACY_STREAM)
        return dlpack.capsule(
            self.address, self.shape, self.strides, self.dtype, self.__dlpack_device__(), self
        )

    def _order_before(self, consumer: int) -> None:
        if consumer != (self.stream or LEGACY_STREAM):
            driver().record_wait(self.stream, consumer, self.device)


def empty(
    shape: tuple[int, ...],
    dtype: str,
    device: int,
    stream: int,
    owner: Any = None,
    *,
    strides: tuple[int, ...] | None = None,
    on: Driver | None = None,
) -> DeviceArray:
    """An array with undefined content, C-ordered unless dense `strides` (elements) are given.

    `owner` keeps the stream alive. MemoryError names the bytes where the device has too few.
    """
    _give_back_waiting()
    shape = tuple(int(n) for n in shape)
    nbytes = math.prod(shape) * _ITEMSIZES[dtype]
    allocation = _Allocation(on or driver(), nbytes, device, stream, owner)
    return DeviceArray(
        allocation, shape, strides or c_strides(shape), dtype, device, stream or LEGACY_STREAM
    )


def empty_like(
    array: np.ndarray,
    device: int,
    stream: int,
    dtype: str | None = None,
    owner: Any = None,
    *,
    on: Driver | None = None,
) -> DeviceArray:
    """An array with undefined content and the axes of a NumPy array in their order in memory.

    Gaps are left out, negative strides turn positive. `dtype` says what the elements are where
    NumPy has no name for it (bfloat16 in uint16).
    """
    axes = _outermost_first(array)
    strides = [0] * array.ndim
    for axis, step in zip(axes, c_strides(tuple(array.shape[i] for i in axes)), strict=True):
        strides[axis] = step
    name = dtype or array.dtype.name
    return empty(array.shape, name, device, stream, owner, strides=tuple(strides), on=on)


def from_host(
    array: np.ndarray,
    device: int,
    stream: int,
    dtype: str | None = None,
    owner: Any = None,
    *,
    on: Driver | None = None,
) -> DeviceArray:
    """Copy a NumPy array to the device; see `empty_like` for the layout, `send` for the order."""
    on = on or driver()
    result = empty_like(array, device, stream, dtype, owner, on=on)
    send(array, result, on=on)
    return result


def send(
    array: np.ndarray,
    to: DeviceArray,
    copy: Copy = np.copyto,
    *,
    wait: bool = True,
    on: Driver | None = None,
) -> None:
    """Fill a dense device array; work queued on its stream from now on finds it filled.

    `copy(target, source)` may transform the elements. The copy waits for the work that is in the
    array's stream already, the allocation too, unless `wait` is False. When this returns the NumPy
    array has been read; a small one in pinned memory has to stay until the stream has come so far.
    """
    on = on or driver()
    source = array.transpose(_axes_of(to))
    if not array.nbytes:
        return
    if array.nbytes < DIRECT_BYTES:
        dense = source if _is_plain(source, copy) else _copied(source, copy)
        with on.current(to.device):
            on.copy_to_device(to.address, dense.ctypes.data, dense.nbytes, to.stream)
        return
    up = link(on, to.device).up
    if wait:
        on.record_wait(to.stream, up.stream, to.device)
    try:
        up.send(to.address, source, copy)
    finally:  # after a failure too: the memory is given back in the order of its stream
        on.record_wait(up.stream, to.stream, to.device)


def order_sends(device: int, stream: int, *, on: Driver | None = None) -> None:
    """Have all sends to come wait for the work now in the stream, where they are not told to."""
    on = on or driver()
    on.record_wait(stream, link(on, device).up.stream, device)


def receive(
    array: DeviceArray, out: np.ndarray, copy: Copy = np.copyto, *, on: Driver | None = None
) -> Transfer:
    """Start to copy a dense device array to a NumPy one, after the work queued on its stream.

    The NumPy array is in use until `wait` of what is returned; a small one has arrived before.
    """
    on = on or driver()
    target = out.transpose(_axes_of(array))
    if array.nbytes >= DIRECT_BYTES:
        down = link(on, array.device).down
        transfer = down.receive(target, array.address, array.stream, copy)
        transfer.keep = array
        return transfer
    if array.nbytes:
        plain = _is_plain(target, copy)
        dense = target if plain else np.empty(target.shape, target.dtype)
        with on.current(array.device):
            on.copy_to_host(dense.ctypes.data, array.address, dense.nbytes, array.stream)
            on.synchronize(array.stream)
        if not plain:
            copy(target, dense)
    return Transfer()


def to_host(
    array: DeviceArray, out: np.ndarray | None = None, *, on: Driver | None = None
) -> np.ndarray:
    """Copy an array to the host, into `out` where given, after all work queued on its stream.

    bfloat16 comes as its bits, in uint16.
    """
    if out is None:
        out = _host_like(array)
    receive(array, out, on=on).wait()
    return out


def copy_of(
    address: int, like: Any, stream: int = 0, owner: Any = None, *, on: Driver | None = None
) -> DeviceArray:
    """A copy of the dense device memory at `address`, which has the shape and so on of `like`."""
    on = on or driver()
    strides = tuple(like.strides)
    result = empty(like.shape, str(like.dtype), like.device, stream, owner, strides=strides, on=on)
    if result.nbytes:
        with on.current(like.device):
            on.copy_on_device(result.address, address, result.nbytes, stream)
    return result


def _outermost_first(array: np.ndarray) -> list[int]:
    """The axes from the largest stride to the smallest; one that repeats elements counts as large.

    So the threads that copy read whole lines of memory.
    """
    steps = zip(array.shape, array.strides, strict=True)
    sizes = [math.inf if n > 1 and step == 0 else abs(step) for n, step in steps]
    return sorted(range(array.ndim), key=lambda axis: -sizes[axis])


def _axes_of(array: DeviceArray) -> list[int]:
    """The axes of a dense device array in their order in memory."""
    return sorted(range(array.ndim), key=lambda axis: -array.strides[axis])


def _is_plain(array: np.ndarray, copy: Copy) -> bool:
    """Whether the array's own memory is what a dense copy of it would hold."""
    return copy is np.copyto and array.flags.c_contiguous


def _copied(array: np.ndarray, copy: Copy) -> np.ndarray:
    dense = np.empty(array.shape, array.dtype)
    copy(dense, array)
    return dense


def _host_like(array: DeviceArray) -> np.ndarray:
    """An uninitialised NumPy array with the shape and the dense strides of a device array."""
    dtype = "uint16" if array.dtype == "bfloat16" else array.dtype
    axes = _axes_of(array)
    block = np.empty([array.shape[axis] for axis in axes], dtype)
    return block.transpose([axes.index(axis) for axis in range(array.ndim)])
