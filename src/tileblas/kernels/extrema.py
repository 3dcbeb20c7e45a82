"""The largest or smallest element and its place: keys that order elements, NaN and Inf included."""

import triton
import triton.language as tl

from tileblas.kernels import tile

# An element's key is an unsigned integer that is larger, the better the element is: so one
# comparison decides, and the first of equal keys wins. 0 is the key of no element. The bits of a
# number that is not negative are in the order of numbers; those of a NaN are above all.


@triton.constexpr_function
def key_type(pointer_type):
    """Keys have the bits of the compute type."""
    return tl.uint64 if pointer_type.element_ty == tl.float64 else tl.uint32


@triton.jit
def pick_better(
    best, place, x, offset, i, mask,
    OP: tl.constexpr, COMPLEX: tl.constexpr, POLICY: tl.constexpr,
):  # fmt: skip
    """(best key, its place) with the elements i, elementwise: i ascends, so ties keep the first."""
    COMPUTE: tl.constexpr = tile.compute_type(x.dtype)
    if COMPLEX:
        re, im = tile.load_pair(x, offset, mask, POLICY)
        order, is_nan = order_of_pair(tl.abs(re), tl.abs(im), best.dtype)
    else:
        value = tl.abs(tile.load(x, offset, mask, POLICY).to(COMPUTE))
        order = value.to(best.dtype, bitcast=True)
        is_nan = value != value
    # Orders are at most half of all integers, so that there is room for one more at either end.
    MOST: tl.constexpr = (1 << best.dtype.primitive_bitwidth) - 1
    if OP == "iamax":
        key = order + 1
    else:
        key = tl.full(order.shape, MOST - 2, best.dtype) - order
    key = tl.where(is_nan, tl.full(order.shape, MOST, best.dtype), key)
    if mask is not None:
        key = tl.where(mask, key, tl.zeros(order.shape, best.dtype))
    better = key > best
    return tl.where(better, key, best), tl.where(better, i, place)


@triton.jit
def order_of_pair(re, im, KEY: tl.constexpr):
    """(an integer in the order of |re| + |im|, whether one of them is NaN), of magnitudes.

    A sum of finite parts that overflows is formed of a quarter of them, and its exponent raised by
    two after; an infinite part is beyond all of these.
    """
    WIDTH: tl.constexpr = KEY.primitive_bitwidth
    MANTISSA: tl.constexpr = 52 if WIDTH == 64 else 23
    HALF: tl.constexpr = 1 << (WIDTH - 1)
    total = re + im
    quarter = 0.25 * re + 0.25 * im
    is_infinite = (re == float("inf")) | (im == float("inf"))
    overflows = (total == float("inf")) & (quarter < float("inf"))
    raised = quarter.to(KEY, bitcast=True) + tl.full(re.shape, 2 << MANTISSA, KEY)
    order = tl.where(overflows, raised, total.to(KEY, bitcast=True))
    order = tl.where(is_infinite, tl.full(re.shape, HALF, KEY), order)
    return order, total != total
