"""Where tables and progress bars are shown: the console, and the bench as it runs there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from tileblas.lab import calls, environment, staged
from tileblas.lab.bench import Bench, run
from tileblas.lab.calls import Cost
from tileblas.lab.cases import Case
from tileblas.lab.results import EQUAL, CsvFile, Earlier, Measurement, geometric_means, record
from tileblas.lab.tables import (
    bench_table,
    calls_table,
    copies_table,
    crossovers_table,
    means_table,
    staged_table,
    stages_table,
)

_WIDTH_OF_FILES = 140


class Update(Protocol):
    """Tells a progress bar how far the work has come, and what is being worked on."""

    def __call__(self, done: int, total: int | None = None, label: str = "") -> None: ...


def new_console(stderr: bool = False) -> Console:
    """A console as wide as the terminal, wide enough for every table where there is none."""
    console = Console(stderr=stderr, highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console = Console(stderr=stderr, highlight=False, width=_WIDTH_OF_FILES)
    return console


def print_table(console: Console, make: Callable[[bool], Table]) -> None:
    """Print the table that `make` makes, the tight one where the roomy one is too wide."""
    roomy = make(False)
    unlimited = console.options.update(width=1000)
    fits = console.measure(roomy, options=unlimited).maximum <= console.width
    console.print(roomy if fits else make(True))


@contextmanager
def progress(console: Console, title: str) -> Iterator[Update]:
    """A bar with counts and the time gone by, which vanishes when it is done.

    Yields `update(done, total, label)`; without a total the bar only shows that something happens.
    """
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,  # a log would only get empty lines
    ) as shown:
        task = shown.add_task(title, total=None)

        def update(done: int, total: int | None = None, label: str = "") -> None:
            description = f"{title} {label}".rstrip()
            shown.update(task, completed=done, total=total, description=description)

        yield update


def measured(
    console: Console, cases: Sequence[Case], bench: Bench, csv: CsvFile | None = None
) -> list[Measurement]:
    """Measure cases under a progress bar, writing each row as it comes."""
    rows: list[Measurement] = []
    with progress(console, "measuring") as update:

        def started(case: Case) -> None:
            update(len(rows), len(cases), str(case))

        for row in run(cases, bench, started=started):
            rows.append(row)
            if csv is not None:
                csv.write(record(row))
    return rows


def print_bench(
    console: Console, rows: Sequence[Measurement], bench: Bench, earlier: Earlier | None = None
) -> None:
    """The table of a bench, and below it what one must know to read it."""
    rival = bench.rival.name if bench.rival else "rival"
    print_table(console, lambda tight: bench_table(rows, rival, earlier, tight))
    means = geometric_means(rows)
    if any(mean.cases > 1 for mean in means):
        print_table(console, lambda tight: means_table(means, rival, tight))
    for row in rows:
        if row.problem:
            console.print(Text(f"{row.case}: {row.problem}", style="red"))
        if row.rival_accuracy and not row.rival_accuracy.good:
            console.print(Text(f"{row.case}: {row.rival} is outside the error bar", style="yellow"))
    console.print(Text(f"{bench.environment['device']}; {bench.clock.description}.", style="dim"))
    console.print(Text(_EXPLAINED, style="dim"))
    if any(row.slower for row in rows):
        console.print(Text(_SLOWER, style="dim"))
    if any(row.short for row in rows):
        console.print(Text(_SHORT, style="dim"))
    if bench.note:
        console.print(Text(bench.note, style="yellow"))


def measured_calls(
    console: Console, cases: Sequence[Case], bench: calls.Bench, csv: CsvFile | None = None
) -> list[Cost]:
    """Measure what calls cost under a progress bar, writing each row as it comes."""
    costs: list[Cost] = []
    with progress(console, "timing calls") as update:
        for done, found in enumerate(calls.run(cases, bench), start=1):
            update(done, len(cases) * len(bench.places))
            costs += found
            if csv is not None:
                for cost in found:
                    csv.write(calls.record(cost))
    return costs


def print_calls(console: Console, costs: Sequence[Cost], bench: calls.Bench) -> None:
    """The tables of what calls cost, and below them what one must know to read them."""
    print_table(console, lambda tight: calls_table(costs, tight))
    print_table(console, lambda tight: stages_table(costs, tight))
    protocol = calls.BurstClock.description
    console.print(Text(f"{bench.environment['device']}; {protocol}.", style="dim"))
    console.print(Text(_CALLS_EXPLAINED, style="dim"))


def measured_staged(
    console: Console, cases: Sequence[Case], bench: staged.Bench, csv: CsvFile | None = None
) -> tuple[list[staged.Row], list[staged.CopyRow]]:
    """Measure copies, staged calls and the power iteration, writing each row as it comes."""
    rows: list[staged.Row] = []
    copies: list[staged.CopyRow] = []
    with progress(console, "staging") as update:
        for row in staged.run(cases, bench):
            if isinstance(row, staged.CopyRow):
                copies.append(row)
            else:
                rows.append(row)
                update(len(rows), None, f"{row.work} {row.size} {row.dtype}")
            if csv is not None:
                csv.write(staged.record(row))
    return rows, copies


def print_staged(
    console: Console,
    rows: Sequence[staged.Row],
    copies: Sequence[staged.CopyRow],
    bench: staged.Bench,
) -> None:
    """The tables of staging, and below them what one must know to read them."""
    print_table(console, lambda tight: copies_table(copies, tight))
    print_table(console, lambda tight: staged_table(rows, tight))
    print_table(console, lambda tight: crossovers_table(staged.crossovers(rows), tight))
    for row in rows:
        if not row.good:
            what = row.problem or "is outside the error bar"
            console.print(Text(f"{row.work} {row.size} {row.dtype}: {what}", style="red"))
    console.print(Text(f"{bench.environment['device']}; {environment.cpu_name()}.", style="dim"))
    console.print(Text(_STAGED_EXPLAINED, style="dim"))


_STAGED_EXPLAINED = (
    "allocate, up, kernel, down: each stage by itself, with a wait after it. call: the whole call "
    "on NumPy arrays, where the stages of a large one overlap. resident: the same on arrays that "
    "are on the GPU, device time. cpu: SciPy's BLAS. cpu / call: above 1 the GPU wins; reckoned: "
    "what `auto` expects of it. driver: its own copy of the same array; ratio: how many times "
    "faster through pinned buffers."
)
_CALLS_EXPLAINED = (
    "plan(): on the arrays it was made for. its library: the same on the same arrays, by torch, "
    "CuPy's cuBLAS or SciPy. launch: cuLaunchKernel from Python with the same kernel, parameters "
    "packed before. / library: our time over the library's; below 1 is less. Ratios are medians "
    "over rounds that ran both. Each stage is timed by itself; rest: what they do not add up to."
)
_EXPLAINED = (
    "of roof: the least time that the measured bandwidth and rate allow, over the median; above "
    "100 % where operands stay in a cache. error: against a higher-precision reference, relative "
    "to sum |x||y| for dot, Frobenius norm otherwise (products: on sampled rows; solves: of their "
    "residuals). ratio: how many times faster than the rival, the median over rounds that ran both."
)
_SLOWER = f"<: below {EQUAL:g}x; more counts as equal."
_SHORT = "*: one call takes over 50 ms, so fewer repetitions in one pass."
