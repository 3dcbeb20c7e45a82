"""Helpers shared by all kernels: typed loads and stores, complex arithmetic, scalars, batches.

Memory holds operand types; arithmetic is in the compute type: float64 for float64 and complex128,
float32 for all others. Complex operands are interleaved (re, im) pairs behind a pointer to their
real type, and two planes in registers. Offsets count elements, real or complex, and are 64-bit
integers before they are multiplied by a stride.
"""

import triton
import triton.language as tl

NO_POLICY = tl.constexpr("")  # a wrapped default: Triton does not wrap those of called functions

# In Triton's interpreter bfloat16 casts truncate and bfloat16 sums are nonsense. There bfloat16
# operands come behind pointers to uint16, and `load` and `store` convert by bits. On a GPU the
# pointers are to bfloat16.


@triton.constexpr_function
def compute_type(pointer_type):
    """The type of arithmetic for operands behind such a pointer."""
    return tl.float64 if pointer_type.element_ty == tl.float64 else tl.float32


@triton.constexpr_function
def is_unit(stride):
    """Whether a stride is the compile-time constant 1."""
    return isinstance(stride, int) and stride == 1


@triton.constexpr_function
def number_kind(kind):
    """How a scalar is loaded whose kind says more: a constant 1 is not loaded, nor used."""
    return "zero" if kind == "one" else kind


@triton.constexpr_function
def on_device(kind):
    """Whether a scalar of a kind is read behind a pointer."""
    return kind.endswith("_pointer")


@triton.jit
def position(index, size, OUTER: tl.constexpr, INNER: tl.constexpr):
    """(index // size, index % size), where OUTER and INNER say which of them can be other than 0.

    What need not be divided is not: divisions, and the code for sharing rows, took 0.4 to 0.5 us of
    the 5 to 7 us of gemv at 256 and 1024 on an H200.
    """
    zero = tl.full((), 0, tl.int32)
    if OUTER and INNER:
        return index // size, index % size
    elif OUTER:
        return index, zero
    elif INNER:
        return zero, index
    else:
        return zero, zero


@triton.jit
def has_last(last, split, splits, SPLIT: tl.constexpr):
    """Whether block `last` is one of split, split + splits, ..., where SPLIT; else it always is."""
    _, owner = position(last, splits, True, SPLIT)
    return owner == split


@triton.jit
def batch_base(pointer, index, inner, stride_0, stride_1, COMPLEX: tl.constexpr):
    """Where batch member (index // inner, index % inner) of an operand begins."""
    outer_index = (index // inner).to(tl.int64)
    inner_index = (index % inner).to(tl.int64)
    return advance(pointer, outer_index * stride_0 + inner_index * stride_1, COMPLEX)


@triton.jit
def advance(pointer, offset, COMPLEX: tl.constexpr):
    """The pointer `offset` elements further on."""
    if COMPLEX:
        offset = 2 * offset
    return pointer + offset


@triton.jit
def along(index, stride, curve, CURVED: tl.constexpr):
    """The offset of an index along an axis of a matrix, whose steps grow by `curve` where CURVED.

    They do along one axis of a packed triangle. Dense and banded matrices have a stride alone.
    """
    if CURVED:
        return index * stride + curve * (index * (index + 1) // 2)
    else:
        return index * stride


@triton.jit
def load(pointer, offset, mask=None, POLICY: tl.constexpr = NO_POLICY):
    """The elements at pointer + offset, 0 where masked off; bfloat16 by bits comes as float32.

    POLICY "evict_first" is for what is read once, so that L2 keeps other things.
    """
    value = load_raw(pointer + offset, mask, POLICY)
    if pointer.dtype.element_ty == tl.uint16:
        value = (value.to(tl.uint32) << 16).to(tl.float32, bitcast=True)
    return value


@triton.jit
def load_pair(pointer, offset, mask=None, POLICY: tl.constexpr = NO_POLICY):
    """Complex elements as (re, im), loaded with a trailing axis of 2 so that loads stay wide."""
    pairs = pointer + tl.expand_dims(2 * offset, -1) + tl.arange(0, 2)
    if mask is not None:
        mask = tl.expand_dims(mask, -1)
    return tl.split(load_raw(pairs, mask, POLICY))


@triton.jit
def load_raw(pointers, mask, POLICY: tl.constexpr = NO_POLICY):
    """tl.load, which refuses a fill value where there is no mask."""
    if mask is None:
        return tl.load(pointers, eviction_policy=POLICY)
    else:
        return tl.load(pointers, mask=mask, other=0, eviction_policy=POLICY)


@triton.jit
def store(pointer, offset, value, mask=None):
    """Round `value` once to the type behind `pointer` and store it."""
    if pointer.dtype.element_ty == tl.uint16:
        value = bfloat16_bits(value)
    tl.store(pointer + offset, value.to(pointer.dtype.element_ty), mask=mask)


@triton.jit
def rounded(value, pointer):
    """`value` as it is after `store` and `load`, in the compute type."""
    if pointer.dtype.element_ty == tl.uint16:
        return (bfloat16_bits(value).to(tl.uint32) << 16).to(tl.float32, bitcast=True)
    else:
        return value.to(pointer.dtype.element_ty).to(value.dtype)


@triton.jit
def store_pair(pointer, offset, re, im, mask=None):
    """Store (re, im) as complex elements."""
    pairs = pointer + tl.expand_dims(2 * offset, -1) + tl.arange(0, 2)
    if mask is not None:
        mask = tl.expand_dims(mask, -1)
    tl.store(pairs, tl.join(re, im).to(pointer.dtype.element_ty), mask=mask)


@triton.jit
def bfloat16_bits(value):
    """The bfloat16 bits of a float32, rounded to nearest even; a NaN stays a NaN."""
    bits = value.to(tl.uint32, bitcast=True)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    quiet_nan = (bits >> 16) | 0x40
    return tl.where(value != value, quiet_nan, rounded).to(tl.uint16)


@triton.jit
def load_scalar(value, value_im, COMPUTE: tl.constexpr, KIND: tl.constexpr):
    """alpha or beta as (re, im): passed by value, or read behind a device pointer."""
    # A value passed by the host is handed on, never assigned to a name: the interpreter rounds a
    # float to float32 at an assignment.
    if KIND == "zero":
        return to_scalar(0, COMPUTE), to_scalar(0, COMPUTE)
    elif KIND == "one":
        return to_scalar(1, COMPUTE), to_scalar(0, COMPUTE)
    elif KIND == "real":
        return to_scalar(value, COMPUTE), to_scalar(0, COMPUTE)
    elif KIND == "complex":
        return to_scalar(value, COMPUTE), to_scalar(value_im, COMPUTE)
    elif KIND == "real_pointer":
        return to_scalar(load(value, 0), COMPUTE), to_scalar(0, COMPUTE)
    else:
        tl.static_assert(KIND == "complex_pointer")
        return to_scalar(load(value, 0), COMPUTE), to_scalar(load(value, 1), COMPUTE)


@triton.jit
def to_scalar(value, COMPUTE: tl.constexpr):
    """One number in the compute type."""
    return tl.full((), value, COMPUTE)


@triton.jit
def orient(scalar, NEGATE: tl.constexpr, CONJ: tl.constexpr):
    """The scalar (re, im), conjugated and negated as the flags say."""
    re, im = scalar
    if NEGATE != CONJ:
        im = -im
    if NEGATE:
        re = -re
    return re, im


@triton.jit
def is_zero(scalar):
    """Whether the scalar (re, im) is 0; false for NaN."""
    return (scalar[0] == 0) & (scalar[1] == 0)


@triton.jit
def is_one(scalar):
    """Whether the scalar (re, im) is exactly 1."""
    return (scalar[0] == 1) & (scalar[1] == 0)


@triton.jit
def scale(scalar, value):
    """A real scalar (re, 0) times real values."""
    return scalar[0] * value


@triton.jit
def scale_pair(scalar, re, im, KIND: tl.constexpr):
    """A scalar times complex values as (re, im).

    A real-typed scalar scales the two parts separately, so that no 0 Inf arises.
    """
    if KIND == "complex" or KIND == "complex_pointer":
        return scalar[0] * re - scalar[1] * im, scalar[0] * im + scalar[1] * re
    else:
        return scalar[0] * re, scalar[0] * im


@triton.jit
def arrives_last(counter, expected):
    """Announce that this program's partial sums are stored; whether all others' are by now.

    The program that is told so may add them up, and has to set the counter to 0 again.
    """
    tl.debug_barrier()  # all threads have stored theirs before the arrival is announced
    return tl.atomic_add(counter, 1, sem="acq_rel") == expected - 1


@triton.jit
def update(
    pointer, offset, mask, old_mask, alpha, beta, re, im, k,
    COMPLEX: tl.constexpr, ALPHA_KIND: tl.constexpr, BETA_KIND: tl.constexpr,
):  # fmt: skip
    """output := alpha (re, im) + beta output, where (re, im) are sums of k products.

    The old value is read under old_mask, and not at all where beta is the constant 0.
    """
    if COMPLEX:
        re, im = scale_pair(alpha, re, im, ALPHA_KIND)
        old_re, old_im = 0.0, 0.0
        if BETA_KIND != "zero":
            old_re, old_im = load_pair(pointer, offset, old_mask)
            old_re, old_im = scale_pair(beta, old_re, old_im, BETA_KIND)
        re = add_product(old_re, re, k)
        im = add_product(old_im, im, k)
        store_pair(pointer, offset, re, im, mask)
    else:
        old = 0.0
        if BETA_KIND != "zero":
            old = scale(beta, load(pointer, offset, old_mask).to(re.dtype))
        store(pointer, offset, add_product(old, scale(alpha, re), k), mask)


@triton.jit
def add_product(old, product, k):
    """old + product; old alone where k = 0, since alpha times an empty sum may be NaN."""
    return tl.where(k == 0, old, old + product)


@triton.jit
def load_vector(x, offset, keep, COMPLEX: tl.constexpr):
    """Elements of a vector as (re, im), 0 where there are none."""
    if COMPLEX:
        re = tl.load(x + 2 * offset, mask=keep, other=0)
        im = tl.load(x + 2 * offset + 1, mask=keep, other=0)
    else:
        re = tl.load(x + offset, mask=keep, other=0)
        im = re
    return re, im


@triton.jit
def store_vector(x, offset, re, im, keep, COMPLEX: tl.constexpr):
    """Store (re, im) as elements of a vector."""
    if COMPLEX:
        tl.store(x + 2 * offset, re, mask=keep)
        tl.store(x + 2 * offset + 1, im, mask=keep)
    else:
        tl.store(x + offset, re, mask=keep)


@triton.jit
def multiply(a_re, a_im, x_re, x_im, COMPLEX: tl.constexpr):
    """a x as (re, im)."""
    if COMPLEX:
        return a_re * x_re - a_im * x_im, a_re * x_im + a_im * x_re
    else:
        value = a_re * x_re
        return value, value


@triton.jit
def is_wild(values):
    """Whether one of some numbers is not finite."""
    wild = (values - values != 0).to(tl.int32)
    return tl.max(tl.ravel(wild), 0) > 0


@triton.jit
def of_threads(products, HELD: tl.constexpr, ADJACENT: tl.constexpr):
    """The sums over each HELD columns of a tile that a thread has: neighbours, or equally far from
    each other."""
    ROWS: tl.constexpr = products.shape[0]
    OTHERS: tl.constexpr = products.shape[1] // HELD
    if ADJACENT:
        return tl.sum(tl.reshape(products, (ROWS, OTHERS, HELD)), 2)
    else:
        return tl.sum(tl.reshape(products, (ROWS, HELD, OTHERS)), 1)
