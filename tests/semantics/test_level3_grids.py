"""The grids of level 3: netlib's calls in full, and every kind of call where they are thinned."""

import itertools

import numpy as np
import pytest

from tileblas.check import grids, parameters, product_grids, runner
from tileblas.check.level3_refusals import FORTRAN
from tileblas.check.refusals import REFUSALS
from tileblas.core.storage import math_axes
from tileblas.routines.registry import ROUTINES

ROUTINES_3 = [spec.name for spec in ROUTINES.values() if spec.level == 3 and spec.name != "gemm"]
each_routine = pytest.mark.parametrize("routine", ROUTINES_3)
each_row = pytest.mark.parametrize(
    ("routine", "dtype"), [(name, dtype) for name in ROUTINES_3 for dtype in ROUTINES[name].dtypes]
)

#: What netlib's programs print as their numbers of calls, real and complex.
CALLS = {
    **dict.fromkeys(("symm", "hemm", "skewsymm"), (1296, 1296)),
    **dict.fromkeys(("syrk", "syrkx", "syr2k", "skewsyr2k"), (1944, 1296)),
    **dict.fromkeys(("herk", "herkx", "her2k"), (0, 1296)),
    "gemmtr": (5832, 5832),
}


@each_row
def test_netlibs_grids_are_complete(routine, dtype):
    assert sum(1 for _ in grids.grid(routine, dtype, "netlib")) == CALLS[routine]["c" in dtype]


def test_every_routine_is_here():
    assert set(CALLS) == set(ROUTINES_3) == set(FORTRAN)
    assert set(runner.expanded(["level3"])) == {"gemm", *ROUTINES_3}


def sizes(case):
    """The two sizes of a case by name."""
    spec, found = ROUTINES[case.routine], {}
    for plan in case.plans:
        axes = math_axes(spec.operand(plan.name), dict(case.options))
        found |= dict(zip(axes, plan.shape[-2:], strict=True))
    return tuple(sorted(found.items()))


def letters(case):
    return "".join(str(letter) for _, letter in case.options)


@each_row
def test_thinned_grids_keep_pairs_of_parameters(routine, dtype):
    """Each size and each letter meets each pair of alpha and beta, and they meet each other."""
    met = set()
    for case in grids.grid(routine, dtype, "reduced"):
        if len(case.plans) == len(ROUTINES[routine].arguments):
            scalars = tuple(value for _, value in case.scalars)
            words = (*sizes(case), *case.options)
            met |= {frozenset(pair) for pair in itertools.combinations(words, 2)}
            met |= {(word, scalars) for word in words}
    names = "mn" if "m" in ROUTINES[routine].dims else "kn"
    axes = [[(name, n) for n in parameters.NETLIB_SIZES] for name in names]
    words = product_grids.letters_of(ROUTINES[routine], dtype)
    for place, option in enumerate(ROUTINES[routine].options):
        axes.append([(option.name, letter) for letter in sorted({word[place] for word in words})])
    for left, right in itertools.combinations(axes, 2):
        assert {frozenset(pair) for pair in itertools.product(left, right)} <= met
    scalars = list(itertools.product(*product_grids.factors(routine, dtype)))
    for axis in axes:
        assert set(itertools.product(axis, scalars)) <= met


def kinds(cases):
    """What there is among cases, in words."""
    seen = set()
    for case in cases:
        scalars = [complex(value) for _, value in case.scalars]
        fills = {plan.fill for plan in case.plans}
        layouts = [plan.layout for plan in case.plans]
        words = {
            "exact": case.exact,
            "large": max(n for _, n in sizes(case)) >= 63,
            "empty": 0 in dict(sizes(case)).values(),
            "batch": any(len(plan.shape) > 2 for plan in case.plans),
            "innermost batch": any(layout.order == "batch" for layout in layouts),
            "mixed": len(set(layouts)) > 1,
            "padding": any(layout.pad or layout.step > 1 for layout in layouts),
            "offset": any(layout.offset for layout in layouts),
            "negative": case.has_negative_strides,
            "repeated": any(layout.zero for layout in layouts),
            "NaN": bool({"nan", "inf", "special", "flawed"} & fills),
            "NaN scalar": not np.isfinite(scalars).all(),
            "passed": case.form != "number",
            "new": len(case.plans) < len(ROUTINES[case.routine].arguments),
            "subnormal": "subnormal" in fills,
            "every bit": "large" in fills,
            "idle": dict(case.scalars) == {"alpha": 0, "beta": 1},
        }
        seen |= {word for word, found in words.items() if found}
        seen.add(letters(case))
    return seen, set(words)


@each_routine
def test_every_kind_of_case_is_in_every_grid(routine):
    """In the interpreter's over all types together, as each has a few of its own."""
    spec = ROUTINES[routine]
    few, wanted = kinds(c for dtype in spec.dtypes for c in grids.grid(routine, dtype, "interpret"))
    assert wanted <= few
    for dtype in spec.dtypes:
        found, wanted = kinds(grids.grid(routine, dtype, "reduced"))
        assert wanted | set(product_grids.letters_of(spec, dtype)) <= found


@each_row
def test_grids_are_no_larger_than_their_backends_compute_in_time(routine, dtype):
    cases = list(grids.grid(routine, dtype, "interpret"))
    assert 120 < len(cases) < 200
    largest = [max(n for _, n in sizes(case)) for case in cases]
    assert sum(n > 65 for n in largest) == 2
    assert max(largest) <= 257
    reduced = list(grids.grid(routine, dtype, "reduced"))
    assert 400 < len(reduced) < 650
    assert max(n for case in reduced for _, n in sizes(case)) == (
        1000 if "m" in ROUTINES[routine].dims else 4097
    )


@each_row
def test_complex_operands_have_their_own_letters_and_scalars(routine, dtype):
    words = {word[-1] for word in product_grids.letters_of(ROUTINES[routine], dtype)}
    if routine in ("syrk", "syrkx", "syr2k", "skewsyr2k"):
        assert words == set("NT" if "complex" in dtype else "NTC")
    if routine in ("herk", "herkx", "her2k"):
        assert words == set("NC")
        cases = grids.grid(routine, dtype, "full")
        pairs = [pair for case in cases for pair in case.scalars]
        complex_ones = {name for name, value in pairs if isinstance(value, complex)}
        assert complex_ones == (set() if routine == "herk" else {"alpha"})


# ---- refusals -----------------------------------------------------------------------------------


@each_routine
def test_each_letter_and_operand_has_wrong_calls(routine):
    spec = ROUTINES[routine]
    refusals = [refusal for refusal in REFUSALS if refusal.routine == routine]
    named = {refusal.argument for refusal in refusals}
    assert named >= {*spec.option_names, *spec.argument_names, "beta", "math", None}
    assert TypeError in {refusal.error for refusal in refusals}
    assert len({refusal.id for refusal in refusals}) == len(refusals)


def test_positions_are_those_of_fortran():
    """The table of the checks is written apart from that of the routines."""
    for name, arguments in FORTRAN.items():
        assert ROUTINES[name].fortran == tuple(arguments)


@pytest.mark.parametrize("routine", ["syrk", "syrkx", "syr2k"])
def test_letters_that_are_for_real_operands_only(routine):
    ids = {refusal.id for refusal in REFUSALS if refusal.routine == routine}
    assert {f"{routine}-trans-C-of-complex64", f"{routine}-trans-C-of-complex128"} <= ids
