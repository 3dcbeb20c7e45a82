"""Cases of dot, nrm2, scal and axpy for the grids of `grids`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from tileblas.check.cases import Case, Scalar, axpy_case, dot_case, nrm2_case, scal_case
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
    netlib_scalars,
)
from tileblas.core.dtypes import DTYPES


def _lengths(name: str) -> tuple[int, ...]:
    """The vector lengths of a grid, beside netlib's."""
    return {
        "netlib": (),
        "interpret": (5, 33, 129, 1025),
        "reduced": (*LENGTHS, *LONG[:2]),
        "full": (*LENGTHS, *LONG),
    }[name]


def _incs(name: str) -> tuple[tuple[int, int], ...]:
    return {"netlib": NETLIB_INCS, "interpret": ((1, 1), (-3, 7), (0, 1))}.get(name, INCS)


def dot(routine: str, dtype: str, name: str) -> Iterator[Case]:
    """Cases of dot, dotc or dotu."""
    for n, incs in itertools.product(NETLIB_LENGTHS, NETLIB_INCS):
        yield dot_case(routine, dtype, n, incs)
    if name == "netlib":
        return
    for n, incs in itertools.product(_lengths(name), _incs(name)):
        yield dot_case(routine, dtype, n, incs)
    for batches in (((3,), (3,)), ((3,), ()), ((2, 1), (1, 3)), ((0,), (0,)), ((2, 1, 2), (3, 1))):
        yield dot_case(routine, dtype, 17, (1, 2), batches)
    for n in (5, 129, 1025):  # integers: equal terms round alike, which no bar on norms allows for
        yield dot_case(routine, dtype, n, (0, 0), fill="integers")
    for fill, n in (("integers", 257), ("special", 9), ("special", 3), ("nan", 2), ("inf", 4)):
        yield dot_case(routine, dtype, n, (1, 1), fill=fill)
    for offset in (1, 2, 3):
        yield dot_case(routine, dtype, 129, offset=offset)
    for fill in ("wide", "huge", "subnormal"):
        yield dot_case(routine, dtype, 65, fill=fill)
    if name == "interpret":
        yield dot_case(routine, dtype, LONG[1], fill="integers")
        return
    yield dot_case(routine, dtype, 33, (1, 1), ((MANY if name == "full" else 300,), ()))
    yield dot_case(routine, dtype, LONGEST)
    if name == "full":
        yield dot_case(routine, dtype, LONGEST, (2, -3))


def nrm2(dtype: str, name: str) -> Iterator[Case]:
    """Cases of nrm2: netlib's scales first."""
    yield from _nrm2_scales(dtype, name)
    if name == "netlib":
        return
    incs = (1, -3, 0) if name == "interpret" else (1, 2, -1, -2, 3, -3, 7, 0)
    for n, inc in itertools.product((0, 1, 2, *_lengths(name)), incs):
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


def scal(dtype: str, name: str) -> Iterator[Case]:
    """Cases of scal, with real-typed alphas on complex vectors."""
    alphas: tuple[Scalar, ...] = (0.3, -1, 0, 1)
    if DTYPES[dtype].is_complex:
        alphas += (0.4 - 0.7j,)
    for n, inc, alpha in itertools.product(range(5), NETLIB_INC, alphas):
        yield scal_case(dtype, n, inc, alpha)
    if name == "netlib":
        return
    incs = (1, -3) if name == "interpret" else (1, 2, -1, -2, 3, -3, 7)
    for n, inc in itertools.product(_lengths(name), incs):
        yield scal_case(dtype, n, inc, alphas[-1])
        if name != "interpret":
            yield scal_case(dtype, n, inc, alphas[0])
    for batch in ((3,), (2, 3), (0,), (2, 0), (2, 3, 2)):
        yield scal_case(dtype, 17, -2, alphas[-1], batch)
        yield scal_case(dtype, 17, 1, 2, batch, order="batch")
    yield from _scal_values(dtype)
    for offset in (1, 2, 3):
        yield scal_case(dtype, 129, offset=offset)
    if name == "interpret":
        return
    yield scal_case(dtype, 33, 1, 2, (MANY if name == "full" else 300,))
    yield scal_case(dtype, LONGEST)
    if name == "full":
        yield scal_case(dtype, LONGEST, -3)


def _scal_values(dtype: str) -> Iterator[Case]:
    """Exceptional scalars and data, and every way to pass a scalar; alpha = 0 multiplies."""
    nan, inf = float("nan"), float("inf")
    alphas: tuple[Scalar, ...] = (0, 1, -1, 3, nan, inf, -inf)
    if DTYPES[dtype].is_complex:
        alphas += (2j, 0j, 1 + 0j, complex(nan, 0), complex(0, nan), complex(0, inf))
    for alpha, fill in itertools.product(alphas, ("integers", "special", "nan", "inf")):
        yield scal_case(dtype, 9, 2, alpha, fill=fill)
    for alpha, fill in itertools.product((1, 0.7, 2), ("wide", "huge", "subnormal")):
        yield scal_case(dtype, 65, alpha=alpha, fill=fill)
    for form, alpha in itertools.product(FORMS, (0, 1, 0.1)):
        yield scal_case(dtype, 9, alpha=alpha, form=form)


def axpy(dtype: str, name: str) -> Iterator[Case]:
    """Cases of axpy."""
    alphas, _ = netlib_scalars(dtype)
    for n, incs, alpha in itertools.product(NETLIB_LENGTHS, NETLIB_INCS, alphas):
        yield axpy_case(dtype, n, incs, alpha)
    if name == "netlib":
        return
    incs_of_output = [pair for pair in _incs(name) if pair[1]]
    for n, incs in itertools.product(_lengths(name), incs_of_output):
        yield axpy_case(dtype, n, incs, alphas[-1])
    for batches in (
        ((3,), (3,)),
        ((), (3,)),
        ((1, 3), (2, 3)),
        ((0,), (0,)),
        ((2, 1, 2), (2, 3, 2)),
    ):
        yield axpy_case(dtype, 17, (-1, 2), alphas[-1], batches)
    yield from _axpy_values(dtype)
    for offset in (1, 2, 3):
        yield axpy_case(dtype, 129, offset=offset)
    if name == "interpret":
        return
    yield axpy_case(dtype, 33, (1, 1), 2, ((), (MANY if name == "full" else 300,)))
    yield axpy_case(dtype, LONGEST)
    if name == "full":
        yield axpy_case(dtype, LONGEST, (2, -3))


def _axpy_values(dtype: str) -> Iterator[Case]:
    """Exceptional scalars and data, and every way to pass a scalar."""
    alphas: tuple[Scalar, ...] = (0, 1, -1, 3, float("nan"), float("inf"))
    if DTYPES[dtype].is_complex:
        alphas += (2j, complex("nan"), 0j, 1 + 0j)
    for alpha, fill in itertools.product(alphas, ("integers", "special")):
        yield axpy_case(dtype, 9, alpha=alpha, fill=fill)
    for fills in (("nan", "integers"), ("inf", "random"), ("random", "nan")):
        for alpha in (0, 2):
            yield axpy_case(dtype, 5, (2, 1), alpha, fill=fills)
    for fill in ("wide", "huge", "subnormal"):
        yield axpy_case(dtype, 65, alpha=1, fill=fill)
    for form, alpha in itertools.product(FORMS, (0, 1, 0.1)):
        yield axpy_case(
            dtype, 9, alpha=alpha, form=form, fill=("nan" if not alpha else "random", "random")
        )
