"""combine_kernel in the interpreter: copy, scal, axpy and axpby against extended precision."""

import numpy as np
import pytest

pytest.importorskip("triton")
ml_dtypes = pytest.importorskip("ml_dtypes")
pytestmark = pytest.mark.interpret

from kernel_harness import (  # noqa: E402
    COMPUTE,
    DTYPES,
    NUMPY,
    SOME,
    assert_close,
    combine,
    factor,
    fenced,
    magnitude,
    placed,
    random,
    scalar_forms,
    untouched,
    wide,
)

BLOCK = 64
FORMS = {"copy": ("one", None), "scal": (None, 0.7), "axpy": (0.7, "one"), "axpby": (0.7, -1.3)}
each_dtype = pytest.mark.parametrize("dtype", DTYPES)
each_type = pytest.mark.parametrize("dtype", SOME)
each_complex = pytest.mark.parametrize("dtype", ["complex64", "complex128"])
each_form = pytest.mark.parametrize("form", FORMS)


def of(value, dtype, conj):
    return wide(1.0) if isinstance(value, str) else factor(value, dtype, conj)


def check(form, x, y, dtype, alpha=None, beta=None, **flags):
    """Factors other than those of `FORMS` are given; scal has no x."""
    alpha = FORMS[form][0] if alpha is None else alpha
    beta = FORMS[form][1] if beta is None else beta
    x = None if form == "scal" else x
    y0, idle = y.copy(), form if form in ("scal", "axpy") else ""
    combine(x, y, alpha, beta, idle=idle, block=BLOCK, **flags)
    conj = flags.get("conj_scalars", False)
    product, gauge = wide(np.zeros_like(y0)), 0
    if x is not None:
        a = of(alpha, dtype, conj) * (-1 if flags.get("negate") else 1)
        product = a * (wide(x).conj() if flags.get("conj_x") else wide(x))
        gauge = magnitude(a) * magnitude(x)
    if beta is not None:
        b = of(beta, dtype, conj)
        product = product + b * wide(y0)
        gauge = gauge + magnitude(b) * magnitude(y0)
    assert_close(y, product, gauge, 2, dtype)


def vectors(seed, dtype, *shape):
    rng = np.random.default_rng(seed)
    return random(rng, dtype, *shape), random(rng, dtype, *shape)


@each_dtype
@each_form
@pytest.mark.parametrize("n", [1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5])
def test_lengths(form, dtype, n):
    check(form, *vectors(n, dtype, n), dtype)


@each_type
@each_form
@pytest.mark.parametrize(("x_step", "y_step"), [(2, -1), (-1, 3)])
def test_increments_leave_the_gaps_alone(form, dtype, x_step, y_step):
    x, y = vectors(1, dtype, 150)
    x, _ = placed(x, [x_step])
    y, buffer = placed(y, [y_step])
    before = buffer.copy()
    check(form, x, y, dtype)
    assert untouched(buffer, y, before)


@each_type
@each_form
def test_batches(form, dtype):
    x, y = vectors(2, dtype, 2, 3, 70)
    x = np.broadcast_to(x[0], (2, 3, 70))
    y, buffer = placed(y, [1, 2, 1])
    before = buffer.copy()
    check(form, x, y, dtype)
    assert untouched(buffer, y, before)


@each_dtype
@pytest.mark.parametrize("form", ["scal", "axpy", "axpby"])
def test_device_scalars(form, dtype):
    """They come in the operand or the compute type; beside them may be a number."""
    rng = np.random.default_rng(3)
    real = COMPUTE[dtype] if not dtype.startswith("complex") else dtype
    for kind in {NUMPY[dtype], np.dtype(real)}:
        alpha, beta = (np.asarray(random(rng, dtype, 1)[0]).astype(kind) for _ in range(2))
        given = {"scal": [(None, beta)], "axpy": [(alpha, "one")]}
        given |= {"axpby": [(alpha, beta), (0.5, beta), (alpha, 0.5), (alpha, None)]}
        for pair in given[form]:
            check(form, *vectors(4, dtype, 100), dtype, *pair)


@each_complex
@pytest.mark.parametrize("form", ["scal", "axpy", "axpby"])
@pytest.mark.parametrize("conj_scalars", [False, True])
def test_complex_factors(form, dtype, conj_scalars):
    flags = {"conj_scalars": conj_scalars}
    if form != "scal":
        flags |= {"conj_x": conj_scalars, "negate": conj_scalars}
    for alpha in scalar_forms(0.7 - 0.9j, dtype):
        pair = {"scal": (None, alpha), "axpy": (alpha, "one"), "axpby": (alpha, 0.3 + 1.1j)}
        check(form, *vectors(5, dtype, 100), dtype, *pair[form], **flags)


@each_dtype
@pytest.mark.parametrize("form", ["copy", "axpy", "axpby"])
def test_signs_and_conjugates_of_x(form, dtype):
    for flags in ({"negate": True}, {"conj_x": True}, {"negate": True, "conj_x": True}):
        check(form, *vectors(6, dtype, 100), dtype, **flags)


@pytest.mark.parametrize("form", ["copy", "axpy", "axpby"])
def test_one_view_as_both_vectors(form):
    x, _ = vectors(7, "float32", 150)
    x0 = x.copy()
    combine(x, x, *FORMS[form], block=BLOCK)
    share = {"copy": 1.0, "axpy": 1.7, "axpby": np.float32(0.7) + np.float32(-1.3)}[form]
    np.testing.assert_allclose(x, x0 * np.float32(share), rtol=1e-6)


# ---- what is kept bit for bit -------------------------------------------------------------------


def odd_values(dtype):
    """Values with a NaN of a payload, infinities, a subnormal and -0 among them."""
    y = random(np.random.default_rng(8), dtype, 70)
    y[1:5] = np.array([np.inf, -np.inf, 0, 1], NUMPY[dtype])
    y.view(np.uint8)[: y.itemsize] = 0x7F
    y.view(np.uint8)[3 * y.itemsize : 4 * y.itemsize] = 0x80
    return y


@each_dtype
def test_copy_changes_no_bit(dtype):
    x = odd_values(dtype)
    y = np.zeros_like(x)
    combine(x, y, "one", None, block=BLOCK)
    assert y.tobytes() == x.tobytes()


@each_dtype
def test_axpy_with_alpha_zero_reads_no_x_and_keeps_y(dtype):
    x, y = np.full(70, np.nan, NUMPY[dtype]), odd_values(dtype)
    before = y.tobytes()
    combine(x, y, np.zeros((), NUMPY[dtype]), "one", idle="axpy", block=BLOCK)
    assert y.tobytes() == before


@each_dtype
def test_scal_with_alpha_one_keeps_x(dtype):
    x = odd_values(dtype)
    before = x.tobytes()
    combine(None, x, None, np.ones((), NUMPY[dtype]), idle="scal", block=BLOCK)
    assert x.tobytes() == before


@each_dtype
@pytest.mark.parametrize("n", [BLOCK + 6, 2 * BLOCK])
def test_axpby_reads_no_vector_whose_device_factor_is_zero(dtype, n):
    """NaN in it does not reach the result, in whole blocks neither."""
    zero, factor = np.zeros((), NUMPY[dtype]), np.full((), -1.5, NUMPY[dtype])
    bad, good = np.full(n, np.nan, NUMPY[dtype]), random(np.random.default_rng(9), dtype, n)
    expected = (wide(good) * -1.5).astype(NUMPY[dtype])
    y = good.copy()
    combine(bad, y, zero, factor, block=BLOCK)
    np.testing.assert_array_equal(wide(y), wide(expected))
    y = bad.copy()
    combine(good, y, factor, zero, block=BLOCK)
    np.testing.assert_array_equal(wide(y), wide(expected))
    y = bad.copy()
    combine(bad, y, zero, zero, block=BLOCK)
    assert not wide(y).any()
    y = good.copy()
    combine(bad, y, None, factor, block=BLOCK)  # the number 0: its term is a constant
    np.testing.assert_array_equal(wide(y), wide(expected))


def test_factors_that_leave_a_vector_to_axpby_idle_for_axpy_and_scal_alone():
    y = np.full(5, np.nan, np.float32)
    combine(np.ones(5, np.float32), y, np.array(0, np.float32), np.array(0, np.float32))
    assert not y.any()
    combine(np.ones(5, np.float32), y, np.array(2, np.float32), np.array(1, np.float32))
    np.testing.assert_array_equal(y, 2)


# ---- special values -----------------------------------------------------------------------------


def test_a_factor_of_nan_is_not_zero():
    for alpha, beta in ((np.nan, "one"), (0.0, np.nan)):
        y = np.ones(3, np.float32)
        pair = [v if isinstance(v, str) else np.array(v, np.float32) for v in (alpha, beta)]
        combine(np.ones(3, np.float32), y, *pair)
        assert np.isnan(y).all()


@each_dtype
@pytest.mark.parametrize(
    ("alpha", "bad"), [(0.0, np.nan), (0.0, np.inf), (np.inf, 0.0), (np.nan, 0.0)]
)
def test_scal_by_zero_multiplies(dtype, alpha, bad):
    """0 NaN, 0 Inf, Inf 0 and NaN 0 are NaN, in the elements that have them and in no gap."""
    for form in scalar_forms(alpha, dtype):
        x, buffer = placed(np.full(9, bad, NUMPY[dtype]), [2])
        before = buffer.copy()
        combine(None, x, None, form, idle="scal", block=BLOCK)
        assert np.isnan(wide(x).real).all()
        assert untouched(buffer, x, before)
    x = np.ones(9, NUMPY[dtype])
    combine(None, x, None, 0.0, idle="scal", block=BLOCK)
    assert not wide(x).any()


@pytest.mark.parametrize("alpha", [2.0, np.array(2.0, np.float32)], ids=["host", "device"])
@pytest.mark.parametrize("form", ["scal", "axpy", "axpby"])
def test_a_real_factor_scales_the_parts_of_complex_data_separately(form, alpha):
    """Complex multiplication by 2 + 0i would make NaN of the other part of an infinity."""
    x = np.array([complex(np.inf, 1), complex(1, -np.inf)], np.complex64)
    y = x.copy() if form == "scal" else np.zeros(2, np.complex64)
    given = {"scal": (None, alpha), "axpy": (alpha, "one"), "axpby": (alpha, alpha)}[form]
    combine(None if form == "scal" else x, y, *given)
    assert y.tolist() == [complex(np.inf, 2), complex(2, -np.inf)]


def test_host_factors_keep_all_their_digits():
    for form in ("scal", "axpy", "axpby"):
        x, y = np.ones(1), np.ones(1) if form == "scal" else np.zeros(1)
        given = {"scal": (None, 0.1), "axpy": (0.1, "one"), "axpby": (0.1, 0.3)}[form]
        combine(None if form == "scal" else x, y, *given)
        assert y[0] == 0.1


def test_bfloat16_rounds_to_nearest_even():
    """alpha x + 0 for every kind of tail, infinities, the largest finite value, and NaN."""
    bits = np.array([0x3F80, 0x3F81, 0x7F7F, 0x7F80, 0xFF80, 0x7FC0, 0x0001, 0x8001], np.uint16)
    x = bits.view(ml_dtypes.bfloat16)
    for alpha in (1.0, 1.00390625, 1.005859375, 0.998046875, 3.0, -0.5):
        with np.errstate(over="ignore"):
            rounded = (np.float32(alpha) * x.astype(np.float32)).astype(ml_dtypes.bfloat16)
        for beta in ("one", None):
            y = np.zeros_like(x)
            combine(x, y, alpha, beta)
            np.testing.assert_array_equal(y.astype(np.float32), rounded.astype(np.float32))


@each_type
@each_form
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_nothing_beyond_the_operands_is_accessed(form, dtype, after):
    """A read or write past either end would be a segmentation fault here."""
    x, y = (fenced(v, after) for v in vectors(10, dtype, BLOCK + 5))
    check(form, x, y, dtype)
    check(form, x[::-2], y[::-2], dtype)
