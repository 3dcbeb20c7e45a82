"""How products of matrices are launched: gemm, symm, syrk and their like."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from tileblas.core.call import Problem, View
from tileblas.core.canon import transpose
from tileblas.core.trivial import drops_product
from tileblas.routines.binder import (
    WIDEST,
    Binder,
    largest_axes_last,
    over_batch,
    row_alignment,
    unit_axis,
)
from tileblas.routines.launch import Launch
from tileblas.tuning.model import ceil_div, choose_gemm
from tileblas.tuning.table import Table

#: The layout of operands whose rows are not all 16-byte aligned: loads are narrower.
UNALIGNED = "unaligned"


GEMM_BODY = "gemm.gemm_kernel"
DGEMM_BODY = "sm90_dgemm.dgemm_kernel"

#: The constexpr flags that each body takes, beside the knobs of its configuration.
_FLAGS = {
    GEMM_BODY: (
        "COMPLEX",
        "CONJ_A",
        "CONJ_B",
        "NEGATE",
        "CONJ_SCALARS",
        "ALPHA_KIND",
        "BETA_KIND",
        "MATH",
        "A_KIND",
        "A_LOWER",
        "C_KIND",
        "C_LOWER",
        "FRESH",
    ),
    DGEMM_BODY: ("NEGATE", "ALPHA_KIND", "BETA_KIND", "C_KIND", "C_LOWER"),
}


def body_can_run(body: str, problem: Problem, alignment: int) -> bool:
    """Whether a kernel body covers the problem: the one statement of each body's constraints.

    The DGEMM body of sm_90 copies 16 bytes at a time along a unit stride of every matrix, and
    knows FP64 only, and of structures one: a triangle of C, the other of which it leaves alone; the
    general body covers everything.
    """
    if body != DGEMM_BODY:
        return True
    units = [unit_axis(view) for view in problem.views]
    aligned = alignment == WIDEST
    plain = problem.structure is None or (problem.writes_triangle and not problem.fresh)
    return aligned and plain and problem.output.dtype.name == "float64" and None not in units


def plan_product(problem: Problem, table: Table, alignment: int) -> tuple[Launch, ...]:
    """One launch of the tile GEMM, with the tile that the model expects to finish first."""
    problem = structured_first(largest_axes_last(problem))
    (a, b), c = problem.inputs, problem.output
    (m, n), k = c.shape, a.shape[1]
    known, triangle = problem.structure, problem.writes_triangle
    a_known = None if triangle else known
    c_known = known if triangle else None
    alignment = row_alignment(problem.views, alignment)
    layout = unit_axes(a, b) if alignment == WIDEST else UNALIGNED
    candidates = [
        config
        for config in table.candidates("gemm", a.dtype.name, layout, problem.math)
        if body_can_run(config.body, problem, alignment)
    ]
    members = prod(problem.batch)
    config = choose_gemm(candidates, m, n, k, members, table.multiprocessors, triangle)

    tiles = ceil_div(m, config["BLOCK_M"]) * ceil_div(n, config["BLOCK_N"])

    def make(binder: Binder, inner: int, count: int) -> Launch:
        binder.pointer("a", a)
        binder.pointer("b", b)
        binder.pointer("c", c)
        alpha = binder.scalar("alpha")
        beta = binder.scalar("beta")
        for name, size in (("m", m), ("n", n), ("k", k)):
            binder.size(name, size)
        for name, view, axes in (("a", a, "mk"), ("b", b, "kn"), ("c", c, "mn")):
            unit = unit_axis(view)
            for axis in (0, 1):
                stride = view.strides[axis]
                binder.stride(f"{name}_{axes[axis]}", stride, view, unit=axis == unit)
        binder.count("inner", inner)
        for name, view in (("a", a), ("b", b), ("c", c)):
            binder.batch_strides(name, view)
        flags = {
            "COMPLEX": problem.is_complex,
            "CONJ_A": a.conj,
            "CONJ_B": b.conj,
            "NEGATE": problem.negate,
            "CONJ_SCALARS": problem.conj_scalars,
            "ALPHA_KIND": alpha,
            "BETA_KIND": beta,
            "MATH": config.math,
            "A_KIND": a_known.kind if a_known else "",
            "A_LOWER": a_known is not None and a_known.lower,
            "C_KIND": c_known.kind if c_known else "",
            "C_LOWER": c_known is not None and c_known.lower,
            "FRESH": problem.fresh,
        }
        body = config.body or GEMM_BODY
        for flag in _FLAGS[body]:
            binder.constant(flag, flags[flag])
        for knob, value in config.knobs:
            binder.constant(knob, value)
        return binder.launch(body, count * tiles, config, alignment)

    return over_batch(problem, tiles, make)


def plan_twice(problem: Problem, table: Table, alignment: int) -> tuple[Launch, ...]:
    """Two launches, C := alpha A B^T + beta C and C := alpha B A^T + C: syr2k and its like.

    Of a Hermitian C the second is conj(alpha) B A^H; of a skew one the first is subtracted.
    """
    kind = problem.structure.kind if problem.structure else ""
    one = replace(problem, negate=problem.negate ^ (kind == "skew"))
    first = plan_product(one, table, alignment)
    if drops_product(problem):
        return first
    flips = kind == "hermitian" and problem.is_complex
    scalars = tuple(("beta", "unit", "") if s[0] == "beta" else s for s in problem.scalars)
    second = replace(
        problem,
        inputs=tuple(
            replace(transpose(view), conj=view.conj ^ flips) for view in reversed(problem.inputs)
        ),
        scalars=scalars,
        conj_scalars=problem.conj_scalars ^ flips,
        fresh=False,
    )
    return first + plan_product(second, table, alignment)


def structured_first(problem: Problem) -> Problem:
    """The same product with a structured factor on the left: C := A B for C^T := B^T A^T."""
    known = problem.structure
    if known is None or problem.writes_triangle or problem.inputs[0].slot == known.slot:
        return problem
    return replace(
        problem,
        inputs=tuple(transpose(view) for view in reversed(problem.inputs)),
        output=transpose(problem.output),
        structure=known.transposed,
    )


def unit_axes(a: View, b: View) -> str:
    """The unit axes of both inputs: "kn" for row-major A and B, "-" where there is none."""
    letters = [
        axes[axis] if (axis := unit_axis(v)) is not None else "-"
        for v, axes in ((a, "mk"), (b, "kn"))
    ]
    return "".join(letters)
