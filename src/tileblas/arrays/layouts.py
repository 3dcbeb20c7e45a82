"""The layout and the address of an array, read as fast as its library tells them.

`ingest` describes any array in full. A repeated call only asks whether the arrays lie as they did
before: a reader of `READERS`, by the array's type, appends its layout to a key and its address to a
list. Equal keys mean equal Operands but for addresses and owners. Layouts are hashable and hold a
library's own objects, since turning those into ours would cost more than all else; the first entry
tells the library and with it how many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from operator import attrgetter, methodcaller
from typing import Any

from tileblas.core.operand import Operand

Reader = Callable[[Any, list[Hashable], list[int]], None]
Address = Callable[[Any], int]


def _none(array: None, key: list[Hashable], addresses: list[int]) -> None:
    """An optional operand that is not given."""
    key.append(None)
    addresses.append(0)


def _torch(array: Any, key: list[Hashable], addresses: list[int]) -> None:
    address = array.data_ptr()
    dtype = array.dtype
    key += (
        dtype,
        array.shape,
        array.stride(),
        array.get_device(),
        array.is_neg(),
        dtype.is_complex and array.is_conj(),
        address & 15 == 0,
    )
    addresses.append(address)


def _cupy(array: Any, key: list[Hashable], addresses: list[int]) -> None:
    memory = array.data
    address = memory.ptr
    key += (
        "cupy",
        array.dtype,
        array.shape,
        array.strides,
        memory.device_id,
        address & 15 == 0,
    )
    addresses.append(address)


def _no_address(array: None) -> int:
    return 0


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
