"""A call that must be refused, as data, and the check that it is and that nothing is written.

Each operand is a view `At` some place of a named buffer, so that operands can overlap.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tileblas
from tileblas.check.guards import Library
from tileblas.core.dtypes import DTYPES, numpy_dtype
from tileblas.core.operand import c_strides
from tileblas.errors import BlasError

_SIZE = 256  # elements of a buffer


@dataclass(frozen=True)
class At:
    """A view: strides are C order by default, the buffer is the operand's own."""

    shape: tuple[int, ...]
    dtype: str = "float32"
    strides: tuple[int, ...] | None = None
    start: int = 0
    buffer: str = ""


@dataclass(frozen=True)
class Refusal:
    """One wrong call. `position` is the Fortran number of `argument`; the message has `words`."""

    id: str
    routine: str
    operands: dict[str, At]
    argument: str | None = None
    position: int | None = None
    keywords: dict[str, Any] = field(default_factory=dict)
    error: type[Exception] = BlasError
    words: tuple[str, ...] = ()

    @property
    def dtypes(self) -> set[str]:
        return {at.dtype for at in self.operands.values()}

    @property
    def has_negative_strides(self) -> bool:
        return any(stride < 0 for at in self.operands.values() for stride in at.strides or ())


def refused(refusal: Refusal, library: Library) -> str | None:
    """None if the call was refused as it must be and nothing was written, else what happened."""
    buffers: dict[str, Any] = {}
    arrays = {}
    for name, at in refusal.operands.items():
        key = at.buffer or name
        if key not in buffers:
            buffers[key] = library.put(_numbered(at.dtype))
        strides = c_strides(at.shape) if at.strides is None else at.strides
        arrays[name] = library.view(buffers[key], at.start, at.shape, strides)
    before = {key: library.get(buffer).tobytes() for key, buffer in buffers.items()}
    try:
        getattr(tileblas, refusal.routine)(**arrays, **refusal.keywords)
    except Exception as error:
        problem = _wrong_error(refusal, error)
    else:
        problem = "it was not refused"
    after = {key: library.get(buffer).tobytes() for key, buffer in buffers.items()}
    return problem or (None if after == before else "it wrote to an operand")


def _numbered(dtype: str) -> np.ndarray:
    kind = numpy_dtype(DTYPES[dtype]) if dtype in DTYPES else np.dtype(dtype)
    return np.arange(_SIZE).astype(kind)


def _wrong_error(refusal: Refusal, error: Exception) -> str | None:
    if type(error) is not refusal.error:
        return f"expected {refusal.error.__name__}, got {type(error).__name__}: {error}"
    if isinstance(error, BlasError):
        got = (error.routine, error.argument, error.position)
        if got != (refusal.routine, refusal.argument, refusal.position):
            return f"named {got}: {error}"
    missing = [word for word in (refusal.routine, *refusal.words) if word not in str(error)]
    return f"does not say {', '.join(missing)}: {error}" if missing else None
