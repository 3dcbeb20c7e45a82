"""Products of matrices on the CPU: gemm, and those with a structured factor or result.

What BLAS lacks, or does not do as it should, is cut in two again and again: beside the diagonal
there are products of general matrices then, and squares on it are small enough for a buffer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tileblas.backends import blas_pointers as blas
from tileblas.backends import cpu_buffers as buffers
from tileblas.backends import cpu_direct as direct
from tileblas.backends.cpu_elements import Elements, elements
from tileblas.core.call import Problem, View
from tileblas.core.canon import transpose
from tileblas.core.operand import numpy_view
from tileblas.routines.registry import ROUTINES
from tileblas.settings import copies_forbidden

SQUARE = 128  # the order of a square on the diagonal that goes through a buffer

Placed = tuple[View, int]  # a matrix with its address
Span = tuple[int, int]  # from where to where rows or columns go


# ---- general matrices ---------------------------------------------------------------------------


def gemm(problem: Problem, addresses: Sequence[int], alpha: complex, beta: complex) -> None:
    """C := alpha A B + beta C: one BLAS call where the layouts allow it, else block by block."""
    (a, b), c = problem.inputs, problem.output
    if buffers.is_nan(alpha) or buffers.is_nan(beta):
        _gemm_of_nan(problem, addresses, alpha, beta)
    elif _are_taken((a, b), c):
        if c.dtype.is_complex and not isinstance(beta, complex) and beta != 0:
            buffers.scale_parts(c, addresses[2], beta)
            beta = 1.0
        pairs = list(zip((a, b, c), addresses, strict=True))
        blas.gemm(problem.dims, alpha, pairs[0], pairs[1], beta, pairs[2])
    else:
        buffers.gemm(problem, addresses, alpha, beta)


def _gemm_of_nan(problem: Problem, addresses: Sequence[int], alpha: complex, beta: complex) -> None:
    """A NaN scalar makes every element NaN: OpenBLAS takes a complex (0, NaN) for 0."""
    if problem.dims[2] == 0 and not buffers.is_nan(beta):
        buffers.gemm(problem, addresses, 0.0, beta)
        return
    buffers.fill(problem.output, addresses[2], np.nan)


def _are_taken(inputs: Sequence[View], c: View) -> bool:
    """Whether ?gemm takes the matrices as they lie."""
    return all(map(blas.is_blas_matrix, inputs)) and blas.is_blas_output(c)


def _refuse_copies(routine: str, inputs: Sequence[View], c: View) -> None:
    """Raise BlasError if ?gemm does not take the matrices, and the user forbade copies."""
    if not _are_taken(inputs, c):
        buffers.refuse_if_forbidden(routine, buffers.why((*inputs, c)))


def _part(matrix: Placed, rows: Span | None, columns: Span | None) -> Placed:
    """Some rows and columns of a matrix, None for all of them."""
    view, address = matrix
    spans = [span or (0, size) for span, size in zip((rows, columns), view.shape, strict=True)]
    first = sum(start * step for (start, _), step in zip(spans, view.strides, strict=True))
    shape = tuple(stop - start for start, stop in spans)
    return replace(view, shape=shape), address + first * view.dtype.itemsize


def _multiply(
    problem: Problem, left: Placed, right: Placed, target: Placed, alpha: complex, beta: complex
) -> None:
    """C := alpha A B + beta C for parts of the problem's matrices."""
    (a, at_a), (b, at_b), (c, at_c) = left, right, target
    dims = (*c.shape, a.shape[1])
    product = replace(problem, dims=dims, inputs=(a, b), output=c, structure=None)
    gemm(product, (at_a, at_b, at_c), alpha, beta)


# ---- a factor of which one triangle is stored ---------------------------------------------------


@np.errstate(all="ignore")
def sided(problem: Problem, addresses: Sequence[int], alpha: complex, beta: complex) -> None:
    """C := alpha A B + beta C or alpha B A + beta C, one triangle of A stored."""
    c = problem.output
    if buffers.is_nan(alpha) or buffers.is_nan(beta):
        buffers.fill(c, addresses[2], np.nan)
        return
    known = problem.structure
    assert known is not None
    on_left = problem.inputs[0].slot == known.slot
    pairs = list(zip(problem.inputs, addresses, strict=False))
    a, b = pairs if on_left else pairs[::-1]
    factor = _Factor(problem, a, b, (c, addresses[2]), alpha, on_left)
    _refuse_copies(problem.routine, (a[0], factor.mirror(a)[0], b[0]), c)
    if direct.sided_product(problem, addresses, alpha, beta):
        return
    if beta != 1:
        nothing = _part(pairs[0], None, (0, 0)), _part(pairs[1], (0, 0), None)
        _multiply(problem, *nothing, factor.c, 1.0, beta)
    factor.add(0, a[0].shape[0])


@dataclass(frozen=True)
class _Factor:
    """C := C + alpha A B, or C + alpha B A, one triangle of A stored."""

    problem: Problem
    a: Placed
    b: Placed
    c: Placed
    alpha: complex
    on_left: bool

    def add(self, start: int, stop: int) -> None:
        """Add what the square of A from start to stop makes."""
        span = start, stop
        if self._fits_a_buffer(span):
            if self._kind != "skew" or stop - start > 1:  # whose diagonal multiplies nothing
                whole = self._square(span)
                self._add_product(buffers.as_view(whole), span, span, 1)
            return
        middle = (start + stop) // 2
        first, second = (start, middle), (middle, stop)
        self.add(*first)
        self.add(*second)
        rows, columns = (second, first) if self._lower else (first, second)
        stored = _part(self.a, rows, columns)
        self._add_product(stored, rows, columns, 1)
        self._add_product(self.mirror(stored), columns, rows, -1 if self._kind == "skew" else 1)

    def mirror(self, part: Placed) -> Placed:
        """What a part of the triangle is on the other side of the diagonal, but for its sign."""
        view = transpose(part[0])
        turns = self._kind == "hermitian" and view.dtype.is_complex
        return replace(view, conj=view.conj ^ turns), part[1]

    @property
    def _kind(self) -> str:
        assert self.problem.structure is not None
        return self.problem.structure.kind

    @property
    def _lower(self) -> bool:
        assert self.problem.structure is not None
        return self.problem.structure.lower

    def _fits_a_buffer(self, span: Span) -> bool:
        """Whether a square can be written in full, and multiplied as it is.

        A zero on the diagonal of a skew matrix is not there, and must not meet a NaN.
        """
        start, stop = span
        if stop - start == 1:
            return True
        if stop - start > SQUARE or copies_forbidden():
            return False
        if self._kind != "skew":
            return True
        view, address = _part(self.b, *self._along_b(span))
        return bool(np.isfinite(numpy_view(address, view.dtype, view.shape, view.strides)).all())

    def _along_b(self, span: Span) -> tuple[Span | None, Span | None]:
        """The rows of B that columns of A multiply, or the columns of B for rows of A."""
        return (span, None) if self.on_left else (None, span)

    def _square(self, span: Span) -> np.ndarray:
        """All of a square on the diagonal, made of the stored triangle."""
        view, address = _part(self.a, span, span)
        stored = numpy_view(address, view.dtype, view.shape, view.strides)
        values = buffers.load(view.dtype, stored, view.conj)
        mirrored = {"hermitian": np.conjugate, "skew": np.negative}.get(self._kind, np.asarray)
        there = np.tri(len(values), dtype=bool)
        whole = np.where(there if self._lower else there.T, values, mirrored(values.T))
        diagonal = np.einsum("ii->i", whole)
        if self._kind == "skew":
            diagonal[...] = 0
        elif self._kind == "hermitian":
            diagonal.imag[...] = 0
        return whole

    def _add_product(self, part: Placed, rows: Span, columns: Span, sign: int) -> None:
        """Add what a part of A makes that has these rows and columns."""
        inner, outer = (columns, rows) if self.on_left else (rows, columns)
        b, c = _part(self.b, *self._along_b(inner)), _part(self.c, *self._along_b(outer))
        pair = (part, b) if self.on_left else (b, part)
        _multiply(self.problem, *pair, c, sign * self.alpha, 1.0)


# ---- a result of which one triangle is written --------------------------------------------------


@np.errstate(all="ignore")
def triangle(problem: Problem, addresses: Sequence[int], alpha: complex, beta: complex) -> None:
    """C := alpha A B + beta C in one triangle of C, or with the term that is its mirror image.

    That is gemmtr, syrkx and herkx, with A^T or A^H for B syrk and herk; with two terms syr2k,
    her2k and skewsyr2k. What else there is of a new C becomes 0. A Hermitian diagonal is real,
    before and after.
    """
    known, k = problem.structure, problem.inputs[0].shape[1]
    assert known is not None
    real = ROUTINES[problem.routine].real_scalars
    alpha, beta = (
        value.real if name in real else value for name, value in (("alpha", alpha), ("beta", beta))
    )
    terms = _terms(problem, addresses, alpha, beta)
    if k:
        for left, right, _, _ in terms:
            _refuse_copies(problem.routine, (left[0], right[0]), problem.output)
    c = elements(problem, 2, addresses[2])
    if problem.fresh:
        c.stored[...] = 0
    if known.kind == "hermitian":
        c.make_diagonal_real()
    if buffers.is_nan(beta) or (k and buffers.is_nan(alpha)):
        _fill(c, complex(np.nan, np.nan) if problem.is_complex else np.nan)
    elif k == 0:
        _scale(c, beta)
    elif not direct.square_product(problem, addresses, alpha, beta):
        target = problem.output, addresses[-1]
        for left, right, factor, old in terms:
            pairs = left, right, target
            _update(problem, pairs, factor, old, (0, problem.output.shape[0]))
    if known.kind == "hermitian":
        c.make_diagonal_real()


def _terms(
    problem: Problem, addresses: Sequence[int], alpha: complex, beta: complex
) -> list[tuple[Placed, Placed, complex, complex]]:
    """(A, B, alpha, beta) of each of the products that make C, one after the other.

    The second one is that of B^T and A^T, of a Hermitian C conj(alpha) B^H A^H; of a skew one the
    first is subtracted.
    """
    known = problem.structure
    (a, b), (at_a, at_b, _) = problem.inputs, addresses
    left, right = (a, at_a), (b, at_b)
    if not ROUTINES[problem.routine].twice or known is None:
        return [(left, right, alpha, beta)]
    flips = known.kind == "hermitian" and problem.is_complex
    turned_b, turned_a = (
        (replace(transpose(view), conj=view.conj ^ flips), address)
        for view, address in (right, left)
    )
    return [
        (left, right, -alpha if known.kind == "skew" else alpha, beta),
        (turned_b, turned_a, alpha.conjugate() if flips else alpha, 1.0),
    ]


def _fill(c: Elements, value: complex) -> None:
    """Every element that is there := value."""
    for block in c.blocks():
        np.copyto(block.values, value, where=True if block.there is None else block.there)


def _scale(c: Elements, factor: complex) -> None:
    """Every element that is there := factor times it; without reading it for a factor of 0."""
    if factor == 0:
        _fill(c, 0)
        return
    for _, _, values, there in c.blocks():
        apart = np.iscomplexobj(values) and not isinstance(factor, complex)
        for part in (values.real, values.imag) if apart else (values,):
            np.multiply(part, factor, out=part, where=True if there is None else there)


def _update(
    problem: Problem, pairs: Sequence[Placed], alpha: complex, beta: complex, span: Span
) -> None:
    """C := alpha A B + beta C in a triangle, between these rows and the columns of that number."""
    left, right, c = pairs
    start, stop = span
    if stop - start <= SQUARE:
        _update_square(problem, pairs, alpha, beta, span)
        return
    assert problem.structure is not None
    middle = (start + stop) // 2
    first, second = (start, middle), (middle, stop)
    for half in (first, second):
        _update(problem, pairs, alpha, beta, half)
    rows, columns = (second, first) if problem.structure.lower else (first, second)
    factors = _part(left, rows, None), _part(right, None, columns)
    _multiply(problem, *factors, _part(c, rows, columns), alpha, beta)


def _update_square(
    problem: Problem, pairs: Sequence[Placed], alpha: complex, beta: complex, span: Span
) -> None:
    """The same of a square on the diagonal, through a buffer for all of its product."""
    left, right, c = pairs
    view, address = _part(c, span, span)
    product = np.zeros(view.shape, view.dtype.name)
    factors = _part(left, span, None), _part(right, None, span)
    _multiply(problem, *factors, buffers.as_view(product), 1.0, 0.0)
    target = numpy_view(address, view.dtype, view.shape, view.strides)
    values = buffers.combined(view.dtype, target, product, alpha, beta, left[0].shape[1])
    known = problem.structure
    assert known is not None
    there = np.tri(len(values), k=-1 if known.kind == "skew" else 0, dtype=bool)
    np.copyto(target, values, where=there if known.lower else there.T)
