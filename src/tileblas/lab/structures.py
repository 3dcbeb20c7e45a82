"""The matrix of a case that is not stored in full: where elements lie, what rows of it hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tileblas.check.evaluation import widen
from tileblas.core.spec import BAND, PACKED, Arg
from tileblas.core.storage import math_axes, shape_of
from tileblas.lab.cases import Case
from tileblas.lab.places import host_normal
from tileblas.routines.registry import ROUTINES

_SMALL = 1 / 128  # the norm of a row of a triangle but for its diagonal, at the most

#: Brings elements to the host by their places in memory.
Gather = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Matrix:
    """A as it is stored, and op(A): one matrix of rows x columns, of which `kind` is the structure.

    Stored are the elements of the main diagonal, `below` of those below it and `above` of those
    above it. `letter` says what op is.
    """

    kind: str
    storage: str
    rows: int
    columns: int
    below: int
    above: int
    letter: str
    unit: bool
    by_columns: bool

    @classmethod
    def of(cls, case: Case) -> Matrix:
        """The matrix of a case that has a structure, or of level 2 the one that there is."""
        spec, sizes, options = ROUTINES[case.routine], case.sizes, case.options
        letter = "N" if spec.structure == "both" else options.get("trans", "N")
        rows, columns = sizes.get("m", sizes["n"]), sizes["n"]
        if letter != "N":  # sizes are those of op(A)
            rows, columns = columns, rows
        if spec.level == 3:  # letters are those of the other matrices
            letter, (rows, columns) = "N", stored_shape(matrix_arg(case), case)
        if "uplo" in options:
            reach = sizes.get("b", columns) - 1
            below, above = (0, reach) if options["uplo"] == "U" else (reach, 0)
        elif "kl" in options:
            below, above = options["kl"], sizes["b"] - 1 - options["kl"]
        else:
            below, above = rows - 1, columns - 1
        return cls(
            *(spec.structure, matrix_arg(case).storage, rows, columns, below, above, letter),
            unit=options.get("diag") == "U",
            by_columns=case.layout == "col",
        )

    @property
    def is_mirrored(self) -> bool:
        """Whether the elements of one triangle are those of the other one too."""
        return self.kind in ("symmetric", "hermitian", "skew")

    def transposed(self, letter: str) -> Matrix:
        """The same matrix, of which op is another."""
        return replace(self, letter=letter)

    def stores(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Whether the element in row i and column j of A is stored."""
        return (-self.below <= j - i) & (j - i <= self.above)

    def places(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Where elements lie in memory, counted from the first of the array."""
        if self.storage == PACKED:
            if self.above:
                return j * (j + 1) // 2 + i
            return j * self.columns - j * (j - 1) // 2 + i - j
        rows = self.rows
        if self.storage == BAND:  # the rows of the array are diagonals
            i, rows = self.above + i - j, self.below + self.above + 1
        return j * rows + i if self.by_columns else i * self.columns + j

    def window(self, rows: np.ndarray) -> np.ndarray:
        """For each row of op(A), columns of which the others hold nothing; as many for each."""
        below, above = self.below, self.above
        if self.is_mirrored:
            below = above = max(below, above)
        elif self.letter != "N":
            below, above = above, below
        columns = self.columns if self.letter == "N" else self.rows
        width = min(below + above + 1, columns)
        if self.storage != BAND:
            width = columns
        first = np.clip(rows - below, 0, columns - width)
        return first[:, None] + np.arange(width)

    def elements(self, i: np.ndarray, j: np.ndarray, gather: Gather) -> np.ndarray:
        """The elements of op(A) in rows i and columns j, in double precision; 0 where none is."""
        i, j = np.broadcast_arrays(i, j)
        if self.letter != "N":
            i, j = j, i
        mirrored = self.is_mirrored & ~self.stores(i, j)
        i, j = np.where(mirrored, j, i), np.where(mirrored, i, j)
        there = self.stores(i, j)
        values = widen(gather(np.where(there, self.places(i, j), 0)))
        values = np.where(there, values, 0)
        if self.kind == "hermitian":
            values = np.where(mirrored, values.conj(), values)
            values = np.where(i == j, values.real, values)
        elif self.kind == "skew":
            values = np.where(mirrored, -values, np.where(i == j, 0, values))
        if self.unit:
            values = np.where(i == j, 1, values)
        return values.conj() if self.letter == "C" else values


def matrix_arg(case: Case) -> Arg:
    """The operand of a case that has a structure, or the first one that is a matrix."""
    spec = ROUTINES[case.routine]
    if spec.structured:
        return spec.operand(spec.structured)
    return next(arg for arg in spec.operands if arg.ndim == 2 or arg.storage)


def stored_shape(arg: Arg, case: Case) -> tuple[int, ...]:
    """The shape of the array of an operand."""
    return shape_of(math_axes(arg, case.options), case.sizes)


def triangle(case: Case, seed: int) -> np.ndarray:
    """The array of a triangular matrix by which a vector is multiplied, or divided, in place.

    It may be a thousand times: the diagonal is 1 and -1 in turn, and all else so small that the
    vector neither overflows nor vanishes. What is not read is as random as the rest.
    """
    matrix = Matrix.of(case)
    order = "F" if matrix.by_columns else "C"
    array = host_normal(stored_shape(matrix_arg(case), case), case.dtype, seed, order)
    components = (matrix.below + matrix.above + 1) * (2 if np.iscomplexobj(array) else 1)
    array *= _SMALL / components**0.5
    if not matrix.unit:
        diagonal = np.arange(matrix.columns)
        memory = array.ravel(order="A")
        memory[matrix.places(diagonal, diagonal)] = 1 - 2 * (diagonal % 2)
    return array
