"""The grids of level 2: netlib's calls in full, and every kind of call where they are thinned."""

import itertools

import numpy as np
import pytest

from tileblas.check import grids, matrix_grids, runner
from tileblas.check.level2_refusals import FORTRAN
from tileblas.check.matrix_cases import matrix_case
from tileblas.check.refusals import REFUSALS
from tileblas.routines.registry import ROUTINES

ROUTINES_2 = [spec.name for spec in ROUTINES.values() if spec.level == 2 and spec.name != "gemv"]
each_routine = pytest.mark.parametrize("routine", ROUTINES_2)

#: What netlib's programs print as their numbers of calls. They have no gemvt.
CALLS = {
    "gbmv": 13829,
    **dict.fromkeys(("symv", "hemv", "spmv", "hpmv", "skewsymv"), 1441),
    **dict.fromkeys(("sbmv", "hbmv"), 5761),
    **dict.fromkeys(("trmv", "tpmv", "trsv", "tpsv"), 241),
    **dict.fromkeys(("tbmv", "tbsv"), 961),
    **dict.fromkeys(("ger", "geru", "gerc"), 388),
    **dict.fromkeys(("syr", "her", "spr", "hpr"), 121),
    **dict.fromkeys(("syr2", "her2", "spr2", "hpr2", "skewsyr2"), 481),
}


@pytest.mark.parametrize("routine", CALLS)
def test_netlibs_grids_are_complete(routine):
    dtype = ROUTINES[routine].dtypes[-1]
    assert sum(1 for _ in grids.grid(routine, dtype, "netlib")) == CALLS[routine]


def test_every_routine_of_netlib_is_counted():
    assert set(CALLS) == set(ROUTINES_2) - {"gemvt"} == set(FORTRAN)


def parameters(case):
    """Shape, letters, increments and scalars of a case, each with its name."""
    vectors = [plan for plan in case.plans if plan.name[0] != "a"]
    shapes = tuple(plan.shape for plan in case.plans if len(plan.shape) > 1)
    sizes = (*shapes, frozenset(plan.shape for plan in vectors))  # whatever the transpose
    steps = [-p.layout.step if p.layout.reverse else p.layout.step for p in vectors]
    named = [(plan.name, step) for plan, step in zip(vectors, steps, strict=True)]
    return [sizes, *case.options, *named, *case.scalars]


def pairs(cases):
    return {
        frozenset(pair)
        for case in cases
        for pair in itertools.combinations(parameters(case), 2)
        if 0 not in case.plans[0].shape
    }


@each_routine
def test_thinned_grids_keep_every_pair_of_parameters(routine):
    for dtype in ROUTINES[routine].dtypes[-2:]:
        reduced = pairs(grids.grid(routine, dtype, "reduced"))
        assert pairs(matrix_grids.netlib(routine, dtype)) <= reduced


def kinds(cases):
    """What there is among cases, in words."""
    seen = set()
    for case in cases:
        scalars = [complex(value) for _, value in case.scalars]
        fills = [plan.fill for plan in case.plans]
        largest = max((n for plan in case.plans for n in plan.shape), default=0)
        (matrix,) = (plan for plan in ROUTINES[case.routine].operands if plan.name[0] == "a")
        stored = [plan for plan in case.plans if plan.name == matrix.name]
        words = {
            "exact": case.exact,
            "large": largest >= 65,
            "empty": 0 in [n for plan in case.plans for n in plan.shape],
            "batch": any(len(plan.shape) > matrix.ndim for plan in stored),
            "by rows": any(plan.layout.order == "C" for plan in stored) or matrix.ndim == 1,
            "padding": any(p.layout.pad or p.layout.step > 1 for p in stored),
            "offset": any(plan.layout.offset for plan in case.plans),
            "negative": case.has_negative_strides,
            "NaN": not np.isfinite(scalars).all() or {"nan", "inf", "special", "flawed"} & {*fills},
            "passed": case.form != "number",
            "new": len(case.plans) < len(ROUTINES[case.routine].arguments),
            "zero diagonal": any(plan.diagonal == "one zero" for plan in case.plans),
            "subnormal": "subnormal" in fills,
        }
        seen |= {word for word, found in words.items() if found}
    return seen


@each_routine
def test_every_kind_of_case_is_in_every_grid(routine):
    """In the interpreter's over all types together, as each has a few of its own."""
    spec = ROUTINES[routine]
    wanted = {"exact", "large", "empty", "batch", "by rows", "padding", "offset", "negative", "NaN"}
    wanted |= {"passed"} if spec.scalars else set()
    wanted |= {"new"} if any(arg.optional for arg in spec.arguments) else set()
    wanted |= {"zero diagonal", "subnormal"} if routine.endswith("sv") else set()
    few = kinds(c for dtype in spec.dtypes for c in grids.grid(routine, dtype, "interpret"))
    assert wanted <= few
    for dtype in spec.dtypes:
        assert wanted <= kinds(grids.grid(routine, dtype, "reduced"))


@each_routine
def test_the_interpreter_gets_a_few_of_the_other_cases(routine):
    """No size is larger, and no more cases than it computes in seconds."""
    for dtype in ROUTINES[routine].dtypes:
        cases = list(grids.grid(routine, dtype, "interpret"))
        assert 20 < len(cases) < 50
        sizes = {n for c in cases for plan in c.plans if plan.name in "xy" for n in plan.shape}
        assert 64 < max(sizes) <= 100


def test_few_cases_are_those_of_the_smallest_seeds():
    cases = [matrix_case("trmv", "float32", n, "UNN") for n in range(20)]
    picked = matrix_grids.few(cases, 5)
    assert len(picked) == 5
    assert max(c.seed for c in picked) < min(c.seed for c in cases if c not in picked)
    assert matrix_grids.few(reversed(cases), 5) == picked


def test_thinned_calls_are_a_step_apart_that_divides_no_list():
    calls = list(itertools.product(range(4), range(5), range(6)))
    found = matrix_grids.thinned(calls, 20, 3)
    assert found == calls[3::7]
    assert matrix_grids.thinned(calls, 1000, 3) == calls


def test_groups_are_levels_too():
    assert set(runner.expanded(["level2"])) == {"gemv", *ROUTINES_2}


# ---- refusals -----------------------------------------------------------------------------------


@each_routine
def test_each_letter_and_operand_has_wrong_calls(routine):
    spec = ROUTINES[routine]
    named = {refusal.argument for refusal in REFUSALS if refusal.routine == routine}
    assert named >= {option.name for option in spec.options if option.letters}
    assert named >= {arg.name for arg in spec.arguments}
    assert ("beta" in named) is ("beta" in spec.scalars)
    errors = {refusal.error for refusal in REFUSALS if refusal.routine == routine}
    assert TypeError in errors


def test_positions_are_those_of_fortran():
    """The table of the checks is written apart from that of the routines."""
    for name, arguments in FORTRAN.items():
        assert ROUTINES[name].fortran == tuple(arguments)
    assert ROUTINES["gemvt"].fortran == ()
