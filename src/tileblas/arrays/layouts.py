"""The layouts and addresses of a call's arrays, read as fast as their library tells them.

`ingest` describes any array in full. A repeated call only asks whether its arrays lie as they did
before: a reader of `READERS`, by the type of the first, appends all layouts to a key and all
addresses to a list. Equal keys mean equal Operands but for addresses and owners. Layouts are
hashable and hold a library's own objects, since turning those into ours would cost more than all
else; the first entry of each tells the library and with it how many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from operator import attrgetter, methodcaller
from typing import Any

from tileblas.core.operand import ALIGNMENTS, Operand

#: Reads arrays of one library, and None for those that are not given; raises for any other.
Reader = Callable[[Iterable[Any], list[Hashable], list[int]], None]
Address = Callable[[Any], int]


def _torch(arrays: Iterable[Any], key: list[Hashable], addresses: list[int]) -> None:
    for array in arrays:
        if array is None:
            key.append(None)
            addresses.append(0)
            continue
        address = array.data_ptr()
        dtype = array.dtype
        key += (
            dtype,
            array.shape,
            array.stride(),
            array.get_device(),
            array.is_neg(),
            dtype.is_complex and array.is_conj(),
            ALIGNMENTS[address & 15],
        )
        addresses.append(address)


def _cupy(arrays: Iterable[Any], key: list[Hashable], addresses: list[int]) -> None:
    for array in arrays:
        if array is None:
            key.append(None)
            addresses.append(0)
            continue
        memory = array.data
        address = memory.ptr
        key += (
            "cupy",
            array.dtype,
            array.shape,
            array.strides,
            memory.device_id,
            ALIGNMENTS[address & 15],
        )
        addresses.append(address)


def _no_address(array: None) -> int:
    return 0


_BY_LIBRARY: dict[str, tuple[Reader, Address]] = {
    "torch": (_torch, methodcaller("data_ptr")),
    "cupy": (_cupy, attrgetter("data.ptr")),
}

#: By exact type. Arrays of other libraries are not in these: they are ingested each time.
READERS: dict[type, Reader] = {}
ADDRESSES: dict[type, Address] = {type(None): _no_address}


def learn(operand: Operand) -> None:
    """Have the operand's type read directly from now on, if its library is one that can be."""
    known = _BY_LIBRARY.get(operand.library)
    if known is not None:
        READERS[type(operand.array)], ADDRESSES[type(operand.array)] = known
