"""One dtype for all operands, no promotion; what is no BLAS type, or no array, is a TypeError."""

import itertools
from functools import partial

import numpy as np
import pytest

import tileblas as tb
from tileblas.core.dtypes import DTYPES, numpy_dtype
from tileblas.routines.registry import ROUTINES

pytestmark = pytest.mark.usefixtures("cpu")

TYPES = {name: numpy_dtype(row) for name, row in DTYPES.items()}
FOREIGN = [
    "int8",
    "int32",
    "int64",
    "uint8",
    "uint64",
    "bool",
    "object",
    "longdouble",
    "S4",
    "M8[s]",
]

# Each routine as a function of arrays, one that takes any shape of operand it is given.
CALLS = {
    "dot": (tb.dot, [(4,), (4,)]),
    "dotc": (tb.dotc, [(4,), (4,)]),
    "dotu": (tb.dotu, [(4,), (4,)]),
    "nrm2": (tb.nrm2, [(4,)]),
    "scal": (partial(tb.scal, alpha=2), [(4,)]),
    "axpy": (tb.axpy, [(4,), (4,)]),
    "dsdot": (tb.dsdot, [(4,), (4,)]),
    "sdsdot": (tb.sdsdot, [(4,), (4,)]),
    "asum": (tb.asum, [(4,)]),
    "iamax": (tb.iamax, [(4,)]),
    "iamin": (tb.iamin, [(4,)]),
    "copy": (tb.copy, [(4,), (4,)]),
    "axpby": (tb.axpby, [(4,), (4,)]),
    "swap": (tb.swap, [(4,), (4,)]),
    "rot": (partial(tb.rot, c=1, s=0), [(4,), (4,)]),
    "rotm": (partial(tb.rotm, param=(-1, 1, 2, 3, 4)), [(4,), (4,)]),
    "axpydot": (tb.axpydot, [(4,), (4,), (4,), (4,)]),
    "rotg": (tb.rotg, [(4,), (4,)]),
    "rotmg": (tb.rotmg, [(4,), (4,), (4,), (4,)]),
    "gemv": (tb.gemv, [(4, 4), (4,), (4,)]),
    "gemm": (tb.gemm, [(2, 3), (3, 4), (2, 4)]),
}
each_operand = pytest.mark.parametrize(
    ("routine", "operand"),
    [(name, i) for name, (_, shapes) in CALLS.items() for i in range(len(shapes))],
)


def ones(routine, dtype="float32"):
    function, shapes = CALLS[routine]
    return function, [np.ones(shape, dtype) for shape in shapes]


@pytest.mark.parametrize("dtype", FOREIGN)
@each_operand
def test_a_foreign_dtype(routine, operand, dtype):
    function, arrays = ones(routine)
    name = ROUTINES[routine].argument_names[operand]
    arrays[operand] = np.zeros(arrays[operand].shape, dtype)
    with pytest.raises(TypeError, match=f"{routine}.*'{name}'"):
        function(*arrays)


@pytest.mark.parametrize("dtype", FOREIGN)
@pytest.mark.parametrize("routine", CALLS)
def test_all_operands_of_a_foreign_dtype(routine, dtype):
    function, arrays = ones(routine)
    with pytest.raises(TypeError, match=routine):
        function(*(np.zeros(array.shape, dtype) for array in arrays))


@pytest.mark.parametrize(
    ("routine", "operand", "dtype"),
    [
        (routine, i, dtype)
        for routine, (_, shapes) in CALLS.items()
        for i in range(len(shapes))
        for dtype in ROUTINES[routine].dtypes
        if dtype != "bfloat16"  # which NumPy knows in one byte order only
    ],
)
def test_foreign_byte_order(routine, operand, dtype):
    function, arrays = ones(routine, dtype)
    arrays[operand] = arrays[operand].astype(np.dtype(dtype).newbyteorder())
    with pytest.raises(TypeError, match="byte order"):
        function(*arrays)


@pytest.mark.parametrize("value", [[1.0, 2.0, 3.0, 4.0], (1.0,) * 4, 1.0, "abcd", None, range(4)])
@pytest.mark.parametrize("routine", ["dot", "nrm2", "scal", "axpy"])
def test_what_is_no_array(routine, value):
    function, arrays = ones(routine)
    for operand in range(len(arrays)):
        given = list(arrays)
        given[operand] = value
        with pytest.raises(TypeError, match=routine):
            function(*given)


def test_a_masked_array():
    x = np.ma.array(np.ones(4), mask=[0, 1, 0, 0])
    with pytest.raises(TypeError, match="masked"):
        tb.dot(x, np.ones(4))


@pytest.mark.parametrize(("left", "right"), list(itertools.permutations(TYPES, 2)))
def test_no_two_dtypes_meet(left, right):
    x, y = np.ones(4, TYPES[left]), np.ones(4, TYPES[right])
    for function in (tb.dot, tb.dotc, tb.dotu, tb.axpy):
        with pytest.raises(TypeError, match=rf"(?s){left}.*{right}|{right}.*{left}"):
            function(x, y)
    with pytest.raises(TypeError, match=r"never promoted"):
        tb.gemm(np.ones((2, 2), TYPES[left]), np.ones((2, 2), TYPES[right]))
    for operands in ((left, right, right), (left, left, right), (left, right, left)):
        a, b, c = (np.ones((4,) * n, TYPES[d]) for n, d in zip((2, 1, 1), operands, strict=True))
        with pytest.raises(TypeError, match=rf"gemv.*{right}.*{left}.*never promoted"):
            tb.gemv(a, b, c)
        assert (c == 1).all()
    assert (y == 1).all()


@pytest.mark.parametrize(("inputs", "output"), list(itertools.permutations(TYPES, 2)))
def test_only_half_inputs_meet_another_output(inputs, output):
    a, b = np.ones((2, 3), TYPES[inputs]), np.ones((3, 2), TYPES[inputs])
    c = np.ones((2, 2), TYPES[output])
    if inputs in ("float16", "bfloat16") and output == "float32":
        assert (tb.gemm(a, b, c, beta=1) == 4).all()
        return
    with pytest.raises(TypeError, match=r"gemm.*'c'"):
        tb.gemm(a, b, c)
    assert (c == 1).all()


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
def test_a_float32_output_keeps_what_half_would_lose(half):
    """2049 and 257.0625 are no half numbers; float32 holds them."""
    a = np.ones((1, 2049), TYPES[half])
    c = np.full((1, 1), 2.0**-4, np.float32)
    assert tb.gemm(a, a, c, beta=1, trans_b="T") == 2049.0625


@pytest.mark.parametrize("dtype", TYPES)
def test_results_have_the_operands_dtype(dtype):
    x = np.ones(3, TYPES[dtype])
    for function in (tb.dot, tb.dotc, tb.dotu):
        assert function(x, x).dtype == TYPES[dtype]
    a = np.ones((2, 3), TYPES[dtype])
    assert tb.gemm(a, a, trans_b="T").dtype == TYPES[dtype]
    assert tb.gemv(a, x).dtype == TYPES[dtype]
    assert tb.scal(x, alpha=2).dtype == TYPES[dtype]
    assert tb.nrm2(x).dtype == TYPES[DTYPES[dtype].real]


def test_unaligned_elements():
    x = np.zeros(33, np.uint8)[1:].view(np.float64)
    with pytest.raises(tb.BlasError, match="aligned") as caught:
        tb.dot(np.ones(4), x)
    assert (caught.value.argument, caught.value.position) == ("y", 4)


def test_strides_that_are_no_whole_elements():
    """complex128 is aligned to 8 bytes, so that a field of a record may lie 24 bytes apart."""
    records = np.zeros(4, [("z", "c16"), ("w", "f8")])
    with pytest.raises(tb.BlasError, match="24") as caught:
        tb.dot(records["z"], np.ones(4, complex))
    assert (caught.value.argument, caught.value.position) == ("x", 2)


def test_subclasses_of_arrays_are_arrays():
    class Mine(np.ndarray):
        pass

    x = np.arange(4.0).view(Mine)
    assert tb.dot(x, np.ones(4)) == 6
