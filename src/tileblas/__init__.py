"""tileblas: BLAS for the GPU in Python, on arrays of any library."""

from tileblas.api import axpy, dot, dotc, dotu, gemm, gemv, nrm2, plan, scal
from tileblas.errors import BlasError
from tileblas.settings import backend, options

__version__ = "0.1.0"

__all__ = [
    "BlasError",
    "__version__",
    "axpy",
    "backend",
    "dot",
    "dotc",
    "dotu",
    "gemm",
    "gemv",
    "nrm2",
    "options",
    "plan",
    "scal",
]
