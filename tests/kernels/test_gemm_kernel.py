"""gemm_kernel in the interpreter against products in extended precision."""

import itertools

import numpy as np
import pytest

pytest.importorskip("triton")
pytest.importorskip("ml_dtypes")
pytestmark = pytest.mark.interpret

from kernel_harness import (  # noqa: E402
    COMPUTE,
    DTYPES,
    NUMPY,
    UNIT,
    assert_close,
    factor,
    fenced,
    gemm_in_place,
    magnitude,
    placed,
    random,
    scalar_forms,
    untouched,
    wide,
)

each_dtype = pytest.mark.parametrize("dtype", DTYPES)
each_complex = pytest.mark.parametrize("dtype", ["complex64", "complex128"])
SCALARS = {"complex64": 0.7 - 0.9j, "complex128": 0.7 - 0.9j}


def check(a, b, c, dtype, alpha=1.0, beta=None, **options):
    """Run the kernel on c and compare it with the formula in extended precision."""
    conj = {name: options.get(name, False) for name in ("conj_a", "conj_b", "conj_scalars")}
    alpha_wide = factor(alpha, dtype, conj["conj_scalars"]) * (-1 if options.get("negate") else 1)
    beta_wide = factor(beta, dtype, conj["conj_scalars"])
    op_a = wide(a).conj() if conj["conj_a"] else wide(a)
    op_b = wide(b).conj() if conj["conj_b"] else wide(b)
    expected = alpha_wide * (op_a @ op_b)
    gauge = magnitude(alpha_wide) * (magnitude(a) @ magnitude(b))
    if beta_wide != 0:
        expected = expected + beta_wide * wide(c)
        gauge = gauge + magnitude(beta_wide) * magnitude(c)
    gemm_in_place(a, b, c, alpha, beta, **options)
    assert_close(c, expected, gauge, a.shape[-1], dtype, UNIT[c.dtype.name])


# Blocks are 32 x 32 x 16 in these tests.
@each_dtype
@pytest.mark.parametrize(
    ("m", "n", "k"),
    [
        (32, 32, 16),  # one full tile
        (1, 1, 1),
        (33, 31, 17),  # one more and one less
        (64, 70, 48),  # full tiles beside an edge, no tail along k
        (3, 65, 40),
        (100, 5, 16),
    ],
)
def test_sizes(dtype, m, n, k):
    """Interior and edge tiles, k with and without a tail, C full of NaN that must not be read."""
    rng = np.random.default_rng(m + n + k)
    c = np.full((m, n), np.nan, NUMPY[dtype])
    check(random(rng, dtype, m, k), random(rng, dtype, k, n), c, dtype, 0.7)


@each_dtype
def test_beta(dtype):
    rng = np.random.default_rng(1)
    a, b, c = (random(rng, dtype, *shape) for shape in [(40, 20), (20, 50), (40, 50)])
    check(a, b, c, dtype, SCALARS.get(dtype, 0.7), SCALARS.get(dtype, 1.3))


@pytest.mark.parametrize("dtype", ["float16", "float64", "complex64"])
@pytest.mark.parametrize("orders", list(itertools.product("CF", repeat=3)), ids="".join)
def test_layouts_touch_nothing_else(dtype, orders):
    """Row- and column-major operands in longer rows, NaN all around, C unchanged outside."""
    rng = np.random.default_rng(2)
    shapes = [(37, 21), (21, 45), (37, 45)]
    (a, _), (b, _), (c, buffer) = (
        placed(random(rng, dtype, *shape), (1, 1), order)
        for shape, order in zip(shapes, orders, strict=True)
    )
    before = buffer.copy(order="K")
    check(a, b, c, dtype, 1.0, 0.5)
    assert untouched(buffer, c, before)


@each_dtype
def test_any_signed_strides(dtype):
    rng = np.random.default_rng(3)
    a, _ = placed(random(rng, dtype, 37, 21), (-2, 3))
    b, _ = placed(random(rng, dtype, 21, 35), (2, -1))
    c, buffer = placed(random(rng, dtype, 37, 35), (-1, -2))
    before = buffer.copy()
    check(a, b, c, dtype, 1.0, -0.5)
    assert untouched(buffer, c, before)


def test_broadcast_operands():
    """Stride 0 along m, n and k."""
    rng = np.random.default_rng(4)
    a = np.broadcast_to(random(rng, "float32", 1, 20), (40, 20))
    b = np.broadcast_to(random(rng, "float32", 20, 1), (20, 33))
    check(a, b, np.full((40, 33), np.nan, np.float32), "float32")
    ones = np.broadcast_to(np.float32(1), (20, 33))
    check(a, ones, np.full((40, 33), np.nan, np.float32), "float32")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex128"])
def test_batches(dtype):
    rng = np.random.default_rng(5)
    a, _ = placed(random(rng, dtype, 2, 3, 33, 20), (1, 2, 1, 1))
    b = np.broadcast_to(random(rng, dtype, 3, 20, 18), (2, 3, 20, 18))
    c, buffer = placed(random(rng, dtype, 2, 3, 33, 18), (2, 1, 1, 1))
    before = buffer.copy()
    check(a, b, c, dtype, 1.0, 0.5)
    assert untouched(buffer, c, before)


@each_complex
@pytest.mark.parametrize("conj_a", [False, True])
@pytest.mark.parametrize("conj_b", [False, True])
@pytest.mark.parametrize("conj_scalars", [False, True])
def test_conjugation(dtype, conj_a, conj_b, conj_scalars):
    rng = np.random.default_rng(6)
    a, b, c = (random(rng, dtype, *shape) for shape in [(20, 18), (18, 40), (20, 40)])
    flags = {"conj_a": conj_a, "conj_b": conj_b, "conj_scalars": conj_scalars}
    check(a, b, c, dtype, 0.7 - 0.9j, 1.3 + 1.1j, negate=conj_a, **flags)


@each_dtype
def test_device_scalars(dtype):
    """In the operand or the compute type; a real one may scale complex data."""
    rng = np.random.default_rng(7)
    a, b, c = (random(rng, dtype, *shape) for shape in [(33, 18), (18, 20), (33, 20)])
    for kind in {NUMPY[dtype], np.dtype(COMPUTE[dtype])}:
        alpha, beta = (np.asarray(random(rng, dtype, 1)[0]).real.astype(kind) for _ in "ab")
        check(a, b, c.copy(), dtype, alpha, beta, negate=True)
    if dtype.startswith("complex"):
        alpha, beta = (np.asarray(random(rng, dtype, 1)[0]) for _ in "ab")
        check(a, b, c, dtype, alpha, beta, conj_scalars=True)


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
def test_half_operands_into_a_float32_result(half):
    rng = np.random.default_rng(8)
    a, b = random(rng, half, 33, 40), random(rng, half, 40, 33)
    check(a, b, random(rng, "float32", 33, 33), "float32", 0.7, 1.3)


def test_float32_products_in_float64():
    """MATH = "fp64": the result is the exact product, rounded once."""
    rng = np.random.default_rng(9)
    a, b = random(rng, "float32", 40, 70), random(rng, "float32", 70, 33)
    c = np.full((40, 33), np.nan, np.float32)
    gemm_in_place(a, b, c, math="fp64")
    np.testing.assert_array_equal(c, (wide(a) @ wide(b)).astype(np.float32))
    za, zb = random(rng, "complex64", 20, 70), random(rng, "complex64", 70, 17)
    zc = np.full((20, 17), np.nan, np.complex64)
    gemm_in_place(za, zb, zc, math="fp64")
    np.testing.assert_array_equal(zc, (wide(za) @ wide(zb)).astype(np.complex64))


@each_dtype
def test_integers_are_exact(dtype):
    rng = np.random.default_rng(10)
    a, b = (rng.integers(-2, 3, (46, 46)).astype(NUMPY[dtype]) for _ in "ab")
    c = np.full((46, 46), np.nan, NUMPY[dtype])
    gemm_in_place(a, b, c)
    np.testing.assert_array_equal(wide(c), (wide(a) @ wide(b)))


# ---- alpha = 0, k = 0, beta = 0, beta = 1


@each_dtype
@pytest.mark.parametrize("k", [0, 20])
def test_dropped_product_and_beta_one_keep_c_bit_for_bit(dtype, k):
    """alpha = 0 reads no A and B; k = 0 drops even a NaN alpha. NaN payloads in C survive."""
    nan = np.full((40, 40), np.nan, NUMPY[dtype])
    c = random(np.random.default_rng(11), dtype, 40, 40)
    c.view(np.uint8)[0, : c.itemsize] = 0x7F
    before = c.tobytes()
    for alpha in scalar_forms(0.0 if k else np.nan, dtype):
        for beta in scalar_forms(1.0, dtype):
            gemm_in_place(nan[:, :k], nan[:k], c, alpha, beta)
            assert c.tobytes() == before


@each_dtype
@pytest.mark.parametrize("k", [0, 20])
def test_dropped_product_leaves_beta_c(dtype, k):
    """beta C exactly, signed zeros included; without beta, zero."""
    nan = np.full((40, 40), np.nan, NUMPY[dtype])
    c0 = random(np.random.default_rng(12), dtype, 40, 40)
    c0[0, :2] = -0.0
    for alpha in scalar_forms(0.0 if k else np.inf, dtype):
        for beta in scalar_forms(0.5, dtype):
            c = c0.copy()
            gemm_in_place(nan[:, :k], nan[:k], c, alpha, beta)
            assert c.tobytes() == (c0 * c0.dtype.type(0.5)).tobytes()
        c = np.full_like(c0, np.nan)
        gemm_in_place(nan[:, :k], nan[:k], c, alpha, None)
        assert not wide(c).any()


@each_dtype
def test_beta_zero_does_not_read_c(dtype):
    rng = np.random.default_rng(13)
    a, b = random(rng, dtype, 33, 20), random(rng, dtype, 20, 33)
    for beta in scalar_forms(0.0, dtype):
        check(a, b, np.full((33, 33), np.nan, NUMPY[dtype]), dtype, 0.7, beta)


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_nan_scalars_are_not_zero(dtype):
    ones = np.ones((20, 20), NUMPY[dtype])
    for alpha, beta in ((np.nan, 1.0), (1.0, np.nan)):
        for form in range(2):
            c = ones.copy()
            scalars = [scalar_forms(value, dtype)[form] for value in (alpha, beta)]
            gemm_in_place(ones, ones, c, *scalars)
            assert np.isnan(c.real).all()


def test_exceptional_values_reach_their_row_and_column_only():
    """Inf in A, NaN in B; edge tiles and the masked tail along k add no NaN of their own."""
    a, b = np.ones((33, 20), np.float32), np.ones((20, 40), np.float32)
    a[32, 19] = np.inf
    b[19, 39] = np.nan
    c = np.full((33, 40), np.nan, np.float32)
    gemm_in_place(a, b, c)
    expected = np.full((33, 40), 20, np.float32)
    expected[32] = np.inf
    expected[:, 39] = np.nan
    np.testing.assert_array_equal(c, expected)


def test_real_alpha_scales_the_parts_of_complex_data_separately():
    a = np.array([[complex(np.inf, 0)]], np.complex64).real.astype(np.complex64)
    b, c = np.ones((1, 1), np.complex64), np.zeros((1, 1), np.complex64)
    c[0, 0] = complex(np.inf, 1)
    gemm_in_place(np.zeros_like(a), b, c, 1.0, 2.0)
    assert c[0, 0] == complex(np.inf, 2)


def test_more_row_tiles_than_one_raster_group():
    """Five tiles down in groups of two, three across: every tile is visited once."""
    rng = np.random.default_rng(14)
    c = np.zeros((150, 90), np.float32)
    check(random(rng, "float32", 150, 5), random(rng, "float32", 5, 90), c, "float32", 1.0, 1.0)


@each_dtype
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("orders", ["CCC", "FFF"])
def test_nothing_beyond_the_operands_is_accessed(dtype, after, orders):
    """A read or write past either end would be a segmentation fault here."""
    rng = np.random.default_rng(15)
    shapes = [(33, 21), (21, 35), (33, 35)]
    a, b, c = (
        fenced(np.asarray(random(rng, dtype, *shape), order=order), after)
        for shape, order in zip(shapes, orders, strict=True)
    )
    check(a, b, c, dtype, 1.0, 0.5)
