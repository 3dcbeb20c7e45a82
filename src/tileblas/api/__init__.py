"""The array interface: one public function for each routine, in BLAS's own names."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tileblas.api.level1 import (
    asum,
    axpby,
    axpy,
    axpydot,
    copy,
    dot,
    dotc,
    dotu,
    dsdot,
    iamax,
    iamin,
    nrm2,
    rot,
    rotg,
    rotm,
    rotmg,
    scal,
    sdsdot,
    swap,
)
from tileblas.api.level2 import (
    gbmv,
    gemv,
    gemvt,
    ger,
    gerc,
    geru,
    hbmv,
    hemv,
    her,
    her2,
    hpmv,
    hpr,
    hpr2,
    sbmv,
    skewsymv,
    skewsyr2,
    spmv,
    spr,
    spr2,
    symv,
    syr,
    syr2,
    tbmv,
    tbsv,
    tpmv,
    tpsv,
    trmv,
    trsv,
)
from tileblas.api.level3 import (
    gemm,
    gemmtr,
    hemm,
    her2k,
    herk,
    herkx,
    skewsymm,
    skewsyr2k,
    symm,
    syr2k,
    syrk,
    syrkx,
)
from tileblas.api.public import SPECS
from tileblas.arrays.scalars import numbers, unpacked
from tileblas.backends.plan import Plan


def plan(function: Callable[..., Any], /, *arrays: Any, **keywords: Any) -> Plan:
    """A call of `function` made ready: p = plan(gemm, a, b, c); p() repeats it.

    Takes what the routine takes and computes nothing. `p()` works on the arrays of the plan,
    `p(a, b, c)` on others of the same library, dtype, shape, strides and device; see `Plan`. Raises
    what the routine raises for wrong arguments, and TypeError where `function` is no routine of
    tileblas.
    """
    spec = SPECS.get(function)
    if spec is None:
        raise TypeError(f"plan takes a routine of tileblas, such as tileblas.gemm, not {function}")
    bound = inspect.signature(function).bind(*arrays, **keywords)
    bound.apply_defaults()
    given = bound.arguments
    arrays = tuple(given[name] for name in spec.argument_names)
    packed = spec.packed
    return Plan(
        spec,
        arrays if spec.dims else numbers(spec, arrays),
        unpacked(spec, given[packed]) if packed else [given[name] for name in spec.scalars],
        [given[name] for name in spec.option_names],
        given.get("math"),
        given["stream"],
    )


__all__ = [
    "asum",
    "axpby",
    "axpy",
    "axpydot",
    "copy",
    "dot",
    "dotc",
    "dotu",
    "dsdot",
    "gbmv",
    "gemm",
    "gemmtr",
    "gemv",
    "gemvt",
    "ger",
    "gerc",
    "geru",
    "hbmv",
    "hemm",
    "hemv",
    "her",
    "her2",
    "her2k",
    "herk",
    "herkx",
    "hpmv",
    "hpr",
    "hpr2",
    "iamax",
    "iamin",
    "nrm2",
    "plan",
    "rot",
    "rotg",
    "rotm",
    "rotmg",
    "sbmv",
    "scal",
    "sdsdot",
    "skewsymm",
    "skewsymv",
    "skewsyr2",
    "skewsyr2k",
    "spmv",
    "spr",
    "spr2",
    "swap",
    "symm",
    "symv",
    "syr",
    "syr2",
    "syr2k",
    "syrk",
    "syrkx",
    "tbmv",
    "tbsv",
    "tpmv",
    "tpsv",
    "trmv",
    "trsv",
]
