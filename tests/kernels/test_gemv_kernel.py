"""gemv_kernel in the interpreter against products in extended precision."""

import numpy as np
import pytest

pytest.importorskip("triton")
pytest.importorskip("ml_dtypes")
pytestmark = pytest.mark.interpret

from kernel_harness import (  # noqa: E402
    COMPUTE,
    DTYPES,
    NUMPY,
    assert_close,
    factor,
    fenced,
    gemv_in_place,
    magnitude,
    placed,
    random,
    scalar_forms,
    untouched,
    wide,
)

each_dtype = pytest.mark.parametrize("dtype", DTYPES)
each_complex = pytest.mark.parametrize("dtype", ["complex64", "complex128"])
each_layout = pytest.mark.parametrize("by_columns", [False, True], ids=["rows", "columns"])
each_split = pytest.mark.parametrize("splits", [1, 3])
SCALARS = {"complex64": 0.7 - 0.9j, "complex128": 0.7 - 0.9j}


def check(a, x, y, dtype, alpha=1.0, beta=None, **options):
    """Run the kernel on y and compare it with the formula in extended precision."""
    conj = {name: options.get(name, False) for name in ("conj_a", "conj_x", "conj_scalars")}
    alpha_wide = factor(alpha, dtype, conj["conj_scalars"]) * (-1 if options.get("negate") else 1)
    beta_wide = factor(beta, dtype, conj["conj_scalars"])
    op_a = wide(a).conj() if conj["conj_a"] else wide(a)
    op_x = wide(x).conj() if conj["conj_x"] else wide(x)
    expected = alpha_wide * (op_a * op_x[..., None, :]).sum(-1)
    gauge = magnitude(alpha_wide) * (magnitude(a) * magnitude(x)[..., None, :]).sum(-1)
    if beta_wide != 0:
        expected = expected + beta_wide * wide(y)
        gauge = gauge + magnitude(beta_wide) * magnitude(y)
    gemv_in_place(a, x, y, alpha, beta, **options)
    assert_close(y, expected, gauge, a.shape[-1], dtype)


def operands(rng, dtype, m, n, by_columns):
    a = np.asarray(random(rng, dtype, m, n), order="F" if by_columns else "C")
    return a, random(rng, dtype, n), random(rng, dtype, m)


# Blocks are 16 rows by 32 columns in these tests.
@each_dtype
@each_layout
@each_split
@pytest.mark.parametrize(
    ("m", "n"),
    [
        (16, 32),  # one block, and splits without any
        (1, 1),
        (17, 31),  # one row more, one column less
        (48, 160),  # blocks for every split, none of them short
        (3, 300),
    ],
)
def test_sizes(dtype, by_columns, splits, m, n):
    """Full and short blocks both ways, y full of NaN that must not be read."""
    a, x, y = operands(np.random.default_rng(m + n), dtype, m, n, by_columns)
    y[:] = np.nan
    check(a, x, y, dtype, 0.7, splits=splits, by_columns=by_columns)


@each_dtype
@each_layout
@each_split
def test_beta(dtype, by_columns, splits):
    a, x, y = operands(np.random.default_rng(1), dtype, 40, 70, by_columns)
    alpha, beta = SCALARS.get(dtype, 0.7), SCALARS.get(dtype, 1.3)
    check(a, x, y, dtype, alpha, beta, splits=splits, by_columns=by_columns)


@each_dtype
@each_layout
def test_any_signed_strides_touch_nothing_else(dtype, by_columns):
    """Gaps and reversed axes, without a unit stride; NaN all around, y unchanged outside."""
    rng = np.random.default_rng(2)
    order = "F" if by_columns else "C"
    a, _ = placed(random(rng, dtype, 37, 45), (-2, -3), order)
    x, _ = placed(random(rng, dtype, 45), [-2])
    y, buffer = placed(random(rng, dtype, 37), [3])
    before = buffer.copy()
    check(a, x, y, dtype, 1.0, -0.5, splits=2, by_columns=by_columns)
    assert untouched(buffer, y, before)


@each_layout
def test_longer_rows_and_columns(by_columns):
    """A unit stride with NaN between the rows, or between the columns."""
    rng = np.random.default_rng(3)
    a, _ = placed(random(rng, "float32", 37, 45), (1, 1), "F" if by_columns else "C")
    y = np.full(37, np.nan, np.float32)
    check(a, random(rng, "float32", 45), y, "float32", by_columns=by_columns)


def test_broadcast_operands():
    """Stride 0 along m and n of A, and along x."""
    rng = np.random.default_rng(4)
    x = random(rng, "float32", 70)
    for a in (random(rng, "float32", 1, 70), random(rng, "float32", 40, 1)):
        y = np.full(40, np.nan, np.float32)
        check(np.broadcast_to(a, (40, 70)), x, y, "float32", splits=2)
    ones = np.broadcast_to(np.float32(1), 70)
    check(random(rng, "float32", 40, 70), ones, np.full(40, np.nan, np.float32), "float32")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex128"])
@each_layout
@each_split
def test_batches(dtype, by_columns, splits):
    """Two batch axes, x broadcast along one; each row block of each member has its own counter."""
    rng = np.random.default_rng(5)
    a, _ = placed(random(rng, dtype, 2, 3, 33, 70), (1, 2, 1, 1))
    if by_columns:
        a, _ = placed(random(rng, dtype, 2, 3, 70, 33), (1, 2, 1, 1))
        a = a.swapaxes(-1, -2)
    x = np.broadcast_to(random(rng, dtype, 3, 70), (2, 3, 70))
    y, buffer = placed(random(rng, dtype, 2, 3, 33), (2, 1, 1))
    before = buffer.copy()
    check(a, x, y, dtype, 1.0, 0.5, splits=splits, by_columns=by_columns)
    assert untouched(buffer, y, before)


@each_complex
@each_layout
@pytest.mark.parametrize("conj_a", [False, True])
@pytest.mark.parametrize("conj_x", [False, True])
@pytest.mark.parametrize("conj_scalars", [False, True])
def test_conjugation(dtype, by_columns, conj_a, conj_x, conj_scalars):
    a, x, y = operands(np.random.default_rng(6), dtype, 20, 40, by_columns)
    flags = {"conj_a": conj_a, "conj_x": conj_x, "conj_scalars": conj_scalars, "negate": conj_a}
    check(a, x, y, dtype, 0.7 - 0.9j, 1.3 + 1.1j, by_columns=by_columns, **flags)


@each_dtype
@each_split
def test_device_scalars(dtype, splits):
    """In the operand or the compute type; a real one may scale complex data."""
    rng = np.random.default_rng(7)
    a, x, y = operands(rng, dtype, 33, 70, False)
    for kind in {NUMPY[dtype], np.dtype(COMPUTE[dtype])}:
        alpha, beta = (np.asarray(random(rng, dtype, 1)[0]).real.astype(kind) for _ in "ab")
        check(a, x, y.copy(), dtype, alpha, beta, negate=True, splits=splits)
    if dtype.startswith("complex"):
        alpha, beta = (np.asarray(random(rng, dtype, 1)[0]) for _ in "ab")
        check(a, x, y, dtype, alpha, beta, conj_scalars=True, splits=splits)


@each_dtype
@each_layout
def test_integers_are_exact(dtype, by_columns):
    rng = np.random.default_rng(8)
    a = np.asarray(rng.integers(-2, 3, (46, 46)), order="F" if by_columns else "C")
    a, x = a.astype(NUMPY[dtype]), rng.integers(-2, 3, 46).astype(NUMPY[dtype])
    y = np.full(46, np.nan, NUMPY[dtype])
    gemv_in_place(a, x, y, splits=2, by_columns=by_columns)
    np.testing.assert_array_equal(wide(y), wide(a) @ wide(x))


def test_bits_depend_on_blocks_and_splits_alone():
    """Not on the strides, nor on the rows and batch members beside."""
    a, x, y = operands(np.random.default_rng(9), "float32", 40, 300, False)
    gemv_in_place(a, x, y, splits=3)
    gapped, _ = placed(a, (2, 2))
    other = np.empty_like(y)
    gemv_in_place(gapped, x, other, splits=3)
    assert other.tobytes() == y.tobytes()
    gemv_in_place(a[16:], x, other[16:], splits=3)
    assert other.tobytes() == y.tobytes()
    both = np.empty((2, 40), np.float32)
    gemv_in_place(np.stack([a, a]), np.stack([x, x]), both, splits=3)
    assert both[0].tobytes() == both[1].tobytes() == y.tobytes()


def test_more_splits_than_the_last_program_adds_at_a_time():
    """Partial sums of 4096 rows: one split a step."""
    a, x, y = operands(np.random.default_rng(10), "float32", 3000, 20, True)
    check(a, x, y, "float32", splits=3, by_columns=True, blocks=(4096, 4))


# ---- alpha = 0, n = 0, beta = 0, beta = 1


@each_dtype
@each_split
@pytest.mark.parametrize("n", [0, 20])
def test_dropped_product_and_beta_one_keep_y_bit_for_bit(dtype, splits, n):
    """alpha = 0 reads no A and x; n = 0 drops even a NaN alpha. NaN payloads in y survive."""
    a, x = np.full((40, n), np.nan, NUMPY[dtype]), np.full(n, np.nan, NUMPY[dtype])
    y = random(np.random.default_rng(11), dtype, 40)
    y.view(np.uint8)[: y.itemsize] = 0x7F
    before = y.tobytes()
    for alpha in scalar_forms(0.0 if n else np.nan, dtype):
        for beta in scalar_forms(1.0, dtype):
            gemv_in_place(a, x, y, alpha, beta, splits=splits)
            assert y.tobytes() == before


@each_dtype
@each_split
@pytest.mark.parametrize("n", [0, 20])
def test_dropped_product_leaves_beta_y(dtype, splits, n):
    """beta y exactly, signed zeros included; without beta, zero."""
    a, x = np.full((40, n), np.nan, NUMPY[dtype]), np.full(n, np.nan, NUMPY[dtype])
    y0 = random(np.random.default_rng(12), dtype, 40)
    y0[:2] = -0.0
    for alpha in scalar_forms(0.0 if n else np.inf, dtype):
        for beta in scalar_forms(0.5, dtype):
            y = y0.copy()
            gemv_in_place(a, x, y, alpha, beta, splits=splits)
            assert y.tobytes() == (y0 * y0.dtype.type(0.5)).tobytes()
        y = np.full_like(y0, np.nan)
        gemv_in_place(a, x, y, alpha, None, splits=splits)
        assert not wide(y).any()


@each_dtype
def test_beta_zero_does_not_read_y(dtype):
    a, x, y = operands(np.random.default_rng(13), dtype, 33, 20, False)
    for beta in scalar_forms(0.0, dtype):
        check(a, x, np.full_like(y, np.nan), dtype, 0.7, beta)


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_nan_scalars_are_not_zero(dtype):
    a, x = np.ones((20, 20), NUMPY[dtype]), np.ones(20, NUMPY[dtype])
    for alpha, beta in ((np.nan, 1.0), (1.0, np.nan)):
        for form in range(2):
            y = x.copy()
            gemv_in_place(a, x, y, *(scalar_forms(v, dtype)[form] for v in (alpha, beta)))
            assert np.isnan(y.real).all()


@each_layout
@each_split
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_exceptional_values_reach_their_row_only(dtype, by_columns, splits):
    """Inf in A's last row and column: masks and rows that do not exist add no NaN."""
    a = np.ones((33, 70), dtype, order="F" if by_columns else "C")
    a[32, 69] = np.inf
    a[1, 0] = np.nan
    y = np.full(33, np.nan, dtype)
    gemv_in_place(a, np.ones(70, dtype), y, splits=splits, by_columns=by_columns)
    expected = np.full(33, 70, np.float32)
    expected[[32, 1]] = np.inf, np.nan
    np.testing.assert_array_equal(y.real, expected)
    assert not np.delete(y, [1, 32]).imag.any()


@each_layout
@pytest.mark.parametrize("bad", [np.nan, complex(np.nan, 0), complex(0, np.nan)])
def test_a_nan_in_x_reaches_every_row(by_columns, bad):
    """In either part of a complex x."""
    dtype = np.result_type(np.float32, type(bad))
    x = np.ones(70, dtype)
    x[69] = bad
    y, a = np.zeros(33, dtype), np.zeros((33, 70), dtype, order="F" if by_columns else "C")
    gemv_in_place(a, x, y, splits=2, by_columns=by_columns)
    assert np.isnan(y).all()


def test_real_scalars_scale_the_parts_of_complex_data_separately():
    y = np.array([complex(np.inf, 1)], np.complex64)
    zero, one = np.zeros((1, 1), np.complex64), np.ones(1, np.complex64)
    gemv_in_place(zero, one, y, 1.0, 2.0)
    assert y[0] == complex(np.inf, 2)


@each_dtype
@each_layout
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_nothing_beyond_the_operands_is_accessed(dtype, by_columns, after):
    """A read or write past either end would be a segmentation fault here."""
    rng = np.random.default_rng(15)
    arrays = operands(rng, dtype, 33, 70, by_columns)
    a, x, y = (fenced(array, after) for array in arrays)
    check(a, x, y, dtype, 1.0, 0.5, splits=2, by_columns=by_columns)
