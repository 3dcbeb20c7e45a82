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

from tileblas.lab.bench import Bench, run
from tileblas.lab.cases import Case
from tileblas.lab.results import CsvFile, Earlier, Measurement
from tileblas.lab.tables import bench_table

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
                csv.write(row)
    return rows


def print_bench(
    console: Console, rows: Sequence[Measurement], bench: Bench, earlier: Earlier | None = None
) -> None:
    """The table of a bench, and below it what one must know to read it."""
    rival = bench.rival.name if bench.rival else "rival"
    print_table(console, lambda tight: bench_table(rows, rival, earlier, tight))
    for row in rows:
        if row.problem:
            console.print(Text(f"{row.case}: {row.problem}", style="red"))
        if row.rival_accuracy and not row.rival_accuracy.good:
            console.print(Text(f"{row.case}: {row.rival} is outside the error bar", style="yellow"))
    console.print(Text(f"{bench.environment['device']}; {bench.clock.description}.", style="dim"))
    console.print(Text(_EXPLAINED, style="dim"))
    if any(row.short for row in rows):
        console.print(Text(_SHORT, style="dim"))
    if bench.note:
        console.print(Text(bench.note, style="yellow"))


_EXPLAINED = (
    "of roof: the least time that the measured bandwidth and rate allow, over the median; above "
    "100 % where operands stay in a cache. error: against a higher-precision reference, relative "
    "to sum |x||y| for dot, Frobenius norm otherwise (products: on sampled rows). ratio: how many "
    "times faster than the rival, the median over rounds that ran both."
)
_SHORT = "*: one call takes over 50 ms, so fewer repetitions in one pass."
