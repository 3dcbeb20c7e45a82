"""The names: which routines BLAS has on which types, and the lookup by type as in SciPy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tileblas.core.dtypes import DTYPES
from tileblas.fblas.bodies import BODIES, real_scal
from tileblas.fblas.routine import Routine
from tileblas.routines.registry import ROUTINES

_TYPES = ("float32", "float64", "complex64", "complex128")
# Routines that BLAS has for some types only, and names of more than one letter before them.
_REAL_ONLY, _COMPLEX_ONLY = ("dot",), ("dotc", "dotu")
_LONG_NAMES = {("nrm2", "complex64"): "scnrm2", ("nrm2", "complex128"): "dznrm2"}
_REAL_FACTORS = {"csscal": "complex64", "zdscal": "complex128"}

#: What `get_blas_funcs` takes for names that BLAS does not have, as SciPy does.
_ALIASES = {
    "cnrm2": "scnrm2",
    "znrm2": "dznrm2",
    "cdot": "cdotc",
    "zdot": "zdotc",
    "sdotc": "sdot",
    "sdotu": "sdot",
    "ddotc": "ddot",
    "ddotu": "ddot",
}


def _routines() -> Iterator[Routine]:
    for spec in ROUTINES.values():
        for dtype in map(DTYPES.__getitem__, _TYPES):
            if spec.name not in (_REAL_ONLY if dtype.is_complex else _COMPLEX_ONLY):
                name = _LONG_NAMES.get((spec.name, dtype.name), dtype.letter + spec.name)
                yield Routine(name, spec, dtype, BODIES[spec.name])
    for name, kind in _REAL_FACTORS.items():
        yield Routine(name, ROUTINES["scal"], DTYPES[kind], real_scal)


FUNCTIONS = {routine.__name__: routine for routine in _routines()}


def find_best_blas_type(
    arrays: Sequence[Any] = (), dtype: Any = None
) -> tuple[str, np.dtype, bool]:
    """(prefix, dtype, whether the leading array lies by columns): the type that holds all arrays.

    As SciPy's, for arrays of any library.
    """
    from scipy.linalg.blas import find_best_blas_type as find

    return find([_shown(array) for array in arrays], "d" if dtype is None else dtype)


def _shown(array: Any) -> np.ndarray:
    """An array of NumPy that has the type of one of another library."""
    if isinstance(array, np.ndarray):
        return array
    return np.empty(0, str(array.dtype).removeprefix("torch."))


def get_blas_funcs(
    names: str | Sequence[str], arrays: Sequence[Any] = (), dtype: Any = None, ilp64: Any = False
) -> Any:
    """The functions for routines named without prefix: one for one name, a list for several.

    The prefix is that of `find_best_blas_type`. Sizes have 64 bits, whatever `ilp64` says.
    ValueError for a name that is none.
    """
    prefix, _, _ = find_best_blas_type(arrays, dtype)
    found = []
    for name in (names,) if isinstance(names, str) else names:
        full = _ALIASES.get(prefix + name, prefix + name)
        if full not in FUNCTIONS:
            raise ValueError(f"BLAS function {full} could not be found")
        found.append(FUNCTIONS[full])
    return found[0] if isinstance(names, str) else found
