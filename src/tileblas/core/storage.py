"""How matrices lie that are not dense, and which of their elements are there (pure functions).

A band is linear: its element (i, j) is in row ku + i - j and column j of the array, so that a step
down the matrix is a step down the array, and a step along it one column on and one row up. A packed
triangle is linear down its columns; along them the step grows or shrinks by one each time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tileblas.core.call import Structure
from tileblas.core.spec import BAND, PACKED, Arg, Spec


class Place(NamedTuple):
    """Where the elements of a matrix or vector lie; `start` and `curve` as View has them."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    start: int = 0
    curve: tuple[int, ...] = ()

    @property
    def transposed(self) -> Place:
        return Place(self.shape[::-1], self.strides[::-1], self.start, self.curve[::-1])


def place(
    arg: Arg,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    sizes: Mapping[str, int],
    options: Mapping[str, Any],
) -> Place:
    """Where the elements of an operand lie, before it is transposed.

    `shape` and `strides` are those of the array; `sizes` are those of op(A), by name.
    """
    if arg.storage == BAND:
        rows = sizes.get("m", sizes["n"])
        columns = sizes["n"]
        if arg.trans and options[arg.trans] != "N":
            rows, columns = columns, rows
        # An axis of one element has no stride, whatever is given as such.
        down, along = (step if n > 1 else 0 for n, step in zip(shape, strides, strict=True))
        above = _above(arg, shape[0], options)
        return Place((rows, columns), (down, along - down), above * down)
    if arg.storage == PACKED:
        n, (step,) = sizes["n"], strides
        if options["uplo"] == "U":
            return Place((n, n), (step, 0), 0, (0, step))
        return Place((n, n), (step, n * step), 0, (0, -step))
    return Place(shape, strides)


def _above(arg: Arg, rows: int, options: Mapping[str, Any]) -> int:
    """Diagonals above the main one in an array with so many rows."""
    if "kl" in options:
        return rows - 1 - options["kl"]
    return rows - 1 if options["uplo"] == "U" else 0


def structure(spec: Spec, sizes: Mapping[str, int], options: Mapping[str, Any]) -> Structure | None:
    """Which elements of op(A) are there; None where all are. `sizes` are those of op(A)."""
    if not spec.structure:
        return None
    if spec.structure == "both":
        kind = "adjoint" if options["trans"] == "C" else "transpose"
        return Structure(kind, max(sizes["m"] - 1, 0), max(sizes["n"] - 1, 0))
    arg = spec.operand(spec.structured)
    if spec.level == 3:
        order = sizes[math_axes(arg, options)[0]]
        inner, reach = -1 if spec.structure == "skew" else 0, max(order - 1, 0)
        below, above = (inner, reach) if options["uplo"] == "U" else (reach, inner)
        return Structure(spec.structure, below, above, slot=arg.name)
    turned = options.get("trans", "N") != "N"
    rows, columns = sizes.get("m", sizes["n"]), sizes["n"]
    if turned:  # of A as stored
        rows, columns = columns, rows
    if spec.structure == "band":
        below, above = options["kl"], sizes["b"] - 1 - options["kl"]
    else:
        reach = sizes.get("b", rows) - 1
        inner = -1 if spec.structure == "skew" else 0
        below, above = (inner, reach) if options["uplo"] == "U" else (reach, inner)
    below, above = min(below, max(rows - 1, 0)), min(above, max(columns - 1, 0))
    found = Structure(spec.structure, below, above, options.get("diag") == "U", arg.name)
    return found.transposed if turned else found


def math_axes(arg: Arg, options: Mapping[str, Any]) -> str:
    """The operand's axes as stored: those of op(A), m and n, change roles where trans is T or C."""
    if arg.sided:
        return "mm" if options[arg.sided] == "L" else "nn"
    if not arg.trans or options[arg.trans] == "N":
        return arg.axes
    if arg.storage == BAND:  # its columns are those of A, its rows are diagonals
        return "bm" if "kl" in options else arg.axes  # a triangle has as many rows as columns
    return arg.axes[::-1]


def packed_length(n: int) -> int:
    """Elements of a packed triangle of order n."""
    return n * (n + 1) // 2


def axis_sizes(sizes: Mapping[str, int]) -> dict[str, int]:
    """The sizes, and those that follow from them: that of a packed triangle."""
    return {**sizes, "p": packed_length(sizes["n"])} if "n" in sizes else dict(sizes)


def shape_of(axes: Sequence[str], sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The shape of an operand by the names of its axes, of which digits are sizes themselves."""
    known = axis_sizes(sizes)
    return tuple(int(axis) if axis.isdigit() else known[axis] for axis in axes)
