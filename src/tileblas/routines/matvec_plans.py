"""How gemv is launched."""

from __future__ import annotations

from math import prod

from tileblas.core.call import Problem
from tileblas.core.canon import lies_by_columns
from tileblas.routines.binder import (
    Binder,
    largest_axes_last,
    over_batch,
    read_policy,
    row_alignment,
    sum_bytes,
    unit_axis,
)
from tileblas.routines.launch import Launch
from tileblas.tuning.model import ceil_div, choose_gemv
from tileblas.tuning.table import Config, Table


def plan_gemv(problem: Problem, table: Table, alignment: int) -> tuple[Launch, ...]:
    """One launch: programs share rows and columns, the last one of each row block adds up.

    Tile and number of programs depend on shape and GPU alone, so the bits do not vary between runs.
    """
    problem = largest_axes_last(problem)
    (a, x), y = problem.inputs, problem.output
    m, n = problem.dims
    x_unit = unit_axis(x) == 0
    # y is small: neither it nor an x with gaps may cost A its wide loads.
    alignment = row_alignment((a, x) if x_unit else (a,), alignment)
    columns = lies_by_columns(a)
    candidates = [
        config
        for config in table.candidates("gemv", a.dtype.name, "col" if columns else "row")
        if can_number_blocks(config, n)
    ]
    config, splits = choose_gemv(
        candidates, m, n, prod(problem.batch), a.dtype.itemsize, table.multiprocessors
    )
    row_blocks = ceil_div(m, config["BLOCK_M"])
    # Copies into shared memory, as in a pipelined loop, take no such hint.
    policy = read_policy(a, problem, table) if config["STAGES"] == 1 else ""

    def make(binder: Binder, inner: int, count: int) -> Launch:
        binder.pointer("a", a)
        binder.pointer("x", x, wide=x_unit)
        binder.pointer("y", y, wide=False)
        binder.workspace("partial", problem.compute)
        binder.workspace("arrived", "i32")
        alpha = binder.scalar("alpha")
        beta = binder.scalar("beta")
        binder.size("m", m)
        binder.size("n", n)
        binder.stride("a_m", a.strides[0], a, unit=columns and a.strides[0] == 1)
        binder.stride("a_n", a.strides[1], a, unit=not columns and a.strides[1] == 1)
        binder.stride("x_inc", x.strides[0], x, unit=x_unit, wide=x_unit)
        binder.stride("y_inc", y.strides[0], y, unit=unit_axis(y) == 0, wide=False)
        binder.count("inner", inner)
        binder.batch_strides("a", a)
        binder.batch_strides("x", x, wide=x_unit)
        binder.batch_strides("y", y, wide=False)
        binder.count("row_blocks", row_blocks)
        binder.count("splits", splits)
        binder.signs(a=a, x=x)
        binder.constant("ALPHA_KIND", alpha)
        binder.constant("BETA_KIND", beta)
        binder.constant("BATCHED", count > 1)
        binder.constant("SPLIT", splits > 1)
        binder.constant("BY_COLUMNS", columns)
        binder.constant("UNIT", a.strides[0 if columns else 1] == 1)
        binder.constant("POLICY", policy)
        for knob, value in config.knobs:
            binder.constant(knob, value)
        groups = count * row_blocks if splits > 1 else 0
        return binder.launch(
            "matvec.gemv_kernel",
            count * row_blocks * splits,
            config,
            alignment,
            partial_bytes=groups * splits * config["BLOCK_M"] * sum_bytes(problem),
            counters=groups,
        )

    return over_batch(problem, row_blocks * splits, make)


def can_number_blocks(config: Config, n: int) -> bool:
    """Whether 32 bits, in which the kernel numbers blocks of columns, hold a step beyond the last.

    A step is the number of splits, of which there are never more than blocks.
    """
    return ceil_div(n, config["BLOCK_N"]) <= 2**30
