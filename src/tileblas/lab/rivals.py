"""The rivals of tileblas, called directly: SciPy's BLAS on the CPU, cuBLAS on a GPU.

Each is given what it does best with: SciPy Fortran-ordered arrays, so that f2py copies nothing;
cuBLAS a warm handle, 32 MiB of workspace, an explicit stream, device pointer mode where a scalar
results, and arguments packed beforehand. Neither may use less than the operands' precision.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tileblas.core.dtypes import DTYPES, numpy_dtype
from tileblas.lab.cases import Case
from tileblas.lab.device import Device
from tileblas.lab.places import Place
from tileblas.lab.timing import Call

ALPHA = {"axpy": 0.5}  # alpha of each routine where it is not 1; exact in every type


@dataclass(frozen=True)
class Bound:
    """A call packed with its operands. `value` brings what it returned, a scalar, to the host."""

    call: Call
    value: Callable[[Any], np.ndarray] = np.asarray


class RivalError(RuntimeError):
    """A rival refused a call that it was thought to have."""


class Rival(Protocol):
    """Another library: `bind` packs a call on operands, None where it has no such routine."""

    name: str
    version: str

    def bind(self, case: Case, operands: Mapping[str, Any]) -> Bound | None: ...


@dataclass(frozen=True)
class ColumnProduct:
    """C = op(A) op(B) with every matrix stored by columns, as BLAS libraries take it."""

    trans_a: str
    trans_b: str
    m: int
    n: int
    k: int
    a: Any
    b: Any
    c: Any

    @property
    def leading(self) -> tuple[int, int, int]:
        """Leading dimensions of A, B and C."""
        rows_a = self.m if self.trans_a == "N" else self.k
        rows_b = self.k if self.trans_b == "N" else self.n
        return rows_a, rows_b, self.m


def column_product(case: Case, a: Any, b: Any, c: Any) -> ColumnProduct:
    """A product by columns: one stored by rows is the transposed product of the same memory."""
    m, n, k = case.dims
    trans_a, trans_b = tuple(case.trans)
    if case.layout == "row":
        return ColumnProduct(trans_b, trans_a, n, m, k, b, a, c)
    return ColumnProduct(trans_a, trans_b, m, n, k, a, b, c)


class Scipy:
    """scipy.linalg.blas, the f2py wrappers of the BLAS that SciPy is built with."""

    name = "SciPy"

    def __init__(self) -> None:
        import scipy

        self.version = scipy.__version__

    def bind(self, case: Case, operands: Mapping[str, Any]) -> Bound | None:
        from scipy.linalg import blas

        row = DTYPES[case.dtype]
        if row.letter not in "sdcz" or case.routine not in ("dot", "dotu", "dotc", "axpy", "gemm"):
            return None
        name = case.routine
        if row.is_complex and name == "dot":
            name = "dotu"
        elif not row.is_complex and name in ("dotu", "dotc"):
            name = "dot"
        function = getattr(blas, row.letter + name)
        if case.routine == "gemm":
            # The transposed view of an array stored by rows is the same memory by columns.
            matrices = (operands[name] for name in "abc")
            by_columns = (m if case.layout == "col" else m.T for m in matrices)
            p = column_product(case, *by_columns)
            trans_a, trans_b = _TRANS[p.trans_a], _TRANS[p.trans_b]
            return Bound(lambda: function(1.0, p.a, p.b, 0.0, p.c, trans_a, trans_b, overwrite_c=1))
        x, y = operands["x"], operands["y"]
        if case.routine == "axpy":
            return Bound(lambda: function(x, y, a=ALPHA["axpy"]))
        return Bound(lambda: function(x, y))


# Enumerations of library_types.h and cublas_api.h.
_CUDA_TYPE = {
    "float32": 0,
    "float64": 1,
    "float16": 2,
    "complex64": 4,
    "complex128": 5,
    "bfloat16": 14,
}
_COMPUTE_32F, _GEMM_DEFAULT = 68, -1
_HOST_POINTERS, _DEVICE_POINTERS = 0, 1
_DEFAULT_MATH = 0  # FP32 products stay FP32: TF32 must be asked for
_TRANS = {"N": 0, "T": 1, "C": 2}
_C_TYPE = {"float32": ctypes.c_float, "float64": ctypes.c_double}
_WORKSPACE = 32 << 20  # what NVIDIA asks for on Hopper
_LARGEST = 2**31 - 1  # of a size in cuBLAS's 32-bit interface


def load_cublas() -> ctypes.CDLL:
    """cuBLAS from the nvidia wheels, a CUDA toolkit or the system; OSError where there is none."""
    try:
        from cuda.pathfinder import load_nvidia_dynamic_lib
    except ImportError:
        return ctypes.CDLL("libcublas.so")
    try:
        return ctypes.CDLL(load_nvidia_dynamic_lib("cublas").abs_path)
    except RuntimeError as error:
        raise OSError(f"cuBLAS not found: {error}") from error


class Cublas:
    """cuBLAS on one stream, one handle for each place where scalars live."""

    name = "cuBLAS"

    def __init__(self, place: Place) -> None:
        self._library = load_cublas()
        self._place = place
        self._device = Device()
        self._handles: dict[int, ctypes.c_void_p] = {}
        self._result = self._device.allocate(16)
        version = ctypes.c_int()
        self._check(
            self._library.cublasGetVersion_v2(self._handle(_HOST_POINTERS), ctypes.byref(version))
        )
        v = version.value
        self.version = f"{v // 10000}.{v // 100 % 100}.{v % 100}"

    def _check(self, status: int) -> None:
        if status:
            raise RivalError(f"cuBLAS status {status}")

    def _handle(self, mode: int) -> ctypes.c_void_p:
        """The handle of a pointer mode. The stream comes first: setting it drops the workspace."""
        if mode not in self._handles:
            library, handle = self._library, ctypes.c_void_p()
            self._check(library.cublasCreate_v2(ctypes.byref(handle)))
            self._check(library.cublasSetStream_v2(handle, ctypes.c_void_p(self._place.stream)))
            workspace = ctypes.c_void_p(self._device.allocate(_WORKSPACE))
            size = ctypes.c_size_t(_WORKSPACE)
            self._check(library.cublasSetWorkspace_v2(handle, workspace, size))
            self._check(library.cublasSetPointerMode_v2(handle, mode))
            self._check(library.cublasSetMathMode(handle, _DEFAULT_MATH))
            self._handles[mode] = handle
        return self._handles[mode]

    def bind(self, case: Case, operands: Mapping[str, Any]) -> Bound | None:
        if max(case.dims) > _LARGEST:
            return None
        binders = {
            "dot": self._dot,
            "dotu": self._dot,
            "dotc": self._dot,
            "axpy": self._axpy,
            "gemm": self._gemm,
        }
        binder = binders.get(case.routine)
        return binder(case, operands) if binder else None

    def _packed(self, name: str, mode: int, *arguments: Any) -> Call:
        function, handle, check = getattr(self._library, name), self._handle(mode), self._check
        return lambda: check(function(handle, *arguments))

    def _read_result(self, dtype: str) -> np.ndarray:
        """The scalar that the last dot left on the device."""
        kind = numpy_dtype(DTYPES[dtype])
        stored = self._device.read(self._result, kind.itemsize, self._place.stream)
        return np.frombuffer(stored, kind)[0]

    def _address(self, array: Any) -> ctypes.c_void_p:
        return ctypes.c_void_p(self._place.pointer(array))

    def _dot(self, case: Case, operands: Mapping[str, Any]) -> Bound:
        row, n = DTYPES[case.dtype], case.dims[0]
        x, y = self._address(operands["x"]), self._address(operands["y"])
        arguments: tuple[Any, ...]
        result = ctypes.c_void_p(self._result)
        if row.letter in "hb":
            kind, single = _CUDA_TYPE[row.name], _CUDA_TYPE["float32"]
            name = "cublasDotEx"
            arguments = (n, x, kind, 1, y, kind, 1, result, kind, single)
        else:
            suffix = ("c" if case.routine == "dotc" else "u") if row.is_complex else ""
            name = f"cublas{row.letter.upper()}dot{suffix}_v2"
            arguments = (n, x, 1, y, 1, result)
        call = self._packed(name, _DEVICE_POINTERS, *arguments)
        return Bound(call, lambda _: self._read_result(case.dtype))

    def _axpy(self, case: Case, operands: Mapping[str, Any]) -> Bound:
        row, n = DTYPES[case.dtype], case.dims[0]
        x, y = self._address(operands["x"]), self._address(operands["y"])
        alpha = _scalar(row.name, ALPHA["axpy"])
        arguments: tuple[Any, ...]
        if row.letter in "hb":
            kind, single = _CUDA_TYPE[row.name], _CUDA_TYPE["float32"]
            name = "cublasAxpyEx"
            arguments = (n, alpha, single, x, kind, 1, y, kind, 1, single)
        else:
            name = f"cublas{row.letter.upper()}axpy_v2"
            arguments = (n, alpha, x, 1, y, 1)
        return Bound(self._packed(name, _HOST_POINTERS, *arguments))

    def _gemm(self, case: Case, operands: Mapping[str, Any]) -> Bound:
        row = DTYPES[case.dtype]
        p = column_product(case, *(self._address(operands[name]) for name in "abc"))
        lda, ldb, ldc = p.leading
        shape = (_TRANS[p.trans_a], _TRANS[p.trans_b], p.m, p.n, p.k)
        one, zero = _scalar(row.name, 1.0), _scalar(row.name, 0.0)
        arguments: tuple[Any, ...]
        if row.letter in "hb":
            kind = _CUDA_TYPE[row.name]
            name = "cublasGemmEx"
            arguments = (*shape, one, p.a, kind, lda, p.b, kind, ldb, zero, p.c, kind, ldc)
            arguments += (_COMPUTE_32F, _GEMM_DEFAULT)
        else:
            name = f"cublas{row.letter.upper()}gemm_v2"
            arguments = (*shape, one, p.a, lda, p.b, ldb, zero, p.c, ldc)
        return Bound(self._packed(name, _HOST_POINTERS, *arguments))


def _scalar(dtype: str, value: float) -> Any:
    """A host scalar in the compute type of `dtype`, as a pointer argument."""
    row = DTYPES[dtype]
    component = _C_TYPE[row.compute]
    if row.is_complex:
        return ctypes.byref((component * 2)(value, 0.0))
    return ctypes.byref(component(value))
