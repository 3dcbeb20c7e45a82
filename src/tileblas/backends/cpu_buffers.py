"""Bounded buffers of the CPU backend: half types, matrices without a unit stride, conjugation.

Copies are documented and can be forbidden (`tb.options(copies="forbid")`). A buffer never holds
more than one block, whatever the size of the operand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from tileblas.backends import blas_pointers as blas
from tileblas.core.call import Problem, View
from tileblas.core.dtypes import DTYPES, HALF, DType
from tileblas.core.operand import c_strides, numpy_view
from tileblas.errors import BlasError
from tileblas.settings import copies_forbidden

BLOCK = 1024  # rows and columns of one block of a buffered product


def refuse_if_forbidden(routine: str, why: str) -> None:
    """Raise BlasError if the user forbade copies."""
    if copies_forbidden():
        raise BlasError(routine, None, f"would copy ({why}), and copies are forbidden")


# ---- half types -------------------------------------------------------------------------------


def widened(dtype: DType) -> DType:
    """The type in which SciPy's BLAS computes for `dtype`."""
    return DTYPES["float32"] if dtype in HALF else dtype


def load(dtype: DType, stored: np.ndarray, conj: bool = False) -> np.ndarray:
    """A C-ordered copy in the BLAS type; bfloat16 arrives as its bits."""
    if dtype.name == "bfloat16":
        return (stored.astype(np.uint32, order="C") << 16).view(np.float32)
    values = np.array(stored, dtype=widened(dtype).name, order="C")
    return np.conjugate(values, out=values) if conj else values


def store(dtype: DType, stored: np.ndarray, values) -> None:
    """Write values of the BLAS type, rounded once to nearest even."""
    if dtype.name == "bfloat16":
        stored[...] = _bfloat16_bits(np.asarray(values, dtype=np.float32))
        return
    with np.errstate(over="ignore", invalid="ignore"):
        stored[...] = values


def _bfloat16_bits(values: np.ndarray) -> np.ndarray:
    """float32 -> bfloat16 by bits: round to nearest even, a NaN stays a (quiet) NaN."""
    bits = np.ascontiguousarray(values).view(np.uint32).reshape(values.shape)
    rounded = (bits + (((bits >> 16) & 1) + np.uint32(0x7FFF))) >> 16
    quiet = (bits >> 16) | np.uint32(0x40)
    return np.where(np.isnan(values), quiet, rounded).astype(np.uint16)


def fill(view: View, address: int, value: float) -> None:
    """Every element, and both parts of a complex one, := value."""
    number = complex(value, value) if view.dtype.is_complex else value
    store(view.dtype, numpy_view(address, view.dtype, view.shape, view.strides), number)


def is_nan(value: complex) -> bool:
    return value != value


# ---- vectors ----------------------------------------------------------------------------------


def needs_buffer(view: View) -> bool:
    """Whether BLAS cannot take the vector where it lies."""
    return view.dtype in HALF or abs(view.strides[0]) * 2 > blas.INT_MAX


def is_repeated(view: View) -> bool:
    """Whether the vector is one element over and over, which ?gemv does not take."""
    return view.strides[0] == 0 and view.shape[0] > 1


def vector(
    view: View, address: int, start: int, count: int, conj: bool = False, pack: bool = False
) -> blas.Vector:
    """Elements [start, start + count) of a vector for BLAS, through a buffer where it must be.

    `conj` asks for their conjugates, `pack` for a buffer in any case.
    """
    inc = view.strides[0]
    first = address + start * inc * view.dtype.itemsize
    if not (conj or pack or needs_buffer(view)):
        return blas.Vector(first, count, inc, view.dtype)
    values = load(view.dtype, numpy_view(first, view.dtype, (count,), (inc,)), conj)
    return blas.Vector(values.ctypes.data, count, 1, widened(view.dtype), values)


@contextmanager
def output_vector(view: View, address: int, start: int, count: int) -> Iterator[blas.Vector]:
    """The same for a vector that is updated in place: the buffer is written back at the end."""
    piece = vector(view, address, start, count)
    yield piece
    if piece.keep is not None:
        inc = view.strides[0]
        first = address + start * inc * view.dtype.itemsize
        store(view.dtype, numpy_view(first, view.dtype, (count,), (inc,)), piece.keep)


def refuse_vector_copies(problem: Problem, conj: bool = False) -> None:
    """Raise BlasError if vectors of the problem need a buffer and the user forbade copies."""
    if conj:
        refuse_if_forbidden(problem.routine, "conjugation on the CPU")
    if any(needs_buffer(view) for view in problem.views if len(view.strides) == 1):
        refuse_if_forbidden(problem.routine, "half types or a stride beyond 32 bits on the CPU")


# ---- matrices ---------------------------------------------------------------------------------


def gemm(problem: Problem, addresses: Sequence[int], alpha: complex, beta: complex) -> None:
    """C := alpha A B + beta C in blocks of at most BLOCK x BLOCK through buffers.

    One block of C accumulates over all of k in the BLAS type before it is rounded and written.
    """
    refuse_if_forbidden(problem.routine, why(problem.views))
    (a, b), c = problem.inputs, problem.output
    m, n, k = problem.dims
    whole = [
        numpy_view(address, view.dtype, view.shape, view.strides)
        for view, address in zip(problem.views, addresses, strict=True)
    ]
    for i in range(0, m, BLOCK):
        for j in range(0, n, BLOCK):
            target = whole[2][i : i + BLOCK, j : j + BLOCK]
            product = np.zeros(target.shape, widened(c.dtype).name)
            for p in range(0, k, BLOCK):
                left = load(a.dtype, whole[0][i : i + BLOCK, p : p + BLOCK], a.conj)
                right = load(b.dtype, whole[1][p : p + BLOCK, j : j + BLOCK], b.conj)
                _accumulate(left, right, product)
            store(c.dtype, target, combined(c.dtype, target, product, alpha, beta, k))


def combined(
    dtype: DType, old: np.ndarray, product: np.ndarray, alpha: complex, beta: complex, k: int
) -> np.ndarray:
    """alpha product + beta old; the product is absent where k = 0, the old value where beta = 0."""
    if k:
        scale(product, alpha)
    if beta == 0:
        return product
    values = load(dtype, old)
    scale(values, beta)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        return values + product if k else values


def scale_parts(view: View, address: int, factor: float) -> None:
    """C := factor C in place, real and imaginary parts separately, as a real-typed beta asks.

    zgemm would multiply by (factor, 0), which makes a NaN of an infinite part's neighbour.
    """
    real = DTYPES[view.dtype.real]
    strides = (*(2 * stride for stride in view.strides), 1)
    scale(numpy_view(address, real, (*view.shape, 2), strides), factor)


def why(views: Sequence[View]) -> str:
    """Why BLAS cannot take the matrices of a product where they lie."""
    if any(view.dtype in HALF for view in views):
        return "half types on the CPU"
    left = [view for view in views if not blas.operation(view)]
    if any(view.conj and blas.operation(replace(view, conj=False)) for view in left):
        return "conjugation without transposition on the CPU"
    return "a matrix without a unit stride, or with overlapping rows, on the CPU"


def scale(tile: np.ndarray, factor: complex) -> None:
    """tile := factor tile; a real-typed factor scales the parts separately."""
    if factor == 1:
        return
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        if np.iscomplexobj(tile) and not isinstance(factor, complex):
            parts = tile.view(tile.real.dtype)
            parts *= parts.dtype.type(factor)
        else:
            tile *= tile.dtype.type(factor)


def _accumulate(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    """c := a b + c"""
    (m, k), n = a.shape, b.shape[1]
    arrays = [as_view(x) for x in (a, b, c)]
    blas.gemm((m, n, k), 1.0, arrays[0], arrays[1], 1.0, arrays[2])


def as_view(array: np.ndarray) -> tuple[View, int]:
    """A C-ordered array as BLAS takes a matrix."""
    dtype = DTYPES[array.dtype.name]
    strides = tuple(
        0 if d <= 1 else s for d, s in zip(array.shape, c_strides(array.shape), strict=True)
    )
    return View("buffer", dtype, array.shape, strides, ()), array.ctypes.data
