"""What each routine must return: plain NumPy in higher precision, and never a BLAS.

`references(routine, operands, scalars, options, compute)` evaluates the defining formula of each
output, by the rules of `evaluation`. An empty sum (k = 0) has no product term.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tileblas.check import level1_oracles as level1
from tileblas.check import level2_oracles, level3_oracles
from tileblas.check.evaluation import (
    Expected,
    Reference,
    References,
    evaluate,
    transposed,
    widen,
    without_axes,
)
from tileblas.check.rotation_oracles import rotg, rotmg
from tileblas.routines.registry import ROUTINES

__all__ = ["Reference", "reference", "references", "widen"]


def references(
    routine: str,
    operands: Mapping[str, np.ndarray],
    scalars: Mapping[str, Any],
    options: Mapping[str, Any],
    compute: str,
    found: Mapping[str, np.ndarray] | None = None,
) -> References:
    """The expected outputs of one call by name; `compute` is the real type that rounds the scalars.

    `found` holds the outputs of the call itself, where one is made of another as it is rounded
    (axpydot).
    """
    rounded = {name: round_scalar(value, compute) for name, value in scalars.items()}
    more = {"found": found} if found and routine == "axpydot" else {}
    expected = _ORACLES[routine](**operands, **rounded, **options, **more, compute=compute)
    return expected if isinstance(expected, dict) else {ROUTINES[routine].output_name: expected}


def reference(
    routine: str,
    operands: Mapping[str, np.ndarray],
    scalars: Mapping[str, Any],
    options: Mapping[str, Any],
    compute: str,
) -> Reference:
    """The expected output of a call that has one, or the last, and rounds it."""
    expected = references(routine, operands, scalars, options, compute)
    last = expected[ROUTINES[routine].output_name]
    assert isinstance(last, Reference)
    return last


def gemv(a, x, compute, y=None, alpha=1.0, beta=0.0, trans="N") -> Reference:
    """alpha op(a) x + beta y, over stacks of matrices and vectors."""
    a, x = transposed(widen(a), trans), widen(x)
    y = None if y is None else widen(y)[..., None]
    out = evaluate(a, x[..., None], y, alpha, beta, compute)
    return without_axes(out, 1, quality=out.quality)


def gemm(a, b, compute, c=None, alpha=1.0, beta=0.0, trans_a="N", trans_b="N") -> Reference:
    """alpha op(a) op(b) + beta c, over stacks of matrices."""
    a, b = transposed(widen(a), trans_a), transposed(widen(b), trans_b)
    return evaluate(a, b, None if c is None else widen(c), alpha, beta, compute)


_ORACLES: dict[str, Callable[..., Expected | References]] = {
    "dot": level1.dot,
    "dotu": level1.dot,
    "dotc": lambda x, y, compute: level1.dot(x, y, compute, conj=True),
    "dsdot": level1.dsdot,
    "sdsdot": level1.sdsdot,
    "nrm2": level1.nrm2,
    "asum": level1.asum,
    "iamax": level1.iamax,
    "iamin": level1.iamin,
    "scal": level1.scal,
    "copy": level1.copy,
    "axpy": level1.axpy,
    "axpby": level1.axpby,
    "swap": level1.swap,
    "rot": level1.rot,
    "rotm": level1.rotm,
    "axpydot": level1.axpydot,
    "rotg": rotg,
    "rotmg": rotmg,
    "gemv": gemv,
    **level2_oracles.ORACLES,
    "gemm": gemm,
    **level3_oracles.ORACLES,
}

_COMPLEX = {"float32": "complex64", "float64": "complex128"}


def round_scalar(value: Any, compute: str) -> float | complex:
    """alpha or beta as the routine sees it: rounded once to the compute type, real kept real."""
    number = np.asarray(value)[()]
    with np.errstate(over="ignore"):
        if np.iscomplexobj(number):
            return complex(np.dtype(_COMPLEX[compute]).type(number))
        return float(np.dtype(compute).type(number))
