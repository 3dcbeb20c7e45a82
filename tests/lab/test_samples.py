"""What is expected of matrices and vectors: right results pass, and wrong ones are seen."""

import itertools
from functools import partial

import numpy as np
import pytest

import tileblas
from tileblas.lab import product_samples, samples
from tileblas.lab.cases import Case, layouts, lettered
from tileblas.lab.places import HostPlace
from tileblas.lab.problems import Problem, work
from tileblas.lab.rivals import Bound
from tileblas.routines.registry import ROUTINES

SIZES = {"n": (33,), "nb": (33, 5), "mn": (21, 33), "mnb": (31, 33, 4)}
CASES = [
    Case(name, SIZES[spec.dims], spec.dtypes[-1], "".join(letters), layout)
    for name, spec in ROUTINES.items()
    if spec.level == 2
    for layout in layouts(name)
    for letters in itertools.product(*(option.letters for option in lettered(name)))
]
#: Sizes by the side that a matrix is on.
SIDED = {"L": (21, 33, 21), "R": (21, 33, 33)}
PRODUCTS = [
    Case(name, sizes, spec.dtypes[-1], "".join(letters), layout)
    for name, spec in ROUTINES.items()
    if spec.level == 3 and name != "gemm"
    for layout in layouts(name)
    for letters in itertools.product(*(o.complex_letters or o.letters for o in spec.options))
    for sizes in [(33, 21) if spec.dims == "nk" else SIDED[letters[0]]]
]
TRIANGLES = [name for name, spec in ROUTINES.items() if spec.level == 3 and spec.structured == "c"]
HALVES = [Case("ger", (21, 33), dtype, "", "col") for dtype in ("float16", "bfloat16")]


@pytest.fixture(autouse=True)
def cpu():
    with tileblas.backend("cpu"):
        yield


def off(problem, name, place):
    """Our call, then one element of an output changed a little."""
    bound, memory = problem.bind(), problem.operands[name].ravel(order="A")
    accuracy = 1 + 1e-2 if problem.dtype.name in ("float16", "bfloat16") else 1 + 1e-9

    def call():
        bound.call()
        memory[place] *= np.asarray(accuracy, memory.dtype)

    return Bound(call)


def ends(problem, name):
    """The first and the last element in memory, on the diagonal of a square matrix.

    Where that is 0, corners that are written: one of them is.
    """
    if problem.spec.name != "skewsyr2k":
        return 0, -1
    n = problem.case.dims[0]
    by_columns = problem.case.layout == "col"
    return (n - 1 if (problem.options["uplo"] == "L") == by_columns else n * (n - 1),)


@pytest.mark.parametrize("case", CASES + PRODUCTS + HALVES, ids=str)
def test_right_results_pass_and_wrong_ends_are_seen(case):
    problem = Problem(case, HostPlace())
    for _ in range(2):  # what is written in place is another one now
        assert problem.accuracy(problem.bind()).good
    for name in problem.spec.returns:
        for place in ends(problem, name):
            assert not problem.accuracy(off(problem, name, place)).good


@pytest.mark.parametrize("case", CASES + PRODUCTS, ids=str)
def test_nothing_written_is_seen(case):
    problem = Problem(case, HostPlace())
    assert not problem.accuracy(Bound(lambda: None)).good


@pytest.mark.parametrize("uplo", "UL")
@pytest.mark.parametrize("routine", ["syr", "her", "syr2", "her2", "skewsyr2"])
def test_a_write_to_the_other_triangle_is_seen(routine, uplo):
    problem = Problem(Case(routine, (33,), ROUTINES[routine].dtypes[-1], uplo, "col"), HostPlace())
    a, bound = problem.operands["a"], problem.bind()
    for place in ((2, 30), (30, 2)):

        def call(place=place):
            bound.call()
            a[place] += 1

        assert not problem.accuracy(Bound(call)).good


@pytest.mark.parametrize("layout", ["col", "row"])
@pytest.mark.parametrize("uplo", "UL")
@pytest.mark.parametrize("routine", TRIANGLES)
def test_a_write_to_the_other_triangle_of_a_product_is_seen(routine, uplo, layout):
    spec = ROUTINES[routine]
    letters = uplo + "N" * (len(spec.options) - 1)
    case = Case(routine, (33, 21), spec.dtypes[-1], letters, layout)
    corner, beside_diagonal = ((0, 32), (0, 1)) if uplo == "L" else ((32, 0), (32, 31))
    for place in (corner, beside_diagonal):
        problem = Problem(case, HostPlace())
        c, bound = problem.operands["c"], problem.bind()

        def call(place=place, c=c, bound=bound):
            bound.call()
            c[place] += 1

        assert problem.accuracy(bound).good
        assert not problem.accuracy(Bound(call)).good
        assert problem.accuracy(bound).good  # another call is not blamed for it


@pytest.mark.parametrize("routine", ["symm", "hemm", "skewsymm"])
@pytest.mark.parametrize("letters", ["LU", "LL", "RU", "RL"])
def test_a_side_or_triangle_taken_for_another_is_seen(routine, letters):
    case = Case(routine, (33, 33, 33), ROUTINES[routine].dtypes[-1], letters, "col")
    problem = Problem(case, HostPlace())
    for wrong in {"LU", "LL", "RU", "RL"} - {letters}:
        options = dict(zip(("side", "uplo"), wrong, strict=True))
        bound = Bound(partial(getattr(tileblas, routine), *problem.operands.values(), **options))
        assert not problem.accuracy(bound).good


@pytest.mark.parametrize("routine", ["herk", "herkx", "her2k"])
def test_an_imaginary_part_of_the_diagonal_of_a_product_is_seen(routine):
    problem = Problem(Case(routine, (33, 21), "complex128", "UN", "col"), HostPlace())
    c, bound = problem.operands["c"], problem.bind()

    def call():
        bound.call()
        c[32, 32] += 1e-300j

    assert problem.accuracy(bound).good
    assert not problem.accuracy(Bound(call)).good


@pytest.mark.parametrize("routine", ["her", "her2", "hpr", "hpr2"])
def test_an_imaginary_part_of_a_diagonal_is_seen(routine):
    layout = layouts(routine)[0]
    problem = Problem(Case(routine, (33,), "complex128", "U", layout), HostPlace())
    memory = problem.operands[problem.spec.output_name].ravel(order="A")
    bound = problem.bind()

    def call():
        bound.call()
        memory[0] += 1e-300j

    assert not problem.accuracy(Bound(call)).good


@pytest.mark.parametrize("letters", ["LNN", "UNN", "LTN", "LNU"])
@pytest.mark.parametrize("routine", ["trmv", "trsv", "tbmv", "tbsv", "tpmv", "tpsv"])
def test_a_triangle_taken_for_another_is_seen(routine, letters):
    spec, layout = ROUTINES[routine], layouts(routine)[0]
    problem = Problem(Case(routine, SIZES[spec.dims], "float64", letters, layout), HostPlace())
    array, x = problem.operands.values()
    for wrong in {"LNN", "UNN", "LTN", "UTN", "LNU"} - {letters}:
        options = dict(zip(("uplo", "trans", "diag"), wrong, strict=True))
        bound = Bound(partial(getattr(tileblas, routine), array, x, **options))
        assert not problem.accuracy(bound).good


@pytest.mark.parametrize(
    "case",
    [
        Case("symv", (33,), "float64", "L", "col"),
        Case("trmv", (33,), "float64", "LNN", "col"),
        Case("trsv", (33,), "float64", "UTN", "row"),
        Case("tbsv", (33, 5), "complex128", "LCN", "col"),
        Case("gbmv", (31, 33, 4), "float64", "T", "col"),
        Case("gemvt", (21, 33), "float64", "T", "col"),
        Case("hpmv", (33,), "complex128", "U"),
    ],
    ids=str,
)
def test_a_few_rows_are_the_first_and_the_last_and_some(case, monkeypatch):
    monkeypatch.setattr(samples, "_TERMS", 200)
    problem = Problem(case, HostPlace())
    assert problem.accuracy(problem.bind()).good
    for name in problem.spec.returns:
        sampled, _ = problem._sampled()[name]()
        assert 2 < len(sampled) < 50
        for place in (0, -1):
            assert not problem.accuracy(off(problem, name, place)).good


@pytest.mark.parametrize("routine", ["symm", "syrk", "gemmtr", "skewsyr2k"])
@pytest.mark.parametrize("layout", ["col", "row"])
def test_a_few_cells_of_a_product_are_enough(routine, layout, monkeypatch):
    monkeypatch.setattr(product_samples, "_TERMS", 400)
    spec = ROUTINES[routine]
    dims, letters = ((33, 21), "LNN") if spec.dims == "nk" else ((33, 21, 33), "LL")
    case = Case(routine, dims, "float64", letters[: len(spec.options)], layout)
    problem = Problem(case, HostPlace())
    assert problem.accuracy(problem.bind()).good
    sampled, _ = problem._sampled()["c"]()
    assert 4 < sampled.size <= 4 * 20
    for place in ends(problem, "c"):
        assert not problem.accuracy(off(problem, "c", place)).good


def test_a_few_columns_of_an_update_are_enough(monkeypatch):
    monkeypatch.setattr(samples, "_COLUMNS", 5)
    monkeypatch.setattr(samples, "_ELEMENTS", 25)
    problem = Problem(Case("ger", (21, 33), "float32", "", "row"), HostPlace())
    sampled, _ = problem._sampled()["a"]()
    assert len(sampled) == 25
    assert problem.accuracy(problem.bind()).good


def test_bytes_and_flops_are_those_of_what_is_stored():
    n = 100
    triangle = n * (n + 1) // 2
    assert work(Case("symv", (n,), "float64", "L", "col"))[1] == 8 * (triangle + 2 * n)
    assert work(Case("trsv", (n,), "float32", "LNN", "col"))[1] == 4 * (triangle + 2 * n)
    assert work(Case("syr", (n,), "float64", "U", "row"))[1] == 8 * (2 * triangle + n)
    assert work(Case("ger", (n, 30), "float16", "", "col"))[1] == 2 * (2 * 30 * n + n + 30)
    band = sum(n - k for k in range(9))
    assert work(Case("tbmv", (n, 9), "complex64", "LNN", "col"))[1] == 8 * (band + 2 * n)
    assert work(Case("symm", (n, 30, n), "float64", "LL", "col")) == (
        2 * n * n * 30,
        8 * (triangle + 2 * n * 30),
    )
    assert work(Case("herk", (n, 30), "complex64", "UC", "row")) == (
        4 * n * (n + 1) * 30,
        8 * (n * 30 + triangle),
    )
    assert work(Case("gemvt", (n, 30), "float32", "T", "col")) == (
        4 * n * 30,
        4 * (n * 30 + 2 * (n + 30)),
    )
