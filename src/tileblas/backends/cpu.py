"""The CPU backend: SciPy's BLAS, called through the function pointers of scipy.linalg.cython_blas.

Those take leading dimensions and signed increments, so views are computed where they lie. What BLAS
cannot express goes through bounded buffers (`cpu_buffers`), a documented copy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from tileblas.backends import blas_pointers as blas
from tileblas.backends import cpu_buffers as buffers
from tileblas.backends import cpu_matrices as matrices
from tileblas.backends import cpu_products as products
from tileblas.backends import cpu_rotations as rotations
from tileblas.backends import cpu_updates as updates
from tileblas.backends import cpu_vectors as vectors
from tileblas.core.call import Problem, Scalar, View
from tileblas.core.operand import Operand, numpy_view

Runner = Callable[[Mapping[str, Operand], Mapping[str, Scalar], object], None]
Address = Callable[[View], int]


def runner(problem: Problem) -> Runner:
    """The function that runs `problem` on operands given by name."""
    if problem.routine in _WHOLE:
        whole = _WHOLE[problem.routine]
        return lambda operands, scalars, stream: whole(problem, operands)
    one = _MEMBER[problem.routine]

    def run(operands: Mapping[str, Operand], scalars: Mapping[str, Scalar], stream: object) -> None:
        values = {name: _value(problem, name, scalar) for name, scalar in scalars.items()}
        for offsets in _members(problem):
            addresses = [
                operands[view.slot].pointer + offset * view.dtype.itemsize
                for view, offset in zip(problem.views, offsets, strict=True)
            ]
            one(problem, addresses, **values)

    return run


def _value(problem: Problem, name: str, scalar: Scalar) -> complex:
    """The host number; the factor of x takes the product's sign, all an output's conjugation."""
    value = scalar.value
    if problem.conj_scalars and isinstance(value, complex):
        value = value.conjugate()
    takes_sign = name in ("alpha", "s") and problem.routine != "sdsdot"  # whose alpha is a term
    return -value if takes_sign and problem.negate else value


def _members(problem: Problem) -> Iterator[list[int]]:
    """Element offsets of every view, for each member of the batch."""
    strides = [view.batch for view in problem.views]
    index = [0] * len(problem.batch)
    while True:
        yield [sum(i * s for i, s in zip(index, step, strict=True)) for step in strides]
        for axis in reversed(range(len(index))):
            index[axis] += 1
            if index[axis] < problem.batch[axis]:
                break
            index[axis] = 0
        else:
            return


def _dot(problem: Problem, addresses: Sequence[int]) -> None:
    """out := sum op(x) op(y), in chunks whose sizes and increments fit a BLAS integer."""
    (x, y), (n,) = problem.inputs, problem.dims
    buffers.refuse_vector_copies(problem)
    pieces = []
    for start, count in blas.chunks(n, buffers.needs_buffer(x) or buffers.needs_buffer(y)):
        vx = buffers.vector(x, addresses[0], start, count)
        vy = buffers.vector(y, addresses[1], start, count)
        pieces.append(blas.dot(vx, vy, conj_x=x.conj, conj_y=y.conj))
    total = sum(pieces[1:], pieces[0]) if pieces else 0.0
    out = problem.output
    view = numpy_view(addresses[2], out.dtype, (), ())
    buffers.store(out.dtype, view, -total if problem.negate else total)


def _nrm2(problem: Problem, addresses: Sequence[int]) -> None:
    """out := sqrt(sum |x|^2): neither a conjugation nor a sign of x matters."""
    (x,), (n,) = problem.inputs, problem.dims
    buffers.refuse_vector_copies(problem)
    pieces = [
        blas.nrm2(buffers.vector(x, addresses[0], start, count))
        for start, count in blas.chunks(n, buffers.needs_buffer(x))
    ]
    # hypot scales as nrm2 does, but of Inf and NaN it would return Inf.
    norm = math.nan if any(map(buffers.is_nan, pieces)) else math.hypot(*pieces)
    out = problem.output
    buffers.store(out.dtype, numpy_view(addresses[1], out.dtype, (), ()), norm)


def _scal(problem: Problem, addresses: Sequence[int], alpha: complex) -> None:
    """x := alpha x."""
    x = problem.output
    if buffers.is_nan(alpha):
        buffers.fill(x, addresses[0], math.nan)
    else:
        buffers.refuse_vector_copies(problem)
        _scale(x, addresses[0], alpha)


def _scale(x: View, address: int, factor: complex) -> None:
    """x := factor x, where a factor of 0 multiplies too."""
    for start, count in blas.chunks(x.shape[0], buffers.needs_buffer(x)):
        with buffers.output_vector(x, address, start, count) as piece:
            blas.scal(factor, piece)


def _axpy(problem: Problem, addresses: Sequence[int], alpha: complex) -> None:
    """y := alpha op(x) + y."""
    (x,), y, (n,) = problem.inputs, problem.output, problem.dims
    conj_by_buffer = x.conj and isinstance(alpha, complex)
    buffers.refuse_vector_copies(problem, conj_by_buffer)
    buffered = conj_by_buffer or buffers.needs_buffer(x) or buffers.needs_buffer(y)
    for start, count in blas.chunks(n, buffered):
        vx = buffers.vector(x, addresses[0], start, count, conj=conj_by_buffer)
        with buffers.output_vector(y, addresses[1], start, count) as vy:
            blas.axpy(alpha, vx, vy, conj_x=x.conj and not conj_by_buffer)


def _gemv(problem: Problem, addresses: Sequence[int], alpha: complex, beta: complex) -> None:
    """y := alpha A x + beta y: ?gemv where it takes A as it lies, else as a product of matrices."""
    (a, x), y = problem.inputs, problem.output
    part = replace(a, shape=tuple(min(size, blas.INT_MAX) for size in a.shape))
    if 0 in a.shape:  # where ?gemv does nothing
        if beta == 0:
            buffers.fill(y, addresses[2], 0)
        else:
            _scal(problem, addresses[2:], beta)
    elif (
        buffers.is_nan(alpha)
        or buffers.is_nan(beta)
        or x.conj
        or blas.operation_on_vectors(part) is None
    ):
        products.gemm(_as_matrices(problem), addresses, alpha, beta)
    else:
        buffers.refuse_vector_copies(problem)
        if y.dtype.is_complex and not isinstance(beta, complex) and beta != 0:
            _scale(y, addresses[2], beta)
            beta = 1.0
        _gemv_in_parts(problem, addresses, alpha, beta)


def _gemv_in_parts(
    problem: Problem, addresses: Sequence[int], alpha: complex, beta: complex
) -> None:
    """The same in parts of A whose sizes fit a BLAS integer, or a buffer of x or y."""
    (a, x), y, (m, n) = problem.inputs, problem.output, problem.dims
    pack = buffers.is_repeated(x)  # a buffer, but no copy: it repeats one element
    for i, rows in blas.chunks(m, buffers.needs_buffer(y)):
        with buffers.output_vector(y, addresses[2], i, rows) as vy:
            factor = beta
            for j, columns in blas.chunks(n, pack or buffers.needs_buffer(x)):
                part = replace(a, shape=(rows, columns))
                start = addresses[0] + (i * a.strides[0] + j * a.strides[1]) * a.dtype.itemsize
                vx = buffers.vector(x, addresses[1], j, columns, pack=pack)
                blas.gemv(alpha, (part, start), vx, factor, vy)
                factor = 1.0


def _as_matrices(problem: Problem) -> Problem:
    """A matrix-vector product with x and y as matrices of one column."""
    (a, x), y, (m, n) = problem.inputs, problem.output, problem.dims
    x, y = (replace(v, shape=(*v.shape, 1), strides=(*v.strides, 0)) for v in (x, y))
    return replace(problem, dims=(m, 1, n), inputs=(a, x), output=y)


_MEMBER: dict[str, Callable[..., None]] = {
    "dot": _dot,
    "dotc": _dot,
    "dotu": _dot,
    "dsdot": vectors.wide_dot,
    "sdsdot": vectors.wide_dot,
    "nrm2": _nrm2,
    "asum": vectors.asum,
    "iamax": vectors.place,
    "iamin": vectors.place,
    "scal": _scal,
    "copy": vectors.copy,
    "axpy": _axpy,
    "axpby": vectors.axpby,
    "swap": vectors.swap,
    "rot": vectors.rot,
    "rotm": vectors.rotm,
    "axpydot": vectors.axpydot,
    "gemv": _gemv,
    "gbmv": matrices.band,
    **dict.fromkeys(("symv", "sbmv", "spmv"), matrices.mirrored),
    **dict.fromkeys(("hemv", "hbmv", "hpmv", "skewsymv"), matrices.mirrored),
    **dict.fromkeys(("trmv", "tbmv", "tpmv"), matrices.triangular),
    **dict.fromkeys(("trsv", "tbsv", "tpsv"), matrices.solve),
    **dict.fromkeys(("ger", "geru", "gerc"), updates.update),
    **dict.fromkeys(("syr", "spr", "her", "hpr"), updates.update),
    **dict.fromkeys(("syr2", "spr2", "her2", "hpr2", "skewsyr2"), updates.update),
    "gemvt": matrices.both,
    "gemm": products.gemm,
    **dict.fromkeys(("symm", "hemm", "skewsymm"), products.sided),
    **dict.fromkeys(("gemmtr", "syrk", "herk", "syrkx", "herkx"), products.triangle),
    **dict.fromkeys(("syr2k", "her2k", "skewsyr2k"), products.triangle),
}

#: What is computed for the whole batch at once.
_WHOLE: dict[str, Callable[[Problem, Mapping[str, Operand]], None]] = {
    "rotg": rotations.rotg,
    "rotmg": rotations.rotmg,
}
