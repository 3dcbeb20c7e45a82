"""Quick returns: what a call does when a size or a scalar leaves nothing, or little, to compute."""

from __future__ import annotations

from dataclasses import replace

from tileblas.core.call import Problem


def is_noop(problem: Problem) -> bool:
    """Whether the output keeps every old element, or has none.

    An empty output; axpy with n = 0 or alpha = 0; gemm with alpha = 0 or k = 0, and beta = 1.
    """
    if 0 in problem.batch or 0 in problem.output.shape:
        return True
    beta, _ = problem.scalar("beta")
    if beta != "none":
        return beta == "one" and drops_product(problem)
    return problem.scalar("alpha")[0] == "zero"


def drops_product(problem: Problem) -> bool:
    """Whether the product term is absent: a host alpha of 0, or an empty inner dimension.

    The term is absent, not multiplied by 0: NaN and Inf in A and B do not reach the output.
    """
    return problem.scalar("alpha")[0] == "zero" or 0 in problem.dims


def without_product(problem: Problem) -> Problem:
    """The same problem with an empty inner dimension, so that no backend reads the inputs."""
    if not drops_product(problem) or len(problem.dims) < 3:
        return problem
    m, n, _ = problem.dims
    a, b = problem.inputs
    # Nothing is read, so the layout of nothing may be the most convenient one.
    step = -(-n // 16) * 16
    return replace(
        problem,
        dims=(m, n, 0),
        inputs=(
            replace(a, shape=(m, 0), strides=(16, 1), conj=False),
            replace(b, shape=(0, n), strides=(step, 1), conj=False),
        ),
    )
