"""Slices of a tile, some columns of it: A x for its rows and A^T w for its columns at once."""

import triton
import triton.language as tl

from tileblas.kernels import matvec, tile


@triton.jit
def multiply_whole(
    p, q, a_rows, x, w_same, w_other, left, a_n, a_curve, x_inc,
    COMPLEX: tl.constexpr, CURVED: tl.constexpr, POLICY: tl.constexpr,
    SLICE: tl.constexpr, HELD: tl.constexpr,
):  # fmt: skip
    """(p, q) + A (x_re, x_im) for the columns from `left` on, and A times w down each of them.

    `a_rows` points to the rows. p and q have a column for every HELD of the slice, which one thread
    adds up where threads follow each other down the rows; the sums down the columns then pass
    between the threads of a warp alone.
    """
    j = left + tl.arange(0, SLICE).to(tl.int64)
    value = load_slice(a_rows, j, None, a_n, a_curve, COMPLEX, CURVED, POLICY)
    x_re, x_im = load_columns(x, j, None, x_inc, COMPLEX)
    return add_products(p, q, value, x_re, x_im, w_same, w_other, None, COMPLEX, HELD)


@triton.jit
def multiply_edge(
    p, q, a_rows, x, w_same, w_other, top, left, m, n, reach, a_n, a_curve, x_inc,
    TRIANGLE: tl.constexpr, LOWER: tl.constexpr, BANDED: tl.constexpr,
    COMPLEX: tl.constexpr, CURVED: tl.constexpr, POLICY: tl.constexpr,
    WILD: tl.constexpr, BLOCK: tl.constexpr, SLICE: tl.constexpr, HELD: tl.constexpr,
):  # fmt: skip
    """The same for a slice of which not all elements are there, such as a triangle's diagonal,
    which `multiply_diagonal` adds.

    `top` is the first of the rows. Elements that are not there are 0, and products with them are
    left out only where x or w is WILD, not finite: 0 Inf is NaN.
    """
    j = left + tl.arange(0, SLICE).to(tl.int64)
    low, high = columns_there(top, left, m, n, reach, TRIANGLE, LOWER, BANDED, COMPLEX, BLOCK)
    column = tl.arange(0, SLICE)[None, :]
    keep = (column >= low) & (column < high)
    value = load_slice(a_rows, j, keep, a_n, a_curve, COMPLEX, CURVED, POLICY)
    x_re, x_im = load_columns(x, j, j < n, x_inc, COMPLEX)
    if not WILD:
        keep = None
    return add_products(p, q, value, x_re, x_im, w_same, w_other, keep, COMPLEX, HELD)


@triton.jit
def load_columns(x, j, mask, x_inc, COMPLEX: tl.constexpr):
    """Elements of x for the columns of a tile, as (re, im). They are loaded before A: see
    `matvec.add_columns`."""
    if COMPLEX:
        re, im = tile.load_pair(x, j * x_inc, mask)
        return re[None, :], im[None, :]
    else:
        re = tile.load(x, j * x_inc, mask)[None, :]
        return re, re


@triton.jit
def load_slice(
    a_rows, j, keep, a_n, a_curve,
    COMPLEX: tl.constexpr, CURVED: tl.constexpr, POLICY: tl.constexpr,
):  # fmt: skip
    """The columns j of some rows of A, as reals."""
    PARTS: tl.constexpr = 2 if COMPLEX else 1
    return tile.load(a_rows, PARTS * tile.along(j[None, :], a_n, a_curve, CURVED), keep, POLICY)


@triton.jit
def columns_there(
    top, left, m, n, reach,
    TRIANGLE: tl.constexpr, LOWER: tl.constexpr, BANDED: tl.constexpr, COMPLEX: tl.constexpr,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """For the rows from `top` on, the columns [low, high) from `left` on that are there; of a
    triangle those beside the diagonal. In 32 bits, which take half the registers."""
    PARTS: tl.constexpr = 2 if COMPLEX else 1
    row = tl.arange(0, PARTS * BLOCK)[:, None] // PARTS
    diagonal = row + within(top - left)
    low = tl.zeros_like(row)
    high = low + within(n - left)
    if TRIANGLE:
        if LOWER:
            high = tl.minimum(high, diagonal)
            if BANDED:
                low = diagonal - within(reach)
        else:
            low = diagonal + 1
            if BANDED:
                high = tl.minimum(high, low + within(reach))
    return low, tl.where(row < within(m - top), high, 0)


@triton.jit
def add_products(
    p, q, value, x_re, x_im, w_same, w_other, keep, COMPLEX: tl.constexpr, HELD: tl.constexpr
):
    """(p, q) plus a slice's products with x, and the sums of those with w down its columns.

    Only products that are to be kept count, all where `keep` is None.
    """
    p += tile.of_threads(matvec.kept(value * x_re, keep), HELD, False)
    s = tl.sum(matvec.kept(product(value, w_same), keep), 0)
    if COMPLEX:
        q += tile.of_threads(matvec.kept(value * x_im, keep), HELD, False)
        t = tl.sum(matvec.kept(product(value, w_other), keep), 0)
    else:
        q = p
        t = s
    return p, q, s, t


@triton.jit
def product(value, w):
    """value w, which no sum takes unrounded where a thread may have one row of a slice.

    Two lanes that add the product of the other to their own would each round that one alone, and
    have different sums of the same numbers.
    """
    if value.shape[0] <= 32:
        zero = tl.zeros(value.shape, value.dtype)
        return tl.fma(value, tl.broadcast_to(w, value.shape), zero)
    else:
        return value * w


@triton.jit
def within(distance):
    """A distance in 32 bits, cut off where it is far beyond any tile."""
    FAR: tl.constexpr = 1 << 29
    return tl.minimum(tl.maximum(distance, -FAR), FAR).to(tl.int32)


@triton.jit
def multiply_diagonal(
    a, x, top, n, a_m, a_n, a_curve, x_inc, REAL: tl.constexpr,
    COMPLEX: tl.constexpr, CONJ_A: tl.constexpr, CONJ_X: tl.constexpr, CURVED: tl.constexpr,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """a_ii x_i for the rows i from `top` on, as (re, im), 0 from n on; of a_ii only re if REAL."""
    i = top + tl.arange(0, BLOCK).to(tl.int64)
    offset = i * a_m + tile.along(i, a_n, a_curve, CURVED)
    re, im = tile.load_vector(a, offset, i < n, COMPLEX)
    if COMPLEX and CONJ_A:
        im = -im
    if REAL:
        im = tl.zeros_like(re)
    x_re, x_im = tile.load_vector(x, i * x_inc, i < n, COMPLEX)
    if COMPLEX and CONJ_X:
        x_im = -x_im
    return tile.multiply(re, im, x_re, x_im, COMPLEX)
