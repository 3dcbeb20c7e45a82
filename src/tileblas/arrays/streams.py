"""Which CUDA stream a call runs on, and what that stream has to wait for."""

from __future__ import annotations

import sys
from collections.abc import Iterable
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
    library = sys.modules.get(operand.library)
    if operand.library == "torch" and library is not None:
        return Stream(library._C._cuda_getCurrentRawStream(operand.device))
    if operand.library == "cupy" and library is not None:
        stream = library.cuda.get_current_stream(operand.device)
        return Stream(_plain(stream.ptr), stream)
    return LEGACY


def _plain(handle: int) -> int:
    """The legacy default stream has the handles 0 and 1; 0 stands for both."""
    return 0 if handle == LEGACY_STREAM else handle


def order_after(stream: Stream, operands: Iterable[Operand]) -> None:
    """Make `stream` wait, on the device, for the streams on which the operands are produced.

    In a graph capture there is nothing to wait for: work outside it cannot be a part of it.
    """
    seen = {stream.handle}
    for operand in operands:
        producer = current(operand)
        if producer.handle in seen:
            continue
        seen.add(producer.handle)
        if driver().capturing(stream.handle):
            return
        driver().record_wait(producer.handle, stream.handle)
        _keep_until_done(operand, stream)


def _keep_until_done(operand: Operand, stream: Stream) -> None:
    """Tell torch's allocator that a foreign stream uses the tensor: no early reuse."""
    if operand.library == "torch":
        torch = sys.modules["torch"]
        foreign = torch.cuda.ExternalStream(stream.handle, device=operand.device)
        operand.array.record_stream(foreign)
