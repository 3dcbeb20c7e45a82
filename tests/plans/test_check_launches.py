"""The launches that are prebuilt for the checks are those that the checks make."""

import pytest

import tileblas as tb
from tileblas.backends import select
from tileblas.check import grids
from tileblas.check.cases import axpy_case
from tileblas.check.guards import NumpyLibrary
from tileblas.check.launches import launches, launches_of, posed
from tileblas.check.runner import check_case
from tileblas.core import trivial
from tileblas.routines.registry import ROUTINES
from tileblas.runtime.prebuild import compile_variants
from tileblas.runtime.target import Target
from tileblas.runtime.variant import variant_of
from tileblas.tuning.table import table


def types_of(spec):
    """A narrow real type and a complex one, of those that a routine takes."""
    real = "float16" if "float16" in spec.dtypes else "float32"
    return [dtype for dtype in (real, "complex64") if dtype in spec.dtypes]


@pytest.mark.parametrize(
    ("routine", "dtype"), [(name, t) for name, spec in ROUTINES.items() for t in types_of(spec)]
)
def test_a_case_poses_the_problem_that_its_call_poses(routine, dtype, monkeypatch):
    seen = []
    runner = select.runner

    def noted(backend, spec, problem, *rest):
        seen.append(problem)
        return runner(backend, spec, problem, *rest)

    monkeypatch.setattr(select, "runner", noted)
    compared = 0
    with tb.backend("cpu"):
        for case in grids.grid(routine, dtype, "interpret"):
            if case.form in ("array", "compute"):
                continue  # scalars on the host are numbers, whatever holds them
            seen.clear()
            check_case(case, NumpyLibrary(), ("nan",))
            problem, _ = posed(case)
            if trivial.is_noop(ROUTINES[routine], problem):
                assert seen == []
            elif seen:  # else an earlier case posed the same
                assert seen == [problem], case.id
                compared += 1
    assert compared >= 8  # numbers, of which rotations are made, have no lengths nor increments


def test_families_dtypes_and_device_scalars_are_covered():
    made = list(launches(["dot"], table("sm_90"), ["complex64"], "interpret"))
    variants = {variant_of(launch, Target(90)) for launch in made}
    conj = {dict(variant.constants)["CONJ_X"] for variant in variants}
    assert conj == {False, True}  # dotc is of the family
    made = list(launches(["axpy"], table("sm_90"), ["float16"], "interpret"))
    arguments = [argument for launch in made for argument in launch.arguments]
    kinds = {a.type for a in arguments if a.kind == "pointer" and a.slot == "alpha"}
    assert kinds == {"*fp16", "*fp32"}  # of the operands' type, and of the compute type


def test_launches_of_rotations_from_numbers_are_made_too():
    made = list(launches(["rotg", "rotmg"], table("sm_90"), ["float64"], "interpret"))
    assert {launch.kernel for launch in made} == {"rotations.rotg_kernel", "rotations.rotmg_kernel"}


@pytest.mark.compile
def test_they_are_compiled_each_variant_once(monkeypatch, tmp_path):
    monkeypatch.setenv("TILEBLAS_CACHE_DIR", str(tmp_path))
    cases = [axpy_case("float32", n, incs) for n in (5, 9) for incs in ((1, 1), (1, 2))]
    rarer = list(launches_of(cases, table("sm_90")))
    wanted = len({variant_of(launch, Target(90)) for launch in rarer})
    assert wanted == 2  # of four launches: lengths need no kernels of their own
    summary = compile_variants([], Target(90), workers=1, rarer=rarer)
    assert (summary.variants, summary.compiled) == (wanted, wanted)
    assert compile_variants([], Target(90), workers=1, rarer=rarer).compiled == 0
