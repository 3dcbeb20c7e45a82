"""Launch the kernels on NumPy arrays in Triton's interpreter, straight from views: no plan, no checks."""

import ml_dtypes
import numpy as np
import triton.language as tl

from tileblas.kernels import elementwise, gemm, reduce

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")
POINTER_TYPES = {
    "float16": tl.float16,
    "bfloat16": tl.uint16,
    "float32": tl.float32,
    "float64": tl.float64,
    "complex64": tl.float32,
    "complex128": tl.float64,
    "int32": tl.int32,
}
COMPUTE = {name: "float64" if name in ("float64", "complex128") else "float32" for name in DTYPES}


class Pointer:
    """A NumPy view as what the interpreter takes for a device tensor: the address of its first element."""

    def __init__(self, array: np.ndarray):
        self.array = array
        self.dtype = POINTER_TYPES[array.dtype.name]

    def data_ptr(self):
        return self.array.ctypes.data

    def untyped_storage(self):
        return self

    def cpu(self):
        return self

    def new_empty(self, *shape, device=None):
        return Pointer(self.array)

    def set_(self, *storage_offset_size_stride):
        return self

    def storage_offset(self):
        return 0

    def size(self):
        return self.array.shape

    def stride(self):
        return tuple(s // self.array.itemsize for s in self.array.strides)

    def copy_(self, other):
        return self


def strides(array: np.ndarray) -> tuple[int, ...]:
    """Strides in elements."""
    return tuple(s // array.itemsize for s in array.strides)


def batch_strides(array: np.ndarray, rank: int) -> tuple[int, int]:
    """Element strides of the two batch axes before the last `rank` axes; 0 where there are none."""
    leading = strides(array)[: array.ndim - rank]
    return (0,) * (2 - len(leading)) + leading


def batch_shape(array: np.ndarray, rank: int) -> tuple[int, int]:
    leading = array.shape[: array.ndim - rank]
    return (1,) * (2 - len(leading)) + leading


def scalar(value, dtype: str) -> tuple[str, object, object]:
    """(KIND, value, imaginary value) of alpha or beta: a Python number, or a 0-d array for a device scalar."""
    if isinstance(value, np.ndarray):
        kind = "complex_pointer" if value.dtype.kind == "c" else "real_pointer"
        return kind, Pointer(value), 0
    if isinstance(value, complex):
        return "complex", value.real, value.imag
    return "real", float(value), 0


def is_complex(array: np.ndarray) -> bool:
    return array.dtype.kind == "c"


def dot(x, y, *, conj_x=False, conj_y=False, negate=False, splits=1, block=256, max_splits=16):
    """Launch dot_kernel along the last axis and return the result; also proves that counters are reset."""
    outer, inner = batch_shape(x, 1)
    out = np.full(x.shape[:-1], np.nan, x.dtype)
    compute = COMPUTE[x.dtype.name]
    partial = np.full(outer * inner * splits * 2, np.nan, compute)
    arrived = np.zeros(outer * inner, np.int32)
    reduce.dot_kernel[(outer * inner * splits,)](
        Pointer(x), Pointer(y), Pointer(out), Pointer(partial), Pointer(arrived),
        x.shape[-1], strides(x)[-1], strides(y)[-1], inner,
        *batch_strides(x, 1), *batch_strides(y, 1), *batch_strides(out, 0), splits,
        COMPLEX=is_complex(x), CONJ_X=conj_x, CONJ_Y=conj_y, NEGATE=negate, BLOCK=block, MAX_SPLITS=max_splits,
    )  # fmt: skip
    assert not arrived.any()
    return out


def axpy(x, y, alpha=1.0, *, conj_x=False, negate=False, conj_alpha=False, block=256):
    """Launch axpy_kernel along the last axis, in place in y."""
    outer, inner = batch_shape(y, 1)
    blocks = max(1, -(-y.shape[-1] // block))
    kind, re, im = scalar(alpha, y.dtype.name)
    elementwise.axpy_kernel[(outer * inner * blocks,)](
        Pointer(x), Pointer(y), re, im, y.shape[-1], strides(x)[-1], strides(y)[-1], inner,
        *batch_strides(x, 1), *batch_strides(y, 1), blocks,
        COMPLEX=is_complex(y), CONJ_X=conj_x, NEGATE=negate, CONJ_ALPHA=conj_alpha, ALPHA_KIND=kind, BLOCK=block,
    )  # fmt: skip


def gemm_(
    a, b, c, alpha=1.0, beta="zero", *, conj_a=False, conj_b=False, negate=False, conj_scalars=False, block=(32, 32, 16)
):
    """Launch gemm_kernel, in place in c; beta = "zero" is the variant that never reads c."""
    outer, inner = batch_shape(c, 2)
    m, n = c.shape[-2:]
    block_m, block_n, block_k = block
    alpha_kind, alpha_re, alpha_im = scalar(alpha, c.dtype.name)
    beta_kind, beta_re, beta_im = ("zero", 0, 0) if isinstance(beta, str) else scalar(beta, c.dtype.name)
    tiles = -(-m // block_m) * -(-n // block_n)
    gemm.gemm_kernel[(outer * inner * tiles,)](
        Pointer(a), Pointer(b), Pointer(c), alpha_re, alpha_im, beta_re, beta_im, m, n, a.shape[-1],
        *strides(a)[-2:], *strides(b)[-2:], *strides(c)[-2:], inner,
        *batch_strides(a, 2), *batch_strides(b, 2), *batch_strides(c, 2),
        COMPLEX=is_complex(c), CONJ_A=conj_a, CONJ_B=conj_b, NEGATE=negate, CONJ_SCALARS=conj_scalars,
        ALPHA_KIND=alpha_kind, BETA_KIND=beta_kind, MATH="ieee",
        BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=block_k, GROUP_M=2,
    )  # fmt: skip
