"""Cases of updates of a matrix, or of a triangle of one, by one or two products of vectors."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from tileblas.check.cases import Case, Scalar
from tileblas.check.matrix_cases import Size, matrix_case
from tileblas.check.matrix_grids import (
    batches_of,
    gathered,
    layouts_of,
    letters_of,
    netlib,
    netlib_factors,
    plain_layouts,
    sizes_of,
)
from tileblas.check.parameters import (
    BATCHES,
    FORMS,
    LARGE_ORDER,
    MANY,
    STEPS_OF_TWO,
    exceptional_scalars,
)
from tileblas.core.dtypes import DTYPES, HALF
from tileblas.routines.registry import ROUTINES


def updates(routine: str, dtype: str, name: str) -> Iterator[Case]:
    """Cases of one routine A := alpha x y^T + A, of one or two such products."""
    netlibs = netlib(routine, dtype, {"interpret": 8, "reduced": 120}.get(name))
    sections = (
        (_sizes(routine, dtype, name), 7),
        (_layouts(routine, dtype), 5),
        (_batches(routine, dtype), 3),
        (_scalars(routine, dtype), 6),
        (_values(routine, dtype), 5),
        (_exact(routine, dtype), 4),
    )
    yield from gathered(name, netlibs, sections, _large(routine, dtype))


def _make(routine: str, dtype: str, size: Size, *rest, **more) -> Case:
    """A case of order n, or of m x n where the routine takes such."""
    if "m" in ROUTINES[routine].dims and isinstance(size, int):
        size = (size, size + 2)
    return matrix_case(routine, dtype, size, *rest, **more)


def _fills(routine: str, inputs: str, output: str) -> tuple[str, ...]:
    return tuple(output if arg.is_output else inputs for arg in ROUTINES[routine].arguments)


def _incs(routine: str) -> Iterator[tuple[int, ...]]:
    """Increments of the vectors, in turn; of one vector those of the first of two."""
    vectors = len(ROUTINES[routine].arguments) - 1
    return itertools.cycle(incs[:vectors] for incs in STEPS_OF_TWO)


def _sizes(routine: str, dtype: str, name: str) -> Iterator[Case]:
    """Larger sizes, added to a matrix and as a new one."""
    spec, incs = ROUTINES[routine], _incs(routine)
    (*_, alpha), _ = netlib_factors(spec, dtype)
    layouts = itertools.cycle(plain_layouts(spec))
    for size, letters in itertools.product(sizes_of(spec, name), letters_of(spec)):
        for _ in plain_layouts(spec):
            more = (letters, next(layouts), next(incs))
            yield _make(routine, dtype, size, *more, alpha, offset=1)
        yield _make(routine, dtype, size, letters, "", (1,), new=True)


def _large(routine: str, dtype: str) -> Iterator[Case]:
    """Orders of many tiles, and of one type more members of a batch than a grid's axis holds."""
    spec = ROUTINES[routine]
    size = (LARGE_ORDER, LARGE_ORDER - 3) if "m" in spec.dims else LARGE_ORDER
    for letters, layout in itertools.product(letters_of(spec), plain_layouts(spec)[:2]):
        yield _make(routine, dtype, size, letters, layout)
    if dtype == spec.dtypes[-1]:
        many = batches_of(spec, ((MANY,), (), (MANY,)))
        yield _make(routine, dtype, 2, letters_of(spec)[-1], batches=many)


def _layouts(routine: str, dtype: str) -> Iterator[Case]:
    """Each layout of the matrix, with every letter and with increments taken in turn."""
    spec, incs = ROUTINES[routine], _incs(routine)
    for layout, letters in itertools.product(layouts_of(spec), letters_of(spec)):
        yield _make(routine, dtype, 7, letters, layout, next(incs), 2, fill="integers")
        yield _make(routine, dtype, 33, letters, layout, next(incs), 0.7)


def _batches(routine: str, dtype: str) -> Iterator[Case]:
    spec = ROUTINES[routine]
    letters, layouts = itertools.cycle(letters_of(spec)), itertools.cycle(plain_layouts(spec))
    incs = _incs(routine)
    for shapes in BATCHES:
        batches = batches_of(spec, shapes)
        more = (next(letters), next(layouts), next(incs))
        yield _make(routine, dtype, 4, *more, 2, batches=batches, fill="integers")
        yield _make(routine, dtype, 4, next(letters), batches=batches, new=True)
    three = batches_of(spec, ((3,),) * 3)
    yield _make(routine, dtype, 4, next(letters), "batch-inner", batches=three)
    yield _make(routine, dtype, 0, next(letters), batches=three)


def _scalars(routine: str, dtype: str) -> Iterator[Case]:
    """Exceptional scalars, and every way to pass one. x and y hold NaN where alpha is 0."""
    letters, incs = itertools.cycle(letters_of(ROUTINES[routine])), _incs(routine)
    alphas: list[Scalar] = list(dict.fromkeys(alpha for alpha, _ in exceptional_scalars(dtype)))
    if ROUTINES[routine].real_scalars:
        alphas = [alpha for alpha in alphas if not isinstance(alpha, complex)]
    for alpha in alphas:
        fill = _fills(routine, "nan" if alpha == 0 else "integers", "integers")
        for word in letters_of(ROUTINES[routine]):
            yield _make(routine, dtype, 5, word, "", next(incs), alpha, fill=fill)
        yield _make(routine, dtype, 5, next(letters), alpha=alpha, fill=fill, new=True)
    for form, alpha in itertools.product(FORMS, (0, 0.1, 1)):
        fill = _fills(routine, "random" if alpha else "nan", "random")
        for word in letters_of(ROUTINES[routine]):
            yield _make(routine, dtype, 5, word, alpha=alpha, fill=fill, form=form)


def _values(routine: str, dtype: str) -> Iterator[Case]:
    """NaN, Inf and numbers near the ends of the range; zeros multiply them."""
    spec = ROUTINES[routine]
    layouts = itertools.cycle(plain_layouts(spec))
    for letters in letters_of(spec):
        for alpha, inputs, output in (
            (1, "special", "special"),
            (2, "special", "integers"),
            (-1, "sparse", "special"),
            (1, "nan", "random"),
            (1, "inf", "random"),
            (1, "random", "nan"),
            (0, "inf", "special"),
            (1, "subnormal", "integers"),
            (1, "wide", "wide"),
            (0.7, "huge", "huge"),
        ):
            fill = _fills(routine, inputs, output)
            yield _make(routine, dtype, 7, letters, next(layouts), (1,), alpha, fill=fill)


def _exact(routine: str, dtype: str) -> Iterator[Case]:
    """Integers: bit equality. Large ones use every bit of a product, so that lost bits show."""
    spec = ROUTINES[routine]
    layouts = itertools.cycle(plain_layouts(spec))
    for n, letters in itertools.product((1, 16, 46, 65), letters_of(spec)):
        yield _make(routine, dtype, n, letters, next(layouts), (1,), -2, fill="integers")
        yield _make(routine, dtype, n, letters, fill="integers", new=True)
    if DTYPES[dtype] not in HALF:
        for letters, layout in itertools.product(letters_of(spec), plain_layouts(spec)):
            yield _make(routine, dtype, 33, letters, layout, fill="large")
