"""From the public call to a backend: arrays -> key -> prepared call, remembered.

A call is described in full (Operands, Scalars) and its Prepared found or made. What then turns out
to need no more than addresses is also remembered in `repeated`, which is asked first.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tileblas import settings
from tileblas.arrays import streams
from tileblas.arrays.ingest import ingest
from tileblas.arrays.results import new_array, own_copy, returned
from tileblas.arrays.scalars import parse
from tileblas.arrays.streams import Stream
from tileblas.backends import repeated, select, staging
from tileblas.core import check, trivial
from tileblas.core.call import Scalar
from tileblas.core.canon import canonical, results
from tileblas.core.dtypes import DType
from tileblas.core.operand import HOST, Operand, alignment_of
from tileblas.core.overlap import byte_reach
from tileblas.core.spec import Spec
from tileblas.runtime import log

#: Prepared calls remembered before the oldest is dropped.
_REMEMBERED = 4096


@dataclass(frozen=True, eq=False)
class Prepared:
    """What a miss leaves behind: what the result is, and the backend's runner of the problem."""

    spec: Spec
    reach: tuple[tuple[int, int], ...]  # bytes each argument spans, relative to its pointer
    made: Mapping[str, tuple[tuple[int, ...], DType]]  # shape and type of each result to make
    run: Callable[[Mapping[str, Operand], Mapping[str, Scalar], Any], None] | None


_memo: dict[tuple, Prepared] = {}
_remembering = threading.Lock()


def _after_fork_in_child() -> None:
    """Forget all: it may say "cuda", which a forked child cannot use.

    Another thread of the parent may have held the lock; here it would never be released.
    """
    global _remembering
    _remembering = threading.Lock()
    _memo.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


@dataclass(slots=True)
class Described:
    """One call in full: what it is about, what was prepared for it, and where it is to run."""

    spec: Spec
    operands: list[Operand | None]
    scalars: dict[str, Scalar]
    prepared: Prepared
    target: Stream | None

    def run(self) -> Any:
        """Make or check the outputs, compute, and return them."""
        prepared, spec = self.prepared, self.spec
        outputs = _outputs(prepared, self.operands, self.scalars, self.target)
        if prepared.run is not None:
            names = spec.argument_names
            named = {n: o for n, o in zip(names, self.operands, strict=True) if o is not None}
            prepared.run(named | outputs, self.scalars, self.target)
        found = [
            returned(outputs[name], fresh=name in prepared.made) if name in outputs else None
            for name in spec.returns
        ]
        return found[0] if len(found) == 1 else tuple(found)

    def check(self) -> None:
        """Raise BlasError where a given output meets another operand."""
        _check_meeting(self.prepared, self.operands, self.scalars)

    def remember(
        self,
        arrays: Sequence[Any],
        scalars: Sequence[Any],
        options: Sequence[Any],
        math: str | None,
    ) -> None:
        """Have calls of this signature take the short path, where they can."""
        repeated.remember(
            self.spec,
            (arrays, scalars, options, math),
            self.operands,
            self.scalars,
            self.prepared.made,
            self.prepared.run,
        )


def call(
    spec: Spec,
    arrays: Sequence[Any],
    scalars: Sequence[Any] = (),
    options: Sequence[Any] = (),
    math: str | None = None,
    stream: Any = None,
) -> Any:
    """Run `spec` on `arrays` (in the order of spec.arguments) and return its output."""
    target = None if stream is None else streams.named(stream)
    signature = repeated.sign(spec, arrays, scalars, options, math)
    if signature is not None:
        known = repeated.find(signature[0])
        if known is not None:
            found = known.run(arrays, signature, target)
            if found is not None:
                return found
    described = describe(spec, ingest_all(spec, arrays), scalars, options, math, target)
    found = described.run()
    described.remember(arrays, scalars, options, math)
    return found


def describe(
    spec: Spec,
    operands: list[Operand | None],
    scalars: Sequence[Any],
    options: Sequence[Any],
    math: str | None,
    target: Stream | None,
) -> Described:
    """Check a call of ingested arrays, and find or make what is prepared for its like."""
    first = operands[0]
    assert first is not None
    dtype = first.dtype
    if dtype is None or any(
        o is not None and (o.dtype is not dtype or o.device != first.device) for o in operands
    ):
        dtype = check.check_dtypes(spec, operands)
        check.check_devices(spec, operands)
    values = {
        name: parse(spec, name, value, dtype, first.device)
        for name, value in zip(spec.scalars, scalars, strict=True)
    }
    # What has no hash is no option, and is told so before it becomes part of a key.
    if not all(isinstance(word, str | int | None) for word in (*options, math)):
        check.check_options(spec, dict(zip(spec.option_names, options, strict=True)), math)
    alignment = alignment_of(o.pointer for o in operands if o is not None)
    chosen = settings.chosen_backend()
    key = (
        spec.name,
        chosen,
        tuple(options),
        math,
        tuple((s.kind, s.dtype) for s in values.values()),
        alignment,
        # dtype, shape, strides, flags, device, library: rules differ between libraries too.
        tuple(None if o is None else o[1:7] for o in operands),
    )
    prepared = _memo.get(key)
    if prepared is None:
        prepared = _prepare(spec, operands, values, options, math, chosen, alignment)
        _remember(key, prepared)
    return Described(spec, operands, values, prepared, target)


def _remember(key: tuple, prepared: Prepared) -> None:
    with _remembering:
        if len(_memo) >= _REMEMBERED:
            del _memo[next(iter(_memo))]
        _memo[key] = prepared


def ingest_all(spec: Spec, arrays: Sequence[Any]) -> list[Operand | None]:
    """The operands of a call; TypeError and BlasError name the argument that is no array."""
    operands: list[Operand | None] = []
    for arg, array in zip(spec.arguments, arrays, strict=True):
        if array is None and arg.optional:
            operands.append(None)
            continue
        try:
            operand = ingest(array)
        except TypeError as error:
            raise TypeError(f"{spec.name}: argument {arg.name!r}: {error}") from error
        except ValueError as error:
            check.fail(spec, arg.name, str(error))
        operands.append(operand)
    return operands


def _prepare(
    spec: Spec,
    operands: Sequence[Operand | None],
    scalars: Mapping[str, Scalar],
    options: Sequence[Any],
    math: str | None,
    chosen: str,
    alignment: int,
) -> Prepared:
    """The miss path: check, canonical form, quick returns, plan."""
    named = dict(zip(spec.option_names, options, strict=True))
    letters = check.check_options(spec, named, math)
    dtype = check.check_dtypes(spec, operands)
    check.check_letters(spec, letters, dtype)
    device = check.check_devices(spec, operands)
    dims, batch = check.check_shapes(spec, operands, letters)
    check.check_lazy_bits(spec, operands)
    check.check_unit_diagonal(spec, operands, letters)
    check.check_output(spec, operands, scalars)
    made = results(spec, operands, dims, batch, dtype)
    problem = canonical(spec, operands, made, dims, batch, letters, scalars, math)
    problem = trivial.without_product(problem)
    run = None
    if not trivial.is_noop(spec, problem):
        backend = select.backend_of(spec, chosen, device, problem)
        log.once("call", (backend, problem))
        if backend == "cuda" and device == HOST:
            run = staging.runner(call, spec, options, math, problem.fresh)
        else:
            run = select.runner(backend, spec, problem, alignment, device)
    reach = tuple((0, 0) if operand is None else byte_reach(operand) for operand in operands)
    shapes = {name: (o.shape, o.dtype) for name, o in made.items() if o.dtype is not None}
    return Prepared(spec, reach, shapes, run)


def _outputs(
    prepared: Prepared,
    operands: Sequence[Operand | None],
    scalars: Mapping[str, Scalar],
    target: Stream | None,
) -> dict[str, Operand]:
    """The outputs: new arrays, and given ones, which must not have come to meet an input."""
    spec = prepared.spec
    _check_meeting(prepared, operands, scalars)
    outputs = {}
    for index in spec.outputs:
        name = spec.operands[index].name
        if name in prepared.made:
            assert operands[0] is not None
            outputs[name] = new_array(operands[0], *prepared.made[name], target)
            continue
        output = operands[index] if index < len(operands) else None
        if output is None:  # one that there is for real operands only
            continue
        if output.library == "jax" and prepared.run is not None:
            output = _immutable(spec, name, output, target)
        outputs[name] = output
    return outputs


def _check_meeting(
    prepared: Prepared, operands: Sequence[Operand | None], scalars: Mapping[str, Scalar]
) -> None:
    """Compare outputs' addresses with the others'; where they meet, ask in which elements."""
    spec = prepared.spec
    for index in spec.outputs:
        output = operands[index] if index < len(operands) else None
        if output is None or output.library == "jax":
            continue
        low, high = prepared.reach[index]
        start, end = output.pointer + low, output.pointer + high
        for other, (low, high) in zip(operands, prepared.reach, strict=True):
            if other is None or other is output:
                continue
            if other.pointer + low < end and start < other.pointer + high:
                check.check_aliasing(spec, spec.operands[index], output, operands)
        for name, scalar in scalars.items():
            if scalar.operand is not None and start <= scalar.operand.pointer < end:
                arg = spec.operands[index]
                check.check_scalar_aliasing(spec, name, scalar.operand, arg, output)


def _immutable(spec: Spec, name: str, output: Operand, target: Stream | None) -> Operand:
    """The copy that stands in for an output that cannot change; the call returns it."""
    if settings.copies_forbidden():
        message = (
            "is a JAX array, which cannot change: it would be copied, and copies are forbidden"
        )
        check.fail(spec, name, message)
    return own_copy(output, target)
