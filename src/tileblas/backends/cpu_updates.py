"""Updates of a matrix by products of vectors on the CPU: ger, syr, her and their kin, in place."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tileblas.backends import cpu_buffers as buffers
from tileblas.backends import cpu_direct as direct
from tileblas.backends.cpu_elements import elements
from tileblas.core.call import Problem
from tileblas.core.dtypes import HALF, DType
from tileblas.core.operand import numpy_view

Term = tuple[np.ndarray, np.ndarray]


@np.errstate(all="ignore")
def update(problem: Problem, addresses: Sequence[int], alpha: complex) -> None:
    """A := A + the sum of u v^T over the terms, in the elements that are there.

    A new A is 0 in all others, and has no old value: alpha = 0 leaves 0 everywhere.
    """
    *vectors, view = problem.views
    if view.dtype in HALF:
        buffers.refuse_if_forbidden(problem.routine, "half types on the CPU")
    a = elements(problem, len(vectors), addresses[-1])
    if problem.fresh:
        a.stored[...] = 0
        if alpha == 0:
            return
    if direct.update(problem, addresses, alpha):
        return
    values = [
        buffers.load(v.dtype, numpy_view(address, v.dtype, v.shape, v.strides), v.conj)
        for v, address in zip(vectors, addresses[:-1], strict=True)
    ]
    terms = _terms(problem.structure.kind if problem.structure else "", alpha, values)
    if a.turned:
        terms = [(v, u) for u, v in terms]
    if a.is_dense:
        for rows, columns, stored, there in a.blocks():
            _add(view.dtype, stored, [(u[rows], v[columns]) for u, v in terms], there)
    else:
        for i, start, stop, line in a.lines():
            for u, v in terms:
                line += u[i] * v[start:stop]
    if problem.structure and problem.structure.kind == "hermitian":
        a.make_diagonal_real()


def _terms(kind: str, alpha: complex, vectors: Sequence[np.ndarray]) -> list[Term]:
    """The vectors u and v of the terms: alpha x x^T, alpha x y^T, or two of these."""
    x, y = vectors[0], vectors[-1]
    turned = np.conjugate if kind == "hermitian" else np.asarray
    first = _times(-alpha if kind == "skew" else alpha, x), turned(y)
    if len(vectors) == 1 or not kind:
        return [first]
    return [first, (_times(alpha.conjugate() if kind == "hermitian" else alpha, y), turned(x))]


def _times(alpha: complex, x: np.ndarray) -> np.ndarray:
    """alpha x; a real-typed alpha scales the parts of complex numbers apart."""
    values = x.copy()
    buffers.scale(values, alpha)
    return values


def _add(dtype: DType, stored: np.ndarray, terms: Sequence[Term], there: np.ndarray | None) -> None:
    """A block := block + sum u v^T; of a half type computed in float32 and rounded once."""
    values = buffers.load(dtype, stored) if dtype in HALF else stored
    for u, v in terms:
        np.add(values, np.multiply.outer(u, v), out=values, where=True if there is None else there)
    if values is not stored:
        buffers.store(dtype, stored, values)
