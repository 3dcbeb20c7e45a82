"""Cases of rotations, applied to vectors and made from numbers, for the grids of `grids`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from tileblas.check.cases import Case, Scalar, numbers_case, vectors_case
from tileblas.check.level1_grids import incs_of, lengths_of
from tileblas.check.parameters import (
    FORMS,
    INCS_OF_QUARTERS,
    LONGEST,
    MANY,
    NETLIB_INCS,
    NETLIB_LENGTHS,
    NETLIB_ROTATION,
    NETLIB_ROTG,
    NETLIB_ROTM,
    NETLIB_ROTMG,
    QUARTERS,
)
from tileblas.core.dtypes import DTYPES

_NAN, _INF = float("nan"), float("inf")
_PARAM = ("flag", "h11", "h21", "h12", "h22")
#: Of the two vectors, which are both written.
_BATCHES = ((3,), (2, 3), (0,), (2, 3, 2))
#: Lengths of arrays of numbers, around the blocks of the kernels.
_COUNTS = {"interpret": (1, 5, 129)}
_MORE_COUNTS = (1, 2, 3, 31, 32, 33, 127, 128, 129, 257, 1025)


def rot(dtype: str, name: str) -> Iterator[Case]:
    """Cases of rot, with complex s too on complex vectors."""
    sines: tuple[Scalar, ...] = (NETLIB_ROTATION[1],)
    if DTYPES[dtype].is_complex:
        sines += (0.36 - 0.48j,)
    for n, incs, s in itertools.product(NETLIB_LENGTHS, NETLIB_INCS, sines):
        yield _rot_case(dtype, n, incs, s=s)
    for (c, s), (incx, incy) in itertools.product(QUARTERS, INCS_OF_QUARTERS):
        yield _rot_case(dtype, 3 if incx == 2 else 5, (incx, incy), c, s)
    if name == "netlib":
        return
    for n, incs in itertools.product(lengths_of(name), _both_written(name)):
        yield _rot_case(dtype, n, incs, s=sines[-1])
    for batch in _BATCHES:
        yield _rot_case(dtype, 17, (-1, 2), s=sines[-1], batches=(batch,))
        yield _rot_case(dtype, 17, s=sines[-1], batches=(batch,), order="batch")
    yield from _rot_values(dtype)
    for offset in (1, 2, 3):
        yield _rot_case(dtype, 129, offset=offset)
    if name == "interpret":
        return
    yield _rot_case(dtype, 33, batches=((MANY if name == "full" else 300,),))
    yield _rot_case(dtype, LONGEST)
    if name == "full":
        yield _rot_case(dtype, LONGEST, (2, -3), s=sines[-1])


def _rot_case(
    dtype: str,
    n: int,
    incs: tuple[int, int] = (1, 1),
    c: Scalar = NETLIB_ROTATION[0],
    s: Scalar = NETLIB_ROTATION[1],
    **more,
) -> Case:
    return vectors_case("rot", dtype, n, incs, scalars={"c": c, "s": s}, **more)


def _rot_values(dtype: str) -> Iterator[Case]:
    """Exceptional scalars and data, and every way to pass a scalar; nothing is skipped."""
    pairs: list[tuple[Scalar, Scalar]]
    pairs = [*QUARTERS, (0, 0), (2, 3), (_NAN, 1), (1, _NAN), (_INF, 1), (0, _INF)]
    if DTYPES[dtype].is_complex:
        pairs += [(0, 1j), (1, 0j), (2, 1 - 3j), (1, complex(0, _NAN)), (1, complex(_INF, 0))]
    for (c, s), fill in itertools.product(pairs, ("integers", "special")):
        yield _rot_case(dtype, 9, (1, 2), c, s, fill=fill)
    for (c, s), fills in itertools.product(
        (*QUARTERS, (2, 3)), (("nan", "random"), ("random", "nan"), ("inf", "integers"))
    ):
        yield _rot_case(dtype, 5, (2, 1), c, s, fill=fills)
    for fill in ("wide", "huge", "subnormal"):
        yield _rot_case(dtype, 65, fill=fill)
    for form, (c, s) in itertools.product(FORMS, ((0, 1), (1, 0), (0.1, 0.3))):
        yield _rot_case(dtype, 9, c=c, s=s, form=form)


def _both_written(name: str) -> list[tuple[int, int]]:
    return [pair for pair in incs_of(name) if all(pair)]


def rotm(dtype: str, name: str) -> Iterator[Case]:
    """Cases of rotm, with each flag."""
    for n, incs, param in itertools.product(NETLIB_LENGTHS, NETLIB_INCS, NETLIB_ROTM):
        yield _rotm_case(dtype, n, incs, param)
    if name == "netlib":
        return
    pairs = itertools.product(lengths_of(name), _both_written(name))
    for i, (n, incs) in enumerate(pairs):
        yield _rotm_case(dtype, n, incs, NETLIB_ROTM[1 + i % 3])
    for batch, param in itertools.product(_BATCHES, NETLIB_ROTM):
        yield _rotm_case(dtype, 17, (-1, 2), param, batches=(batch,))
    yield from _rotm_values(dtype)
    for offset in (1, 2, 3):
        yield _rotm_case(dtype, 129, offset=offset)
    if name == "interpret":
        return
    yield _rotm_case(dtype, 33, batches=((MANY if name == "full" else 300,),))
    yield _rotm_case(dtype, LONGEST)
    if name == "full":
        yield _rotm_case(dtype, LONGEST, (2, -3))


def _rotm_case(
    dtype: str,
    n: int,
    incs: tuple[int, int] = (1, 1),
    param: tuple[Scalar, ...] = (-1, 0.7, -0.9, 1.1, 1.3),
    **more,
) -> Case:
    scalars = dict(zip(_PARAM, param, strict=True))
    return vectors_case("rotm", dtype, n, incs, scalars=scalars, **more)


def _rotm_values(dtype: str) -> Iterator[Case]:
    """Elements of H that a flag leaves out are not read; exceptional ones; forms of param."""
    for param in (
        (-2, _NAN, _NAN, _NAN, _NAN),
        (-1, 1, 0, 0, 1),
        (-1, 2, _NAN, 3, _INF),
        (0, _NAN, 2, -3, _NAN),
        (1, 5, _NAN, _NAN, -4),
    ):
        for fill in ("integers", "special"):
            yield _rotm_case(dtype, 9, (1, 2), param, fill=fill)
    for fill in ("wide", "huge", "subnormal", "nan", "inf"):
        yield _rotm_case(dtype, 65, fill=fill)
    for form, param in itertools.product(FORMS, NETLIB_ROTM):
        yield _rotm_case(dtype, 9, param=param, form=form)


def rotg(dtype: str, name: str) -> Iterator[Case]:
    """Cases of rotg: netlib's pairs, and arrays of numbers of every magnitude."""
    pairs: list[tuple[Scalar, Scalar]] = list(NETLIB_ROTG)
    if DTYPES[dtype].is_complex:
        pairs += [(0.3 + 0.4j, 0.4 - 0.3j), (0, 1j), (1j, 0), (-3j, 4), (3, -4j), (-1 + 1j, 2j)]
    for a, b in pairs:
        yield numbers_case("rotg", dtype, fill=(f"={a}", f"={b}"))
    if name == "netlib":
        return
    for n, incs in itertools.product(
        _COUNTS.get(name, _MORE_COUNTS), ((1, 1), (2, -3), (0, 1), (1, 0))
    ):
        yield numbers_case("rotg", dtype, ((n,),), incs)
    for batches in (((3,), ()), ((2, 1), (1, 3)), ((0,),), ((2, 3, 2),), ((2, 1, 2), (3, 1))):
        yield numbers_case("rotg", dtype, batches, (1, -2))
    fills = ("random", "integers", "subnormal", "huge", "wide", "=0")
    for both in itertools.product(fills, repeat=2):
        yield numbers_case("rotg", dtype, ((33,),), fill=both)
    for offset in (1, 2, 3):
        yield numbers_case("rotg", dtype, ((33,),), offset=offset)


def rotmg(dtype: str, name: str) -> Iterator[Case]:
    """Cases of rotmg: netlib's numbers, and arrays that need scaling up, down, or not."""
    for numbers in NETLIB_ROTMG:
        yield numbers_case("rotmg", dtype, fill=[f"={x}" for x in numbers])
    if name == "netlib":
        return
    scaled = ("positive", "positive", "random")
    # In an interpreter a call takes most of a second, however many numbers it has.
    counts = (1, 129) if name == "interpret" else _MORE_COUNTS
    fills = ("positive", "wide") if name == "interpret" else ("random", "positive", "wide")
    for n, incs in itertools.product(counts, ((1,), (2, -1, -3, 1), (1, 1, 1, 0))):
        yield numbers_case("rotmg", dtype, ((n,),), incs, scaled)
    for batches in (((3,), (3,), (3,), ()), ((2, 3), (2, 3), (2, 3), (1, 3)), ((0,),)):
        yield numbers_case("rotmg", dtype, batches, fill=scaled)
    for three in itertools.product(("positive", "wide"), fills, fills[-2:]):
        yield numbers_case("rotmg", dtype, ((33,),), fill=(*three, "wide"))
    for four in (
        ("huge", "positive", "random", "random"),
        ("subnormal", "subnormal", "random", "random"),
        ("=inf", "positive", "random", "random"),
        ("positive", "=0", "random", "random"),
        ("integers", "integers", "integers", "integers"),
        ("=5.9604644e-8", "=5.96046449e-8", "=1", "=150"),
        ("=16777216", "=16777215", "=1", "=2"),
    ):
        yield numbers_case("rotmg", dtype, ((33,),), fill=four)
    for offset in (1, 3):
        yield numbers_case("rotmg", dtype, ((33,),), fill="positive", offset=offset)
