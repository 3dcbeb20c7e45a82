"""Quick returns: what a call does when a size or a scalar leaves nothing, or little, to compute."""

from __future__ import annotations

from dataclasses import replace

from tileblas.core.call import Problem
from tileblas.core.spec import Spec


def is_noop(spec: Spec, problem: Problem) -> bool:
    """Whether the output keeps every old element, or has none.

    Empty outputs; axpy and ger with alpha = 0, scal with alpha = 1; axpby, gemv and gemm with
    beta = 1 and alpha = 0 or an empty inner dimension.
    """
    written = {spec.operands[index].name for index in spec.outputs}
    if 0 in problem.batch or all(0 in v.shape for v in problem.views if v.slot in written):
        return True
    if problem.fresh:
        return False
    beta, _ = problem.scalar("beta")
    if beta != "none":
        return beta == "one" and drops_product(problem)
    return problem.scalar("alpha")[0] == spec.idle_alpha


def drops_product(problem: Problem) -> bool:
    """Whether the product term is absent: a host alpha of 0, or an empty inner dimension.

    The term is absent, not multiplied by 0: NaN and Inf in A and B do not reach the output.
    """
    return problem.scalar("alpha")[0] == "zero" or 0 in problem.dims


def without_product(problem: Problem) -> Problem:
    """The same problem with an empty inner dimension, so that no backend reads the inputs.

    Of a product with one matrix of whatever kind, that is a gemv; gemvt, two of them, sees to it
    itself.
    """
    if len(problem.inputs) != 2 or problem.scalar("beta")[0] == "none":
        return problem  # a vector update (axpby) has no inner dimension
    if not drops_product(problem):
        return problem
    # Nothing is read, so the layout of nothing may be the most convenient one.
    a, other = problem.inputs
    m, *n = problem.output.shape
    triangle = problem.writes_triangle
    return replace(
        problem,
        routine=problem.routine if triangle else "gemm" if n else "gemv",
        dims=(m, 0) if triangle else (m, *n, 0),
        inputs=(
            replace(a, shape=(m, 0), strides=(16, 1), conj=False, start=0, curve=()),
            replace(other, shape=(0, *n), strides=_rows_of(tuple(n)), conj=False),
        ),
        structure=problem.structure if triangle else None,
    )


def _rows_of(n: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of a vector, or of a matrix with rows of n elements, each 16-element aligned."""
    return (-(-n[0] // 16) * 16, 1) if n else (1,)
