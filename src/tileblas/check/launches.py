"""The launches that the checks of a grid make on a GPU, so that their kernels can be prebuilt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from tileblas.arrays.scalars import parse
from tileblas.check import grids
from tileblas.check.cases import Case, Plan
from tileblas.check.guards import GUARD
from tileblas.check.runner import GRIDS, expanded, scalar_dtype
from tileblas.core import check, trivial
from tileblas.core.call import Problem, Scalar
from tileblas.core.canon import canonical, results
from tileblas.core.dtypes import DTYPES, DType
from tileblas.core.operand import Operand, alignment_of
from tileblas.core.spec import Spec
from tileblas.routines.launch import Launch
from tileblas.routines.registry import ROUTINES
from tileblas.tuning.table import Table

_DEVICE = 0
_BASE = 1 << 20  # where every buffer begins


def launches(
    routines: Iterable[str],
    table: Table,
    dtypes: Sequence[str] | None = None,
    grid: str = GRIDS["cuda"],
) -> Iterator[Launch]:
    """Launches of all cases of routines (or families) on device arrays that lie as in the checks.

    Dense copies of staged NumPy arrays lie otherwise, and may ask for a few more.
    """
    for routine in expanded(routines):
        for dtype in dtypes or ROUTINES[routine].dtypes:
            yield from launches_of(grids.grid(routine, dtype, grid), table)


def launches_of(cases: Iterable[Case], table: Table) -> Iterator[Launch]:
    """Launches of cases, whose buffers begin as aligned as an allocator's."""
    for case in cases:
        spec = ROUTINES[case.routine]
        problem, alignment = posed(case)
        if not trivial.is_noop(spec, problem):
            yield from spec.plan(problem, table, alignment)


def posed(case: Case) -> tuple[Problem, int]:
    """The problem that a case poses, and the alignment of all its operands."""
    spec = ROUTINES[case.routine]
    plans = {plan.name: plan for plan in case.plans}
    operands = [_operand(plans[a.name]) if a.name in plans else None for a in spec.arguments]
    options = dict(case.options)
    named = {name: options.get(name) for name in spec.option_names}
    letters = check.check_options(spec, named, None)
    dims, batch = check.check_shapes(spec, operands, letters)
    made = results(spec, operands, dims, batch, DTYPES[case.dtype])
    problem = canonical(spec, operands, made, dims, batch, letters, _scalars(spec, case))
    alignment = alignment_of(operand.pointer for operand in operands if operand is not None)
    return trivial.without_product(problem), alignment


def _operand(plan: Plan) -> Operand:
    dtype = DTYPES[plan.dtype]
    start, strides, _ = plan.layout.place(plan.shape)
    pointer = _BASE + (GUARD + start) * dtype.itemsize
    return Operand(pointer, dtype, plan.shape, strides, 0, _DEVICE, "", None)


def _scalars(spec: Spec, case: Case) -> dict[str, Scalar]:
    row = DTYPES[case.dtype]
    if case.form in ("number", "numpy"):
        return {
            name: parse(spec, name, np.asarray(value)[()], row, _DEVICE)
            for name, value in case.scalars
        }
    return {name: _on_device(scalar_dtype(case, name)) for name, _ in case.scalars}


def _on_device(dtype: DType) -> Scalar:
    kind = "complex_pointer" if dtype.is_complex else "real_pointer"
    return Scalar(kind, 0.0, Operand(_BASE, dtype, (), (), 0, _DEVICE, "", None))
