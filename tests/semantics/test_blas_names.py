"""tileblas.blas beside scipy.linalg.blas: the same results, and errors where SciPy has them.

What it has beyond SciPy, and where it differs, is in test_blas_beyond.
"""

from __future__ import annotations

import inspect
import random
import warnings

import numpy as np
import pytest
import scipy.linalg.blas as theirs
from beside_scipy import SCIPYS, level, place, same, values, vector

from tileblas import BlasError, blas
from tileblas.fblas.names import FUNCTIONS


@pytest.fixture(autouse=True)
def on_the_cpu(cpu):
    """SciPy's arrays are NumPy's."""


ROTATIONS = ["srotg", "drotg", "crotg", "zrotg", "srotmg", "drotmg"]
ON_VECTORS = [name for name in SCIPYS if level(name) == 1 and name not in ROTATIONS]

# What a scalar may be; a real routine takes the real part of what is complex, as f2py does.
NUMBERS = (2, 0.5, 1, 0, np.float32(3), np.array([2.0]), 1 + 2j)
# What H may be: each flag, one that is none, two that are no five numbers.
PARAMS = (
    *([flag, 0.5, -2, 3, 0.25] for flag in (-2, -1, 0, 1, 5)),
    np.array([[-1, 1, 2, 3, 4]]),
    [-1, 1, 2, 3],
    3,
)


def choices(choose, routine):
    """Arguments of a call and keywords: vectors, numbers, places, and which may be overwritten."""
    arguments, keywords = [], {}
    for parameter in inspect.signature(routine).parameters.values():
        if parameter.name in ("w", "v", "u", "x", "y"):
            arguments.append(vector(choose, routine.dtype, choose.randrange(1, 12)))
            keywords |= place(choose, parameter.name)
        elif parameter.default is parameter.empty:
            arguments.append(choose.choice(PARAMS if parameter.name == "param" else NUMBERS))
        elif choose.random() < 0.4:
            if parameter.name == "n":
                keywords["n"] = choose.choice((0, 1, 2, 4, 9, -1))
            elif parameter.name in ("a", "b"):
                keywords[parameter.name] = choose.choice((2, 0, -1.5, 1j))
            elif "overwrite" in parameter.name:
                keywords[parameter.name] = choose.choice((0, 1))
    return arguments, keywords


@pytest.mark.parametrize("name", ON_VECTORS)
def test_vectors(name):
    choose, worked = random.Random(name), 0
    for _ in range(300):
        arguments, keywords = choices(choose, FUNCTIONS[name])
        worked += same(name, *arguments, **keywords)
    assert 60 < worked < 270


@pytest.mark.parametrize("name", ROTATIONS)
def test_rotations_of_numbers(name):
    """Of rotmg in the cases in which SciPy's does what netlib's does."""
    choose, worked = random.Random(name), 0
    count = len(inspect.signature(FUNCTIONS[name]).parameters)
    usual = (2, 0.5, np.float32(3), np.array([2.0]), 5e3, 1e-9, 1 + 2j, [4, 5], [], None)
    others = () if count == 4 else (0, -3, -0.125, -3 + 4j)
    for _ in range(200):
        worked += same(name, *(choose.choice((*usual, *others)) for _ in range(count)))
    assert 60 < worked < 190


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


@pytest.mark.parametrize("name", SCIPYS)
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


@pytest.mark.parametrize(
    ("call", "argument", "words"),
    [
        (lambda: blas.ddot([1.0], [1.0], incx=0), "incx", "is 0"),
        (lambda: blas.ddot([1.0], [1.0], offy=1), "offy", "is 1; y has 1 elements"),
        (lambda: blas.ddot([1.0], [1.0], n=3), "x", "has 1 elements; 3 of them from 0 on"),
        (lambda: blas.dnrm2([1.0], incx=-1), "incx", "is -1"),
        (lambda: blas.idamax([]), "x", "is empty"),
        (lambda: blas.dswap([1.0], [1.0], incy=0), "incy", "is 0"),
        (lambda: blas.dcopy([1.0, 2.0], [1.0]), "y", "has 1 elements; 2 of them from 0 on"),
        (lambda: blas.drot([1.0], [1.0], 0, 1, offx=-1), "offx", "is -1"),
        (lambda: blas.drotm([1.0], [1.0], [0, 1, 2, 3]), "param", "has 4 numbers"),
        (lambda: blas.dgemv(1, np.ones((2, 3)), np.ones(2)), "x", "need 3"),
        (lambda: blas.dgemm(1, np.eye(2), np.eye(2), trans_a=3), "trans_a", "is 3; it is 0, 1"),
        (lambda: blas.dgemm(1, np.eye(2), np.eye(2), c=np.eye(3)), "c", r"shape \(3, 3\)"),
    ],
)
def test_errors_name_the_function_the_argument_and_the_rule(call, argument, words):
    with pytest.raises(BlasError, match=words) as caught:
        call()
    assert caught.value.argument == argument
    assert caught.value.routine in FUNCTIONS


def test_what_is_no_number_is_refused():
    with pytest.raises(ValueError, match="'a' is no number: 'two'"):
        blas.dscal("two", np.ones(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert blas.dscal(2 + 1j, np.ones(2)).tolist() == [2, 2]  # the real part, as f2py takes it


@pytest.mark.parametrize("dtype", ["f", "d", "F", "D", np.float16, np.longdouble, "i"])
@pytest.mark.parametrize(
    "name",
    [
        *("dot", "dotc", "dotu", "nrm2", "scal", "copy", "axpy", "swap", "rotg"),
        *("gemv", "gbmv", "spmv", "trmv", "tbsv", "ger", "syr", "spr"),
        *("gemm", "symm", "syrk"),
    ],
)
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
    assert blas.get_blas_funcs(("srot", "sscal"), dtype="F") == [blas.csrot, blas.csscal]
