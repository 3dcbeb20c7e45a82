"""Level 3: the Spec and plan of gemm."""

from __future__ import annotations

from math import prod

from tileblas.core.call import Problem, View
from tileblas.core.spec import TRANS, Arg, Option, Spec
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
    ),
    DGEMM_BODY: ("NEGATE", "ALPHA_KIND", "BETA_KIND"),
}


def body_can_run(body: str, problem: Problem, alignment: int) -> bool:
    """Whether a kernel body covers the problem: the one statement of each body's constraints.

    The DGEMM body of sm_90 copies 16 bytes at a time along a unit stride of every matrix, and
    knows FP64 only; the general body covers everything.
    """
    if body != DGEMM_BODY:
        return True
    units = [unit_axis(view) for view in problem.views]
    aligned = alignment == WIDEST
    return aligned and problem.output.dtype.name == "float64" and None not in units


def plan_gemm(problem: Problem, table: Table, alignment: int) -> tuple[Launch, ...]:
    """One launch of the tile GEMM, with the tile that the model expects to finish first."""
    problem = largest_axes_last(problem)
    (a, b), c = problem.inputs, problem.output
    m, n, k = problem.dims
    alignment = row_alignment(problem.views, alignment)
    layout = unit_axes(a, b) if alignment == WIDEST else UNALIGNED
    candidates = [
        config
        for config in table.candidates("gemm", a.dtype.name, layout, problem.math)
        if body_can_run(config.body, problem, alignment)
    ]
    config = choose_gemm(candidates, m, n, k, prod(problem.batch), table.multiprocessors)

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
        }
        body = config.body or GEMM_BODY
        for flag in _FLAGS[body]:
            binder.constant(flag, flags[flag])
        for knob, value in config.knobs:
            binder.constant(knob, value)
        return binder.launch(body, count * tiles, config, alignment)

    return over_batch(problem, tiles, make)


def unit_axes(a: View, b: View) -> str:
    """The unit axes of both inputs: "kn" for row-major A and B, "-" where there is none."""
    letters = [
        axes[axis] if (axis := unit_axis(v)) is not None else "-"
        for v, axes in ((a, "mk"), (b, "kn"))
    ]
    return "".join(letters)


SPECS = (
    Spec(
        name="gemm",
        level=3,
        formula="C := alpha op(A) op(B) + beta C",
        notes="""op(X) is X for "N", its transpose for "T", its conjugate transpose for "C".
beta = 0 never reads C; alpha = 0 or k = 0 drops the product, so that A and B are not read.
Half inputs accumulate in float32 and may be given a float32 c.""",
        operands=(
            Arg("a", "mk", trans="trans_a"),
            Arg("b", "kn", trans="trans_b"),
            Arg("c", "mn", role="inout", optional=True),
        ),
        dims="mnk",
        fortran=(
            "trans_a",
            "trans_b",
            "m",
            "n",
            "k",
            "alpha",
            "a",
            "lda",
            "b",
            "ldb",
            "beta",
            "c",
            "ldc",
        ),
        flops=lambda m, n, k: 2 * m * n * k,
        elements=lambda m, n, k, read_output: m * k + k * n + m * n * (2 if read_output else 1),
        plan=plan_gemm,
        scalars=("alpha", "beta"),
        options=(Option("trans_a", TRANS, "N"), Option("trans_b", TRANS, "N")),
        takes_math=True,
        widens=True,
    ),
)
