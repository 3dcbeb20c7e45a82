"""What each routine of level 1 does: a function with SciPy's parameters, after the Routine.

Those that SciPy lacks (axpby, axpydot, iamin, dsdot, sdsdot, rot with a complex sine) have theirs
in the same style: netlib's names without the letter of the type, numbers and places optional.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tileblas.fblas.routine import Routine
from tileblas.fblas.vectors import Vector, all_updated, copied, plain, stored, updated, view_of


def _dot(
    routine: Routine,
    x: Any,
    y: Any,
    n: int | None = None,
    offx: int = 0,
    incx: int = 1,
    offy: int = 0,
    incy: int = 1,
) -> Any:
    """sum_i x_i y_i over n elements; dotc: sum_i conj(x_i) y_i; dsdot: in double precision."""
    vectors = {"x": routine.read(x, offx, incx), "y": routine.read(y, offy, incy)}
    return _sum(routine, vectors, n)


def _sdsdot(
    routine: Routine,
    x: Any,
    y: Any,
    n: int | None = None,
    b: Any = 0.0,
    offx: int = 0,
    incx: int = 1,
    offy: int = 0,
    incy: int = 1,
) -> Any:
    """b + sum_i x_i y_i over n elements, added in double precision."""
    vectors = {"x": routine.read(x, offx, incx), "y": routine.read(y, offy, incy)}
    return _sum(routine, vectors, n, alpha=routine.number("b", b))


def _sum(routine: Routine, vectors: dict[str, Vector], n: int | None, **scalars: Any) -> Any:
    """What a routine makes of vectors that it reads."""
    count = routine.count(vectors, n)
    return plain(routine.compute(*(view_of(v, count) for v in vectors.values()), **scalars))


def _nrm2(routine: Routine, x: Any, n: int | None = None, offx: int = 0, incx: int = 1) -> Any:
    """sqrt(sum_i |x_i|^2) over n elements. BlasError for a negative increment, as in SciPy."""
    vector = routine.read(x, offx, incx)
    if vector.step < 0:
        routine.fail("incx", f"is {incx}; here it has to be positive")
    return _sum(routine, {"x": vector}, n)


def _asum(routine: Routine, x: Any, n: int | None = None, offx: int = 0, incx: int = 1) -> Any:
    """sum_i |re x_i| + |im x_i| over n elements; 0 for a negative increment, as in BLAS."""
    vector = routine.read(x, offx, incx)
    count = routine.count({"x": vector}, n)
    return plain(routine.compute(view_of(vector, count if vector.step > 0 else 0)))


def _place(routine: Routine, x: Any, n: int | None = None, offx: int = 0, incx: int = 1) -> Any:
    """The place, from 0 on, of the first of n elements with the largest |re x_i| + |im x_i|, of
    iamin with the smallest; -1 for n = 0 and for a negative increment."""
    vector = routine.read(x, offx, incx)
    if 0 in vector.array.shape:
        routine.fail("x", "is empty; it has no such element")
    count = routine.count({"x": vector}, n)
    if count and vector.step > 0:
        return plain(routine.compute(view_of(vector, count)))
    # In the type and the library of a place: the one before that of a single element.
    return plain(routine.compute(view_of(Vector(vector.array, 0, 1), 1)) - 1)


def _scal(
    routine: Routine, a: Any, x: Any, n: int | None = None, offx: int = 0, incx: int = 1
) -> Any:
    """x := a x on n elements; in place, where x has the type."""
    return _scaled(routine, routine.number("a", a), routine.written(x, True, offx, incx), n)


def _real_scal(
    routine: Routine,
    a: Any,
    x: Any,
    n: int | None = None,
    offx: int = 0,
    incx: int = 1,
    overwrite_x: int = 0,
) -> Any:
    """x := a x on n elements with a real factor; in place only if `overwrite_x`."""
    return _scaled(routine, routine.real("a", a), routine.written(x, overwrite_x, offx, incx), n)


def _scaled(routine: Routine, factor: Any, vector: Vector, n: int | None) -> Any:
    """The array of a vector with n elements scaled; as it is for a negative increment."""
    count = routine.count({"x": vector}, n)
    if vector.step < 0:  # BLAS does nothing then
        return vector.array
    return updated(vector, count, lambda view: routine.compute(view, alpha=factor))


def _copy(
    routine: Routine,
    x: Any,
    y: Any,
    n: int | None = None,
    offx: int = 0,
    incx: int = 1,
    offy: int = 0,
    incy: int = 1,
) -> Any:
    """y := x on n elements; in place, where y has the type."""
    return _added(routine, routine.read(x, offx, incx), routine.written(y, True, offy, incy), n)


def _axpy(
    routine: Routine,
    x: Any,
    y: Any,
    n: int | None = None,
    a: Any = 1.0,
    offx: int = 0,
    incx: int = 1,
    offy: int = 0,
    incy: int = 1,
) -> Any:
    """y := a x + y on n elements; in place, where y has the type."""
    alpha = routine.number("a", a)
    vectors = routine.read(x, offx, incx), routine.written(y, True, offy, incy)
    return _added(routine, *vectors, n, alpha=alpha)


def _axpby(
    routine: Routine,
    x: Any,
    y: Any,
    n: int | None = None,
    a: Any = 1.0,
    b: Any = 1.0,
    offx: int = 0,
    incx: int = 1,
    offy: int = 0,
    incy: int = 1,
) -> Any:
    """y := a x + b y on n elements; in place, where y has the type."""
    factors = {"alpha": routine.number("a", a), "beta": routine.number("b", b)}
    vectors = routine.read(x, offx, incx), routine.written(y, True, offy, incy)
    return _added(routine, *vectors, n, **factors)


def _added(routine: Routine, x: Vector, y: Vector, n: int | None, **scalars: Any) -> Any:
    """The array of y after a routine has read x and written n elements of y."""
    count = routine.count({"x": x, "y": y}, n)
    read = view_of(x, count)
    return updated(y, count, lambda view: routine.compute(read, view, **scalars))


def _axpydot(
    routine: Routine,
    w: Any,
    v: Any,
    u: Any,
    n: int | None = None,
    a: Any = 1.0,
    offw: int = 0,
    incw: int = 1,
    offv: int = 0,
    incv: int = 1,
    offu: int = 0,
    incu: int = 1,
    overwrite_w: int = 0,
) -> Any:
    """w := w - a v on n elements, and r := sum_i w_i u_i of it; in place only if `overwrite_w`."""
    alpha, output = routine.number("a", a), routine.written(w, overwrite_w, offw, incw)
    reads = {"v": routine.read(v, offv, incv), "u": routine.read(u, offu, incu)}
    count = routine.count({"w": output, **reads}, n)
    view = view_of(output, count)
    z, r = routine.compute(
        view, *(view_of(vector, count) for vector in reads.values()), view, alpha=alpha
    )
    return stored(output, count, view, z), plain(r)


def _swap(
    routine: Routine,
    x: Any,
    y: Any,
    n: int | None = None,
    offx: int = 0,
    incx: int = 1,
    offy: int = 0,
    incy: int = 1,
) -> Any:
    """x, y := y, x on n elements; in place, each where it has the type."""
    x, y = routine.written(x, True, offx, incx), routine.written(y, True, offy, incy)
    return all_updated((x, y), routine.count({"x": x, "y": y}, n), routine.compute)


def _rot(
    routine: Routine,
    x: Any,
    y: Any,
    c: Any,
    s: Any,
    n: int | None = None,
    offx: int = 0,
    incx: int = 1,
    offy: int = 0,
    incy: int = 1,
    overwrite_x: int = 0,
    overwrite_y: int = 0,
) -> Any:
    """x, y := c x + s y, c y - conj(s) x on n elements, with a real c; in place only if
    `overwrite_x`, `overwrite_y`."""
    x = routine.written(x, overwrite_x, offx, incx)
    y = routine.written(y, overwrite_y, offy, incy)
    return _rotated(routine, x, y, n, routine.real("c", c), routine.number("s", s))


def _real_rot(
    routine: Routine,
    x: Any,
    y: Any,
    c: Any,
    s: Any,
    n: int | None = None,
    offx: int = 0,
    incx: int = 1,
    offy: int = 0,
    incy: int = 1,
    overwrite_x: int = 0,
    overwrite_y: int = 0,
) -> Any:
    """x, y := c x + s y, c y - s x on n elements, with real c and s; in place only if
    `overwrite_x`, `overwrite_y`."""
    x = routine.written(x, overwrite_x, offx, incx)
    y = routine.written(y, overwrite_y, offy, incy)
    return _rotated(routine, x, y, n, routine.real("c", c), routine.real("s", s))


def _rotated(
    routine: Routine, x: Vector, y: Vector, n: int | None, c: Any, s: Any
) -> tuple[Any, ...]:
    """The arrays of two vectors, n elements of them rotated."""
    count = routine.count({"x": x, "y": y}, n, last=1)
    return all_updated((x, y), count, lambda *views: routine.compute(*views, c, s))


def _rotm(
    routine: Routine,
    x: Any,
    y: Any,
    param: Any,
    n: int | None = None,
    offx: int = 0,
    incx: int = 1,
    offy: int = 0,
    incy: int = 1,
    overwrite_x: int = 0,
    overwrite_y: int = 0,
) -> Any:
    """x, y := H (x, y) on n elements, for the H of `param`, five numbers as rotmg returns them; in
    place only if `overwrite_x`, `overwrite_y`."""
    x = routine.written(x, overwrite_x, offx, incx)
    y = routine.written(y, overwrite_y, offy, incy)
    numbers = routine.array(param).reshape(-1)
    if numbers.shape != (5,):
        routine.fail("param", f"has {len(numbers)} numbers; they are flag, h11, h21, h12, h22")
    count = routine.count({"x": x, "y": y}, n)
    return all_updated((x, y), count, lambda *views: routine.compute(*views, numbers))


def _rotg(routine: Routine, a: Any, b: Any) -> Any:
    """The rotation (c, s) that turns (a, b) to (r, 0); c is of the type of a and b, and real."""
    c, s, _, _ = routine.compute(*routine.numbers(a=a, b=b))
    return plain(routine.array(c)[()]), plain(s)


def _rotmg(routine: Routine, d1: Any, d2: Any, x1: Any, y1: Any) -> Any:
    """param of the modified rotation that turns (sqrt(d1) x1, sqrt(d2) y1) to (r, 0)."""
    numbers = routine.numbers(d1=d1, d2=d2, x1=x1, y1=y1)
    return routine.compute(*map(copied, numbers))


BODIES: dict[str, Callable[..., Any]] = {
    "dot": _dot,
    "dotc": _dot,
    "dotu": _dot,
    "dsdot": _dot,
    "sdsdot": _sdsdot,
    "nrm2": _nrm2,
    "asum": _asum,
    "iamax": _place,
    "iamin": _place,
    "scal": _scal,
    "copy": _copy,
    "axpy": _axpy,
    "axpby": _axpby,
    "swap": _swap,
    "rot": _rot,
    "rotm": _rotm,
    "axpydot": _axpydot,
    "rotg": _rotg,
    "rotmg": _rotmg,
}

#: On complex vectors with real numbers, by the routine.
REAL_BODIES: dict[str, Callable[..., Any]] = {"scal": _real_scal, "rot": _real_rot}
