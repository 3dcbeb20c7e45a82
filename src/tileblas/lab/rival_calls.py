"""What calls of every library are made of: numbers, bound calls, a case as BLAS libraries take it.

A matrix that is stored by rows is by columns its own transpose.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tileblas.core.dtypes import DTYPES
from tileblas.core.spec import Spec
from tileblas.lab.cases import Case
from tileblas.lab.timing import Call

#: The numbers of each routine on vectors, by name: harmless however often a call is repeated on the
#: same vectors, which neither overflow nor vanish. Rotations keep the norm.
SCALARS: Mapping[str, Mapping[str, float]] = {
    "scal": {"alpha": -1.0},
    "axpy": {"alpha": 0.5},
    "axpby": {"alpha": 0.5, "beta": 0.5},
    "axpydot": {"alpha": 0.5},
    "sdsdot": {"alpha": 0.5},
    "rot": {"c": 0.6, "s": 0.8},
    "rotm": {"flag": -1.0, "h11": 0.6, "h21": -0.8, "h12": 0.8, "h22": 0.6},
}


def scalars(spec: Spec) -> dict[str, float]:
    """The numbers that a call is given, in the order of its Spec; products have beta = 0."""
    given = SCALARS.get(spec.name, {"alpha": 1.0, "beta": 0.0})
    return {name: given[name] for name in spec.scalars}


@dataclass(frozen=True)
class Bound:
    """A call packed with its operands.

    `value` brings the scalar that it computed to the host, from what it returned or elsewhere.
    `note` says what a reader of the results must know of it. `keep` is what must live on with it.
    """

    call: Call
    value: Callable[[Any], np.ndarray] = np.asarray
    note: str = ""
    keep: Any = None


class RivalError(RuntimeError):
    """A rival refused a call that it was thought to have."""


@dataclass(frozen=True)
class ColumnProduct:
    """C = op(A) op(B) with every matrix stored by columns, as BLAS libraries take it."""

    trans_a: str
    trans_b: str
    m: int
    n: int
    k: int
    a: Any
    b: Any
    c: Any

    @property
    def leading(self) -> tuple[int, int, int]:
        """Leading dimensions of A, B and C."""
        rows_a = self.m if self.trans_a == "N" else self.k
        rows_b = self.k if self.trans_b == "N" else self.n
        return rows_a, rows_b, self.m


def column_product(case: Case, a: Any, b: Any, c: Any) -> ColumnProduct:
    """A product by columns: one stored by rows is the transposed product of the same memory."""
    m, n, k = case.dims
    trans_a, trans_b = tuple(case.trans)
    if case.layout == "row":
        return ColumnProduct(trans_b, trans_a, n, m, k, b, a, c)
    return ColumnProduct(trans_a, trans_b, m, n, k, a, b, c)


@dataclass(frozen=True)
class ColumnMatvec:
    """y = op(A) x with A, rows x columns, stored by columns, as BLAS libraries take it."""

    trans: str
    rows: int
    columns: int


def column_matvec(case: Case) -> ColumnMatvec | None:
    """A gemv by columns, None where no letter of BLAS says it.

    A matrix stored by rows is by columns its own transpose: N becomes T, and T becomes N.
    """
    m, n = case.dims if case.trans == "N" else case.dims[::-1]
    if case.layout == "col":
        return ColumnMatvec(case.trans, m, n)
    if case.trans == "C" and DTYPES[case.dtype].is_complex:
        return None
    return ColumnMatvec("T" if case.trans == "N" else "N", n, m)


def as_product(case: Case) -> Case:
    """A gemv as the product of op(A) with a matrix of one column."""
    m, n = case.dims
    return Case("gemm", (m, 1, n), case.dtype, f"{case.trans}N", case.layout)


def as_matrices(operands: Mapping[str, Any], vector: Callable[[Any], Any]) -> dict[str, Any]:
    """The operands of a gemv as those of `as_product`; `vector` makes a matrix of a vector."""
    return {"a": operands["a"], "b": vector(operands["x"]), "c": vector(operands["y"])}


#: What a rival that lacks a routine does in its place.
AS_PRODUCT = "gemm of one column"
SCAL_THEN_AXPY = "scal, then axpy"
AXPY_THEN_DOT = "axpy, then dot"

TRANS = {"N": 0, "T": 1, "C": 2}  # cuBLAS and f2py number them alike


def in_turn(first: Call, second: Call) -> Call:
    """Two calls as one, which returns what the second does."""

    def call() -> Any:
        first()
        return second()

    return call


def typed(case: Case) -> str:
    """The name of a routine in BLAS: its letters say the operands' type, then what is returned."""
    row = DTYPES[case.dtype]
    real, letter = DTYPES[row.real].letter, row.letter
    if case.routine in ("dot", "dotu", "dotc"):
        conjugates = "c" if case.routine == "dotc" else "u"
        return f"{letter}dot{conjugates if row.is_complex else ''}"
    if case.routine in ("iamax", "iamin"):
        return f"i{letter}{case.routine[1:]}"
    if case.routine in ("nrm2", "asum") and row.is_complex:
        return f"{real}{letter}{case.routine}"  # returns real numbers
    if case.routine in ("scal", "rot") and row.is_complex:
        return f"{letter}{real}{case.routine}"  # by real numbers
    return f"{letter}{case.routine}"
