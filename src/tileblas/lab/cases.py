"""Which problems are measured: a Case each, the named lists of them, and how sizes are written."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

Dims = tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """One problem: a routine, its sizes in the Spec's order, and how its operands lie.

    `trans` holds a letter for each operand that can be transposed ("NT"), `layout` is "col" or
    "row"; both are "" for routines on vectors. The sizes of a gemv are those of op(A).
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
    def form(self) -> str:
        """The operands' layout and transposes in one word, "col NT"."""
        return f"{self.layout} {self.trans}".strip()

    def __str__(self) -> str:
        return " ".join(filter(None, (self.routine, self.size, self.dtype, self.form)))


@dataclass(frozen=True)
class Rows:
    """Rows of a list: every combination of sizes, dtypes, transposes and layouts of one routine."""

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


_REAL = ("float32", "float64")
_COMPLEX = ("complex64", "complex128")
_PRODUCTS = ("NN", "TN", "NT")

#: Odd orders beside the powers of two: tails, and rows that are not 16-byte aligned.
_ORDERS = squares(256, 512, 1000, 1023, 1024, 2047, 2048, 3000, 4095, 4096, 8192)

#: Matrices beside a vector, as stored: square, tall, wide, and with unaligned columns.
_SQUARE = squares(256, 1024, 4096, 8192, ndim=2)
_LARGEST = squares(16384, ndim=2)
_TALL = tuple((1 << 20, n) for n in (8, 32, 128))
_WIDE = tuple((m, 1 << 20) for m in (8, 32, 128))
_ODD = ((100_000, 300), (300, 100_000), (1000, 1000), (4097, 4095))
_MATRICES = (*_SQUARE, *_LARGEST, *_TALL, *_WIDE, *_ODD)
#: gemv of all types, complex128 of order 16384 left out, as in the record of cuBLAS's times.
_MATVECS = (
    *matvecs(_MATRICES, (*_REAL, "complex64")),
    *matvecs((*_SQUARE, *_TALL, *_WIDE, *_ODD), ("complex128",)),
)

#: Vectors whose cuBLAS times are on record.
_RECORDED = powers(10, 10) + powers(14, 26, 2)

#: Routines on vectors whose times differ little from those of dot, nrm2, scal and axpy.
_VECTOR_ROUTINES = (
    *("asum", "iamax", "iamin", "copy", "swap"),
    *("rot", "rotm", "axpby", "axpydot"),
)

LISTS: dict[str, tuple[Rows, ...]] = {
    "default": (
        Rows("dot", powers(16, 28), _REAL),
        Rows("dotc", powers(16, 26, 2), _COMPLEX),
        Rows("dotu", powers(16, 26, 2), _COMPLEX),
        Rows("nrm2", powers(16, 28), _REAL),
        Rows("nrm2", powers(16, 26, 2), _COMPLEX),
        Rows("scal", powers(16, 28), _REAL),
        Rows("axpy", powers(16, 28), _REAL),
        *(Rows(name, powers(16, 24, 4), _REAL) for name in _VECTOR_ROUTINES),
        *(Rows(name, powers(16, 24, 4), ("float32",)) for name in ("dsdot", "sdsdot")),
        *matvecs((*_SQUARE, *_TALL[::2], *_WIDE[::2], *_ODD), _REAL),
        Rows("gemv", squares(1000, 4096, ndim=2), _REAL, ("N", "T"), ("row",)),
        Rows("gemv", squares(4096, ndim=2), _COMPLEX, ("N", "T", "C"), ("col",)),
        Rows("gemm", _ORDERS, _REAL, ("NN",), ("col",)),
    ),
    "demo": (
        Rows("dot", powers(24, 24), _REAL),
        Rows("gemm", squares(2048), _REAL, ("NN",), ("col",)),
    ),
    # The sizes at which a release is accepted on the H200, and those that show each dtype at work.
    "accept": (
        Rows("dot", powers(16, 28, 2), _REAL),
        Rows("nrm2", (*powers(16, 20), *powers(24, 26, 2)), _REAL),
        Rows("scal", powers(20, 28, 2), _REAL),
        *_MATVECS,
        Rows(
            "gemm",
            squares(4096),
            ("float64", "float16", "bfloat16", "float32"),
            _PRODUCTS,
            ("col",),
        ),
        Rows("gemm", squares(2048), _COMPLEX, ("NN",), ("col",)),
    ),
    # NumPy arrays on a GPU: about the sizes where it starts to win, and where transfers are all.
    "staged": (
        *(
            Rows(name, powers(12, 27, 5), _REAL)
            for name in ("dot", "nrm2", "asum", "scal", "copy", "axpy", "swap")
        ),
        *matvecs(squares(256, 1024, 4096, 16384, ndim=2), _REAL, ("N",)),
        Rows("gemm", squares(64, 256, 512, 1024, 2048, 4096), _REAL, ("NN",), ("col",)),
    ),
    # Levels 1 and 2 at the sizes of the record of cuBLAS's times on the H200.
    "baseline": (
        Rows("dot", _RECORDED, _REAL),
        Rows("dotc", _RECORDED, _COMPLEX),
        Rows("nrm2", _RECORDED, _REAL + _COMPLEX),
        Rows("scal", _RECORDED, _REAL + _COMPLEX),
        Rows("axpy", _RECORDED, _REAL + _COMPLEX),
        *(Rows(name, _RECORDED, _REAL + _COMPLEX) for name in ("asum", "iamax", "copy", "swap")),
        *_MATVECS,
    ),
    # All routines on vectors; rarer ones at a few of the sizes on record.
    "level1": (
        Rows("dot", _RECORDED, _REAL),
        Rows("dotc", _RECORDED, _COMPLEX),
        *(
            Rows(name, _RECORDED, _REAL + _COMPLEX)
            for name in ("nrm2", "asum", "iamax", "scal", "copy", "axpy", "swap", "rot")
        ),
        Rows("rotm", powers(16, 24, 4), _REAL),
        *(
            Rows(name, powers(16, 24, 4), _REAL + _COMPLEX)
            for name in ("axpby", "axpydot", "iamin")
        ),
    ),
}


def listed(
    name: str,
    routines: Sequence[str] = (),
    sizes: str | None = None,
    dtypes: Sequence[str] | None = None,
    trans: str | None = None,
    layouts: str | None = None,
) -> list[Case]:
    """The cases of a named list, those of `routines` where given; what is not None replaces.

    A form of `trans` replaces where it has the right number of letters: "NN" those of gemm.
    ValueError for names and texts that mean nothing.
    """
    if name not in LISTS:
        raise ValueError(f"no list {name!r}; there are {', '.join(LISTS)}")
    rows = [row for row in LISTS[name] if not routines or row.routine in routines]
    missing = set(routines) - {row.routine for row in rows}
    if missing:
        raise ValueError(f"list {name!r} has no {', '.join(sorted(missing))}")
    counts = {len(row.trans[0]) for row in rows} - {0}
    forms = parse_trans(trans, counts) if trans and counts else ()
    found: list[Case] = []
    for row in rows:
        new: dict[str, Any] = {}
        if sizes:
            new["sizes"] = tuple(parse_sizes(sizes, len(row.sizes[0])))
        if dtypes:
            new["dtypes"] = tuple(dtypes)
        if fitting := tuple(form for form in forms if len(form) == len(row.trans[0])):
            new["trans"] = fitting
        if layouts and row.layouts != ("",):
            new["layouts"] = parse_layouts(layouts)
        found += replace(row, **new).cases()
    return list(dict.fromkeys(found))


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


def parse_trans(text: str, counts: Set[int]) -> tuple[str, ...]:
    """Forms of products, "NN,TN,NT": a letter for each operand, of which there are so many."""
    forms = tuple(form.strip().upper() for form in text.split(","))
    for form in forms:
        if len(form) not in counts or set(form) - set("NTC"):
            wanted = " or ".join(map(str, sorted(counts)))
            raise ValueError(f"trans {form!r} is not {wanted} letters of N, T and C")
    return forms


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
