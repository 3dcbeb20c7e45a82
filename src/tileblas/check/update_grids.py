"""Cases of the element-wise updates of level 1 for the grids of `grids`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from tileblas.check.cases import Case, Scalar, axpy_case, scal_case, vectors_case
from tileblas.check.level1_grids import incs_of, lengths_of
from tileblas.check.parameters import (
    FORMS,
    LONGEST,
    MANY,
    NETLIB_INC,
    NETLIB_INCS,
    NETLIB_INCS_OF_COPY,
    NETLIB_LENGTHS,
    PASSED_SCALARS,
    exceptional_scalars,
    netlib_scalars,
)
from tileblas.core.dtypes import DTYPES

_NAN, _INF = float("nan"), float("inf")

#: Batches of x and y where y is written.
BATCHES: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((3,), (3,)),
    ((), (3,)),
    ((1, 3), (2, 3)),
    ((0,), (0,)),
    ((2, 1, 2), (2, 3, 2)),
)


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
    for n, inc in itertools.product(lengths_of(name), incs):
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
    alphas: tuple[Scalar, ...] = (0, 1, -1, 3, _NAN, _INF, -_INF)
    if DTYPES[dtype].is_complex:
        alphas += (2j, 0j, 1 + 0j, complex(_NAN, 0), complex(0, _NAN), complex(0, _INF))
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
    incs_of_output = [pair for pair in incs_of(name) if pair[1]]
    for n, incs in itertools.product(lengths_of(name), incs_of_output):
        yield axpy_case(dtype, n, incs, alphas[-1])
    for batches in BATCHES:
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
    alphas: tuple[Scalar, ...] = (0, 1, -1, 3, _NAN, _INF)
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


def moved(routine: str, dtype: str, name: str) -> Iterator[Case]:
    """Cases of copy or swap."""
    is_swap = routine == "swap"
    for n, incs in itertools.product(
        NETLIB_LENGTHS, NETLIB_INCS if is_swap else NETLIB_INCS_OF_COPY
    ):
        yield vectors_case(routine, dtype, n, incs)
    if name == "netlib":
        return
    incs_of_outputs = [(x, y) for x, y in incs_of(name) if y and (x or not is_swap)]
    for n, incs in itertools.product(lengths_of(name), incs_of_outputs):
        yield vectors_case(routine, dtype, n, incs)
    for of_x, of_y in BATCHES:
        both = (of_y,) if is_swap else (of_x, of_y)
        yield vectors_case(routine, dtype, 17, (-1, 2), both)
        yield vectors_case(routine, dtype, 17, batches=both, order="batch")
    if not is_swap:
        for batch in ((3,), (2, 3)):
            yield vectors_case(routine, dtype, 17, batches=(batch,), same=True)
    for n, fill in itertools.product((9, 129), ("special", "nan", "inf", "subnormal", "huge")):
        yield vectors_case(routine, dtype, n, (1, 2), fill=(fill, "random"))
    for offset in (1, 2, 3):
        yield vectors_case(routine, dtype, 129, offset=offset)
    if name == "interpret":
        return
    yield vectors_case(routine, dtype, 33, batches=((MANY if name == "full" else 300,),))
    yield vectors_case(routine, dtype, LONGEST)
    if name == "full":
        yield vectors_case(routine, dtype, LONGEST, (2, -3))


def axpby(dtype: str, name: str) -> Iterator[Case]:
    """Cases of axpby: alpha = 0 does not read x, nor beta = 0 y."""
    pairs = list(itertools.product(*netlib_scalars(dtype)))
    shapes = itertools.product(NETLIB_LENGTHS, NETLIB_INCS)
    for i, (n, incs) in enumerate(shapes):
        for alpha, beta in pairs[i % 3 :: 3] if name == "interpret" else pairs:
            yield _axpby_case(dtype, n, incs, alpha, beta)
    if name == "netlib":
        return
    incs_of_output = [pair for pair in incs_of(name) if pair[1]]
    for i, (n, incs) in enumerate(itertools.product(lengths_of(name), incs_of_output)):
        yield _axpby_case(dtype, n, incs, *pairs[-1 - i % 2])
    for batches, (alpha, beta) in itertools.product(BATCHES, (pairs[-1], pairs[2], pairs[-3])):
        yield _axpby_case(dtype, 17, (-1, 2), alpha, beta, batches=batches)
    yield from _axpby_values(dtype)
    for offset in (1, 2, 3):
        yield _axpby_case(dtype, 129, offset=offset)
    if name == "interpret":
        return
    many = MANY if name == "full" else 300
    yield _axpby_case(dtype, 33, alpha=2, beta=3, batches=((), (many,)))
    yield _axpby_case(dtype, LONGEST)
    if name == "full":
        yield _axpby_case(dtype, LONGEST, (2, -3))


def _axpby_case(
    dtype: str,
    n: int,
    incs: tuple[int, int] = (1, 1),
    alpha: Scalar = 0.7,
    beta: Scalar = 1.3,
    **more,
) -> Case:
    return vectors_case("axpby", dtype, n, incs, scalars={"alpha": alpha, "beta": beta}, **more)


def _axpby_values(dtype: str) -> Iterator[Case]:
    """Exceptional scalars and data, vectors that must not be read, every way to pass a scalar."""
    scalars = [*exceptional_scalars(dtype), (0, 0), (0, 1), (0, 2), (2, 0), (1, 0), (1, 1)]
    for (alpha, beta), fill in itertools.product(scalars, ("integers", "special")):
        yield _axpby_case(dtype, 9, alpha=alpha, beta=beta, fill=fill)
    for alpha, beta in itertools.product((0, 1, 2), repeat=2):
        fills = ("random" if alpha else "nan", "random" if beta else "nan")
        yield _axpby_case(dtype, 5, (2, 1), alpha, beta, fill=fills)
    for fill in ("wide", "huge", "subnormal"):
        yield _axpby_case(dtype, 65, alpha=1, beta=-1, fill=fill)
        yield _axpby_case(dtype, 65, fill=fill)
    for form, (alpha, beta) in itertools.product(FORMS, PASSED_SCALARS):
        fills = ("random" if alpha else "nan", "random" if beta else "nan")
        yield _axpby_case(dtype, 9, alpha=alpha, beta=beta, form=form, fill=fills)


def axpydot(dtype: str, name: str) -> Iterator[Case]:
    """Cases of axpydot, which has four vectors; z is new in some."""
    alphas, _ = netlib_scalars(dtype)
    some_incs = ((1, 1, 1, 1), (2, -2, 1, -1), (-2, 1, -1, 2), (-1, -2, 2, 1))
    for n, incs, alpha in itertools.product(NETLIB_LENGTHS, some_incs, alphas):
        yield _axpydot_case(dtype, n, incs, alpha)
    if name == "netlib":
        return
    more_incs = (*some_incs, (1, 2, 1, 3), (3, 1, -3, 1), (0, 1, 0, 1), (-3, 7, 2, -5))
    for n, incs in itertools.product(
        lengths_of(name), more_incs[-3::2] if name == "interpret" else more_incs
    ):
        yield _axpydot_case(dtype, n, incs, alphas[-1])
    for batches in (
        ((3,),),
        ((3,), (), (), (3,)),
        ((), (3,), (), (3,)),
        ((), (), (3,), (3,)),
        ((2, 1), (1, 3), (3,), (2, 3)),
        ((0,),),
        ((2, 1, 2), (3, 1), (2,), (2, 3, 2)),
    ):
        for new in (False, True):
            yield _axpydot_case(dtype, 17, (-1, 2, 1, 3), alphas[-1], batches=batches, new=new)
    yield from _axpydot_values(dtype)
    for offset in (1, 2, 3):
        yield _axpydot_case(dtype, 129, offset=offset)
    if name == "interpret":
        yield _axpydot_case(dtype, 7111, fill="integers", alpha=2)
        return
    yield _axpydot_case(dtype, 33, batches=((MANY if name == "full" else 300,),))
    yield _axpydot_case(dtype, LONGEST)
    if name == "full":
        yield _axpydot_case(dtype, LONGEST, (2, -3, 1, -1))


def _axpydot_case(
    dtype: str,
    n: int,
    incs: tuple[int, ...] = (1,),
    alpha: Scalar = 0.7,
    new: bool = False,
    batches: tuple = ((),),
    **more,
) -> Case:
    kept = 3 if new else 4
    scalars = {"alpha": alpha}
    return vectors_case(
        "axpydot", dtype, n, incs[:kept], batches[:kept], scalars=scalars, new=new, **more
    )


def _axpydot_values(dtype: str) -> Iterator[Case]:
    """Exceptional scalars and data, v that must not be read, every way to pass alpha."""
    alphas: tuple[Scalar, ...] = (0, 1, -1, 3, _NAN, _INF)
    if DTYPES[dtype].is_complex:
        alphas += (2j, complex(_NAN, 0), 0j, 1 + 0j)
    for alpha, fill in itertools.product(alphas, ("integers", "special")):
        yield _axpydot_case(dtype, 9, alpha=alpha, fill=fill)
    for n, new in itertools.product((0, 5, 33), (False, True)):
        yield _axpydot_case(
            dtype, n, alpha=0, fill=("random", "nan", "random", "nan")[: 4 - new], new=new
        )
        yield _axpydot_case(
            dtype, n, alpha=2, fill=("random", "random", "random", "nan")[: 4 - new], new=new
        )
    for fill in ("wide", "huge", "subnormal"):
        yield _axpydot_case(dtype, 65, alpha=1, fill=fill)
    for form, alpha in itertools.product(FORMS, (0, 1, 0.1)):
        fills = ("random", "random" if alpha else "nan", "random", "random")
        yield _axpydot_case(dtype, 9, alpha=alpha, form=form, fill=fills)
