"""Level 2: the Spec and plan of gemv."""

from __future__ import annotations

from tileblas.core.call import Problem
from tileblas.core.spec import TRANS, Arg, Option, Spec
from tileblas.routines.launch import Launch
from tileblas.tuning.table import Table


def plan_gemv(problem: Problem, table: Table, aligned: bool) -> tuple[Launch, ...]:
    """One launch: programs share rows and columns, the last one of each row block adds up."""
    raise NotImplementedError


SPECS = (
    Spec(
        name="gemv",
        level=2,
        formula="y := alpha op(A) x + beta y",
        notes="""op(A) is A for "N", its transpose for "T", its conjugate transpose for "C".
beta = 0 never reads y; alpha = 0 or n = 0 drops the product, so that A and x are not read.
Half types accumulate in float32 and are rounded once.
Sums are fixed trees: the same bits on every run of the same call on the same machine.""",
        operands=(
            Arg("a", "mn", trans="trans"),
            Arg("x", "n"),
            Arg("y", "m", role="inout", optional=True),
        ),
        dims="mn",
        fortran=("trans", "m", "n", "alpha", "a", "lda", "x", "incx", "beta", "y", "incy"),
        flops=lambda m, n: 2 * m * n,
        elements=lambda m, n, read_output: m * n + n + m * (2 if read_output else 1),
        plan=plan_gemv,
        scalars=("alpha", "beta"),
        options=(Option("trans", TRANS, "N"),),
        stored_sizes=True,
    ),
)
