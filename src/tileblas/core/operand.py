"""What the pipeline knows of one array: where its elements lie, and who owns them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from tileblas.core.dtypes import DType, storage_dtype

HOST = -1  # the device number of memory that the CPU reads

# Bits of Operand.flags.
CONJ = 1  # the elements are the conjugates of what is stored (torch's lazy bit)
NEG = 2  # the elements are the negatives of what is stored (torch's lazy bit)
READONLY = 4


class Operand(NamedTuple):
    """One array as ingested: pure description, nothing copied, memory kept alive by `array`
    (the caller's own object, which is what a call returns) and `keep`.

    `pointer` addresses the element whose indices are all 0, so strides (in elements) may have
    either sign. `dtype` is None for an element type that BLAS lacks. `stream` is the handle that a
    bare interface named as its producer, None where its library knows better.
    """

    pointer: int
    dtype: DType | None
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    flags: int
    device: int
    library: str
    array: Any
    stream: int | None = None
    keep: Any = None


#: By an address modulo 16: the bytes, of those that matter, that divide it.
ALIGNMENTS = tuple(16 if rest == 0 else 8 if rest == 8 else 1 for rest in range(16))


def alignment_of(pointers: Iterable[int]) -> int:
    """The bytes that divide all addresses: 16, the widest load; 8, a complex64 element; else 1."""
    return min((ALIGNMENTS[pointer & 15] for pointer in pointers), default=16)


def extent(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, int]:
    """First and one past the last element touched, relative to the element at index 0."""
    if 0 in shape:
        return 0, 0
    reach = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
    return sum(r for r in reach if r < 0), 1 + sum(r for r in reach if r > 0)


def c_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides, in elements, of a C-ordered array."""
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


class _Interface:
    """Holder of an array interface dictionary, which NumPy turns into a view without a copy."""

    def __init__(self, interface: dict, owner: Any) -> None:
        self.__array_interface__ = interface
        self.owner = owner


def numpy_view(
    pointer: int, dtype: DType, shape: Sequence[int], strides: Sequence[int], owner: Any = None
):
    """A NumPy view of memory at `pointer`, as stored (no lazy bits); bfloat16 as uint16.

    Making the view reads no memory, so it also serves to reason about device addresses.
    """
    import numpy as np

    interface = {
        "version": 3,
        "typestr": np.dtype(storage_dtype(dtype)).str,
        "shape": tuple(shape),
        "strides": tuple(s * dtype.itemsize for s in strides),
        # NumPy refuses a null pointer for an empty array on no ground but its nullness.
        "data": (pointer or 16, False),
    }
    return np.asarray(_Interface(interface, owner))
