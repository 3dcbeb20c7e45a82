"""Levels 2 and 3 by SciPy's BLAS, where it has the routine and takes the operands as they lie.

Only products and updates: no BLAS need divide in solves, and complex ones of OpenBLAS do not. Some
BLAS leave out what a 0 multiplies, be it NaN: a product with a triangle comes here if its vector
has no 0, and an update or a square if its numbers are finite. So must scalars be, since OpenBLAS
may take a complex (0, NaN) for 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tileblas.backends import blas_pointers as blas
from tileblas.backends import cpu_buffers as buffers
from tileblas.core.call import Problem, Structure, View
from tileblas.core.canon import transpose
from tileblas.core.operand import numpy_view
from tileblas.core.spec import BAND, DENSE
from tileblas.routines.registry import ROUTINES


class Reading(NamedTuple):
    """A matrix as BLAS reads it, `turned` if that is its transpose."""

    address: int
    ld: int
    turned: bool


def product(
    problem: Problem, addresses: Sequence[int], alpha: complex = 1.0, beta: complex = 0.0
) -> bool:
    """y := alpha A x + beta y, or x := A x where there is no y; False where BLAS does not."""
    (view, *inputs), y = problem.inputs, problem.output
    reading = _reading(problem, view, addresses[0])
    if reading is None or not (_takes((*inputs, y)) and np.isfinite([alpha, beta]).all()):
        return False
    stored = _stored(y, addresses[-1])
    if not inputs and not stored.all():
        return False
    # conj(A) x is conj(A conj(x)), where BLAS has no letter for it.
    has_trans = "trans" in ROUTINES[problem.routine].option_names
    flips = view.conj and not reading.turned if has_trans else view.conj != reading.turned
    flips = flips and problem.is_complex
    if y.dtype.is_complex and beta not in (0, 1) and not isinstance(beta, complex):
        buffers.scale_parts(y, addresses[-1], beta)
        beta = 1.0
    if flips:
        np.conjugate(stored, out=stored)
        alpha, beta = alpha.conjugate(), beta.conjugate()
    given = [
        buffers.vector(x, address, 0, x.shape[0], conj=x.conj != flips)
        for x, address in zip(inputs, addresses[1:-1], strict=True)
    ]
    result = buffers.vector(y, addresses[-1], 0, y.shape[0])
    _call(problem, problem.routine, reading, (*given, result), alpha=alpha, beta=beta)
    if flips:
        np.conjugate(stored, out=stored)
    return True


def update(problem: Problem, addresses: Sequence[int], alpha: complex) -> bool:
    """A := A + alpha x y^T, or the like; False where BLAS does not."""
    *inputs, view = problem.views
    reading = _reading(problem, view, addresses[-1])
    if reading is None or not (_takes(inputs) and np.isfinite(alpha)):
        return False
    pairs = list(zip(inputs, addresses[:-1], strict=True))
    if not all(np.isfinite(_stored(vector, at)).all() for vector, at in pairs):
        return False
    routine, flips = problem.routine, False
    conj = [v.conj for v, _ in pairs]
    if reading.turned:  # as in `turn_to_rows`
        flips = problem.structure is not None and problem.structure.kind == "hermitian"
        pairs, conj = pairs[::-1], [c != flips for c in conj[::-1]]
    if problem.structure is None and problem.is_complex:
        routine = "gerc" if conj[1] else "geru"
        conj[1] = False
    given = [
        buffers.vector(v, at, 0, v.shape[0], conj=c) for (v, at), c in zip(pairs, conj, strict=True)
    ]
    _call(problem, routine, reading, given, alpha=alpha)
    return True


def sided_product(
    problem: Problem, addresses: Sequence[int], alpha: complex, beta: complex
) -> bool:
    """C := alpha A B + beta C or alpha B A + beta C by ?symm or ?hemm; False where BLAS does not.

    By columns, as BLAS reads, all are transposed: A is on the other side.
    """
    known, c = problem.structure, problem.output
    assert known is not None
    on_left = problem.inputs[0].slot == known.slot
    (a, at_a), (b, at_b) = list(zip(problem.inputs, addresses, strict=False))[
        :: 1 if on_left else -1
    ]
    reading = _whole_reading(a, at_a, known.kind)
    if reading is None or not (blas.is_blas_output(b) and blas.is_blas_output(c)):
        return False
    if not np.isfinite([alpha, beta]).all():
        return False
    if c.dtype.is_complex and beta not in (0, 1) and not isinstance(beta, complex):
        buffers.scale_parts(c, addresses[2], beta)
        beta = 1.0
    values = {"side": "R" if on_left else "L", "m": c.shape[1], "n": c.shape[0]}
    values |= {"b": at_b, "ldb": _ld(b), "c": addresses[2], "ldc": _ld(c)}
    seen = known.transposed if reading.turned else known
    _call_on_triangle(problem, reading, seen, values, alpha, beta)
    return True


def square_product(
    problem: Problem, addresses: Sequence[int], alpha: complex, beta: complex
) -> bool:
    """C := alpha A A^T + beta C in a triangle, with A^H, or of two factors with both products, by
    ?syrk, ?herk, ?syr2k or ?her2k; False where BLAS does not.

    It has real factors of complex numbers for Hermitian results alone. By columns that is C^T, of
    which a Hermitian C is the conjugate.
    """
    (a, b), c, known = problem.inputs, problem.output, problem.structure
    if known is None or problem.routine not in ("syrk", "herk", "syr2k", "her2k"):
        return False
    is_hermitian = known.kind == "hermitian"
    factors = [(a, addresses[0])]
    if ROUTINES[problem.routine].twice:
        factors.append((replace(transpose(b), conj=b.conj ^ is_hermitian), addresses[1]))
    readings = [_whole_reading(view, at, known.kind) for view, at in factors]
    reading, other = readings[0], readings[-1]
    if reading is None or other is None or reading.turned != other.turned:
        return False
    if not (blas.is_blas_output(c) and np.isfinite([alpha, beta]).all()):
        return False
    if c.dtype.is_complex and not (is_hermitian or beta in (0, 1) or isinstance(beta, complex)):
        return False
    if not all(_is_finite(_stored(view, at)) for view, at in factors):
        return False
    if is_hermitian:
        alpha = alpha.conjugate()
    turned = "C" if is_hermitian else "T"
    values = {"trans": turned if reading.turned else "N", "n": a.shape[0], "k": a.shape[1]}
    values |= {"b": other.address, "ldb": other.ld, "c": addresses[2], "ldc": _ld(c)}
    _call_on_triangle(problem, reading, known.transposed, values, alpha, beta)
    return True


def _whole_reading(view: View, address: int, kind: str) -> Reading | None:
    """How BLAS reads a matrix of a product by columns; None where it cannot.

    The product has its transpose. What is symmetric is that itself, what is Hermitian may have to
    be conjugated: BLAS has no letter for that.
    """
    found = blas.operation(replace(view, conj=False))
    if kind == "skew" or found is None:
        return None
    turned = found[0] == "N"
    flips = view.conj == turned if kind == "hermitian" else view.conj
    return None if flips else Reading(address, found[1], turned)


def _call_on_triangle(
    problem: Problem,
    reading: Reading,
    known: Structure,
    values: dict[str, Any],
    alpha: complex,
    beta: complex,
) -> None:
    """Call a routine of level 3 whose first matrix is read so, with `known` as the triangle."""
    spec = ROUTINES[problem.routine]
    values = {**values, "alpha": alpha, "beta": beta, "uplo": "L" if known.lower else "U"}
    values |= {"a": reading.address, "lda": reading.ld}
    blas.by_name(spec.name, problem.dtype, spec.fortran, values, spec.real_scalars)


def _ld(view: View) -> int:
    found = blas.operation(view)
    assert found is not None
    return found[1]


def _is_finite(values: np.ndarray) -> bool:
    """Whether no number is infinite or NaN, some rows at a time."""
    step = buffers.BLOCK
    return all(np.isfinite(values[i : i + step]).all() for i in range(0, len(values), step))


def _stored(view: View, address: int) -> np.ndarray:
    return numpy_view(address, view.dtype, view.shape, view.strides)


def _takes(vectors: Sequence[View]) -> bool:
    return not any(buffers.needs_buffer(v) or buffers.is_repeated(v) for v in vectors)


def _reading(problem: Problem, view: View, address: int) -> Reading | None:
    """How BLAS reads the matrix, conjugated or not; None where it does not, or has no routine."""
    kind = problem.structure.kind if problem.structure else ""
    if kind == "skew" or (kind == "symmetric" and problem.is_complex):
        return None
    storage = ROUTINES[problem.routine].operand(view.slot).storage
    if storage == DENSE:
        found = blas.operation(replace(view, conj=False))
        return Reading(address, found[1], found[0] == "N") if found else None
    assert problem.structure is not None
    if not 1 < min(view.shape) <= max(view.shape) <= blas.INT_MAX:
        return None
    for turned in (False, True):
        seen = transpose(view) if turned else view
        if seen.strides[0] != 1:
            continue
        if storage != BAND:
            return Reading(address, 0, turned)
        limits = problem.structure.transposed if turned else problem.structure
        ld = seen.strides[1] + 1
        if limits.below + limits.above < ld <= blas.INT_MAX:
            first = address + (view.start - limits.above) * view.dtype.itemsize
            return Reading(first, ld, turned)
    return None


def _call(
    problem: Problem,
    routine: str,
    reading: Reading,
    vectors: Sequence[blas.Vector],
    **scalars: complex,
) -> None:
    """Call `routine` with all that its Fortran arguments can be; it takes those that it has."""
    spec = ROUTINES[routine]
    view = problem.output if len(problem.output.shape) == 2 else problem.inputs[0]
    rows, columns = view.shape[::-1] if reading.turned else view.shape
    values: dict[str, Any] = {
        **scalars,
        **{"m": rows, "n": columns, "lda": reading.ld, "a": reading.address, "ap": reading.address},
        "trans": ("C" if view.conj else "T") if reading.turned else "N",
    }
    if problem.structure is not None:
        seen = problem.structure.transposed if reading.turned else problem.structure
        values |= {"kl": seen.below, "ku": seen.above, "k": max(seen.below, seen.above)}
        values |= {"uplo": "L" if seen.lower else "U", "diag": "U" if seen.unit else "N"}
    for name, vector in zip("xy", vectors, strict=False):
        values |= {name: vector.base, f"inc{name}": vector.inc or 1}
    blas.by_name(routine, view.dtype, spec.fortran, values, spec.real_scalars)
