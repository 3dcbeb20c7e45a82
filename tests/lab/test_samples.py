"""What is expected of matrices and vectors: right results pass, and wrong ones are seen."""

import itertools
from functools import partial

import numpy as np
import pytest

import tileblas
from tileblas.lab import samples
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


@pytest.mark.parametrize("case", CASES + HALVES, ids=str)
def test_right_results_pass_and_wrong_ends_are_seen(case):
    problem = Problem(case, HostPlace())
    for _ in range(2):  # what is written in place is another one now
        assert problem.accuracy(problem.bind()).good
    for name in problem.spec.returns:
        for place in (0, -1):
            assert not problem.accuracy(off(problem, name, place)).good


@pytest.mark.parametrize("case", CASES, ids=str)
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
    assert work(Case("gemvt", (n, 30), "float32", "T", "col")) == (
        4 * n * 30,
        4 * (n * 30 + 2 * (n + 30)),
    )
