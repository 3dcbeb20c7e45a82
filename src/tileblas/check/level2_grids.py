"""Cases of gemv for the grids of `grids`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from tileblas.check.cases import MATRIX_LAYOUTS, Case, gemv_case
from tileblas.check.parameters import (
    BATCHES,
    COMPLEX_SCALARS,
    FORMS,
    INCS,
    LARGE_PLANES,
    MANY,
    NETLIB_EMPTY_SHAPES,
    NETLIB_INCS_OF_GEMV,
    NETLIB_SHAPES,
    PASSED_SCALARS,
    PLANES,
    REAL_SCALARS_OF_GEMV,
    SMALL_PLANES,
    exceptional_scalars,
    netlib_scalars,
)
from tileblas.core.dtypes import DTYPES, HALF


def gemv(dtype: str, name: str) -> Iterator[Case]:
    """Cases of gemv."""
    yield from _netlib(dtype, {"netlib": 1, "full": 1, "reduced": 5, "interpret": 61}[name])
    if name == "netlib":
        return
    is_small = name == "interpret"
    yield from _sizes(dtype, SMALL_PLANES if is_small else PLANES, 1 if is_small else 3)
    if name == "full":
        yield from _sizes(dtype, LARGE_PLANES, 3)
    yield from _layouts(dtype, name)
    yield from _batches(dtype, name)
    yield from _values(dtype)
    yield from _exact(dtype, name)


def _netlib(dtype: str, stride: int) -> Iterator[Case]:
    """netlib's 3461 calls, or every `stride`-th of those with something to compute."""
    scalars = COMPLEX_SCALARS if DTYPES[dtype].is_complex else REAL_SCALARS_OF_GEMV
    calls = itertools.product(NETLIB_SHAPES, "NTC", NETLIB_INCS_OF_GEMV, *scalars)
    for shape, trans, incs, alpha, beta in itertools.islice(calls, 0, None, stride):
        yield gemv_case(dtype, shape, trans, "col+1", incs, alpha, beta)
    for shape in NETLIB_EMPTY_SHAPES:
        yield gemv_case(dtype, shape, "N", "col+1", (1, 1), scalars[0][-1], scalars[1][-1])
    yield gemv_case(dtype, (0, 5), "T", "col+1", (1, 1), 1, -0.7)


def _sizes(dtype: str, sizes: tuple[tuple[int, int], ...], turns: int) -> Iterator[Case]:
    """Larger sizes, each with `turns` of the transposes, column- and row-major.

    y holds NaN under beta = 0.
    """
    alphas, betas = netlib_scalars(dtype)
    incs = itertools.cycle(((1, 1), (2, 1), (1, -1), (-3, 2), (0, 1)))
    letters = itertools.cycle("NTC")
    for size in sizes:
        for trans, order in itertools.product(itertools.islice(letters, turns), ("col", "row")):
            yield gemv_case(dtype, size, trans, order, fill=("random", "random", "nan"))
            yield gemv_case(
                dtype, size, trans, f"{order}+7", next(incs), alphas[-1], betas[-1], offset=1
            )


def _layouts(dtype: str, name: str) -> Iterator[Case]:
    """Each layout of the matrix, with every transpose and with increments taken in turn."""
    incs = itertools.cycle(pair for pair in INCS if pair[1])
    for layout, trans in itertools.product(MATRIX_LAYOUTS, "NTC"):
        if layout in ("same-batch", "batch-inner"):
            continue  # these need a batch: see _batches
        yield gemv_case(dtype, (5, 7), trans, layout, next(incs), 2, 3, fill="integers")
        if name != "interpret":
            yield gemv_case(dtype, (65, 33), trans, layout, next(incs), 1, 1)
            yield gemv_case(dtype, (33, 140), trans, layout, next(incs), 0.7)


def _batches(dtype: str, name: str) -> Iterator[Case]:
    for batches in BATCHES:
        yield gemv_case(dtype, (4, 3), "N", "row", (2, -1), 2, 3, batches, fill="integers")
        yield gemv_case(dtype, (4, 3), "C", "col+1", batches=batches, y=False)
    three = ((3,), (3,), (3,))
    yield gemv_case(dtype, (4, 3), "N", "batch-inner", (1, 1), 2, 3, three, fill="integers")
    yield gemv_case(dtype, (4, 3), "T", "same-batch", (0, -2), 1, 1, three)
    for beta in (0, 1, 3):
        yield gemv_case(dtype, (3, 0), "N", "row", (1, 2), 1, beta, ((2,), (2,), (2,)))
    yield gemv_case(dtype, (0, 3), "T", "row", batches=((2,), (2,), (2,)), y=False)
    if name == "full":
        many = ((MANY,), (), (MANY,))
        yield gemv_case(dtype, (2, 3), "N", "row", batches=many, y=False)


def _values(dtype: str) -> Iterator[Case]:
    """Exceptional scalars and data, and every way to pass a scalar."""
    for alpha, beta in exceptional_scalars(dtype):
        yield gemv_case(dtype, (3, 5), "N", "row+1", (1, 2), alpha, beta, fill="integers")
    for size, trans, layout in (((5, 7), "C", "col+1"), ((2, 1), "T", "row"), ((17, 2), "N", "up")):
        for alpha, beta in ((1, 0), (1, 1), (2, -1)):
            yield gemv_case(dtype, size, trans, layout, (1, 1), alpha, beta, fill="special")
    for poison in ("nan", "inf"):
        for layout in ("row", "col"):
            yield gemv_case(
                dtype, (5, 4), "N", layout, (1, 2), 2, 0, fill=("random",) * 2 + (poison,)
            )
            yield gemv_case(
                dtype, (5, 4), "T", layout, (2, 1), 0, 2, fill=(poison,) * 2 + ("random",)
            )
            yield gemv_case(dtype, (5, 4), "C", layout, (1, 1), 0, 0, fill=poison)
        yield gemv_case(dtype, (5, 0), "N", "row", (1, 1), 1, 0, fill=("nan", "nan", poison))
    for fill in ("wide", "huge", ("subnormal", "integers", "subnormal")):
        yield gemv_case(dtype, (5, 6), "T", "row", (1, 1), 1, 1, fill=fill)
    for form, (alpha, beta) in itertools.product(FORMS, PASSED_SCALARS):
        fills = ("nan" if not alpha else "random",) * 2 + ("nan" if not beta else "random",)
        yield gemv_case(dtype, (4, 5), "N", "row", (1, 1), alpha, beta, fill=fills, form=form)


def _exact(dtype: str, name: str) -> Iterator[Case]:
    """Integers: bit equality. Large ones use every bit of a product, so that lost bits show."""
    sizes = ((7, 7), (15, 46), (46, 15), (33, 257), (257, 33), (130, 129))
    for size, trans, layout in itertools.product(sizes, "NTC", ("row@1", "col@1")):
        if name != "interpret" or size in ((15, 46), (257, 33)):
            yield gemv_case(dtype, size, trans, layout, (1, 1), 1, 1, fill="integers")
    if DTYPES[dtype] not in HALF:
        for trans, layout in itertools.product("NTC", ("row", "col+1")):
            size = (9, 3) if trans == "N" else (3, 9)
            yield gemv_case(dtype, size, trans, layout, fill="large", y=False)
