"""How level 2 is launched that writes what it reads: updates by vectors, and triangular solves."""

from __future__ import annotations

from math import prod

from tileblas.core.call import Problem, Structure
from tileblas.routines.binder import Binder, largest_axes_last, over_batch
from tileblas.routines.launch import Launch
from tileblas.routines.level2_plans import (
    bind_matrix,
    lies_by_columns,
    matrix_alignment,
    sum_bytes,
)
from tileblas.tuning.model import ceil_div, choose_upto
from tileblas.tuning.table import Table


def plan_rank(problem: Problem, table: Table, alignment: int) -> tuple[Launch, ...]:
    """One launch of A := alpha x y^T + A and its like, a tile of A a program."""
    problem = largest_axes_last(problem)
    x, y = problem.inputs[0], problem.inputs[-1]
    a, known = problem.output, problem.structure or Structure("general", 0, 0)
    rank = len(problem.inputs) if problem.structure else 1
    m, n = a.shape
    alignment = matrix_alignment(a, alignment)
    size = m * n * prod(problem.batch)
    config = choose_upto(
        table.candidates("rank", a.dtype.name, "any" if known.kind == "general" else "triangle"),
        size,
    )
    down, across = ceil_div(m, config["BLOCK_M"]), ceil_div(n, config["BLOCK_N"])
    triangle = known.kind != "general" and not problem.fresh
    tiles = down * (down + 1) // 2 if triangle else down * across
    hermitian = known.kind == "hermitian"
    moved = size * a.dtype.itemsize
    passes_by = table.streams(moved, writes=True) and not problem.fresh

    def make(binder: Binder, inner: int, count: int) -> Launch:
        binder.pointer("x", x, wide=False)
        binder.pointer("y", y, wide=False)
        binder.pointer("a", a)
        alpha = binder.scalar("alpha")
        binder.size("m", m)
        binder.size("n", n)
        # Tiles take little of the vectors: whether these have gaps makes no variant.
        binder.stride("x_inc", x.strides[0], x, wide=False)
        binder.stride("y_inc", y.strides[0], y, wide=False)
        bind_matrix(binder, a)
        binder.count("inner", inner)
        binder.batch_strides("x", x, wide=False)
        binder.batch_strides("y", y, wide=False)
        binder.batch_strides("a", a)
        for name, value in (("down", down), ("across", across), ("tiles", tiles)):
            binder.count(name, value)
        binder.constant("KIND", known.kind)
        binder.constant("RANK", rank)
        binder.constant("LOWER", known.lower)
        binder.constant("FRESH", problem.fresh)
        binder.constant("COMPLEX", problem.is_complex)
        binder.constant("CONJ_X", x.conj)
        binder.constant("CONJ_Y", y.conj ^ (hermitian and problem.is_complex))
        binder.constant("NEGATE", problem.negate)
        binder.constant("CONJ_SCALARS", problem.conj_scalars)
        binder.constant("ALPHA_KIND", alpha)
        binder.constant("BATCHED", count > 1)
        binder.constant("CURVED", any(a.curve))
        binder.constant("UNIT", a.strides[1] == 1)
        binder.constant("POLICY", "evict_first" if passes_by else "")
        for knob, value in config.knobs:
            binder.constant(knob, value)
        return binder.launch("rank.rank_kernel", count * tiles, config, alignment)

    return over_batch(problem, tiles, make)


def plan_solve(problem: Problem, table: Table, alignment: int) -> tuple[Launch, ...]:
    """One launch of x := op(A)^-1 x, a strip of rows a program: trsv, tbsv, tpsv."""
    problem = largest_axes_last(problem)
    (a,), x, known = problem.inputs, problem.output, problem.structure
    assert known is not None
    n = a.shape[0]
    by_rows = not lies_by_columns(a)
    alignment = matrix_alignment(a, alignment)
    config = choose_upto(table.candidates("solve", a.dtype.name), n)
    strips = ceil_div(n, config["SIDE"])
    reach = max(known.below, known.above)

    def make(binder: Binder, inner: int, count: int) -> Launch:
        binder.pointer("a", a)
        binder.pointer("x", x, wide=False)
        binder.workspace("partial", problem.compute)
        binder.workspace("arrived", "i32")
        # Beyond the number in `arrived`, of which 16 bytes keep what follows aligned.
        binder.workspace("arrived", "i64", "words", 2)
        binder.size("n", n)
        binder.size("reach", reach)
        bind_matrix(binder, a)
        binder.stride("x_inc", x.strides[0], x, wide=False)
        binder.count("inner", inner)
        binder.batch_strides("a", a)
        binder.batch_strides("x", x, wide=False)
        binder.count("strips", strips)
        binder.count("members", count)
        binder.count("one", 1)
        binder.constant("COMPLEX", problem.is_complex)
        binder.constant("CONJ_A", a.conj)
        binder.constant("NEGATE", problem.negate)
        binder.constant("UNIT_DIAG", known.unit)
        binder.constant("UPPER", not known.lower)
        binder.constant("CURVED", "" if not any(a.curve) else "rows" if a.curve[0] else "columns")
        binder.constant("BANDED", reach < n - 1)
        binder.constant("BY_ROWS", by_rows)
        binder.constant("BATCHED", count > 1)
        for knob, value in config.knobs:
            binder.constant(knob, value)
        squares = count * strips * config["SIDE"] ** 2
        # A number is sent in words of 64 bits, each with 32 of its own.
        words = count * strips * config["SIDE"] * sum_bytes(problem) // 4
        return binder.launch(
            "solve.solve_kernel",
            count * strips,
            config,
            alignment,
            partial_bytes=squares * sum_bytes(problem),
            counters=4 + 2 * words,
        )

    return over_batch(problem, strips, make)
