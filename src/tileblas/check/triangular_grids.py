"""Cases of products of a triangular matrix and a vector in place, and of solves."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from tileblas.check.cases import Case
from tileblas.check.matrix_cases import matrix_case
from tileblas.check.matrix_grids import (
    batches_of,
    gathered,
    layouts_of,
    letters_of,
    netlib,
    plain_layouts,
    storage_of,
    widths_of,
)
from tileblas.check.parameters import BATCHES, LARGE_ORDER, MANY, NETLIB_ORDERS, ORDERS, STEPS
from tileblas.core.spec import BAND, PACKED
from tileblas.routines.registry import ROUTINES

#: Orders of solves by exact numbers, and of those with NaN, Inf or a zero on the diagonal.
_EXACT_ORDERS = (1, 2, 7, 16, 33, 65, 130)
_FLAWED_ORDERS = (2, 3, 10, 33, 128)
#: Orders of triangles whose inverses grow exponentially with them.
_GROWING_ORDERS = (9, 40, 100)


def products(routine: str, dtype: str, name: str) -> Iterator[Case]:
    """Cases of one routine x := op(A) x."""
    netlibs = netlib(routine, dtype, {"interpret": 7, "reduced": 110}.get(name))
    sections = (
        (_sizes(routine, dtype, name), 6),
        (_layouts(routine, dtype), 4),
        (_batches(routine, dtype), 2),
        (_values(routine, dtype), 6),
        (_exact_products(routine, dtype), 4),
    )
    yield from gathered(name, netlibs, sections, _large(routine, dtype))


def solves(routine: str, dtype: str, name: str) -> Iterator[Case]:
    """Cases of one routine x := op(A)^-1 x. A diagonal is far from 0 if not made otherwise."""
    count = {"interpret": 5, "reduced": 110}.get(name)
    netlibs = netlib(routine, dtype, count, diagonal="shifted")
    sections = (
        (_sizes(routine, dtype, name, "dominant"), 4),
        (_layouts(routine, dtype, "powers"), 3),
        (_batches(routine, dtype, "powers"), 1),
        (_exact_solves(routine, dtype), 3),
        (_subnormal(routine, dtype), 1),
        (_ill_conditioned(routine, dtype), 2),
        (_singular(routine, dtype), 1),
        (_exceptional(routine, dtype), 3),
    )
    yield from gathered(name, netlibs, sections, _large(routine, dtype, "dominant"))


def _make(routine: str, dtype: str, n: int, letters: str, *rest, **more) -> Case:
    return matrix_case(routine, dtype, n, letters, *rest, **{"bands": 2} | more)


def _sizes(routine: str, dtype: str, name: str, diagonal: str = "") -> Iterator[Case]:
    """Larger sizes: x as it is, and with an increment."""
    spec, steps = ROUTINES[routine], itertools.cycle(STEPS)
    widths, layouts = widths_of(spec), itertools.cycle(plain_layouts(spec))
    for n, letters in itertools.product(ORDERS[name], letters_of(spec)):
        for incs, offset in (((1,), 0), ((next(steps),), 1)):
            yield _make(
                *(routine, dtype, n, letters, next(layouts), incs),
                bands=next(widths),
                diagonal=diagonal,
                offset=offset,
            )
        next(layouts)  # so that each layout meets each letter


def _large(routine: str, dtype: str, diagonal: str = "") -> Iterator[Case]:
    """Orders of many tiles, and of one type more members of a batch than a grid's axis holds."""
    spec = ROUTINES[routine]
    widths, layouts = widths_of(spec), itertools.cycle(plain_layouts(spec))
    for letters in letters_of(spec)[::5]:
        yield _make(
            *(routine, dtype, LARGE_ORDER, letters, next(layouts)),
            bands=next(widths),
            diagonal=diagonal,
        )
    if dtype == spec.dtypes[-1]:
        many = batches_of(spec, ((MANY,), (), (MANY,)))
        yield _make(routine, dtype, 2, "LNN", batches=many, diagonal=diagonal)


def _layouts(routine: str, dtype: str, diagonal: str = "") -> Iterator[Case]:
    """Each layout of the matrix, with letters and increments taken in turn."""
    spec, steps = ROUTINES[routine], itertools.cycle(STEPS)
    letters = itertools.cycle(letters_of(spec))
    for layout in layouts_of(spec):
        # Where elements share memory, it does not hold the matrix that an image was made with.
        x = "image" if diagonal and not layout.startswith("same") else "integers"
        for _ in range(5):  # of which 12 letters are no multiple: all pairs meet in the end
            more = {"fill": ("integers", x), "diagonal": diagonal}
            yield _make(routine, dtype, 7, next(letters), layout, (next(steps),), **more)
        yield _make(routine, dtype, 33, next(letters), layout, (next(steps),), diagonal=diagonal)


def _batches(routine: str, dtype: str, diagonal: str = "") -> Iterator[Case]:
    spec = ROUTINES[routine]
    letters, layouts = itertools.cycle(letters_of(spec)[::5]), itertools.cycle(plain_layouts(spec))
    fills = ("integers", "image" if diagonal else "integers")
    pairs = [batches_of(spec, (a, x, x)) for a, _, x in BATCHES]
    three = batches_of(spec, ((3,), (3,), (3,)))
    calls = [(batches, next(layouts)) for batches in pairs] + [(three, "batch-inner")]
    if storage_of(spec) != PACKED:
        calls.append((three, "same-batch"))
    for batches, layout in calls:
        for inc in (1, -2):
            yield _make(
                *(routine, dtype, 4, next(letters), layout, (inc,)),
                batches=batches,
                fill=fills,
                diagonal=diagonal,
            )
    yield _make(routine, dtype, 0, next(letters), batches=three, diagonal=diagonal)


def _values(routine: str, dtype: str) -> Iterator[Case]:
    """NaN, Inf and numbers near the ends of the range."""
    spec = ROUTINES[routine]
    layouts = itertools.cycle(plain_layouts(spec))
    fills: tuple[str | tuple[str, str], ...]
    fills = ("special", ("sparse", "special"), "wide", "huge", ("subnormal", "integers"))
    for letters, fill in itertools.product(letters_of(spec), fills):
        yield _make(routine, dtype, 7, letters, next(layouts), (2,), fill=fill)
    for letters in letters_of(spec):  # a NaN stays in the rows that refer to it
        yield _make(routine, dtype, 33, letters, next(layouts), fill=("flawed", "sparse"))


def _exact_products(routine: str, dtype: str) -> Iterator[Case]:
    """Integers: bit equality. Large ones use every bit of a product, so that lost bits show."""
    spec = ROUTINES[routine]
    widths, layouts = widths_of(spec), itertools.cycle(plain_layouts(spec))
    for n, letters in itertools.product((1, 17, 65, 130), letters_of(spec)):
        yield _make(
            *(routine, dtype, n, letters, next(layouts)), bands=next(widths), fill="integers"
        )
    for letters in letters_of(spec):
        n = 9 if storage_of(spec) == BAND else 3  # of three products at most
        yield _make(routine, dtype, n, letters, next(layouts), fill="large")


def _exact_solves(routine: str, dtype: str) -> Iterator[Case]:
    """Solutions of whole numbers, which substitution finds without rounding."""
    spec = ROUTINES[routine]
    widths, layouts = widths_of(spec), itertools.cycle(plain_layouts(spec))
    for n, letters in itertools.product(_EXACT_ORDERS, letters_of(spec)):
        yield _make(
            *(routine, dtype, n, letters, next(layouts)),
            bands=next(widths),
            fill=("integers", "image"),
            diagonal="powers",
        )


def _subnormal(routine: str, dtype: str) -> Iterator[Case]:
    """The same where reciprocals of the diagonal would overflow."""
    spec = ROUTINES[routine]
    layouts = itertools.cycle(plain_layouts(spec))
    for n, letters in itertools.product((3, 17), letters_of(spec)):
        if letters.endswith("N"):
            yield _make(
                *(routine, dtype, n, letters, next(layouts)),
                fill=("subnormal", "image"),
                diagonal="tiny powers",
            )


def _ill_conditioned(routine: str, dtype: str) -> Iterator[Case]:
    """Triangles with large inverses, and solutions that are small all the same.

    Residuals are small where no block is inverted: its inverse times b would cancel.
    """
    spec = ROUTINES[routine]
    layouts = itertools.cycle(plain_layouts(spec))
    for n, letters in itertools.product(_GROWING_ORDERS, letters_of(spec)):
        if letters.endswith("U"):
            for fill in (("random", "image"), ("=-1", "image"), ("=-1", "random")):
                yield _make(routine, dtype, n, letters, next(layouts), bands=n - 1, fill=fill)
        else:
            yield _make(routine, dtype, n, letters, next(layouts), bands=n - 1, diagonal="shifted")


def _singular(routine: str, dtype: str) -> Iterator[Case]:
    """A zero on the diagonal: Inf and NaN, and no error."""
    spec = ROUTINES[routine]
    layouts = itertools.cycle(plain_layouts(spec))
    for n, letters in itertools.product(NETLIB_ORDERS, letters_of(spec)):
        if letters.endswith("N"):
            for fill in ("integers", "sparse"):
                yield _make(
                    *(routine, dtype, n, letters, next(layouts)),
                    fill=("integers", fill),
                    diagonal="one zero",
                )


def _exceptional(routine: str, dtype: str) -> Iterator[Case]:
    """NaN, Inf and numbers near the ends of the range, in the matrix and on the right."""
    spec = ROUTINES[routine]
    widths, layouts = widths_of(spec), itertools.cycle(plain_layouts(spec))

    def make(n: int, letters: str, *fills: str, diagonal: str = "", **more) -> Case:
        more = {"fill": fills, "diagonal": diagonal} | more
        return _make(routine, dtype, n, letters, next(layouts), **more)

    for n, letters in itertools.product(_FLAWED_ORDERS, letters_of(spec)):
        yield make(n, letters, "flawed", "sparse", diagonal="powers", bands=next(widths))
    for letters in letters_of(spec):
        yield make(17, letters, "integers", "special", diagonal="powers")
        yield make(7, letters, "special")
        yield make(9, letters, "random", "wide", diagonal="dominant", incs=(-1,))
        yield make(9, letters, "random", "huge", diagonal="dominant", incs=(-1,))
