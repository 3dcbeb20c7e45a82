"""The named lists of problems that are measured, and what replaces parts of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tileblas.lab.cases import (
    Case,
    Dims,
    Rows,
    check_order,
    fits,
    matvecs,
    parse_forms,
    parse_layouts,
    parse_sizes,
    powers,
    square,
    squares,
)
from tileblas.routines.registry import ROUTINES

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

#: Orders of matrices of level 2 whose cuBLAS times are on record, and a few of them.
_ORDERS_2 = (256, 1024, 4096, 8192, 16384)
_FEW_ORDERS = (1024, 4096, 8192)

#: Orders and diagonals of bands; a solve goes along one, row after row, and gets short ones.
_BANDS = ((1_000_000, 9), (100_000, 65), (8192, 257))
_SHORT_BANDS = ((16384, 65), (8192, 257))

_TRIANGLES, _TRANSPOSES = ("L",), ("LNN",)
_OTHER_TRANSPOSES = ("UNN", "LTN", "UTN")

#: Level 2 of the record of cuBLAS's times.
_RECORDED_2 = (
    *square("symv", *_ORDERS_2, dtypes=_REAL, forms=_TRIANGLES),
    *square("hemv", *_ORDERS_2, forms=_TRIANGLES),
    *square("ger", *_ORDERS_2, dtypes=_REAL),
    *square("geru", *_ORDERS_2),
    *square("trmv", *_ORDERS_2, forms=_TRANSPOSES),
    *square("trsv", *_ORDERS_2, forms=_TRANSPOSES),
    *square("syr", *_ORDERS_2, dtypes=_REAL, forms=_TRIANGLES),
    *square("her", *_ORDERS_2, forms=_TRIANGLES),
)

#: Routines of level 2 by the letters that their options take.
_BY_LETTERS = {
    _TRIANGLES: (
        *("symv", "hemv", "skewsymv", "spmv", "hpmv"),
        *("syr", "her", "spr", "hpr", "syr2", "her2", "skewsyr2", "spr2", "hpr2"),
    ),
    _TRANSPOSES: ("trmv", "trsv", "tpmv", "tpsv"),
    ("",): ("ger", "geru", "gerc"),
    ("T",): ("gemvt",),
}


#: Routines of level 3 by the letters that their options take.
_BY_LETTERS_3 = {
    ("LL",): ("symm", "hemm", "skewsymm"),
    ("LN",): ("syrk", "herk", "syrkx", "herkx", "syr2k", "her2k", "skewsyr2k"),
    ("LNN",): ("gemmtr",),
}
#: Their other sides, triangles and transposes; a Hermitian product has "C" where others have "T".
_OTHER_LETTERS_3: dict[tuple[str, ...], tuple[str, ...]] = {
    ("LL",): ("LU", "RL", "RU"),
    ("LN",): ("UN", "LT", "UT"),
    ("LNN",): ("UNN", "LTN", "UTN", "LNT", "UNT"),
}
_ORDERS_3 = (256, 512, 1024, 2048, 4096, 8192)


def _two_types(routine: str) -> tuple[str, ...]:
    """The two types of numbers, real ones where the routine takes them."""
    return _REAL if set(_REAL) <= set(ROUTINES[routine].dtypes) else _COMPLEX


def _bands(routine: str, sizes: tuple[Dims, ...], dtypes: tuple[str, ...], form: str) -> Rows:
    """A routine on square bands by columns: orders, and numbers of diagonals."""
    full = len(ROUTINES[routine].dims) == 3
    dims = tuple((n, n, b) if full else (n, b) for n, b in sizes)
    return Rows(routine, dims, dtypes, (form,), ("col",))


def _products(routine: str, form: str) -> tuple[Rows, ...]:
    """Products of square matrices by columns at all orders; the largest takes complex128 long."""
    return tuple(
        row
        for dtype in ROUTINES[routine].dtypes
        for orders in [_ORDERS_3[:-1] if dtype == "complex128" else _ORDERS_3]
        for row in square(routine, *orders, dtypes=(dtype,), forms=(form,))
    )


def _other_letters(routine: str, forms: tuple[str, ...]) -> tuple[str, ...]:
    """The other letters of a routine, of which `forms` are measured at all orders."""
    hermitian = ROUTINES[routine].partner == "adjoint"
    others = _OTHER_LETTERS_3[forms]
    return tuple(form.replace("T", "C") for form in others) if hermitian else others


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
        *(
            row
            for forms, names in _BY_LETTERS.items()
            for name in names
            for row in square(name, 1024, 4096, dtypes=_two_types(name), forms=forms)
        ),
        _bands("gbmv", _SHORT_BANDS, _REAL, "N"),
        _bands("sbmv", _SHORT_BANDS, _REAL, "L"),
        _bands("hbmv", _SHORT_BANDS, _COMPLEX, "L"),
        _bands("tbmv", _SHORT_BANDS, _REAL, "LNN"),
        _bands("tbsv", _SHORT_BANDS, _REAL, "LNN"),
        Rows("gemm", _ORDERS, _REAL, ("NN",), ("col",)),
        *(
            row
            for forms, names in _BY_LETTERS_3.items()
            for name in names
            for row in square(name, 1024, 4096, dtypes=_two_types(name), forms=forms)
        ),
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
        *_RECORDED_2,
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
    # Matrices and vectors but for gemv: the record's sizes, rarer routines and types at a few.
    "level2": (
        *_RECORDED_2,
        *square("symv", 4096, dtypes=_REAL, forms=("U",)),
        *square("hemv", 4096, forms=("U",)),
        *square("symv", *_FEW_ORDERS, dtypes=_COMPLEX, forms=_TRIANGLES),
        *square("gerc", *_FEW_ORDERS),
        *square("ger", 4096, dtypes=("float16", "bfloat16")),
        *square("trmv", 4096, forms=_OTHER_TRANSPOSES),
        *square("trsv", 4096, forms=_OTHER_TRANSPOSES),
        *square("syr", 4096, dtypes=_REAL, forms=("U",)),
        *square("her", 4096, forms=("U",)),
        *square("syr", *_FEW_ORDERS, dtypes=_COMPLEX, forms=_TRIANGLES),
        *(
            row
            for name in ("syr2", "her2", "spmv", "hpmv", "spr", "hpr", "spr2", "hpr2")
            for row in square(name, *_FEW_ORDERS, forms=_TRIANGLES)
        ),
        *square("tpmv", *_FEW_ORDERS, forms=_TRANSPOSES),
        *square("tpsv", *_FEW_ORDERS, forms=_TRANSPOSES),
        *square("skewsymv", 4096, forms=_TRIANGLES),
        *square("skewsyr2", 4096, forms=_TRIANGLES),
        *square("gemvt", *_FEW_ORDERS, forms=("T",)),
        _bands("gbmv", _BANDS, _REAL + _COMPLEX, "N"),
        _bands("sbmv", _BANDS, _REAL + _COMPLEX, "L"),
        _bands("hbmv", _BANDS, _COMPLEX, "L"),
        _bands("tbmv", _BANDS, _REAL + _COMPLEX, "LNN"),
        _bands("tbsv", _SHORT_BANDS, _REAL + _COMPLEX, "LNN"),
    ),
    # Products of matrices: all types, the other sides, triangles and transposes at one order.
    "level3": (
        *square("gemm", 1024, 2048, 4096, dtypes=_REAL + _COMPLEX, forms=_PRODUCTS),
        *(
            row
            for forms, names in _BY_LETTERS_3.items()
            for name in names
            for row in (
                *_products(name, *forms),
                *square(name, 2048, forms=_other_letters(name, forms)),
            )
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

    A form of `trans` replaces where its letters are those of a routine's options: "NN" in gemm.
    ValueError for names and texts that mean nothing.
    """
    if name not in LISTS:
        raise ValueError(f"no list {name!r}; there are {', '.join(LISTS)}")
    rows = [row for row in LISTS[name] if not routines or row.routine in routines]
    missing = set(routines) - {row.routine for row in rows}
    if missing:
        raise ValueError(f"list {name!r} has no {', '.join(sorted(missing))}")
    forms = parse_forms(trans, {row.routine for row in rows}) if trans else ()
    found: list[Case] = []
    for row in rows:
        new: dict[str, Any] = {}
        if sizes:
            new["sizes"] = tuple(parse_sizes(sizes, len(row.sizes[0])))
        if dtypes:
            new["dtypes"] = tuple(dtypes)
        if fitting := tuple(form for form in forms if fits(form, row.routine)):
            new["trans"] = fitting
        if layouts and row.layouts != ("",):
            new["layouts"] = parse_layouts(layouts)
        found += replace(row, **new).cases()
    for case in found:
        check_order(case)
    return list(dict.fromkeys(found))
