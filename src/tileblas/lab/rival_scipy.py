"""SciPy's BLAS as a rival, on NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tileblas.core.dtypes import DTYPES
from tileblas.core.spec import PACKED
from tileblas.lab.cases import Case
from tileblas.lab.rival_calls import (
    AXPY_THEN_DOT,
    SCAL_THEN_AXPY,
    SCALARS,
    TRANS,
    Bound,
    column_call,
    column_matvec,
    column_product,
    in_turn,
    product_instead,
    scalars,
    two_matvecs,
    typed,
)
from tileblas.lab.structures import matrix_arg
from tileblas.lab.timing import Call
from tileblas.routines.registry import ROUTINES


class Scipy:
    """scipy.linalg.blas, the f2py wrappers of the BLAS that SciPy is built with."""

    name = "SciPy"

    def __init__(self) -> None:
        import scipy

        self.version = scipy.__version__

    def bind(self, case: Case, operands: Mapping[str, Any]) -> Bound | None:
        others = _matrix if ROUTINES[case.routine].level > 1 else None
        binder = _BINDERS.get(case.routine, others)
        return binder(case, operands) if binder and DTYPES[case.dtype].letter in "sdcz" else None


def _vectors(case: Case, operands: Mapping[str, Any]) -> Bound:
    """What takes nothing but its vectors, and writes where it writes at all in place."""
    function, vectors = _scipy(typed(case)), tuple(operands.values())
    return Bound(lambda: function(*vectors))


def _scal(case: Case, operands: Mapping[str, Any]) -> Bound:
    return Bound(_scaled(case, SCALARS["scal"]["alpha"], operands["x"]))


def _axpy(case: Case, operands: Mapping[str, Any]) -> Bound:
    return Bound(_added(case, SCALARS["axpy"]["alpha"], operands["x"], operands["y"]))


def _axpby(case: Case, operands: Mapping[str, Any]) -> Bound:
    numbers, x, y = SCALARS["axpby"], operands["x"], operands["y"]
    scaled, added = _scaled(case, numbers["beta"], y), _added(case, numbers["alpha"], x, y)
    return Bound(in_turn(scaled, added), note=SCAL_THEN_AXPY)


def _axpydot(case: Case, operands: Mapping[str, Any]) -> Bound:
    """z is w itself."""
    v, u, z = (operands[name] for name in "vuz")
    dot = _scipy(typed(replace(case, routine="dotu")))
    added = _added(case, -SCALARS["axpydot"]["alpha"], v, z)
    return Bound(in_turn(added, lambda: dot(z, u)), note=AXPY_THEN_DOT)


def _rot(case: Case, operands: Mapping[str, Any]) -> Bound:
    function, x, y = _scipy(typed(case)), operands["x"], operands["y"]
    c, s = SCALARS["rot"].values()
    return Bound(lambda: function(x, y, c, s, overwrite_x=1, overwrite_y=1))


def _rotm(case: Case, operands: Mapping[str, Any]) -> Bound:
    function, x, y = _scipy(typed(case)), operands["x"], operands["y"]
    param = np.array([*SCALARS["rotm"].values()], case.dtype)
    return Bound(lambda: function(x, y, param, overwrite_x=1, overwrite_y=1))


def _gemv(case: Case, operands: Mapping[str, Any]) -> Bound:
    by_columns = column_matvec(case)
    if by_columns is None:
        return _by_product(case, operands)
    function, trans = _scipy(typed(case)), TRANS[by_columns.trans]
    a = operands["a"] if case.layout == "col" else operands["a"].T
    x, y = operands["x"], operands["y"]
    return Bound(lambda: function(1.0, a, x, 0.0, y, trans=trans, overwrite_y=1))


def _gemvt(case: Case, operands: Mapping[str, Any]) -> Bound:
    return two_matvecs(_gemv, case, operands)


#: The options of BLAS as SciPy has them.
_LETTERS = {
    "uplo": ("lower", {"U": 0, "L": 1}),
    "trans": ("trans", TRANS),
    "diag": ("diag", {"N": 0, "U": 1}),
    "side": ("side", {"L": 0, "R": 1}),
}


def _matrix(case: Case, operands: Mapping[str, Any]) -> Bound | None:
    """A routine on matrices, its arguments by name."""
    from scipy.linalg import blas

    spec, call = ROUTINES[case.routine], column_call(case)
    function = getattr(blas, typed(case), None)
    if call is None or function is None:
        return _by_product(case, operands) if spec.family == "ger" else None
    given: dict[str, Any] = dict(scalars(spec))
    for name, letter in call.letters.items():
        own, values = _LETTERS[name]
        given[own] = values[letter]
    # Sizes that do not follow from the shapes of the arrays.
    wanted = ("m", "n", "kl", "ku") if "kl" in case.options else ("k",) if "b" in case.sizes else ()
    if matrix_arg(case).storage == PACKED:
        wanted = ("n",)
    given |= {name: call.sizes[name] for name in wanted}
    for name, own in call.arrays.items():
        # The transposed view of an array stored by rows is the same memory by columns.
        given[name] = operands[own] if case.layout != "row" else operands[own].T
    given[f"overwrite_{spec.output_name}"] = 1
    return Bound(lambda: function(**given))


def _by_product(case: Case, operands: Mapping[str, Any]) -> Bound:
    """gemv or ger, of which SciPy has none for this layout."""
    return product_instead(_gemm, case, operands, lambda vector: vector[:, None])


def _gemm(case: Case, operands: Mapping[str, Any], alpha: float = 1.0, beta: float = 0.0) -> Bound:
    function = _scipy(typed(case))
    # The transposed view of an array stored by rows is the same memory by columns.
    matrices = (operands[name] for name in "abc")
    p = column_product(case, *(m if case.layout == "col" else m.T for m in matrices))
    trans_a, trans_b = TRANS[p.trans_a], TRANS[p.trans_b]
    return Bound(lambda: function(alpha, p.a, p.b, beta, p.c, trans_a, trans_b, overwrite_c=1))


def _scaled(case: Case, alpha: float, x: np.ndarray) -> Call:
    """x := alpha x."""
    function = _scipy(typed(replace(case, routine="scal")))
    if DTYPES[case.dtype].is_complex:
        return lambda: function(alpha, x, overwrite_x=1)
    return lambda: function(alpha, x)


def _added(case: Case, alpha: float, x: np.ndarray, y: np.ndarray) -> Call:
    """y := alpha x + y."""
    function = _scipy(typed(replace(case, routine="axpy")))
    return lambda: function(x, y, a=alpha)


def _scipy(name: str) -> Callable[..., Any]:
    from scipy.linalg import blas

    return getattr(blas, name)


_BINDERS: Mapping[str, Callable[[Case, Mapping[str, Any]], Bound | None]] = {
    **dict.fromkeys(("dot", "dotu", "dotc", "nrm2", "asum", "iamax", "copy", "swap"), _vectors),
    "scal": _scal,
    "axpy": _axpy,
    "axpby": _axpby,
    "axpydot": _axpydot,
    "rot": _rot,
    "rotm": _rotm,
    "gemv": _gemv,
    "gemvt": _gemvt,
    "gemm": _gemm,
}
