"""How products with a triangular or banded matrix are launched: trmv, tbmv, tpmv, gbmv."""

from __future__ import annotations

from math import prod

from tileblas.core.call import Problem, View
from tileblas.core.canon import lies_by_columns
from tileblas.routines.binder import (
    Binder,
    largest_axes_last,
    matrix_alignment,
    over_batch,
    read_policy,
    sum_bytes,
    unit_axis,
)
from tileblas.routines.launch import Launch
from tileblas.routines.matvec_plans import plan_gemv
from tileblas.tuning.model import ceil_div, choose_upto
from tileblas.tuning.table import Config, Table

BODY = "band.band_kernel"


def plan_band(problem: Problem, table: Table, alignment: int) -> tuple[Launch, ...]:
    """One launch of y := alpha op(A) x + beta y for the elements of A that a band has: gbmv."""
    if problem.structure is None:  # nothing is left of the product
        return plan_gemv(problem, table, alignment)
    return launch_band(problem, problem.inputs[1], table, alignment)


def plan_triangular(problem: Problem, table: Table, alignment: int) -> tuple[Launch, ...]:
    """One launch of x := op(A) x, a band as wide as it can be: trmv, tbmv, tpmv."""
    return launch_band(problem, problem.output, table, alignment)


def launch_band(
    problem: Problem, vector: View, table: Table, alignment: int, config: Config | None = None
) -> tuple[Launch, ...]:
    """Programs share the blocks of columns that a block of rows has, each an equal part of them."""
    problem = largest_axes_last(problem)
    in_place = vector.slot == problem.output.slot
    a, y = problem.inputs[0], problem.output
    x = y if in_place else problem.inputs[1]
    known = problem.structure
    assert known is not None
    mirror = known.kind if known.kind in ("symmetric", "hermitian", "skew") else ""
    below, above = known.below, known.above
    if known.unit:  # the diagonal is not there
        below, above = (below, -1) if known.lower else (-1, above)
    m, n = a.shape
    columns, x_unit = lies_by_columns(a), unit_axis(x) == 0
    alignment = matrix_alignment(a, alignment, (x,) if x_unit else ())
    members = prod(problem.batch)
    reach = (max(below, above),) * 2 if mirror else (below, above)
    config = config or choose_upto(
        table.candidates("band", a.dtype.name, "col" if columns else "row"),
        m * min(n, sum(reach) + 1) * members,
    )
    row_blocks = ceil_div(m, config["BLOCK_M"])
    share, splits = share_blocks(config, m, n, *reach, members, table)
    policy = read_policy(a, problem, table)

    def make(binder: Binder, inner: int, count: int) -> Launch:
        binder.pointer("a", a)
        binder.pointer("x", x, wide=x_unit)
        binder.pointer("y", y, wide=False)
        binder.workspace("partial", problem.compute)
        binder.workspace("arrived", "i32")
        if in_place:
            binder.absent("alpha", "alpha_im", "beta", "beta_im")
            alpha = beta = "zero"
        else:
            alpha, beta = binder.scalar("alpha"), binder.scalar("beta")
        for name, value in (("m", m), ("n", n), ("below", below), ("above", above)):
            binder.size(name, value)
        binder.matrix(a)
        binder.stride("x_inc", x.strides[0], x, unit=x_unit, wide=x_unit)
        binder.stride("y_inc", y.strides[0], y, wide=False)
        binder.count("inner", inner)
        binder.batch_strides("a", a)
        binder.batch_strides("x", x, wide=x_unit)
        binder.batch_strides("y", y, wide=False)
        binder.count("row_blocks", row_blocks)
        binder.count("splits", splits)
        binder.count("share", share)
        binder.signs(a=a, x=x)
        binder.constant("ALPHA_KIND", alpha)
        binder.constant("BETA_KIND", beta)
        binder.constant("MIRROR", mirror)
        binder.constant("IN_PLACE", in_place)
        binder.constant("UNIT_DIAG", known.unit)
        binder.constant("CURVED", any(a.curve))
        binder.constant("BATCHED", count > 1)
        binder.constant("BY_COLUMNS", columns)
        binder.constant("UNIT", a.strides[0 if columns else 1] == 1)
        binder.constant("POLICY", policy)
        for knob, value in config.knobs:
            if knob != "MAX_SHARES":
                binder.constant(knob, value)
        groups = count * row_blocks
        width = config["BLOCK_M"] * sum_bytes(problem)
        return binder.launch(
            BODY,
            groups * splits,
            config,
            alignment,
            partial_bytes=groups * (splits + 1) * width,
            counters=groups + count,
        )

    return over_batch(problem, row_blocks * splits, make)


def share_blocks(
    config: Config, m: int, n: int, below: int, above: int, members: int, table: Table
) -> tuple[int, int]:
    """(blocks of columns that a program takes, programs that the widest block of rows needs).

    All programs together are to fill the GPU as often as `MAX_SHARES` says, so that those of short
    rows do not leave it idle.
    """
    rows, width = config["BLOCK_M"], config["BLOCK_N"]
    row_blocks = ceil_div(m, rows)
    widest = min(ceil_div(min(n, below + above + rows), width) + 1, max(ceil_div(n, width), 1))
    triangle = min(below, above) < 1 and max(below, above) >= n - 1
    blocks = row_blocks * widest * members // (2 if triangle else 1)
    programs = table.multiprocessors * config.per_processor * config["MAX_SHARES"]
    share = max(1, ceil_div(blocks, programs))
    return share, ceil_div(widest, share)
