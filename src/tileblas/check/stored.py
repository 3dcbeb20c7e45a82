"""Matrices as BLAS stores them: which element each cell of an array holds, and which are used.

Written from the definitions of BLAS, cell by cell, and from nothing that the library computes with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from tileblas.check.evaluation import transposed
from tileblas.core.spec import BAND, PACKED, Arg, Spec


class Cells(NamedTuple):
    """For each cell of an array, the row and the column of the element of A that it holds.

    `there`: whether it is an element that the routine refers to: it lies in A, in the stored
    triangle, and not on a diagonal that is taken to be 1 or 0.
    """

    row: np.ndarray
    column: np.ndarray
    there: np.ndarray


def matrix_of(spec: Spec) -> Arg | None:
    """The operand that is a matrix of which not all cells are referred to, if there is one."""
    if spec.structure in ("", "both"):
        return None
    return spec.operand(spec.structured)


def order_of(spec: Spec, shapes: Mapping[str, tuple[int, ...]], options: Mapping[str, Any]):
    """(rows, columns) of A as stored, from the shapes of the operands."""
    arg = matrix_of(spec)
    assert arg is not None
    if arg.storage == PACKED:
        n = shapes["x"][-1]
        return n, n
    columns = shapes[arg.name][-1]
    if "kl" not in options:
        return columns, columns
    along = "x" if options.get("trans", "N") != "N" else "y"  # the vector along the rows
    known = options.get("m") if along not in shapes else shapes[along][-1]
    return (columns if known is None else known), columns


def cells(
    spec: Spec, shape: tuple[int, ...], size: tuple[int, int], options: Mapping[str, Any]
) -> Cells:
    """The cells of the array of a matrix, by its last axes; `size` is that of the matrix."""
    arg = matrix_of(spec)
    assert arg is not None
    shape = shape[len(shape) - arg.ndim :]
    upper, unit = options.get("uplo", "U") == "U", options.get("diag") == "U"
    return _cells(spec.structure, arg.storage, shape, size, options.get("kl"), upper, unit)


@lru_cache(maxsize=64)
def _cells(
    structure: str,
    storage: str,
    shape: tuple[int, ...],
    size: tuple[int, int],
    kl: int | None,
    upper: bool,
    unit: bool,
) -> Cells:
    rows, columns = size
    if storage == PACKED:  # the columns of the triangle, one after the other
        pairs = [
            (i, j) for j in range(columns) for i in (range(j + 1) if upper else range(j, rows))
        ]
        row, column = np.array(pairs, int).reshape(-1, 2).T
    elif storage == BAND:  # A[i, j] in row ku + i - j of the array
        diagonal, column = np.indices(shape)
        below = kl if kl is not None else 0 if upper else shape[0] - 1
        row = column + diagonal - (shape[0] - 1 - below)
    else:
        row, column = np.indices(shape)
    there = (row >= 0) & (row < rows)
    if structure != "band":
        there &= (row <= column) if upper else (row >= column)
    if structure == "skew" or unit:
        there &= row != column
    return Cells(row, column, there)


#: What is in the other triangle, of the elements that are stored in one.
_MIRRORED: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "symmetric": np.asarray,
    "hermitian": np.conj,
    "skew": np.negative,
}


class Dense(NamedTuple):
    """op(A) in full, and where its elements are; elsewhere it holds zeros."""

    values: np.ndarray
    there: np.ndarray


def dense(
    spec: Spec, stored: np.ndarray, size: tuple[int, int], options: Mapping[str, Any]
) -> Dense:
    """op(A) made of the array that stores it, mirrored where only a triangle is stored."""
    arg = matrix_of(spec)
    assert arg is not None
    row, column, used = cells(spec, stored.shape, size, options)
    row, column = row[used], column[used]
    batch = stored.shape[: stored.ndim - used.ndim]
    values, there = np.zeros((*batch, *size), stored.dtype), np.zeros(size, bool)
    elements = stored[..., used]
    if spec.structure == "hermitian":
        elements = np.where(row == column, elements.real, elements)
    if spec.structure in _MIRRORED:
        values[..., column, row], there[column, row] = _MIRRORED[spec.structure](elements), True
    values[..., row, column], there[row, column] = elements, True
    if options.get("diag") == "U":
        along = np.arange(size[0])
        values[..., along, along], there[along, along] = 1, True
    trans = options.get(arg.trans, "N") if arg.trans else "N"
    return Dense(transposed(values, trans), transposed(there, trans))


def taken(dense: np.ndarray, where: Cells, fill: Any = 0) -> np.ndarray:
    """The elements of stacks of matrices as they are stored, and `fill` in cells not used."""
    out = np.full((*dense.shape[:-2], *where.there.shape), fill, dense.dtype)
    out[..., where.there] = dense[..., where.row[where.there], where.column[where.there]]
    return out
