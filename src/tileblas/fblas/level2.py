"""What each routine of level 2 does: a function with SciPy's parameters, after the Routine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tileblas.fblas.routine import Routine
from tileblas.fblas.vectors import placed, updated, view_of, zeros


def _gemv(
    routine: Routine,
    alpha: Any,
    a: Any,
    x: Any,
    beta: Any = 0.0,
    y: Any = None,
    offx: int = 0,
    incx: int = 1,
    offy: int = 0,
    incy: int = 1,
    trans: int = 0,
    overwrite_y: int = 0,
) -> Any:
    """y := alpha op(A) x + beta y; y, if not given, is as long as it has to be, and 0 elsewhere."""
    letter, a = routine.option("trans", trans), routine.matrix(a)
    rows, columns = a.shape if letter == "N" else a.shape[::-1]
    factors = {"alpha": routine.number("alpha", alpha), "beta": routine.number("beta", beta)}
    x = routine.read(x, offx, incx)
    routine.check("x", x, columns)
    if y is None:
        _, offset, step = placed(None, offy, incy)
        length = offset + (rows - 1) * abs(step) + 1 if rows else 0
        y, overwrite_y = zeros(a, (max(length, 0),), routine.dtype), True
    y = routine.written(y, overwrite_y, offy, incy)
    routine.check("y", y, rows)
    read = view_of(x, columns)
    return updated(y, rows, lambda view: routine.compute(a, read, view, trans=letter, **factors))


BODIES: dict[str, Callable[..., Any]] = {"gemv": _gemv}
