"""rotg_kernel and rotmg_kernel in the interpreter, against extended precision and netlib's code."""

import numpy as np
import pytest

pytest.importorskip("triton")
pytest.importorskip("ml_dtypes")
pytestmark = pytest.mark.interpret

from kernel_harness import NUMPY, REAL, UNIT, fenced, placed, rotg, rotmg, wide  # noqa: E402

BLOCK = 64
NUMBERS = ("float32", "float64", "complex64", "complex128")
each_dtype = pytest.mark.parametrize("dtype", NUMBERS)
each_complex = pytest.mark.parametrize("dtype", NUMBERS[2:])
each_real = pytest.mark.parametrize("dtype", NUMBERS[:2])


# ---- rotg ---------------------------------------------------------------------------------------


def rotations(a, b):
    """(c, s, r, z) of pairs, z None for complex numbers; outputs begin as NaN."""
    a, b = np.atleast_1d(a), np.atleast_1d(b)
    real = NUMPY[REAL.get(a.dtype.name, a.dtype.name)]
    c, s, r, z = (np.full(a.shape, np.nan, t) for t in (real, a.dtype, a.dtype, real))
    z = None if a.dtype.kind == "c" else z
    rotg(a, b, c, s, r, z, block=BLOCK)
    return c, s, r, z


def expected(a, b):
    """The same in extended precision, whose range holds every square of float64.

    z is 1 where c is stored as 0.
    """
    is_complex, real = a.dtype.kind == "c", a.real.dtype
    a, b = wide(a), wide(b)
    size_a, size_b = abs(a), abs(b)
    h = np.sqrt(a.real**2 + a.imag**2 + b.real**2 + b.imag**2)
    one = np.ones_like(h)
    if is_complex:
        with np.errstate(all="ignore"):
            phase = np.where(size_a == 0, 1, a / np.where(size_a == 0, 1, size_a))
        h_or_one = np.where(h == 0, 1, h)
        c = np.where(b == 0, one, size_a / h_or_one)
        return c, phase * b.conj() / h_or_one, np.where(b == 0, a, phase * h), None
    r = np.where(np.where(size_a > size_b, a, b) < 0, -h, h)
    safe = np.where(r == 0, 1, r)
    c, s = np.where(b == 0, one, a / safe), np.where(b == 0, 0, b / safe)
    r = np.where(b == 0, a, r)
    with np.errstate(all="ignore"):
        z = np.where(size_a > size_b, s, np.where(c.astype(real) != 0, 1 / c, one))
    return c, s, r, np.where(b == 0, 0, z)


def check(a, b, dtype):
    """Computed in float64 and rounded once more; what underflows does so in the result alone."""
    found = rotations(a, b)
    smallest = wide(np.finfo(REAL.get(dtype, dtype)).smallest_subnormal)
    bar = 16 * UNIT["float64"] + UNIT[dtype]
    most = wide(np.finfo(REAL.get(dtype, dtype)).max)
    for name, value, exact in zip("csrz", found, expected(a, b), strict=True):
        if value is None:
            assert exact is None
            continue
        for part in ("real", "imag"):
            got, want = getattr(wide(value), part), getattr(exact, part)
            inside = abs(want) <= most
            np.testing.assert_array_equal(np.isfinite(got), inside, err_msg=name)
            # A part of a complex number is as good as the whole.
            error = abs(got - want)[inside]
            bound = (bar * abs(exact) + smallest)[inside]
            assert np.all(error <= bound), (name, float(np.max(error / bound)))


def numbers(dtype, seed, n, low, high):
    """Random pairs whose exponents are spread, each for itself."""
    rng = np.random.default_rng(seed)
    parts = [rng.standard_normal(n) * 2.0 ** rng.uniform(low, high, n) for _ in range(4)]
    if dtype.startswith("complex"):
        return (
            (parts[0] + 1j * parts[1]).astype(NUMPY[dtype]),
            (parts[2] + 1j * parts[3]).astype(NUMPY[dtype]),
        )
    return parts[0].astype(NUMPY[dtype]), parts[1].astype(NUMPY[dtype])


@each_dtype
@pytest.mark.parametrize("n", [1, BLOCK - 1, BLOCK, 3 * BLOCK + 5])
def test_any_number_of_pairs(dtype, n):
    check(*numbers(dtype, n, n, -1, 1), dtype)


@each_dtype
def test_magnitudes_of_the_whole_range(dtype):
    """Squares overflow and underflow, quotients are subnormal, and no result suffers."""
    single = REAL.get(dtype, dtype) == "float32"
    low, high = (-149, 124) if single else (-1074, 1020)
    for seed, (least, most) in enumerate(((low, high), (low, low + 40), (high - 40, high))):
        check(*numbers(dtype, seed, 200, least, most), dtype)


@each_dtype
def test_results_beyond_the_largest_number_are_infinite(dtype):
    most = np.finfo(REAL.get(dtype, dtype)).max
    a = np.array([most, most / 4, most], NUMPY[dtype])
    b = np.array([most, most, most / 2**60], NUMPY[dtype])
    check(a, b, dtype)
    c, s, r, _ = rotations(a, b)
    assert np.isinf(r.real).tolist() == [True, True, False]
    assert np.isfinite(c).all()
    assert np.isfinite(s).all()


@each_dtype
def test_pairs_with_zeros(dtype):
    """(0, 0) and (a, 0) are the identity; (0, b) is a quarter turn."""
    values = [3.0, -3.0] + ([4 - 3j] if dtype.startswith("complex") else [])
    for v in np.array(values, NUMPY[dtype]):
        a, b = np.array([0, v, 0, -0.0], v.dtype), np.array([0, 0, v, -0.0], v.dtype)
        c, s, r, z = rotations(a, b)
        if dtype.startswith("complex"):
            size = abs(v)
            turn, whole = v.conj() / size, size
        else:
            turn, whole = 1, v
        np.testing.assert_allclose(c, [1, 1, 0, 1])
        np.testing.assert_allclose(s, [0, 0, turn, 0], rtol=2 * UNIT[dtype])
        np.testing.assert_allclose(r, [0, v, whole, 0], rtol=2 * UNIT[dtype])
        if z is not None:
            np.testing.assert_array_equal(z, [0, 0, 1, 0])


@each_real
def test_the_signs_of_real_rotations_follow_the_larger_number(dtype):
    a = np.array([4, -4, 3, 3, -3, 4, -4, 5], NUMPY[dtype])
    b = np.array([3, 3, 4, -4, 4, -3, -3, 5], NUMPY[dtype])
    _, _, r, z = rotations(a, b)
    np.testing.assert_array_equal(r[:7], [5, -5, 5, -5, 5, 5, -5])
    np.testing.assert_allclose(
        z, [0.6, -0.6, 5 / 3, -5 / 3, -5 / 3, -0.6, 0.6, np.sqrt(2)], rtol=2 * UNIT[dtype]
    )


@each_complex
def test_known_complex_rotations(dtype):
    """c is real, r has the phase of a."""
    a, b = np.array([3j, 3 + 0j], NUMPY[dtype]), np.array([4 + 0j, 4j], NUMPY[dtype])
    c, s, r, _ = rotations(a, b)
    np.testing.assert_allclose(c, [0.6, 0.6], rtol=2 * UNIT[dtype])
    np.testing.assert_allclose(s, [0.8j, -0.8j], rtol=2 * UNIT[dtype])
    np.testing.assert_allclose(r, [5j, 5], rtol=2 * UNIT[dtype])


@each_dtype
def test_nan_stays_nan(dtype):
    a, b = np.array([np.nan, 1, np.nan], NUMPY[dtype]), np.array([1, np.nan, np.nan], NUMPY[dtype])
    for value in rotations(a, b)[:3]:
        assert np.isnan(wide(value)).all()


@each_dtype
def test_batches_and_gaps_of_every_operand(dtype):
    given = numbers(dtype, 9, 2 * 3 * 70, -5, 5)
    a, b = (placed(x.reshape(2, 3, 70), [1, 2, 1])[0] for x in given)
    real = NUMPY[REAL.get(dtype, dtype)]
    steps = {"c": [1, 1, 2], "s": [2, 1, -1], "r": [1, 1, 1], "z": [1, -1, 3]}
    types = {"c": real, "s": a.dtype, "r": a.dtype, "z": real}
    if a.dtype.kind == "c":
        del types["z"]
    outputs = {key: placed(np.zeros(a.shape, t), steps[key])[0] for key, t in types.items()}
    rotg(a, b, **outputs, block=BLOCK)
    for name, value in zip("csrz", rotations(a.reshape(-1), b.reshape(-1)), strict=True):
        if value is not None:
            np.testing.assert_array_equal(outputs[name].reshape(-1), value)


@each_dtype
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_no_number_beyond_the_pairs_is_accessed(dtype, after):
    a, b = (fenced(x, after) for x in numbers(dtype, 10, BLOCK + 5, -1, 1))
    real = NUMPY[REAL.get(dtype, dtype)]
    c, s, r, z = (fenced(np.zeros(a.shape, t), after) for t in (real, a.dtype, a.dtype, real))
    rotg(a, b, c, s, r, z if a.dtype.kind == "f" else None, block=BLOCK)
    np.testing.assert_array_equal(c, rotations(a, b)[0])


# ---- rotmg --------------------------------------------------------------------------------------

GAM, LEAST, MOST = 4096.0, 5.9604645e-8, 16777216.0


def netlib(d1, d2, x1, y1):
    """(d1, d2, x1, flag, h11, h21, h12, h22) by netlib's algorithm, each operation rounded.

    It leaves H as it is from its second scaling on, and an infinite d1 or d2 too.
    """
    one, zero = type(d1)(1), type(d1)(0)
    void = (zero,) * 3 + (-one,) + (zero,) * 4
    if d1 < 0:
        return void
    p2 = d2 * y1
    if p2 == 0:
        return d1, d2, x1, -2 * one, zero, zero, zero, zero
    p1 = d1 * x1
    q1, q2 = p1 * x1, p2 * y1
    h11 = h21 = h12 = h22 = zero
    if abs(q1) > abs(q2):
        h21, h12 = -y1 / x1, p2 / p1
        u = one - h12 * h21
        if u <= 0:
            return void
        flag, d1, d2, x1 = zero, d1 / u, d2 / u, x1 * u
    elif q2 < 0:
        return void
    else:
        h11, h22 = p1 / p2, x1 / y1
        u = one + h11 * h22
        flag, d1, d2, x1 = one, d2 / u, d1 / u, y1 * u
    gam = type(d1)(GAM)

    def off(d):
        return d != 0 and np.isfinite(d) and not LEAST < abs(d) < MOST

    def full():
        if flag == 0:
            return one, h21, h12, one
        return (h11, -one, one, h22) if flag == 1 else (h11, h21, h12, h22)

    while off(d1):
        h11, h21, h12, h22 = full()
        flag, up = -one, gam if abs(d1) <= LEAST else one / gam
        d1, x1, h11, h12 = d1 * up * up, x1 / up, h11 / up, h12 / up
    while off(d2):
        h11, h21, h12, h22 = full()
        flag, up = -one, gam if abs(d2) <= LEAST else one / gam
        d2, h21, h22 = d2 * up * up, h21 / up, h22 / up
    return d1, d2, x1, flag, h11, h21, h12, h22


def modified(*given):
    """d1, d2, x1 as updated and the five parameters, for each set of four numbers."""
    d1, d2, x1, y1 = (np.array(v) for v in given)
    param = np.full((*d1.shape, 5), np.nan, d1.dtype)
    rotmg(d1, d2, x1, y1, param, block=BLOCK)
    np.testing.assert_array_equal(y1, given[3])
    return np.concatenate([np.stack([d1, d2, x1], -1), param], -1)


def reference(*given):
    with np.errstate(all="ignore"):
        rows = [netlib(*four) for four in zip(*(v.reshape(-1) for v in given), strict=True)]
    return np.array(rows, given[0].dtype).reshape(*given[0].shape, 8)


def fours(dtype, seed, n, low=-1.0, high=1.0):
    """Random numbers of either sign; d1 is positive for most."""
    rng = np.random.default_rng(seed)
    d1, d2, x1, y1 = rng.standard_normal((4, n)) * 2.0 ** rng.uniform(low, high, (4, n))
    d1 = np.where(rng.random(n) < 0.8, abs(d1), d1)
    d2 = np.where(rng.random(n) < 0.7, abs(d2), d2)
    return [v.astype(NUMPY[dtype]) for v in (d1, d2, x1, y1)]


@each_real
@pytest.mark.parametrize("n", [1, BLOCK - 1, BLOCK, 3 * BLOCK + 5])
def test_modified_rotations_have_netlibs_bits(dtype, n):
    given = fours(dtype, n, n)
    np.testing.assert_array_equal(modified(*given), reference(*given))


@each_real
@pytest.mark.parametrize("spread", [30, 60, 120])
def test_modified_rotations_are_brought_to_scale(dtype, spread):
    given = fours(dtype, spread, 200, -spread, spread)
    found = modified(*given)
    np.testing.assert_array_equal(found, reference(*given))
    flags = set(found[:, 3])
    assert flags >= {-1, 0} if spread < 120 else -1 in flags


@each_real
def test_every_kind_of_modified_rotation_occurs(dtype):
    given = fours(dtype, 5, 300)
    assert set(modified(*given)[:, 3]) == {-1, 0, 1}
    given[1][:] = 0
    given[0][:] = abs(given[0])
    found = modified(*given)
    assert set(found[:, 3]) == {-2}
    np.testing.assert_array_equal(found[:, :3], np.stack(given[:3], -1))


@each_real
def test_modified_rotations_annihilate(dtype):
    """H [x1 y1] is (new x1, 0), and the scaled norm stays: in extended precision."""
    d1, d2, x1, y1 = (abs(v) + v.dtype.type(0.01) for v in fours(dtype, 6, 200, -8, 8))
    n1, n2, nx, flag, h11, h21, h12, h22 = wide(modified(d1, d2, x1, y1)).T
    d1, d2, x1, y1 = map(wide, (d1, d2, x1, y1))
    h11, h22 = (np.where(flag == 0, 1, h) for h in (h11, h22))
    h12, h21 = np.where(flag == 1, 1, h12), np.where(flag == 1, -1, h21)
    eps = 16 * wide(UNIT[dtype])
    assert np.all(abs(h11 * x1 + h12 * y1 - nx) <= eps * abs(nx))
    assert np.all(abs(h21 * x1 + h22 * y1) <= eps * (abs(h21 * x1) + abs(h22 * y1)))
    norm = d1 * x1**2 + d2 * y1**2
    assert np.all(abs(n1 * nx**2 - norm) <= eps * norm)
    assert np.all(n1 * n2 > 0)


@each_real
def test_special_modified_rotations_end(dtype):
    """netlib's loops never end for infinite, and for some subnormal, d1 and d2."""
    info = np.finfo(dtype)
    values = [0, -0.0, 1, -1, np.inf, -np.inf, np.nan, info.max, info.smallest_subnormal, info.tiny]
    grid = np.meshgrid(values, values, [1, -2, 0, np.inf], [1, 3, np.nan])
    some = np.random.default_rng(9).permutation(1200)[:256]
    given = [v.reshape(-1)[some].astype(NUMPY[dtype]) for v in grid]
    np.testing.assert_array_equal(modified(*given), reference(*given))


@each_real
def test_modified_rotations_of_batches_and_gaps(dtype):
    given = [v.reshape(2, 3, 40) for v in fours(dtype, 7, 240)]
    views = [placed(v, [1, 2, 3])[0] for v in given[:3]]
    views.append(np.broadcast_to(given[3][:1], (2, 3, 40)))
    given[3] = views[3]
    param, _ = placed(np.zeros((2, 3, 40, 5), given[0].dtype), [1, 1, 2, 1])
    rotmg(*views, param, block=BLOCK)
    found = np.concatenate([np.stack(views[:3], -1), param], -1)
    np.testing.assert_array_equal(found, reference(*given))


@each_real
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_no_number_beyond_a_modified_rotation_is_accessed(dtype, after):
    given = fours(dtype, 8, BLOCK + 5)
    placed_numbers = [fenced(v, after) for v in given]
    param = fenced(np.zeros((BLOCK + 5, 5), given[0].dtype), after)
    rotmg(*placed_numbers, param, block=BLOCK)
    np.testing.assert_array_equal(param, reference(*given)[:, 3:])
