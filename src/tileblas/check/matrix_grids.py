"""What the grids of level 2 share, but for gemv's: netlib's calls, and lists to go through."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from math import gcd
from typing import Any

from tileblas.check.cases import INPUT_ONLY, MATRIX_LAYOUTS, Case, Scalar
from tileblas.check.matrix_cases import PACKED_LAYOUTS, Bands, Size, matrix_case
from tileblas.check.parameters import (
    COMPLEX_SCALARS,
    NETLIB_BANDS,
    NETLIB_EMPTY_SHAPES,
    NETLIB_ORDERS,
    NETLIB_SHAPES,
    NETLIB_STEPS,
    OBLONG_WIDTHS,
    OBLONGS,
    ORDERS,
    REAL_SCALARS_OF_GEMV,
    WIDTHS,
)
from tileblas.core.dtypes import DTYPES
from tileblas.core.spec import BAND, PACKED, Spec
from tileblas.routines.registry import ROUTINES

Shape = tuple[int, ...]
_LARGEST_OF_FEW = 100


def few(cases: Iterable[Case], count: int) -> list[Case]:
    """So many of the cases that are not large, picked by the seeds that follow from their ids."""
    small = [case for case in cases if max(_lengths(case)) <= _LARGEST_OF_FEW]
    return sorted(small, key=lambda case: case.seed)[:count]


def gathered(
    name: str,
    netlibs: Iterable[Case],
    sections: Sequence[tuple[Iterable[Case], int]],
    large: Iterable[Case],
) -> Iterator[Case]:
    """The grid `name`: netlib's calls, each section, or so many of its cases in the interpreter,
    and in the full grid the large ones."""
    yield from netlibs
    if name == "netlib":
        return
    for cases, count in sections:
        yield from few(cases, count) if name == "interpret" else cases
    if name == "full":
        yield from large


def _lengths(case: Case) -> list[int]:
    return [plan.shape[-1] for plan in case.plans if plan.name != "ap"]


def thinned(calls: Sequence[Any], count: int, first: int) -> Sequence[Any]:
    """About `count` calls of a product of lists, in which every pair of parameters still meets.

    They are a step apart that has no factor with the length of any list; `first` shifts them.
    """
    step = max(1, len(calls) // count)
    while gcd(step, len(calls)) > 1:
        step += 1
    return calls[first % step :: step]


# ---- netlib -------------------------------------------------------------------------------------


def netlib(routine: str, dtype: str, count: int | None = None, **more) -> Iterator[Case]:
    """netlib's calls, or about `count` of those with something to compute, twice that of bands."""
    spec = ROUTINES[routine]
    is_square = "m" not in spec.dims
    alphas, betas = netlib_factors(spec, dtype)
    vectors = sum(arg.axes in ("m", "n") for arg in spec.arguments)
    lists: list[Iterable] = [
        NETLIB_ORDERS if is_square else NETLIB_SHAPES,
        letters_of(spec),
        _netlib_bands(spec),
        _increments(vectors),
        alphas,
        betas,
    ]
    calls = list(itertools.product(*lists))
    if count is not None:
        count *= 2 if storage_of(spec) == BAND else 1
        calls = list(thinned(calls, count, list(DTYPES).index(dtype)))
    layout = "flat" if storage_of(spec) == PACKED else "col+1"
    for size, letters, bands, incs, alpha, beta in calls:
        yield matrix_case(
            routine, dtype, size, letters, layout, incs, alpha, beta, bands=bands, **more
        )
    first, bands = letters_of(spec)[0], _netlib_bands(spec)[0]
    for empty in (0,) if is_square else NETLIB_EMPTY_SHAPES:
        yield matrix_case(
            routine, dtype, empty, first, layout, (1,), alphas[-1], betas[-1], bands=bands, **more
        )


def _increments(vectors: int) -> list[tuple[int, ...]]:
    """Of each vector; beyond two they take turns."""
    pairs = list(itertools.product(NETLIB_STEPS, repeat=min(vectors, 2)))
    return [pair * (vectors // len(pair)) for pair in pairs]


def netlib_factors(spec: Spec, dtype: str) -> tuple[Sequence[Scalar], Sequence[Scalar]]:
    """netlib's alphas and betas of a routine; one of each where it has none."""
    is_complex = DTYPES[dtype].is_complex
    alphas, betas = COMPLEX_SCALARS if is_complex else REAL_SCALARS_OF_GEMV
    if "alpha" in spec.real_scalars:
        alphas, _ = REAL_SCALARS_OF_GEMV
    return (
        alphas if "alpha" in spec.scalars else (1,),
        betas if "beta" in spec.scalars else (0,),
    )


def _netlib_bands(spec: Spec) -> Sequence[Bands]:
    if storage_of(spec) != BAND:
        return (0,)
    if "kl" in spec.option_names:
        return tuple((max(ku - 1, 0), ku) for ku in NETLIB_BANDS)
    return NETLIB_BANDS


# ---- parameters of a routine --------------------------------------------------------------------


def storage_of(spec: Spec) -> str:
    """How the matrix is stored."""
    return next((arg.storage for arg in spec.operands if arg.storage), "")


def letters_of(spec: Spec) -> list[str]:
    """Every combination of the letters of the options, each as one word."""
    letters = (option.letters for option in spec.options if option.letters)
    return ["".join(word) for word in itertools.product(*letters)]


def sizes_of(spec: Spec, name: str) -> Sequence[Size]:
    """Larger sizes for a grid: orders, or shapes where the matrix need not be square."""
    return OBLONGS[name] if "m" in spec.dims else ORDERS[name]


def widths_of(spec: Spec) -> Iterator[Bands]:
    """Bands for larger matrices, taken in turn without end."""
    return itertools.cycle(OBLONG_WIDTHS if "kl" in spec.option_names else WIDTHS)


def plain_layouts(spec: Spec) -> tuple[str, ...]:
    """By columns and by rows, without padding and with some; of a packed triangle with gaps."""
    return ("flat", "gaps@1") if storage_of(spec) == PACKED else ("col", "row", "col+7", "row+7")


def layouts_of(spec: Spec) -> list[str]:
    """Every layout that the matrix can have outside of a batch."""
    is_output = any(arg.is_output and arg.name in ("a", "ap") for arg in spec.operands)
    known = PACKED_LAYOUTS if storage_of(spec) == PACKED else MATRIX_LAYOUTS
    refused = (*INPUT_ONLY, "same") if is_output else ()
    return [
        name for name in known if name not in ("batch-inner", "same-batch") and name not in refused
    ]


def batches_of(spec: Spec, batches: Sequence[Shape]) -> list[Shape]:
    """Batches of a matrix or a first vector, of other inputs, and of outputs, for each operand."""
    first, other, output = batches
    arguments = spec.arguments
    return [
        output if arg.is_output else first if arg is arguments[0] else other for arg in arguments
    ]
