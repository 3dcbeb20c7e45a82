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

from tileblas.kernels import elementwise, gemm, matvec, reduce, rotations

DTYPES = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")
#: Real ones by their bits, in float64, and pairs: where the type makes no other difference.
SOME = ("bfloat16", "float64", "complex64")
NUMPY = {name: np.dtype(getattr(ml_dtypes, name, name)) for name in DTYPES}
COMPUTE = {name: "float64" if name in ("float64", "complex128") else "float32" for name in DTYPES}
REAL = {"complex64": "float32", "complex128": "float64"}
UNIT = {"float16": 2**-11, "bfloat16": 2**-8, "float32": 2**-24, "float64": 2**-53}
UNIT |= {"complex64": UNIT["float32"], "complex128": UNIT["float64"]}
POINTER_TYPES = {"float16": tl.float16, "bfloat16": tl.uint16}
POINTER_TYPES |= {"int32": tl.int32, "int64": tl.int64}
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


def term(value):
    """(KIND, value, imaginary part) of a factor, of which None and "one" are constants."""
    if value is None or isinstance(value, str):
        return value or "zero", 0, 0
    return scalar(value)


def vectors(*arrays):
    """Their pointers, increments, and strides of two batch axes."""
    incs = [unit(strides(x)[-1]) for x in arrays]
    return list(map(Pointer, arrays)), incs, [step for x in arrays for step in batch_strides(x, 1)]


@quiet()
def combine(x, y, alpha=None, beta=None, *, idle="", conj_x=False, negate=False,
            conj_scalars=False, policy="", block=256):  # fmt: skip
    """combine_kernel along the last axis, in place in y: y := alpha x + beta y.

    None is the factor of a term that is not there; without alpha there is no x either.
    """
    outer, inner = two(y.shape[:-1], 1)
    blocks = max(1, -(-y.shape[-1] // block))
    (alpha_kind, *alpha), (beta_kind, *beta) = term(alpha), term(beta)
    given = [y] if x is None else [x, y]
    pointers, incs, steps = vectors(*given)
    absent = [0] * (x is None)
    elementwise.combine_kernel[(outer * inner * blocks,)](
        *absent, *pointers, *alpha, *beta, y.shape[-1], *absent, *incs, inner,
        *absent, *absent, *steps, blocks,
        COMPLEX=y.dtype.kind == "c", CONJ_X=conj_x, NEGATE=negate, CONJ_SCALARS=conj_scalars,
        ALPHA_KIND=alpha_kind, BETA_KIND=beta_kind, IDLE=idle, POLICY=policy,
        BATCHED=outer * inner > 1, BLOCK=block,
    )  # fmt: skip


@quiet()
def transform(op, x, y, numbers=(), *, conj_x=False, negate=False, conj_scalars=False, block=256):
    """transform_kernel along the last axis, in place: numbers are (c, s), or param of rotm."""
    outer, inner = two(y.shape[:-1], 1)
    blocks = max(1, -(-y.shape[-1] // block))
    names = {"swap": (), "rot": ("c", "s"), "rotm": ("flag", "h11", "h21", "h12", "h22")}[op]
    given = dict(zip(names, map(scalar, numbers), strict=True))
    kinds, values = {}, []
    for name in ("c", "s", "flag", "h11", "h21", "h12", "h22"):
        kind, re, im = given.get(name, ("zero", 0, 0))
        kinds[f"{name.upper()}_KIND"] = kind
        values += (re, im) if name == "s" else (re,)
    pointers, incs, steps = vectors(x, y)
    elementwise.transform_kernel[(outer * inner * blocks,)](
        *pointers, *values, y.shape[-1], *incs, inner, *steps, blocks,
        OP=op, COMPLEX=y.dtype.kind == "c", CONJ_X=conj_x, NEGATE=negate,
        CONJ_SCALARS=conj_scalars, **kinds, POLICY="", BATCHED=outer * inner > 1, BLOCK=block,
    )  # fmt: skip


@quiet()
def reduce_to(op, x, y=None, *, out=None, conj_x=False, conj_y=False, negate=False, alpha=None,
              splits=1, block=256):  # fmt: skip
    """reduce_kernel along the last axis, for up to two batch axes. Counters must end at zero.

    `out` is the type of the result, where it is not the usual one: of float32 operands that asks
    for sums in float64.
    """
    outer, inner = two(x.shape[:-1], 1)
    picks, name = op in ("iamax", "iamin"), x.dtype.name
    usual = "int64" if picks else name if op == "dot" else REAL.get(name, name)
    result = np.full(x.shape[:-1], -7 if picks else np.nan, NUMPY.get(out or usual, np.int64))
    parts = np.full(outer * inner * splits * 3, *((-1, np.int64) if picks else (np.nan,)))
    arrived = np.zeros(outer * inner, np.int32)
    pointers, incs, steps = vectors(x) if y is None else vectors(x, y)
    absent = [0] * (y is None)
    kind, number, _ = term(alpha)
    reduce.reduce_kernel[(outer * inner * splits,)](
        *pointers, *absent, *map(Pointer, (result, parts, arrived)), number,
        x.shape[-1], *incs, *absent, inner, *steps, *absent, *absent, *batch_strides(result, 0),
        splits, OP=op, COMPLEX=x.dtype.kind == "c", CONJ_X=conj_x, CONJ_Y=conj_y, NEGATE=negate,
        ALPHA_KIND=kind, WIDE=out is not None or alpha is not None, POLICY="",
        BATCHED=outer * inner > 1, SPLIT=splits > 1, BLOCK=block, MAX_SPLITS=16,
    )  # fmt: skip
    assert not arrived.any()
    return result


@quiet()
def axpydot(w, v, u, z, alpha, *, conj=(False, False, False), splits=1, block=256):
    """axpydot_kernel along the last axis: z in place, the sums come back."""
    outer, inner = two(z.shape[:-1], 1)
    out = np.full(z.shape[:-1], np.nan, z.dtype)
    parts = np.full(outer * inner * splits * 2, np.nan)
    arrived = np.zeros(outer * inner, np.int32)
    kind, re, im = scalar(alpha)
    pointers, incs, steps = vectors(w, v, u, z)
    reduce.axpydot_kernel[(outer * inner * splits,)](
        *pointers, *map(Pointer, (out, parts, arrived)), re, im, z.shape[-1], *incs, inner,
        *steps, *batch_strides(out, 0), splits,
        COMPLEX=z.dtype.kind == "c", CONJ_W=conj[0], CONJ_V=conj[1], CONJ_U=conj[2],
        ALPHA_KIND=kind, POLICY="", BATCHED=outer * inner > 1, SPLIT=splits > 1,
        BLOCK=block, MAX_SPLITS=16,
    )  # fmt: skip
    assert not arrived.any()
    return out


@quiet()
def rotg(a, b, c, s, r, z=None, *, block=64):
    """rotg_kernel, a lane for each pair along the last axis; c, s, r and z in place."""
    outer, inner = two(a.shape[:-1], 1)
    blocks = max(1, -(-a.shape[-1] // block))
    given = [a, b, c, s] + ([] if z is None else [z]) + [r]
    pointers, incs, steps = vectors(*given)
    if z is None:
        pointers[4:4], incs[4:4], steps[8:8] = [0], [0], [0, 0]
    rotations.rotg_kernel[(outer * inner * blocks,)](
        *pointers, a.shape[-1], *incs, inner, *steps, blocks,
        COMPLEX=a.dtype.kind == "c", BATCHED=outer * inner > 1, BLOCK=block,
    )  # fmt: skip


@quiet()
def rotmg(d1, d2, x1, y1, param, *, block=64):
    """rotmg_kernel, a lane for each rotation along the last axis; param has one axis more."""
    outer, inner = two(d1.shape[:-1], 1)
    blocks = max(1, -(-d1.shape[-1] // block))
    pointers, incs, steps = vectors(d1, d2, x1, y1)
    rotations.rotmg_kernel[(outer * inner * blocks,)](
        *pointers, Pointer(param), d1.shape[-1], *incs, strides(param)[-2], inner,
        *steps, *batch_strides(param, 2), blocks, BATCHED=outer * inner > 1, BLOCK=block,
    )  # fmt: skip


@quiet()
def gemm_in_place(
    a, b, c, alpha=1.0, beta=None, *, conj_a=False, conj_b=False, negate=False, conj_scalars=False,
    math="ieee", blocks=(32, 32, 16), a_kind="", c_kind="", lower=False, fresh=False,
):  # fmt: skip
    """gemm_kernel, in place in c; beta = None is the variant that never reads c.

    `lower` is the triangle of A that is stored, or that of C that is written.
    """
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
        A_KIND=a_kind, A_LOWER=lower, C_KIND=c_kind, C_LOWER=lower, FRESH=fresh,
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
