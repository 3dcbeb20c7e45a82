"""What calls of every library are made of: numbers, bound calls, a case as BLAS libraries take it.

A matrix that is stored by rows is by columns its own transpose.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tileblas.core.dtypes import DTYPES
from tileblas.core.spec import BAND, Spec
from tileblas.core.storage import math_axes, shape_of
from tileblas.lab.cases import Case
from tileblas.lab.timing import Call
from tileblas.routines.registry import ROUTINES

#: The numbers of each routine on vectors, and of updates by vectors, by name: harmless however
#: often a call is repeated on the same arrays, which neither overflow nor vanish. Rotations keep
#: the norm.
SCALARS: Mapping[str, Mapping[str, float]] = {
    "scal": {"alpha": -1.0},
    "axpy": {"alpha": 0.5},
    "axpby": {"alpha": 0.5, "beta": 0.5},
    "axpydot": {"alpha": 0.5},
    "sdsdot": {"alpha": 0.5},
    "rot": {"c": 0.6, "s": 0.8},
    "rotm": {"flag": -1.0, "h11": 0.6, "h21": -0.8, "h12": 0.8, "h22": 0.6},
    **{name: {"alpha": 0.5} for name, spec in ROUTINES.items() if spec.level == 2 and spec.updates},
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


@dataclass(frozen=True)
class ColumnCall:
    """A routine on one matrix and vectors as BLAS libraries take it, its arguments by their names.

    `letters` and `sizes` are those of a matrix by columns; `arrays` names the operand that is each
    array.
    """

    letters: Mapping[str, str]
    sizes: Mapping[str, int]
    arrays: Mapping[str, str]


def column_call(case: Case) -> ColumnCall | None:
    """A call of level 2 or 3 by columns, None where no letters of BLAS say it."""
    if ROUTINES[case.routine].level == 3:
        return _product_call(case)
    spec, sizes = ROUTINES[case.routine], case.sizes
    letters = {name: value for name, value in case.options.items() if isinstance(value, str)}
    arrays = {name: name for name in spec.argument_names}
    m, n = sizes.get("m", sizes["n"]), sizes["n"]
    if spec.stored_sizes and letters["trans"] != "N":
        m, n = n, m
    if case.layout == "row":
        turned = _turned(case, letters)
        if turned is None:
            return None
        letters, m, n = turned, n, m
        if spec.updates and not spec.structure:  # A^T := alpha y x^T + A^T
            arrays |= {"x": "y", "y": "x"}
    found = {"m": m, "n": n, "lda": m, "incx": 1, "incy": 1}
    if "b" in sizes:
        kl = case.options.get("kl", 0)
        found |= {"lda": sizes["b"], "k": sizes["b"] - 1, "kl": kl, "ku": sizes["b"] - 1 - kl}
    return ColumnCall(letters, found, arrays)


def _product_call(case: Case) -> ColumnCall:
    """A product of matrices by columns: stored by rows it is the transposed one of the same memory.

    C^T := A B^T for C := B A, where A^T is what the memory of A holds; a C with a structure is its
    own transpose, or, if Hermitian, the conjugate of that: op changes from "N" to its other letter.
    """
    spec, sizes, letters = ROUTINES[case.routine], case.sizes, dict(case.options)
    m, n = sizes.get("m", sizes["n"]), sizes["n"]
    if case.layout == "row":
        m, n = n, m
        other = "C" if spec.partner == "adjoint" else "T"
        swapped = {"L": "R", "R": "L"}, {"U": "L", "L": "U"}, {"N": other}
        for name, letter in zip(("side", "uplo", "trans"), swapped, strict=True):
            if name in letters:
                letters[name] = letter.get(letters[name], "N")
    by_columns = replace(case, layout="col", trans="".join(letters.values()))
    by_columns = replace(by_columns, dims=tuple({**sizes, "m": m, "n": n}[d] for d in spec.dims))
    sizes = by_columns.sizes
    leading = {
        f"ld{arg.name}": shape_of(math_axes(arg, letters), sizes)[0] for arg in spec.arguments
    }
    arrays = {name: name for name in spec.argument_names}
    if case.layout == "row" and spec.partner and "b" in arrays:  # (A B^T)^T = B A^T
        arrays |= {"a": "b", "b": "a"}
    return ColumnCall(letters, {**sizes, **leading}, arrays)


def _turned(case: Case, letters: Mapping[str, str]) -> dict[str, str] | None:
    """The letters for the transpose of a matrix, None where it is no matrix of the same kind."""
    spec = ROUTINES[case.routine]
    banded = any(arg.storage == BAND for arg in spec.arguments)
    if banded or spec.structure == "hermitian" or spec.conj:
        return None
    turned = dict(letters)
    if "uplo" in turned:
        turned["uplo"] = "L" if turned["uplo"] == "U" else "U"
    if "trans" in turned:
        if turned["trans"] == "C" and DTYPES[case.dtype].is_complex:
            return None
        turned["trans"] = "T" if turned["trans"] == "N" else "N"
    return turned


#: A rival's gemv, or its gemm with alpha and beta.
Matvec = Callable[[Case, Mapping[str, Any]], Bound]
Product = Callable[[Case, Mapping[str, Any], float, float], Bound]


def two_matvecs(gemv: Matvec, case: Case, operands: Mapping[str, Any]) -> Bound:
    """The products of a gemvt, one after the other."""
    (m, n), (a, x, w, y, z) = case.dims, operands.values()
    first = Case("gemv", (m, n), case.dtype, "N", case.layout)
    second = Case("gemv", (n, m), case.dtype, case.trans, case.layout)
    one = gemv(first, {"a": a, "x": x, "y": y})
    other = gemv(second, {"a": a, "x": w, "y": z})
    note = f"{one.note or 'gemv'}, then {other.note or 'gemv'} of the transpose"
    return Bound(in_turn(one.call, other.call), note=note)


def product_instead(
    gemm: Product, case: Case, operands: Mapping[str, Any], matrix: Callable[[Any], Any]
) -> Bound:
    """A gemv or a ger by gemm; `matrix` makes one of one column of a vector."""
    numbers = scalars(ROUTINES[case.routine])
    (m, n), vectors = case.dims, {name: array for name, array in operands.items() if name != "a"}
    x, y = map(matrix, vectors.values())
    if case.routine == "gemv":
        product = Case("gemm", (m, 1, n), case.dtype, f"{case.trans}N", case.layout)
        given, note = {"a": operands["a"], "b": x, "c": y}, "gemm of one column"
    else:
        letter = "C" if ROUTINES[case.routine].conj else "T"
        product = Case("gemm", (m, n, 1), case.dtype, f"N{letter}", case.layout)
        given, note = {"a": x, "b": y, "c": operands["a"]}, "gemm of one column and one row"
    bound = gemm(product, given, numbers["alpha"], numbers.get("beta", 1.0))
    return replace(bound, note=note)


#: What a rival that lacks a routine on vectors does in its place.
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
    if case.routine == "ger" and row.is_complex:
        return f"{letter}geru"
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
