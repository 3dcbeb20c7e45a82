"""The canonical form of a call: all that varies becomes strides and flags (pure functions)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any

from tileblas.core.call import Problem, Scalar, View
from tileblas.core.dtypes import DType
from tileblas.core.operand import CONJ, NEG, Operand, c_strides
from tileblas.core.spec import Arg, Spec
from tileblas.core.storage import place, shape_of, structure


def canonical(
    spec: Spec,
    operands: Sequence[Operand | None],
    made: Mapping[str, Operand],
    dims: tuple[int, ...],
    batch: tuple[int, ...],
    options: Mapping[str, Any],
    scalars: Mapping[str, Scalar],
    math: str | None = None,
) -> Problem:
    """The Problem that a checked call poses.

    `made` stands in for results that are still to be made. op(A) becomes swapped strides and a
    conjugation flag, bands and packed triangles become strides too, lazy bits of inputs and output
    become flags, batches are merged to the fewest axes, and what writes a matrix is turned so that
    the output's unit stride is its last axis.
    """
    given = {arg.name: o for arg, o in zip(spec.arguments, operands, strict=True) if o is not None}
    named = {**given, **made}
    sizes = dict(zip(spec.dims, dims, strict=True))
    views, negate = [], False
    for arg in spec.operands:
        if arg.name in named:  # some routines have outputs for real operands only
            views.append(_view(spec, arg, named[arg.name], batch, sizes, options))
            negate ^= arg.name in spec.signs and bool(named[arg.name].flags & NEG)
    inputs = tuple(view for view in views if view.slot != spec.output_name)
    if options.get("side") == "R":
        inputs = inputs[::-1]
    if spec.partner:
        last = inputs[-1]
        turns = spec.partner == "adjoint" and last.dtype.is_complex
        inputs = (inputs[0], replace(transpose(last), conj=last.conj ^ turns))
    problem = Problem(
        routine=spec.name,
        dims=dims,
        batch=batch,
        inputs=inputs,
        output=next(view for view in views if view.slot == spec.output_name),
        scalars=tuple((name, scalars[name].kind, scalars[name].dtype) for name in spec.scalars),
        negate=negate,
        math=math,
        structure=structure(spec, sizes, options),
        fresh=spec.output_name in made and (spec.updates or spec.writes_triangle),
    )
    return turn_to_rows(merge_batch(fold_output_conj(problem)))


def _view(
    spec: Spec,
    arg: Arg,
    operand: Operand,
    batch: tuple[int, ...],
    sizes: Mapping[str, int],
    options: Mapping[str, Any],
) -> View:
    split = len(operand.shape) - arg.ndim
    trans = options[arg.trans] if arg.trans else "N"
    at = place(arg, operand.shape[split:], operand.strides[split:], sizes, options)
    if trans != "N":
        at = at.transposed
    conj = bool(operand.flags & CONJ) ^ (trans == "C") ^ (spec.conj == arg.name)
    assert operand.dtype is not None
    lead = (0,) * (len(batch) - split) + tuple(
        0 if n == 1 else s
        for n, s in zip(operand.shape[:split], operand.strides[:split], strict=True)
    )
    return View(
        slot=arg.name,
        dtype=operand.dtype,
        shape=at.shape,
        strides=_of_long_axes(at.shape, at.strides),
        batch=lead,
        conj=conj and operand.dtype.is_complex,
        start=at.start,
        curve=_of_long_axes(at.shape, at.curve) if at.curve else (),
    )


def _of_long_axes(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    """The strides, with 0 for axes that have no second element."""
    return tuple(0 if n <= 1 else s for n, s in zip(shape, strides, strict=True))


def fold_output_conj(problem: Problem) -> Problem:
    """An output that is a conjugated view: store the conjugate of the whole right-hand side."""
    if not problem.output.conj:
        return problem
    return replace(
        problem,
        inputs=tuple(replace(v, conj=not v.conj) for v in problem.inputs),
        output=replace(problem.output, conj=False),
        conj_scalars=not problem.conj_scalars,
    )


def merge_batch(problem: Problem) -> Problem:
    """Drop batch axes of size 1 and merge neighbours that every operand walks in one stride."""
    sizes: list[int] = []
    strides: list[list[int]] = [[] for _ in problem.views]
    for axis, n in enumerate(problem.batch):
        if n == 1:
            continue
        steps = [v.batch[axis] for v in problem.views]
        if sizes and all(s[-1] == n * step for s, step in zip(strides, steps, strict=True)):
            sizes[-1] *= n
            for s, step in zip(strides, steps, strict=True):
                s[-1] = step
        else:
            sizes.append(n)
            for s, step in zip(strides, steps, strict=True):
                s.append(step)
    views = [replace(v, batch=tuple(s)) for v, s in zip(problem.views, strides, strict=True)]
    return replace(problem, batch=tuple(sizes), inputs=tuple(views[:-1]), output=views[-1])


def turn_to_rows(problem: Problem) -> Problem:
    """C := A B becomes C^T := B^T A^T where C is walked along its first axis.

    That is where its unit stride is, or where C is one row with a stride: a column of rows then.
    So does an update of C by vectors, whose order is reversed too. The transpose of a Hermitian
    update by vectors is that by the conjugates; matrices say that by themselves.
    """
    strides, shape = problem.output.strides, problem.output.shape
    if len(strides) != 2:
        return problem
    packed = any(problem.output.curve[1:])  # whose columns become rows, whatever their stride
    if not packed and (strides[1] == 1 or (strides[0] != 1 and shape[0] != 1)):
        return problem
    known = problem.structure
    flips = known is not None and known.kind == "hermitian" and problem.is_complex
    flips = flips and len(problem.inputs[0].shape) == 1
    dims = problem.dims
    if dims[:2] == shape:
        dims = (*dims[1::-1], *dims[2:])
    return replace(
        problem,
        dims=dims,
        inputs=tuple(replace(transpose(v), conj=v.conj ^ flips) for v in reversed(problem.inputs)),
        output=transpose(problem.output),
        structure=known and known.transposed,
    )


def transpose(view: View) -> View:
    """The view of the transposed matrix."""
    return replace(view, shape=view.shape[::-1], strides=view.strides[::-1], curve=view.curve[::-1])


def lies_by_columns(matrix: View) -> bool:
    """Whether elements of a column are closer to each other in memory than those of a row.

    A stride of 0 (an axis of one element, or broadcast) does not lead to another element.
    """
    down, along = (abs(stride) or inf for stride in matrix.strides)
    return down < along


def is_unit(view: View, axis: int) -> bool:
    """Whether an axis is walked element by element (one of length 1 has no stride)."""
    return view.strides[axis] == 1 or view.shape[axis] <= 1


def new_output(arg: Arg, sizes: Mapping[str, int], batch: tuple[int, ...]) -> tuple[int, ...]:
    """Shape of a result that the routine makes itself."""
    return (*batch, *shape_of(arg.axes, sizes))


def results(
    spec: Spec,
    operands: Sequence[Operand | None],
    dims: tuple[int, ...],
    batch: tuple[int, ...],
    dtype: DType,
) -> dict[str, Operand]:
    """Descriptions of the outputs that a call on operands of `dtype` makes, by name."""
    sizes = dict(zip(spec.dims, dims, strict=True))
    return {
        arg.name: result_operand(arg, new_output(arg, sizes, batch), dtype)
        for arg in (spec.operands[index] for index in spec.outputs)
        if arg.exists(dtype)
        and (arg.role == "new" or operands[spec.argument_names.index(arg.name)] is None)
    }


def result_operand(arg: Arg, shape: tuple[int, ...], dtype: DType) -> Operand:
    """Description of a C-ordered result of operands of `dtype`, before it is allocated."""
    return Operand(0, arg.dtype(dtype), shape, c_strides(shape), 0, 0, "", None)
