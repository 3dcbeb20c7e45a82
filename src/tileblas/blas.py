"""BLAS by SciPy's names: the functions of `scipy.linalg.blas`, on arrays of any library.

    from tileblas import blas
    blas.dgemm(1.0, a, b, trans_b=1)

Names, arguments, defaults, casts and results are SciPy's, so that replacing the import is enough.
Beyond it, empty vectors are allowed, and arrays of CuPy, PyTorch and JAX are computed where they
are and come back as such. Wrong arguments raise BlasError, where SciPy raises an error of its own.
"""

from __future__ import annotations

from tileblas.errors import BlasError
from tileblas.fblas.names import FUNCTIONS, find_best_blas_type, get_blas_funcs

globals().update(FUNCTIONS)
__fblas_error = BlasError

__all__ = ["find_best_blas_type", "get_blas_funcs", *FUNCTIONS]
