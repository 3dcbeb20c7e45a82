"""What products with a symmetric, Hermitian or skew matrix, or in one triangle, must return.

The matrix is made in full from what its array stores (see `stored`). The diagonal of a skew one is
not there and does not multiply: a zero never meets a NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from tileblas.check.evaluation import (
    Product,
    Reference,
    evaluate,
    evaluate_sum,
    transposed,
    widen,
)
from tileblas.check.level2_oracles import in_cells
from tileblas.check.stored import Dense, dense, matrix_of
from tileblas.core.spec import Spec
from tileblas.routines.registry import ROUTINES

# ---- a matrix on one side -----------------------------------------------------------------------


def sided(
    routine: str, a, b, compute: str, c=None, alpha=1.0, beta=0.0, side="L", uplo="U"
) -> Reference:
    """alpha A B + beta C, or alpha B A + beta C, for an A of which one triangle is stored."""
    full = _full(ROUTINES[routine], a, {"side": side, "uplo": uplo})
    b, c = widen(b), None if c is None else widen(c)
    if side == "L":
        return _product(full, b, c, alpha, beta, compute)
    # B A is the transpose of A^T B^T.
    turned = Dense(*(transposed(part, "T") for part in full))
    old = None if c is None else transposed(c, "T")
    out = _product(turned, transposed(b, "T"), old, alpha, beta, compute)
    return _each_part(out, lambda part: transposed(part, "T"))


def _full(spec: Spec, stored, options: dict[str, Any]) -> Dense:
    """The matrix with a structure, from its array."""
    stored = widen(stored)
    return dense(spec, stored, stored.shape[-2:], options)


def _product(a: Dense, b, c, alpha, beta, compute: str) -> Reference:
    """alpha A B + beta C, of the elements of A that are there."""
    if a.there.all() or np.isfinite(b).all():  # a zero adds nothing then
        return evaluate(a.values, b, c, alpha, beta, compute)
    # Each row by itself, with zeros in B where the row has no element.
    rows = a.values[..., :, None, :]
    others = np.where(a.there[:, :, None], b[..., None, :, :], 0)
    old = None if c is None else c[..., :, None, :]
    out = _each_part(
        evaluate(rows, others, old, alpha, beta, compute), lambda part: part[..., 0, :]
    )
    return replace(out, quality=None)  # B has no norm


def _each_part(out: Reference, change: Callable[[np.ndarray], np.ndarray]) -> Reference:
    """The reference whose arrays are made of those of another one."""
    return replace(
        out,
        value=change(out.value),
        tail=change(out.tail),
        gauge=change(out.gauge),
        reach=change(out.reach),
        kind=change(out.kind),
    )


# ---- one triangle of the result -----------------------------------------------------------------


def triangle_product(
    routine: str, a, b, compute: str, c=None, alpha=1.0, beta=0.0, uplo="U", **letters
) -> Reference:
    """alpha op(A) op(B) + beta C in the cells of one triangle of C."""
    a, b = (transposed(widen(x), letters.get(f"trans_{n}", "N")) for n, x in (("a", a), ("b", b)))
    return _in_triangle(ROUTINES[routine], [(alpha, a, b)], c, beta, compute, uplo)


def partnered(
    routine: str, a, compute: str, b=None, c=None, alpha=1.0, beta=0.0, uplo="U", trans="N"
) -> Reference:
    """alpha op(A) op(B)^T + beta C in one triangle of C, with ^H for a Hermitian C.

    B is A where there is none. Of a rank of 2k there is alpha op(B) op(A)^T as well, of a Hermitian
    C with conj(alpha); of a skew one the first product is subtracted.
    """
    spec = ROUTINES[routine]
    hermitian = spec.structure == "hermitian"
    turn = "C" if hermitian else "T"
    a = transposed(widen(a), trans)
    b = a if b is None else transposed(widen(b), trans)
    products = [(alpha, a, transposed(b, turn))]
    if spec.twice:
        products.append((np.conj(alpha) if hermitian else alpha, b, transposed(a, turn)))
    if spec.structure == "skew":
        products[0] = (-alpha, *products[0][1:])
    return _in_triangle(spec, products, c, beta, compute, uplo)


def _in_triangle(
    spec: Spec, products: list[Product], c, beta, compute: str, uplo: str
) -> Reference:
    """The sum of products alpha A B and beta C in the cells of one triangle.

    A new C holds zeros elsewhere, and in a given one other cells are not part of the result. A
    Hermitian diagonal is real, but for that of a given C to which nothing is added.
    """
    given = {"uplo": uplo, "c": c}
    old = None if c is None else _full(spec, c, given).values
    out = evaluate_sum(products, old, beta, compute)
    alpha, a, _ = products[0]
    adds_nothing = c is not None and beta == 1 and (alpha == 0 or a.shape[-1] == 0)
    real_diagonal = spec.structure == "hermitian" and not adds_nothing
    return in_cells(spec, out, given, is_new=c is None, real_diagonal=real_diagonal)


# ---- all of them --------------------------------------------------------------------------------


def _of(spec: Spec) -> Callable[..., Reference]:
    """The oracle of a product by what its Spec says of its matrices."""
    matrix = matrix_of(spec)
    assert matrix is not None
    if not matrix.is_output:
        return partial(sided, spec.name)
    return partial(partnered if spec.partner else triangle_product, spec.name)


ORACLES = {
    spec.name: _of(spec) for spec in ROUTINES.values() if spec.level == 3 and spec.name != "gemm"
}
