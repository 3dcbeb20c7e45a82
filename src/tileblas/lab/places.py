"""Where the operands of a measurement live: NumPy on the host, or the memory of a GPU.

A place makes arrays, brings parts of them to the host, and names the stream on which work on them
is queued. Random values are standard normal: zeros or small integers would let a GPU clock higher.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np

from tileblas.core.dtypes import DTYPES, RESULTS, numpy_dtype
from tileblas.lab.device import Device
from tileblas.runtime import memory

_PERIOD = 1 << 22  # random values made on the host repeat after so many: making more costs seconds


class Place(Protocol):
    """The operations on arrays that the lab needs; `stream` is a CUDA handle, 0 the legacy one."""

    library: str
    stream: int

    def normal(self, shape: tuple[int, ...], dtype: str, seed: int, order: str = "C") -> Any:
        """Standard normal values; each component of a complex number is one."""

    def from_host(self, array: np.ndarray, order: str = "C") -> Any:
        """A copy of a NumPy array, in C or in Fortran order."""

    def to_host(self, array: Any) -> np.ndarray: ...

    def part(self, vector: Any, start: int, stop: int) -> np.ndarray:
        """A piece of a vector, on the host."""

    def take(self, array: Any, index: list[int], axis: int = 0) -> np.ndarray:
        """Some elements, rows or columns, on the host."""

    def gather(self, array: Any, places: np.ndarray) -> np.ndarray:
        """Elements of a dense array by their places in memory, on the host."""

    def pointer(self, array: Any) -> int: ...


def host_normal(shape: tuple[int, ...], dtype: str, seed: int, order: str = "C") -> np.ndarray:
    """Standard normal values as a NumPy array."""
    row = DTYPES[dtype]
    working = np.dtype(row.compute)
    size = int(np.prod(shape, dtype=np.int64)) * (2 if row.is_complex else 1)
    values = np.random.default_rng(seed).standard_normal(min(size, _PERIOD), dtype=working.type)
    if size > _PERIOD:
        values = np.resize(values, size)
    kind = numpy_dtype(row)
    values = values.view(kind) if row.is_complex else values.astype(kind, copy=False)
    return values.reshape(shape, order="F" if order == "F" else "C")


class HostPlace:
    """NumPy arrays."""

    library = "numpy"
    stream = 0

    def normal(self, shape, dtype, seed, order="C"):
        return host_normal(shape, dtype, seed, order)

    def from_host(self, array, order="C"):
        return array.copy(order)

    def to_host(self, array):
        return np.asarray(array)

    def part(self, vector, start, stop):
        return vector[start:stop]

    def take(self, array, index, axis=0):
        return np.take(array, index, axis)

    def gather(self, array, places):
        return array.ravel(order="A")[places]

    def pointer(self, array):
        return array.ctypes.data


class TorchPlace:
    """torch tensors on the current CUDA device, on torch's current stream."""

    library = "torch"

    def __init__(self) -> None:
        import torch

        self._torch = torch
        self.stream = torch.cuda.current_stream().cuda_stream

    def normal(self, shape, dtype, seed, order="C"):
        generator = self._torch.Generator("cuda").manual_seed(seed)
        stored = shape[::-1] if order == "F" else shape
        kind = getattr(self._torch, dtype)
        made = self._torch.randn(stored, dtype=kind, device="cuda", generator=generator)
        if DTYPES[dtype].is_complex:
            made *= 2**0.5  # torch halves the variance of each component
        return made.mT if order == "F" else made

    def from_host(self, array, order="C"):
        stored = np.ascontiguousarray(array.T if order == "F" else array)
        made = self._torch.from_numpy(stored).cuda()
        return made.mT if order == "F" and array.ndim == 2 else made

    def to_host(self, array):
        if array.dtype == self._torch.bfloat16:
            bits = array.view(self._torch.int16).cpu().numpy()
            return bits.view(numpy_dtype(DTYPES["bfloat16"]))
        return array.cpu().numpy()

    def part(self, vector, start, stop):
        return self.to_host(vector[start:stop])

    def take(self, array, index, axis=0):
        chosen = self._torch.tensor(index, device="cuda")
        return self.to_host(array.index_select(axis, chosen))

    def gather(self, array, places):
        memory = array.as_strided((array.numel(),), (1,))
        return self.to_host(memory[self._torch.from_numpy(places).cuda()])

    def pointer(self, array):
        return array.data_ptr()


class CupyPlace:
    """CuPy arrays on the current device, on CuPy's current stream. CuPy has no bfloat16."""

    library = "cupy"

    def __init__(self) -> None:
        import cupy

        self._cupy = cupy
        self.stream = cupy.cuda.get_current_stream().ptr

    def normal(self, shape, dtype, seed, order="C"):
        row = DTYPES[dtype]
        if dtype == "bfloat16":
            raise TypeError("CuPy has no bfloat16; measure it with --arrays torch or tileblas")
        stored = shape[::-1] if order == "F" else shape
        random = self._cupy.random.default_rng(seed)
        components = (*stored, 2) if row.is_complex else stored
        values = random.standard_normal(components, dtype=row.compute)
        made = values.view(dtype)[..., 0] if row.is_complex else values.astype(dtype, copy=False)
        return made.T if order == "F" else made

    def from_host(self, array, order="C"):
        return self._cupy.asarray(array, order=order)

    def to_host(self, array):
        return self._cupy.asnumpy(array)

    def part(self, vector, start, stop):
        return self.to_host(vector[start:stop])

    def take(self, array, index, axis=0):
        return self.to_host(self._cupy.take(array, self._cupy.asarray(index), axis))

    def gather(self, array, places):
        return self.to_host(array.ravel(order="A")[self._cupy.asarray(places)])

    def pointer(self, array):
        return array.data.ptr


class OwnPlace:
    """Device memory of our own, where no array library is installed; the legacy stream."""

    library = "tileblas"
    stream = 0

    def __init__(self) -> None:
        self._device = Device()

    def normal(self, shape, dtype, seed, order="C"):
        return memory.from_host(host_normal(shape, dtype, seed, order), 0, self.stream)

    def from_host(self, array, order="C"):
        return memory.from_host(np.asarray(array, order=order), 0, self.stream)

    def to_host(self, array):
        # bfloat16 comes as its bits
        return memory.to_host(array).view(numpy_dtype(RESULTS[array.dtype]))

    def part(self, vector, start, stop):
        kind = numpy_dtype(DTYPES[vector.dtype])
        count = min(stop, vector.shape[0]) - start
        address = vector.address + start * kind.itemsize
        return np.frombuffer(self._device.read(address, count * kind.itemsize, self.stream), kind)

    def take(self, array, index, axis=0):
        return np.take(self.to_host(array), index, axis)

    def gather(self, array, places):
        return self.to_host(array).ravel(order="A")[places]

    def pointer(self, array):
        return array.address


DEVICE_PLACES: dict[str, Callable[[], Place]] = {
    "torch": TorchPlace,
    "cupy": CupyPlace,
    "tileblas": OwnPlace,
}


def device_place(library: str = "auto") -> Place:
    """Arrays on the GPU by the named library; "auto" takes torch, else CuPy, else our own."""
    if library == "auto":
        return next(library_places(), None) or OwnPlace()
    if library not in DEVICE_PLACES:
        raise ValueError(f"no arrays of {library!r}; there are {', '.join(DEVICE_PLACES)}")
    return DEVICE_PLACES[library]()


def library_places() -> Iterator[Place]:
    """A place of torch's and one of CuPy's arrays, where the library is here and sees the GPU."""
    for make in (TorchPlace, CupyPlace):
        try:
            yield make()
        except (ImportError, RuntimeError, AssertionError):  # absent, or built without CUDA
            continue
