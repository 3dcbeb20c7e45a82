"""Which cases are checked.

`grid(routine, dtype, name)` yields the cases of one routine and dtype:

- "netlib"     the grid of netlib's test programs, in full: 3461 calls of gemv, 17496 of gemm
- "interpret"  a few of each kind, for kernels that run in an interpreter
- "reduced"    every kind, with the products of netlib's lists thinned
- "full"       netlib's grid, and every kind at large sizes too

The parameters are listed in `parameters`, the calls made of them in `level1_grids` and so on; those
of routines on matrices with a structure, and of updates, in `matvec_grids`, `triangular_grids`,
`rank_grids` and `product_grids`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from tileblas.check import (
    level1_grids,
    level2_grids,
    level3_grids,
    matvec_grids,
    product_grids,
    rank_grids,
    rotation_grids,
    triangular_grids,
    update_grids,
)
from tileblas.check.cases import Case
from tileblas.core.spec import Spec
from tileblas.routines.registry import ROUTINES

NAMES = ("netlib", "interpret", "reduced", "full")


def _of_matrices(spec: Spec) -> Callable[[str, str], Iterator[Case]]:
    """The grid of a routine of level 2 on a matrix that has a structure, or is updated."""
    if spec.updates:
        return partial(rank_grids.updates, spec.name)
    if spec.structure != "triangular":
        return partial(matvec_grids.products, spec.name)
    solves = spec.name.endswith("sv")
    grid = triangular_grids.solves if solves else triangular_grids.products
    return partial(grid, spec.name)


_CASES: dict[str, Callable[[str, str], Iterator[Case]]] = {
    "dot": partial(level1_grids.dot, "dot"),
    "dotc": partial(level1_grids.dot, "dotc"),
    "dotu": partial(level1_grids.dot, "dotu"),
    "dsdot": partial(level1_grids.dot, "dsdot"),
    "sdsdot": level1_grids.sdsdot,
    "nrm2": level1_grids.nrm2,
    "asum": level1_grids.asum,
    "iamax": partial(level1_grids.place, "iamax"),
    "iamin": partial(level1_grids.place, "iamin"),
    "scal": update_grids.scal,
    "copy": partial(update_grids.moved, "copy"),
    "axpy": update_grids.axpy,
    "axpby": update_grids.axpby,
    "swap": partial(update_grids.moved, "swap"),
    "rot": rotation_grids.rot,
    "rotm": rotation_grids.rotm,
    "axpydot": update_grids.axpydot,
    "rotg": rotation_grids.rotg,
    "rotmg": rotation_grids.rotmg,
    **{spec.name: _of_matrices(spec) for spec in ROUTINES.values() if spec.level == 2},
    "gemv": level2_grids.gemv,
    **{
        spec.name: partial(product_grids.products, spec.name)
        for spec in ROUTINES.values()
        if spec.level == 3
    },
    "gemm": level3_grids.gemm,
}


def grid(routine: str, dtype: str, name: str) -> Iterator[Case]:
    """The cases of one routine and dtype in the named grid; their ids are unique."""
    if name not in NAMES:
        raise ValueError(f"no grid {name!r}; there are {', '.join(NAMES)}")
    seen: set[str] = set()
    for case in _CASES[routine](dtype, name):
        if case.id not in seen:
            seen.add(case.id)
            yield case
