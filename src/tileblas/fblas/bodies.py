"""What each routine does: a function with SciPy's parameters, after the Routine itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tileblas.fblas.routine import Routine, Vector, plain, updated, view_of, zeros


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
    """sum_i x_i y_i over n elements; dotc: sum_i conj(x_i) y_i."""
    vectors = {"x": (routine.array(x), offx, incx), "y": (routine.array(y), offy, incy)}
    count = routine.count(vectors, n)
    return plain(routine.compute(*(view_of(vector, count) for vector in vectors.values())))


def _nrm2(routine: Routine, x: Any, n: int | None = None, offx: int = 0, incx: int = 1) -> Any:
    """sqrt(sum_i |x_i|^2) over n elements. BlasError for a negative increment, as in SciPy."""
    vector = routine.array(x), offx, incx
    if incx < 0:
        routine.fail("incx", f"is {incx}; here it has to be positive")
    return plain(routine.compute(view_of(vector, routine.count({"x": vector}, n))))


def _scal(
    routine: Routine, a: Any, x: Any, n: int | None = None, offx: int = 0, incx: int = 1
) -> Any:
    """x := a x on n elements; in place, where x has the type."""
    return _scaled(routine, routine.number("a", a), (routine.output(x, True), offx, incx), n)


def real_scal(
    routine: Routine,
    a: Any,
    x: Any,
    n: int | None = None,
    offx: int = 0,
    incx: int = 1,
    overwrite_x: int = 0,
) -> Any:
    """The same with a real factor on complex elements; in place only if `overwrite_x`."""
    factor = routine.number("a", a)
    factor = factor.real if isinstance(factor, complex) else factor
    return _scaled(routine, factor, (routine.output(x, bool(overwrite_x)), offx, incx), n)


def _scaled(routine: Routine, factor: Any, vector: Vector, n: int | None) -> Any:
    """The array of a vector with n elements scaled; as it is for a negative increment."""
    count = routine.count({"x": vector}, n)
    if vector[2] < 0:  # BLAS does nothing then
        return vector[0]
    return updated(vector, count, lambda view: routine.compute(view, alpha=factor))


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
    vectors = {"x": (routine.array(x), offx, incx), "y": (routine.output(y, True), offy, incy)}
    count, alpha = routine.count(vectors, n), routine.number("a", a)
    read = view_of(vectors["x"], count)
    return updated(vectors["y"], count, lambda view: routine.compute(read, view, alpha=alpha))


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
    x = routine.array(x), offx, incx
    routine.check("x", x, columns)
    if y is None:
        length = offy + (rows - 1) * abs(incy) + 1 if rows else 0
        y = zeros(a, (max(length, 0),), routine.dtype)
    else:
        y = routine.output(y, bool(overwrite_y))
    routine.check("y", (y, offy, incy), rows)
    read = view_of(x, columns)
    return updated(
        (y, offy, incy),
        rows,
        lambda view: routine.compute(a, read, view, trans=letter, **factors),
    )


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
    return c if found is written else found.reshape(c.shape)


BODIES: dict[str, Callable[..., Any]] = {
    "dot": _dot,
    "dotc": _dot,
    "dotu": _dot,
    "nrm2": _nrm2,
    "scal": _scal,
    "axpy": _axpy,
    "gemv": _gemv,
    "gemm": _gemm,
}
