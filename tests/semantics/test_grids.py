"""The grids of `tileblas check`: every routine and dtype, case by case against the oracle."""

from itertools import islice

import pytest

from tileblas import settings
from tileblas.check import grids, runner
from tileblas.check.guards import POISONS, CupyLibrary, TorchLibrary
from tileblas.check.refusals import REFUSALS
from tileblas.check.wrong_calls import refused
from tileblas.routines.registry import ROUTINES, families

each_row = pytest.mark.parametrize(
    ("routine", "dtype"),
    [(name, dtype) for name, spec in ROUTINES.items() for dtype in spec.dtypes],
)

PRODUCTS = {name for name, spec in ROUTINES.items() if spec.level == 3} - {"gemm"}

# Of long grids the tests take part: `tileblas check` has the whole, under every poison.
MOST_CASES = 3000  # of netlib's grid, a routine
OF_PRODUCTS = 4  # every so-many-th case of level 3, whose routines share one kernel
INTERPRETED = 3  # every so-many-th case, since a call takes long in the interpreter
POISONED = 5  # every so-many-th case takes all poisons, the others take them in turn


def failures(cases, library=None, poisoned=1):
    """What went wrong, one line a case."""
    lines = []
    for i, case in enumerate(cases):
        poisons = POISONS if poisoned and i % poisoned == 0 else POISONS[i % 3 : i % 3 + 1]
        verdict = runner.check_case(case, library, poisons)
        if not verdict.passed:
            lines.append(f"{case.id}: {verdict.message}")
    return lines


@pytest.mark.slow  # in the interpreter
@each_row
def test_every_case_of_the_backends_grid(backend, routine, dtype):
    name = runner.GRIDS[backend]
    cases = list(grids.grid(routine, dtype, name))
    assert len(cases) > 20  # more where calls do not take long in the interpreter
    if routine in PRODUCTS:
        cases = cases[::OF_PRODUCTS]
    if backend == "interpret":
        assert failures(cases[:: INTERPRETED if routine not in PRODUCTS else 1], poisoned=0) == []
    else:
        assert failures(cases, poisoned=POISONED) == []


@pytest.mark.parametrize("routine", ROUTINES)
def test_netlibs_grid(cpu, routine):
    """Up to 17496 calls; `tileblas check --grid netlib` runs all of them, for every dtype."""
    dtypes = ROUTINES[routine].dtypes
    dtype = next(name for name in ("float64", "complex128", "float32") if name in dtypes)
    cases = list(grids.grid(routine, dtype, "netlib"))
    most = MOST_CASES // OF_PRODUCTS if routine in PRODUCTS else MOST_CASES
    assert failures(cases[:: len(cases) // most + 1], poisoned=0) == []


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: refusal.id)
def test_wrong_calls_are_refused_and_write_nothing(cpu, refusal):
    assert refused(refusal, runner.NumpyLibrary()) is None


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["torch", "cupy"])
@each_row
def test_every_case_on_device_arrays(name, routine, dtype):
    pytest.importorskip(name)
    library = {"torch": TorchLibrary, "cupy": CupyLibrary}[name]()
    if reason := runner.missing(dtype, library):
        pytest.skip(reason)
    cases = runner.suited_cases(routine, dtype, runner.GRIDS["cuda"], library)
    assert failures(cases, library) == []
    outcomes = [refused(wrong, library) for wrong in runner.suited_refusals(routine, library)]
    assert [line for line in outcomes if line] == []


def test_a_run_reports_a_row_for_each_routine_and_dtype(cpu, monkeypatch):
    every = grids.grid
    monkeypatch.setattr(grids, "grid", lambda *names: islice(every(*names), 2))
    report = runner.run(families(), "cpu", grid="interpret")
    assert report.passed, [line for row in report.rows for line in row.failures]
    rows = [(row.routine, row.dtype) for row in report.rows]
    assert set(rows) == {(n, d) for n, spec in ROUTINES.items() for d in (*spec.dtypes, "")}
    assert len(rows) == len(set(rows))
    assert all(row.cases and row.seconds > 0 and row.worst <= 1 for row in report.rows)
    assert settings.chosen_backend() == "cpu"
