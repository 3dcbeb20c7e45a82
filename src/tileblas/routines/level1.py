"""Level 1: the Specs and plans of dot, dotc, dotu, nrm2, axpy and scal."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from tileblas.core.call import Problem, View
from tileblas.core.canon import merge_batch
from tileblas.core.dtypes import DTYPES
from tileblas.core.spec import Arg, Spec
from tileblas.routines.binder import (
    Binder,
    largest_axes_last,
    over_batch,
    row_alignment,
    unit_axis,
)
from tileblas.routines.launch import Launch
from tileblas.tuning.model import ceil_div, split_count
from tileblas.tuning.table import Table


def plan_dot(problem: Problem, table: Table, alignment: int) -> tuple[Launch, ...]:
    """One launch: programs sum block-cyclic shares, the last to finish adds the partial sums.

    The number of programs depends on shape and GPU alone, so the bits do not vary between runs.
    """
    problem = largest_axes_last(problem)
    x, y = problem.inputs
    (n,) = problem.dims
    config = table.candidates("dot", x.dtype.name)[0]
    alignment = row_alignment(problem.inputs, alignment)

    splits = split_count(config, n, prod(problem.batch), table.multiprocessors)

    def make(binder: Binder, inner: int, count: int) -> Launch:
        binder.pointer("x", x)
        binder.pointer("y", y)
        binder.pointer("out", problem.output, wide=False)
        binder.workspace("partial", problem.compute)
        binder.workspace("arrived", "i32")
        binder.size("n", n)
        binder.stride("x_inc", x.strides[0], x, unit=unit_axis(x) == 0)
        binder.stride("y_inc", y.strides[0], y, unit=unit_axis(y) == 0)
        binder.count("inner", inner)
        binder.batch_strides("x", x)
        binder.batch_strides("y", y)
        binder.batch_strides("out", problem.output, wide=False)
        binder.count("splits", splits)
        binder.constant("COMPLEX", problem.is_complex)
        binder.constant("CONJ_X", x.conj)
        binder.constant("CONJ_Y", y.conj)
        binder.constant("NEGATE", problem.negate)
        binder.constant("BATCHED", count > 1)
        binder.constant("SPLIT", splits > 1)
        for knob, value in config.knobs:
            binder.constant(knob, value)
        shared = splits > 1
        width = DTYPES[problem.compute].itemsize * (2 if problem.is_complex else 1)
        return binder.launch(
            "reduce.dot_kernel",
            count * splits,
            config,
            alignment,
            partial_bytes=count * splits * width if shared else 0,
            counters=count if shared else 0,
        )

    return over_batch(problem, splits, make)


def plan_nrm2(problem: Problem, table: Table, alignment: int) -> tuple[Launch, ...]:
    """One launch: programs sum scaled squares of block-cyclic shares, the last one combines.

    The number of programs depends on shape and GPU alone, so the bits do not vary between runs.
    """
    problem = largest_axes_last(problem)
    (x,) = problem.inputs
    (n,) = problem.dims
    config = table.candidates("nrm2", x.dtype.name)[0]
    alignment = row_alignment(problem.inputs, alignment)

    splits = split_count(config, n, prod(problem.batch), table.multiprocessors)

    def make(binder: Binder, inner: int, count: int) -> Launch:
        binder.pointer("x", x)
        binder.pointer("out", problem.output, wide=False)
        binder.workspace("partial", "float64")
        binder.workspace("arrived", "i32")
        binder.size("n", n)
        binder.stride("x_inc", x.strides[0], x, unit=unit_axis(x) == 0)
        binder.count("inner", inner)
        binder.batch_strides("x", x)
        binder.batch_strides("out", problem.output, wide=False)
        binder.count("splits", splits)
        binder.constant("COMPLEX", problem.is_complex)
        binder.constant("BATCHED", count > 1)
        binder.constant("SPLIT", splits > 1)
        for knob, value in config.knobs:
            binder.constant(knob, value)
        shared = splits > 1
        sums = 3 if problem.compute == "float64" else 1
        return binder.launch(
            "reduce.nrm2_kernel",
            count * splits,
            config,
            alignment,
            partial_bytes=count * splits * sums * DTYPES["float64"].itemsize if shared else 0,
            counters=count if shared else 0,
        )

    return over_batch(problem, splits, make)


def plan_scal(problem: Problem, table: Table, alignment: int) -> tuple[Launch, ...]:
    """One element-wise launch, x read and written in place."""
    problem = largest_axes_last(elementwise(problem))
    x = problem.output
    (n,) = problem.dims
    config = table.candidates("scal", x.dtype.name)[0]
    alignment = row_alignment(problem.views, alignment)

    blocks = ceil_div(n, config["BLOCK"])

    def make(binder: Binder, inner: int, count: int) -> Launch:
        binder.pointer("x", x)
        kind = binder.scalar("alpha")
        binder.size("n", n)
        binder.stride("x_inc", x.strides[0], x, unit=unit_axis(x) == 0)
        binder.count("inner", inner)
        binder.batch_strides("x", x)
        binder.count("blocks", blocks)
        binder.constant("COMPLEX", problem.is_complex)
        binder.constant("CONJ_ALPHA", problem.conj_scalars)
        binder.constant("ALPHA_KIND", kind)
        binder.constant("BATCHED", count > 1)
        for knob, value in config.knobs:
            binder.constant(knob, value)
        return binder.launch("elementwise.scal_kernel", count * blocks, config, alignment)

    return over_batch(problem, blocks, make)


def plan_axpy(problem: Problem, table: Table, alignment: int) -> tuple[Launch, ...]:
    """One element-wise launch; the vector axis is one more axis to merge with the batch."""
    problem = largest_axes_last(elementwise(problem))
    (x,), y = problem.inputs, problem.output
    (n,) = problem.dims
    config = table.candidates("axpy", x.dtype.name)[0]
    alignment = row_alignment(problem.views, alignment)

    blocks = ceil_div(n, config["BLOCK"])

    def make(binder: Binder, inner: int, count: int) -> Launch:
        binder.pointer("x", x)
        binder.pointer("y", y)
        kind = binder.scalar("alpha")
        binder.size("n", n)
        binder.stride("x_inc", x.strides[0], x, unit=unit_axis(x) == 0)
        binder.stride("y_inc", y.strides[0], y, unit=unit_axis(y) == 0)
        binder.count("inner", inner)
        binder.batch_strides("x", x)
        binder.batch_strides("y", y)
        binder.count("blocks", blocks)
        binder.constant("COMPLEX", problem.is_complex)
        binder.constant("CONJ_X", x.conj)
        binder.constant("NEGATE", problem.negate)
        binder.constant("CONJ_ALPHA", problem.conj_scalars)
        binder.constant("ALPHA_KIND", kind)
        binder.constant("BATCHED", count > 1)
        for knob, value in config.knobs:
            binder.constant(knob, value)
        return binder.launch("elementwise.axpy_kernel", count * blocks, config, alignment)

    return over_batch(problem, blocks, make)


def elementwise(problem: Problem) -> Problem:
    """The same element-wise problem with its vector as long as its strides allow.

    The vector axis joins the batch, axes are ordered by the output's stride, neighbours merged; the
    innermost one is the vector again.
    """
    views = [
        replace(v, shape=(), strides=(), batch=(*v.batch, v.strides[0])) for v in problem.views
    ]
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


def _dot_spec(name: str, formula: str, notes: str, conj: str = "") -> Spec:
    return Spec(
        name=name,
        level=1,
        formula=formula,
        notes=notes,
        operands=(Arg("x", "n"), Arg("y", "n"), Arg("out", "", role="new")),
        dims="n",
        fortran=("n", "x", "incx", "y", "incy"),
        flops=lambda n: 2 * n,
        elements=lambda n, read_output: 2 * n + 1,
        plan=plan_dot,
        conj=conj,
        family="dot",
    )


_DOT_NOTES = """n = 0 gives 0. Half types accumulate in float32 and are rounded once.
The sum is a fixed tree: the same bits on every run of the same call on the same machine."""

SPECS = (
    _dot_spec("dot", "sum_i x_i y_i", f"On complex vectors this is dotu.\n{_DOT_NOTES}"),
    _dot_spec(
        "dotc", "sum_i conj(x_i) y_i", f"On real vectors this is dot.\n{_DOT_NOTES}", conj="x"
    ),
    _dot_spec("dotu", "sum_i x_i y_i", f"x is not conjugated.\n{_DOT_NOTES}"),
    Spec(
        name="nrm2",
        level=1,
        formula="sqrt(sum_i |x_i|^2)",
        notes="""The result is real. n = 0 gives 0. No square overflows or underflows on the way.
A NaN among the elements gives NaN, else an infinity gives Inf.
The sum is a fixed tree: the same bits on every run of the same call on the same machine.""",
        operands=(Arg("x", "n"), Arg("out", "", role="new", real=True)),
        dims="n",
        fortran=("n", "x", "incx"),
        flops=lambda n: 2 * n,
        elements=lambda n, read_output: n + 1,
        plan=plan_nrm2,
    ),
    Spec(
        name="scal",
        level=1,
        formula="x := alpha x",
        notes="""alpha = 1 leaves x untouched; alpha = 0 multiplies, so that 0 NaN is NaN.
A real-typed alpha on complex vectors scales real and imaginary parts separately.""",
        operands=(Arg("x", "n", role="inout"),),
        dims="n",
        fortran=("n", "alpha", "x", "incx"),
        flops=lambda n: n,
        elements=lambda n, read_output: 2 * n,
        plan=plan_scal,
        scalars=("alpha",),
        idle_alpha="one",
    ),
    Spec(
        name="axpy",
        level=1,
        formula="y := alpha x + y",
        notes="""alpha = 0 leaves y untouched and does not read x.
A real-typed alpha on complex vectors scales real and imaginary parts separately.
x may be the very view y; any other overlap of the two is refused.""",
        operands=(Arg("x", "n"), Arg("y", "n", role="inout")),
        dims="n",
        fortran=("n", "alpha", "x", "incx", "y", "incy"),
        flops=lambda n: 2 * n,
        elements=lambda n, read_output: 3 * n,
        plan=plan_axpy,
        scalars=("alpha",),
        aliasing=True,
        idle_alpha="zero",
    ),
)
