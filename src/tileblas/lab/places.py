"""Where the operands of a measurement live: NumPy on the host; torch, CuPy or our own device memory.

A place makes arrays, moves them to and from the host, and names the stream on which work on them
is queued. Random values are standard normal: zeros or small integers would let a GPU clock higher.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np

from tileblas.core.dtypes import DTYPES, numpy_dtype

DEVICE_LIBRARIES = ("torch", "cupy", "tileblas")

_PERIOD = 1 << 22  # random values made on the host repeat after so many: making more costs seconds


class Place(Protocol):
    """The operations on arrays that the lab needs; `stream` is a CUDA handle, None on the host."""

    library: str
    stream: int | None

    def normal(self, shape: tuple[int, ...], dtype: str, seed: int) -> Any: ...

    def from_host(self, array: np.ndarray) -> Any: ...

    def to_host(self, array: Any) -> np.ndarray: ...

    def transposed(self, array: Any) -> Any: ...

    def pointer(self, array: Any) -> int: ...

    def rows(self, array: Any, index: list[int]) -> np.ndarray: ...

    def assign(self, target: Any, source: Any) -> None: ...


def host_normal(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    """Standard normal values in C order; each component of a complex number is one."""
    row = DTYPES[dtype]
    random = np.random.default_rng(seed)
    width = 2 if row.is_complex else 1
    size = width * int(np.prod(shape, dtype=np.int64))
    working = np.dtype(row.compute)
    values = random.standard_normal(min(size, _PERIOD), dtype=working.type)
    if size > _PERIOD:
        values = np.resize(values, size)
    if row.is_complex:
        return values.view(numpy_dtype(row)).reshape(shape)
    return values.astype(numpy_dtype(row), copy=False).reshape(shape)


class HostPlace:
    """NumPy arrays."""

    library = "numpy"
    stream = None

    def normal(self, shape, dtype, seed):
        return host_normal(shape, dtype, seed)

    def from_host(self, array):
        return array.copy(order="K")

    def to_host(self, array):
        return array

    def transposed(self, array):
        return array.T

    def pointer(self, array):
        return array.ctypes.data

    def rows(self, array, index):
        return array[index]

    def assign(self, target, source):
        target[...] = source


class TorchPlace:
    """torch tensors on a CUDA device, on torch's current stream."""

    library = "torch"

    def __init__(self, device: int = 0) -> None:
        import torch

        self._torch = torch
        self._device = torch.device("cuda", device)
        self.stream = torch.cuda.current_stream(self._device).cuda_stream

    def normal(self, shape, dtype, seed):
        generator = self._torch.Generator(self._device).manual_seed(seed)
        kind = getattr(self._torch, dtype)
        made = self._torch.randn(shape, dtype=kind, device=self._device, generator=generator)
        if DTYPES[dtype].is_complex:
            made *= 2**0.5  # torch halves the variance of each component
        return made

    def from_host(self, array):
        if array.dtype.name == "bfloat16":
            bits = self._torch.from_numpy(array.view(np.int16))
            return bits.to(self._device).view(self._torch.bfloat16)
        return self._torch.from_numpy(array).to(self._device)

    def to_host(self, array):
        if array.dtype == self._torch.bfloat16:
            bits = array.view(self._torch.int16).cpu().numpy()
            return bits.view(numpy_dtype(DTYPES["bfloat16"]))
        return array.cpu().numpy()

    def transposed(self, array):
        return array.mT

    def pointer(self, array):
        return array.data_ptr()

    def rows(self, array, index):
        return self.to_host(array[index])

    def assign(self, target, source):
        target.copy_(source)


class CupyPlace:
    """CuPy arrays on the current device, on CuPy's current stream. CuPy has no bfloat16."""

    library = "cupy"

    def __init__(self) -> None:
        import cupy

        self._cupy = cupy
        self.stream = cupy.cuda.get_current_stream().ptr

    def normal(self, shape, dtype, seed):
        row = DTYPES[dtype]
        if dtype == "bfloat16":
            raise TypeError("CuPy has no bfloat16; use torch's arrays")
        random = self._cupy.random.default_rng(seed)
        components = (*shape, 2) if row.is_complex else shape
        values = random.standard_normal(components, dtype=row.compute)
        if row.is_complex:
            return values.view(dtype)[..., 0]
        return values.astype(dtype, copy=False)

    def from_host(self, array):
        return self._cupy.asarray(array)

    def to_host(self, array):
        return self._cupy.asnumpy(array)

    def transposed(self, array):
        return array.T

    def pointer(self, array):
        return array.data.ptr

    def rows(self, array, index):
        return self.to_host(array[index])

    def assign(self, target, source):
        target[...] = source


_DEVICE_PLACES: dict[str, Callable[[], Place]] = {"torch": TorchPlace, "cupy": CupyPlace}


def device_place(library: str = "auto") -> Place:
    """Arrays on the GPU by the named library; "auto" takes the first of torch, CuPy, our own."""
    if library == "auto":
        library = next((name for name in _DEVICE_PLACES if find_spec(name)), "tileblas")
    if library not in _DEVICE_PLACES:
        raise ValueError(f"no arrays of {library!r}; choose from {', '.join(_DEVICE_PLACES)}")
    return _DEVICE_PLACES[library]()
