"""cuBLAS as a rival, its C interface called through ctypes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tileblas.core.dtypes import DTYPES, HALF, numpy_dtype
from tileblas.lab.cases import Case
from tileblas.lab.device import Device
from tileblas.lab.places import Place
from tileblas.lab.rival_calls import (
    AXPY_THEN_DOT,
    SCAL_THEN_AXPY,
    SCALARS,
    TRANS,
    Bound,
    RivalError,
    column_call,
    column_matvec,
    column_product,
    in_turn,
    product_instead,
    scalars,
    two_matvecs,
    typed,
)
from tileblas.lab.timing import Call
from tileblas.routines.registry import ROUTINES

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
_LETTERS = {"uplo": {"L": 0, "U": 1}, "trans": TRANS, "diag": {"N": 0, "U": 1}}
_LETTERS |= {"side": {"L": 0, "R": 1}, "trans_a": TRANS, "trans_b": TRANS}
_HOST_POINTERS, _DEVICE_POINTERS = 0, 1
_DEFAULT_MATH = 0  # FP32 products stay FP32: TF32 must be asked for
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
        binders: dict[str, Callable[[Case, Mapping[str, Any]], Bound | None]] = {
            **dict.fromkeys(("dot", "dotu", "dotc"), self._dot),
            **dict.fromkeys(("nrm2", "asum"), self._norm),
            **dict.fromkeys(("iamax", "iamin"), self._element),
            **dict.fromkeys(("copy", "swap", "rot", "rotm"), self._pair),
            "scal": self._scal,
            "axpy": self._axpy,
            "axpby": self._axpby,
            "axpydot": self._axpydot,
            "gemv": self._gemv,
            "gemvt": self._gemvt,
            "gemm": self._gemm,
        }
        others = self._matrix if ROUTINES[case.routine].level > 1 else None
        binder = binders.get(case.routine, others)
        return binder(case, operands) if binder else None

    def _packed(self, name: str, mode: int, *arguments: Any) -> Call:
        function, handle, check = getattr(self._library, name), self._handle(mode), self._check
        return lambda: check(function(handle, *arguments))

    def _read_result(self, dtype: str) -> np.ndarray:
        """The number that the last reduction left on the device."""
        kind = np.dtype(np.int32) if dtype == "int32" else numpy_dtype(DTYPES[dtype])
        stored = self._device.read(self._result, kind.itemsize, self._place.stream)
        return np.frombuffer(stored, kind)[0]

    def _address(self, array: Any) -> ctypes.c_void_p:
        return ctypes.c_void_p(self._place.pointer(array))

    def _dot(self, case: Case, operands: Mapping[str, Any]) -> Bound:
        x, y = self._address(operands["x"]), self._address(operands["y"])
        return Bound(self._summed(case, x, y), lambda _: self._read_result(case.dtype))

    def _summed(self, case: Case, x: ctypes.c_void_p, y: ctypes.c_void_p) -> Call:
        """The result is sum x y."""
        n, result = case.dims[0], ctypes.c_void_p(self._result)
        if _is_half(case):
            kind = _CUDA_TYPE[case.dtype]
            arguments = (n, x, kind, 1, y, kind, 1, result, kind, _SINGLE)
            return self._packed("cublasDotEx", _DEVICE_POINTERS, *arguments)
        return self._packed(_entry(case), _DEVICE_POINTERS, n, x, 1, y, 1, result)

    def _norm(self, case: Case, operands: Mapping[str, Any]) -> Bound | None:
        """nrm2, and asum."""
        n, x = case.dims[0], self._address(operands["x"])
        result = ctypes.c_void_p(self._result)
        if not _is_half(case):
            call = self._packed(_entry(case), _DEVICE_POINTERS, n, x, 1, result)
        elif case.routine == "nrm2":
            kind = _CUDA_TYPE[case.dtype]
            arguments = (n, x, kind, 1, result, kind, _SINGLE)
            call = self._packed("cublasNrm2Ex", _DEVICE_POINTERS, *arguments)
        else:
            return None
        return Bound(call, lambda _: self._read_result(DTYPES[case.dtype].real))

    def _element(self, case: Case, operands: Mapping[str, Any]) -> Bound | None:
        """iamax and iamin, which count from 1."""
        if _is_half(case):
            return None
        n, x = case.dims[0], self._address(operands["x"])
        call = self._packed(_entry(case), _DEVICE_POINTERS, n, x, 1, ctypes.c_void_p(self._result))
        return Bound(call, lambda _: self._read_result("int32").astype(np.int64) - 1)

    def _scal(self, case: Case, operands: Mapping[str, Any]) -> Bound:
        return Bound(self._scaled(case, SCALARS["scal"]["alpha"], self._address(operands["x"])))

    def _scaled(self, case: Case, factor: float, x: ctypes.c_void_p) -> Call:
        """x := factor x."""
        n, alpha = case.dims[0], _scalar(DTYPES[case.dtype].real, factor)
        if _is_half(case):
            arguments = (n, alpha, _SINGLE, x, _CUDA_TYPE[case.dtype], 1, _SINGLE)
            return self._packed("cublasScalEx", _HOST_POINTERS, *arguments)
        return self._packed(_entry(replace(case, routine="scal")), _HOST_POINTERS, n, alpha, x, 1)

    def _axpy(self, case: Case, operands: Mapping[str, Any]) -> Bound:
        x, y = self._address(operands["x"]), self._address(operands["y"])
        return Bound(self._added(case, SCALARS["axpy"]["alpha"], x, y))

    def _added(self, case: Case, factor: float, x: ctypes.c_void_p, y: ctypes.c_void_p) -> Call:
        """y := factor x + y."""
        n, alpha = case.dims[0], _scalar(case.dtype, factor)
        if _is_half(case):
            kind = _CUDA_TYPE[case.dtype]
            arguments = (n, alpha, _SINGLE, x, kind, 1, y, kind, 1, _SINGLE)
            return self._packed("cublasAxpyEx", _HOST_POINTERS, *arguments)
        entry = _entry(replace(case, routine="axpy"))
        return self._packed(entry, _HOST_POINTERS, n, alpha, x, 1, y, 1)

    def _axpby(self, case: Case, operands: Mapping[str, Any]) -> Bound:
        x, y = self._address(operands["x"]), self._address(operands["y"])
        scaled = self._scaled(case, SCALARS["axpby"]["beta"], y)
        added = self._added(case, SCALARS["axpby"]["alpha"], x, y)
        return Bound(in_turn(scaled, added), note=SCAL_THEN_AXPY)

    def _axpydot(self, case: Case, operands: Mapping[str, Any]) -> Bound:
        """z is w itself."""
        v, u, z = (self._address(operands[name]) for name in "vuz")
        added = self._added(case, -SCALARS["axpydot"]["alpha"], v, z)
        summed = self._summed(replace(case, routine="dotu"), z, u)
        both = in_turn(added, summed)
        return Bound(both, lambda _: self._read_result(case.dtype), AXPY_THEN_DOT)

    def _pair(self, case: Case, operands: Mapping[str, Any]) -> Bound | None:
        """copy, swap and rotations, whose numbers follow the vectors."""
        if _is_half(case):
            return None
        n, x, y = case.dims[0], self._address(operands["x"]), self._address(operands["y"])
        real, numbers = DTYPES[case.dtype].real, SCALARS.get(case.routine, {}).values()
        if case.routine == "rotm":
            given = [_scalar(real, *numbers)]
        else:
            given = [_scalar(real, number) for number in numbers]
        return Bound(self._packed(_entry(case), _HOST_POINTERS, n, x, 1, y, 1, *given))

    def _gemv(self, case: Case, operands: Mapping[str, Any]) -> Bound:
        p = column_matvec(case)
        if p is None or _is_half(case):
            return self._by_product(case, operands)
        a, x, y = (self._address(operands[name]) for name in ("a", "x", "y"))
        one, zero = _scalar(case.dtype, 1.0), _scalar(case.dtype, 0.0)
        arguments = (TRANS[p.trans], p.rows, p.columns, one, a, p.rows, x, 1, zero, y, 1)
        return Bound(self._packed(_entry(case), _HOST_POINTERS, *arguments))

    def _gemvt(self, case: Case, operands: Mapping[str, Any]) -> Bound:
        return two_matvecs(self._gemv, case, operands)

    def _matrix(self, case: Case, operands: Mapping[str, Any]) -> Bound | None:
        """A routine on matrices: cuBLAS takes its arguments in Fortran's order."""
        spec, call = ROUTINES[case.routine], column_call(case)
        if call is None or not hasattr(self._library, _entry(case)):
            return self._by_product(case, operands) if spec.family == "ger" else None
        given: dict[str, Any] = dict(call.sizes)
        given |= {name: _LETTERS[name][letter] for name, letter in call.letters.items()}
        given |= {name: self._address(operands[own]) for name, own in call.arrays.items()}
        for name, value in scalars(spec).items():
            real = name in spec.real_scalars
            given[name] = _scalar(DTYPES[case.dtype].real if real else case.dtype, value)
        arguments = [given[name] for name in spec.fortran]
        return Bound(self._packed(_entry(case), _HOST_POINTERS, *arguments))

    def _by_product(self, case: Case, operands: Mapping[str, Any]) -> Bound:
        """gemv or ger, of which cuBLAS has none for this type or layout."""
        return product_instead(self._gemm, case, operands, lambda vector: vector)

    def _gemm(
        self, case: Case, operands: Mapping[str, Any], alpha: float = 1.0, beta: float = 0.0
    ) -> Bound:
        p = column_product(case, *(self._address(operands[name]) for name in "abc"))
        lda, ldb, ldc = p.leading
        shape = (TRANS[p.trans_a], TRANS[p.trans_b], p.m, p.n, p.k)
        scale, keep = _scalar(case.dtype, alpha), _scalar(case.dtype, beta)
        if _is_half(case):
            kind = _CUDA_TYPE[case.dtype]
            halves = (p.a, kind, lda, p.b, kind, ldb, keep, p.c, kind, ldc)
            arguments = (*shape, scale, *halves, _COMPUTE_32F, _GEMM_DEFAULT)
            return Bound(self._packed("cublasGemmEx", _HOST_POINTERS, *arguments))
        stored = (p.a, lda, p.b, ldb, keep, p.c, ldc)
        return Bound(self._packed(_entry(case), _HOST_POINTERS, *shape, scale, *stored))


def _entry(case: Case) -> str:
    """The name of a routine of cuBLAS."""
    name = typed(case)
    version = "" if name.endswith("rkx") else "_v2"  # of which there was no first one
    return f"cublas{name[0].upper()}{name[1:]}{version}"


def _is_half(case: Case) -> bool:
    """Whether the elements are of a half type, which only the Ex routines take."""
    return DTYPES[case.dtype] in HALF


def _scalar(dtype: str, *values: float) -> Any:
    """Host scalars in the compute type of `dtype`, as a pointer argument."""
    row = DTYPES[dtype]
    parts = [part for value in values for part in ((value, 0.0) if row.is_complex else (value,))]
    return ctypes.byref((_C_TYPE[row.compute] * len(parts))(*parts))
