"""The cuda backend: plan once, then launch on the caller's stream without waiting for it."""

from __future__ import annotations

from collections.abc import Mapping
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


class Runner:
    """Launches a problem on operands given by name, its kernels loaded.

    `launches` take the addresses of `slots`, in this order, then the parts or addresses of scalars.
    """

    def __init__(self, spec: Spec, problem: Problem, alignment: int, device: int) -> None:
        order = binding_order(problem)
        plan = spec.plan(problem, device_table(device), alignment)
        self.launches = tuple(runtime.prepare(launch, device, order) for launch in plan)
        self.slots = tuple(view.slot for view in problem.views)
        self._output = problem.output.slot
        self._names = [name for name, _, _ in problem.scalars]

    def __call__(
        self,
        operands: Mapping[str, Operand],
        scalars: Mapping[str, Scalar],
        stream: Stream | None,
    ) -> None:
        target = stream or streams.current(operands[self._output])
        values: list[Any] = [operands[slot].pointer for slot in self.slots]
        used = list(operands.values())
        for name in self._names:
            scalar = scalars[name]
            if scalar.operand is not None:
                values.append(scalar.operand.pointer)
                used.append(scalar.operand)
            elif scalar.kind == "complex":
                values += (scalar.value.real, scalar.value.imag)
            else:
                values.append(scalar.value.real)
        foreign = [
            o for o in used if o.keep is not None or streams.current(o).handle != target.handle
        ]
        if foreign:
            streams.order_after(target, foreign)
        for launch in self.launches:
            launch.queue(target.handle, target.owner, tuple(values))
        if foreign:
            streams.hold(target, foreign)


def binding_order(problem: Problem) -> tuple[Any, ...]:
    """What launches are called with: operand addresses, then each scalar's parts or address."""
    order: list[Any] = [view.slot for view in problem.views]
    for name, kind, dtype in problem.scalars:
        if dtype:
            order.append(name)
        else:
            order += [(name, part) for part in (("re", "im") if kind == "complex" else ("re",))]
    return tuple(order)


def device_table(device: int) -> Table:
    """The tuning table of a device's architecture, with its own number of multiprocessors."""
    facts = driver().facts(device)
    return replace(table(facts.target.name), multiprocessors=facts.multiprocessors)
