"""The elements of a matrix that are there, dense, band or packed, as NumPy views where they lie."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from tileblas.core.call import Problem
from tileblas.core.canon import lies_by_columns, transpose
from tileblas.core.operand import numpy_view
from tileblas.core.spec import DENSE
from tileblas.core.storage import packed_length
from tileblas.routines.registry import ROUTINES

ROWS, COLUMNS = 64, 1024  # of a block: its product with a vector is one call of BLAS, from a cache
_LONG = 256  # elements of a part of a row or diagonal, beside which the time of a call is small
_WALKED = 1 << 16  # elements of a part of a band, which no cache is too small for


class Block(NamedTuple):
    """A rectangle of a dense matrix, of which those elements are there that are True in `there`.

    None stands for all of them; those that are not may be read, and never matter.
    """

    rows: slice
    columns: slice
    values: np.ndarray
    there: np.ndarray | None


@dataclass(frozen=True)
class Elements:
    """The rows of a matrix, with its elements (i, j) where -below <= j - i <= above.

    `stored` is the matrix; of a band, what else it seems to hold may lie outside of the array. Of a
    packed triangle it is the array, in which column 0 of row i would be at `slope` i + `curve`
    i (i + 1) / 2. `turned`: these are the rows of the transpose, in which elements lie closer.
    """

    stored: np.ndarray
    shape: tuple[int, int]
    below: int
    above: int
    is_dense: bool
    turned: bool = False
    slope: int = 0
    curve: int = 0

    @property
    def is_lower(self) -> bool:
        """Whether the matrix, rather than its transpose, is a lower triangle."""
        return (self.below > self.above) != self.turned

    def strict(self) -> Elements:
        """A triangle without its diagonal."""
        return replace(self, above=-1) if self.below > self.above else replace(self, below=-1)

    def diagonal(self, real: bool = False) -> np.ndarray:
        """A copy of the diagonal of a square matrix, or of its real part alone."""
        return (self.stored.real if real else self.stored)[self._on_diagonal()]

    def make_diagonal_real(self) -> None:
        """The imaginary part of the diagonal := 0."""
        self.stored.imag[self._on_diagonal()] = 0

    def _on_diagonal(self) -> tuple[np.ndarray, ...]:
        i = np.arange(self.shape[0])
        return (i, i) if self.stored.ndim == 2 else (self._start(i) + i,)

    def _start(self, i):
        return self.slope * i + self.curve * (i * (i + 1) // 2)

    # ---- dense: blocks ----

    def blocks(self) -> Iterator[Block]:
        """All elements of a dense matrix, each once, `ROWS` rows at a time."""
        for top, bottom in self.steps():
            yield from self.beside(top, bottom)
            if not self._is_full:
                square = slice(top, bottom)
                i = np.arange(bottom - top)
                offset = i - i[:, np.newaxis]
                there = (-self.below <= offset) & (offset <= self.above)
                yield Block(square, square, self.stored[square, square], there)

    def beside(self, top: int, bottom: int) -> Iterator[Block]:
        """All of the rows from top to bottom but, of a triangle, the square on the diagonal."""
        rows = slice(top, bottom)
        left, right = 0, self.shape[1]
        if not self._is_full:
            left, right = (0, top) if self.below > self.above else (bottom, right)
        for start in range(left, right, COLUMNS):
            columns = slice(start, min(start + COLUMNS, right))
            yield Block(rows, columns, self.stored[rows, columns], None)

    @property
    def _is_full(self) -> bool:
        rows, columns = self.shape
        return self.below >= rows - 1 and self.above >= columns - 1

    def steps(self) -> list[tuple[int, int]]:
        """From where to where rows go together: `ROWS` of a dense matrix, all of another."""
        rows = self.shape[0]
        step = ROWS if self.is_dense else max(rows, 1)
        return [(top, min(top + step, rows)) for top in range(0, rows, step)]

    # ---- band and packed: parts of rows and diagonals ----

    def span(self, i: int, first: int, last: int) -> tuple[int, int]:
        """From where to where elements of row i are there, of those of the columns in between."""
        return max(first, i - self.below), min(last, i + self.above + 1)

    def row(self, i: int, start: int, stop: int) -> np.ndarray:
        """Elements [start, stop) of a row."""
        if self.stored.ndim == 2:
            return self.stored[i, start:stop]
        first = self._start(i)
        return self.stored[first + start : first + stop]

    def lines(self) -> Iterator[tuple[int, int, int, np.ndarray]]:
        """(i, start, stop, elements [start, stop) of row i) of each row that has any."""
        for i in range(self.shape[0]):
            start, stop = self.span(i, 0, self.shape[1])
            if start < stop:
                yield i, start, stop, self.row(i, start, stop)

    @property
    def lies_by_diagonals(self) -> bool:
        """Whether few diagonals hold more elements each than the many rows do."""
        count = self.below + self.above + 1
        if self.is_dense or self.stored.ndim == 1 or count > min(self.shape) // 2:
            return False
        return count <= _LONG or self._diagonals_are_contiguous

    @property
    def _diagonals_are_contiguous(self) -> bool:
        return abs(sum(self.stored.strides)) == self.stored.itemsize

    def diagonals(self) -> Iterator[tuple[slice, slice, np.ndarray]]:
        """(rows, columns, elements) of parts of the diagonals of a band."""
        (rows, columns), count = self.shape, self.below + self.above + 1
        length = _WALKED
        if not self._diagonals_are_contiguous:  # a line of a cache holds elements of several
            length = max(_LONG, _WALKED // max(count, 1))
        for top in range(0, rows, length):
            for d in range(-self.below, self.above + 1):
                start, stop = max(top, -d), min(top + length, rows, columns - d)
                if start < stop:
                    across = slice(start + d, stop + d)
                    yield slice(start, stop), across, self.stored[start:stop, across].diagonal()


def elements(problem: Problem, slot: int, address: int) -> Elements:
    """The elements of one operand that are there by the problem's structure; all if it has none."""
    view, structure = problem.views[slot], problem.structure
    rows, columns = view.shape
    limits = (structure.below, structure.above) if structure else (rows - 1, columns - 1)
    turned = lies_by_columns(view)
    if turned:
        view, limits = transpose(view), limits[::-1]
    first = address + view.start * view.dtype.itemsize
    if any(view.curve):
        slope, step = view.strides
        stored = numpy_view(first, view.dtype, (packed_length(rows),), (step,))
        lies = slope // step, view.curve[0] // step
        return Elements(stored, (rows, rows), *limits, False, turned, *lies)
    stored = numpy_view(first, view.dtype, view.shape, view.strides)
    is_dense = ROUTINES[problem.routine].operand(view.slot).storage == DENSE
    return Elements(stored, stored.shape, *limits, is_dense, turned)
