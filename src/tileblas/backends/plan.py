"""Plan: one call made ready, to be repeated on its arrays or on others that lie the same way."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

from tileblas.arrays import streams
from tileblas.arrays.layouts import ADDRESSES
from tileblas.backends import repeated
from tileblas.backends.dispatch import Described, describe, ingest_all
from tileblas.backends.repeated import Repeated
from tileblas.core import check
from tileblas.core.operand import HOST, READONLY, Operand, alignment_of
from tileblas.core.spec import Spec
from tileblas.errors import BlasError


class Plan:
    """What `tileblas.plan` returns: `p()` repeats the call, `p(a, b, c)` makes it on other arrays.

    Options and numbers are those of the plan; a device scalar is read anew at each call. Arrays
    must be of the library and have the dtype, shape, strides and device that were planned for,
    be aligned to 16 or 8 bytes where all of those were, and meet as little: BlasError
    otherwise, before anything is written. The plan keeps its arrays alive; of those on a device
    `p()` asks nothing but whether they are where they were, so one that is given another shape
    in place is used as planned. Any thread may call it; it runs on the stream that was named,
    else on the one that is current at the call.
    """

    def __init__(
        self,
        spec: Spec,
        arrays: Sequence[Any],
        scalars: Sequence[Any],
        options: Sequence[Any],
        math: str | None,
        stream: Any,
    ) -> None:
        self._spec, self._arrays = spec, tuple(arrays)
        self._rest = tuple(scalars), tuple(options), math
        self._target = None if stream is None else streams.named(stream)
        described = describe(spec, ingest_all(spec, arrays), *self._rest, self._target)
        described.check()
        self._planned = [None if o is None else _lies(o) for o in described.operands]
        pointers = [o.pointer for o in described.operands if o is not None]
        self._alignment = alignment_of(pointers)
        self._known: Repeated | None = None
        self._shorten(described)

    def _shorten(self, described: Described) -> None:
        """Take the short path of repeated calls where the arrays allow it."""
        described.remember(self._arrays, *self._rest)
        signature = repeated.sign(self._spec, self._arrays, *self._rest)
        known = repeated.find(signature[0]) if signature else None
        if signature is None or known is None:
            return
        # The plan's own, so that no other call changes the values that it had last.
        self._known = copy(known)
        self._key, _, self._numbers = signature
        # Device scalars come last, where a signature has none: only whether they moved is asked.
        on_device = [scalar for scalar in self._rest[0] if type(scalar) in ADDRESSES]
        self._addresses = [(ADDRESSES[type(a)], a) for a in (*self._arrays, *on_device)]
        self._pointers = [address(array) for address, array in self._addresses]
        self._values = known.values(self._pointers, self._numbers)

    def __call__(self, *arrays: Any) -> Any:
        known = self._known
        if known is None:
            return self._in_full(arrays or self._arrays)
        if not arrays:
            pointers = [address(array) for address, array in self._addresses]
            if pointers == self._pointers:
                values = self._values
                if values is not None and known.again(values, self._target):
                    return known.returned(self._arrays)
                found = known.run(self._arrays, (self._key, pointers, self._numbers), self._target)
                return self._in_full(self._arrays) if found is None else found
            arrays = self._arrays  # one has been given other memory since: look at all again
        signature = repeated.sign(self._spec, arrays, *self._rest)
        if signature is not None and signature[0] == self._key:
            found = known.run(arrays, signature, self._target)
            if found is not None:
                return found
        return self._in_full(arrays)

    def _in_full(self, arrays: Sequence[Any]) -> Any:
        """Describe the call anew, compare it with the plan, and run it."""
        spec, given = self._spec, len(arrays)
        missing = len(self._planned) - given
        if missing < 0 or any(planned is not None for planned in self._planned[given:]):
            names = ", ".join(spec.argument_names)
            message = f"is planned for {names}; it was called with {given} arrays"
            raise BlasError(spec.name, None, message)
        operands = ingest_all(spec, (*arrays, *(None,) * missing))
        self._compare(operands)
        return describe(spec, operands, *self._rest, self._target).run()

    def _compare(self, operands: Sequence[Operand | None]) -> None:
        for arg, operand, planned in zip(
            self._spec.arguments, operands, self._planned, strict=True
        ):
            found = None if operand is None else _lies(operand)
            if found is None or planned is None:
                if found is not planned:
                    words = ["is given", "is not given"]
                    now, then = words if planned is None else reversed(words)
                    check.fail(self._spec, arg.name, f"{now}, but in the plan it {then}")
                continue
            for name, value in found.items():
                if value != planned[name]:
                    message = f"has {name} {value}, but the plan was made for {planned[name]}"
                    check.fail(self._spec, arg.name, message)
            if operand is not None and operand.pointer % self._alignment:
                message = f"is not aligned to {self._alignment} bytes, as all were in the plan"
                check.fail(self._spec, arg.name, message)


def _lies(operand: Operand) -> dict[str, Any]:
    """What a plan compares of an operand, by the name that a message has for it."""
    place = "the host" if operand.device == HOST else f"CUDA device {operand.device}"
    return {
        "dtype": operand.dtype or getattr(operand.array, "dtype", type(operand.array).__name__),
        "shape": operand.shape,
        "strides": operand.strides,
        "device": place,
        "lazy bits": operand.flags & ~READONLY,
        "library": operand.library,
    }
