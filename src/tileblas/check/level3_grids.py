"""Cases of gemm for the grids of `grids`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from tileblas.check.cases import INPUT_ONLY, MATRIX_LAYOUTS, Case, gemm_case
from tileblas.check.parameters import (
    BATCHES,
    EDGES,
    FORMS,
    LARGE_SKEWED,
    LARGE_TILES,
    MANY,
    NETLIB_SIZES,
    PASSED_SCALARS,
    SKEWED,
    TILES,
    TRANS,
    exceptional_scalars,
    netlib_scalars,
)
from tileblas.core.dtypes import DTYPES, HALF


def gemm(dtype: str, name: str) -> Iterator[Case]:
    """Cases of gemm."""
    if name in ("netlib", "full"):
        yield from _netlib(dtype)
    if name == "netlib":
        return
    if name == "interpret":
        yield from _thinned(dtype, 7)
        yield from _sizes(dtype, (*EDGES[:4], (3, 2, 257), (65, 33, 129)))
    else:
        yield from _thinned(dtype, 1)
        yield from _sizes(dtype, (*EDGES, *TILES, *SKEWED))
    if name == "full":
        yield from _sizes(dtype, (*LARGE_TILES, *LARGE_SKEWED))
    yield from _layouts(dtype, name)
    yield from _batches(dtype, name)
    yield from _values(dtype, name)
    yield from _exact(dtype, name)
    if DTYPES[dtype] in HALF:
        yield from _widened(dtype)


def _netlib(dtype: str) -> Iterator[Case]:
    """Every size, transpose, alpha and beta of netlib's program: 17496 calls."""
    alphas, betas = netlib_scalars(dtype)
    sizes = itertools.product(NETLIB_SIZES, repeat=3)
    for (m, n, k), trans, alpha, beta in itertools.product(sizes, TRANS, alphas, betas):
        yield gemm_case(dtype, (m, n, k), trans, "col+1", alpha, beta)


def _thinned(dtype: str, stride: int) -> Iterator[Case]:
    """Each size with every transpose, and one of the nine pairs alpha, beta by a Latin square.

    Layouts alternate: column-major as in netlib, row-major as in CBLAS. Every `stride`-th case is
    kept; 7 keeps every pair of a transpose or a size with an alpha and a beta.
    """
    alphas, betas = netlib_scalars(dtype)
    scalars = tuple(itertools.product(alphas, betas))
    indices = itertools.product(range(len(NETLIB_SIZES)), repeat=3)
    cases = itertools.product(indices, enumerate(TRANS))
    for (i, j, p), (t, trans) in itertools.islice(cases, 0, None, stride):
        size = (NETLIB_SIZES[i], NETLIB_SIZES[j], NETLIB_SIZES[p])
        alpha, beta = scalars[(2 * i + 3 * j + 5 * p + t) % len(scalars)]
        layout = ("col+1", "row+1")[(i + j + p + t // 3) % 2]
        yield gemm_case(dtype, size, trans, layout, alpha, beta)


def _sizes(dtype: str, sizes: tuple[tuple[int, int, int], ...]) -> Iterator[Case]:
    """Larger sizes, with transposes and layouts taken in turn; c holds NaN under beta = 0."""
    alphas, betas = netlib_scalars(dtype)
    layouts = itertools.cycle(("col", "row", "row+7", "col@1"))
    for size, trans, layout in zip(sizes, itertools.cycle(TRANS), layouts, strict=False):
        yield gemm_case(dtype, size, trans, layout, fill=("random", "random", "nan"))
        yield gemm_case(dtype, size, trans[::-1], layout, alphas[-1], betas[-1])


def _layouts(dtype: str, name: str) -> Iterator[Case]:
    """Each layout for each operand in turn beside plain ones, then for all three."""
    size, other = (5, 7, 6), (33, 17, 40)
    trans = itertools.cycle(TRANS)
    for layout in MATRIX_LAYOUTS:
        if layout in ("same-batch", "batch-inner"):
            continue  # these need a batch: see _batches
        is_input_only = layout in INPUT_ONLY
        choices = [(layout, "row", "col"), ("col", layout, "row")]
        choices += [] if is_input_only else [("row", "col", layout), (layout,) * 3]
        for choice in choices[:: 2 if name == "interpret" else 1]:
            yield gemm_case(dtype, size, next(trans), choice, 2, 3, fill="integers")
            if name != "interpret":
                yield gemm_case(dtype, other, next(trans), choice, 1, 1)


def _batches(dtype: str, name: str) -> Iterator[Case]:
    for batches in BATCHES:
        yield gemm_case(dtype, (4, 3, 5), "NT", "row", 2, 3, batches, fill="integers")
        yield gemm_case(dtype, (4, 3, 5), "TN", "col+1", batches=batches, c=False)
    three = ((3,), (3,), (3,))
    yield gemm_case(dtype, (4, 3, 5), "NN", "batch-inner", 2, 3, three, fill="integers")
    yield gemm_case(dtype, (4, 3, 5), "CT", ("same-batch", "row", "reversed"), 1, 1, three)
    yield gemm_case(dtype, (3, 3, 0), "NN", "row", 1, 3, ((2,), (2,), (2,)))
    yield gemm_case(dtype, (3, 3, 0), "NN", "row", batches=((2,), (2,), (2,)), c=False)
    if name == "full":
        many = ((MANY,), (), (MANY,))
        yield gemm_case(dtype, (2, 3, 2), "NN", "row", batches=many, c=False)


def _values(dtype: str, name: str) -> Iterator[Case]:
    """Exceptional scalars and data, and every way to pass a scalar."""
    for alpha, beta in exceptional_scalars(dtype):
        yield gemm_case(dtype, (3, 4, 5), "NT", "row+1", alpha, beta, fill="integers")
    for size in ((5, 6, 7), (2, 3, 1), (17, 16, 2)):
        for alpha, beta in ((1, 0), (1, 1), (2, -1)):
            yield gemm_case(dtype, size, "TC", "col+1", alpha, beta, fill="special")
    for poison in ("nan", "inf"):
        yield gemm_case(dtype, (5, 4, 3), "NN", "row", 2, 0, fill=("random", "random", poison))
        yield gemm_case(dtype, (5, 4, 3), "NT", "col", 0, 2, fill=(poison, poison, "random"))
        yield gemm_case(dtype, (5, 4, 3), "TN", "col", 0, 0, fill=poison)
        yield gemm_case(dtype, (5, 4, 0), "TN", "row", 1, 0, fill=("nan", "nan", poison))
    for fill in ("wide", "huge", ("subnormal", "integers", "subnormal")):
        yield gemm_case(dtype, (5, 4, 6), "NT", "row", 1, 1, fill=fill)
    for form, (alpha, beta) in itertools.product(FORMS, PASSED_SCALARS):
        fills = ("nan" if not alpha else "random",) * 2 + ("nan" if not beta else "random",)
        yield gemm_case(dtype, (4, 5, 6), "NN", "row", alpha, beta, fill=fills, form=form)


def _exact(dtype: str, name: str) -> Iterator[Case]:
    """Integers: bit equality. Large ones use every bit of a product, so that lost bits show."""
    sizes = ((7, 7, 7), (11, 11, 11), (15, 15, 15), (46, 46, 46), (33, 65, 40))
    for size, trans in itertools.product(sizes, ("NN", "TN", "NT", "CC")):
        if name != "interpret" or size == (15, 15, 15):
            yield gemm_case(dtype, size, trans, "row@1", 1, 1, fill="integers")
    if DTYPES[dtype] not in HALF:
        for trans in TRANS:
            yield gemm_case(dtype, (9, 8, 3), trans, "col+1", fill="large", c=False)


def _widened(dtype: str) -> Iterator[Case]:
    """Half inputs into a float32 c: only the sum rounds, and large c keeps its bits."""
    for size, trans in (
        ((3, 5, 9), "NN"),
        ((17, 33, 40), "TC"),
        ((2, 3, 300), "NT"),
        ((4, 4, 0), "NN"),
    ):
        yield gemm_case(
            dtype, size, trans, "row", 1, 0, fill=("random", "random", "nan"), out="float32"
        )
        yield gemm_case(dtype, size, trans, "col+1", 0.7, 1.3, out="float32")
        yield gemm_case(dtype, size, trans, "row+1", 2, 3, fill="integers", out="float32")
