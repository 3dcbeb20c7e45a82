"""How level 1 is launched: element-wise updates, reductions, and rotations from their numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import prod

from tileblas.core.call import Problem, View
from tileblas.core.canon import is_unit, merge_batch
from tileblas.core.dtypes import DTYPES
from tileblas.routines.binder import (
    Binder,
    is_repeated,
    largest_axes_last,
    over_batch,
    row_alignment,
    unit_axis,
)
from tileblas.routines.launch import Launch
from tileblas.tuning.model import ceil_div, choose_upto, split_count
from tileblas.tuning.table import Config, Table

Plan = Callable[[Problem, Table, int], tuple[Launch, ...]]

# ---- reductions ---------------------------------------------------------------------------------


def reduction(op: str, kernel: str = "", wide: bool = False) -> Plan:
    """The plan of `reduce_kernel` for an operation, tuned by the rows of `kernel`.

    One launch: programs reduce block-cyclic shares, the last to finish combines what they leave.
    Their number depends on shape and GPU alone, so the bits do not vary between runs.
    """
    return partial(_plan_reduction, op, kernel or op, wide)


def _plan_reduction(
    op: str, kernel: str, wide: bool, problem: Problem, table: Table, alignment: int
) -> tuple[Launch, ...]:
    problem = largest_axes_last(problem)
    if op in ("asum", "nrm2"):
        problem = as_reals(problem)
    x, *others = problem.inputs
    (n,) = problem.dims
    config = table.candidates(kernel, x.dtype.name)[0]
    alignment = row_alignment(problem.inputs, alignment)
    splits = split_count(config, n, prod(problem.batch), table.multiprocessors)
    picks = op in ("iamax", "iamin")

    def make(binder: Binder, inner: int, count: int) -> Launch:
        binder.pointer("x", x)
        for y in others:
            binder.pointer("y", y)
        binder.pointer("out", problem.output, wide=False)
        binder.workspace("partial", "i64" if picks else "float64")
        binder.workspace("arrived", "i32")
        if problem.scalars:
            alpha = binder.real_scalar("alpha")
        else:
            alpha = binder.absent("alpha", kind="zero")
        binder.size("n", n)
        binder.stride("x_inc", x.strides[0], x, unit=unit_axis(x) == 0)
        for y in others:
            binder.stride("y_inc", y.strides[0], y, unit=unit_axis(y) == 0)
        binder.count("inner", inner)
        binder.batch_strides("x", x)
        for y in others:
            binder.batch_strides("y", y)
        if not others:
            binder.absent("y", "y_inc", "y_b0", "y_b1")
        binder.batch_strides("out", problem.output, wide=False)
        binder.count("splits", splits)
        binder.constant("OP", op)
        binder.constant("COMPLEX", problem.is_complex)
        binder.constant("CONJ_X", bool(others) and x.conj)  # magnitudes do not depend on it
        binder.constant("CONJ_Y", any(y.conj for y in others))
        binder.constant("NEGATE", bool(others) and problem.negate)
        binder.constant("ALPHA_KIND", alpha)
        binder.constant("WIDE", wide)
        binder.constant("POLICY", policy(problem, table, writes=False))
        return _shared(binder, "reduce.reduce_kernel", config, splits, count, alignment, op)

    return over_batch(problem, splits, make)


def plan_axpydot(problem: Problem, table: Table, alignment: int) -> tuple[Launch, ...]:
    """One launch as of a dot, which stores z on its way."""
    problem = largest_axes_last(problem)
    (n,) = problem.dims
    config = table.candidates("axpydot", problem.dtype.name)[0]
    alignment = row_alignment(problem.inputs, alignment)
    splits = split_count(config, n, prod(problem.batch), table.multiprocessors)

    def make(binder: Binder, inner: int, count: int) -> Launch:
        for view in problem.inputs:
            binder.pointer(view.slot, view)
        binder.pointer("out", problem.output, wide=False)
        binder.workspace("partial", "float64")
        binder.workspace("arrived", "i32")
        alpha = binder.scalar("alpha")
        binder.size("n", n)
        for view in problem.inputs:
            inc = f"{view.slot}_inc"
            binder.stride(inc, view.strides[0], view, unit=unit_axis(view) == 0)
        binder.count("inner", inner)
        for view in problem.inputs:
            binder.batch_strides(view.slot, view)
        binder.batch_strides("out", problem.output, wide=False)
        binder.count("splits", splits)
        binder.constant("COMPLEX", problem.is_complex)
        for view in problem.inputs[:3]:
            binder.constant(f"CONJ_{view.slot.upper()}", view.conj)
        binder.constant("ALPHA_KIND", alpha)
        binder.constant("POLICY", policy(problem, table, writes=True))
        return _shared(binder, "reduce.axpydot_kernel", config, splits, count, alignment, "dot")

    return over_batch(problem, splits, make)


def _shared(
    binder: Binder,
    kernel: str,
    config: Config,
    splits: int,
    count: int,
    alignment: int,
    op: str,
) -> Launch:
    """The launch of a reduction, with the workspace in which its programs leave their values."""
    problem = binder.problem
    binder.constant("BATCHED", count > 1)
    binder.constant("SPLIT", splits > 1)
    for knob, value in config.knobs:
        binder.constant(knob, value)
    shared = splits > 1
    width = DTYPES["float64"].itemsize * _parts(op, problem)
    return binder.launch(
        kernel,
        count * splits,
        config,
        alignment,
        partial_bytes=count * splits * width if shared else 0,
        counters=count if shared else 0,
    )


def _parts(op: str, problem: Problem) -> int:
    """How many numbers a program leaves, as `parts` in the kernel has it."""
    if op == "nrm2":
        return 3 if problem.compute == "float64" else 1
    return 2 if op in ("iamax", "iamin") or (op == "dot" and problem.is_complex) else 1


# ---- element-wise updates -----------------------------------------------------------------------


def plan_combine(problem: Problem, table: Table, alignment: int) -> tuple[Launch, ...]:
    """One launch of y := alpha x + beta y: copy, scal, axpy, axpby.

    The vector axis is one more axis to merge with the batch.
    """
    problem = as_reals(largest_axes_last(elementwise(problem)))
    y, (n,) = problem.output, problem.dims
    x = problem.inputs[0] if problem.inputs else None
    alignment = row_alignment(problem.views, alignment)
    config = _tile(problem, table)
    blocks = ceil_div(n, config["BLOCK"])

    def make(binder: Binder, inner: int, count: int) -> Launch:
        if x is not None:
            binder.pointer("x", x)
        binder.pointer("y", y)
        kinds = _scalars_of(binder, problem.routine)
        binder.size("n", n)
        if x is not None:
            binder.stride("x_inc", x.strides[0], x, unit=unit_axis(x) == 0)
        binder.stride("y_inc", y.strides[0], y, unit=unit_axis(y) == 0)
        binder.count("inner", inner)
        if x is not None:
            binder.batch_strides("x", x)
        else:
            binder.absent("x", "x_inc", "x_b0", "x_b1")
        binder.batch_strides("y", y)
        binder.count("blocks", blocks)
        binder.constant("COMPLEX", problem.is_complex)
        binder.constant("CONJ_X", x is not None and x.conj)
        binder.constant("NEGATE", problem.negate)
        binder.constant("CONJ_SCALARS", problem.conj_scalars)
        binder.constant("ALPHA_KIND", kinds[0])
        binder.constant("BETA_KIND", kinds[1])
        binder.constant("IDLE", problem.routine if problem.routine in ("axpy", "scal") else "")
        binder.constant("POLICY", policy(problem, table, writes=True))
        binder.constant("BATCHED", count > 1)
        for knob, value in config.knobs:
            binder.constant(knob, value)
        return binder.launch("elementwise.combine_kernel", count * blocks, config, alignment)

    return over_batch(problem, blocks, make)


def _scalars_of(binder: Binder, routine: str) -> tuple[str, str]:
    """Bind alpha and beta of the kernel; returns their kinds."""
    if routine == "scal":  # y := alpha y: there is no x
        kind = binder.absent("alpha", "alpha_im", kind="zero")
        return kind, binder.scalar("alpha", "beta", drops_at=())
    if routine == "copy":
        alpha = binder.absent("alpha", "alpha_im", kind="one")
        return alpha, binder.absent("beta", "beta_im", kind="zero")
    if routine == "axpy":
        alpha = binder.scalar("alpha")
        return alpha, binder.absent("beta", "beta_im", kind="one")
    both = ("alpha", "beta")
    return binder.scalar("alpha", drops_at=both), binder.scalar("beta", drops_at=both)


#: Scalars of the kernel that transforms two vectors, and which of them a routine has.
_TRANSFORM_SCALARS = ("c", "s", "flag", "h11", "h21", "h12", "h22")


def plan_transform(problem: Problem, table: Table, alignment: int) -> tuple[Launch, ...]:
    """One launch of [x y] := H [x y]: swap, rot, rotm."""
    problem = as_reals(largest_axes_last(elementwise(problem)))
    (x,), y, (n,) = problem.inputs, problem.output, problem.dims
    alignment = row_alignment(problem.views, alignment)
    config = _tile(problem, table)
    blocks = ceil_div(n, config["BLOCK"])
    given = [name for name, _, _ in problem.scalars]

    def make(binder: Binder, inner: int, count: int) -> Launch:
        binder.pointer("x", x)
        binder.pointer("y", y)
        kinds = {}
        for name in _TRANSFORM_SCALARS:
            if name not in given:
                kinds[name] = binder.absent(name, *(["s_im"] if name == "s" else []), kind="zero")
            else:
                kinds[name] = binder.scalar(name) if name == "s" else binder.real_scalar(name)
        binder.size("n", n)
        binder.stride("x_inc", x.strides[0], x, unit=unit_axis(x) == 0)
        binder.stride("y_inc", y.strides[0], y, unit=unit_axis(y) == 0)
        binder.count("inner", inner)
        binder.batch_strides("x", x)
        binder.batch_strides("y", y)
        binder.count("blocks", blocks)
        binder.constant("OP", problem.routine)
        binder.constant("COMPLEX", problem.is_complex)
        binder.constant("CONJ_X", x.conj)
        binder.constant("NEGATE", problem.negate)
        binder.constant("CONJ_SCALARS", problem.conj_scalars)
        for name in _TRANSFORM_SCALARS:
            binder.constant(f"{name.upper()}_KIND", kinds[name])
        binder.constant("POLICY", policy(problem, table, writes=True))
        binder.constant("BATCHED", count > 1)
        for knob, value in config.knobs:
            binder.constant(knob, value)
        return binder.launch("elementwise.transform_kernel", count * blocks, config, alignment)

    return over_batch(problem, blocks, make)


def as_reals(problem: Problem) -> Problem:
    """The same problem on real vectors of twice the length, where that is what it comes to.

    Real and imaginary parts are neighbours, and nothing mixes them: no factor is complex, and what
    is conjugated is of a magnitude alone.
    """
    vectors = [view for view in problem.views if view.shape and view.dtype.is_complex]
    lie_apart = any(not is_unit(view, 0) for view in vectors)
    mixes = any(kind.startswith("complex") for _, kind, _ in problem.scalars)
    mixes |= problem.output.shape != () and any(view.conj for view in problem.inputs)
    if not vectors or lie_apart or mixes:
        return problem

    def real(view: View) -> View:
        if view not in vectors:
            return view
        return replace(
            view,
            dtype=DTYPES[view.dtype.real],
            shape=(2 * view.shape[0],),
            strides=(1,),
            batch=tuple(2 * stride for stride in view.batch),
            conj=False,
        )

    return replace(
        problem,
        dims=(2 * problem.dims[0],),
        inputs=tuple(map(real, problem.inputs)),
        output=real(problem.output),
        conj_scalars=False,
    )


def policy(problem: Problem, table: Table, writes: bool) -> str:
    """How long L2 should keep what is read: what is read once leaves first, up to a size."""
    members = prod(problem.batch)
    size = sum(prod(view.shape) * view.dtype.itemsize for view in problem.views) * members
    repeats = any(map(is_repeated, problem.inputs))
    return "evict_first" if table.streams(size, writes) and not repeats else ""


def _tile(problem: Problem, table: Table) -> Config:
    """The row for an update of so many elements; the smallest tile where they lie apart.

    A thread then loads each element by itself, and would hold more of them than it has registers.
    """
    rows = table.candidates(problem.routine, problem.output.dtype.name)
    if all(is_unit(view, 0) for view in problem.views):
        return choose_upto(rows, problem.dims[0] * prod(problem.batch))
    return min(rows, key=lambda row: row["BLOCK"])


def elementwise(problem: Problem) -> Problem:
    """The same element-wise problem with its vector as long as its strides allow.

    The vector axis joins the batch, axes are ordered by the output's stride, neighbours merged; the
    innermost one is the vector again. Numbers (rotg) have no vector axis to begin with.
    """
    views = [replace(v, shape=(), strides=(), batch=(*v.batch, *v.strides)) for v in problem.views]
    sizes = (*problem.batch, *problem.dims)
    order = sorted(range(len(sizes)), key=lambda i: -abs(views[-1].batch[i]))
    views = [replace(v, batch=tuple(v.batch[i] for i in order)) for v in views]
    merged = merge_batch(
        replace(
            problem,
            batch=tuple(sizes[i] for i in order),
            inputs=tuple(views[:-1]),
            output=views[-1],
        )
    )
    n = merged.batch[-1] if merged.batch else 1

    def vector(view: View) -> View:
        inc = view.batch[-1] if view.batch else 0
        return replace(view, shape=(n,), strides=(inc,), batch=view.batch[:-1])

    return replace(
        merged,
        dims=(n,),
        batch=merged.batch[:-1],
        inputs=tuple(vector(v) for v in merged.inputs),
        output=vector(merged.output),
    )


# ---- rotations from their numbers ---------------------------------------------------------------


def plan_rotg(problem: Problem, table: Table, alignment: int) -> tuple[Launch, ...]:
    """One launch, a lane for each rotation."""
    return _plan_numbers("rotg", problem, table)


def plan_rotmg(problem: Problem, table: Table, alignment: int) -> tuple[Launch, ...]:
    """The same; the five parameters of each lie one after the other."""
    param = replace(problem.output, shape=(), strides=())
    return _plan_numbers("rotmg", replace(problem, output=param), table)


def _plan_numbers(routine: str, problem: Problem, table: Table) -> tuple[Launch, ...]:
    problem = largest_axes_last(elementwise(problem))
    (n,) = problem.dims
    (config,) = table.candidates("rotations", problem.dtype.name)
    blocks = ceil_div(n, config["BLOCK"])
    absent = () if routine == "rotmg" or not problem.is_complex else ("z",)

    def make(binder: Binder, inner: int, count: int) -> Launch:
        views = problem.views
        for view in views:
            binder.pointer(view.slot, view, wide=False)
        binder.size("n", n)
        for view in views:
            binder.stride(f"{view.slot}_inc", view.strides[0], view, wide=False)
        binder.count("inner", inner)
        for view in views:
            binder.batch_strides(view.slot, view, wide=False)
        for name in absent:
            binder.absent(name, f"{name}_inc", f"{name}_b0", f"{name}_b1")
        binder.count("blocks", blocks)
        if routine == "rotg":
            binder.constant("COMPLEX", problem.is_complex)
        binder.constant("BATCHED", count > 1)
        for knob, value in config.knobs:
            binder.constant(knob, value)
        kernel = f"rotations.{routine}_kernel"
        return binder.launch(kernel, count * blocks, config, 1, fuse=False)

    return over_batch(problem, blocks, make)
