"""Where tileblas.blas is not scipy.linalg.blas: what SciPy lacks, deliberate differences, arrays of
other libraries."""

from __future__ import annotations

import inspect
import random

import numpy as np
import pytest
import scipy.linalg.blas as theirs
from beside_scipy import BEYOND, SMALL, each, level, meant

import tileblas as tb
from tileblas import BlasError, blas
from tileblas.fblas.names import FUNCTIONS

BESIDE = [name for name in BEYOND if level(name) == 1]

# What SciPy lacks, on the elements that are meant: what arrays come to hold, and what is returned.
FORMULAS = {
    "dsdot": lambda x, y: {"sum": np.dot(x.astype("d"), y.astype("d"))},
    "sdsdot": lambda x, y, b=0.0: {"sum": np.float32(b + np.dot(x.astype("d"), y.astype("d")))},
    "iamin": lambda x: {"place": np.argmin(abs(x.real) + abs(x.imag))},
    "axpby": lambda x, y, a=1.0, b=1.0: {"y": a * x + b * y},
    "rot": lambda x, y, c, s: {"x": c * x + s * y, "y": c * y - np.conj(s) * x},
    "axpydot": lambda w, v, u, a=1.0: {"w": w - a * v, "sum": ((w - a * v) * u).sum()},
}


def arrays_of(choose, names, dtype):
    """Vectors of 30 elements, with whole numbers that no sum rounds, or parts of them."""
    made = {name: [choose.randrange(-500, 500) / 64 for _ in range(60)] for name in names}
    step = 1 if np.dtype(dtype).kind == "c" else 2
    kind = {"F": "f", "D": "d"}.get(np.dtype(dtype).char, dtype)
    return {
        name: np.array(numbers, kind)[::step].copy().view(dtype) for name, numbers in made.items()
    }


@pytest.mark.parametrize("name", BESIDE)
def test_what_scipy_lacks(cpu, name):
    choose, routine = random.Random(name), FUNCTIONS[name]
    base = name if name in FORMULAS else "iamin" if name.endswith("amin") else name[1:]
    parameters = inspect.signature(routine).parameters
    steps = (1, 2) if base == "iamin" else (1, 2, -1, -3)
    close = SMALL[routine.dtype.type]
    for _ in range(60):
        arrays = arrays_of(choose, [p for p in "wvuxy" if p in parameters], routine.dtype)
        numbers = {p: choose.choice((2, 0, -1.5)) for p in "abcs" if p in parameters}
        if base == "rot" and routine.dtype.kind == "c":
            numbers["s"] = 0.5 - 2j
        if base != "rot" and choose.random() < 0.3:
            numbers = {}  # the defaults
        n, overwrite = choose.randrange(1, 9), choose.choice((0, 1))
        places = {p: (choose.randrange(3), choose.choice(steps)) for p in arrays}
        keywords = {f"off{p}": offset for p, (offset, _) in places.items()}
        keywords |= {f"inc{p}": step for p, (_, step) in places.items()}
        keywords |= {p: overwrite for p in parameters if p.startswith("overwrite")}
        wanted = {p: array.copy() for p, array in arrays.items()}
        elements = {p: meant(wanted[p], n, *places[p]).copy() for p in arrays}
        results = FORMULAS[base](**elements, **numbers)
        for p in results.keys() & arrays.keys():
            meant(wanted[p], n, *places[p])[...] = results[p]
        found = each(routine(**arrays, **numbers, n=n, **keywords))
        for (p, result), one in zip(results.items(), found, strict=True):
            np.testing.assert_allclose(one, wanted.get(p, result), rtol=close, atol=close)
            if p in arrays:
                assert (one is arrays[p]) == (base == "axpby" or bool(overwrite))
            else:
                assert type(one) is type(result.item())


def test_lists_and_integers_are_cast(cpu):
    assert blas.daxpby([1, 2], [3, 4], a=2, b="-1").tolist() == [-1, 0]
    assert blas.sdsdot([1, 2], [3, 4], b=0.5) == 11.5
    assert blas.isamin([3, -1, 2]) == 1
    w, r = blas.zaxpydot([1, 2], [1, 1], [1j, 1], a=2)
    assert (w.tolist(), r) == ([-1, 0], -1j)


def test_names_that_only_we_have_are_found_by_type():
    assert blas.get_blas_funcs(("asum", "iamax", "iamin", "rot"), dtype="F") == [
        blas.scasum,
        blas.icamax,
        blas.icamin,
        blas.crot,
    ]
    assert blas.get_blas_funcs(("asum", "iamax", "axpby")) == [
        blas.dasum,
        blas.idamax,
        blas.daxpby,
    ]
    with pytest.raises(ValueError, match="dsdot could not be found"):
        blas.get_blas_funcs("sdot")  # dsdot takes float32


def test_empty_vectors_are_allowed(cpu):
    """SciPy refuses them: there is no offset below a length of 0."""
    assert blas.ddot([], []) == blas.dsdot([], []) == blas.dasum([]) == blas.dnrm2([]) == 0
    assert blas.daxpy([], []).shape == blas.daxpby([], []).shape == blas.dcopy([], []).shape == (0,)
    for found in (
        blas.dswap([], []),
        blas.drot([], [], 0, 1),
        blas.drotm([], [], [-2, 0, 0, 0, 0]),
    ):
        assert [one.shape for one in found] == [(0,), (0,)]
    assert blas.dgemv(1.0, np.ones((0, 3)), np.ones(3)).shape == (0,)
    assert blas.dgemv(1.0, np.ones((3, 0)), []).tolist() == [0, 0, 0]


@pytest.mark.parametrize("name", ["isamax", "idamax", "icamax", "izamax"])
def test_a_nan_is_the_largest(cpu, name):
    """SciPy's answer depends on where the NaN is."""
    for place in range(5):
        x = np.ones(5)
        x[place] = np.nan
        assert getattr(blas, name)(x) == place


def test_the_cosine_of_a_complex_rotation_has_no_imaginary_part(cpu):
    """SciPy's crotg returns what was in memory there: BLAS writes a real number."""
    for name in ("crotg", "zrotg"):
        c, s = getattr(blas, name)(3 + 1j, 4 - 2j)
        assert c.imag == 0
        assert (type(c), type(s)) == (complex, complex)
    x, y = blas.zrot([3 + 1j], [4 - 2j], c, s)
    assert y[0] == pytest.approx(0)
    assert abs(x[0]) == pytest.approx(30**0.5)


@pytest.mark.parametrize(
    ("numbers", "param"),
    [
        ((-1, 0, 1, 1), [-1, 0, 0, 0, 0]),  # OpenBLAS: -2, nothing to do
        ((0, 1, 1, 2), [1, 0, 0, 0, 0.5]),  # OpenBLAS: h22 = 0
        ((1, 1, 0, 2), [1, 0, 0, 0, 0]),
    ],
)
def test_a_modified_rotation_is_netlibs_where_a_number_is_zero_or_negative(cpu, numbers, param):
    assert blas.drotmg(*numbers).tolist() == param


def test_what_is_read_only_is_not_written(cpu):
    """SciPy writes it."""
    y = np.zeros(2)
    y.flags.writeable = False
    with pytest.raises(BlasError, match="is read-only"):
        blas.dcopy([1, 2], y)
    assert blas.drot([1, 2], y, 0, 1)[1].tolist() == [-1, -2]  # in a copy


def test_vectors_that_share_elements_are_refused(cpu):
    """SciPy's BLAS reads what it has written, in an order that it does not promise."""
    x = np.arange(4.0)
    for call in (blas.dcopy, blas.daxpy, blas.daxpby, blas.dswap):
        with pytest.raises(BlasError, match="shares elements"):
            call(x, x, n=2, offy=1)
    assert x.tolist() == [0, 1, 2, 3]
    assert blas.dswap(x, x, n=2, offy=2)[0].tolist() == [2, 3, 0, 1]
    assert blas.daxpy(x, x).tolist() == [4, 6, 0, 2]


LIBRARIES = [
    "jax.numpy",
    pytest.param("torch", marks=pytest.mark.gpu),
    pytest.param("cupy", marks=pytest.mark.gpu),
]


def put(library, host):
    """An array of the library: of torch and CuPy on the GPU; what is no array as it is."""
    if not isinstance(host, np.ndarray):
        return host
    module = pytest.importorskip(library)
    return module.asarray(host, **({"device": "cuda"} if library == "torch" else {}))


def host(array):
    for method in ("cpu", "get"):  # of torch, of CuPy
        array = getattr(array, method)() if hasattr(array, method) else array
    return np.asarray(array)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_matrix_as_a_vector_is_read_and_written_by_columns(library):
    x, y = np.arange(6, dtype="f"), np.arange(6, dtype="f").reshape(2, 3)
    expected = theirs.sdot(x, y), theirs.saxpy(x, y, incy=-1)
    with tb.backend("auto"):
        x, y = put(library, x), put(library, y)
        found = blas.sdot(x, y), blas.saxpy(x, y, incy=-1)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(host(one), other)


@pytest.mark.parametrize("library", LIBRARIES[1:])
def test_a_matrix_with_gaps_as_a_vector_is_copied_not_lost(library):
    """Its elements have no flat view that could be written in place; SciPy copies it too."""
    y = put(library, np.zeros((4, 6), "f"))
    with tb.backend("auto"):
        found = blas.saxpy(put(library, np.arange(8.0, dtype="f")), y[:, :2])
    np.testing.assert_array_equal(host(found).reshape(-1, order="F"), np.arange(8))
    assert not host(y).any()


X, Y, A = np.arange(9.0, dtype="f"), np.arange(7.0, dtype="f"), np.arange(12).reshape(3, 4)
Z, SQUARE = np.arange(8.0, dtype="f"), np.arange(1, 10, dtype="f").reshape(3, 3)
PLACE, PLACES = {"offx": 1, "incx": 2}, {"offx": 1, "incx": 2, "offy": 1, "incy": -3, "n": 2}
CALLS = {
    "sdot": ((X, Y), PLACES),
    "snrm2": ((X,), PLACE),
    "sasum": ((X,), PLACE),
    "isamax": ((X,), PLACE),
    "sscal": ((3.0, X), PLACE),
    "scopy": ((X, Y), PLACES),
    "saxpy": ((X, Y), PLACES | {"a": 2.0}),
    "sswap": ((X, Y), PLACES),
    "srot": ((X, Y, 0.6, 0.8), PLACES | {"overwrite_x": 1}),
    "csrot": ((X, Y, 0.6, 0.8), PLACES),
    "srotm": ((X, Y, [-1, 1, 2, 3, 4]), PLACES),
    "srotg": ((X[3], Y[4:5].reshape(())), {}),
    "srotmg": ((2.0, Y[4:5].reshape(()), 1, 3), {}),
    "sgemv": ((2.0, A, X), PLACE | {"y": Y, "incy": -3, "beta": 0.5}),
    "sgbmv": ((4, 4, 1, 1, 2.0, A, X), PLACE | {"y": Z, "incy": -2, "beta": 0.5}),
    "ssymv": ((2.0, SQUARE, X), PLACE | {"lower": 1}),
    "ssbmv": ((1, 2.0, A, X), PLACE | {"incy": -2}),
    "sspmv": ((3, 2.0, X, Y), {"incx": 2, "incy": -2, "y": Z, "beta": 1}),
    "strmv": ((SQUARE, X), PLACE | {"lower": 1, "trans": 1, "overwrite_x": 1}),
    "strsv": ((SQUARE, X), {"incx": -2, "lower": 1}),
    "stbsv": ((1, A, X), PLACE | {"diag": 1}),
    "stpmv": ((3, X, Y), {"incx": -2, "trans": 2}),
    "sger": ((2.0, X[:3], Y[:4]), {"incx": -1, "a": A}),
    "ssyr": ((2.0, X), PLACE | {"n": 3, "a": SQUARE, "lower": 1}),
    "ssyr2": ((2.0, X, Y), PLACES),
    "sspr": ((3, 2.0, X, Z), PLACE | {"overwrite_ap": 1}),
    "sspr2": ((3, 2.0, X, Y, Z), PLACE | {"incy": -2, "lower": 1}),
    "sgemm": ((2.0, A, A), {"trans_b": 1}),
    "ssymm": ((2.0, SQUARE, A), {"lower": 1, "beta": 0.5, "c": A}),
    "ssyrk": ((2.0, A), {"trans": 1, "lower": 1}),
}
IN_PLACE = {
    **{name: [0] for name in ("sscal", "scopy", "saxpy", "srot", "strmv", "sspr")},
    "sswap": [0, 1],
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", CALLS)
def test_arrays_of_other_libraries_come_back_as_such(name, library):
    """SciPy's results with offsets and increments of either sign, and casts from other types."""
    arguments, keywords = CALLS[name]
    own = [v.copy() if isinstance(v, np.ndarray) else v for v in arguments]
    expected = each(getattr(theirs, name)(*own, **keywords))
    there = [put(library, value) for value in arguments]
    keywords = {key: put(library, value) for key, value in keywords.items()}
    with tb.backend("auto"):
        found = each(getattr(blas, name)(*there, **keywords))
    arrays = [
        value for value, own in zip(there, arguments, strict=True) if isinstance(own, np.ndarray)
    ]
    for one, other in zip(found, expected, strict=True):
        assert type(one) is type(arrays[0])
        np.testing.assert_allclose(host(one), other, rtol=1e-6)
    if library != "jax.numpy":
        same = [index for index, one in enumerate(found) if any(one is array for array in arrays)]
        assert same == IN_PLACE.get(name, [])
    else:
        for array, before in zip(there, arguments, strict=True):
            np.testing.assert_array_equal(host(array), before)
    assert blas.get_blas_funcs("axpy", [arrays[0]]).typecode in "sd"


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_place_is_none_and_a_sum_nothing_for_negative_increments(library):
    x = put(library, X)
    with tb.backend("auto"):
        found = blas.isamax(x, incx=-1), blas.isamax(x, n=0), blas.sasum(x, incx=-1)
    assert [type(one) for one in found] == [type(x)] * 3
    assert [host(one).item() for one in found] == [-1, -1, 0]
