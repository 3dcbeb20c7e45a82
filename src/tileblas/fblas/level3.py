"""What each routine of level 3 does: a function with SciPy's parameters, after the Routine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tileblas.fblas.routine import Routine


def _gemm(
    routine: Routine,
    alpha: Any,
    a: Any,
    b: Any,
    beta: Any = 0.0,
    c: Any = None,
    trans_a: int = 0,
    trans_b: int = 0,
    overwrite_c: int = 0,
) -> Any:
    """C := alpha op(A) op(B) + beta C; C is by columns."""
    letters = routine.option("trans_a", trans_a), routine.option("trans_b", trans_b)
    options = dict(zip(("trans_a", "trans_b"), letters, strict=True))
    factors = {"alpha": routine.number("alpha", alpha), "beta": routine.number("beta", beta)}
    a, b = routine.matrix(a), routine.matrix(b)
    shape = a.shape[0 if letters[0] == "N" else 1], b.shape[1 if letters[1] == "N" else 0]

    def product(matrix: Any) -> Any:
        return routine.compute(a, b, matrix, **factors, **options)

    return routine.updated_matrix("c", c, overwrite_c, shape, a, product)


BODIES: dict[str, Callable[..., Any]] = {"gemm": _gemm}
