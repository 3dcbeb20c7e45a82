"""What each update of a matrix by vectors does: a function with SciPy's parameters, after the
Routine.

There is one for each list of parameters, for all routines that share it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

from tileblas.core.storage import packed_length
from tileblas.fblas.routine import Routine
from tileblas.fblas.vectors import Vector, updated, view_of


def _ger(
    routine: Routine,
    alpha: Any,
    x: Any,
    y: Any,
    incx: int = 1,
    incy: int = 1,
    a: Any = None,
    overwrite_x: int = 1,
    overwrite_y: int = 1,
    overwrite_a: int = 0,
) -> Any:
    """A := alpha x y^T + A, of gerc alpha x y^H + A, for all of x and y; A, if not given, is 0. x
    and y are only read, whatever `overwrite_x` and `overwrite_y` say."""
    vectors = {"x": routine.read(x, 0, incx), "y": routine.read(y, 0, incy)}
    for name, vector in vectors.items():
        if abs(vector.step) != 1:
            routine.fail(f"inc{name}", f"is {vector.step}; here it is 1 or -1")
    m, n = (prod(vector.array.shape) for vector in vectors.values())
    update = _update(routine, alpha, vectors, (m, n))
    return routine.updated_matrix("a", a, overwrite_a, (m, n), vectors["x"].array, update)


def _syr(
    routine: Routine,
    alpha: Any,
    x: Any,
    lower: int = 0,
    incx: int = 1,
    offx: int = 0,
    n: int | None = None,
    a: Any = None,
    overwrite_a: int = 0,
) -> Any:
    """A := alpha x x^T + A, of her alpha x x^H + A, in the upper triangle, or with `lower` in the
    lower one; A, if not given, is 0."""
    return _triangle(routine, alpha, {"x": routine.read(x, offx, incx)}, lower, n, a, overwrite_a)


def _syr2(
    routine: Routine,
    alpha: Any,
    x: Any,
    y: Any,
    lower: int = 0,
    incx: int = 1,
    offx: int = 0,
    incy: int = 1,
    offy: int = 0,
    n: int | None = None,
    a: Any = None,
    overwrite_a: int = 0,
) -> Any:
    """A := alpha x y^T + alpha y x^T + A, or as her2 and skewsyr2 have it, in the upper triangle,
    or with `lower` in the lower one; A, if not given, is 0."""
    vectors = {"x": routine.read(x, offx, incx), "y": routine.read(y, offy, incy)}
    return _triangle(routine, alpha, vectors, lower, n, a, overwrite_a)


def _spr(
    routine: Routine,
    n: int,
    alpha: Any,
    x: Any,
    ap: Any,
    incx: int = 1,
    offx: int = 0,
    lower: int = 0,
    overwrite_ap: int = 0,
) -> Any:
    """A := alpha x x^T + A, of hpr alpha x x^H + A, in the triangle, of order n, with which ap
    begins: the upper one, or with `lower` the lower one."""
    return _packed(routine, n, alpha, {"x": routine.read(x, offx, incx)}, ap, lower, overwrite_ap)


def _spr2(
    routine: Routine,
    n: int,
    alpha: Any,
    x: Any,
    y: Any,
    ap: Any,
    incx: int = 1,
    offx: int = 0,
    incy: int = 1,
    offy: int = 0,
    lower: int = 0,
    overwrite_ap: int = 0,
) -> Any:
    """A := alpha x y^T + alpha y x^T + A, of hpr2 alpha x y^H + conj(alpha) y x^H + A, in the
    triangle, of order n, with which ap begins: the upper one, or with `lower` the lower one."""
    vectors = {"x": routine.read(x, offx, incx), "y": routine.read(y, offy, incy)}
    return _packed(routine, n, alpha, vectors, ap, lower, overwrite_ap)


def _triangle(
    routine: Routine,
    alpha: Any,
    vectors: Mapping[str, Vector],
    lower: Any,
    n: Any,
    a: Any,
    overwrite: Any,
) -> Any:
    """The array of A after an update of one triangle; n, if not given, is what the shortest vector
    has."""
    if n is None:
        n = min(routine.count({name: v}, None, last=1) for name, v in vectors.items())
    n = routine.size("n", n)
    update = _update(routine, alpha, vectors, (n, n), uplo=routine.option("lower", lower))
    return routine.updated_matrix("a", a, overwrite, (n, n), vectors["x"].array, update)


def _packed(
    routine: Routine,
    n: Any,
    alpha: Any,
    vectors: Mapping[str, Vector],
    ap: Any,
    lower: Any,
    overwrite: Any,
) -> Any:
    """The array of a packed triangle of order n after an update."""
    n = routine.size("n", n)
    triangle, count = routine.written(ap, overwrite, 0, 1), packed_length(n)
    routine.check("ap", triangle, count)
    update = _update(routine, alpha, vectors, (n, n), uplo=routine.option("lower", lower))
    return updated(triangle, count, update)


def _update(
    routine: Routine,
    alpha: Any,
    vectors: Mapping[str, Vector],
    counts: tuple[int, int],
    **options: str,
) -> Callable[[Any], Any]:
    """What writes a matrix, given it: an update by vectors with so many elements."""
    views = []
    for (name, vector), count in zip(vectors.items(), counts, strict=False):  # one for rank 1
        routine.check(name, vector, count)
        views.append(view_of(vector, count))
    factor = routine.number("alpha", alpha)
    return lambda matrix: routine.compute(*views, matrix, alpha=factor, **options)


BODIES: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("ger", "geru", "gerc"), _ger),
    **dict.fromkeys(("syr", "her"), _syr),
    **dict.fromkeys(("syr2", "her2", "skewsyr2"), _syr2),
    **dict.fromkeys(("spr", "hpr"), _spr),
    **dict.fromkeys(("spr2", "hpr2"), _spr2),
}
