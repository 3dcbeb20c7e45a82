"""A stand-in for cuBLAS: functions with its names and arguments, on host memory."""

import ctypes

import numpy as np

from tileblas.check import stored
from tileblas.core.dtypes import DTYPES, numpy_dtype
from tileblas.lab import rival_cublas
from tileblas.routines.registry import ROUTINES

TYPES = {"S": "float32", "D": "float64", "C": "complex64", "Z": "complex128"}
NAMES = {code: name for name, code in rival_cublas._CUDA_TYPE.items()}

#: Level 2 but for gemv, as documented: the types that there are, and what follows the handle.
MATRICES = {
    "gbmv": ("SDCZ", "trans m n kl ku alpha a lda x incx beta y incy"),
    "symv": ("SDCZ", "uplo n alpha a lda x incx beta y incy"),
    "hemv": ("CZ", "uplo n alpha a lda x incx beta y incy"),
    "sbmv": ("SD", "uplo n k alpha a lda x incx beta y incy"),
    "hbmv": ("CZ", "uplo n k alpha a lda x incx beta y incy"),
    "spmv": ("SD", "uplo n alpha ap x incx beta y incy"),
    "hpmv": ("CZ", "uplo n alpha ap x incx beta y incy"),
    **dict.fromkeys(("trmv", "trsv"), ("SDCZ", "uplo trans diag n a lda x incx")),
    **dict.fromkeys(("tbmv", "tbsv"), ("SDCZ", "uplo trans diag n k a lda x incx")),
    **dict.fromkeys(("tpmv", "tpsv"), ("SDCZ", "uplo trans diag n ap x incx")),
    "ger": ("SD", "m n alpha x incx y incy a lda"),
    **dict.fromkeys(("geru", "gerc"), ("CZ", "m n alpha x incx y incy a lda")),
    "syr": ("SDCZ", "uplo n alpha x incx a lda"),
    "her": ("CZ", "uplo n alpha x incx a lda"),
    "spr": ("SD", "uplo n alpha x incx ap"),
    "hpr": ("CZ", "uplo n alpha x incx ap"),
    "syr2": ("SDCZ", "uplo n alpha x incx y incy a lda"),
    "her2": ("CZ", "uplo n alpha x incx y incy a lda"),
    "spr2": ("SD", "uplo n alpha x incx y incy ap"),
    "hpr2": ("CZ", "uplo n alpha x incx y incy ap"),
}
#: Level 3 but for gemm in the same way.
PRODUCTS = {
    "symm": ("SDCZ", "side uplo m n alpha a lda b ldb beta c ldc"),
    "hemm": ("CZ", "side uplo m n alpha a lda b ldb beta c ldc"),
    "syrk": ("SDCZ", "uplo trans n k alpha a lda beta c ldc"),
    "herk": ("CZ", "uplo trans n k alpha a lda beta c ldc"),
    **dict.fromkeys(("syr2k", "syrkx"), ("SDCZ", "uplo trans n k alpha a lda b ldb beta c ldc")),
    **dict.fromkeys(("her2k", "herkx"), ("CZ", "uplo trans n k alpha a lda b ldb beta c ldc")),
}
#: Enumerations of cublas_api.h.
CODES = {"uplo": "LU", "trans": "NTC", "diag": "NU", "side": "LR"}


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
        if routine in ROUTINES and ROUTINES[routine].level == 2 and routine != "gemv":
            types, arguments = MATRICES.get(routine, ("", ""))
            if letter not in types:
                raise AttributeError(name)
            return self._matrix(TYPES[letter], routine, arguments.split())
        if routine in ROUTINES and ROUTINES[routine].level == 3 and routine != "gemm":
            types, arguments = PRODUCTS.get(routine, ("", ""))
            if letter not in types or name.endswith("_v2") == routine.endswith("rkx"):
                raise AttributeError(name)
            return self._matrix(TYPES[letter], routine, arguments.split())
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

    def _matrix(self, dtype, routine, names):
        def function(handle, *arguments):
            given = dict(zip(names, arguments, strict=True))
            call = Level2 if ROUTINES[routine].level == 2 else Level3
            return call(dtype, routine, given).run()

        return function

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
        alpha, beta = pointed(scalar, alpha), pointed(scalar, beta)
        assert (alpha, beta) in ((1, 0), (0.5, 1))
        a = op(matrix(dtype, (m, k) if ta == 0 else (k, m), a, lda), ta)
        b = op(matrix(dtype, (k, n) if tb == 0 else (n, k), b, ldb), tb)
        c, kind = matrix(dtype, (m, n), c, ldc), wider(dtype)
        c[:] = alpha * (a.astype(kind) @ b.astype(kind)) + beta * c.astype(kind)
        return 0


class Level2:
    """One call on a matrix and vectors, its arguments by name."""

    def __init__(self, dtype, routine, given):
        self.dtype, self.spec, self.given = dtype, ROUTINES[routine], given
        self.options = {
            name: letters[given[name]] for name, letters in CODES.items() if name in given
        }
        self.options |= {name: given[name] for name in ("kl", "m") if name in given}
        n = given["n"]
        self.size = given.get("m", n), n
        self.array = self._array(n)
        assert {given.get("incx", 1), given.get("incy", 1)} == {1}

    def _array(self, n):
        """The array of the matrix, whose rows lie without gaps in all that is measured."""
        given = self.given
        if "ap" in given:
            return vector(self.dtype, n * (n + 1) // 2, given["ap"])
        rows = given["k"] + 1 if "k" in given else given.get("m", n)
        if "kl" in given:
            rows = given["kl"] + given["ku"] + 1
        assert given["lda"] == rows
        return matrix(self.dtype, (rows, n), given["a"], rows)

    def _scalar(self, name):
        real = name in self.spec.real_scalars
        return pointed(DTYPES[self.dtype].real if real else self.dtype, self.given[name])

    def _vector(self, name, n):
        return vector(self.dtype, n, self.given[name])

    def run(self):
        if self.spec.updates:
            return self._update()
        a = stored.dense(self.spec, self.array, self.size, self.options).values
        a = a.astype(wider(self.dtype))
        x = self._vector("x", a.shape[1])
        if "y" in self.given:
            assert (self._scalar("alpha"), self._scalar("beta")) == (1, 0)
            self._vector("y", a.shape[0])[:] = a @ x
        elif self.spec.name.endswith("sv"):
            x[:] = np.linalg.solve(a, x.astype(a.dtype))
        else:
            x[:] = a @ x
        return 0

    def _update(self):
        rows, columns = self.size
        x, kind = self._vector("x", rows), self.spec.structure
        y = self._vector("y", columns) if "y" in self.given else x
        conjugate = kind == "hermitian" or bool(self.spec.conj)
        products = [np.outer(x, y.conj() if conjugate else y).astype(wider(self.dtype))]
        if kind and "y" in self.given:
            products.append(np.outer(y, x.conj() if conjugate else x))
        added = self._scalar("alpha") * sum(products)
        if not kind:
            self.array[:] += added
            return 0
        row, column, there = stored.cells(self.spec, self.array.shape, self.size, self.options)
        self.array[there] += added[row[there], column[there]]
        if kind == "hermitian":
            diagonal = there & (row == column)
            self.array[diagonal] = self.array[diagonal].real
        return 0


class Level3:
    """One product of matrices, its arguments by name."""

    def __init__(self, dtype, routine, given):
        self.dtype, self.routine, self.given = dtype, routine, given
        assert [pointed(self._type(x), given[x]) for x in ("alpha", "beta")] == [1, 0]

    def _type(self, scalar):
        real = scalar in ROUTINES[self.routine].real_scalars
        return DTYPES[self.dtype].real if real else self.dtype

    def _array(self, name, rows, columns):
        assert self.given[f"ld{name}"] == rows
        found = matrix(self.dtype, (rows, columns), self.given[name], rows)
        return found if name == "c" else found.astype(wider(self.dtype))

    def run(self):
        return self._sided() if "side" in self.given else self._triangle()

    def _sided(self):
        m, n, left = self.given["m"], self.given["n"], self.given["side"] == 0
        order = m if left else n
        a, b, c = self._array("a", order, order), self._array("b", m, n), self._array("c", m, n)
        triangle = np.tril(a, -1) if self.given["uplo"] == 0 else np.triu(a, 1)
        hermitian = self.routine == "hemm"
        diagonal = np.diag(np.diagonal(a).real if hermitian else np.diagonal(a))
        a = triangle + diagonal + (triangle.conj().T if hermitian else triangle.T)
        c[:] = a @ b if left else b @ a
        return 0

    def _triangle(self):
        n, k, code = self.given["n"], self.given["k"], self.given["trans"]
        shape = (n, k) if code == 0 else (k, n)
        hermitian = self.routine.startswith("he")
        assert code in ((0, 2) if hermitian else (0, 1) if "complex" in self.dtype else (0, 1, 2))
        a = op(self._array("a", *shape), code)
        b = op(self._array("b", *shape), code) if "b" in self.given else a
        product = a @ (b.conj().T if hermitian else b.T)
        if "2k" in self.routine:
            product = product + b @ (a.conj().T if hermitian else a.T)
        if hermitian:
            product[np.arange(n), np.arange(n)] = np.diagonal(product).real
        c, (i, j) = self._array("c", n, n), np.indices((n, n))
        there = i >= j if self.given["uplo"] == 0 else i <= j
        c[there] = product[there]
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
