"""What the routines on matrices that are not stored in full must return, and updates by vectors.

The matrix is made in full from what its array stores (see `stored`). Elements that are not there
do not multiply: a zero outside of a band or a triangle never meets a NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from tileblas.check.evaluation import (
    ANY,
    FINITE,
    INFINITE,
    NAN,
    NONFINITE,
    Expected,
    Product,
    Reference,
    References,
    Solution,
    abs1,
    evaluate,
    evaluate_sum,
    finite,
    scale,
    transposed,
    widen,
    without_axes,
)
from tileblas.check.stored import Dense, cells, dense, matrix_of, order_of, taken
from tileblas.core.spec import Spec
from tileblas.routines.registry import ROUTINES

# ---- products -----------------------------------------------------------------------------------


def product(routine: str, compute: str, x, y=None, alpha=1.0, beta=0.0, **given) -> Reference:
    """alpha op(A) x + beta y."""
    a = _full(ROUTINES[routine], given, x=x, y=y)
    return _product(a, widen(x), None if y is None else widen(y), alpha, beta, compute)


def triangular_product(routine: str, compute: str, x, **given) -> Reference:
    """op(A) x."""
    return _product(_full(ROUTINES[routine], given, x=x), widen(x), None, 1.0, 0.0, compute)


def both_products(
    a, x, w, compute: str, y=None, z=None, alpha=1.0, beta=0.0, trans="T"
) -> References:
    """alpha A x + beta y as y and alpha op(A) w + beta z as z."""
    everywhere = np.ones(a.shape[-2:], bool)
    first = Dense(widen(a), everywhere)
    second = Dense(transposed(first.values, trans), everywhere.T)
    y, z = (None if old is None else widen(old) for old in (y, z))
    return {
        "y": _product(first, widen(x), y, alpha, beta, compute),
        "z": _product(second, widen(w), z, alpha, beta, compute),
    }


def _full(spec: Spec, given: dict[str, Any], **vectors) -> Dense:
    """op(A) of a call, from its array and options by name."""
    arg = matrix_of(spec)
    assert arg is not None
    options = {name: given[name] for name in spec.option_names if name in given}
    stored = given[arg.name]
    known = {name: x.shape for name, x in vectors.items() if x is not None}
    size = order_of(spec, {arg.name: stored.shape, **known}, options)
    return dense(spec, widen(stored), size, options)


def _product(a: Dense, x, y, alpha, beta, compute: str) -> Reference:
    """alpha A x + beta y as a stack of rows, each a sum of what is there."""
    rows = np.where(a.there, x[..., None, :], 0)
    old = None if y is None else y[..., :, None, None]
    out = evaluate(a.values[..., :, None, :], rows[..., :, :, None], old, alpha, beta, compute)
    terms = min(out.terms, int(a.there.sum(axis=-1).max(initial=0)))
    out = replace(without_axes(out, 2, None), terms=terms, core=1)
    with np.errstate(all="ignore"):
        norms = [(alpha, a.values, x)] if alpha != 0 else []
        quality = scale(norms, np.zeros(1) if y is None else y, beta, terms, axes=1)
    return replace(out, quality=np.broadcast_to(quality, out.value.shape[:-1]))


# ---- updates ------------------------------------------------------------------------------------


def update(compute: str, x, y, a=None, alpha=1.0, conj: bool = False) -> Reference:
    """alpha x y^T + A, or alpha x y^H + A."""
    old = None if a is None else widen(a)
    return evaluate_sum([_outer(alpha, x, y, conj)], old, 1.0, compute)


def triangle_update(routine: str, compute: str, x, y=None, alpha=1.0, **given) -> Reference:
    """alpha x x^T + A, or alpha x y^T + alpha y x^T + A, in the cells of one triangle.

    With complex conjugates for a Hermitian A, whose diagonal is real; of a skew one the first
    product is subtracted. A new A holds zeros elsewhere, and in a given one other cells are
    not part of the result. With alpha = 0 a given A stays as it is, its diagonal too.
    """
    spec = ROUTINES[routine]
    arg = matrix_of(spec)
    assert arg is not None
    conj = spec.structure == "hermitian"
    products = [_outer(alpha, x, x if y is None else y, conj)]
    if y is not None:
        products.append(_outer(np.conj(alpha) if conj else alpha, y, x, conj))
    if spec.structure == "skew":
        products[0] = (-alpha, *products[0][1:])
    old = given.get(arg.name)
    if old is not None:
        old = _full(spec, given, x=x).values
    out = evaluate_sum(products, old, 1.0, compute)
    real_diagonal = conj and (old is None or alpha != 0)
    return in_cells(spec, out, given, is_new=old is None, real_diagonal=real_diagonal)


def _outer(alpha, x, y, conj: bool) -> Product:
    y = widen(y).conj() if conj else widen(y)
    return alpha, widen(x)[..., :, None], y[..., None, :]


def in_cells(
    spec: Spec, out: Reference, given: dict[str, Any], is_new: bool, real_diagonal: bool
) -> Reference:
    """The reference of a matrix in the cells of the array that stores one triangle of it.

    `given` holds the options, and the old array by its name.
    """
    arg = matrix_of(spec)
    assert arg is not None
    size = out.value.shape[-2:]
    shape = size if arg.ndim == 2 else (size[0] * (size[0] + 1) // 2,)
    where = cells(spec, shape, size, given)
    value, tail, gauge, reach = (
        taken(part, where) for part in (out.value, out.tail, out.gauge, out.reach)
    )
    kind = taken(out.kind, where, FINITE if is_new else ANY)
    real = None
    if spec.structure == "hermitian" and not real_diagonal:
        value = np.where(where.there, widen(given[arg.name]), value)
    if real_diagonal:
        real = np.broadcast_to(where.there & (where.row == where.column), value.shape)
        value, tail = (np.where(real, part.real, part) for part in (value, tail))
    return replace(
        out, value=value, tail=tail, gauge=gauge, reach=reach, kind=kind, core=arg.ndim, real=real
    )


# ---- solutions ----------------------------------------------------------------------------------


def solution(routine: str, compute: str, x, **given) -> Solution:
    """x in op(A) x = b, where x holds b before."""
    a, b = _full(ROUTINES[routine], given, x=x), widen(x)
    n, upper = b.shape[-1], (given.get("uplo", "U") == "U") == (given.get("trans", "N") == "N")
    largest = float(np.finfo(compute).max) / 4
    with np.errstate(all="ignore"):
        order = range(n)[::-1] if upper else range(n)
        found = _substituted(a.values, b, order)
        sizes = abs1(b) + (abs1(a.values) * abs1(found)[..., None, :]).sum(axis=-1)
        kind = np.full(b.shape, FINITE)
        if not (np.maximum(sizes, abs1(found)) <= largest).all():
            found, kind = _classified(a, b, order, largest)
    return Solution(*a, b, found, kind)


def _substituted(a: np.ndarray, b: np.ndarray, order: range) -> np.ndarray:
    """x by substitution in float64, element by element; right where all of them are finite."""
    x = np.zeros(b.shape, np.result_type(a, b))
    for i in order:
        x[..., i] = (b[..., i] - (a[..., i, :] * x).sum(axis=-1)) / a[..., i, i]
    return x


def _classified(
    full: Dense, b: np.ndarray, order: range, largest: float
) -> tuple[np.ndarray, np.ndarray]:
    """The same with the kind of each element, where only what is there multiplies.

    Once one overflows, or is divided by a complex infinity, those that depend on it may be
    anything.
    """
    a, is_complex = full.values, np.iscomplexobj(full.values)
    x, kind = np.zeros(b.shape, np.result_type(a, b)), np.zeros(b.shape, int)
    for i in order:
        others = full.there[i] & (np.arange(len(order)) != i)
        row, known, divisor = a[..., i, others], x[..., others], a[..., i, i]
        terms = np.where(kind[..., others] == ANY, np.nan, row * known)
        rest = b[..., i] - terms.sum(axis=-1)
        x[..., i] = rest / divisor
        sizes = np.where(np.isfinite(row) & np.isfinite(known), abs1(terms), 0)
        doubtful = (kind[..., others] == ANY).any(axis=-1)
        doubtful |= ~(abs1(finite(b[..., i])) + sizes.sum(axis=-1) <= largest)
        is_plain = np.isfinite(rest) & np.isfinite(divisor) & (divisor != 0)
        doubtful |= is_plain & ~(abs1(x[..., i]) <= largest)
        doubtful |= is_complex & ~np.isfinite(divisor)
        kind[..., i] = np.where(doubtful, ANY, _kind(x[..., i], is_complex))
    return x, kind


def _kind(x: np.ndarray, is_complex: bool) -> np.ndarray:
    """FINITE, or what else an element is; a complex one may be infinite or NaN in either part."""
    if is_complex:
        return np.where(np.isfinite(x), FINITE, NONFINITE)
    return np.where(np.isnan(x), NAN, np.where(np.isinf(x), INFINITE, FINITE))


# ---- all of them --------------------------------------------------------------------------------


def _of(spec: Spec) -> Callable[..., Expected | References]:
    """The oracle of a routine of level 2 by what its Spec says of its matrix and output."""
    if spec.structure == "both":
        return both_products
    if spec.updates:
        if not spec.structure:
            return partial(update, conj=bool(spec.conj))
        return partial(triangle_update, spec.name)
    if spec.structure != "triangular":
        return partial(product, spec.name)
    return partial(solution if spec.name.endswith("sv") else triangular_product, spec.name)


ORACLES = {
    spec.name: _of(spec) for spec in ROUTINES.values() if spec.level == 2 and spec.name != "gemv"
}
