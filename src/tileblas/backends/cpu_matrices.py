"""Level 2 on the CPU beside gemv: products of matrices and vectors, and solves, on NumPy views.

A matrix is read where it lies, whatever its storage, and only where it has elements: blocks of it
by BLAS, rows and diagonals by NumPy. No element is multiplied that is not there, so that a NaN in x
reaches what it must and no more. Conjugates are taken of vectors: conj(A) x = conj(A conj(x)).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import copysign, frexp, inf, ldexp

import numpy as np

from tileblas.backends import blas_pointers as blas
from tileblas.backends import cpu_buffers as buffers
from tileblas.backends import cpu_direct as direct
from tileblas.backends.cpu_elements import Elements, elements
from tileblas.core.call import Problem, View
from tileblas.core.operand import numpy_view


def _stored(view: View, address: int) -> np.ndarray:
    return numpy_view(address, view.dtype, view.shape, view.strides)


def _conjugated(values: np.ndarray, conj: bool) -> np.ndarray:
    return np.conjugate(values) if conj else values


def _elements(problem: Problem, address: int) -> Elements:
    """The elements of the matrix that is read; NumPy copies blocks of some dense ones for BLAS."""
    a = elements(problem, 0, address)
    if a.is_dense and blas.operation(replace(problem.inputs[0], conj=False)) is None:
        why = "a matrix without a unit stride, or with overlapping rows, on the CPU"
        buffers.refuse_if_forbidden(problem.routine, why)
    return a


# ---- products -----------------------------------------------------------------------------------


@np.errstate(all="ignore")
def band(problem: Problem, addresses: Sequence[int], alpha: complex, beta: complex) -> None:
    """y := alpha A x + beta y, A a band."""
    if direct.product(problem, addresses, alpha, beta):
        return
    (view, x), y = problem.inputs, problem.output
    a = _elements(problem, addresses[0])
    values = _conjugated(_stored(x, addresses[1]), x.conj != view.conj)
    product = _conjugated(_product(a, values), view.conj)
    _combine(y, addresses[2], product, alpha, beta)


@np.errstate(all="ignore")
def mirrored(problem: Problem, addresses: Sequence[int], alpha: complex, beta: complex) -> None:
    """y := alpha A x + beta y, A the sum of a strict triangle, its mirror image and a diagonal."""
    if direct.product(problem, addresses, alpha, beta):
        return
    (view, x), y = problem.inputs, problem.output
    assert problem.structure is not None
    kind = problem.structure.kind
    is_hermitian = kind == "hermitian"
    a = _elements(problem, addresses[0])
    values = _conjugated(_stored(x, addresses[1]), x.conj != view.conj)
    product, mirror = _products(a.strict(), values, _conjugated(values, is_hermitian))
    product += -mirror if kind == "skew" else _conjugated(mirror, is_hermitian)
    if kind != "skew":
        product += a.diagonal(real=is_hermitian) * values
    _combine(y, addresses[2], _conjugated(product, view.conj), alpha, beta)


@np.errstate(all="ignore")
def triangular(problem: Problem, addresses: Sequence[int]) -> None:
    """x := A x, A a triangle."""
    (view,), x = problem.inputs, problem.output
    stored = _stored(x, addresses[1])
    if direct.product(problem, addresses):
        if problem.negate:
            np.negative(stored, out=stored)
        return
    assert problem.structure is not None
    a = _elements(problem, addresses[0])
    values = _conjugated(stored, view.conj)
    if problem.structure.unit:
        product = _product(a.strict(), values) + values
    else:
        product = _product(a, values)
    stored[...] = _conjugated(-product if problem.negate else product, view.conj)


@np.errstate(all="ignore")
def both(problem: Problem, addresses: Sequence[int], alpha: complex, beta: complex) -> None:
    """y := alpha A x + beta y, z := alpha op(A) w + beta z, A read once; without alpha, never."""
    view, x, w, y = problem.inputs
    assert problem.structure is not None
    targets = (y, addresses[3]), (problem.output, addresses[4])
    if alpha == 0 or 0 in problem.dims:
        for target, address in targets:
            _combine(target, address, None, alpha, beta)
        return
    # conj(op(A)) is what is multiplied where A is taken as its conjugate or op as the adjoint.
    conj = view.conj, view.conj != (problem.structure.kind == "adjoint")
    a = _elements(problem, addresses[0])
    vectors = (
        _conjugated(_stored(v, address), v.conj != flips)
        for v, address, flips in zip((x, w), addresses[1:3], conj, strict=True)
    )
    for product, flips, (target, address) in zip(
        _products(a, *vectors), conj, targets, strict=True
    ):
        _combine(target, address, _conjugated(product, flips), alpha, beta)


def _combine(
    y: View, address: int, product: np.ndarray | None, alpha: complex, beta: complex
) -> None:
    """y := alpha product + beta y, the product absent where it is None."""
    stored = _stored(y, address)
    terms = 1
    if product is None:
        product, terms = np.zeros(y.shape, stored.dtype), 0
    buffers.store(y.dtype, stored, buffers.combined(y.dtype, stored, product, alpha, beta, terms))


def _product(a: Elements, x: np.ndarray) -> np.ndarray:
    """A x"""
    return _products(a, x, None)[0]


def _products(
    a: Elements, x: np.ndarray | None, w: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """A x and A^T w in one pass over A; zeros where there is no vector."""
    along, across = (w, x) if a.turned else (x, w)
    by_rows, by_columns = (np.zeros(n, a.stored.dtype) for n in a.shape)
    if a.is_dense:
        for rows, columns, values, there in a.blocks():
            if along is not None:
                by_rows[rows] += _of_block(values, there, along[columns])
            if across is not None:
                mirrored = None if there is None else there.T
                by_columns[columns] += _of_block(values.T, mirrored, across[rows])
    elif a.lies_by_diagonals:
        for rows, columns, values in a.diagonals():
            if along is not None:
                by_rows[rows] += values * along[columns]
            if across is not None:
                by_columns[columns] += values * across[rows]
    else:
        for i, start, stop, values in a.lines():
            if along is not None:
                by_rows[i] += np.dot(values, along[start:stop])
            if across is not None:
                by_columns[start:stop] += values * across[i]
    return (by_columns, by_rows) if a.turned else (by_rows, by_columns)


def _of_block(values: np.ndarray, there: np.ndarray | None, x: np.ndarray) -> np.ndarray:
    """A block by a vector, element by element where not all are there.

    So too one column: np.dot calls axpy, of which BLAS leaves out a factor of 0, but 0 NaN is NaN.
    """
    if there is not None:
        return np.where(there, values * x, 0).sum(axis=1)
    return values[:, 0] * x[0] if len(x) == 1 else np.dot(values, x)


# ---- solves -------------------------------------------------------------------------------------


@np.errstate(all="ignore")
def solve(problem: Problem, addresses: Sequence[int]) -> None:
    """x := A^-1 x, A a triangle: by substitution, in place.

    A BLAS may multiply by reciprocals, which are infinite for subnormal diagonals.
    """
    (view,) = problem.inputs
    assert problem.structure is not None
    a = _elements(problem, addresses[0])
    x = _stored(problem.output, addresses[1])
    if view.conj:
        np.conjugate(x, out=x)
    diagonal = None if problem.structure.unit else a.diagonal()
    substitute = _substitute_by_columns if a.turned else _substitute_by_rows
    substitute(a.strict(), diagonal, x, 1 if a.is_lower else -1)
    if view.conj:
        np.conjugate(x, out=x)
    if problem.negate:
        np.negative(x, out=x)


def _substitute_by_rows(
    a: Elements, diagonal: np.ndarray | None, x: np.ndarray, order: int
) -> None:
    """Solve for one element after another, from what is known of its row."""
    n = len(x)
    for top, bottom in a.steps()[::order]:
        if a.is_dense:
            for rows, columns, values, _ in a.beside(top, bottom):
                x[rows] -= _of_block(values, None, x[columns])
        first, last = (top, bottom) if a.is_dense else (0, n)
        for i in range(top, bottom)[::order]:
            start, stop = a.span(i, first, last)
            value = x[i] - np.dot(a.row(i, start, stop), x[start:stop]) if start < stop else x[i]
            x[i] = value if diagonal is None else _quotient(value, diagonal[i])


def _substitute_by_columns(
    a: Elements, diagonal: np.ndarray | None, x: np.ndarray, order: int
) -> None:
    """Solve for one element after another, and subtract its column, a row here, from the rest."""
    n = len(x)
    for top, bottom in a.steps()[::order]:
        first, last = (top, bottom) if a.is_dense else (0, n)
        for i in range(top, bottom)[::order]:
            value = x[i]
            if diagonal is not None:
                value = x[i] = _quotient(value, diagonal[i])
            start, stop = a.span(i, first, last)
            if start < stop:
                x[start:stop] -= a.row(i, start, stop) * value
        if a.is_dense:
            for rows, columns, values, _ in a.beside(top, bottom):
                x[columns] -= _of_block(values.T, None, x[rows])


def _quotient(value, divisor):
    """value / divisor; of complex numbers scaled to about 1, so that no step over- or underflows.

    NumPy multiplies by a reciprocal, which for subnormal divisors is infinite.
    """
    if not isinstance(value, np.complexfloating) or divisor == 0:
        return value / divisor
    (over, up), (under, down) = _scaled(value), _scaled(divisor)
    quotient = over / under
    return complex(_times_2_to(up - down, quotient.real), _times_2_to(up - down, quotient.imag))


def _scaled(value) -> tuple[complex, int]:
    """(z, e) such that value = z 2^e, and the larger of |re| and |im| of z is in [1/2, 1)."""
    re, im = float(value.real), float(value.imag)
    exponent = frexp(max(abs(re), abs(im)))[1]
    return complex(ldexp(re, -exponent), ldexp(im, -exponent)), exponent


def _times_2_to(exponent: int, value: float) -> float:
    try:
        return ldexp(value, exponent)
    except OverflowError:
        return copysign(inf, value)
