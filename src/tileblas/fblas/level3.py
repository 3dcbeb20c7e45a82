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


def _symm(
    routine: Routine,
    alpha: Any,
    a: Any,
    b: Any,
    beta: Any = 0.0,
    c: Any = None,
    side: int = 0,
    lower: int = 0,
    overwrite_c: int = 0,
) -> Any:
    """C := alpha A B + beta C, or with `side` alpha B A + beta C, for the triangle of A that is in
    a: the upper one, or with `lower` the lower one; C is by columns."""
    letters = {"side": routine.option("side", side), "uplo": routine.option("lower", lower)}
    factors = {"alpha": routine.number("alpha", alpha), "beta": routine.number("beta", beta)}
    a, b = routine.square("a", a), routine.matrix(b)

    def product(matrix: Any) -> Any:
        return routine.compute(a, b, matrix, **factors, **letters)

    return routine.updated_matrix("c", c, overwrite_c, tuple(b.shape), a, product)


def _syrk(
    routine: Routine,
    alpha: Any,
    a: Any,
    beta: Any = 0.0,
    c: Any = None,
    trans: int = 0,
    lower: int = 0,
    overwrite_c: int = 0,
) -> Any:
    """C := alpha op(A) op(A)^T + beta C, of herk alpha op(A) op(A)^H + beta C, in the upper
    triangle, or with `lower` in the lower one; C is by columns, and, if not given, 0."""
    options = {"trans": routine.option("trans", trans), "uplo": routine.option("lower", lower)}
    factors = {"alpha": routine.number("alpha", alpha), "beta": routine.number("beta", beta)}
    a = routine.matrix(a)
    n = a.shape[0 if options["trans"] == "N" else 1]

    def product(matrix: Any) -> Any:
        return routine.compute(a, matrix, **factors, **options)

    return routine.updated_matrix("c", c, overwrite_c, (n, n), a, product)


def _syr2k(
    routine: Routine,
    alpha: Any,
    a: Any,
    b: Any,
    beta: Any = 0.0,
    c: Any = None,
    trans: int = 0,
    lower: int = 0,
    overwrite_c: int = 0,
) -> Any:
    """C := alpha op(A) op(B)^T + alpha op(B) op(A)^T + beta C, of her2k alpha op(A) op(B)^H
    + conj(alpha) op(B) op(A)^H + beta C, in the upper triangle, or with `lower` in the lower one; C
    is by columns, and, if not given, 0. syrkx and herkx have the first product alone, and
    skewsyr2k subtracts it."""
    options = {"trans": routine.option("trans", trans), "uplo": routine.option("lower", lower)}
    factors = {"alpha": routine.number("alpha", alpha), "beta": routine.number("beta", beta)}
    a, b = routine.matrix(a), routine.matrix(b)
    n = a.shape[0 if options["trans"] == "N" else 1]

    def product(matrix: Any) -> Any:
        return routine.compute(a, b, matrix, **factors, **options)

    return routine.updated_matrix("c", c, overwrite_c, (n, n), a, product)


def _gemmtr(
    routine: Routine,
    alpha: Any,
    a: Any,
    b: Any,
    beta: Any = 0.0,
    c: Any = None,
    lower: int = 0,
    trans_a: int = 0,
    trans_b: int = 0,
    overwrite_c: int = 0,
) -> Any:
    """C := alpha op(A) op(B) + beta C in the upper triangle, or with `lower` in the lower one; C is
    by columns, and, if not given, 0."""
    options = {
        "uplo": routine.option("lower", lower),
        "trans_a": routine.option("trans_a", trans_a),
        "trans_b": routine.option("trans_b", trans_b),
    }
    factors = {"alpha": routine.number("alpha", alpha), "beta": routine.number("beta", beta)}
    a, b = routine.matrix(a), routine.matrix(b)
    n = a.shape[0 if options["trans_a"] == "N" else 1]

    def product(matrix: Any) -> Any:
        return routine.compute(a, b, matrix, **factors, **options)

    return routine.updated_matrix("c", c, overwrite_c, (n, n), a, product)


BODIES: dict[str, Callable[..., Any]] = {
    "gemm": _gemm,
    "gemmtr": _gemmtr,
    **dict.fromkeys(("symm", "hemm", "skewsymm"), _symm),
    **dict.fromkeys(("syrk", "herk"), _syrk),
    **dict.fromkeys(("syrkx", "herkx", "syr2k", "her2k", "skewsyr2k"), _syr2k),
}
