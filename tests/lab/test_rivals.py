"""The rivals compute what we do: SciPy for real, cuBLAS by a stand-in on host memory."""

import itertools

import numpy as np
import pytest
from host_cublas import MATRICES, TYPES
from host_cublas import PRODUCTS as CUBLAS_PRODUCTS

import tileblas
from tileblas.core.dtypes import DTYPES
from tileblas.lab import rivals
from tileblas.lab.cases import Case, layouts, lettered
from tileblas.lab.places import HostPlace
from tileblas.lab.problems import Problem
from tileblas.lab.rival_calls import SCALARS
from tileblas.routines.registry import ROUTINES


def allowed(spec, letters):
    """Whether complex arrays have these letters."""
    pairs = zip(spec.options, letters, strict=True)
    return all(letter in (option.complex_letters or letter) for option, letter in pairs)


VECTORS = [
    Case(name, (1001,), dtype)
    for name, spec in ROUTINES.items()
    if spec.level == 1 and spec.dims
    for dtype in spec.dtypes
]
MATVECS = [
    Case("gemv", (9, 14), dtype, trans, layout)
    for dtype in DTYPES
    for trans in "NTC"
    for layout in ("col", "row")
]
PRODUCTS = [
    Case("gemm", (9, 14, 21), dtype, trans, layout)
    for dtype in DTYPES
    for trans in ("NN", "TN", "NT", "CT", "NC")
    for layout in ("col", "row")
]
#: Sizes of level 2 by the names of the sizes.
SIZES = {"n": (17,), "nb": (17, 5), "mn": (9, 14), "mnb": (14, 17, 4)}
LEVEL_2 = [
    Case(name, SIZES[spec.dims], dtype, "".join(letters), layout)
    for name, spec in ROUTINES.items()
    if spec.level == 2 and name != "gemv"
    for dtype in spec.dtypes
    for layout in layouts(name)
    for letters in itertools.product(*(option.letters for option in lettered(name)))
    if dtype not in ("float32", "complex128") or set(letters) <= set("LTU")  # one form of each
]
#: Sizes of level 3 by the names of the sizes, of a matrix on the left; on the right it has n.
LEVEL_3 = [
    Case(name, sizes, dtype, "".join(letters), layout)
    for name, spec in ROUTINES.items()
    if spec.level == 3 and name != "gemm"
    for dtype in spec.dtypes
    for layout in ("col", "row")
    for letters in itertools.product(*(option.letters for option in lettered(name)))
    for sizes in [(9, 14) if spec.dims == "nk" else (9, 14, 9 if letters[0] == "L" else 14)]
    if "complex" not in dtype or allowed(spec, letters)
]
CASES = VECTORS + MATVECS + PRODUCTS
HALVES = ("float16", "bfloat16")
#: Of the Ex routines, half types take only these.
TAKE_HALVES = ("dot", "dotu", "dotc", "nrm2", "scal", "axpy", "axpby", "axpydot", "gemv", "gemm")
each_case = pytest.mark.parametrize("case", CASES, ids=str)


@each_case
def test_scipy_is_right_or_has_no_such_routine(case):
    problem = Problem(case, HostPlace())
    bound = rivals.Scipy().bind(case, problem.operands)
    if case.dtype in HALVES or case.routine in ("iamin", "dsdot", "sdsdot"):
        assert bound is None
    else:
        assert problem.accuracy(bound).good


def conjugates_rows(case):
    """Whether a matrix by rows is, by columns, one that no letter of BLAS names."""
    spec = ROUTINES[case.routine]
    conjugates = spec.structure == "hermitian" or bool(spec.conj)
    conjugates |= case.options.get("trans") == "C" and "complex" in case.dtype
    return case.layout == "row" and (conjugates or "b" in spec.dims)


def lacks(case, types):
    """Whether a library has no routine for a case, by the letters of the types that it has."""
    named = {TYPES[letter] for letter in types}
    return case.dtype not in named or conjugates_rows(case)


#: The types that SciPy has where they are fewer than ours.
SCIPY_TYPES = {**dict.fromkeys(("symv", "sbmv", "syr2", "spr2"), "SD")}


@pytest.mark.parametrize("case", LEVEL_2, ids=str)
def test_scipy_is_right_on_matrices_or_has_no_such_routine(case):
    problem = Problem(case, HostPlace())
    bound = rivals.Scipy().bind(case, problem.operands)
    family = ROUTINES[case.routine].family
    missing = lacks(case, SCIPY_TYPES.get(case.routine, "SDCZ")) or "skew" in case.routine
    if case.routine == "gemvt" or family == "ger":  # others do what is missing, but for halves
        missing = case.dtype in HALVES
    assert (bound is None) == missing
    if bound is not None:
        assert problem.accuracy(bound).good
        returned = bound.call()
        assert np.shares_memory(returned, problem.operands[problem.spec.output_name])


@pytest.mark.parametrize("case", LEVEL_2, ids=str)
def test_cublas_gets_the_arguments_of_matrices(cublas, case):
    problem = Problem(case, HostPlace())
    bound = cublas.bind(case, problem.operands)
    missing = lacks(case, MATRICES.get(case.routine, [""])[0])
    if case.routine == "gemvt" or ROUTINES[case.routine].family == "ger":
        missing = False
    assert (bound is None) == missing
    if bound is not None:
        assert problem.accuracy(bound).good


@pytest.mark.parametrize("case", LEVEL_3, ids=str)
def test_scipy_is_right_on_products_or_has_no_such_routine(case):
    problem = Problem(case, HostPlace())
    bound = rivals.Scipy().bind(case, problem.operands)
    lacking = ("skewsymm", "skewsyr2k", "syrkx", "herkx", "gemmtr")
    assert (bound is None) == (case.routine in lacking)
    if bound is not None:
        assert problem.accuracy(bound).good
        assert np.shares_memory(bound.call(), problem.operands["c"])


@pytest.mark.parametrize("case", LEVEL_3, ids=str)
def test_cublas_gets_the_arguments_of_products(cublas, case):
    problem = Problem(case, HostPlace())
    bound = cublas.bind(case, problem.operands)
    assert (bound is None) == (case.routine not in CUBLAS_PRODUCTS)
    if bound is not None:
        assert problem.accuracy(bound).good


@pytest.mark.parametrize("case", LEVEL_3, ids=str)
def test_products_of_our_own_are_judged_good(case):
    problem = Problem(case, HostPlace())
    with tileblas.backend("cpu"):
        assert problem.accuracy(problem.bind()).good


def test_a_ger_that_blas_lacks_says_what_stands_in_for_it(cublas):
    def notes(rival, *case):
        case = Case(*case)
        return rival.bind(case, Problem(case, HostPlace()).operands).note

    stand_in = "gemm of one column and one row"
    for rival in (cublas, rivals.Scipy()):
        assert notes(rival, "gerc", (9, 14), "complex64", "", "row") == stand_in
        assert notes(rival, "gerc", (9, 14), "complex64", "", "col") == ""
        assert notes(rival, "geru", (9, 14), "complex64", "", "row") == ""
        assert notes(rival, "gemvt", (9, 14), "float64", "T", "row") == (
            "gemv, then gemv of the transpose"
        )
        assert notes(rival, "gemvt", (9, 14), "complex64", "C", "row") == (
            "gemv, then gemm of one column of the transpose"
        )
    assert notes(cublas, "ger", (9, 14), "float16", "", "col") == stand_in


def test_scipy_writes_where_the_output_lies():
    for case in (
        Case("scal", (100,), "float64"),
        Case("scal", (100,), "complex64"),
        Case("copy", (100,), "float32"),
        Case("axpy", (100,), "float64"),
        Case("axpby", (100,), "complex64"),
        Case("gemv", (9, 14), "float64", "N", "row"),
        Case("gemv", (9, 14), "complex64", "T", "col"),
        Case("gemv", (9, 14), "complex64", "C", "row"),
        Case("gemm", (9, 14, 21), "float64", "NT", "row"),
    ):
        problem = Problem(case, HostPlace())
        returned = rivals.Scipy().bind(case, problem.operands).call()
        assert np.shares_memory(returned, problem.operands[problem.spec.output_name])
    for case in (
        Case("swap", (100,), "complex64"),
        Case("rot", (100,), "float64"),
        Case("rot", (100,), "complex64"),
        Case("rotm", (100,), "float32"),
    ):
        problem = Problem(case, HostPlace())
        returned = rivals.Scipy().bind(case, problem.operands).call()
        for array, name in zip(returned, "xy", strict=True):
            assert np.shares_memory(array, problem.operands[name])


def test_a_gemv_that_blas_lacks_says_what_stands_in_for_it(cublas):
    def notes(rival, dtype, trans, layout):
        case = Case("gemv", (9, 14), dtype, trans, layout)
        return rival.bind(case, Problem(case, HostPlace()).operands).note

    stand_in = "gemm of one column"
    for rival in (cublas, rivals.Scipy()):
        assert notes(rival, "complex64", "C", "row") == stand_in
        assert notes(rival, "complex64", "C", "col") == ""
        assert notes(rival, "float64", "C", "row") == ""
    assert notes(cublas, "float16", "N", "col") == stand_in


def test_calls_that_blas_lacks_are_two_others_and_say_so(cublas):
    for routine, stand_in in (("axpby", "scal, then axpy"), ("axpydot", "axpy, then dot")):
        case = Case(routine, (100,), "complex64")
        for rival in (cublas, rivals.Scipy()):
            bound = rival.bind(case, Problem(case, HostPlace()).operands)
            assert bound.note == stand_in


@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64"])
@pytest.mark.parametrize("routine", ["axpby", "axpydot", "rot", "rotm", "swap"])
def test_calls_again_and_again_leave_numbers_of_their_size(routine, dtype, cublas):
    if dtype not in ROUTINES[routine].dtypes:
        return
    case = Case(routine, (100,), dtype)
    rival = rivals.Scipy() if dtype != "float16" else cublas
    bound = rival.bind(case, (problem := Problem(case, HostPlace())).operands)
    if bound is None:
        return
    for _ in range(5000):
        bound.call()
    for array in problem.operands.values():
        size = np.abs(array.astype(np.complex128)).mean()
        assert 0.3 < size < 5000


def test_numbers_are_in_the_order_of_the_spec():
    for routine, numbers in SCALARS.items():
        assert tuple(numbers) == ROUTINES[routine].scalars


def test_scaling_again_and_again_neither_overflows_nor_vanishes():
    case = Case("scal", (100,), "float16")
    problem = Problem(case, HostPlace())
    before = problem.operands["x"].copy()
    bound = problem.bind()
    for _ in range(100):
        bound.call()
    np.testing.assert_array_equal(problem.operands["x"], before)


@each_case
def test_cublas_gets_the_arguments_it_needs(cublas, case):
    problem = Problem(case, HostPlace())
    bound = cublas.bind(case, problem.operands)
    halves = case.dtype in HALVES and case.routine not in TAKE_HALVES
    if halves or case.routine in ("dsdot", "sdsdot"):
        assert bound is None
    else:
        assert problem.accuracy(bound).good


def test_each_handle_gets_its_stream_before_its_workspace(cublas):
    case = Case("dot", (9,), "float32")
    cublas.bind(case, Problem(case, HostPlace()).operands)
    log = cublas._library.log
    assert log.count("cublasCreate_v2") == 2  # one for each pointer mode
    setup = ["cublasCreate_v2", "cublasSetStream_v2", "cublasSetWorkspace_v2"]
    setup += ["cublasSetPointerMode_v2", "cublasSetMathMode"]
    assert log[: len(setup)] == setup
    assert log[-len(setup) :] == setup


def test_sizes_beyond_the_32_bit_interface_have_no_rival(cublas):
    assert cublas.bind(Case("dot", (2**31,), "float32"), {}) is None


def test_a_failing_call_is_an_error(cublas):
    with pytest.raises(RuntimeError, match="cuBLAS status 7"):
        cublas._check(7)
