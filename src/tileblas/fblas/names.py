"""The names: which routines BLAS has on which types, and the lookup by type as in SciPy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tileblas.core.dtypes import DTYPES
from tileblas.fblas import level1, level2, level2_updates, level3
from tileblas.fblas.routine import Routine
from tileblas.routines.registry import ROUTINES

_TYPES = ("float32", "float64", "complex64", "complex128")
_BODIES = level1.BODIES | level2.BODIES | level2_updates.BODIES | level3.BODIES
# Routines that BLAS has for some of the types that they take.
_REAL_ONLY, _COMPLEX_ONLY = ("dot", "ger"), ("dotc", "dotu")
#: Names that are no letter before the routine's, in the order of _TYPES.
_NAMES = {
    "nrm2": ("snrm2", "dnrm2", "scnrm2", "dznrm2"),
    "asum": ("sasum", "dasum", "scasum", "dzasum"),
    "iamax": ("isamax", "idamax", "icamax", "izamax"),
    "iamin": ("isamin", "idamin", "icamin", "izamin"),
    "dsdot": ("dsdot",),
    "sdsdot": ("sdsdot",),
}
#: Names for complex vectors and real numbers, with the routine and the type.
_REAL_NUMBERS = {
    "csscal": ("scal", "complex64"),
    "zdscal": ("scal", "complex128"),
    "csrot": ("rot", "complex64"),
    "zdrot": ("rot", "complex128"),
}

#: What `get_blas_funcs` takes for names that BLAS does not have: SciPy's aliases, of routines that
#: exist, and beyond those asum, iamax and iamin for every type.
_ALIASES = {
    "cdot": "cdotc",
    "zdot": "zdotc",
    "sdotc": "sdot",
    "sdotu": "sdot",
    "ddotc": "ddot",
    "ddotu": "ddot",
    "cger": "cgerc",
    "zger": "zgerc",
} | {
    letter + routine: name
    for routine in ("nrm2", "asum", "iamax", "iamin")
    for letter, name in zip("sdcz", _NAMES[routine], strict=True)
}


def _routines() -> Iterator[Routine]:
    for spec in ROUTINES.values():
        for index, dtype in enumerate(map(DTYPES.__getitem__, _TYPES)):
            if dtype.name not in spec.dtypes:
                continue
            if spec.name not in (_REAL_ONLY if dtype.is_complex else _COMPLEX_ONLY):
                names = _NAMES.get(spec.name)
                name = names[index] if names else dtype.letter + spec.name
                yield Routine(name, spec, dtype, _BODIES[spec.name])
    for name, (routine, kind) in _REAL_NUMBERS.items():
        yield Routine(name, ROUTINES[routine], DTYPES[kind], level1.REAL_BODIES[routine])


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
        function = FUNCTIONS.get(full)
        # "sdot" for float64 is no question for dsdot, which takes float32.
        if function is None or function.prefix != prefix:
            raise ValueError(f"BLAS function {full} could not be found")
        found.append(function)
    return found[0] if isinstance(names, str) else found
