"""Cases of products of a band, symmetric, Hermitian or skew matrix and a vector, and of gemvt."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from tileblas.check.cases import Case
from tileblas.check.matrix_cases import Bands, Size, matrix_case
from tileblas.check.matrix_grids import (
    batches_of,
    gathered,
    layouts_of,
    letters_of,
    netlib,
    netlib_factors,
    plain_layouts,
    sizes_of,
    storage_of,
    widths_of,
)
from tileblas.check.parameters import (
    BATCHES,
    FORMS,
    LARGE_ORDER,
    MANY,
    PASSED_SCALARS,
    STEPS_OF_TWO,
    exceptional_scalars,
)
from tileblas.core.spec import BAND, PACKED
from tileblas.routines.registry import ROUTINES


def products(routine: str, dtype: str, name: str) -> Iterator[Case]:
    """Cases of one routine y := alpha A x + beta y, or of gemvt, which is two of them."""
    netlibs = [*netlib(routine, dtype, {"interpret": 6, "reduced": 160}.get(name))]
    if routine == "gbmv":  # netlib's regression test
        netlibs += [matrix_case(routine, dtype, (0, 5), "T", "col+1", (1,), 1, -0.7, bands=(0, 0))]
    sections = (
        (_sizes(routine, dtype, name), 5),
        (_layouts(routine, dtype), 5),
        (_batches(routine, dtype), 2),
        (_scalars(routine, dtype), 4),
        (_values(routine, dtype), 6),
        (_exact(routine, dtype), 3),
    )
    yield from gathered(name, netlibs, sections, _large(routine, dtype))


def _make(routine: str, dtype: str, size: Size, *rest, **more) -> Case:
    """A case of order n, or of m x n where the routine takes such."""
    if "m" in ROUTINES[routine].dims and isinstance(size, int):
        size = (size, size + 2)
    if routine == "gbmv":
        more = {"bands": (1, 2)} | more
    elif storage_of(ROUTINES[routine]) == BAND:
        more = {"bands": 2} | more
    return matrix_case(routine, dtype, size, *rest, **more)


def _fills(routine: str, inputs: str | tuple[str, str], output: str) -> tuple[str, ...]:
    """Fills of the matrix and the vectors that are read, and of those that are written."""
    a, x = (inputs, inputs) if isinstance(inputs, str) else inputs
    arguments = ROUTINES[routine].arguments
    return tuple(output if arg.is_output else a if arg.name[0] == "a" else x for arg in arguments)


def _incs(routine: str) -> Iterator[tuple[int, ...]]:
    """Increments in turn: of inputs alike, and of outputs alike."""
    for x, y in itertools.cycle(STEPS_OF_TWO):
        yield (x, -x, y, -y) if routine == "gemvt" else (x, y)


def _sizes(routine: str, dtype: str, name: str) -> Iterator[Case]:
    """Larger sizes; y holds NaN under beta = 0, and then is added to."""
    spec = ROUTINES[routine]
    alphas, betas = netlib_factors(spec, dtype)
    widths, incs = widths_of(spec), _incs(routine)
    layouts = itertools.cycle(plain_layouts(spec))
    fills = _fills(routine, "random", "nan")
    for size, letters in itertools.product(sizes_of(spec, name), letters_of(spec)):
        yield _make(routine, dtype, size, letters, next(layouts), bands=next(widths), fill=fills)
        yield _make(
            *(routine, dtype, size, letters, next(layouts), next(incs), alphas[-1], betas[-1]),
            bands=next(widths),
            offset=1,
        )


def _large(routine: str, dtype: str) -> Iterator[Case]:
    """Orders of many tiles, and of one type more members of a batch than a grid's axis holds."""
    spec = ROUTINES[routine]
    widths = widths_of(spec)
    for letters, layout in zip(letters_of(spec), plain_layouts(spec), strict=False):
        size = (LARGE_ORDER, LARGE_ORDER - 3) if "m" in spec.dims else LARGE_ORDER
        yield _make(routine, dtype, size, letters, layout, bands=next(widths))
    if dtype == spec.dtypes[-1]:
        many = batches_of(spec, ((MANY,), (), (MANY,)))
        yield _make(routine, dtype, 2, letters_of(spec)[-1], batches=many, new=True)


def _layouts(routine: str, dtype: str) -> Iterator[Case]:
    """Each layout of the matrix, with every letter and with increments taken in turn."""
    spec, incs = ROUTINES[routine], _incs(routine)
    for layout, letters in itertools.product(layouts_of(spec), letters_of(spec)):
        yield _make(routine, dtype, 7, letters, layout, next(incs), 2, 3, fill="integers")
        yield _make(routine, dtype, 33, letters, layout, next(incs), 0.7)


def _batches(routine: str, dtype: str) -> Iterator[Case]:
    spec, incs = ROUTINES[routine], _incs(routine)
    letters, plain = itertools.cycle(letters_of(spec)), plain_layouts(spec)
    for shapes in BATCHES:
        batches = batches_of(spec, shapes)
        yield _make(
            *(routine, dtype, 4, next(letters), plain[0], next(incs), 2, 3),
            batches=batches,
            fill="integers",
        )
        yield _make(routine, dtype, 4, next(letters), plain[1], batches=batches, new=True)
    three = batches_of(spec, ((3,),) * 3)
    inner = ("batch-inner", (1,), 2, 3)
    yield _make(routine, dtype, 4, next(letters), *inner, batches=three, fill="integers")
    if storage_of(spec) != PACKED:
        yield _make(routine, dtype, 4, next(letters), "same-batch", batches=three)
    for beta in (0, 1, 3):
        yield _make(routine, dtype, 0, next(letters), plain[0], (1,), 1, beta, batches=three)


def _scalars(routine: str, dtype: str) -> Iterator[Case]:
    """Exceptional scalars, and every way to pass one; what they leave unread holds NaN."""
    letters = itertools.cycle(letters_of(ROUTINES[routine]))
    incs = _incs(routine)
    for alpha, beta in exceptional_scalars(dtype):
        more = (next(letters), "", next(incs), alpha, beta)
        yield _make(routine, dtype, 5, *more, fill="integers")
    for form, (alpha, beta) in itertools.product(FORMS, PASSED_SCALARS):
        fills = _fills(routine, "random" if alpha else "nan", "random" if beta else "nan")
        yield _make(
            *(routine, dtype, 5, next(letters), "", (1,), alpha, beta), fill=fills, form=form
        )


def _values(routine: str, dtype: str) -> Iterator[Case]:
    """NaN, Inf and numbers near the ends of the range, in what is read and in what is not."""
    spec = ROUTINES[routine]
    plain = plain_layouts(spec)
    for letters, (alpha, beta) in itertools.product(letters_of(spec), ((1, 0), (1, 1), (2, -1))):
        yield _make(*(routine, dtype, 7, letters, plain[0], (1,), alpha, beta), fill="special")
    for poison, letters in itertools.product(("nan", "inf"), letters_of(spec)):
        fills = _fills(routine, "random", poison)
        yield _make(routine, dtype, 5, letters, plain[1], (1,), 2, 0, fill=fills)
        fills = _fills(routine, poison, "random")
        yield _make(routine, dtype, 5, letters, plain[0], (1,), 0, 2, fill=fills)
        yield _make(routine, dtype, 5, letters, plain[1], (1,), 0, 0, fill=poison)
        fills = _fills(routine, ("sparse", poison), "integers")
        yield _make(routine, dtype, 4, letters, plain[0], (1,), 1, 1, fill=fills)
    small = _fills(routine, ("subnormal", "integers"), "subnormal")
    for letters, fill in zip(itertools.cycle(letters_of(spec)), ("wide", "huge", small)):
        yield _make(routine, dtype, 6, letters, plain[0], (1,), 1, 1, fill=fill)
    yield _make(routine, dtype, 0, letters_of(spec)[0], fill="nan")


def _exact(routine: str, dtype: str) -> Iterator[Case]:
    """Integers: bit equality. Large ones use every bit of a product, so that lost bits show."""
    spec = ROUTINES[routine]
    widths, layouts = widths_of(spec), itertools.cycle(plain_layouts(spec))
    for n, letters in itertools.product((1, 7, 16, 46, 65, 130), letters_of(spec)):
        yield _make(
            *(routine, dtype, n, letters, next(layouts), (1,), 2 - n % 2, 1),
            bands=next(widths),
            fill="integers",
        )
    # Of three products at most: three columns, or three diagonals.
    size: Size = (3, 3) if "m" in spec.dims else 3
    bands: Bands = 0
    if storage_of(spec) == BAND:
        size, bands = ((9, 8), (1, 1)) if routine == "gbmv" else (9, 1)
    for letters, layout in itertools.product(letters_of(spec), plain_layouts(spec)):
        yield _make(routine, dtype, size, letters, layout, bands=bands, fill="large", new=True)
        if routine == "gbmv":  # which is told how many rows there are
            yield _make(routine, dtype, size, letters, layout, bands=bands, new=True, rows=True)
            yield _make(routine, dtype, (5, 5), letters, layout, bands=(9, 7), fill="integers")
