"""Which backend a call runs on, and that backend's runner."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import prod
from typing import Any

from tileblas.backends import staging
from tileblas.core.call import Problem, View
from tileblas.core.dtypes import DType
from tileblas.core.operand import HOST
from tileblas.core.processor import cores
from tileblas.core.spec import BAND, PACKED, Spec
from tileblas.core.storage import packed_length
from tileblas.runtime import fork
from tileblas.tuning.reckoning import Reckoning, Work, reckon
from tileblas.tuning.table import FALLBACK, table


def backend_of(spec: Spec, chosen: str, device: int, problem: Problem) -> str:
    """cuda for device arrays; for host arrays what was chosen, "auto" by the predicted times."""
    if device != HOST:
        return "cuda"
    if chosen != "auto":
        return chosen
    usable = cuda_available() and not fork.lost
    return reckoning(spec, problem).winner if usable else "cpu"


def reckoning(spec: Spec, problem: Problem) -> Reckoning:
    """Predicted seconds of a call on host arrays, on the CPU and staged to a GPU; print it."""
    from tileblas.routines.registry import ROUTINES
    from tileblas.runtime.pinned import MOST_THREADS

    posed = ROUTINES[problem.routine]  # a gemv of nothing where alpha = 0 drops the product
    members, dtype = prod(problem.batch), problem.dtype
    reads_output = spec.operands[spec.output].is_read and not problem.fresh
    reads_output = reads_output and (
        problem.scalar("beta")[0] != "zero" or spec.writes_triangle  # the rest of it is kept
    )
    read = {arg.name for arg in spec.operands if arg.is_read}
    if not reads_output:
        read.discard(spec.output_name)
    written = {spec.operands[index].name for index in spec.outputs}
    received = sum(
        _elements(spec, view, problem) * members * view.dtype.itemsize
        for view in problem.views
        if view.slot in written
    )
    work = Work(
        routine=spec.family,
        level=spec.level,
        dtype=dtype,
        flops=posed.flop_count(problem.dims, dtype) * members,
        moved=posed.byte_count(problem.dims, dtype, reads_output) * members,
        # By slots: the two factors of a syrk are one operand.
        sent=[*{v.slot: _sent(spec, v, problem) for v in problem.views if v.slot in read}.values()],
        received=received,
        panels=staging.panel_count(received),
        rate=_product_rate(dtype),
    )
    return reckon(work, cores(), min(cores(), MOST_THREADS))


def _sent(spec: Spec, view: View, problem: Problem) -> int:
    """Bytes of an operand that is sent: a batch axis that is broadcast counts once."""
    members = prod(n for n, step in zip(problem.batch, view.batch, strict=True) if step)
    return _elements(spec, view, problem) * members * view.dtype.itemsize


def _elements(spec: Spec, view: View, problem: Problem) -> int:
    """Elements of the array of one member, of a band about: its diagonals, all of one length."""
    storage, known = spec.operand(view.slot).storage, problem.structure
    if known is None:  # a gemv of nothing in place of a product with a band or a packed matrix
        return prod(view.shape)
    if storage == PACKED:
        return packed_length(view.shape[0])
    if storage == BAND:
        return (known.below + known.above + 1) * min(view.shape)
    return prod(view.shape)


@cache
def _product_rate(dtype: DType) -> float:
    """Flops per second of the GPU's fastest product, by its tuning table; 1e12 if not measured."""
    if cuda_available():
        from tileblas.backends.cuda import device_table

        tuned = device_table(staging.DEVICE)
    else:
        tuned = table(FALLBACK)
    return 1e12 * max(row.rate for row in tuned.candidates("gemm", dtype.name))


@cache
def cuda_available() -> bool:
    """Whether a CUDA device can be used; importing nothing where there is no driver."""
    from tileblas.runtime.driver import available

    return available()


def runner(
    backend: str, spec: Spec, problem: Problem, alignment: int, device: int
) -> Callable[..., Any]:
    """The function that runs `problem` on `backend`, given operands by name, scalars and stream."""
    if backend == "cpu":
        from tileblas.backends import cpu

        return cpu.runner(problem)
    if backend == "interpret":
        from tileblas.backends import interpret

        return interpret.runner(spec, problem)
    from tileblas.backends import cuda

    return cuda.Runner(spec, problem, alignment, device)
