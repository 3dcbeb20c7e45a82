"""The public functions of level 3, in BLAS's own names."""

from __future__ import annotations

from tileblas.api.public import public
from tileblas.backends.dispatch import call
from tileblas.routines.registry import ROUTINES

GEMM = ROUTINES["gemm"]
GEMMTR = ROUTINES["gemmtr"]
SYMM = ROUTINES["symm"]
HEMM = ROUTINES["hemm"]
SKEWSYMM = ROUTINES["skewsymm"]
SYRK = ROUTINES["syrk"]
HERK = ROUTINES["herk"]
SYRKX = ROUTINES["syrkx"]
HERKX = ROUTINES["herkx"]
SYR2K = ROUTINES["syr2k"]
HER2K = ROUTINES["her2k"]
SKEWSYR2K = ROUTINES["skewsyr2k"]


@public(GEMM)
def gemm(a, b, c=None, *, alpha=1, beta=0, trans_a="N", trans_b="N", math=None, stream=None):
    return call(GEMM, (a, b, c), (alpha, beta), (trans_a, trans_b), math, stream)


@public(GEMMTR)
def gemmtr(
    a, b, c=None, *, alpha=1, beta=0, uplo="U", trans_a="N", trans_b="N", math=None, stream=None
):
    return call(GEMMTR, (a, b, c), (alpha, beta), (uplo, trans_a, trans_b), math, stream)


@public(SYMM)
def symm(a, b, c=None, *, alpha=1, beta=0, side="L", uplo="U", math=None, stream=None):
    return call(SYMM, (a, b, c), (alpha, beta), (side, uplo), math, stream)


@public(HEMM)
def hemm(a, b, c=None, *, alpha=1, beta=0, side="L", uplo="U", math=None, stream=None):
    return call(HEMM, (a, b, c), (alpha, beta), (side, uplo), math, stream)


@public(SKEWSYMM)
def skewsymm(a, b, c=None, *, alpha=1, beta=0, side="L", uplo="U", math=None, stream=None):
    return call(SKEWSYMM, (a, b, c), (alpha, beta), (side, uplo), math, stream)


@public(SYRK)
def syrk(a, c=None, *, alpha=1, beta=0, uplo="U", trans="N", math=None, stream=None):
    return call(SYRK, (a, c), (alpha, beta), (uplo, trans), math, stream)


@public(HERK)
def herk(a, c=None, *, alpha=1, beta=0, uplo="U", trans="N", math=None, stream=None):
    return call(HERK, (a, c), (alpha, beta), (uplo, trans), math, stream)


@public(SYRKX)
def syrkx(a, b, c=None, *, alpha=1, beta=0, uplo="U", trans="N", math=None, stream=None):
    return call(SYRKX, (a, b, c), (alpha, beta), (uplo, trans), math, stream)


@public(HERKX)
def herkx(a, b, c=None, *, alpha=1, beta=0, uplo="U", trans="N", math=None, stream=None):
    return call(HERKX, (a, b, c), (alpha, beta), (uplo, trans), math, stream)


@public(SYR2K)
def syr2k(a, b, c=None, *, alpha=1, beta=0, uplo="U", trans="N", math=None, stream=None):
    return call(SYR2K, (a, b, c), (alpha, beta), (uplo, trans), math, stream)


@public(HER2K)
def her2k(a, b, c=None, *, alpha=1, beta=0, uplo="U", trans="N", math=None, stream=None):
    return call(HER2K, (a, b, c), (alpha, beta), (uplo, trans), math, stream)


@public(SKEWSYR2K)
def skewsyr2k(a, b, c=None, *, alpha=1, beta=0, uplo="U", trans="N", math=None, stream=None):
    return call(SKEWSYR2K, (a, b, c), (alpha, beta), (uplo, trans), math, stream)
