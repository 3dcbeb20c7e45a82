"""The rivals of tileblas, called directly: SciPy's BLAS on the CPU, cuBLAS on a GPU.

Each is given what it does best with: SciPy Fortran-ordered arrays, so that f2py copies nothing;
cuBLAS a warm handle, 32 MiB of workspace, an explicit stream, device pointer mode where a scalar
results, and arguments packed beforehand. Neither may use less than the operands' precision.

Where a rival has no gemv, its gemm multiplies by a matrix of one column, and the results say so:
that is what its users are left with. It concerns half types, for which array libraries do the same,
and conjugating a complex matrix that is stored by rows, a conjugate without a transpose by columns.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from tileblas.core.dtypes import DTYPES, HALF, numpy_dtype
from tileblas.lab.cases import Case
from tileblas.lab.device import Device
from tileblas.lab.places import Place
from tileblas.lab.timing import Call

#: alpha of each routine where it is not 1: exact in every type, and harmless however often a call
#: is repeated on the same vector.
ALPHA = {"axpy": 0.5, "scal": -1.0}


@dataclass(frozen=True)
class Bound:
    """A call packed with its operands. `value` brings what it returned, a scalar, to the host.

    `note` says what a reader of the results must know of it. `keep` is what must live on with it.
    """

    call: Call
    value: Callable[[Any], np.ndarray] = np.asarray
    note: str = ""
    keep: Any = None


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


@dataclass(frozen=True)
class ColumnMatvec:
    """y = op(A) x with A, rows x columns, stored by columns, as BLAS libraries take it."""

    trans: str
    rows: int
    columns: int


def column_matvec(case: Case) -> ColumnMatvec | None:
    """A gemv by columns, None where no letter of BLAS says it.

    A matrix stored by rows is by columns its own transpose: N becomes T, and T becomes N.
    """
    m, n = case.dims if case.trans == "N" else case.dims[::-1]
    if case.layout == "col":
        return ColumnMatvec(case.trans, m, n)
    if case.trans == "C" and DTYPES[case.dtype].is_complex:
        return None
    return ColumnMatvec("T" if case.trans == "N" else "N", n, m)


def as_product(case: Case) -> Case:
    """A gemv as the product of op(A) with a matrix of one column."""
    m, n = case.dims
    return Case("gemm", (m, 1, n), case.dtype, f"{case.trans}N", case.layout)


def as_matrices(operands: Mapping[str, Any], vector: Callable[[Any], Any]) -> dict[str, Any]:
    """The operands of a gemv as those of `as_product`; `vector` makes a matrix of a vector."""
    return {"a": operands["a"], "b": vector(operands["x"]), "c": vector(operands["y"])}


_AS_PRODUCT = "gemm of one column"


class Scipy:
    """scipy.linalg.blas, the f2py wrappers of the BLAS that SciPy is built with."""

    name = "SciPy"

    def __init__(self) -> None:
        import scipy

        self.version = scipy.__version__

    def bind(self, case: Case, operands: Mapping[str, Any]) -> Bound | None:
        binders = {
            "dot": self._dot,
            "dotu": self._dot,
            "dotc": self._dot,
            "nrm2": self._nrm2,
            "scal": self._scal,
            "axpy": self._axpy,
            "gemv": self._gemv,
            "gemm": self._gemm,
        }
        binder = binders.get(case.routine)
        return binder(case, operands) if binder and DTYPES[case.dtype].letter in "sdcz" else None

    def _dot(self, case: Case, operands: Mapping[str, Any]) -> Bound:
        function, x, y = _scipy(_typed(case)), operands["x"], operands["y"]
        return Bound(lambda: function(x, y))

    def _nrm2(self, case: Case, operands: Mapping[str, Any]) -> Bound:
        function, x = _scipy(_typed(case)), operands["x"]
        return Bound(lambda: function(x))

    def _scal(self, case: Case, operands: Mapping[str, Any]) -> Bound:
        function, alpha, x = _scipy(_typed(case)), ALPHA["scal"], operands["x"]
        if DTYPES[case.dtype].is_complex:
            return Bound(lambda: function(alpha, x, overwrite_x=1))
        return Bound(lambda: function(alpha, x))

    def _axpy(self, case: Case, operands: Mapping[str, Any]) -> Bound:
        function, x, y = _scipy(_typed(case)), operands["x"], operands["y"]
        return Bound(lambda: function(x, y, a=ALPHA["axpy"]))

    def _gemv(self, case: Case, operands: Mapping[str, Any]) -> Bound:
        by_columns = column_matvec(case)
        if by_columns is None:
            columns = as_matrices(operands, lambda v: v[:, None])
            return replace(self._gemm(as_product(case), columns), note=_AS_PRODUCT)
        function, trans = _scipy(_typed(case)), _TRANS[by_columns.trans]
        a = operands["a"] if case.layout == "col" else operands["a"].T
        x, y = operands["x"], operands["y"]
        return Bound(lambda: function(1.0, a, x, 0.0, y, trans=trans, overwrite_y=1))

    def _gemm(self, case: Case, operands: Mapping[str, Any]) -> Bound:
        function = _scipy(_typed(case))
        # The transposed view of an array stored by rows is the same memory by columns.
        matrices = (operands[name] for name in "abc")
        p = column_product(case, *(m if case.layout == "col" else m.T for m in matrices))
        trans_a, trans_b = _TRANS[p.trans_a], _TRANS[p.trans_b]
        return Bound(lambda: function(1.0, p.a, p.b, 0.0, p.c, trans_a, trans_b, overwrite_c=1))


def _scipy(name: str) -> Callable[..., Any]:
    from scipy.linalg import blas

    return getattr(blas, name)


def _typed(case: Case) -> str:
    """The name of a routine in BLAS: its letters say the operands' type, then what is returned."""
    row = DTYPES[case.dtype]
    real = DTYPES[row.real].letter
    if case.routine in ("dot", "dotu", "dotc"):
        conjugates = "c" if case.routine == "dotc" else "u"
        return f"{row.letter}dot{conjugates if row.is_complex else ''}"
    if case.routine == "nrm2" and row.is_complex:
        return f"{real}{row.letter}nrm2"  # returns real numbers
    if case.routine == "scal" and row.is_complex:
        return f"{row.letter}{real}scal"  # by a real alpha
    return f"{row.letter}{case.routine}"


# Enumerations of library_types.h and cublas_api.h.
_CUDA_TYPE = {
    "float32": 0,
    "float64": 1,
    "float16": 2,
    "complex64": 4,
    "complex128": 5,
    "bfloat16": 14,
}
_SINGLE = _CUDA_TYPE["float32"]  # in which half types are computed
_COMPUTE_32F, _GEMM_DEFAULT = 68, -1
_HOST_POINTERS, _DEVICE_POINTERS = 0, 1
_DEFAULT_MATH = 0  # FP32 products stay FP32: TF32 must be asked for
_TRANS = {"N": 0, "T": 1, "C": 2}  # cuBLAS and f2py number them alike
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
            "nrm2": self._nrm2,
            "scal": self._scal,
            "axpy": self._axpy,
            "gemv": self._gemv,
            "gemm": self._gemm,
        }
        binder = binders.get(case.routine)
        return binder(case, operands) if binder else None

    def _packed(self, name: str, mode: int, *arguments: Any) -> Call:
        function, handle, check = getattr(self._library, name), self._handle(mode), self._check
        return lambda: check(function(handle, *arguments))

    def _read_result(self, dtype: str) -> np.ndarray:
        """The scalar that the last reduction left on the device."""
        kind = numpy_dtype(DTYPES[dtype])
        stored = self._device.read(self._result, kind.itemsize, self._place.stream)
        return np.frombuffer(stored, kind)[0]

    def _address(self, array: Any) -> ctypes.c_void_p:
        return ctypes.c_void_p(self._place.pointer(array))

    def _dot(self, case: Case, operands: Mapping[str, Any]) -> Bound:
        n, x, y = case.dims[0], self._address(operands["x"]), self._address(operands["y"])
        result = ctypes.c_void_p(self._result)
        if _is_half(case):
            kind = _CUDA_TYPE[case.dtype]
            arguments = (n, x, kind, 1, y, kind, 1, result, kind, _SINGLE)
            call = self._packed("cublasDotEx", _DEVICE_POINTERS, *arguments)
        else:
            call = self._packed(_entry(case), _DEVICE_POINTERS, n, x, 1, y, 1, result)
        return Bound(call, lambda _: self._read_result(case.dtype))

    def _nrm2(self, case: Case, operands: Mapping[str, Any]) -> Bound:
        n, x = case.dims[0], self._address(operands["x"])
        result = ctypes.c_void_p(self._result)
        if _is_half(case):
            kind = _CUDA_TYPE[case.dtype]
            arguments = (n, x, kind, 1, result, kind, _SINGLE)
            call = self._packed("cublasNrm2Ex", _DEVICE_POINTERS, *arguments)
        else:
            call = self._packed(_entry(case), _DEVICE_POINTERS, n, x, 1, result)
        return Bound(call, lambda _: self._read_result(DTYPES[case.dtype].real))

    def _scal(self, case: Case, operands: Mapping[str, Any]) -> Bound:
        n, x = case.dims[0], self._address(operands["x"])
        alpha = _scalar(DTYPES[case.dtype].real, ALPHA["scal"])
        if _is_half(case):
            arguments = (n, alpha, _SINGLE, x, _CUDA_TYPE[case.dtype], 1, _SINGLE)
            return Bound(self._packed("cublasScalEx", _HOST_POINTERS, *arguments))
        return Bound(self._packed(_entry(case), _HOST_POINTERS, n, alpha, x, 1))

    def _axpy(self, case: Case, operands: Mapping[str, Any]) -> Bound:
        n, x, y = case.dims[0], self._address(operands["x"]), self._address(operands["y"])
        alpha = _scalar(case.dtype, ALPHA["axpy"])
        if _is_half(case):
            kind = _CUDA_TYPE[case.dtype]
            arguments = (n, alpha, _SINGLE, x, kind, 1, y, kind, 1, _SINGLE)
            return Bound(self._packed("cublasAxpyEx", _HOST_POINTERS, *arguments))
        return Bound(self._packed(_entry(case), _HOST_POINTERS, n, alpha, x, 1, y, 1))

    def _gemv(self, case: Case, operands: Mapping[str, Any]) -> Bound:
        p = column_matvec(case)
        if p is None or _is_half(case):
            product = self._gemm(as_product(case), as_matrices(operands, lambda v: v))
            return replace(product, note=_AS_PRODUCT)
        a, x, y = (self._address(operands[name]) for name in ("a", "x", "y"))
        one, zero = _scalar(case.dtype, 1.0), _scalar(case.dtype, 0.0)
        arguments = (_TRANS[p.trans], p.rows, p.columns, one, a, p.rows, x, 1, zero, y, 1)
        return Bound(self._packed(_entry(case), _HOST_POINTERS, *arguments))

    def _gemm(self, case: Case, operands: Mapping[str, Any]) -> Bound:
        p = column_product(case, *(self._address(operands[name]) for name in "abc"))
        lda, ldb, ldc = p.leading
        shape = (_TRANS[p.trans_a], _TRANS[p.trans_b], p.m, p.n, p.k)
        one, zero = _scalar(case.dtype, 1.0), _scalar(case.dtype, 0.0)
        if _is_half(case):
            kind = _CUDA_TYPE[case.dtype]
            typed = (p.a, kind, lda, p.b, kind, ldb, zero, p.c, kind, ldc)
            arguments = (*shape, one, *typed, _COMPUTE_32F, _GEMM_DEFAULT)
            return Bound(self._packed("cublasGemmEx", _HOST_POINTERS, *arguments))
        stored = (p.a, lda, p.b, ldb, zero, p.c, ldc)
        return Bound(self._packed(_entry(case), _HOST_POINTERS, *shape, one, *stored))


def _entry(case: Case) -> str:
    """The name of a routine of cuBLAS."""
    name = _typed(case)
    return f"cublas{name[0].upper()}{name[1:]}_v2"


def _is_half(case: Case) -> bool:
    """Whether the elements are of a half type, which only the Ex routines take."""
    return DTYPES[case.dtype] in HALF


def _scalar(dtype: str, value: float) -> Any:
    """A host scalar in the compute type of `dtype`, as a pointer argument."""
    row = DTYPES[dtype]
    component = _C_TYPE[row.compute]
    if row.is_complex:
        return ctypes.byref((component * 2)(value, 0.0))
    return ctypes.byref(component(value))
