"""Cases of the sums and places of level 1 for the grids of `grids`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial

from tileblas.check.cases import Case, Scalar, dot_case, nrm2_case, vectors_case
from tileblas.check.data import SCALES
from tileblas.check.parameters import (
    FORMS,
    INCS,
    LENGTHS,
    LONG,
    LONGEST,
    MANY,
    NETLIB_INC,
    NETLIB_INC_OF_NORM,
    NETLIB_INCS,
    NETLIB_LENGTHS,
    REAL_SCALARS,
)


def lengths_of(name: str) -> tuple[int, ...]:
    """The vector lengths of a grid, beside netlib's."""
    return {
        "netlib": (),
        "interpret": (5, 33, 129, 1025),
        "reduced": (*LENGTHS, *LONG[:2]),
        "full": (*LENGTHS, *LONG),
    }[name]


def incs_of(name: str) -> tuple[tuple[int, int], ...]:
    return {"netlib": NETLIB_INCS, "interpret": ((1, 1), (-3, 7), (0, 1))}.get(name, INCS)


def dot(routine: str, dtype: str, name: str) -> Iterator[Case]:
    """Cases of dot, dotc, dotu or dsdot."""
    for n, incs in itertools.product(NETLIB_LENGTHS, NETLIB_INCS):
        yield dot_case(routine, dtype, n, incs)
    if name != "netlib":
        yield from _products(routine, dtype, name)


def sdsdot(dtype: str, name: str) -> Iterator[Case]:
    """Cases of sdsdot."""
    for n, incs, alpha in itertools.product(NETLIB_LENGTHS, NETLIB_INCS, REAL_SCALARS[0]):
        yield vectors_case("sdsdot", dtype, n, incs, scalars={"alpha": alpha})
    if name == "netlib":
        return
    yield from _products("sdsdot", dtype, name, alpha=0.7)
    for alpha, fill in itertools.product(
        (3, -1, float("nan"), float("inf"), 1e38), ("integers", "special", "huge")
    ):
        yield vectors_case("sdsdot", dtype, 9, fill=fill, scalars={"alpha": alpha})
    for form, alpha in itertools.product(FORMS, (0, 1, 0.1)):
        yield vectors_case("sdsdot", dtype, 9, scalars={"alpha": alpha}, form=form)


def _products(routine: str, dtype: str, name: str, **scalars: Scalar) -> Iterator[Case]:
    """Sums of products beside those of netlib."""
    case = partial(vectors_case, routine, dtype, scalars=scalars)
    for n, incs in itertools.product(lengths_of(name), incs_of(name)):
        yield case(n, incs)
    for batches in (((3,), (3,)), ((3,), ()), ((2, 1), (1, 3)), ((0,), (0,)), ((2, 1, 2), (3, 1))):
        yield case(17, (1, 2), batches)
    for batch in ((3,), (2, 3)):
        yield case(17, batches=(batch,), same=True)
    for n in (5, 129, 1025):  # integers: equal terms round alike, which no bar on norms allows for
        yield case(n, (0, 0), fill="integers")
    for fill, n in (("integers", 257), ("special", 9), ("special", 3), ("nan", 2), ("inf", 4)):
        yield case(n, (1, 1), fill=fill)
    for offset in (1, 2, 3):
        yield case(129, offset=offset)
    for fill in ("wide", "huge", "subnormal"):
        yield case(65, fill=fill)
    if name == "interpret":
        yield case(LONG[1], fill="integers")
        return
    yield case(33, (1, 1), ((MANY if name == "full" else 300,), ()))
    yield case(LONGEST)
    if name == "full":
        yield case(LONGEST, (2, -3))


def nrm2(dtype: str, name: str) -> Iterator[Case]:
    """Cases of nrm2: netlib's scales first."""
    yield from _nrm2_scales(dtype, name)
    if name == "netlib":
        return
    incs = (1, -3, 0) if name == "interpret" else (1, 2, -1, -2, 3, -3, 7, 0)
    for n, inc in itertools.product((0, 1, 2, *lengths_of(name)), incs):
        yield nrm2_case(dtype, n, inc)
    for batch in ((3,), (2, 3), (0,), (2, 0), (2, 1, 3)):
        yield nrm2_case(dtype, 17, -2, batch)
    yield nrm2_case(dtype, 0, 1, (3,))
    for fill, n in (("special", 3), ("special", 9), ("special", 33), ("nan", 2), ("inf", 4)):
        yield nrm2_case(dtype, n, fill=fill)
    for fill, n in itertools.product(("wide", "huge", "subnormal", "integers"), (1, 2, 65, 1025)):
        yield nrm2_case(dtype, n, fill=fill)
    for offset in (1, 2, 3):
        yield nrm2_case(dtype, 129, offset=offset)
    if name == "interpret":
        yield nrm2_case(dtype, LONG[1], fill="wide")
        return
    for scale in SCALES:  # one element among many of another scale
        yield nrm2_case(dtype, 4097, fill=f"{scale}:1")
        yield nrm2_case(dtype, 4097, fill=f"1:{scale}")
    yield nrm2_case(dtype, 33, 1, (MANY if name == "full" else 300,))
    yield nrm2_case(dtype, LONGEST)
    if name == "full":
        yield nrm2_case(dtype, LONGEST, -3)


def _nrm2_scales(dtype: str, name: str) -> Iterator[Case]:
    """netlib's 100 pairs of scales, with each n and increment or with one by a Latin square."""
    calls = tuple(itertools.product((1, 2, 3, 4), NETLIB_INC_OF_NORM))
    pairs = itertools.product(range(len(SCALES)), repeat=2)
    for i, j in itertools.islice(pairs, 0, None, 3 if name == "interpret" else 1):
        chosen = calls if name in ("netlib", "full") else (calls[(3 * i + 5 * j) % len(calls)],)
        for n, inc in chosen:
            yield nrm2_case(dtype, n, inc, fill=f"{SCALES[i]}:{SCALES[j]}")


def asum(dtype: str, name: str) -> Iterator[Case]:
    """Cases of asum."""
    for n, inc in itertools.product(range(5), NETLIB_INC):
        yield vectors_case("asum", dtype, n, (inc,))
    if name != "netlib":
        yield vectors_case("asum", dtype, 0, batches=((3,),))
        yield from _of_one_vector("asum", dtype, name)


def place(routine: str, dtype: str, name: str) -> Iterator[Case]:
    """Cases of iamax or iamin, which refuse an empty vector."""
    for n, inc, fill in itertools.product(range(1, 5), NETLIB_INC, ("random", "=42")):
        yield vectors_case(routine, dtype, n, (inc,), fill=fill)
    yield vectors_case(routine, dtype, 8, fill="integers")
    if name == "netlib":
        return
    yield from _of_one_vector(routine, dtype, name)
    for n, fill in itertools.product((8, 1025), ("=-42", "=0", "=nan", "=inf", "integers")):
        yield vectors_case(routine, dtype, n, fill=fill)
    for n in (5, 70, 1025):  # one NaN and infinity or more among many numbers
        yield vectors_case(routine, dtype, n, (2,), fill="special")
    for offset, inc in itertools.product((1, 2, 3, 5, 7), (1, 3)):
        yield vectors_case(routine, dtype, 31, (inc,), offset=offset)


def _of_one_vector(routine: str, dtype: str, name: str) -> Iterator[Case]:
    """Reductions of one vector that is not empty, beside those of netlib."""
    incs = (1, -3, 0) if name == "interpret" else (1, 2, -1, -2, 3, -3, 7, 0)
    for n, inc in itertools.product((1, 2, *lengths_of(name)), incs):
        yield vectors_case(routine, dtype, n, (inc,))
    for batch in ((3,), (2, 3), (0,), (2, 0), (2, 1, 3)):
        yield vectors_case(routine, dtype, 17, (-2,), (batch,))
    yield vectors_case(routine, dtype, 17, batches=((2, 3),), same=True)
    for fill, n in (("special", 3), ("special", 9), ("special", 33), ("nan", 2), ("inf", 4)):
        yield vectors_case(routine, dtype, n, fill=fill)
    for fill, n in itertools.product(("wide", "huge", "subnormal", "integers"), (1, 2, 65, 1025)):
        yield vectors_case(routine, dtype, n, fill=fill)
    for offset in (1, 2, 3):
        yield vectors_case(routine, dtype, 129, offset=offset)
    if name == "interpret":
        yield vectors_case(routine, dtype, LONG[1], fill="integers")
        return
    yield vectors_case(routine, dtype, 33, batches=((MANY if name == "full" else 300,),))
    yield vectors_case(routine, dtype, LONGEST)
    if name == "full":
        yield vectors_case(routine, dtype, LONGEST, (-3,))
