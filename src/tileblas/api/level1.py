"""The public functions of level 1, in BLAS's own names."""

from __future__ import annotations

from tileblas.api.public import public
from tileblas.arrays.scalars import numbers, unpacked
from tileblas.backends.dispatch import call
from tileblas.routines.registry import ROUTINES

DOT = ROUTINES["dot"]
DOTC = ROUTINES["dotc"]
DOTU = ROUTINES["dotu"]
DSDOT = ROUTINES["dsdot"]
SDSDOT = ROUTINES["sdsdot"]
NRM2 = ROUTINES["nrm2"]
ASUM = ROUTINES["asum"]
IAMAX = ROUTINES["iamax"]
IAMIN = ROUTINES["iamin"]
SCAL = ROUTINES["scal"]
COPY = ROUTINES["copy"]
AXPY = ROUTINES["axpy"]
AXPBY = ROUTINES["axpby"]
SWAP = ROUTINES["swap"]
ROT = ROUTINES["rot"]
ROTM = ROUTINES["rotm"]
AXPYDOT = ROUTINES["axpydot"]
ROTG = ROUTINES["rotg"]
ROTMG = ROUTINES["rotmg"]


@public(DOT)
def dot(x, y, *, stream=None):
    return call(DOT, (x, y), (), (), None, stream)


@public(DOTC)
def dotc(x, y, *, stream=None):
    return call(DOTC, (x, y), (), (), None, stream)


@public(DOTU)
def dotu(x, y, *, stream=None):
    return call(DOTU, (x, y), (), (), None, stream)


@public(DSDOT)
def dsdot(x, y, *, stream=None):
    return call(DSDOT, (x, y), (), (), None, stream)


@public(SDSDOT)
def sdsdot(x, y, *, alpha=0, stream=None):
    return call(SDSDOT, (x, y), (alpha,), (), None, stream)


@public(NRM2)
def nrm2(x, *, stream=None):
    return call(NRM2, (x,), (), (), None, stream)


@public(ASUM)
def asum(x, *, stream=None):
    return call(ASUM, (x,), (), (), None, stream)


@public(IAMAX)
def iamax(x, *, stream=None):
    return call(IAMAX, (x,), (), (), None, stream)


@public(IAMIN)
def iamin(x, *, stream=None):
    return call(IAMIN, (x,), (), (), None, stream)


@public(SCAL)
def scal(x, *, alpha, stream=None):
    return call(SCAL, (x,), (alpha,), (), None, stream)


@public(COPY)
def copy(x, y, *, stream=None):
    return call(COPY, (x, y), (), (), None, stream)


@public(AXPY)
def axpy(x, y, *, alpha=1, stream=None):
    return call(AXPY, (x, y), (alpha,), (), None, stream)


@public(AXPBY)
def axpby(x, y, *, alpha=1, beta=1, stream=None):
    return call(AXPBY, (x, y), (alpha, beta), (), None, stream)


@public(SWAP)
def swap(x, y, *, stream=None):
    return call(SWAP, (x, y), (), (), None, stream)


@public(ROT)
def rot(x, y, c, s, *, stream=None):
    return call(ROT, (x, y), (c, s), (), None, stream)


@public(ROTM)
def rotm(x, y, param, *, stream=None):
    return call(ROTM, (x, y), unpacked(ROTM, param), (), None, stream)


@public(AXPYDOT)
def axpydot(w, v, u, z=None, *, alpha=1, stream=None):
    return call(AXPYDOT, (w, v, u, z), (alpha,), (), None, stream)


@public(ROTG)
def rotg(a, b, *, stream=None):
    return call(ROTG, numbers(ROTG, (a, b)), (), (), None, stream)


@public(ROTMG)
def rotmg(d1, d2, x1, y1, *, stream=None):
    return call(ROTMG, numbers(ROTMG, (d1, d2, x1, y1)), (), (), None, stream)
