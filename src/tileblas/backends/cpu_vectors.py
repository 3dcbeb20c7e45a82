"""Level 1 on the CPU where SciPy's BLAS has no such routine, or a wrong one: NumPy of ours.

Vectors go through arrays of at most `BUFFER_ELEMENTS` elements in the type that is computed in, so
that no more than the cache is needed, whatever their length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tileblas.backends import blas_pointers as blas
from tileblas.backends import cpu_buffers as buffers
from tileblas.core.call import Problem, View
from tileblas.core.operand import numpy_view


def _stored(view: View, address: int, start: int, count: int) -> np.ndarray:
    """Elements [start, start + count) of a vector, as stored."""
    (inc,) = view.strides
    return numpy_view(address + start * inc * view.dtype.itemsize, view.dtype, (count,), (inc,))


def _parts(
    problem: Problem, addresses: Sequence[int], *slots: int
) -> Iterator[tuple[int, tuple[np.ndarray, ...]]]:
    """(start, those operands as stored) for one part of the vectors after another."""
    pairs = [(problem.views[slot], addresses[slot]) for slot in slots]
    for start, count in blas.chunks(problem.dims[0], buffered=True):
        yield start, tuple(_stored(view, address, start, count) for view, address in pairs)


def _scaled(values: np.ndarray, factor: complex) -> np.ndarray:
    """factor values, in place; a real-typed factor scales the parts of complex numbers apart."""
    buffers.scale(values, factor)
    return values


# ---- sums and places ----------------------------------------------------------------------------


def wide_dot(problem: Problem, addresses: Sequence[int], alpha: float = 0.0) -> None:
    """out := alpha + sum x y of float32, in float64: dsdot and sdsdot."""
    total = 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for _, (x, y) in _parts(problem, addresses, 0, 1):
            total += float(np.dot(x.astype(np.float64), y.astype(np.float64)))
    out = problem.output
    value = alpha + (-total if problem.negate else total)
    buffers.store(out.dtype, numpy_view(addresses[2], out.dtype, (), ()), value)


def asum(problem: Problem, addresses: Sequence[int]) -> None:
    """out := sum |re| + |im|. The bits of OpenBLAS's sum depend on the address of x."""
    buffers.refuse_vector_copies(problem)
    (x,), out = problem.inputs, problem.output
    total = 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for _, (stored,) in _parts(problem, addresses, 0):
            total += float(_size(buffers.load(x.dtype, stored)).sum())
    buffers.store(out.dtype, numpy_view(addresses[1], out.dtype, (), ()), total)


def place(problem: Problem, addresses: Sequence[int]) -> None:
    """out := the first place of the largest (iamax) or smallest (iamin) |re| + |im|.

    OpenBLAS overlooks NaN and overflow: netlib's rule is a NaN first, then, of the largest, an
    infinity, then sums of finite parts that overflow, by a quarter of them.
    """
    is_max = problem.routine == "iamax"
    (x,) = problem.inputs
    best: tuple[int, float] | None = None
    found = 0
    for start, (stored,) in _parts(problem, addresses, 0):
        values = buffers.load(x.dtype, stored)
        with np.errstate(over="ignore", invalid="ignore"):
            size = _size(values)
        at = int(size.argmax() if is_max else size.argmin())  # of a NaN, if there is one
        rank = 0, float(size[at])
        if np.isnan(rank[1]):
            found = start + at
            break
        if np.isinf(rank[1]):  # of the largest, or of all: an infinity or an overflow
            at, rank = _ranked(values, is_max)
        if best is None or (rank > best if is_max else rank < best):
            best, found = rank, start + at
    numpy_view(addresses[1], problem.output.dtype, (), ())[...] = found


def _size(values: np.ndarray) -> np.ndarray:
    """|re| + |im|."""
    if np.iscomplexobj(values):
        return np.abs(values.real) + np.abs(values.imag)
    return np.abs(values)


def _ranked(values: np.ndarray, is_max: bool) -> tuple[int, tuple[int, float]]:
    """The place of the best number, and its rank: (0, sum), (1, quarter of it), (2, infinity)."""
    re, im = np.abs(values.real), np.abs(values.imag)
    with np.errstate(over="ignore"):
        size = re + im
    group = np.where(np.isinf(re) | np.isinf(im), 2, np.where(np.isinf(size), 1, 0))
    size = np.where(group == 2, 0, np.where(group == 1, re / 4 + im / 4, size))
    wanted = group.max() if is_max else group.min()
    size = np.where(group == wanted, size, -1 if is_max else np.inf)
    at = int(size.argmax() if is_max else size.argmin())
    return at, (int(wanted), float(size[at]))


# ---- updates ------------------------------------------------------------------------------------


def _moved(problem: Problem, source: np.ndarray) -> np.ndarray:
    """A copy of elements as stored, conjugated and negated where the problem says so."""
    values = np.array(source)
    if problem.inputs[0].conj:
        np.conjugate(values, out=values)
    if problem.negate:
        if values.dtype == np.uint16:  # bfloat16 by its bits: the sign is the highest one
            values ^= np.uint16(1 << 15)
        else:
            np.negative(values, out=values)
    return values


def copy(problem: Problem, addresses: Sequence[int]) -> None:
    """y := x, no element changed on the way."""
    for _, (x, y) in _parts(problem, addresses, 0, 1):
        y[...] = _moved(problem, x)


def swap(problem: Problem, addresses: Sequence[int]) -> None:
    """x, y := y, x."""
    for _, (x, y) in _parts(problem, addresses, 0, 1):
        old = _moved(problem, y)
        y[...] = _moved(problem, x)
        x[...] = old


def axpby(problem: Problem, addresses: Sequence[int], alpha: complex, beta: complex) -> None:
    """y := alpha x + beta y; a term whose factor is 0 is not there."""
    buffers.refuse_vector_copies(problem)
    (x,), y = problem.inputs, problem.output
    for _, (x_stored, y_stored) in _parts(problem, addresses, 0, 1):
        terms = []
        if alpha != 0:
            terms.append(_scaled(buffers.load(x.dtype, x_stored, x.conj), alpha))
        if beta != 0:
            terms.append(_scaled(buffers.load(y.dtype, y_stored), beta))
        buffers.store(y.dtype, y_stored, _sum(terms))


def _sum(terms: Sequence[np.ndarray]) -> np.ndarray | float:
    with np.errstate(over="ignore", invalid="ignore"):
        return sum(terms[1:], terms[0]) if terms else 0.0


def rot(problem: Problem, addresses: Sequence[int], c: float, s: complex) -> None:
    """x, y := c x + s y, c y - conj(s) x."""
    across = s.conjugate() if isinstance(s, complex) else s
    _transform(problem, addresses, ((c, s), (-across, c)))


def rotm(
    problem: Problem,
    addresses: Sequence[int],
    flag: float,
    h11: float,
    h21: float,
    h12: float,
    h22: float,
) -> None:
    """x, y := h11 x + h12 y, h21 x + h22 y, with the elements that the flag stands for."""
    if flag == -2:
        return
    if flag == 0:
        h11 = h22 = 1.0
    elif not flag < 0:
        h12, h21 = 1.0, -1.0
    if problem.negate:
        h12, h21 = -h12, -h21
    _transform(problem, addresses, ((h11, h12), (h21, h22)))


def _transform(
    problem: Problem, addresses: Sequence[int], matrix: Sequence[Sequence[complex]]
) -> None:
    """[x y] := H [x y]. y is stored first: where x is y, x counts."""
    buffers.refuse_vector_copies(problem)
    (x,), y = problem.inputs, problem.output
    for _, (x_stored, y_stored) in _parts(problem, addresses, 0, 1):
        old = buffers.load(x.dtype, x_stored, x.conj), buffers.load(y.dtype, y_stored)
        new_x, new_y = (
            _sum([_scaled(v.copy(), h) for v, h in zip(old, row, strict=True)]) for row in matrix
        )
        buffers.store(y.dtype, y_stored, new_y)
        buffers.store(x.dtype, x_stored, np.conjugate(new_x) if x.conj else new_x)


def axpydot(problem: Problem, addresses: Sequence[int], alpha: complex) -> None:
    """z := w - alpha v; r := sum z u, of z as it is stored."""
    buffers.refuse_vector_copies(problem)
    w, v, u, z = problem.inputs
    total = 0.0
    for _, stored in _parts(problem, addresses, 0, 1, 2, 3):
        terms = [buffers.load(w.dtype, stored[0], w.conj)]
        if alpha != 0:
            terms.append(_scaled(buffers.load(v.dtype, stored[1], v.conj), -alpha))
        other = buffers.load(u.dtype, stored[2], u.conj)
        buffers.store(z.dtype, stored[3], _sum(terms))
        with np.errstate(over="ignore", invalid="ignore"):
            total = total + np.dot(buffers.load(z.dtype, stored[3]), other).item()
    out = problem.output
    buffers.store(out.dtype, numpy_view(addresses[4], out.dtype, (), ()), total)
