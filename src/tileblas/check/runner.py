"""`run` checks routines on one backend, case by case, and reports one row per routine and dtype.

A case passes when, under each poison, the result is right by `tolerance.judge`, nothing beside it
was written, and every poison gave the same bits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tileblas
from tileblas.check import grids
from tileblas.check.cases import Case
from tileblas.check.data import filled
from tileblas.check.guards import POISONS, Guarded, Library, NumpyLibrary
from tileblas.check.oracle import reference
from tileblas.check.refusals import REFUSALS, Refusal, refused
from tileblas.check.tolerance import Verdict, judge
from tileblas.core.dtypes import DTYPES, numpy_dtype
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
    """Check routines (or families: "dot" is dot, dotc and dotu) on a backend.

    `library` makes the arrays, NumPy's by default. `progress(label, cases)` is called before each
    row with the number of its cases, and after each case with 1 and the label of its row.
    """
    library = library or NumpyLibrary()
    name = GRIDS[backend] if grid == "auto" else grid
    report = Report(backend, name)
    with tileblas.backend(backend):
        for routine in _expanded(routines):
            for dtype in ROUTINES[routine].dtypes:
                reason = _missing(dtype, library)
                if reason:
                    report.skipped.append(f"{routine} {dtype}: {reason}")
                    continue
                cases = [c for c in grids.grid(routine, dtype, name) if _suits(c, library)]
                poisons = POISONS if name != "interpret" else ()
                report.rows.append(_check_row(routine, dtype, cases, library, poisons, progress))
            report.rows.append(_refusal_row(routine, library, progress))
    return report


def count(routines: Iterable[str], grid: str, backend: str, library: Library | None = None) -> int:
    """How many cases `run` would check: the total for a progress bar."""
    library = library or NumpyLibrary()
    name = GRIDS[backend] if grid == "auto" else grid
    return sum(
        sum(_suits(case, library) for case in grids.grid(routine, dtype, name))
        for routine in _expanded(routines)
        for dtype in ROUTINES[routine].dtypes
        if not _missing(dtype, library)
    ) + sum(len(_refusals(routine)) for routine in _expanded(routines))


def _expanded(names: Iterable[str]) -> Iterator[str]:
    groups = families()
    for name in names:
        if name in groups:
            yield from (spec.name for spec in groups[name])
        else:
            yield ROUTINES[name].name
