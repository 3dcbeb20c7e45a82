"""Which backend a call runs on, and that backend's runner."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from math import prod
from typing import Any

from tileblas.core.call import Problem
from tileblas.core.operand import HOST
from tileblas.core.spec import Spec
from tileblas.runtime import fork
from tileblas.tuning.model import Reckoning, reckon


def backend_of(spec: Spec, chosen: str, device: int, problem: Problem) -> str:
    """cuda for device arrays; for host arrays what was chosen, "auto" by the predicted times."""
    if device != HOST:
        return "cuda"
    if chosen != "auto":
        return chosen
    usable = cuda_available() and not fork.lost
    return reckoning(spec, problem).winner if usable else "cpu"


def reckoning(spec: Spec, problem: Problem) -> Reckoning:
    """Predicted seconds of a call on host arrays, on the CPU and staged to a GPU."""
    members, dtype = prod(problem.batch), problem.dtype
    read_output = problem.scalar("beta")[0] != "zero"
    moved = spec.byte_count(problem.dims, dtype, read_output) * members
    received = prod(problem.output.shape) * problem.output.dtype.itemsize * members
    flops = spec.flop_count(problem.dims, dtype) * members
    cores = os.cpu_count() or 1
    return reckon(flops, moved - received, received, moved, dtype.compute, cores)


@cache
def cuda_available() -> bool:
    """Whether a CUDA device can be used; importing nothing where there is no driver."""
    from tileblas.runtime.driver import available

    return available()


def runner(
    backend: str, spec: Spec, problem: Problem, aligned: bool, device: int
) -> Callable[..., Any]:
    """The function that runs `problem` on `backend`, given operands by name, scalars and stream."""
    if backend == "cpu":
        from tileblas.backends import cpu

        return cpu.runner(problem)
    if backend == "interpret":
        from tileblas.backends import interpret

        return interpret.runner(spec, problem)
    from tileblas.backends import cuda

    return cuda.Runner(spec, problem, aligned, device)
