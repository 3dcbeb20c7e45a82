"""The rivals compute what we do: SciPy for real, cuBLAS by a stand-in on host memory."""

import ctypes

import numpy as np
import pytest

from tileblas.core.dtypes import DTYPES, numpy_dtype
from tileblas.lab import rival_cublas, rivals
from tileblas.lab.cases import Case
from tileblas.lab.places import HostPlace
from tileblas.lab.problems import Problem
from tileblas.lab.rival_calls import SCALARS
from tileblas.routines.registry import ROUTINES

VECTORS = [
    Case(name, (1001,), dtype)
    for name, spec in ROUTINES.items()
    if spec.dims == "n"
    for dtype in spec.dtypes
]
MATVECS = [
    Case("gemv", (9, 14), dtype, trans, layout)
    for dtype in DTYPES
    for trans in "NTC"
    for layout in ("col", "row")
]
PRODUCTS = [
    Case("gemm", (9, 14, 21), dtype, trans, layout)
    for dtype in DTYPES
    for trans in ("NN", "TN", "NT", "CT", "NC")
    for layout in ("col", "row")
]
CASES = VECTORS + MATVECS + PRODUCTS
HALVES = ("float16", "bfloat16")
each_case = pytest.mark.parametrize("case", CASES, ids=str)


@each_case
def test_scipy_is_right_or_has_no_such_routine(case):
    problem = Problem(case, HostPlace())
    bound = rivals.Scipy().bind(case, problem.operands)
    if case.dtype in HALVES or case.routine in ("iamin", "dsdot", "sdsdot"):
        assert bound is None
    else:
        assert problem.accuracy(bound).good


def test_scipy_writes_where_the_output_lies():
    for case in (
        Case("scal", (100,), "float64"),
        Case("scal", (100,), "complex64"),
        Case("copy", (100,), "float32"),
        Case("axpy", (100,), "float64"),
        Case("axpby", (100,), "complex64"),
        Case("gemv", (9, 14), "float64", "N", "row"),
        Case("gemv", (9, 14), "complex64", "T", "col"),
        Case("gemv", (9, 14), "complex64", "C", "row"),
        Case("gemm", (9, 14, 21), "float64", "NT", "row"),
    ):
        problem = Problem(case, HostPlace())
        returned = rivals.Scipy().bind(case, problem.operands).call()
        assert np.shares_memory(returned, problem.operands[problem.spec.output_name])
    for case in (
        Case("swap", (100,), "complex64"),
        Case("rot", (100,), "float64"),
        Case("rot", (100,), "complex64"),
        Case("rotm", (100,), "float32"),
    ):
        problem = Problem(case, HostPlace())
        returned = rivals.Scipy().bind(case, problem.operands).call()
        for array, name in zip(returned, "xy", strict=True):
            assert np.shares_memory(array, problem.operands[name])


def test_a_gemv_that_blas_lacks_says_what_stands_in_for_it(cublas):
    def notes(rival, dtype, trans, layout):
        case = Case("gemv", (9, 14), dtype, trans, layout)
        return rival.bind(case, Problem(case, HostPlace()).operands).note

    stand_in = "gemm of one column"
    for rival in (cublas, rivals.Scipy()):
        assert notes(rival, "complex64", "C", "row") == stand_in
        assert notes(rival, "complex64", "C", "col") == ""
        assert notes(rival, "float64", "C", "row") == ""
    assert notes(cublas, "float16", "N", "col") == stand_in


def test_calls_that_blas_lacks_are_two_others_and_say_so(cublas):
    for routine, stand_in in (("axpby", "scal, then axpy"), ("axpydot", "axpy, then dot")):
        case = Case(routine, (100,), "complex64")
        for rival in (cublas, rivals.Scipy()):
            bound = rival.bind(case, Problem(case, HostPlace()).operands)
            assert bound.note == stand_in


@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64"])
@pytest.mark.parametrize("routine", ["axpby", "axpydot", "rot", "rotm", "swap"])
def test_calls_again_and_again_leave_numbers_of_their_size(routine, dtype, cublas):
    if dtype not in ROUTINES[routine].dtypes:
        return
    case = Case(routine, (100,), dtype)
    rival = rivals.Scipy() if dtype != "float16" else cublas
    bound = rival.bind(case, (problem := Problem(case, HostPlace())).operands)
    if bound is None:
        return
    for _ in range(5000):
        bound.call()
    for array in problem.operands.values():
        size = np.abs(array.astype(np.complex128)).mean()
        assert 0.3 < size < 5000


def test_numbers_are_in_the_order_of_the_spec():
    for routine, numbers in SCALARS.items():
        assert tuple(numbers) == ROUTINES[routine].scalars


def test_scaling_again_and_again_neither_overflows_nor_vanishes():
    case = Case("scal", (100,), "float16")
    problem = Problem(case, HostPlace())
    before = problem.operands["x"].copy()
    bound = problem.bind()
    for _ in range(100):
        bound.call()
    np.testing.assert_array_equal(problem.operands["x"], before)


TYPES = {"S": "float32", "D": "float64", "C": "complex64", "Z": "complex128"}
NAMES = {code: name for name, code in rival_cublas._CUDA_TYPE.items()}
#: Of the Ex routines, half types take only these.
TAKE_HALVES = ("dot", "dotu", "dotc", "nrm2", "scal", "axpy", "axpby", "axpydot", "gemv", "gemm")


class HostCublas:
    """Functions with the names and arguments of cuBLAS, on host memory."""

    def __init__(self):
        self.log = []

    def __getattr__(self, name):
        if name.endswith("Ex"):
            return getattr(self, f"_{name}")
        if found := MIXED.get(name):
            return self._typed(TYPES[found[0]], found[1])
        letter, routine = name[6], name[7:].removesuffix("_v2")  # cublasDgemm_v2
        if letter in TYPES and routine in ROUTINES:
            return self._typed(TYPES[letter], routine)

        def succeeds(*arguments):
            self.log.append(name)
            return 0

        return succeeds

    def _typed(self, dtype, routine):
        if routine.startswith("dot"):
            return lambda handle, n, x, incx, y, incy, out: self.dot(
                dtype, n, x, y, out, routine == "dotc"
            )
        if routine in ("nrm2", "asum", "iamax", "iamin"):
            one = getattr(self, routine)
            return lambda handle, n, x, incx, out: one(dtype, n, x, out)
        if routine in ("copy", "swap", "rot", "rotm"):
            one = getattr(self, routine)
            return lambda handle, n, x, incx, y, incy, *numbers: one(dtype, n, x, y, *numbers)
        if routine == "scal":
            real = DTYPES[dtype].real
            return lambda handle, n, alpha, x, incx: self.scal(dtype, real, n, alpha, x)
        if routine == "axpy":
            return lambda handle, n, alpha, x, incx, y, incy: self.axpy(
                dtype, dtype, n, alpha, x, y
            )
        if routine == "gemv":
            return lambda handle, *arguments: self.gemv(dtype, *arguments)
        return lambda handle, *arguments: self.gemm(dtype, dtype, *arguments)

    def _cublasDotEx(self, handle, n, x, xt, incx, y, yt, incy, out, ot, et):
        assert xt == yt == ot
        assert NAMES[et] == "float32"
        return self.dot(NAMES[xt], n, x, y, out, False)

    def _cublasNrm2Ex(self, handle, n, x, xt, incx, out, ot, et):
        assert xt == ot
        assert NAMES[et] == "float32"
        return self.nrm2(NAMES[xt], n, x, out)

    def _cublasScalEx(self, handle, n, alpha, at, x, xt, incx, et):
        assert (NAMES[at], NAMES[et]) == ("float32", "float32")
        return self.scal(NAMES[xt], "float32", n, alpha, x)

    def _cublasAxpyEx(self, handle, n, alpha, at, x, xt, incx, y, yt, incy, et):
        assert (xt, NAMES[at], NAMES[et]) == (yt, "float32", "float32")
        return self.axpy(NAMES[xt], "float32", n, alpha, x, y)

    def _cublasGemmEx(
        self,
        handle,
        ta,
        tb,
        m,
        n,
        k,
        alpha,
        a,
        at,
        lda,
        b,
        bt,
        ldb,
        beta,
        c,
        ct,
        ldc,
        compute,
        algo,
    ):
        assert at == bt == ct
        assert (compute, algo) == (68, -1)  # CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT
        sizes = (ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
        return self.gemm(NAMES[at], "float32", *sizes)

    def dot(self, dtype, n, x, y, out, conj):
        x, y = vector(dtype, n, x), vector(dtype, n, y)
        wide = np.complex128 if np.iscomplexobj(x) else np.float64
        product = np.sum((x.conj() if conj else x).astype(wide) * y.astype(wide))
        vector(dtype, 1, out)[0] = product
        return 0

    def nrm2(self, dtype, n, x, out):
        x = vector(dtype, n, x).astype(wider(dtype))
        vector(DTYPES[dtype].real, 1, out)[0] = np.sqrt(np.sum(np.abs(x) ** 2))
        return 0

    def asum(self, dtype, n, x, out):
        x = vector(dtype, n, x).astype(wider(dtype))
        vector(DTYPES[dtype].real, 1, out)[0] = np.sum(np.abs(x.real) + np.abs(x.imag))
        return 0

    def iamax(self, dtype, n, x, out, pick=np.argmax):
        x = vector(dtype, n, x)
        ctypes.c_int.from_address(out.value).value = pick(np.abs(x.real) + np.abs(x.imag)) + 1
        return 0

    def iamin(self, dtype, n, x, out):
        return self.iamax(dtype, n, x, out, np.argmin)

    def copy(self, dtype, n, x, y):
        vector(dtype, n, y)[:] = vector(dtype, n, x)
        return 0

    def swap(self, dtype, n, x, y):
        x, y = vector(dtype, n, x), vector(dtype, n, y)
        x[:], y[:] = y.copy(), x.copy()
        return 0

    def rot(self, dtype, n, x, y, c, s):
        c, s = (pointed(DTYPES[dtype].real, number) for number in (c, s))
        return self._transform(dtype, n, x, y, c, -s, s, c)

    def rotm(self, dtype, n, x, y, param):
        flag, *h = np.frombuffer(param._obj, dtype)
        assert flag == -1
        return self._transform(dtype, n, x, y, *h)

    def _transform(self, dtype, n, x, y, h11, h21, h12, h22):
        x, y = vector(dtype, n, x), vector(dtype, n, y)
        p, q = (z.astype(wider(dtype)) for z in (x, y))
        x[:], y[:] = h11 * p + h12 * q, h21 * p + h22 * q
        return 0

    def scal(self, dtype, scalar, n, alpha, x):
        x = vector(dtype, n, x)
        x[:] = (pointed(scalar, alpha) * x.astype(wider(dtype))).astype(x.dtype)
        return 0

    def axpy(self, dtype, scalar, n, alpha, x, y):
        y = vector(dtype, n, y)
        y[:] = (pointed(scalar, alpha) * vector(dtype, n, x).astype(wider(dtype)) + y).astype(
            y.dtype
        )
        return 0

    def gemv(self, dtype, trans, m, n, alpha, a, lda, x, incx, beta, y, incy):
        assert (pointed(dtype, alpha), pointed(dtype, beta), incx, incy) == (1, 0, 1, 1)
        a = op(matrix(dtype, (m, n), a, lda), trans).astype(wider(dtype))
        rows, columns = a.shape
        vector(dtype, rows, y)[:] = a @ vector(dtype, columns, x)
        return 0

    def gemm(self, dtype, scalar, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc):
        assert pointed(scalar, alpha) == 1
        assert pointed(scalar, beta) == 0
        a = op(matrix(dtype, (m, k) if ta == 0 else (k, m), a, lda), ta)
        b = op(matrix(dtype, (k, n) if tb == 0 else (n, k), b, ldb), tb)
        matrix(dtype, (m, n), c, ldc)[:] = a.astype(wider(dtype)) @ b.astype(wider(dtype))
        return 0


#: Names with the letter of the result or of the numbers beside that of the vectors.
MIXED = {
    "cublasScnrm2_v2": ("C", "nrm2"),
    "cublasDznrm2_v2": ("Z", "nrm2"),
    "cublasScasum_v2": ("C", "asum"),
    "cublasDzasum_v2": ("Z", "asum"),
    "cublasCsscal_v2": ("C", "scal"),
    "cublasZdscal_v2": ("Z", "scal"),
    "cublasCsrot_v2": ("C", "rot"),
    "cublasZdrot_v2": ("Z", "rot"),
    **{f"cublasI{x.lower()}amax_v2": (x, "iamax") for x in TYPES},
    **{f"cublasI{x.lower()}amin_v2": (x, "iamin") for x in TYPES},
}


def wider(dtype):
    return np.complex128 if DTYPES[dtype].is_complex else np.float64


def op(x, code):
    return (x, x.T, x.conj().T)[code]


def vector(dtype, n, pointer):
    kind = numpy_dtype(DTYPES[dtype])
    memory = (ctypes.c_char * (n * kind.itemsize)).from_address(pointer.value)
    return np.frombuffer(memory, kind)


def matrix(dtype, shape, pointer, leading):
    rows, columns = shape
    return vector(dtype, leading * columns, pointer).reshape(columns, leading).T[:rows]


def pointed(dtype, reference):
    """The scalar behind a ctypes byref."""
    return np.frombuffer(reference._obj, numpy_dtype(DTYPES[dtype]))[0]


class HostDevice:
    """Device memory on the host."""

    def __init__(self):
        self.memory = []

    def allocate(self, size):
        self.memory.append(ctypes.create_string_buffer(min(size, 64)))
        return ctypes.addressof(self.memory[-1])

    def read(self, pointer, size, stream):
        return ctypes.string_at(pointer, size)


@pytest.fixture
def cublas(monkeypatch):
    library = HostCublas()
    monkeypatch.setattr(rival_cublas, "load_cublas", lambda: library)
    monkeypatch.setattr(rival_cublas, "Device", HostDevice)
    return rivals.Cublas(HostPlace())


@each_case
def test_cublas_gets_the_arguments_it_needs(cublas, case):
    problem = Problem(case, HostPlace())
    bound = cublas.bind(case, problem.operands)
    halves = case.dtype in HALVES and case.routine not in TAKE_HALVES
    if halves or case.routine in ("dsdot", "sdsdot"):
        assert bound is None
    else:
        assert problem.accuracy(bound).good


def test_each_handle_gets_its_stream_before_its_workspace(cublas):
    case = Case("dot", (9,), "float32")
    cublas.bind(case, Problem(case, HostPlace()).operands)
    log = cublas._library.log
    assert log.count("cublasCreate_v2") == 2  # one for each pointer mode
    setup = ["cublasCreate_v2", "cublasSetStream_v2", "cublasSetWorkspace_v2"]
    setup += ["cublasSetPointerMode_v2", "cublasSetMathMode"]
    assert log[: len(setup)] == setup
    assert log[-len(setup) :] == setup


def test_sizes_beyond_the_32_bit_interface_have_no_rival(cublas):
    assert cublas.bind(Case("dot", (2**31,), "float32"), {}) is None


def test_a_failing_call_is_an_error(cublas):
    with pytest.raises(RuntimeError, match="cuBLAS status 7"):
        cublas._check(7)
