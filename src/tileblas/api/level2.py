"""The public functions of level 2, in BLAS's own names."""

from __future__ import annotations

from tileblas.api.public import public
from tileblas.backends.dispatch import call
from tileblas.routines.registry import ROUTINES

GEMV = ROUTINES["gemv"]
GBMV = ROUTINES["gbmv"]
SYMV = ROUTINES["symv"]
SBMV = ROUTINES["sbmv"]
HEMV = ROUTINES["hemv"]
HBMV = ROUTINES["hbmv"]
SKEWSYMV = ROUTINES["skewsymv"]
SPMV = ROUTINES["spmv"]
HPMV = ROUTINES["hpmv"]
TRMV = ROUTINES["trmv"]
TBMV = ROUTINES["tbmv"]
TPMV = ROUTINES["tpmv"]
TRSV = ROUTINES["trsv"]
TBSV = ROUTINES["tbsv"]
TPSV = ROUTINES["tpsv"]
GER = ROUTINES["ger"]
GERU = ROUTINES["geru"]
GERC = ROUTINES["gerc"]
SYR = ROUTINES["syr"]
HER = ROUTINES["her"]
SPR = ROUTINES["spr"]
HPR = ROUTINES["hpr"]
SYR2 = ROUTINES["syr2"]
HER2 = ROUTINES["her2"]
SKEWSYR2 = ROUTINES["skewsyr2"]
SPR2 = ROUTINES["spr2"]
HPR2 = ROUTINES["hpr2"]
GEMVT = ROUTINES["gemvt"]


@public(GEMV)
def gemv(a, x, y=None, *, alpha=1, beta=0, trans="N", stream=None):
    return call(GEMV, (a, x, y), (alpha, beta), (trans,), None, stream)


@public(GBMV)
def gbmv(a, x, y=None, *, alpha=1, beta=0, trans="N", kl, m=None, stream=None):
    return call(GBMV, (a, x, y), (alpha, beta), (trans, kl, m), None, stream)


@public(SYMV)
def symv(a, x, y=None, *, alpha=1, beta=0, uplo="U", stream=None):
    return call(SYMV, (a, x, y), (alpha, beta), (uplo,), None, stream)


@public(SBMV)
def sbmv(a, x, y=None, *, alpha=1, beta=0, uplo="U", stream=None):
    return call(SBMV, (a, x, y), (alpha, beta), (uplo,), None, stream)


@public(HEMV)
def hemv(a, x, y=None, *, alpha=1, beta=0, uplo="U", stream=None):
    return call(HEMV, (a, x, y), (alpha, beta), (uplo,), None, stream)


@public(HBMV)
def hbmv(a, x, y=None, *, alpha=1, beta=0, uplo="U", stream=None):
    return call(HBMV, (a, x, y), (alpha, beta), (uplo,), None, stream)


@public(SKEWSYMV)
def skewsymv(a, x, y=None, *, alpha=1, beta=0, uplo="U", stream=None):
    return call(SKEWSYMV, (a, x, y), (alpha, beta), (uplo,), None, stream)


@public(SPMV)
def spmv(ap, x, y=None, *, alpha=1, beta=0, uplo="U", stream=None):
    return call(SPMV, (ap, x, y), (alpha, beta), (uplo,), None, stream)


@public(HPMV)
def hpmv(ap, x, y=None, *, alpha=1, beta=0, uplo="U", stream=None):
    return call(HPMV, (ap, x, y), (alpha, beta), (uplo,), None, stream)


@public(TRMV)
def trmv(a, x, *, uplo="U", trans="N", diag="N", stream=None):
    return call(TRMV, (a, x), (), (uplo, trans, diag), None, stream)


@public(TBMV)
def tbmv(a, x, *, uplo="U", trans="N", diag="N", stream=None):
    return call(TBMV, (a, x), (), (uplo, trans, diag), None, stream)


@public(TPMV)
def tpmv(ap, x, *, uplo="U", trans="N", diag="N", stream=None):
    return call(TPMV, (ap, x), (), (uplo, trans, diag), None, stream)


@public(TRSV)
def trsv(a, x, *, uplo="U", trans="N", diag="N", stream=None):
    return call(TRSV, (a, x), (), (uplo, trans, diag), None, stream)


@public(TBSV)
def tbsv(a, x, *, uplo="U", trans="N", diag="N", stream=None):
    return call(TBSV, (a, x), (), (uplo, trans, diag), None, stream)


@public(TPSV)
def tpsv(ap, x, *, uplo="U", trans="N", diag="N", stream=None):
    return call(TPSV, (ap, x), (), (uplo, trans, diag), None, stream)


@public(GER)
def ger(x, y, a=None, *, alpha=1, stream=None):
    return call(GER, (x, y, a), (alpha,), (), None, stream)


@public(GERU)
def geru(x, y, a=None, *, alpha=1, stream=None):
    return call(GERU, (x, y, a), (alpha,), (), None, stream)


@public(GERC)
def gerc(x, y, a=None, *, alpha=1, stream=None):
    return call(GERC, (x, y, a), (alpha,), (), None, stream)


@public(SYR)
def syr(x, a=None, *, alpha=1, uplo="U", stream=None):
    return call(SYR, (x, a), (alpha,), (uplo,), None, stream)


@public(HER)
def her(x, a=None, *, alpha=1, uplo="U", stream=None):
    return call(HER, (x, a), (alpha,), (uplo,), None, stream)


@public(SPR)
def spr(x, ap=None, *, alpha=1, uplo="U", stream=None):
    return call(SPR, (x, ap), (alpha,), (uplo,), None, stream)


@public(HPR)
def hpr(x, ap=None, *, alpha=1, uplo="U", stream=None):
    return call(HPR, (x, ap), (alpha,), (uplo,), None, stream)


@public(SYR2)
def syr2(x, y, a=None, *, alpha=1, uplo="U", stream=None):
    return call(SYR2, (x, y, a), (alpha,), (uplo,), None, stream)


@public(HER2)
def her2(x, y, a=None, *, alpha=1, uplo="U", stream=None):
    return call(HER2, (x, y, a), (alpha,), (uplo,), None, stream)


@public(SKEWSYR2)
def skewsyr2(x, y, a=None, *, alpha=1, uplo="U", stream=None):
    return call(SKEWSYR2, (x, y, a), (alpha,), (uplo,), None, stream)


@public(SPR2)
def spr2(x, y, ap=None, *, alpha=1, uplo="U", stream=None):
    return call(SPR2, (x, y, ap), (alpha,), (uplo,), None, stream)


@public(HPR2)
def hpr2(x, y, ap=None, *, alpha=1, uplo="U", stream=None):
    return call(HPR2, (x, y, ap), (alpha,), (uplo,), None, stream)


@public(GEMVT)
def gemvt(a, x, w, y=None, z=None, *, alpha=1, beta=0, trans="T", stream=None):
    return call(GEMVT, (a, x, w, y, z), (alpha, beta), (trans,), None, stream)
