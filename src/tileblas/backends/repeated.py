"""Repeated calls on device arrays: signature -> launches, with nothing in between but addresses.

A signature is what decides a plan, in the words of the array library itself (`layouts`), and the
addresses and numbers that do not. Only calls of the plain kind are remembered: all arrays of torch
or all of CuPy, on one device and on its current stream, with ordinary numbers or device scalars.
Everything else, and every error, belongs to the full path of `dispatch`.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from tileblas.arrays import layouts, streams
from tileblas.arrays.layouts import READERS
from tileblas.arrays.results import Maker, maker
from tileblas.arrays.streams import Stream
from tileblas.core.call import Scalar
from tileblas.core.check import lie_alike
from tileblas.core.dtypes import DType
from tileblas.core.operand import HOST, Operand
from tileblas.core.overlap import byte_reach
from tileblas.core.spec import Spec

Queue = Callable[[int, Any, tuple[Any, ...]], None]

#: Signatures remembered before the oldest is dropped.
_REMEMBERED = 4096

# Between these, a number's rounding to FP32 is neither 0 nor infinite.
_TINY, _HUGE = 1e-30, 1e30

# A number that FP32 rounds to 1 is no further from it than this.
_HALF_ULP = 2.0**-24


#: What decides the plan, the operands' addresses, the numbers (or addresses of device scalars).
Signature = tuple[list[Hashable], list[int], Sequence[Any]]


def sign(
    spec: Spec,
    arrays: Sequence[Any],
    scalars: Sequence[Any],
    options: Sequence[Any],
    math_name: str | None,
) -> Signature | None:
    """The signature of a call; None where an array or a number is not of the plain kind."""
    key: list[Hashable] = [spec.name, options, math_name]
    pointers: list[int] = []
    try:
        READERS[type(arrays[0])](arrays, key, pointers)
        numbers = _read_numbers(scalars, key) if scalars else ()
    except Exception:  # no reader, no plain number, an array that refuses: the full path says what
        return None
    return key, pointers, numbers


def _read_numbers(scalars: Sequence[Any], key: list[Hashable]) -> Sequence[Any]:
    """Append the kinds of numbers, as `Scalar` has them, or layouts; return what launches take.

    Raises for what is not plain. Plain are numbers whose rounding to FP32 changes neither kind nor
    sign, and device scalars.
    """
    known = len(key)
    for value in scalars:
        kind = type(value)
        if kind is not int and kind is not float:
            del key[known:]
            return _read_any_numbers(scalars, key)
        if value == 1:
            key.append("one")
        else:
            key.append("real" if _TINY < abs(value) < _HUGE else _zero(value))
    return scalars


def _read_any_numbers(scalars: Sequence[Any], key: list[Hashable]) -> Sequence[Any]:
    """The same where some are complex, of which launches take the parts, or on the device."""
    numbers: list[Any] = []
    for value in scalars:
        if type(value) is complex:
            key += _complex(value)
            numbers += (value.real, value.imag)
        elif type(value) in (int, float):
            numbers += _read_numbers((value,), key)
        else:
            READERS[type(value)]((value,), key, numbers)
    return tuple(numbers)


def _zero(value: float) -> str:
    """The kind "zero" for 0; ValueError for -0, and what FP32 may not tell from 0 or infinity."""
    if value == 0 and math.copysign(1, value) > 0:
        return "zero"
    raise ValueError


def _complex(value: complex) -> tuple[str, float, float]:
    """The kind of a complex number, and the signs of parts that are 0, which are equal otherwise.

    ValueError where rounding may change the kind, and for 0 and 1.
    """
    parts = value.real, value.imag
    if value.imag == 0 and abs(value.real - 1) <= _HALF_ULP:
        raise ValueError
    if value == 0 or not all(part == 0 or _TINY < abs(part) < _HUGE for part in parts):
        raise ValueError
    re, im = (0 if part else math.copysign(1, part) for part in parts)
    return "complex", re, im


class Span(NamedTuple):
    """Bytes from `low` to `high` after the address at `place` among pointers, or among numbers.

    `may_be_same`: it may be the very view that is written.
    """

    of_number: bool
    place: int
    low: int
    high: int
    may_be_same: bool = False


class Written(NamedTuple):
    """Bytes from `low` to `high` after the pointer at `place`, and what they must not meet."""

    place: int
    low: int
    high: int
    others: tuple[Span, ...]


class Repeated:
    """The launches of one signature: `run` binds addresses, checks what they decide, and queues."""

    __slots__ = (
        "_appends",
        "_current",
        "_device",
        "_last",
        "_made",
        "_output",
        "_pick",
        "_queues",
        "_written",
        "returned",
    )

    def __init__(
        self,
        spec: Spec,
        output: Operand,
        queues: tuple[Queue, ...],
        slots: Sequence[str],
        written: tuple[Written, ...],
        made: Maker | None,
    ) -> None:
        names = [arg.name for arg in spec.operands]
        self._output = spec.output
        self._appends = spec.operands[spec.output].role == "new"
        #: Of the arrays that a call is given, and one that it makes, what it returns.
        self.returned = itemgetter(*(names.index(name) for name in spec.returns))
        self._device = output.device
        self._current = _current(output.library)
        self._queues = queues
        self._pick = _picker([names.index(slot) for slot in slots])
        self._written = written
        self._made = made
        self._last: tuple[list[int], Sequence[Any], tuple[Any, ...]] | None = None

    def run(
        self,
        arrays: Sequence[Any],
        signature: Signature,
        target: Stream | None = None,
    ) -> Any:
        """Queue the launches and return the output.

        None where the full path has to look: operands have come to meet, or `target` is not the
        stream on which they are produced.
        """
        _, pointers, numbers = signature
        handle, owner = self._current(self._device)
        if target is not None and target.handle != handle:
            return None
        if self._made is not None:
            written = self._written
            if written and self._meets(pointers, numbers):
                return None
            result, address = self._made(arrays[0], handle)
            if self._appends:
                pointers.append(address)
            else:
                pointers[self._output] = address  # of one that could have been given
            values = self._pick(pointers)
            if numbers:
                values = (*values, *numbers)
            if written:
                result = self.returned((*arrays, result))
        else:
            result = self.returned(arrays)
            last = self._last
            if last is not None and last[0] == pointers and last[1] == numbers:
                values = last[2]  # the very tuple, which the launches know to be packed
            elif self._meets(pointers, numbers):
                return None
            else:
                values = (*self._pick(pointers), *numbers)
                self._last = pointers, numbers, values
        for queue in self._queues:
            queue(handle, owner, values)
        return result

    def values(self, pointers: list[int], numbers: Sequence[Any]) -> tuple[Any, ...] | None:
        """What `again` queues; None where a call makes its result, or the output meets others."""
        if self._made is not None or self._meets(pointers, numbers):
            return None
        return (*self._pick(pointers), *numbers)

    def again(self, values: tuple[Any, ...], target: Stream | None) -> bool:
        """Queue the launches with these values; False where `target` is not the current stream."""
        handle, owner = self._current(self._device)
        if target is not None and target.handle != handle:
            return False
        for queue in self._queues:
            queue(handle, owner, values)
        return True

    def _meets(self, pointers: list[int], numbers: Sequence[Any]) -> bool:
        """Whether the addresses of an output and of another operand meet."""
        for place, low, high, others in self._written:
            written = pointers[place]
            start, end = written + low, written + high
            for of_number, other, low, high, may_be_same in others:
                address = (numbers if of_number else pointers)[other]
                if address + low < end and start < address + high:
                    if may_be_same and address == written:
                        continue
                    return True
        return False


def _current(library: str) -> streams.Current:
    """The reader of the current stream of a library that `layouts` knows: all these have one."""
    found = streams.current_of(library)
    assert found is not None
    return found


def _picker(indices: list[int]) -> Callable[[Sequence[int]], tuple[int, ...]]:
    """The function that picks the items at `indices`, as a tuple."""
    if len(indices) == 1:
        (index,) = indices
        return lambda items: (items[index],)
    return itemgetter(*indices)


_repeated: dict[tuple[Hashable, ...], Repeated] = {}
# The last one of each routine, with its key: to compare takes half as long as to look up.
_latest: dict[Hashable, tuple[list[Hashable], Repeated]] = {}
_remembering = threading.Lock()

# Launches are of the parent's driver, which a forked child cannot use.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_repeated.clear)
    os.register_at_fork(after_in_child=_latest.clear)


def find(key: list[Hashable]) -> Repeated | None:
    """What is remembered of a key, if anything."""
    latest = _latest.get(key[0])
    if latest is not None and latest[0] == key:
        return latest[1]
    try:
        known = _repeated.get(tuple(key))
    except TypeError:  # an option that has no hash, so that it is no letter: the full path says so
        return None
    if known is not None:
        _latest[key[0]] = key, known
    return known


def remember(
    spec: Spec,
    call: tuple[Sequence[Any], Sequence[Any], Sequence[Any], str | None],
    operands: Sequence[Operand | None],
    scalars: Mapping[str, Scalar],
    made: Mapping[str, tuple[tuple[int, ...], DType]],
    run: Any,
) -> None:
    """Remember a call that the full path has made, where it is of the plain kind.

    `call` is what `sign` takes after the spec; `made` are shape and type of new outputs, of which
    the last may be one; `run` is the backend's runner, None where there was nothing to do.
    """
    if made.keys() - {spec.output_name}:
        return
    given = [o for o in operands if o is not None]
    on_device = [s.operand for s in scalars.values() if s.operand is not None]
    first = given[0]
    if first.device == HOST or any(o.library != first.library for o in (*given, *on_device)):
        return
    for operand in (*given, *on_device):
        layouts.learn(operand)
    signature = sign(spec, *call)
    if signature is None or not _agrees(spec, call[1], scalars):
        return
    key = tuple(signature[0])
    if key in _repeated:
        return
    output = first if made else operands[spec.output]
    assert output is not None
    result = made.get(spec.output_name)
    known = Repeated(
        spec,
        output,
        tuple(launch.queue for launch in run.launches) if run else (),
        run.slots if run else (spec.output_name,),
        tuple(
            _written(spec, operands, scalars, index)
            for index in spec.outputs
            if spec.operands[index].name not in made
        ),
        maker(output, *result) if result is not None else None,
    )
    with _remembering:
        if len(_repeated) >= _REMEMBERED:
            del _repeated[next(iter(_repeated))]
        _repeated[key] = known


def _agrees(spec: Spec, numbers: Sequence[Any], scalars: Mapping[str, Scalar]) -> bool:
    """Whether the numbers are of the kinds that were planned for: rounding can make a 1 of 1.1."""
    for value, scalar in zip(numbers, scalars.values(), strict=True):
        if scalar.operand is None:
            kinds: list[Hashable] = []
            _read_numbers((value,), kinds)
            if kinds[0] != scalar.kind:
                return False
    return True


def _written(
    spec: Spec,
    operands: Sequence[Operand | None],
    scalars: Mapping[str, Scalar],
    output: int,
) -> Written:
    """What an output spans, and the spans of all other operands and of device scalars."""
    written = operands[output]
    assert written is not None
    spans = [
        Span(False, index, *byte_reach(operand), spec.aliasing and lie_alike(operand, written))
        for index, operand in enumerate(operands)
        if operand is not None and index != output
    ]
    place = 0
    for scalar in scalars.values():
        if scalar.operand is not None:
            spans.append(Span(True, place, *byte_reach(scalar.operand)))
        place += 2 if scalar.kind == "complex" else 1
    return Written(output, *byte_reach(written), tuple(spans))
