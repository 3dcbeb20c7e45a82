"""What each routine of level 3 does: a function with SciPy's parameters, after the Routine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tileblas.fblas.routine import Routine
from tileblas.fblas.vectors import reshaped, zeros


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
    a, b = routine.matrix(a), routine.matrix(b)
    shape = a.shape[0 if letters[0] == "N" else 1], b.shape[1 if letters[1] == "N" else 0]
    c = zeros(a, shape, routine.dtype) if c is None else routine.output_matrix(c, bool(overwrite_c))
    written = routine.matrix(c)
    if tuple(written.shape) != shape:
        routine.fail("c", f"has shape {tuple(c.shape)}; the product has {shape}")
    found = routine.compute(
        a,
        b,
        written,
        alpha=routine.number("alpha", alpha),
        beta=routine.number("beta", beta),
        trans_a=letters[0],
        trans_b=letters[1],
    )
    return c if found is written else reshaped(found, *c.shape)


BODIES: dict[str, Callable[..., Any]] = {"gemm": _gemm}
