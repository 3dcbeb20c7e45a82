"""Rotations: applied to vectors (rot, rotm), and made from numbers (rotg, rotmg)."""

import itertools

import numpy as np
import pytest

import tileblas as tb
from tileblas.check.oracle import references
from tileblas.check.parameters import NETLIB_ROTG, NETLIB_ROTM
from tileblas.check.tolerance import finfo, judge
from tileblas.core.dtypes import DTYPES, numpy_dtype

pytestmark = pytest.mark.usefixtures("backend")

TYPES = {name: numpy_dtype(row) for name, row in DTYPES.items()}
REAL = [name for name, row in DTYPES.items() if not row.is_complex]
COMPLEX = [name for name, row in DTYPES.items() if row.is_complex]
NAN, INF = float("nan"), float("inf")


def array(values, dtype):
    return np.array(values).astype(TYPES[dtype])


# ---- rot ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", TYPES)
def test_a_rotation_of_vectors(dtype):
    x, y = array([1, 2, 3, 4], dtype), array([5, 6, 7, 8], dtype)
    first, second = tb.rot(x, y, 2, 3)
    assert first is x
    assert second is y
    np.testing.assert_array_equal(x, array([17, 22, 27, 32], dtype))
    np.testing.assert_array_equal(y, array([7, 6, 5, 4], dtype))


@pytest.mark.parametrize("dtype", COMPLEX)
def test_s_may_be_complex_and_c_may_not(dtype):
    x, y = np.array([1 + 1j], dtype), np.array([2 - 1j], dtype)
    tb.rot(x, y, 2, 1j)
    assert x == 2 * (1 + 1j) + 1j * (2 - 1j)
    assert y == 2 * (2 - 1j) + 1j * (1 + 1j)
    with pytest.raises(TypeError, match="'c'"):
        tb.rot(x, y, 1j, 0)


@pytest.mark.parametrize("dtype", TYPES)
def test_nothing_is_skipped_where_the_rotation_is_none(dtype):
    x, y = array([NAN, 1, INF], dtype), array([1, NAN, 1], dtype)
    tb.rot(x, y, 1, 0)
    assert np.isnan(x[:2].astype(complex)).all()
    assert np.isnan(y.astype(complex)).all()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("view", [np.s_[:], np.s_[::-2], np.s_[1:1]])
def test_a_vector_and_itself(dtype, view):
    """It is then c x + s x, whatever would be left of y."""
    buffer = array(np.arange(7), dtype)
    wanted = buffer.copy()
    wanted[view] = wanted[view] * TYPES[dtype].type(5)
    tb.rot(buffer[view], buffer[view], 2, 3)
    np.testing.assert_array_equal(buffer, wanted)


@pytest.mark.parametrize("dtype", TYPES)
def test_rotations_of_stacks(dtype):
    x, y = array(np.arange(12).reshape(2, 2, 3), dtype), array(np.ones((2, 2, 3)), dtype)
    tb.rot(x, y.transpose(1, 0, 2), 0, 1)
    assert (x == 1).all()
    np.testing.assert_array_equal(
        -y.transpose(1, 0, 2), array(np.arange(12), dtype).reshape(x.shape)
    )


# ---- rotm ---------------------------------------------------------------------------------------


def whole(param):
    """The four elements of H that a param stands for."""
    flag, h11, h21, h12, h22 = param
    return {
        -2: ((1, 0), (0, 1)),
        -1: ((h11, h12), (h21, h22)),
        0: ((1, h12), (h21, 1)),
        1: ((h11, 1), (-1, h22)),
    }[int(flag)]


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("param", NETLIB_ROTM)
def test_a_modified_rotation_of_vectors(dtype, param):
    x, y = array([1, 2, -3], dtype), array([4, -5, 6], dtype)
    (h11, h12), (h21, h22) = whole(param)
    old = x.astype(float), y.astype(float)
    for given in (param, list(param), np.array(param, np.float64), np.array(param, "f4")):
        x[...], y[...] = old
        first, second = tb.rotm(x, y, given)
        assert first is x
        assert second is y
        np.testing.assert_array_equal(x.astype(float), h11 * old[0] + h12 * old[1])
        np.testing.assert_array_equal(y.astype(float), h21 * old[0] + h22 * old[1])


def test_what_the_flag_stands_for_is_not_read():
    for param in ((0, NAN, 2, -3, NAN), (1, 5, NAN, NAN, -4), (-2, NAN, NAN, NAN, NAN)):
        x, y = np.array([1.0, 2]), np.array([3.0, 4])
        (h11, h12), (h21, h22) = whole(param)
        wanted = h11 * x + h12 * y, h21 * x + h22 * y
        tb.rotm(x, y, param)
        np.testing.assert_array_equal((x, y), wanted)


def test_a_flag_of_minus_2_leaves_nan_as_it_is():
    x = np.array([NAN, -NAN, 1.0])
    y = x[::-1].copy()
    before = x.tobytes(), y.tobytes()
    tb.rotm(x, y, (-2, 0, 0, 0, 0))
    assert (x.tobytes(), y.tobytes()) == before


# ---- rotg ---------------------------------------------------------------------------------------

_C = (0.6, 0.8, -0.6, 0.8, 0.6, 1, 0, 1)
_S = (0.8, 0.6, 0.8, -0.6, 0.8, 0, 1, 0)
_R = (0.5, 0.5, 0.5, -0.5, -0.5, 0, 1, 1)
_Z = (1 / 0.6, 0.6, -1 / 0.6, -0.6, 1 / 0.6, 0, 1, 0)


def rotates(a, b, dtype):
    """Call rotg, and judge what it returns by exact fractions."""
    a, b = array(a, dtype), array(b, dtype)
    found = dict(zip("csrz", tb.rotg(a, b), strict=True))
    expected = references("rotg", {"a": a, "b": b}, {}, {}, DTYPES[dtype].compute)
    for name, reference in expected.items():
        row = DTYPES[DTYPES[dtype].real if name == "c" else dtype]
        verdict = judge(np.asarray(found[name]), reference, row)
        assert verdict.passed, (name, verdict.message)
    return found


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_netlibs_rotations(dtype):
    a, b = np.array(NETLIB_ROTG).T
    found = rotates(a, b, dtype)
    for name, wanted in zip("csrz", (_C, _S, _R, _Z), strict=True):
        np.testing.assert_allclose(found[name], wanted, rtol=8 * np.finfo(dtype).eps)


def test_numbers_of_python():
    assert [type(x) for x in tb.rotg(3, 4.0)] == [np.float64] * 4
    np.testing.assert_allclose(tb.rotg(3, 4), (0.6, 0.8, 5, 1 / 0.6), rtol=1e-15)
    c, s, r, z = tb.rotg(3j, 4)
    assert [type(x) for x in (c, s, r)] == [np.float64, np.complex128, np.complex128]
    assert z is None
    np.testing.assert_allclose((c, s, r), (0.6, 0.8j, 5j), rtol=1e-15)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_nothing_overflows_or_underflows_on_the_way(dtype):
    u, tiny, largest = finfo(DTYPES[dtype].real)
    sizes = [largest / 2, largest**0.5, 1.0, (tiny / u) ** 0.5, tiny / u, 5 * tiny, tiny]
    pairs = np.array([(p, q) for p, q in itertools.product(sizes, repeat=2)])
    a, b = pairs.T
    for sign in (1, -1):
        found = rotates(sign * a, b, dtype)
        assert np.isfinite(found["r"]).all()
        assert np.isfinite(found["c"]).all()
    if DTYPES[dtype].is_complex:
        rotates(a * (0.6 + 0.8j), b * (0.8 - 0.6j), dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_r_has_the_sign_of_the_larger(dtype):
    a, b = np.array(list(itertools.product((-2.0, -1, 1, 2), repeat=2))).T
    _, _, r, _ = tb.rotg(array(a, dtype), array(b, dtype))
    np.testing.assert_array_equal(np.sign(r), np.sign(np.where(abs(a) > abs(b), a, b)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_c_and_s_come_back_from_z(dtype):
    random = np.random.default_rng(5)
    a, b = array(random.standard_normal((2, 200)), dtype)
    c, s, _, z = (x.astype(np.float64) for x in tb.rotg(a, b))
    inside = abs(z) < 1
    from_c, from_s = 1 / z, z
    np.testing.assert_allclose(np.where(inside, s, c), np.where(inside, from_s, from_c), rtol=1e-6)
    other = np.sqrt(1 - np.where(inside, from_s, from_c) ** 2)
    np.testing.assert_allclose(np.where(inside, c, s), other, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_complex_rotations_at_the_axes(dtype):
    for a, b, c, s, r in (
        (0, 0, 1, 0, 0),
        (0, 3j, 0, -1j, 3),
        (0, -2, 0, -1, 2),
        (2j, 0, 1, 0, 2j),
        (-3j, 4, 0.6, -0.8j, -5j),
        (3, 4j, 0.6, -0.8j, 5),
        (-3, -4, 0.6, 0.8, -5),
    ):
        found = rotates(a, b, dtype)
        eps = np.finfo(dtype).eps
        np.testing.assert_allclose([found[x] for x in "csr"], (c, s, r), rtol=8 * eps)
        assert found["z"] is None


def test_one_rotation_for_each_pair():
    a, b = np.arange(1.0, 7).reshape(2, 1, 3), np.ones((2, 1))
    c, s, r, z = tb.rotg(a, b)
    assert {x.shape for x in (c, s, r, z)} == {(2, 2, 3)}
    np.testing.assert_allclose(c * a + s * b, r, rtol=1e-15)
    np.testing.assert_allclose(c * b - s * a, np.zeros((2, 2, 3)), atol=1e-15)


# ---- rotmg --------------------------------------------------------------------------------------


def modifies(dtype, *numbers):
    """(param, d1, d2, x1) after a call on 0-d arrays."""
    d1, d2, x1, y1 = (np.array(x, dtype) for x in numbers)
    param = tb.rotmg(d1, d2, x1, y1)
    assert (param.shape, param.dtype) == ((5,), dtype)
    return param, d1, d2, x1


def test_scaling_completes_h_once():
    """OpenMathLib/OpenBLAS#1452: d1 was scaled, and what its steps had left in H set again."""
    param, d1, d2, x1 = modifies("float64", 5.9e-8, 5.960464e-8, 1, 150)
    wanted = -1, 1.61109346e-6, -2.44140625e-4, 2.44140625e-4, 1.62760417e-6
    np.testing.assert_allclose(param, wanted, rtol=1e-8)
    numbers = 0.99995592822897, 0.98981219860583, 0.03662270484346
    np.testing.assert_allclose((d1, d2, x1), numbers, rtol=1e-12)


@pytest.mark.parametrize(
    ("dtype", "x1", "y1"), [("float32", 13.0, 9.0), ("float64", 5.0, 27.0)], ids=["s", "d"]
)
def test_u_is_not_positive_by_rounding(dtype, x1, y1):
    """d2 is the number next above -(x1 / y1)^2, so that u > 0 but for rounding."""
    kind = np.dtype(dtype).type
    d2 = np.nextafter(kind(-(x1 * x1) / (y1 * y1)), kind(0))
    param, *numbers = modifies(dtype, 1, d2, x1, y1)
    assert param.tolist() == [-1, 0, 0, 0, 0]
    assert numbers == [0, 0, 0]


def test_infinities_end():
    """OpenMathLib/OpenBLAS#6031: an infinite d1 was scaled for ever."""
    param, d1, _, _ = modifies("float64", INF, 1, 1, 1)
    assert d1 == INF
    assert param[0] == 0
    modifies("float32", INF, INF, 1, 1)
    modifies("float64", 1, 1, INF, 1)
    modifies("float64", NAN, 1, 1, 1)


def test_idle_and_void():
    param, *numbers = modifies("float64", 2, 0, 3, 4)
    assert param.tolist() == [-2, 0, 0, 0, 0]
    assert numbers == [2, 0, 3]
    param, *numbers = modifies("float64", -1, 2, 3, 4)
    assert param.tolist() == [-1, 0, 0, 0, 0]
    assert numbers == [0, 0, 0]


def test_numbers_of_python_stay_what_they_are():
    param = tb.rotmg(0.1, 0.3, 1.2, 0.2)
    assert (param.shape, param.dtype) == ((5,), np.float64)
    np.testing.assert_allclose(param, (0, 0, -1 / 6, 0.5, 0), rtol=1e-15)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_second_element_vanishes(dtype):
    """H (x1, y1) = (x1', 0), and d1' x1'^2 is what was there."""
    random = np.random.default_rng(3)
    scales = 2.0 ** random.integers(-30, 30, (2, 500))
    d1, d2 = array(random.uniform(0.1, 1, (2, 500)) * scales, dtype)
    x1, y1 = array(random.standard_normal((2, 500)), dtype)
    new = [x.copy() for x in (d1, d2, x1)]
    param = tb.rotmg(*new, y1)
    assert param.shape == (500, 5)
    rows = np.array([whole(row) for row in param.astype(float)])
    x, y, d, e = (v.astype(float) for v in (x1, y1, d1, d2))
    eps = np.finfo(dtype).eps
    terms = rows[:, 1, 0] * x, rows[:, 1, 1] * y
    assert (abs(sum(terms)) <= 4 * eps * (abs(terms[0]) + abs(terms[1]))).all()
    np.testing.assert_allclose(rows[:, 0, 0] * x + rows[:, 0, 1] * y, new[2], rtol=8 * eps)
    total = new[0].astype(float) * new[2].astype(float) ** 2
    np.testing.assert_allclose(total, d * x * x + e * y * y, rtol=16 * eps)
    for i in range(3):
        x, y = x1[i : i + 1].copy(), y1[i : i + 1].copy()
        tb.rotm(x, y, param[i])
        np.testing.assert_allclose(x, new[2][i], rtol=8 * eps)
