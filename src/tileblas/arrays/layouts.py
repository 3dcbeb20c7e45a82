"""The layout and the address of an array, read as fast as its library tells them.

`ingest` describes any array in full. A repeated call only asks whether the arrays lie as they did
before: `READERS` holds, for the types seen so far, a function array -> (layout, address). Equal
layouts mean equal Operands but for addresses and owners; they are hashable and hold a library's own
objects, since turning those into ours would cost more than all else.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from operator import attrgetter, methodcaller
from typing import Any

from tileblas.core.operand import Operand

Reader = Callable[[Any], tuple[Hashable, int]]
Address = Callable[[Any], int]


def _none(array: None) -> tuple[None, int]:
    """An optional operand that is not given."""
    return None, 0


def _no_address(array: None) -> int:
    return 0


def _torch(array: Any) -> tuple[Hashable, int]:
    dtype = array.dtype
    conj = dtype.is_complex and array.is_conj()
    layout = (
        dtype,
        array.shape,
        array.stride(),
        array.get_device(),
        array.is_cuda,
        array.is_neg(),
        conj,
    )
    return layout, array.data_ptr()


def _cupy(array: Any) -> tuple[Hashable, int]:
    memory = array.data
    return ("cupy", array.dtype, array.shape, array.strides, memory.device_id), memory.ptr


_BY_LIBRARY: dict[str, tuple[Reader, Address]] = {
    "torch": (_torch, methodcaller("data_ptr")),
    "cupy": (_cupy, attrgetter("data.ptr")),
}

#: By exact type. Arrays of other libraries are not in these: they are ingested each time.
READERS: dict[type, Reader] = {type(None): _none}
ADDRESSES: dict[type, Address] = {type(None): _no_address}


def learn(operand: Operand) -> None:
    """Have the operand's type read directly from now on, if its library is one that can be."""
    known = _BY_LIBRARY.get(operand.library)
    if known is not None:
        READERS[type(operand.array)], ADDRESSES[type(operand.array)] = known
