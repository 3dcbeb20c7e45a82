"""tileblas: BLAS for the GPU in Python, on arrays of any library."""

from tileblas.api import (
    asum,
    axpby,
    axpy,
    axpydot,
    copy,
    dot,
    dotc,
    dotu,
    dsdot,
    gemm,
    gemv,
    iamax,
    iamin,
    nrm2,
    plan,
    rot,
    rotg,
    rotm,
    rotmg,
    scal,
    sdsdot,
    swap,
)
from tileblas.errors import BlasError
from tileblas.settings import backend, options

__version__ = "0.1.0"

__all__ = [
    "BlasError",
    "__version__",
    "asum",
    "axpby",
    "axpy",
    "axpydot",
    "backend",
    "copy",
    "dot",
    "dotc",
    "dotu",
    "dsdot",
    "gemm",
    "gemv",
    "iamax",
    "iamin",
    "nrm2",
    "options",
    "plan",
    "rot",
    "rotg",
    "rotm",
    "rotmg",
    "scal",
    "sdsdot",
    "swap",
]
