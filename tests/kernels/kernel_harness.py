"""Launches the kernels on NumPy views in Triton's interpreter, with poisoned buffers around them.

Nothing of the package but the kernels is used: no plan, no checks, no canonical form.
"""

import contextlib
import ctypes
import mmap
import warnings

import ml_dtypes
import numpy as np
import triton.language as tl

from tileblas.kernels import elementwise, gemm, matvec, reduce

DTYPES = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")
NUMPY = {name: np.dtype(getattr(ml_dtypes, name, name)) for name in DTYPES}
COMPUTE = {name: "float64" if name in ("float64", "complex128") else "float32" for name in DTYPES}
REAL = {"complex64": "float32", "complex128": "float64"}
UNIT = {"float16": 2**-11, "bfloat16": 2**-8, "float32": 2**-24, "float64": 2**-53}
UNIT |= {"complex64": UNIT["float32"], "complex128": UNIT["float64"]}
POINTER_TYPES = {"float16": tl.float16, "bfloat16": tl.uint16, "int32": tl.int32}
POINTER_TYPES |= {"float32": tl.float32, "complex64": tl.float32}
POINTER_TYPES |= {"float64": tl.float64, "complex128": tl.float64}


class Pointer:
    """A NumPy view as the interpreter wants a device tensor: the address of its first element."""

    def __init__(self, array):
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
        return strides(self.array)

    def copy_(self, other):
        return self


def strides(array):
    """Strides in elements."""
    return tuple(s // array.itemsize for s in array.strides)


def unit(stride):
    """A stride as kernels get it: 1 is a compile-time constant."""
    return tl.constexpr(1) if stride == 1 else stride


def two(leading, fill):
    """The entries for the two batch axes, where there may be none or one."""
    return (fill,) * (2 - len(leading)) + tuple(leading)


def batch_strides(array, rank):
    return two(strides(array)[: array.ndim - rank], 0)


def scalar(value):
    """(KIND, value, imaginary part) of alpha or beta: a number, or a 0-d array behind a pointer."""
    if isinstance(value, np.ndarray):
        return f"{'complex' if value.dtype.kind == 'c' else 'real'}_pointer", Pointer(value), 0
    if isinstance(value, complex):
        return "complex", value.real, value.imag
    return "real", float(value), 0


@contextlib.contextmanager
def quiet():
    """Without NumPy's warnings: of Inf and NaN, and of one-element arrays as loop bounds (3.6)."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Conversion of an array with ndim > 0")
        yield


@quiet()
def dot(x, y, *, conj_x=False, conj_y=False, negate=False, splits=1, block=256):
    """dot_kernel along the last axis, for up to two batch axes. Counters must end at zero."""
    outer, inner = two(x.shape[:-1], 1)
    out = np.full(x.shape[:-1], np.nan, x.dtype)
    partial = np.full(outer * inner * splits * 2, np.nan, COMPUTE[x.dtype.name])
    arrived = np.zeros(outer * inner, np.int32)
    reduce.dot_kernel[(outer * inner * splits,)](
        Pointer(x), Pointer(y), Pointer(out), Pointer(partial), Pointer(arrived),
        x.shape[-1], *map(unit, (strides(x)[-1], strides(y)[-1])), inner,
        *batch_strides(x, 1), *batch_strides(y, 1), *batch_strides(out, 0), splits,
        COMPLEX=x.dtype.kind == "c", CONJ_X=conj_x, CONJ_Y=conj_y, NEGATE=negate,
        BATCHED=outer * inner > 1, SPLIT=splits > 1, BLOCK=block, MAX_SPLITS=16,
    )  # fmt: skip
    assert not arrived.any()
    return out


@quiet()
def nrm2(x, *, splits=1, block=256):
    """nrm2_kernel along the last axis, for up to two batch axes. Counters must end at zero."""
    outer, inner = two(x.shape[:-1], 1)
    out = np.full(x.shape[:-1], np.nan, NUMPY[REAL.get(x.dtype.name, x.dtype.name)])
    partial = np.full(outer * inner * splits * 3, np.nan)
    arrived = np.zeros(outer * inner, np.int32)
    reduce.nrm2_kernel[(outer * inner * splits,)](
        Pointer(x), Pointer(out), Pointer(partial), Pointer(arrived),
        x.shape[-1], unit(strides(x)[-1]), inner,
        *batch_strides(x, 1), *batch_strides(out, 0), splits,
        COMPLEX=x.dtype.kind == "c", BATCHED=outer * inner > 1, SPLIT=splits > 1,
        BLOCK=block, MAX_SPLITS=16,
    )  # fmt: skip
    assert not arrived.any()
    return out


@quiet()
def scal(x, alpha, *, conj_alpha=False, block=256):
    """scal_kernel along the last axis, in place in x."""
    outer, inner = two(x.shape[:-1], 1)
    blocks = max(1, -(-x.shape[-1] // block))
    kind, re, im = scalar(alpha)
    elementwise.scal_kernel[(outer * inner * blocks,)](
        Pointer(x), re, im, x.shape[-1], unit(strides(x)[-1]), inner, *batch_strides(x, 1), blocks,
        COMPLEX=x.dtype.kind == "c", CONJ_ALPHA=conj_alpha, ALPHA_KIND=kind,
        BATCHED=outer * inner > 1, BLOCK=block,
    )  # fmt: skip


@quiet()
def axpy(x, y, alpha, *, conj_x=False, negate=False, conj_alpha=False, block=256):
    """axpy_kernel along the last axis, in place in y."""
    outer, inner = two(y.shape[:-1], 1)
    blocks = max(1, -(-y.shape[-1] // block))
    kind, re, im = scalar(alpha)
    elementwise.axpy_kernel[(outer * inner * blocks,)](
        Pointer(x), Pointer(y), re, im, y.shape[-1],
        *map(unit, (strides(x)[-1], strides(y)[-1])), inner,
        *batch_strides(x, 1), *batch_strides(y, 1), blocks,
        COMPLEX=y.dtype.kind == "c", CONJ_X=conj_x, NEGATE=negate, CONJ_ALPHA=conj_alpha,
        ALPHA_KIND=kind, BATCHED=outer * inner > 1, BLOCK=block,
    )  # fmt: skip


@quiet()
def gemm_in_place(
    a, b, c, alpha=1.0, beta=None, *, conj_a=False, conj_b=False, negate=False, conj_scalars=False,
    math="ieee", blocks=(32, 32, 16),
):  # fmt: skip
    """gemm_kernel, in place in c; beta = None is the variant that never reads c."""
    outer, inner = two(c.shape[:-2], 1)
    m, n = c.shape[-2:]
    block_m, block_n, block_k = blocks
    alpha_kind, *alpha = scalar(alpha)
    beta_kind, *beta = ("zero", 0, 0) if beta is None else scalar(beta)
    tiles = -(-m // block_m) * -(-n // block_n)
    gemm.gemm_kernel[(outer * inner * tiles,)](
        Pointer(a), Pointer(b), Pointer(c), *alpha, *beta, m, n, a.shape[-1],
        *map(unit, (*strides(a)[-2:], *strides(b)[-2:], *strides(c)[-2:])), inner,
        *batch_strides(a, 2), *batch_strides(b, 2), *batch_strides(c, 2),
        COMPLEX=c.dtype.kind == "c", CONJ_A=conj_a, CONJ_B=conj_b, NEGATE=negate,
        CONJ_SCALARS=conj_scalars, ALPHA_KIND=alpha_kind, BETA_KIND=beta_kind, MATH=math,
        BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=block_k, GROUP_M=2,
    )  # fmt: skip


@quiet()
def gemv_in_place(
    a, x, y, alpha=1.0, beta=None, *, conj_a=False, conj_x=False, negate=False, conj_scalars=False,
    splits=1, by_columns=False, blocks=(16, 32),
):  # fmt: skip
    """gemv_kernel, in place in y; beta = None is the variant that never reads y.

    Counters must end at zero.
    """
    outer, inner = two(y.shape[:-1], 1)
    m, n = a.shape[-2:]
    block_m, block_n = blocks
    row_blocks = -(-m // block_m)
    alpha_kind, *alpha = scalar(alpha)
    beta_kind, *beta = ("zero", 0, 0) if beta is None else scalar(beta)
    groups = outer * inner * row_blocks
    partial = np.full(groups * splits * block_m * 2, np.nan, COMPUTE[y.dtype.name])
    arrived = np.zeros(groups, np.int32)
    a_m, a_n = strides(a)[-2:]
    matvec.gemv_kernel[(groups * splits,)](
        Pointer(a), Pointer(x), Pointer(y), Pointer(partial), Pointer(arrived), *alpha, *beta, m, n,
        unit(a_m) if by_columns else a_m, a_n if by_columns else unit(a_n),
        *map(unit, (strides(x)[-1], strides(y)[-1])), inner,
        *batch_strides(a, 2), *batch_strides(x, 1), *batch_strides(y, 1), row_blocks, splits,
        COMPLEX=y.dtype.kind == "c", CONJ_A=conj_a, CONJ_X=conj_x, NEGATE=negate,
        CONJ_SCALARS=conj_scalars, ALPHA_KIND=alpha_kind, BETA_KIND=beta_kind,
        BATCHED=outer * inner > 1, SPLIT=splits > 1, BY_COLUMNS=by_columns,
        UNIT=(a_m if by_columns else a_n) == 1, POLICY="",
        BLOCK_M=block_m, BLOCK_N=block_n, STAGES=1, UNROLL=1,
    )  # fmt: skip
    assert not arrived.any()


def random(rng, dtype, *shape):
    values = rng.standard_normal(shape)
    if dtype.startswith("complex"):
        values = values + 1j * rng.standard_normal(shape)
    return values.astype(NUMPY[dtype])


def placed(values, steps, order="C"):
    """`values` as a view with the given steps into a buffer of NaNs, and that buffer.

    A step of 2 leaves gaps between elements, a negative one reverses the axis; the rows of the
    buffer are longer than the view, and there is a guard at both ends.
    """
    extents = [n * abs(step) + 3 for n, step in zip(values.shape, steps, strict=True)]
    buffer = np.full(extents, np.nan, values.dtype, order=order)
    view = buffer[
        tuple(slice(1, 1 + n * abs(s), abs(s)) for n, s in zip(values.shape, steps, strict=True))
    ]
    view = view[tuple(slice(None, None, -1 if s < 0 else 1) for s in steps)]
    view[...] = values
    return view, buffer


def fenced(values, after=True):
    """`values` in memory that ends, or begins, at a page that no access survives."""
    page = mmap.PAGESIZE
    size = -(-values.nbytes // page) * page
    memory = np.frombuffer(mmap.mmap(-1, size + page), np.uint8)
    fence = memory.ctypes.data + (size if after else 0)
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mprotect(ctypes.c_void_p(fence), ctypes.c_size_t(page), 0) == 0
    start = size - values.nbytes if after else page
    order = "C" if values.flags.c_contiguous else "F"
    view = memory[start : start + values.nbytes].view(values.dtype)
    view = view.reshape(values.shape, order=order)
    view[...] = values
    return view


def untouched(buffer, view, before):
    """Whether every byte of the buffer outside the view is as it was in `before`."""
    inside = np.zeros(buffer.shape, bool)
    start = view.ctypes.data - buffer.ctypes.data if view.size else 0
    bases = np.indices(view.shape).reshape(view.ndim, -1)
    offsets = start + np.array(view.strides) @ bases
    # Buffers here are C- or F-contiguous: byte offsets in memory order index a flat view.
    flat = inside.reshape(-1)
    flat[offsets // buffer.itemsize] = True
    order = "F" if buffer.flags.f_contiguous and not buffer.flags.c_contiguous else "C"
    now, then = (
        np.frombuffer(part.tobytes(order), np.uint8).reshape(-1, buffer.itemsize)
        for part in (buffer, before)
    )
    return np.array_equal(now[~flat], then[~flat])


def wide(values):
    """The values in extended precision."""
    values = np.asarray(values)
    if values.dtype.kind == "c":
        return values.astype(np.clongdouble)
    return values.astype(np.float64).astype(np.longdouble)


def magnitude(values):
    """|re| + |im|, the gauge of complex arithmetic."""
    values = wide(values)
    return abs(values.real) + abs(values.imag)


def assert_close(computed, expected, gauge, terms, dtype, u_out=None):
    """|error| <= (terms + 2) u gauge + u_out |expected| elementwise, with equal NaNs.

    u is the rounding unit of the compute type, u_out that of the result.
    """
    computed, expected = wide(computed), wide(expected)
    u_out = UNIT[dtype] if u_out is None else u_out
    bound = (terms + 2) * UNIT[COMPUTE[dtype]] * gauge + u_out * magnitude(expected)
    bound = (
        bound + np.finfo(COMPUTE[dtype] if dtype != "float16" else np.float16).smallest_subnormal
    )
    np.testing.assert_array_equal(np.isnan(computed), np.isnan(expected))
    error = magnitude(computed - expected)
    assert np.all((error <= bound) | np.isnan(expected)), float(np.nanmax(error / bound))


def factor(scalar, dtype, conj):
    """alpha or beta as the kernel has it: in the compute type, conjugated."""
    if scalar is None:
        return wide(0.0)
    if not isinstance(scalar, np.ndarray):
        real = np.dtype(COMPUTE[dtype])
        kind = np.result_type(real, np.complex64) if isinstance(scalar, complex) else real
        scalar = kind.type(scalar)
    return wide(scalar).conj() if conj else wide(scalar)


def scalar_forms(value, dtype):
    """The number as a host and as a device scalar."""
    return [value, np.asarray(value, NUMPY[dtype])]
