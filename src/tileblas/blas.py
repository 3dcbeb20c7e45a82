"""BLAS by SciPy's names: the functions of `scipy.linalg.blas`, on arrays of any library.

    from tileblas import blas
    blas.dgemm(1.0, a, b, trans_b=1)

Names, arguments, defaults, casts and results are SciPy's, so that replacing the import is enough.
Arrays of CuPy, PyTorch and JAX are computed where they are and come back as such.

Beyond SciPy there are, in the style of their neighbours: axpby, axpydot, iamin, crot and zrot (of a
complex sine), dsdot and sdsdot; symv, sbmv, syr2 and spr2 of complex numbers, skewsymv, skewsyr2
and gemvt; gemmtr, skewsymm, syrkx, herkx and skewsyr2k. `get_blas_funcs` finds asum, iamax and
iamin for every type.

What differs on purpose:

- Empty vectors are allowed, but of iamax and iamin: SciPy refuses an offset that no element is at.
  A product with a matrix that has no rows or no columns leaves y as it was, as BLAS has it.
- Wrong arguments raise BlasError, a ValueError, where SciPy raises an error of its own.
- An output that is read-only, or shares elements with another vector that is not the very same, is
  refused: SciPy writes the one, and leaves the other to the order in which its BLAS walks.
- iamax counts a NaN as the largest; SciPy's answer depends on where the NaN is.
- c of crotg and zrotg has no imaginary part; SciPy returns what was in memory there.
- rotmg is netlib's also where d1 <= 0 or x1 = 0; OpenBLAS, which SciPy ships, returns others.
- A band may have more diagonals than the matrix has rows, and an array has to hold all of them: of
  gbmv SciPy refuses the one, and with too few returns y as it was.
- `trans` of complex syrk and syr2k is 0 or 1, of herk and her2k 0 or 2; for what BLAS has no letter
  SciPy prints a line and returns c as it was. The structured matrix of symm and hemm has to be
  square.
- `trans` is 0, 1 or 2: SciPy's trsv, tbmv, tbsv, tpmv and tpsv take any other number for 1.
- A negative increment of cspr and zspr walks back from the far end, as that of others does;
  OpenBLAS reads what lies before x.
- Sizes have 64 bits, whatever `ilp64` says.

As in SciPy, a negative increment walks from the far end where it is that of one of several vectors;
asum is 0 then, iamax -1 (also for n = 0), scal does nothing, and nrm2 refuses it. An increment of 0
is always refused.
"""

from __future__ import annotations

from tileblas.errors import BlasError
from tileblas.fblas.names import FUNCTIONS, find_best_blas_type, get_blas_funcs

globals().update(FUNCTIONS)
__fblas_error = BlasError

__all__ = ["find_best_blas_type", "get_blas_funcs", *FUNCTIONS]
