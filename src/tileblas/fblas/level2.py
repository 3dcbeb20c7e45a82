"""What each product of a matrix and a vector does, and each solve: a function with SciPy's
parameters, after the Routine.

There is one for each list of parameters, for all routines that share it. Those that SciPy lacks
(skewsymv, gemvt) have theirs in the same style.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tileblas.fblas.routine import Routine
from tileblas.fblas.vectors import Vector, placed, stored, updated, view_of, zeros


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
    x, y = routine.read(x, offx, incx), _output(routine, a, rows, y, overwrite_y, offy, incy)
    return _product(routine, a, (rows, columns), x, y, alpha, beta, trans=letter)


def _gbmv(
    routine: Routine,
    m: int,
    n: int,
    kl: int,
    ku: int,
    alpha: Any,
    a: Any,
    x: Any,
    incx: int = 1,
    offx: int = 0,
    beta: Any = 0.0,
    y: Any = None,
    incy: int = 1,
    offy: int = 0,
    trans: int = 0,
    overwrite_y: int = 0,
) -> Any:
    """y := alpha op(A) x + beta y for A with m rows, n columns, kl diagonals below and ku above the
    main one: the first kl + ku + 1 rows of a."""
    letter, m, n = routine.option("trans", trans), routine.size("m", m), routine.size("n", n)
    kl, ku = routine.size("kl", kl), routine.size("ku", ku)
    a = routine.band("a", a, kl + ku + 1)
    if a.shape[1] != n:
        routine.fail("n", f"is {n}; a has {a.shape[1]} columns")
    rows, columns = (m, n) if letter == "N" else (n, m)
    x, y = routine.read(x, offx, incx), _output(routine, a, rows, y, overwrite_y, offy, incy)
    return _product(routine, a, (rows, columns), x, y, alpha, beta, trans=letter, kl=kl, m=m)


def _symv(
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
    lower: int = 0,
    overwrite_y: int = 0,
) -> Any:
    """y := alpha A x + beta y for the triangle of A that is in a: the upper one, or with `lower`
    the lower one."""
    a = routine.square("a", a)
    n = a.shape[0]
    x, y = routine.read(x, offx, incx), _output(routine, a, n, y, overwrite_y, offy, incy)
    return _product(routine, a, (n, n), x, y, alpha, beta, uplo=routine.option("lower", lower))


def _sbmv(
    routine: Routine,
    k: int,
    alpha: Any,
    a: Any,
    x: Any,
    incx: int = 1,
    offx: int = 0,
    beta: Any = 0.0,
    y: Any = None,
    incy: int = 1,
    offy: int = 0,
    lower: int = 0,
    overwrite_y: int = 0,
) -> Any:
    """y := alpha A x + beta y for the k + 1 diagonals of a triangle of A that the first rows of a
    hold."""
    a = routine.band("a", a, routine.size("k", k) + 1)
    n = a.shape[1]
    x, y = routine.read(x, offx, incx), _output(routine, a, n, y, overwrite_y, offy, incy)
    return _product(routine, a, (n, n), x, y, alpha, beta, uplo=routine.option("lower", lower))


def _spmv(
    routine: Routine,
    n: int,
    alpha: Any,
    ap: Any,
    x: Any,
    incx: int = 1,
    offx: int = 0,
    beta: Any = 0.0,
    y: Any = None,
    incy: int = 1,
    offy: int = 0,
    lower: int = 0,
    overwrite_y: int = 0,
) -> Any:
    """y := alpha A x + beta y for the triangle of A, of order n, with which ap begins."""
    n = routine.size("n", n)
    ap = routine.packed("ap", ap, n)
    x, y = routine.read(x, offx, incx), _output(routine, ap, n, y, overwrite_y, offy, incy)
    return _product(routine, ap, (n, n), x, y, alpha, beta, uplo=routine.option("lower", lower))


def _gemvt(
    routine: Routine,
    alpha: Any,
    a: Any,
    x: Any,
    w: Any,
    beta: Any = 0.0,
    y: Any = None,
    z: Any = None,
    offx: int = 0,
    incx: int = 1,
    offw: int = 0,
    incw: int = 1,
    offy: int = 0,
    incy: int = 1,
    offz: int = 0,
    incz: int = 1,
    trans: int = 1,
    overwrite_y: int = 0,
    overwrite_z: int = 0,
) -> Any:
    """y := alpha A x + beta y and z := alpha op(A) w + beta z, both as gemv makes them; op(A) is
    transposed, or with trans = 2 conjugate transposed."""
    letter, a = routine.option("trans", trans), routine.matrix(a)
    m, n = a.shape
    reads = {"x": routine.read(x, offx, incx), "w": routine.read(w, offw, incw)}
    outputs = {
        "y": _output(routine, a, m, y, overwrite_y, offy, incy),
        "z": _output(routine, a, n, z, overwrite_z, offz, incz),
    }
    views = []
    for (name, vector), count in zip({**reads, **outputs}.items(), (n, m, m, n), strict=True):
        routine.check(name, vector, count)
        views.append(view_of(vector, count))
    found = views[2:]
    if m and n:
        found = routine.compute(a, *views, trans=letter, **_factors(routine, alpha, beta))
    return tuple(map(stored, outputs.values(), (m, n), views[2:], found))


def _output(
    routine: Routine, like: Any, count: int, y: Any, overwrite: Any, offset: Any, increment: Any
) -> Vector:
    """The vector of `count` elements that a product is written to: if none is given, zeros."""
    if y is None:
        _, offset, step = placed(None, offset, increment)
        length = offset + (count - 1) * abs(step) + 1 if count else 0
        y, overwrite = zeros(like, (max(length, 0),), routine.dtype), True
    return routine.written(y, overwrite, offset, increment)


def _product(
    routine: Routine,
    matrix: Any,
    shape: tuple[int, int],
    x: Vector,
    y: Vector,
    alpha: Any,
    beta: Any,
    **options: Any,
) -> Any:
    """The array of y := alpha op(A) x + beta y, op(A) being of that shape."""
    rows, columns = shape
    routine.check("x", x, columns)
    routine.check("y", y, rows)
    factors, read = _factors(routine, alpha, beta), view_of(x, columns)
    if not (rows and columns):  # BLAS leaves y alone then, whatever beta is
        return y.array
    return updated(y, rows, lambda view: routine.compute(matrix, read, view, **factors, **options))


def _factors(routine: Routine, alpha: Any, beta: Any) -> dict[str, Any]:
    return {"alpha": routine.number("alpha", alpha), "beta": routine.number("beta", beta)}


def _trmv(
    routine: Routine,
    a: Any,
    x: Any,
    offx: int = 0,
    incx: int = 1,
    lower: int = 0,
    trans: int = 0,
    diag: int = 0,
    overwrite_x: int = 0,
) -> Any:
    """x := op(A) x for the triangle of A that is in a: the upper one, or with `lower` the lower
    one; in place only if `overwrite_x`."""
    x = routine.written(x, overwrite_x, offx, incx)
    a = routine.square("a", a)
    return _triangular(routine, a, a.shape[0], x, lower, trans, diag)


def _trsv(
    routine: Routine,
    a: Any,
    x: Any,
    incx: int = 1,
    offx: int = 0,
    lower: int = 0,
    trans: int = 0,
    diag: int = 0,
    overwrite_x: int = 0,
) -> Any:
    """x := op(A)^-1 x for the triangle of A that is in a: the upper one, or with `lower` the lower
    one; in place only if `overwrite_x`."""
    return _trmv(routine, a, x, offx, incx, lower, trans, diag, overwrite_x)


def _tbmv(
    routine: Routine,
    k: int,
    a: Any,
    x: Any,
    incx: int = 1,
    offx: int = 0,
    lower: int = 0,
    trans: int = 0,
    diag: int = 0,
    overwrite_x: int = 0,
) -> Any:
    """x := op(A) x, or op(A)^-1 x of tbsv, for the k + 1 diagonals of a triangle A that the first
    rows of a hold; in place only if `overwrite_x`."""
    x = routine.written(x, overwrite_x, offx, incx)
    a = routine.band("a", a, routine.size("k", k) + 1)
    return _triangular(routine, a, a.shape[1], x, lower, trans, diag)


def _tpmv(
    routine: Routine,
    n: int,
    ap: Any,
    x: Any,
    incx: int = 1,
    offx: int = 0,
    lower: int = 0,
    trans: int = 0,
    diag: int = 0,
    overwrite_x: int = 0,
) -> Any:
    """x := op(A) x, or op(A)^-1 x of tpsv, for the triangle A, of order n, with which ap begins; in
    place only if `overwrite_x`."""
    x = routine.written(x, overwrite_x, offx, incx)
    n = routine.size("n", n)
    return _triangular(routine, routine.packed("ap", ap, n), n, x, lower, trans, diag)


def _triangular(
    routine: Routine, matrix: Any, n: int, x: Vector, lower: Any, trans: Any, diag: Any
) -> Any:
    """The array of x after a product with a triangle of order n, or a solve."""
    letters = {
        "uplo": routine.option("lower", lower),
        "trans": routine.option("trans", trans),
        "diag": routine.option("diag", diag),
    }
    routine.check("x", x, n)
    return updated(x, n, lambda view: routine.compute(matrix, view, **letters))


BODIES: dict[str, Callable[..., Any]] = {
    "gemv": _gemv,
    "gbmv": _gbmv,
    **dict.fromkeys(("symv", "hemv", "skewsymv"), _symv),
    **dict.fromkeys(("sbmv", "hbmv"), _sbmv),
    **dict.fromkeys(("spmv", "hpmv"), _spmv),
    "gemvt": _gemvt,
    "trmv": _trmv,
    "trsv": _trsv,
    **dict.fromkeys(("tbmv", "tbsv"), _tbmv),
    **dict.fromkeys(("tpmv", "tpsv"), _tpmv),
}
