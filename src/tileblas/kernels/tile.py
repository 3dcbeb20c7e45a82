"""Helpers shared by all kernels: typed loads and stores, complex arithmetic, scalars, batches.

Memory holds operand types; registers hold the compute type (float32, or float64 for float64 and complex128).
Complex operands are interleaved (re, im) pairs behind a pointer to their real type, and two planes in registers.
Offsets count elements, real or complex, and are 64-bit integers before they are multiplied by a stride.
"""

import triton
import triton.language as tl

# In Triton's interpreter bfloat16 casts truncate and bfloat16 sums are nonsense. There bfloat16 operands come behind
# pointers to uint16, and `load` and `store` convert by bits. On a GPU the pointers are to bfloat16.


@triton.constexpr_function
def compute_type(pointer_type):
    """The type of arithmetic for operands behind such a pointer: float64 for float64, float32 for all others."""
    return tl.float64 if pointer_type.element_ty == tl.float64 else tl.float32


@triton.jit
def batch_base(pointer, index, inner, stride_0, stride_1, COMPLEX: tl.constexpr):
    """Where batch member (index // inner, index % inner) of an operand begins."""
    offset = (index // inner).to(tl.int64) * stride_0 + (index % inner).to(tl.int64) * stride_1
    return advance(pointer, offset, COMPLEX)


@triton.jit
def advance(pointer, offset, COMPLEX: tl.constexpr):
    """The pointer `offset` elements further on."""
    if COMPLEX:
        offset = 2 * offset
    return pointer + offset


@triton.jit
def load(pointer, offset, mask=None):
    """The elements at pointer + offset, 0 where masked off. bfloat16 by bits comes as float32."""
    value = load_raw(pointer + offset, mask)
    if pointer.dtype.element_ty == tl.uint16:
        value = (value.to(tl.uint32) << 16).to(tl.float32, bitcast=True)
    return value


@triton.jit
def load_pair(pointer, offset, mask=None):
    """Complex elements as (re, im): the pairs are loaded as a trailing axis of 2, so that loads stay wide."""
    pairs = pointer + tl.expand_dims(2 * offset, -1) + tl.arange(0, 2)
    if mask is not None:
        mask = tl.expand_dims(mask, -1)
    return tl.split(load_raw(pairs, mask))


@triton.jit
def load_raw(pointers, mask):
    if mask is None:
        value = tl.load(pointers)
    else:
        value = tl.load(pointers, mask=mask, other=0)
    return value


@triton.jit
def store(pointer, offset, value, mask=None):
    """Round `value` once to the type behind `pointer` and store it."""
    if pointer.dtype.element_ty == tl.uint16:
        value = bfloat16_bits(value)
    tl.store(pointer + offset, value.to(pointer.dtype.element_ty), mask=mask)


@triton.jit
def store_pair(pointer, offset, re, im, mask=None):
    """Store (re, im) as complex elements."""
    pairs = pointer + tl.expand_dims(2 * offset, -1) + tl.arange(0, 2)
    if mask is not None:
        mask = tl.expand_dims(mask, -1)
    tl.store(pairs, tl.join(re, im), mask=mask)


@triton.jit
def bfloat16_bits(value):
    """The bfloat16 bits of a float32, rounded to nearest even; a NaN stays a NaN."""
    bits = value.to(tl.uint32, bitcast=True)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    quiet_nan = (bits >> 16) | 0x40
    return tl.where(value != value, quiet_nan, rounded).to(tl.uint16)


@triton.jit
def load_scalar(value, value_im, COMPUTE: tl.constexpr, KIND: tl.constexpr):
    """alpha or beta as (re, im) in the compute type: passed by value, or read behind a device pointer."""
    # A float value is passed on, never assigned: an assignment rounds it to float32 in the interpreter.
    if KIND == "zero":
        return to_scalar(0, COMPUTE), to_scalar(0, COMPUTE)
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
def is_nonzero(re, im):
    """Whether the scalar (re, im) is not 0; true for NaN."""
    return (re != 0) | (im != 0)


@triton.jit
def is_one(re, im):
    """Whether the scalar (re, im) is exactly 1."""
    return (re == 1) & (im == 0)


@triton.jit
def multiply(a_re, a_im, b_re, b_im):
    """The complex product a b as (re, im)."""
    return a_re * b_re - a_im * b_im, a_re * b_im + a_im * b_re


@triton.jit
def scale_pair(s_re, s_im, re, im, KIND: tl.constexpr):
    """The scalar s times complex values. A real-typed s scales the two parts separately, so 0 Inf never arises."""
    if KIND == "complex" or KIND == "complex_pointer":
        re, im = multiply(s_re, s_im, re, im)
    else:
        re = s_re * re
        im = s_re * im
    return re, im
