"""A problem that is measured, a Case; rows of them; how sizes, letters and layouts are written."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from tileblas.core.dtypes import DTYPES
from tileblas.core.spec import Option
from tileblas.routines.registry import ROUTINES

Dims = tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """One problem: a routine, its sizes in the Spec's order, and how its operands lie.

    `trans` has a letter for each option that takes one, in the Spec's order: the transposes of a
    gemm, "NT", the triangle of a symv, "L", triangle, transpose and diagonal of a trmv, "LNN", side
    and triangle of a symm, "LU".
    `layout` is "col" or "row", or "" without a matrix of two axes: that of a packed one is given.
    The sizes of a gemv are those of op(A). Of the b diagonals of a gbmv (b - 1) // 2 are below the
    main one.
    """

    routine: str
    dims: Dims
    dtype: str
    trans: str = ""
    layout: str = ""

    @property
    def size(self) -> str:
        return format_size(self.dims)

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes by name."""
        return dict(zip(ROUTINES[self.routine].dims, self.dims, strict=True))

    @property
    def options(self) -> dict[str, Any]:
        """The routine's options in its Spec's order: letters and the kl of a band."""
        names = [option.name for option in lettered(self.routine)]
        values: dict[str, Any] = dict(zip(names, self.trans, strict=True))
        values["kl"] = (self.sizes.get("b", 1) - 1) // 2
        return {name: values.get(name) for name in ROUTINES[self.routine].option_names}

    @property
    def form(self) -> str:
        """The operands' layout and letters, "col NT"."""
        return f"{self.layout} {self.trans}".strip()

    def __str__(self) -> str:
        return " ".join(filter(None, (self.routine, self.size, self.dtype, self.form)))


@dataclass(frozen=True)
class Rows:
    """Rows of a list: every combination of sizes, dtypes, letters and layouts of one routine."""

    routine: str
    sizes: tuple[Dims, ...]
    dtypes: tuple[str, ...]
    trans: tuple[str, ...] = ("",)
    layouts: tuple[str, ...] = ("",)

    def cases(self) -> list[Case]:
        axes = (self.dtypes, self.layouts, self.trans, self.sizes)
        return [
            Case(self.routine, size, dtype, trans, layout)
            for dtype, layout, trans, size in itertools.product(*axes)
        ]


def lettered(routine: str) -> tuple[Option, ...]:
    """The options of a routine that take a letter."""
    return tuple(option for option in ROUTINES[routine].options if option.letters)


def powers(first: int, last: int, step: int = 1) -> tuple[Dims, ...]:
    """Vector lengths 2^first, 2^(first+step), ... up to and with 2^last."""
    exponents = sorted({*range(first, last + 1, step), last})
    return tuple((1 << e,) for e in exponents)


def squares(*orders: int, ndim: int = 3) -> tuple[Dims, ...]:
    """Products of square matrices: of two of them, or with ndim = 2 of one and a vector."""
    return tuple((n,) * ndim for n in orders)


def matvecs(
    stored: tuple[Dims, ...], dtypes: tuple[str, ...], trans: tuple[str, ...] = ("N", "T")
) -> tuple[Rows, ...]:
    """Column-major gemv on matrices of the sizes `stored`: op(A) of "N", then that of "T"."""
    turned = tuple((n, m) for m, n in stored)
    return tuple(
        Rows("gemv", stored if letter == "N" else turned, dtypes, (letter,), ("col",))
        for letter in trans
    )


def square(
    routine: str, *orders: int, dtypes: tuple[str, ...] = (), forms: tuple[str, ...] = ("",)
) -> tuple[Rows, ...]:
    """A routine on a square matrix by columns, or packed; of all its types if none is named.

    Matrices of 4 GiB are left out.
    """
    spec = ROUTINES[routine]
    return tuple(
        Rows(routine, squares(*fitting, ndim=len(spec.dims)), (dtype,), forms, layouts(routine)[:1])
        for dtype in dtypes or spec.dtypes
        if (fitting := [n for n in orders if n * n * DTYPES[dtype].itemsize < 1 << 32])
    )


def layouts(routine: str) -> tuple[str, ...]:
    """The layouts that a routine's matrix can have, by columns first; "" where it has none."""
    given = ROUTINES[routine].arguments
    return ("col", "row") if any(arg.ndim == 2 for arg in given) else ("",)


def parse_sizes(text: str, ndim: int) -> list[Dims]:
    """Sizes as written: 4096 · 2^20 · 2^16..2^28 or 2^16..2^28:2 (step of the exponent) · 8x512x64.

    One number stands for all of a routine's `ndim` sizes.
    """
    return [dims for item in text.split(",") for dims in _parse_size(item.strip(), ndim)]


def _parse_size(item: str, ndim: int) -> list[Dims]:
    if span := re.fullmatch(r"2\^(\d+)\.\.2\^(\d+)(?::(\d+))?", item):
        first, last, step = int(span[1]), int(span[2]), int(span[3] or 1)
        if first > last or step < 1:
            raise ValueError(f"size {item!r} is an empty range")
        return [dims * ndim for dims in powers(first, last, step)]
    numbers = tuple(_parse_number(part, item) for part in item.lower().split("x"))
    if len(numbers) == 1:
        numbers *= ndim
    if len(numbers) != ndim:
        raise ValueError(f"size {item!r} has {len(numbers)} numbers where {ndim} belong")
    return [numbers]


def _parse_number(part: str, item: str) -> int:
    if power := re.fullmatch(r"2\^(\d+)", part):
        return 1 << int(power[1])
    if not re.fullmatch(r"\d+", part) or int(part) < 1:
        raise ValueError(f"size {item!r} is not a number, 2^k, 2^a..2^b or MxNxK")
    return int(part)


def parse_forms(text: str, routines: Collection[str]) -> tuple[str, ...]:
    """Forms, "NN,TN,NT": each has the letters of the options of one of the routines, if any do."""
    forms = tuple(form.strip().upper() for form in text.split(","))
    known = {tuple(option.letters for option in lettered(name)) for name in routines} - {()}
    for form in forms if known else ():
        if not any(fits(form, name) for name in routines):
            wanted = ", or ".join(" and ".join(letters) for letters in sorted(known))
            raise ValueError(f"trans {form!r} is not one letter of each of {wanted}")
    return forms


def fits(form: str, routine: str) -> bool:
    """Whether a form has a letter for each option of a routine that takes one, of which it has."""
    options = lettered(routine)
    return 0 < len(form) == len(options) and all(
        letter in option.letters for letter, option in zip(form, options, strict=True)
    )


def check_order(case: Case) -> None:
    """ValueError where the order of a matrix beside another is not the size of that side."""
    sided = next((arg.sided for arg in ROUTINES[case.routine].operands if arg.sided), "")
    if sided:
        wanted = "m" if case.options[sided] == "L" else "n"
        if case.sizes["k"] != case.sizes[wanted]:
            text = f"size {case.size!r} of {case.routine} {case.trans}"
            raise ValueError(f"{text}: k is the order of A, which is {wanted} here")


def parse_layouts(text: str) -> tuple[str, ...]:
    """Layouts of matrices, "col,row"."""
    layouts = tuple(layout.strip().lower() for layout in text.split(","))
    for layout in layouts:
        if layout not in ("col", "row"):
            raise ValueError(f"layout {layout!r} is neither col nor row")
    return layouts


def format_size(dims: Dims) -> str:
    """The size as `parse_sizes` reads it, in its shortest form."""
    if len(set(dims)) > 1:
        return "x".join(map(str, dims))
    n = dims[0]
    return f"2^{n.bit_length() - 1}" if n >= 1 << 14 and n & (n - 1) == 0 else str(n)
