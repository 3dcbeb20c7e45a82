"""Which CUDA stream a call runs on, and what that stream has to wait for."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from tileblas.arrays.ingest import LEGACY_STREAM
from tileblas.core.operand import Operand
from tileblas.runtime.driver import driver


class Stream(NamedTuple):
    """A stream handle and the object that keeps it alive (None for streams nobody destroys)."""

    handle: int
    owner: Any = None


LEGACY = Stream(0)


def named(stream: Any) -> Stream:
    """The stream that the caller passed as `stream=`. Raises TypeError for what is no stream."""
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        found = protocol() if callable(protocol) else protocol
        return Stream(_plain(int(found[1])), stream)
    for attribute in ("cuda_stream", "ptr"):  # torch and CuPy before they had the protocol
        if hasattr(stream, attribute):
            return Stream(_plain(int(getattr(stream, attribute))), stream)
    raise TypeError(f"stream= takes an object with __cuda_stream__, got {type(stream).__name__}")


def current(operand: Operand) -> Stream:
    """The stream on which the operand's library works now; the legacy one if it has none."""
    if operand.stream is not None:
        return Stream(_plain(operand.stream))
    reader = current_of(operand.library)
    return LEGACY if reader is None else Stream(*reader(operand.device))


Current = Callable[[int], tuple[int, Any]]


def _of_torch() -> Current:
    handle = sys.modules["torch"]._C._cuda_getCurrentRawStream
    return lambda device: (handle(device), None)


def _of_cupy() -> Current:
    stream = sys.modules["cupy"].cuda.get_current_stream

    def current(device: int) -> tuple[int, Any]:
        found = stream(device)
        return _plain(found.ptr), found

    return current


_CURRENT: dict[str, Callable[[], Current]] = {"torch": _of_torch, "cupy": _of_cupy}


def current_of(library: str) -> Current | None:
    """device -> (handle, owner) of the current stream, None for a library without such streams."""
    make = _CURRENT.get(library)
    return make() if make is not None and library in sys.modules else None


def _plain(handle: int) -> int:
    """The legacy default stream has the handles 0 and 1; 0 stands for both."""
    return 0 if handle == LEGACY_STREAM else handle


def order_after(stream: Stream, operands: Iterable[Operand]) -> None:
    """Make `stream` wait, on the device, for the streams on which the operands are produced.

    In a graph capture only a stream of the same capture can be waited for: work outside is no part
    of the graph.
    """
    for producer, device in _others(stream, operands):
        if _may_order(stream, producer):
            driver().record_wait(producer.handle, stream.handle, device)


def hold(stream: Stream, operands: Iterable[Operand]) -> None:
    """Keep the operands' memory from being reused before the work now in `stream` has read it.

    torch's allocator is told of a stream of torch's own. In all other cases the stream on which the
    operand's library works now waits, on the device, before it goes on: where a caller has gone on
    to another one than the memory was allocated on, the library's own rules hold for that one. As
    in `order_after`, nothing waits where only one of the two streams is being captured. Views of
    JAX and DLPack memory, whose owner's stream nobody knows, are kept alive until an event passes.
    """
    operands = list(operands)
    told = _is_torch_stream(stream)
    for operand in operands:
        if told and operand.library == "torch" and current(operand).handle != stream.handle:
            operand.array.record_stream(stream.owner)
    foreign = [operand for operand in operands if not (told and operand.library == "torch")]
    for producer, device in _others(stream, foreign):
        if _may_order(stream, producer):
            driver().record_wait(stream.handle, producer.handle, device)
    views = [operand.keep for operand in foreign if operand.keep is not None]
    _let_go()
    if views and not driver().capturing(stream.handle):
        _held.append((driver().mark(stream.handle, operands[0].device), views))


def _is_torch_stream(stream: Stream) -> bool:
    """Whether torch made the stream, and so keeps it for good.

    When memory that was recorded on a stream is freed, torch records an event there. Where the
    stream has been destroyed in the meantime, that ends the process. The `stream_id` of one that
    torch has from elsewhere is its pointer; torch's own are 0, the default one, or odd.
    """
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(stream.owner, torch.cuda.Stream):
        return False
    number = stream.owner.stream_id
    return number == 0 or number % 2 == 1


# Views that queued work still reads, each list with the event that ends its need.
_held: list[tuple[Any, list[Any]]] = []
_holding = threading.Lock()


def _let_go() -> None:
    """Drop what passed events no longer need."""
    done = []  # dropped outside the lock: it may free memory, which may run anything
    with _holding:
        while _held:
            try:
                if not driver().reached(_held[0][0]):
                    break
            except BaseException:
                done.append(_held.pop(0))  # its error is told once
                raise
            done.append(_held.pop(0))


def _others(stream: Stream, operands: Iterable[Operand]) -> list[tuple[Stream, int]]:
    """The streams of the operands that are not `stream`, each once, and their device."""
    found: dict[int, tuple[Stream, int]] = {}
    for operand in operands:
        producer = current(operand)
        found[producer.handle] = producer, operand.device
    found.pop(stream.handle, None)
    return list(found.values())


def _may_order(stream: Stream, producer: Stream) -> bool:
    """Whether an event can order the two: both in one capture, or both in none."""
    return driver().capturing(stream.handle) == driver().capturing(producer.handle)
