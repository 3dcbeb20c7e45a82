"""The rivals of tileblas, called directly: SciPy's BLAS on the CPU, cuBLAS on a GPU.

Each is given what it does best with: SciPy Fortran-ordered arrays, so that f2py copies nothing;
cuBLAS a warm handle, 32 MiB of workspace, an explicit stream, device pointer mode where a scalar
results, and arguments packed beforehand. Neither may use less than the operands' precision.

Where a rival lacks a routine and others of its own do the same, these are called, and the results
say so: that is what its users are left with. Without a gemv or a ger, its gemm multiplies by a
matrix of one column, or one column by one row. It concerns half types, for which array libraries do
the same, and conjugating a complex matrix that is stored by rows, a conjugate without a transpose
by columns. axpby is scal and axpy, axpydot is axpy and dot, gemvt is two gemv.

Neither knows skew matrices and bands by rows, both lack routines on complex symmetric matrices, and
what conjugates the matrix by rows. These are measured alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from tileblas.lab.cases import Case
from tileblas.lab.rival_calls import Bound, RivalError
from tileblas.lab.rival_cublas import Cublas
from tileblas.lab.rival_scipy import Scipy

__all__ = ["Bound", "Cublas", "Rival", "RivalError", "Scipy"]


class Rival(Protocol):
    """Another library: `bind` packs a call on operands, None where it has no such routine."""

    name: str
    version: str

    def bind(self, case: Case, operands: Mapping[str, Any]) -> Bound | None: ...
