"""The table of element types, and how the dtype objects of array libraries map to its rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any


@dataclass(frozen=True, eq=False)
class DType:
    """One element type: a row of `DTYPES`, compared and hashed by identity.

    `real` is the type of one component, `compute` the real type in which arithmetic and
    accumulation run, `triton` the compiler's spelling of one component.
    """

    name: str
    letter: str  # BLAS prefix; h and b for the half types
    itemsize: int  # bytes
    is_complex: bool
    real: str
    compute: str
    triton: str

    @property
    def real_itemsize(self) -> int:
        """Bytes of one component."""
        return self.itemsize // 2 if self.is_complex else self.itemsize

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self):
        return _row, (self.name,)


#                name      letter bytes complex  real       compute    triton
_ROWS = (
    DType("float16", "h", 2, False, "float16", "float32", "fp16"),
    DType("bfloat16", "b", 2, False, "bfloat16", "float32", "bf16"),
    DType("float32", "s", 4, False, "float32", "float32", "fp32"),
    DType("float64", "d", 8, False, "float64", "float64", "fp64"),
    DType("complex64", "c", 8, True, "float32", "float32", "fp32"),
    DType("complex128", "z", 16, True, "float64", "float64", "fp64"),
)
DTYPES = {row.name: row for row in _ROWS}
HALF = (DTYPES["float16"], DTYPES["bfloat16"])

#: What a result can be and no operand: the place of an element.
INT64 = DType("int64", "i", 8, False, "int64", "int64", "i64")
RESULTS = DTYPES | {INT64.name: INT64}

#: Triton's names of the compute types.
TRITON_NAME = {"float32": "fp32", "float64": "fp64"}


def _row(name: str) -> DType:
    return RESULTS[name]


@cache
def lookup(dtype: Any) -> DType | None:
    """The row for a NumPy, CuPy, torch or JAX dtype object; None for a type that BLAS lacks.

    Non-native byte order counts as a type that BLAS lacks: its bytes are not such numbers.
    """
    if not getattr(dtype, "isnative", True):
        return None
    name = getattr(dtype, "name", None) or str(dtype).removeprefix("torch.")
    return DTYPES.get(name)


@cache
def numpy_dtype(dtype: DType):
    """The NumPy dtype of a row; bfloat16 needs the package ml_dtypes."""
    import numpy as np

    if dtype.name != "bfloat16":
        return np.dtype(dtype.name)
    try:
        import ml_dtypes
    except ImportError as error:
        raise ImportError("bfloat16 in NumPy needs ml_dtypes: pip install ml_dtypes") from error
    return np.dtype(ml_dtypes.bfloat16)


def storage_dtype(dtype: DType) -> str:
    """The NumPy name of an array of the same bytes: bfloat16 is seen as uint16."""
    return "uint16" if dtype.name == "bfloat16" else dtype.name
