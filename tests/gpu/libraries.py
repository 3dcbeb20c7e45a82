"""The array libraries of the GPU tests: one row each, with what the tests ask of it.

Every library puts host arrays on device 0, gets them back, and knows its own results. Those with
streams of their own (torch, CuPy) also make streams and choose the current one.
"""

from __future__ import annotations

import gc
import importlib
import warnings
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest

from tileblas.arrays import streams
from tileblas.core.dtypes import DTYPES, numpy_dtype
from tileblas.runtime import memory
from tileblas.runtime.driver import LEGACY_STREAM, driver
from tileblas.runtime.memory import DeviceArray

EVERY_DTYPE = frozenset(DTYPES)


def _import(name: str) -> Any:
    """A library, the warnings of its import aside; the test is skipped where it is absent."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip(name.partition(".")[0])
        return importlib.import_module(name)


def handle(stream: Any) -> int:
    """The CUDA handle of a stream of any library."""
    return streams.named(stream).handle


def own_on_host(array: DeviceArray) -> np.ndarray:
    """The elements of an array of our own on the host, once all work on them is done."""
    host = memory.to_host(array)
    return host.view(numpy_dtype(DTYPES["bfloat16"])) if array.dtype == "bfloat16" else host


class Library(ABC):
    """A library of arrays on device 0; by default without streams, on the legacy one."""

    name: str
    package = "numpy"
    dtypes = EVERY_DTYPE
    mutable = True  # an output is updated in place
    narrow = False  # results of 64 bits become ones of 32

    def __init__(self) -> None:
        self.module = _import(self.package)

    @abstractmethod
    def put(self, host: np.ndarray) -> Any:
        """An array of this library with the host's elements."""

    @abstractmethod
    def blank(self, shape: tuple[int, ...], dtype: str) -> Any:
        """An array whose elements do not matter, made without temporaries."""

    @abstractmethod
    def get(self, array: Any) -> np.ndarray:
        """The elements on the host, once all work on them is done."""

    @abstractmethod
    def made(self, found: Any) -> bool:
        """Whether a new result is of the kind that this library's callers get."""

    def handle(self) -> int:
        """The stream on which a call on this library's arrays runs now."""
        return LEGACY_STREAM

    def in_use(self) -> tuple[int, int]:
        """Bytes in arrays, now and at the most, where the library hides this from the driver."""
        return 0, 0

    def settle(self) -> None:
        """Wait for all work, and give cached memory back."""
        gc.collect()
        with driver().current(0):
            driver().call("cuCtxSynchronize")


class Bare:
    """Shows only the CUDA array interface of an array, with some of its entries changed."""

    def __init__(self, array: Any, **changes: Any) -> None:
        self.array = array
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, **changes}


class Exporter:
    """Shows only the DLPack protocol of an array."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


class OwnMemory(Library):
    """Device memory of our own, shown as the subclass says; new results are not wrapped."""

    @abstractmethod
    def wrap(self, array: DeviceArray) -> Any:
        """What the caller passes in place of the array."""

    def put(self, host):
        stored = host.view(np.uint16) if host.dtype.name == "bfloat16" else host
        return self.wrap(memory.from_host(stored, 0, LEGACY_STREAM, host.dtype.name))

    def blank(self, shape, dtype):
        return self.wrap(memory.empty(shape, dtype, 0, LEGACY_STREAM))

    def get(self, array):
        return own_on_host(array if isinstance(array, DeviceArray) else array.array)

    def made(self, found):
        return isinstance(found, DeviceArray)


class CudaInterface(OwnMemory):
    name = "cuda-array-interface"
    dtypes = EVERY_DTYPE - {"bfloat16"}

    def wrap(self, array):
        return Bare(array)


class DLPack(OwnMemory):
    name = "dlpack"

    def wrap(self, array):
        return Exporter(array)


class Numba(Library):
    name = "numba"
    package = "numba.cuda"
    dtypes = EVERY_DTYPE - {"bfloat16"}

    def __init__(self) -> None:
        if not hasattr(np, "row_stack"):
            # numba reads the name when it is imported, and NumPy 2.5 has it no more.
            np.row_stack = np.vstack  # type: ignore[attr-defined]
        super().__init__()

    def put(self, host):
        return self.module.to_device(host)

    def blank(self, shape, dtype):
        return self.module.device_array(shape, dtype)

    def get(self, array):
        return own_on_host(array) if isinstance(array, DeviceArray) else array.copy_to_host()

    def made(self, found):
        seen = self.module.as_cuda_array(found)
        return isinstance(found, DeviceArray) and seen.device_ctypes_pointer.value == found.address


class Jax(Library):
    name = package = "jax"
    dtypes = EVERY_DTYPE - {"float64", "complex128"}  # JAX computes in 32 bits unless told
    mutable = False
    narrow = True

    def put(self, host):
        return self.module.device_put(host).block_until_ready()

    def blank(self, shape, dtype):
        return self.module.numpy.zeros(shape, dtype).block_until_ready()

    def get(self, array):
        return np.asarray(array)

    def made(self, found):
        return isinstance(found, self.module.Array) and not found.is_deleted()

    def in_use(self):
        stats = self.module.local_devices()[0].memory_stats()
        return stats["bytes_in_use"], stats["peak_bytes_in_use"]


class StreamLibrary(Library):
    """A library that has a current stream."""

    @abstractmethod
    def new_stream(self) -> Any:
        """A new stream, which does not wait for the legacy one."""

    @abstractmethod
    def using(self, stream: Any) -> AbstractContextManager:
        """Inside, `stream` is the current stream of this thread."""

    @abstractmethod
    def copy(self, array: Any) -> Any:
        """The same elements in memory of their own, in the order of the current stream."""


class Torch(StreamLibrary):
    name = package = "torch"

    def put(self, host):
        if host.dtype.name == "bfloat16":
            bits = self.module.from_numpy(host.view(np.int16).copy())
            return bits.cuda().view(self.module.bfloat16)
        return self.module.from_numpy(host.copy()).cuda()

    def blank(self, shape, dtype):
        return self.module.empty(shape, dtype=getattr(self.module, dtype), device="cuda")

    def get(self, array):
        if array.dtype == self.module.bfloat16:
            bits = array.view(self.module.int16).cpu().numpy()
            return bits.view(numpy_dtype(DTYPES["bfloat16"]))
        return array.cpu().numpy()

    def made(self, found):
        return isinstance(found, self.module.Tensor) and found.device.type == "cuda"

    def handle(self):
        return self.module.cuda.current_stream().cuda_stream

    def new_stream(self):
        return self.module.cuda.Stream()

    def using(self, stream):
        return self.module.cuda.stream(stream)

    def copy(self, array):
        return array.clone()

    def settle(self):
        super().settle()
        self.module.cuda.empty_cache()


class Cupy(StreamLibrary):
    name = package = "cupy"
    dtypes = EVERY_DTYPE - {"bfloat16"}

    def put(self, host):
        return self.module.asarray(host)

    def blank(self, shape, dtype):
        return self.module.empty(shape, dtype)

    def get(self, array):
        return self.module.asnumpy(array)

    def made(self, found):
        return isinstance(found, self.module.ndarray)

    def handle(self):
        return self.module.cuda.get_current_stream().ptr

    def new_stream(self):
        return self.module.cuda.Stream(non_blocking=True)

    def using(self, stream):
        return stream

    def copy(self, array):
        return array.copy()

    def settle(self):
        super().settle()
        self.module.get_default_memory_pool().free_all_blocks()


LIBRARIES = (Torch, Cupy, Jax, Numba, DLPack, CudaInterface)
STREAM_LIBRARIES = (Torch, Cupy)


class Footprint:
    """The device memory taken since this was made, where a library's own cache was empty then."""

    def __init__(self, library: Library) -> None:
        self._library = library
        library.settle()
        on = driver()
        with on.current(0):
            self._pool = on.call("cuDeviceGetDefaultMemPool", on.call("cuDeviceGet", 0))
            on.call("cuMemPoolTrimTo", self._pool, 0)
            # Zero is the only value that it may be set to: the highest use is counted anew.
            on.call("cuMemPoolSetAttribute", self._pool, self._kind("HIGH"), on.api.cuuint64_t(0))
        self._free, self._pooled = self._free_bytes(), self._used("CURRENT")
        self._held, self._peak = library.in_use()

    def taken(self) -> int:
        """The most bytes taken at a time, those that were given back in stream order included."""
        held, peak = self._library.in_use()
        hidden = (peak if peak > self._peak else held) - self._held
        return max(self._free - self._free_bytes(), self._used("HIGH") - self._pooled, hidden)

    def left(self) -> int:
        """The bytes that are still taken when all work is done and all caches are emptied."""
        self._library.settle()
        with driver().current(0):
            driver().call("cuMemPoolTrimTo", self._pool, 0)
        held, _ = self._library.in_use()
        pooled = self._used("CURRENT") - self._pooled
        return max(self._free - self._free_bytes(), pooled, held - self._held)

    def _free_bytes(self) -> int:
        with driver().current(0):
            free, _ = driver().call("cuMemGetInfo")
        return free

    def _kind(self, which: str) -> Any:
        return getattr(driver().api.CUmemPool_attribute, f"CU_MEMPOOL_ATTR_USED_MEM_{which}")

    def _used(self, which: str) -> int:
        return int(driver().call("cuMemPoolGetAttribute", self._pool, self._kind(which)))
