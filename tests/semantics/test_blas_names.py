"""tileblas.blas beside scipy.linalg.blas: the same results, and errors where SciPy has them."""

from __future__ import annotations

import inspect
import random
import warnings

import numpy as np
import pytest
import scipy.linalg.blas as theirs

import tileblas as tb
from tileblas import BlasError, blas
from tileblas.fblas.names import FUNCTIONS

SMALL = {np.float32: 1e-5, np.float64: 1e-12, np.complex64: 1e-5, np.complex128: 1e-12}
WITHOUT_A_VALUE = object()


@pytest.fixture(autouse=True)
def on_the_cpu(cpu):
    """SciPy's arrays are NumPy's; the other libraries' tests are those of the array interface."""


def copied(value):
    """An array of its own that lies as another does, with gaps or by columns; else the value."""
    if not isinstance(value, np.ndarray):
        return value
    if value.ndim == 1 and value.strides[0] > value.itemsize:
        return np.repeat(value, 2)[::2]
    return value.copy(order="K")


def outcome(function, arguments, keywords):
    """What a call returns, the arrays after it, and which of them is what it returned."""
    arguments = [copied(value) for value in arguments]
    keywords = {name: copied(value) for name, value in keywords.items()}
    arrays = [v for v in (*arguments, *keywords.values()) if isinstance(v, np.ndarray)]
    try:
        found = function(*arguments, **keywords)
    except Exception:
        return WITHOUT_A_VALUE, arrays, None
    return found, arrays, [found is array for array in arrays]


def same(name, *arguments, **keywords):
    """Assert that both do the same, to the values of every array and which of them is returned.

    Whether that was not to raise.
    """
    ours, our_arrays, our_own = outcome(getattr(blas, name), arguments, keywords)
    other, their_arrays, their_own = outcome(getattr(theirs, name), arguments, keywords)
    call = f"{name} {arguments} {keywords}"
    assert (ours is WITHOUT_A_VALUE) == (other is WITHOUT_A_VALUE), call
    if ours is WITHOUT_A_VALUE:
        return False
    close = SMALL[FUNCTIONS[name].dtype.type]
    assert type(ours) is type(other), call
    assert our_own == their_own, call
    for mine, its in zip((ours, *our_arrays), (other, *their_arrays), strict=True):
        assert np.shape(mine) == np.shape(its), call
        np.testing.assert_allclose(mine, its, rtol=close, atol=close, err_msg=call)
    if isinstance(ours, np.ndarray):
        assert ours.dtype == other.dtype, call
        assert ours.flags.f_contiguous == other.flags.f_contiguous, call
    return True


def values(choose, shape, dtype):
    found = np.array([choose.uniform(-2, 2) for _ in range(int(np.prod(shape)))]).reshape(shape)
    if np.dtype(dtype).kind == "c":
        found = found + 1j * found[::-1]
    return found.astype(dtype)


def vector(choose, dtype, length):
    """A vector of the type, or of another, with gaps, or as a list."""
    x = values(choose, (length,), dtype)
    kinds = (
        lambda: x,
        lambda: x.repeat(2)[::2],
        lambda: x.astype(np.float32 if x.dtype.kind != "c" else np.complex64),
        x.tolist,
        lambda: x.reshape(1, -1),
    )
    return choose.choice((kinds[0], *kinds))()


def place(choose, *names):
    found = {}
    for name in names:
        if choose.random() < 0.6:
            found[f"inc{name}"] = choose.choice((1, 2, 3, -1, -2, 0))
        if choose.random() < 0.4:
            found[f"off{name}"] = choose.choice((0, 1, 2, 5, -1, 30))
    return found


LEVEL_1 = [name for name, routine in FUNCTIONS.items() if "gem" not in name]


@pytest.mark.parametrize("name", LEVEL_1)
def test_vectors(name):
    choose, routine = random.Random(name), FUNCTIONS[name]
    names = [p for p in inspect.signature(routine).parameters if p in ("x", "y")]
    worked = 0
    for _ in range(300):
        arrays = [vector(choose, routine.dtype, choose.randrange(1, 12)) for _ in names]
        keywords = place(choose, *names)
        if choose.random() < 0.4:
            keywords["n"] = choose.choice((0, 1, 2, 4, 9, -1))
        if "scal" in name:
            arrays.insert(0, choose.choice((2, 0.5, 1, 0, np.float32(3), np.array([2.0]), 1 + 2j)))
        elif "axpy" in name and choose.random() < 0.5:
            keywords["a"] = choose.choice((2, 0, -1.5, 1j))
        if name in ("csscal", "zdscal"):
            keywords["overwrite_x"] = choose.choice((0, 1))
        worked += same(name, *arrays, **keywords)
    assert 90 < worked < 270


@pytest.mark.parametrize("name", ["sgemv", "dgemv", "cgemv", "zgemv"])
def test_matrix_vector_products(name):
    choose, dtype, worked = random.Random(name), FUNCTIONS[name].dtype, 0
    for _ in range(300):
        m, n = choose.randrange(1, 6), choose.randrange(1, 6)
        a = values(choose, (m, n), dtype)
        a = choose.choice((a, np.asfortranarray(a), a.tolist(), a[::-1]))
        keywords = place(choose, "x", "y")
        if choose.random() < 0.5:
            keywords["trans"] = choose.choice((0, 1, 2, 3))
        if choose.random() < 0.5:
            keywords["y"] = vector(choose, dtype, choose.randrange(1, 14))
            keywords["beta"] = choose.choice((0, 1, -2))
            keywords["overwrite_y"] = choose.choice((0, 1))
        x = vector(choose, dtype, choose.randrange(1, 14))
        worked += same(name, choose.choice((1, 2.5, 0)), a, x, **keywords)
    assert 50 < worked < 250


@pytest.mark.parametrize("name", ["sgemm", "dgemm", "cgemm", "zgemm"])
def test_products(name):
    choose, dtype, worked = random.Random(name), FUNCTIONS[name].dtype, 0
    for _ in range(200):
        m, n, k = (choose.randrange(1, 5) for _ in range(3))
        letters = [choose.choice((0, 1, 2)) for _ in range(2)]
        a = values(choose, (k, m) if letters[0] else (m, k), dtype)
        b = values(choose, (n, k) if letters[1] else (k, n), dtype)
        if choose.random() < 0.1:
            b = b[:-1]
        a, b = (choose.choice((v, np.asfortranarray(v), v[:, ::-1])) for v in (a, b))
        keywords = dict(zip(("trans_a", "trans_b"), letters, strict=True))
        if choose.random() < 0.5:
            c = values(choose, (m, n), dtype)
            column = c[:, 0] if n == 1 else c  # comes back as the vector that it is
            keywords["c"] = choose.choice((c, np.asfortranarray(c), column))
            keywords |= {"beta": choose.choice((0, 1, -2)), "overwrite_c": choose.choice((0, 1))}
        worked += same(name, choose.choice((1, 2.5, 0)), a, b, **keywords)
    assert 120 < worked < 200


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_parameters_are_scipys(name):
    """SciPy's are in the first line of its documentation: z = saxpy(x,y,[n,a,offx,...])."""
    line = getattr(theirs, name).__doc__.splitlines()[0]
    listed = line[line.index("(") + 1 : -1].replace("[", "").replace("]", "")
    assert list(inspect.signature(FUNCTIONS[name]).parameters) == listed.split(",")


def test_an_array_of_the_type_is_written_in_place_and_no_other():
    y, integers = np.ones(3), np.ones(3, int)
    assert blas.daxpy([1, 2, 3], y) is y
    assert y.tolist() == [2, 3, 4]
    assert blas.daxpy([1, 2, 3], integers).tolist() == [2, 3, 4]
    assert integers.tolist() == [1, 1, 1]


def test_empty_vectors_are_allowed():
    """SciPy refuses them: there is no offset below a length of 0."""
    assert blas.ddot([], []) == 0
    assert blas.dnrm2([]) == 0
    assert blas.daxpy([], []).shape == (0,)
    assert blas.dgemv(1.0, np.ones((0, 3)), np.ones(3)).shape == (0,)
    assert blas.dgemv(1.0, np.ones((3, 0)), []).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("call", "argument", "words"),
    [
        (lambda: blas.ddot([1.0], [1.0], incx=0), "incx", "is 0"),
        (lambda: blas.ddot([1.0], [1.0], offy=1), "offy", "is 1; y has 1 elements"),
        (lambda: blas.ddot([1.0], [1.0], n=3), "x", "has 1 elements; 3 of them from 0 on"),
        (lambda: blas.dnrm2([1.0], incx=-1), "incx", "is -1"),
        (lambda: blas.dgemv(1, np.ones((2, 3)), np.ones(2)), "x", "need 3"),
        (lambda: blas.dgemm(1, np.eye(2), np.eye(2), trans_a=3), "trans_a", "is 3; it is 0, 1"),
        (lambda: blas.dgemm(1, np.eye(2), np.eye(2), c=np.eye(3)), "c", r"shape \(3, 3\)"),
    ],
)
def test_errors_name_the_function_the_argument_and_the_rule(call, argument, words):
    with pytest.raises(BlasError, match=words) as caught:
        call()
    assert caught.value.argument == argument
    assert caught.value.routine.startswith("d")


def test_what_is_no_number_is_refused():
    with pytest.raises(ValueError, match="'a' is no number: 'two'"):
        blas.dscal("two", np.ones(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert blas.dscal(2 + 1j, np.ones(2)).tolist() == [2, 2]  # the real part, as f2py takes it


@pytest.mark.parametrize("dtype", ["f", "d", "F", "D", np.float16, np.longdouble, "i"])
@pytest.mark.parametrize("name", ["dot", "dotc", "dotu", "nrm2", "scal", "axpy", "gemv", "gemm"])
def test_functions_are_found_by_type(name, dtype):
    ours, other = (module.get_blas_funcs(name, dtype=dtype) for module in (blas, theirs))
    assert ours is getattr(blas, other.__name__.split(".")[-1].split(" ")[-1])
    assert (ours.typecode, ours.prefix, ours.dtype) == (other.typecode, other.prefix, other.dtype)


def test_functions_are_found_by_the_type_that_holds_all_arrays():
    arrays = np.ones(2, "F"), np.ones(2, "d")
    assert blas.find_best_blas_type(arrays) == theirs.find_best_blas_type(arrays)
    assert blas.get_blas_funcs(("axpy", "dot"), arrays) == [blas.zaxpy, blas.zdotc]
    with pytest.raises(ValueError, match="dnothing could not be found"):
        blas.get_blas_funcs("nothing")


LIBRARIES = [
    "jax.numpy",
    pytest.param("torch", marks=pytest.mark.gpu),
    pytest.param("cupy", marks=pytest.mark.gpu),
]


def put(library, host):
    """An array of the library: of torch and CuPy on the GPU."""
    module = pytest.importorskip(library)
    return module.asarray(host, **({"device": "cuda"} if library == "torch" else {}))


def host(array):
    for method in ("cpu", "get"):  # of torch, of CuPy
        array = getattr(array, method)() if hasattr(array, method) else array
    return np.asarray(array)


@pytest.mark.parametrize("library", LIBRARIES[1:])
def test_a_matrix_with_gaps_as_a_vector_is_copied_not_lost(library):
    """Its elements have no flat view that could be written in place; SciPy copies it too."""
    y = put(library, np.zeros((4, 6), "f"))
    with tb.backend("auto"):
        found = blas.saxpy(put(library, np.arange(8.0, dtype="f")), y[:, :2])
    np.testing.assert_array_equal(host(found).reshape(-1), np.arange(8))
    assert not host(y).any()


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", ["sdot", "snrm2", "sscal", "saxpy", "sgemv", "sgemm"])
def test_arrays_of_other_libraries_come_back_as_such(name, library):
    """SciPy's results with offsets and increments of either sign, and a cast from integers."""
    x, y, a = np.arange(9.0, dtype="f"), np.arange(7.0, dtype="f"), np.arange(12).reshape(3, 4)
    places = {"offx": 1, "incx": 2, "offy": 1, "incy": -3}
    calls = {
        "sdot": ((x, y), places | {"n": 2}),
        "snrm2": ((x,), {"offx": 1, "incx": 2}),
        "sscal": ((3.0, x), {"offx": 1, "incx": 2}),
        "saxpy": ((x, y), places | {"n": 2, "a": 2.0}),
        "sgemv": ((2.0, a, x), {"offx": 1, "incx": 2, "y": y, "incy": -3, "beta": 0.5}),
        "sgemm": ((2.0, a, a), {"trans_b": 1}),
    }
    arguments, keywords = calls[name]
    expected = getattr(theirs, name)(*map(copied, arguments), **keywords)
    there = [put(library, v) if isinstance(v, np.ndarray) else v for v in arguments]
    keywords = {k: put(library, v) if isinstance(v, np.ndarray) else v for k, v in keywords.items()}
    with tb.backend("auto"):
        found = getattr(blas, name)(*there, **keywords)
    assert type(found) is type(there[-1])
    np.testing.assert_allclose(host(found), expected, rtol=1e-6)
    if name == "saxpy" and library != "jax.numpy":
        assert found is there[-1]
    assert blas.get_blas_funcs(name[1:], [there[-1]]).typecode in "sd"
