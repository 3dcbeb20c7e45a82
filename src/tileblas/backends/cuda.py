"""The cuda backend: plan once, then launch on the caller's stream without waiting for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tileblas.arrays import streams
from tileblas.arrays.streams import Stream
from tileblas.core.call import Problem, Scalar
from tileblas.core.operand import Operand
from tileblas.core.spec import Spec
from tileblas.runtime import launch as runtime
from tileblas.runtime.driver import driver
from tileblas.tuning.table import Table, table


def runner(spec: Spec, problem: Problem, aligned: bool, device: int) -> Callable[..., None]:
    """The function that launches `problem` on operands given by name, its kernels loaded."""
    order = binding_order(problem)
    launches = spec.plan(problem, device_table(device), aligned)
    calls = tuple(runtime.prepare(launch, device, order) for launch in launches)
    slots = [view.slot for view in problem.views]
    output = problem.output.slot
    names = [name for name, _, _ in problem.scalars]

    def run(
        operands: Mapping[str, Operand], scalars: Mapping[str, Scalar], stream: Stream | None
    ) -> None:
        target = stream or streams.current(operands[output])
        values: list[Any] = [operands[slot].pointer for slot in slots]
        used = list(operands.values())
        for name in names:
            scalar = scalars[name]
            if scalar.operand is None:
                values += (scalar.value.real, scalar.value.imag)
            else:
                values.append(scalar.operand.pointer)
                used.append(scalar.operand)
        foreign = [
            o for o in used if o.keep is not None or streams.current(o).handle != target.handle
        ]
        if foreign:
            streams.order_after(target, foreign)
        for launch in calls:
            launch(target.handle, target.owner, *values)
        if foreign:
            streams.hold(target, foreign)

    return run


def binding_order(problem: Problem) -> tuple[Any, ...]:
    """What `run` passes to a launch: operand addresses, then each scalar's parts or address."""
    order: list[Any] = [view.slot for view in problem.views]
    for name, _, dtype in problem.scalars:
        order += [name] if dtype else [(name, "re"), (name, "im")]
    return tuple(order)


def device_table(device: int) -> Table:
    """The tuning table of a device's architecture, with its own number of multiprocessors."""
    facts = driver().facts(device)
    return replace(table(facts.target.name), multiprocessors=facts.multiprocessors)
