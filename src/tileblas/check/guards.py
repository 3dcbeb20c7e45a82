"""Operands inside poisoned buffers: every element around and between those of a view is a trap.

A `Layout` says how an operand lies in memory; `Guarded` lays values out that way inside a larger
buffer whose other elements are poison (NaN, Inf, or random finite numbers), with GUARD elements on
both sides. A `Region` makes traps of elements inside the view: those that no call may refer to.
After a call, `Guarded.damage` compares bytes: of everything for an input, of everything but the
part of the view that is the result for an output. Buffers are made on the host and moved by a
`Library` to where they are used, so the same operands serve NumPy, torch and CuPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np

from tileblas.core.dtypes import DTYPES, numpy_dtype
from tileblas.core.operand import c_strides, extent

GUARD = 4096  # elements on each side
POISONS = ("nan", "inf", "finite")


class Library(Protocol):
    """What the checks need of an array library."""

    name: str
    negative_strides: bool

    def put(self, host: np.ndarray) -> Any:
        """A 1-d buffer with a copy of the host's elements."""

    def view(self, buffer: Any, start: int, shape: Sequence[int], strides: Sequence[int]) -> Any:
        """The view that starts at element `start`, with strides in elements."""

    def get(self, array: Any) -> np.ndarray:
        """The elements on the host."""


class NumpyLibrary:
    """NumPy arrays."""

    name = "numpy"
    negative_strides = True

    def put(self, host):
        return host.copy()

    def view(self, buffer, start, shape, strides):
        size = buffer.itemsize
        # As bytes, because NumPy exports no buffer of bfloat16.
        memory, steps = buffer.view(np.uint8), [s * size for s in strides]
        return np.ndarray(shape, buffer.dtype, memory, start * size, steps)

    def get(self, array):
        return np.asarray(array)


class TorchLibrary:
    """torch tensors; torch has no negative strides."""

    name = "torch"
    negative_strides = False

    def __init__(self, device: str = "cuda") -> None:
        import torch

        self._torch, self._device = torch, device

    def put(self, host):
        if host.dtype.name == "bfloat16":
            bits = self._torch.from_numpy(host.view(np.int16).copy())
            return bits.view(self._torch.bfloat16).to(self._device)
        return self._torch.from_numpy(host.copy()).to(self._device)

    def view(self, buffer, start, shape, strides):
        return buffer.as_strided(shape, strides, start)

    def get(self, array):
        if array.dtype == self._torch.bfloat16:
            bits = array.view(self._torch.int16).cpu().numpy()
            return bits.view(numpy_dtype(DTYPES["bfloat16"]))
        return array.cpu().numpy()


class CupyLibrary:
    """CuPy arrays; CuPy has no bfloat16."""

    name = "cupy"
    negative_strides = True

    def __init__(self) -> None:
        import cupy

        self._cupy = cupy

    def put(self, host):
        return self._cupy.asarray(host)

    def view(self, buffer, start, shape, strides):
        size = buffer.itemsize
        memory = buffer.data + start * size
        byte_strides = [s * size for s in strides]
        return self._cupy.ndarray(shape, buffer.dtype, memory, strides=byte_strides)

    def get(self, array):
        return self._cupy.asnumpy(array)


@dataclass(frozen=True)
class Layout:
    """How an operand's axes lie in memory.

    `order` "C" or "F" applies to the last `core` axes, with the batch axes outside; "batch" puts
    the batch axes innermost. Elements of the innermost axis are `step` apart, and each run of them
    is followed by `pad` more. `reverse` and `zero` list axes of negative and of zero stride, and
    `offset` shifts the first element.
    """

    order: str = "C"
    core: int = 2
    pad: int = 0
    step: int = 1
    reverse: tuple[int, ...] = ()
    zero: tuple[int, ...] = ()
    offset: int = 0

    def place(self, shape: Sequence[int]) -> tuple[int, tuple[int, ...], int]:
        """(start, strides, span): where index 0 lies in `span` elements, and the strides."""
        rank = len(shape)
        batch, inner = list(range(rank - self.core)), list(range(rank - self.core, rank))
        axes = {"C": batch + inner, "F": batch + inner[::-1], "batch": inner + batch}[self.order]
        sizes = [shape[axis] for axis in axes]
        if sizes:
            sizes[-1] = sizes[-1] * self.step + self.pad
        steps = [*c_strides(sizes)[:-1], self.step] if sizes else []
        strides = [0] * rank
        for axis, step in zip(axes, steps, strict=True):
            strides[axis] = step
        for axis in self.reverse:
            strides[axis % rank] *= -1
        for axis in self.zero:
            strides[axis % rank] = 0
        first, last = extent(shape, strides)
        return self.offset - first, tuple(strides), self.offset + last - first


@dataclass(frozen=True)
class Region:
    """Which elements of a view are read, and which are written where it is an output.

    Each is one mask for real elements and two, of real and imaginary parts, for complex ones, over
    the view's last axes.
    """

    read: tuple[np.ndarray, ...]
    written: tuple[np.ndarray, ...]


class Guarded:
    """One operand: `array` is the view to pass on, `values` what it holds, as host NumPy.

    With a `region`, elements that are not read are poison in memory, and 0 in `values` and results.
    """

    def __init__(
        self,
        values: np.ndarray,
        layout: Layout,
        poison: str,
        library: Library,
        region: Region | None = None,
    ) -> None:
        shape = values.shape
        start, strides, span = layout.place(shape)
        self._place = (GUARD + start, shape, strides)
        self._library = library
        self._written = region.written if region else None
        read = region.read if region else None
        self.before = poisoned(values.dtype, poison, span + 2 * GUARD)
        inside = _HOST.view(self.before, *self._place)
        _put(inside, values, read)
        self.values = np.zeros_like(values)
        _put(self.values, inside, read)
        self.buffer = library.put(self.before)
        self.array = library.view(self.buffer, *self._place)

    def result(self) -> np.ndarray:
        """What the view holds now."""
        result = self.values.copy()
        after = _HOST.view(self._library.get(self.buffer), *self._place)
        _put(result, after, self._written)
        return result

    def damage(self, is_output: bool) -> str | None:
        """Where a byte changed that had to stay, or None."""
        after = self._library.get(self.buffer)
        if is_output:
            after = after.copy()
            before = _HOST.view(self.before, *self._place)
            _put(_HOST.view(after, *self._place), before, self._written)
        changed = after.view(np.uint8) != self.before.view(np.uint8)
        if not changed.any():
            return None
        return self._name(int(np.argmax(changed)) // after.itemsize, after.size, is_output)

    def _name(self, element: int, size: int, is_output: bool) -> str:
        """What the element of the buffer is: guard, part of the view, or a gap in it."""
        if not GUARD <= element < size - GUARD:
            return f"guard element {element} of {size} was written"
        inside = np.zeros(size, bool)
        _HOST.view(inside, *self._place)[...] = True
        held = "an element that is not referenced" if is_output else "an input element"
        what = held if inside[element] else "padding or a gap"
        return f"{what} was written, {element - self._place[0]} elements from the view's start"


def _put(target: np.ndarray, source: np.ndarray, masks: tuple[np.ndarray, ...] | None) -> None:
    """target := source where the masks of their parts say, or everywhere."""
    if masks is None:
        target[...] = source
    elif len(masks) == 1:
        np.copyto(target, source, where=masks[0])
    else:
        np.copyto(target.real, source.real, where=masks[0])
        np.copyto(target.imag, source.imag, where=masks[1])


_HOST = NumpyLibrary()


def poisoned(dtype: np.dtype, poison: str, size: int) -> np.ndarray:
    """A new 1-d array full of poison."""
    if poison == "finite":
        return np.resize(_finite_poison(dtype), size)
    value = float(poison)
    if np.issubdtype(dtype, np.complexfloating):
        return np.full(size, complex(value, -value), dtype)
    return np.full(size, value, dtype)


@cache
def _finite_poison(dtype: np.dtype) -> np.ndarray:
    random = np.random.default_rng(1)
    values = random.uniform(-1000, 1000, GUARD)
    if np.issubdtype(dtype, np.complexfloating):
        values = values + 1j * random.uniform(-1000, 1000, GUARD)
    return values.astype(dtype)
