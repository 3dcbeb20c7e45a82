"""The CPU backend: SciPy's BLAS, called through the function pointers of scipy.linalg.cython_blas.

Those take leading dimensions and signed increments, so views are computed where they lie. What BLAS
cannot express goes through bounded buffers (`cpu_buffers`), a documented copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from tileblas.backends import blas_pointers as blas
from tileblas.backends import cpu_buffers as buffers
from tileblas.core.call import Problem, Scalar, View
from tileblas.core.operand import Operand, numpy_view

Runner = Callable[[Mapping[str, Operand], Mapping[str, Scalar], object], None]
Address = Callable[[View], int]


def runner(problem: Problem) -> Runner:
    """The function that runs `problem` on operands given by name."""
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
    """The host number; alpha takes the product's sign, both an output's conjugation."""
    value = scalar.value
    if problem.conj_scalars and isinstance(value, complex):
        value = value.conjugate()
    return -value if name == "alpha" and problem.negate else value


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


def _gemm(problem: Problem, addresses: Sequence[int], alpha: complex, beta: complex) -> None:
    """C := alpha A B + beta C: one BLAS call where the layouts allow it, else block by block."""
    (a, b), c = problem.inputs, problem.output
    if _is_nan(alpha) or _is_nan(beta):
        _gemm_of_nan(problem, addresses, alpha, beta)
    elif all(blas.is_blas_matrix(v) for v in (a, b)) and blas.is_blas_output(c):
        if c.dtype.is_complex and not isinstance(beta, complex) and beta != 0:
            buffers.scale_parts(c, addresses[2], beta)
            beta = 1.0
        pairs = list(zip((a, b, c), addresses, strict=True))
        blas.gemm(problem.dims, alpha, pairs[0], pairs[1], beta, pairs[2])
    else:
        buffers.gemm(problem, addresses, alpha, beta)


def _is_nan(value: complex) -> bool:
    return value != value


def _gemm_of_nan(problem: Problem, addresses: Sequence[int], alpha: complex, beta: complex) -> None:
    """A NaN scalar makes every element NaN: OpenBLAS takes a complex (0, NaN) for 0."""
    c = problem.output
    if problem.dims[2] == 0 and not _is_nan(beta):
        buffers.gemm(problem, addresses, 0.0, beta)
        return
    nan = complex("nan+nanj") if c.dtype.is_complex else float("nan")
    buffers.store(c.dtype, numpy_view(addresses[2], c.dtype, c.shape, c.strides), nan)


_MEMBER: dict[str, Callable[..., None]] = {
    "dot": _dot,
    "dotc": _dot,
    "dotu": _dot,
    "axpy": _axpy,
    "gemm": _gemm,
}
