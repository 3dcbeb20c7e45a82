"""`run` checks routines on one backend, case by case, and reports one row per routine and dtype.

A case passes when, under each poison, every output is right by `tolerance.judge`, nothing beside
them was written, and every poison gave the same bits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import tileblas
from tileblas.check import grids
from tileblas.check.cases import Case
from tileblas.check.evaluation import References
from tileblas.check.guards import POISONS, Guarded, Library, NumpyLibrary
from tileblas.check.operands import region, values
from tileblas.check.oracle import references
from tileblas.check.refusals import REFUSALS
from tileblas.check.tolerance import Verdict, judge
from tileblas.check.wrong_calls import Refusal, refused
from tileblas.core.dtypes import DTYPES, RESULTS, DType, numpy_dtype
from tileblas.core.spec import Spec
from tileblas.routines.registry import ROUTINES, families

#: The grid that "auto" means for a backend.
GRIDS = {"cpu": "reduced", "interpret": "interpret", "cuda": "reduced"}

Progress = Callable[[str, int], None]


@dataclass
class Row:
    """The outcome of one routine and dtype; `dtype` is "" for calls that must be refused."""

    routine: str
    dtype: str
    cases: int = 0
    failures: list[str] = field(default_factory=list)
    worst: float = 0.0  # largest error over the hard bar
    quality: float = 0.0  # largest Frobenius error over the quality bar
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        return self.cases > 0 and not self.failures


@dataclass
class Report:
    """All rows of a run on one backend, and what could not be checked there, with the reason."""

    backend: str
    grid: str
    rows: list[Row] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return all(row.passed for row in self.rows)

    @property
    def seconds(self) -> float:
        return sum(row.seconds for row in self.rows)


def run(
    routines: Iterable[str],
    backend: str,
    progress: Progress | None = None,
    grid: str = "auto",
    library: Library | None = None,
) -> Report:
    """Check routines (or groups of them, see `groups`) on a backend.

    `library` makes the arrays, NumPy's by default. `progress(label, 1)` is called after each case;
    `count` tells how many there will be. Raises ValueError for an unknown routine or grid.
    """
    library = library or NumpyLibrary()
    report = Report(backend, _grid_name(grid, backend))
    with tileblas.backend(backend):
        for routine in expanded(routines):
            for dtype in ROUTINES[routine].dtypes:
                reason = missing(dtype, library)
                if reason:
                    report.skipped.append(f"{routine} {dtype}: {reason}")
                    continue
                cases = suited_cases(routine, dtype, report.grid, library)
                # Where calls are slow, cases take the poisons in turn.
                every_poison = report.grid != "interpret"
                row = _check_row(routine, dtype, cases, library, every_poison, progress)
                report.rows.append(row)
            report.rows.append(_refusal_row(routine, library, progress))
    return report


def count(
    routines: Iterable[str], backend: str, grid: str = "auto", library: Library | None = None
) -> int:
    """How many cases `run` checks."""
    library = library or NumpyLibrary()
    name = _grid_name(grid, backend)
    total = 0
    for routine in expanded(routines):
        dtypes = [d for d in ROUTINES[routine].dtypes if not missing(d, library)]
        total += sum(len(suited_cases(routine, dtype, name, library)) for dtype in dtypes)
        total += len(suited_refusals(routine, library))
    return total


def _grid_name(grid: str, backend: str) -> str:
    return GRIDS[backend] if grid == "auto" else grid


def groups() -> dict[str, tuple[Spec, ...]]:
    """What names stand for: a routine, a family ("dot" is dot, dotc and dotu), or a level."""
    named = families() | {name: (spec,) for name, spec in ROUTINES.items() if name != spec.family}
    for spec in ROUTINES.values():
        level = f"level{spec.level}"
        named[level] = (*named.get(level, ()), spec)
    return named


def expanded(names: Iterable[str]) -> list[str]:
    """The routines that names of routines, families and levels stand for, each once."""
    known = groups()
    wanted = list(names)
    for name in wanted:
        if name not in known:
            raise ValueError(f"no routine {name!r}; there are {', '.join(known)}")
    return list(dict.fromkeys(spec.name for name in wanted for spec in known[name]))


def missing(dtype: str, library: Library) -> str | None:
    """Why arrays of this type cannot be made, or None."""
    if dtype == "bfloat16" and library.name == "cupy":
        return "CuPy has no bfloat16"
    try:
        numpy_dtype(DTYPES[dtype])
    except ImportError as error:
        return str(error)
    return None


def suited_cases(routine: str, dtype: str, grid: str, library: Library) -> list[Case]:
    """The cases of a grid whose operands the library can make."""
    cases = grids.grid(routine, dtype, grid)
    return [case for case in cases if library.negative_strides or not case.has_negative_strides]


def suited_refusals(routine: str, library: Library) -> list[Refusal]:
    """The wrong calls of a routine whose operands the library can make."""
    return [
        refusal
        for refusal in REFUSALS
        if refusal.routine == routine
        and (library.negative_strides or not refusal.has_negative_strides)
        and not any(missing(dtype, library) for dtype in refusal.dtypes & DTYPES.keys())
    ]


def _check_row(
    routine: str,
    dtype: str,
    cases: list[Case],
    library: Library,
    every_poison: bool,
    progress: Progress | None,
) -> Row:
    row = Row(routine, dtype)
    start = time.perf_counter()
    for index, case in enumerate(cases):
        poisons = POISONS if every_poison else (POISONS[index % len(POISONS)],)
        verdict = check_case(case, library, poisons)
        row.cases += 1
        row.worst = max(row.worst, verdict.ratio)
        row.quality = max(row.quality, verdict.quality)
        if not verdict.passed:
            row.failures.append(f"{case.id}: {verdict.message}")
        if progress:
            progress(f"{routine} {dtype}", 1)
    row.seconds = time.perf_counter() - start
    return row


def _refusal_row(routine: str, library: Library, progress: Progress | None) -> Row:
    row = Row(routine, "")
    start = time.perf_counter()
    for refusal in suited_refusals(routine, library):
        problem = refused(refusal, library)
        row.cases += 1
        if problem:
            row.failures.append(f"{refusal.id}: {problem}")
        if progress:
            progress(f"{routine} refusals", 1)
    row.seconds = time.perf_counter() - start
    return row


def check_case(
    case: Case, library: Library | None = None, poisons: tuple[str, ...] = POISONS
) -> Verdict:
    """Run one case under each poison; the verdict of the first failure, or of the last run."""
    library = library or NumpyLibrary()
    held = values(case)
    regions = {plan.name: region(case, plan) for plan in case.plans}
    scalars = _scalars(case, library)
    expected = None
    bits = None
    verdict = Verdict(True, 0.0, None, "")
    for poison in poisons:
        operands = {
            plan.name: Guarded(held[plan.name], plan.layout, poison, library, regions[plan.name])
            for plan in case.plans
        }
        results, problem = _call(case, operands, scalars, library)
        found = b"".join(result.tobytes() for result in results.values())
        if problem is None and bits != found:  # the same bits have the same verdict
            expected = expected or _expected(case, operands, scalars, library, results)
            verdict = _judged(case, results, expected)
            problem = None if verdict.passed else verdict.message
        if problem is None and bits not in (None, found):
            problem = "the bits depend on what lies around the operands"
        if problem is not None:
            return Verdict(False, verdict.ratio, verdict.where, f"{problem} (poison {poison})")
        bits = found
    return verdict


def _judged(case: Case, results: dict[str, np.ndarray], expected: References) -> Verdict:
    """The verdict of the first output that is wrong, or the worst figures of all."""
    ratio = quality = 0.0
    for name, result in results.items():
        dtype = RESULTS[case.result_dtype(ROUTINES[case.routine].operand(name))]
        verdict = judge(result, expected[name], dtype, case.exact)
        if not verdict.passed:
            told = f"{name} {verdict.message}" if len(results) > 1 else verdict.message
            return replace(verdict, message=told)
        ratio, quality = max(ratio, verdict.ratio), max(quality, verdict.quality)
    return Verdict(True, ratio, None, "", quality)


def _scalars(case: Case, library: Library) -> dict[str, Any]:
    """The scalars in the form that the case asks for."""
    if case.form == "number":
        return dict(case.scalars)
    if case.form == "numpy":
        return {name: np.asarray(value)[()] for name, value in case.scalars}
    made = {}
    for name, value in case.scalars:
        buffer = library.put(np.array([value]).astype(numpy_dtype(scalar_dtype(case, name))))
        made[name] = library.view(buffer, 0, (), ())
    return made


def scalar_dtype(case: Case, name: str) -> DType:
    """The element type of a scalar that the case passes as an array."""
    row = DTYPES[case.dtype]
    if name in ROUTINES[case.routine].real_scalars:
        row = DTYPES[row.real]
    return row if case.form == "array" else DTYPES[row.compute]


def _expected(
    case: Case,
    operands: dict[str, Guarded],
    scalars: dict[str, Any],
    library: Library,
    results: dict[str, np.ndarray],
) -> References:
    numbers = {
        name: value if case.form in ("number", "numpy") else library.get(value)
        for name, value in scalars.items()
    }
    before = {name: operand.values for name, operand in operands.items()}
    compute = DTYPES[case.dtype].compute
    return references(case.routine, before, numbers, dict(case.options), compute, results)


def _call(
    case: Case, operands: dict[str, Guarded], scalars: dict[str, Any], library: Library
) -> tuple[dict[str, np.ndarray], str | None]:
    """The outputs on the host by name, and what was wrong beside their values."""
    spec = ROUTINES[case.routine]
    arrays = {name: operand.array for name, operand in operands.items()}
    passed = {spec.packed: _packed(case, scalars, library)} if spec.packed else scalars
    try:
        returned = getattr(tileblas, spec.name)(**arrays, **passed, **dict(case.options))
    except Exception as error:
        return {}, f"raised {type(error).__name__}: {error}"
    for name, operand in operands.items():
        damage = operand.damage(is_output=spec.operand(name).is_output)
        if damage:
            return {}, f"{name}: {damage}"
    if len(spec.returns) == 1:
        returned = (returned,)
    elif not isinstance(returned, tuple) or len(returned) != len(spec.returns):
        return {}, f"{', '.join(spec.returns)} are to be returned, not {returned!r}"
    named = dict(zip(spec.returns, returned, strict=True))
    return _results(case, operands, named, library)


def _packed(case: Case, scalars: dict[str, Any], library: Library) -> Any:
    """All scalars as one sequence: an array where they are to be arrays."""
    if case.form == "number":
        return tuple(scalars.values())
    numbers = np.array([value for _, value in case.scalars])
    if case.form == "numpy":
        return numbers
    dtype = numpy_dtype(scalar_dtype(case, case.scalars[0][0]))
    return library.view(library.put(numbers.astype(dtype)), 0, numbers.shape, (1,))


def _results(
    case: Case, operands: dict[str, Guarded], returned: dict[str, Any], library: Library
) -> tuple[dict[str, np.ndarray], str | None]:
    """The outputs on the host: those given come back themselves, others have their type."""
    spec, results = ROUTINES[case.routine], {}
    for arg in (spec.operands[index] for index in spec.outputs):
        if not arg.exists(DTYPES[case.dtype]):
            if returned[arg.name] is not None:
                return {}, f"{arg.name} is {returned[arg.name]!r}, not None"
        elif arg.name in operands:
            if arg.name in returned and returned[arg.name] is not operands[arg.name].array:
                return {}, f"the given output {arg.name} was not returned"
            results[arg.name] = operands[arg.name].result()
        else:
            result = np.asarray(library.get(returned[arg.name]))
            if result.dtype != numpy_dtype(RESULTS[case.result_dtype(arg)]):
                return {}, f"the result {arg.name} is {result.dtype}"
            results[arg.name] = result
    return results, None
