"""The array interface: one public function for each routine, in BLAS's own names."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from tileblas.arrays.scalars import numbers, unpacked
from tileblas.backends.dispatch import call
from tileblas.backends.plan import Plan
from tileblas.core.spec import Spec
from tileblas.routines.documentation import docstring
from tileblas.routines.registry import ROUTINES

F = TypeVar("F", bound=Callable[..., Any])

_SPECS: dict[Callable[..., Any], Spec] = {}


def _public(spec: Spec) -> Callable[[F], F]:
    """Give a function the documentation of its Spec, once its signature is found to agree."""

    def decorate(function: F) -> F:
        named = list(spec.parameters)
        named += [option.name for option in spec.options] + ["math"] * spec.takes_math + ["stream"]
        if list(inspect.signature(function).parameters) != named:
            raise TypeError(f"{spec.name}: the signature is not that of its Spec: {named}")
        function.__doc__ = docstring(spec)
        _SPECS[function] = spec
        return function

    return decorate


_DOT, _DOTC, _DOTU = ROUTINES["dot"], ROUTINES["dotc"], ROUTINES["dotu"]
_DSDOT, _SDSDOT = ROUTINES["dsdot"], ROUTINES["sdsdot"]
_NRM2, _ASUM, _IAMAX, _IAMIN = (ROUTINES[n] for n in ("nrm2", "asum", "iamax", "iamin"))
_SCAL, _COPY, _AXPY, _AXPBY = (ROUTINES[n] for n in ("scal", "copy", "axpy", "axpby"))
_SWAP, _ROT, _ROTM, _AXPYDOT = (ROUTINES[n] for n in ("swap", "rot", "rotm", "axpydot"))
_ROTG, _ROTMG = ROUTINES["rotg"], ROUTINES["rotmg"]
_GEMV, _GEMM = ROUTINES["gemv"], ROUTINES["gemm"]
_GBMV = ROUTINES["gbmv"]
_SYMV, _HEMV, _SKEWSYMV = (ROUTINES[n] for n in ("symv", "hemv", "skewsymv"))
_SBMV, _HBMV = (ROUTINES[n] for n in ("sbmv", "hbmv"))
_SPMV, _HPMV = (ROUTINES[n] for n in ("spmv", "hpmv"))
_TRMV, _TBMV, _TPMV = (ROUTINES[n] for n in ("trmv", "tbmv", "tpmv"))
_TRSV, _TBSV, _TPSV = (ROUTINES[n] for n in ("trsv", "tbsv", "tpsv"))
_GER, _GERU, _GERC = (ROUTINES[n] for n in ("ger", "geru", "gerc"))
_SYR, _HER = (ROUTINES[n] for n in ("syr", "her"))
_SPR, _HPR = (ROUTINES[n] for n in ("spr", "hpr"))
_SYR2, _HER2, _SKEWSYR2 = (ROUTINES[n] for n in ("syr2", "her2", "skewsyr2"))
_SPR2, _HPR2 = (ROUTINES[n] for n in ("spr2", "hpr2"))
_GEMVT = ROUTINES["gemvt"]


@_public(_DOT)
def dot(x, y, *, stream=None):
    return call(_DOT, (x, y), (), (), None, stream)


@_public(_DOTC)
def dotc(x, y, *, stream=None):
    return call(_DOTC, (x, y), (), (), None, stream)


@_public(_DOTU)
def dotu(x, y, *, stream=None):
    return call(_DOTU, (x, y), (), (), None, stream)


@_public(_DSDOT)
def dsdot(x, y, *, stream=None):
    return call(_DSDOT, (x, y), (), (), None, stream)


@_public(_SDSDOT)
def sdsdot(x, y, *, alpha=0, stream=None):
    return call(_SDSDOT, (x, y), (alpha,), (), None, stream)


@_public(_NRM2)
def nrm2(x, *, stream=None):
    return call(_NRM2, (x,), (), (), None, stream)


@_public(_ASUM)
def asum(x, *, stream=None):
    return call(_ASUM, (x,), (), (), None, stream)


@_public(_IAMAX)
def iamax(x, *, stream=None):
    return call(_IAMAX, (x,), (), (), None, stream)


@_public(_IAMIN)
def iamin(x, *, stream=None):
    return call(_IAMIN, (x,), (), (), None, stream)


@_public(_SCAL)
def scal(x, *, alpha, stream=None):
    return call(_SCAL, (x,), (alpha,), (), None, stream)


@_public(_COPY)
def copy(x, y, *, stream=None):
    return call(_COPY, (x, y), (), (), None, stream)


@_public(_AXPY)
def axpy(x, y, *, alpha=1, stream=None):
    return call(_AXPY, (x, y), (alpha,), (), None, stream)


@_public(_AXPBY)
def axpby(x, y, *, alpha=1, beta=1, stream=None):
    return call(_AXPBY, (x, y), (alpha, beta), (), None, stream)


@_public(_SWAP)
def swap(x, y, *, stream=None):
    return call(_SWAP, (x, y), (), (), None, stream)


@_public(_ROT)
def rot(x, y, c, s, *, stream=None):
    return call(_ROT, (x, y), (c, s), (), None, stream)


@_public(_ROTM)
def rotm(x, y, param, *, stream=None):
    return call(_ROTM, (x, y), unpacked(_ROTM, param), (), None, stream)


@_public(_AXPYDOT)
def axpydot(w, v, u, z=None, *, alpha=1, stream=None):
    return call(_AXPYDOT, (w, v, u, z), (alpha,), (), None, stream)


@_public(_ROTG)
def rotg(a, b, *, stream=None):
    return call(_ROTG, numbers(_ROTG, (a, b)), (), (), None, stream)


@_public(_ROTMG)
def rotmg(d1, d2, x1, y1, *, stream=None):
    return call(_ROTMG, numbers(_ROTMG, (d1, d2, x1, y1)), (), (), None, stream)


@_public(_GEMV)
def gemv(a, x, y=None, *, alpha=1, beta=0, trans="N", stream=None):
    return call(_GEMV, (a, x, y), (alpha, beta), (trans,), None, stream)


@_public(_GBMV)
def gbmv(a, x, y=None, *, alpha=1, beta=0, trans="N", kl, m=None, stream=None):
    return call(_GBMV, (a, x, y), (alpha, beta), (trans, kl, m), None, stream)


@_public(_SYMV)
def symv(a, x, y=None, *, alpha=1, beta=0, uplo="U", stream=None):
    return call(_SYMV, (a, x, y), (alpha, beta), (uplo,), None, stream)


@_public(_SBMV)
def sbmv(a, x, y=None, *, alpha=1, beta=0, uplo="U", stream=None):
    return call(_SBMV, (a, x, y), (alpha, beta), (uplo,), None, stream)


@_public(_HEMV)
def hemv(a, x, y=None, *, alpha=1, beta=0, uplo="U", stream=None):
    return call(_HEMV, (a, x, y), (alpha, beta), (uplo,), None, stream)


@_public(_HBMV)
def hbmv(a, x, y=None, *, alpha=1, beta=0, uplo="U", stream=None):
    return call(_HBMV, (a, x, y), (alpha, beta), (uplo,), None, stream)


@_public(_SKEWSYMV)
def skewsymv(a, x, y=None, *, alpha=1, beta=0, uplo="U", stream=None):
    return call(_SKEWSYMV, (a, x, y), (alpha, beta), (uplo,), None, stream)


@_public(_SPMV)
def spmv(ap, x, y=None, *, alpha=1, beta=0, uplo="U", stream=None):
    return call(_SPMV, (ap, x, y), (alpha, beta), (uplo,), None, stream)


@_public(_HPMV)
def hpmv(ap, x, y=None, *, alpha=1, beta=0, uplo="U", stream=None):
    return call(_HPMV, (ap, x, y), (alpha, beta), (uplo,), None, stream)


@_public(_TRMV)
def trmv(a, x, *, uplo="U", trans="N", diag="N", stream=None):
    return call(_TRMV, (a, x), (), (uplo, trans, diag), None, stream)


@_public(_TBMV)
def tbmv(a, x, *, uplo="U", trans="N", diag="N", stream=None):
    return call(_TBMV, (a, x), (), (uplo, trans, diag), None, stream)


@_public(_TPMV)
def tpmv(ap, x, *, uplo="U", trans="N", diag="N", stream=None):
    return call(_TPMV, (ap, x), (), (uplo, trans, diag), None, stream)


@_public(_TRSV)
def trsv(a, x, *, uplo="U", trans="N", diag="N", stream=None):
    return call(_TRSV, (a, x), (), (uplo, trans, diag), None, stream)


@_public(_TBSV)
def tbsv(a, x, *, uplo="U", trans="N", diag="N", stream=None):
    return call(_TBSV, (a, x), (), (uplo, trans, diag), None, stream)


@_public(_TPSV)
def tpsv(ap, x, *, uplo="U", trans="N", diag="N", stream=None):
    return call(_TPSV, (ap, x), (), (uplo, trans, diag), None, stream)


@_public(_GER)
def ger(x, y, a=None, *, alpha=1, stream=None):
    return call(_GER, (x, y, a), (alpha,), (), None, stream)


@_public(_GERU)
def geru(x, y, a=None, *, alpha=1, stream=None):
    return call(_GERU, (x, y, a), (alpha,), (), None, stream)


@_public(_GERC)
def gerc(x, y, a=None, *, alpha=1, stream=None):
    return call(_GERC, (x, y, a), (alpha,), (), None, stream)


@_public(_SYR)
def syr(x, a=None, *, alpha=1, uplo="U", stream=None):
    return call(_SYR, (x, a), (alpha,), (uplo,), None, stream)


@_public(_HER)
def her(x, a=None, *, alpha=1, uplo="U", stream=None):
    return call(_HER, (x, a), (alpha,), (uplo,), None, stream)


@_public(_SPR)
def spr(x, ap=None, *, alpha=1, uplo="U", stream=None):
    return call(_SPR, (x, ap), (alpha,), (uplo,), None, stream)


@_public(_HPR)
def hpr(x, ap=None, *, alpha=1, uplo="U", stream=None):
    return call(_HPR, (x, ap), (alpha,), (uplo,), None, stream)


@_public(_SYR2)
def syr2(x, y, a=None, *, alpha=1, uplo="U", stream=None):
    return call(_SYR2, (x, y, a), (alpha,), (uplo,), None, stream)


@_public(_HER2)
def her2(x, y, a=None, *, alpha=1, uplo="U", stream=None):
    return call(_HER2, (x, y, a), (alpha,), (uplo,), None, stream)


@_public(_SKEWSYR2)
def skewsyr2(x, y, a=None, *, alpha=1, uplo="U", stream=None):
    return call(_SKEWSYR2, (x, y, a), (alpha,), (uplo,), None, stream)


@_public(_SPR2)
def spr2(x, y, ap=None, *, alpha=1, uplo="U", stream=None):
    return call(_SPR2, (x, y, ap), (alpha,), (uplo,), None, stream)


@_public(_HPR2)
def hpr2(x, y, ap=None, *, alpha=1, uplo="U", stream=None):
    return call(_HPR2, (x, y, ap), (alpha,), (uplo,), None, stream)


@_public(_GEMVT)
def gemvt(a, x, w, y=None, z=None, *, alpha=1, beta=0, trans="T", stream=None):
    return call(_GEMVT, (a, x, w, y, z), (alpha, beta), (trans,), None, stream)


@_public(_GEMM)
def gemm(a, b, c=None, *, alpha=1, beta=0, trans_a="N", trans_b="N", math=None, stream=None):
    return call(_GEMM, (a, b, c), (alpha, beta), (trans_a, trans_b), math, stream)


def plan(function: Callable[..., Any], /, *arrays: Any, **keywords: Any) -> Plan:
    """A call of `function` made ready: p = plan(gemm, a, b, c); p() repeats it.

    Takes what the routine takes and computes nothing. `p()` works on the arrays of the plan,
    `p(a, b, c)` on others of the same library, dtype, shape, strides and device; see `Plan`. Raises
    what the routine raises for wrong arguments, and TypeError where `function` is no routine of
    tileblas.
    """
    spec = _SPECS.get(function)
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
    "gemv",
    "gemvt",
    "ger",
    "gerc",
    "geru",
    "hbmv",
    "hemv",
    "her",
    "her2",
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
    "skewsymv",
    "skewsyr2",
    "spmv",
    "spr",
    "spr2",
    "swap",
    "symv",
    "syr",
    "syr2",
    "tbmv",
    "tbsv",
    "tpmv",
    "tpsv",
    "trmv",
    "trsv",
]
