"""Sums, places and updates of vectors: what the checks of grids do not say by themselves."""

import numpy as np
import pytest

import tileblas as tb
from tileblas.arrays.ingest import ingest
from tileblas.arrays.scalars import parse
from tileblas.backends import cpu as cpu_backend
from tileblas.check.tolerance import finfo
from tileblas.core.canon import canonical, results
from tileblas.core.dtypes import DTYPES, numpy_dtype
from tileblas.core.operand import HOST, NEG
from tileblas.routines.registry import ROUTINES

pytestmark = pytest.mark.usefixtures("backend")

TYPES = {name: numpy_dtype(row) for name, row in DTYPES.items()}
COMPLEX = [name for name, row in DTYPES.items() if row.is_complex]
NAN, INF = float("nan"), float("inf")
each_dtype = pytest.mark.parametrize("dtype", TYPES)


def array(values, dtype):
    return np.array(values).astype(TYPES[dtype])


def refuses(argument, position, call, *untouched):
    """The call raises BlasError for the argument, and the arrays keep their bytes."""
    before = [array.tobytes() for array in untouched]
    with pytest.raises(tb.BlasError) as caught:
        call()
    assert (caught.value.argument, caught.value.position) == (argument, position)
    assert [array.tobytes() for array in untouched] == before


# ---- places -------------------------------------------------------------------------------------


@each_dtype
@pytest.mark.parametrize(
    ("values", "place"),
    [
        ([5, INF, NAN, 8, 9], 2),
        ([5, NAN, INF, 8, 9], 1),
        ([0, NAN, 2], 1),
        ([1, INF, NAN], 2),
        ([1, -INF, INF], 1),
        ([NAN, NAN], 0),
        ([42] * 4, 0),
        ([8, -7, 9, 5, 9, 8, 7, 7], 2),
        ([-9, 9], 0),
        ([0, 0, 0], 0),
        ([-0.0, 0.0], 0),
        ([3], 0),
    ],
)
def test_the_first_of_the_largest(dtype, values, place):
    assert tb.iamax(array(values, dtype)) == place


@each_dtype
@pytest.mark.parametrize(
    ("values", "place"),
    [
        ([5, 1, NAN, 8, NAN], 2),
        ([INF, 3, -INF], 1),
        ([INF, -INF], 0),
        ([NAN, 0], 0),
        ([8, -7, 9, 5, -5, 8], 3),
        ([42] * 4, 0),
        ([2, 0, -0.0], 1),
    ],
)
def test_the_first_of_the_smallest(dtype, values, place):
    assert tb.iamin(array(values, dtype)) == place


@pytest.mark.parametrize("dtype", COMPLEX)
def test_nan_and_inf_in_either_part(dtype):
    for special, low in ((NAN, 3), (INF, 0)):
        for part in ("real", "imag"):
            x = np.full(5, 1 + 1j, dtype)
            getattr(x, part)[3] = special
            assert tb.iamax(x) == 3
            assert tb.iamin(x) == low
    x = np.array([complex(INF, 1), complex(INF, NAN), 1], dtype)
    assert tb.iamax(x) == tb.iamin(x) == 1


@pytest.mark.parametrize("dtype", COMPLEX)
def test_sums_of_parts_compare_as_if_they_could_not_overflow(dtype):
    _, _, largest = finfo(DTYPES[dtype].real)
    k = np.arange(10)
    x = array(largest * ((k + 2) / (k + 3)) * (1 + 1j), dtype)
    assert tb.iamax(x) == 9
    assert tb.iamin(x) == 0
    assert tb.iamax(x[::-1]) == 0
    with_infinity = np.append(x, array([INF], dtype))
    assert tb.iamax(with_infinity) == 10
    assert tb.iamin(with_infinity[::-1]) == 10
    assert tb.iamax(array([complex(largest, 0), complex(largest / 2, largest)], dtype)) == 1


@each_dtype
@pytest.mark.parametrize("start", [1, 2, 3, 5, 7])
@pytest.mark.parametrize("step", [1, 3])
def test_places_are_counted_within_the_view(dtype, start, step):
    x = array(np.arange(100), dtype)[start::step]
    assert tb.iamax(x) == len(x) - 1
    assert tb.iamin(x) == 0
    assert tb.iamax(x[::-1]) == 0
    assert tb.iamin(-x[::-1]) == len(x) - 1


@each_dtype
def test_subnormal_numbers_are_told_apart(dtype):
    _, tiny, _ = finfo(DTYPES[dtype].real)
    x = array([2 * tiny, -3 * tiny, tiny, 3 * tiny, -tiny], dtype)
    assert (tb.iamax(x), tb.iamin(x)) == (1, 2)
    assert tb.asum(x) == 10 * tiny


@each_dtype
def test_a_place_is_an_int64(dtype):
    got = tb.iamax(array([1, 2], dtype))
    assert type(got) is np.int64
    got = tb.iamin(array([[[1, 2], [3, 2]], [[0, 0], [5, -4]]], dtype))
    assert (type(got), got.dtype) == (np.ndarray, np.int64)
    np.testing.assert_array_equal(got, [[0, 1], [0, 1]])


def test_places_of_the_first_among_many_programs():
    x = np.ones(20_011, np.float32)
    assert (tb.iamax(x), tb.iamin(x)) == (0, 0)
    x[[9_000, 9_001, 20_010]] = -2
    assert tb.iamax(x) == 9_000
    x[[19_999, 20_000]] = NAN
    assert (tb.iamax(x), tb.iamin(x)) == (19_999, 19_999)


@pytest.mark.parametrize("shape", [(0,), (3, 0)])
def test_an_empty_vector_has_no_largest_element(shape):
    for function in (tb.iamax, tb.iamin):
        refuses("x", 2, lambda function=function: function(np.ones(shape)))
    assert tb.iamax(np.ones((0, 3))).shape == (0,)


# ---- sums ---------------------------------------------------------------------------------------


@each_dtype
def test_sums_of_magnitudes(dtype):
    got = tb.asum(array([3, -4, 0, 5], dtype))
    assert type(got) is TYPES[DTYPES[dtype].real].type
    assert got == 12
    assert tb.asum(array([], dtype)) == 0
    np.testing.assert_array_equal(tb.asum(array([[1, -2], [-3, 4]], dtype)), [3, 7])
    assert np.isnan(float(tb.asum(array([INF, NAN, 1], dtype))))
    assert tb.asum(array([1, -INF, INF], dtype)) == INF


@pytest.mark.parametrize("dtype", COMPLEX)
def test_both_parts_are_summed(dtype):
    assert tb.asum(np.array([3 - 4j, -5j, 1], dtype)) == 13
    assert np.isnan(tb.asum(np.array([complex(INF, NAN)], dtype)))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_sums_do_not_stall(dtype):
    """A sum of ones in float16 stalls at 2048, in bfloat16 at 256."""
    assert tb.asum(-np.ones(4096, TYPES[dtype])) == 4096


def test_products_that_single_precision_loses():
    """1 + 2^-23 squared, less 1 + 2^-22, is 2^-46."""
    x = np.array([1 + 2.0**-23, -1], np.float32)
    y = np.array([1 + 2.0**-23, 1 + 2.0**-22], np.float32)
    got = tb.dsdot(x, y)
    assert (type(got), got) == (np.float64, 2.0**-46)
    got = tb.sdsdot(x, y)
    assert (type(got), got) == (np.float32, 2.0**-46)
    assert tb.sdsdot(x, y, alpha=2.0**-46) == 2.0**-45
    assert tb.dsdot(np.full(2, 3e38, np.float32), np.ones(2, np.float32)) > 5e38


def test_alpha_is_added_before_the_sum_is_rounded():
    """2^24 + 1 is no number of float32, but less 2^24 it is 1."""
    x = np.array([2.0**12, 1], np.float32)
    assert tb.sdsdot(x, x, alpha=-(2.0**24)) == 1
    assert tb.sdsdot(x[:0], x[:0], alpha=3) == 3
    assert tb.dsdot(x[:0], x[:0]) == 0
    np.testing.assert_array_equal(tb.sdsdot(np.stack([x, x]), x / x, alpha=1), [4098, 4098])


# ---- moves --------------------------------------------------------------------------------------


def nans(dtype):
    """NaNs of several signs and payloads among numbers, as the bits of a type."""
    size = np.dtype(TYPES[dtype]).itemsize
    exponent = {"float16": 0x7C00, "bfloat16": 0x7F80}.get(dtype)
    if exponent is None:
        kind = np.dtype(f"u{np.dtype(DTYPES[dtype].real).itemsize}")
        exponent = int(np.array(INF, DTYPES[dtype].real).view(kind))
        size = kind.itemsize
    kind = np.dtype(f"u{size}")
    quiet = exponent | exponent >> 1
    bits = [quiet | 1, 1 << (8 * size - 1) | quiet | 5, 3, exponent, quiet | 2, 0]
    return np.array(bits, kind).view(TYPES[dtype])


@each_dtype
@pytest.mark.parametrize("step", [1, 2, -1])
def test_copy_and_swap_keep_every_bit(dtype, step):
    x = np.repeat(nans(dtype), abs(step))[::step]
    y = array(np.arange(len(x)), dtype)
    old = y.copy()
    assert tb.copy(x, y) is y
    assert y.tobytes() == x.tobytes()
    z = old.copy()
    first, second = tb.swap(y, z)
    assert first is y
    assert second is z
    assert (y.tobytes(), z.tobytes()) == (old.tobytes(), x.tobytes())


def test_copy_broadcasts():
    y = np.zeros((2, 3, 4))
    tb.copy(np.arange(4.0), y)
    assert (y == np.arange(4)).all()
    tb.copy(np.broadcast_to(np.arange(12.0).reshape(3, 4), (2, 3, 4)), y)
    assert (y == np.arange(12).reshape(3, 4)).all()


@each_dtype
@pytest.mark.parametrize("view", [np.s_[:], np.s_[::-1], np.s_[1::2], np.s_[2:2]])
def test_one_and_the_same_view(dtype, view):
    buffer = array(np.arange(9), dtype)
    old = buffer.copy()
    x = buffer[view]
    tb.copy(x, buffer[view])
    tb.swap(x, buffer[view])
    assert buffer.tobytes() == old.tobytes()
    tb.axpby(x, buffer[view], alpha=2, beta=-1)
    assert buffer.tobytes() == old.tobytes()
    tb.axpby(x, buffer[view], alpha=2, beta=3)
    wanted = old.copy()
    wanted[view] = old[view] * TYPES[dtype].type(5)
    np.testing.assert_array_equal(buffer, wanted)


def test_partial_overlap_is_refused():
    buffer = np.arange(12.0)
    for x, y in (
        (buffer[:5], buffer[1:6]),
        (buffer[:5], buffer[:5][::-1]),
        (buffer[:5], buffer[:9:2]),
    ):
        refuses("y", 4, lambda x=x, y=y: tb.copy(x, y), buffer)
        refuses("y", 6, lambda x=x, y=y: tb.axpby(x, y), buffer)
        for call in (
            lambda x=x, y=y: tb.swap(x, y),
            lambda x=x, y=y: tb.rot(x, y, 0.6, 0.8),
            lambda x=x, y=y: tb.rotm(x, y, (-1, 1, 2, 3, 4)),
        ):
            refuses("x", 2, call, buffer)


def test_read_only_outputs_are_refused():
    x, y = np.ones(3), np.ones(3)
    y.flags.writeable = False
    refuses("y", 4, lambda: tb.copy(x, y), y)
    refuses("y", 6, lambda: tb.axpby(x, y, alpha=0), y)
    refuses("y", 4, lambda: tb.swap(x, y), x, y)
    refuses("x", 2, lambda: tb.swap(y, x), x, y)
    refuses("x", 2, lambda: tb.rot(y, x, 1, 0), x, y)
    refuses("y", 4, lambda: tb.rotm(x, y, (-2, 0, 0, 0, 0)), x, y)
    refuses("z", 9, lambda: tb.axpydot(x, x, x, y), y)
    assert tb.copy(y, x) is x


def test_interleaved_columns_are_swapped():
    buffer = np.arange(20.0).reshape(10, 2)
    wanted = buffer[:, ::-1].copy()
    tb.swap(buffer[:, 0], buffer[:, 1])
    np.testing.assert_array_equal(buffer, wanted)


# ---- updates ------------------------------------------------------------------------------------


@each_dtype
def test_what_a_zero_drops_is_not_read(dtype):
    bad, good = array([NAN, INF, NAN], dtype), array([1, 2, 3], dtype)
    y = bad.copy()
    assert tb.axpby(good, y, alpha=2, beta=0) is y
    np.testing.assert_array_equal(y, array([2, 4, 6], dtype))
    tb.axpby(bad, y, alpha=0, beta=-1)
    np.testing.assert_array_equal(y, array([-2, -4, -6], dtype))
    assert (tb.axpby(bad, bad.copy(), alpha=0, beta=0) == 0).all()
    assert tb.axpby(bad, y, alpha=0, beta=1) is y
    np.testing.assert_array_equal(y, array([-2, -4, -6], dtype))


@each_dtype
def test_updates_by_both_scalars(dtype):
    x, y = array([1, 2, 3, 4], dtype), array([10, 20, 30, 40], dtype)
    np.testing.assert_array_equal(tb.axpby(x, y), array([11, 22, 33, 44], dtype))
    stack = array([[1, 1], [2, 2]], dtype)
    tb.axpby(array([3, 5], dtype), stack, alpha=-1, beta=2)
    np.testing.assert_array_equal(stack, array([[-1, -3], [1, -1]], dtype))


@pytest.mark.parametrize("dtype", COMPLEX)
def test_real_scalars_scale_parts_separately(dtype):
    x = np.array([complex(INF, 1)], dtype)
    got = tb.axpby(x, x.copy(), alpha=2.0, beta=3.0)
    assert (got.real, got.imag) == (INF, 5)


@each_dtype
def test_axpydot(dtype):
    w, v, u = (array(values, dtype) for values in ([5, 7, 9], [1, 2, 3], [1, -1, 2]))
    z, r = tb.axpydot(w, v, u, alpha=2)
    assert (type(z), z.dtype, type(r)) == (np.ndarray, TYPES[dtype], TYPES[dtype].type)
    np.testing.assert_array_equal(z, array([3, 3, 3], dtype))
    assert r == 6
    given = array([NAN] * 3, dtype)
    z, r = tb.axpydot(w, array([NAN] * 3, dtype), u, given, alpha=0)
    assert z is given
    np.testing.assert_array_equal(z, w)
    assert r == 16
    assert tb.axpydot(w[:0], v[:0], u[:0])[1] == 0


@each_dtype
@pytest.mark.parametrize("name", ["w", "v", "u"])
def test_z_may_be_the_very_view_of_an_input(dtype, name):
    vectors = {
        n: array(values, dtype) for n, values in (("w", [5, 7]), ("v", [1, 2]), ("u", [3, 1]))
    }
    z, r = tb.axpydot(**vectors, z=vectors[name], alpha=2)
    assert z is vectors[name]
    np.testing.assert_array_equal(z, array([3, 3], dtype))
    assert r == 12


@pytest.mark.parametrize("dtype", COMPLEX)
def test_u_is_not_conjugated(dtype):
    z, r = tb.axpydot(*(np.array([x], dtype) for x in (1j, 1, 2j)), alpha=1j)
    assert (z, r) == (0, 0)
    assert tb.axpydot(*(np.array([x], dtype) for x in (1j, 1, 2j)), alpha=-1)[1] == -2 + 2j


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_r_is_of_z_as_it_is_rounded(dtype):
    u, _, _ = finfo(dtype)
    one = np.ones(1, TYPES[dtype])
    for alpha in (-0.75 * u, -1.5 * u):
        z, r = tb.axpydot(one, one, one, alpha=alpha)
        assert r == z[0]
    # 1 + 3/4 u is rounded to 1: so are the 1000 of them before they are added.
    many = np.ones(1000, np.float16)
    assert tb.axpydot(many, many, many, alpha=-0.75 * 2.0**-11)[1] == 1000


def test_axpydot_of_stacks():
    w, v, u = np.arange(24.0).reshape(2, 3, 4), np.ones((3, 4)), np.ones((2, 1, 4))
    z, r = tb.axpydot(w, v, u, alpha=3)
    np.testing.assert_array_equal(z, w - 3)
    np.testing.assert_array_equal(r, (w - 3).sum(-1))


def test_the_sign_of_a_lazily_negated_vector_is_not_that_of_the_term_of_sdsdot():
    """torch's negative bit: the sum changes its sign, alpha does not."""
    x, spec = np.arange(1, 5, dtype="f4"), ROUTINES["sdsdot"]
    operands = [ingest(x)._replace(flags=NEG), ingest(x)]
    scalars = {"alpha": parse(spec, "alpha", 100, DTYPES["float32"], HOST)}
    made = results(spec, operands, (4,), (), DTYPES["float32"])
    out = ingest(np.zeros((), "f4"))
    problem = canonical(spec, operands, made, (4,), (), {}, scalars)
    run = cpu_backend.runner(problem)
    run({"x": operands[0], "y": operands[1], "out": out}, scalars, None)
    assert out.array[()] == 100 - 30
