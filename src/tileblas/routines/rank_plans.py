"""How updates of a matrix by vectors are launched: ger, syr and their like."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from tileblas.core.call import Problem, Structure
from tileblas.routines.binder import Binder, largest_axes_last, matrix_alignment, over_batch
from tileblas.routines.launch import Launch
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
    if known.kind == "hermitian":  # the second vector of a product
        y = replace(y, conj=y.conj ^ problem.is_complex)
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
        binder.matrix(a)
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
        binder.signs(x=x, y=y)
        binder.constant("ALPHA_KIND", alpha)
        binder.constant("BATCHED", count > 1)
        binder.constant("CURVED", any(a.curve))
        binder.constant("UNIT", a.strides[1] == 1)
        binder.constant("POLICY", "evict_first" if passes_by else "")
        for knob, value in config.knobs:
            binder.constant(knob, value)
        return binder.launch("rank.rank_kernel", count * tiles, config, alignment)

    return over_batch(problem, tiles, make)
