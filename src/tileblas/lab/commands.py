"""The commands of `tileblas`: they read options, call the lab, and print tables."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.table import Table
from rich.text import Text

from tileblas.check.runner import Report, groups
from tileblas.core.dtypes import DTYPES
from tileblas.lab import bench as benches
from tileblas.lab import calls, checks, info, lists, staged, tables, terminal
from tileblas.lab.cases import Case
from tileblas.lab.results import open_csv, read_earlier
from tileblas.routines.registry import ROUTINES, families
from tileblas.runtime.target import Target
from tileblas.tuning import table as tuning

app = typer.Typer(
    help="BLAS for the GPU in Python: what runs here, is it right, how fast is it.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

USAGE_ERROR = 2
_SLOW_CALL = 1.0  # seconds: calls of a named list that must take longer are left out
_FAILURES_SHOWN = 10

Routines = Annotated[list[str] | None, typer.Argument(help="dot axpy gemm ...; all by default")]


def refuse(message: str) -> NoReturn:
    """End the command because it cannot mean what was typed."""
    typer.echo(f"tileblas: {message}", err=True)
    raise typer.Exit(USAGE_ERROR)


def known_routines(
    names: Iterable[str] | None, known: Collection[str] = tuple(ROUTINES | families())
) -> list[str]:
    """The routines named, every family where none is."""
    chosen = list(names or families())
    unknown = [name for name in chosen if name not in known]
    if unknown:
        refuse(f"no routine {', '.join(unknown)}; there are {', '.join(sorted(known))}")
    return chosen


def known_dtypes(text: str | None) -> list[str] | None:
    """Element types separated by commas, by name or BLAS letter."""
    if text is None:
        return None
    letters = {row.letter: row.name for row in DTYPES.values()}
    names = [letters.get(name.strip(), name.strip()) for name in text.split(",")]
    unknown = [name for name in names if name not in DTYPES]
    if unknown:
        refuse(f"no dtype {', '.join(unknown)}; there are {', '.join(DTYPES)}")
    return names


@app.command("info")
def info_command() -> None:
    """Versions, GPUs, the backend and why, the kernel cache, the tuning table."""
    console = terminal.new_console()
    table = Table.grid(padding=(0, 2))
    for fact in info.facts():
        table.add_row(fact.name, fact.value)
        if fact.note:
            table.add_row("", Text(fact.note, style="dim"))
    console.print(table)


@app.command()
def check(
    routines: Routines = None,
    backend: Annotated[str, typer.Option(help="all, cpu, interpret or cuda")] = "all",
    grid: Annotated[str, typer.Option(help="auto, interpret, reduced, netlib or full")] = "auto",
    arrays: Annotated[
        str, typer.Option(help="numpy, torch or cupy: what the cuda backend is given")
    ] = "numpy",
    as_json: Annotated[bool, typer.Option("--json", hidden=True)] = False,
) -> None:
    """Check routines against higher-precision references on every backend that is here.

    level1, level2, level3 stand for all routines of a level.
    """
    chosen = known_routines(routines, groups())
    if backend not in ("all", *checks.BACKENDS):
        refuse(f"no backend {backend}; choose all, {', '.join(checks.BACKENDS)}")
    if grid not in checks.GRIDS:
        refuse(f"no grid {grid}; choose {', '.join(checks.GRIDS)}")
    if arrays not in checks.LIBRARIES:
        refuse(f"no arrays of {arrays}; choose {', '.join(checks.LIBRARIES)}")
    if as_json:
        _check_for_parent(chosen, backend, grid)
        return
    console = terminal.new_console()
    good = True
    for name in checks.BACKENDS if backend == "all" else (backend,):
        reason = checks.why_absent(name)
        if reason:
            console.print(Text(f"{name}: skipped: {reason}", style="yellow"), soft_wrap=True)
            good = good and backend == "all"  # a backend asked for by name must be there
            continue
        with terminal.progress(console, name) as update:
            report = checks.check(chosen, name, grid, arrays, update)
        _print_report(console, report)
        good = good and report.passed
    raise typer.Exit(0 if good else 1)


def _check_for_parent(routines: list[str], backend: str, grid: str) -> None:
    """The same as lines of JSON, for the process that started this one and judges the report."""

    def tell(done: int, total: int, label: str) -> None:
        print(checks.progress_as_json(done, total, label), flush=True)

    print(checks.report_as_json(checks.check(routines, backend, grid, "numpy", tell)), flush=True)


def _print_report(console: Any, report: Report) -> None:
    terminal.print_table(console, lambda tight: tables.check_table(report, tight))
    console.print(Text("cells: cases, and the largest error over the hard bar", style="dim"))
    for row in report.rows:
        for failure in row.failures[:_FAILURES_SHOWN]:
            console.print(Text(failure, style="red"), soft_wrap=True)
        if len(row.failures) > _FAILURES_SHOWN:
            console.print(Text(f"... and {len(row.failures) - _FAILURES_SHOWN} more", style="red"))
    for reason in report.skipped:
        console.print(Text(f"skipped: {reason}", style="yellow"))


@app.command()
def bench(
    routines: Routines = None,
    cases_from: Annotated[
        str,
        typer.Option("--list", help=f"cases: {', '.join(lists.LISTS)}; what follows replaces"),
    ] = "default",
    sizes: Annotated[
        str | None, typer.Option(help="4096 or 2^20 or 2^16..2^28:2 or 8x512x64; bands 8192x257")
    ] = None,
    dtypes: Annotated[str | None, typer.Option(help="names or BLAS letters, with commas")] = None,
    trans: Annotated[
        str | None,
        typer.Option(help="letters: of gemm NN,TN; gemv N,T,C; symv U,L; trmv LNN; symm LU"),
    ] = None,
    layout: Annotated[str | None, typer.Option(help="of matrices: col,row")] = None,
    backend: Annotated[str, typer.Option(help="auto, cuda or cpu")] = "auto",
    arrays: Annotated[
        str, typer.Option(help="auto, torch, cupy or tileblas: who owns device arrays")
    ] = "auto",
    csv: Annotated[
        Path | None, typer.Option(help="a file, or a folder for a file named by device and time")
    ] = None,
    compare: Annotated[Path | None, typer.Option(help="an earlier CSV file")] = None,
    only_calls: Annotated[
        bool, typer.Option("--calls", help="instead, what a call costs on the host, by stage")
    ] = False,
    as_staged: Annotated[
        bool, typer.Option("--staged", help="instead, NumPy arrays on a GPU, by stage")
    ] = False,
) -> None:
    """Time routines beside SciPy or cuBLAS, against measured roofs and a reference."""
    chosen = known_routines(routines) if routines else []
    console = terminal.new_console()
    if only_calls:
        _bench_calls(console, chosen, backend, arrays, csv)
    if as_staged and cases_from == "default":
        cases_from = staged.LIST
    try:
        wanted = lists.listed(cases_from, chosen, sizes, known_dtypes(dtypes), trans, layout)
        if as_staged:
            _bench_staged(console, wanted, arrays, csv)
        earlier = read_earlier(compare) if compare else None
        opened = benches.open_bench(backend, arrays)
    except (OSError, ValueError) as error:
        refuse(str(error))
    if sizes is None:
        wanted, left_out = benches.split_by_time(wanted, opened.roofs, _SLOW_CALL)
        if left_out:
            names = ", ".join(map(str, left_out))
            console.print(
                Text(f"left out, over {_SLOW_CALL:g} s a call (name --sizes): {names}"),
                style="yellow",
            )
    path = _csv_path(csv, "bench", opened.environment["device"])
    with open_csv(path, opened.common) as file:
        rows = terminal.measured(console, wanted, opened, file)
    terminal.print_bench(console, rows, opened, earlier)
    if earlier and earlier.device != opened.environment["device"]:
        console.print(Text(f"earlier was measured on {earlier.device}", style="yellow"))
    _finish(console, path, all(row.good for row in rows))


def _bench_calls(
    console: Any, routines: list[str], backend: str, arrays: str, csv: Path | None
) -> NoReturn:
    """What calls cost on the host."""
    try:
        wanted = calls.cases_of(routines)
        opened = calls.open_bench(backend, arrays)
    except ValueError as error:
        refuse(str(error))
    path = _csv_path(csv, "calls", opened.environment["device"])
    with open_csv(path, opened.common) as file:
        costs = terminal.measured_calls(console, wanted, opened, file)
    terminal.print_calls(console, costs, opened)
    _finish(console, path, all(cost.good for cost in costs))


def _bench_staged(console: Any, wanted: list[Case], arrays: str, csv: Path | None) -> NoReturn:
    """NumPy arrays on a GPU: copies, stages of calls, where the GPU starts to win."""
    opened = staged.open_bench(arrays)
    path = _csv_path(csv, "staged", opened.environment["device"])
    with open_csv(path, opened.common) as file:
        rows, copies = terminal.measured_staged(console, wanted, opened, file)
    terminal.print_staged(console, rows, copies, opened)
    _finish(console, path, all(row.good for row in rows))


def _csv_path(csv: Path | None, kind: str, device: str) -> Path | None:
    """The file named, or one in the folder named, by device and time to the minute."""
    if csv is None or csv.suffix == ".csv":
        return csv
    plain = re.sub(r"[^a-z0-9]+", "-", device.lower()).strip("-")
    return csv / f"{kind}-{plain}-{datetime.now():%Y%m%d-%H%M}.csv"


def _finish(console: Any, path: Path | None, good: bool) -> NoReturn:
    """Say where the results are, and end the command."""
    if path is not None:
        console.print(Text(f"written to {path}"), soft_wrap=True)
    raise typer.Exit(0 if good else 1)


@app.command()
def demo() -> None:
    """The main job: benchmark, principal components of digits, the kernels without a GPU."""
    from tileblas.lab import demo as parts

    try:
        good = parts.run(terminal.new_console())
    except ImportError as error:
        refuse(str(error))
    raise typer.Exit(0 if good else 1)


@app.command("compile")
def compile_command(
    routines: Routines = None,
    target: Annotated[str | None, typer.Option(help="sm_90, ...; the GPU's by default")] = None,
    dtypes: Annotated[str | None, typer.Option(help="names or BLAS letters, with commas")] = None,
    for_check: Annotated[
        bool, typer.Option("--check", help="also what `check --backend cuda` needs")
    ] = False,
) -> None:
    """Fill the kernel cache for a target; no GPU is needed."""
    from tileblas.check.launches import launches
    from tileblas.runtime import cache
    from tileblas.runtime.compile import CompileError
    from tileblas.runtime.prebuild import compile_variants

    chosen = list(dict.fromkeys(ROUTINES[name].family for name in known_routines(routines)))
    named_dtypes = known_dtypes(dtypes)
    console = terminal.new_console()
    if target is None:
        aim, said = info.local_target(), "the target of this machine's GPU, or the default"
    else:
        try:
            aim, said = Target.parse(target), ""
        except ValueError as error:
            refuse(str(error))
    console.print(Text(f"for {aim}" + (f", {said}" if said else "")))
    rarer = launches(chosen, tuning.table(aim.name), named_dtypes) if for_check else ()
    with terminal.progress(console, f"compiling for {aim}") as update:
        try:
            summary = compile_variants(
                chosen, aim, update, tuple(named_dtypes) if named_dtypes else None, rarer=rarer
            )
        except CompileError as error:
            refuse(str(error))
    console.print(
        Text(
            f"{summary.variants} variants of {', '.join(chosen)}: {summary.compiled} compiled in "
            f"{summary.seconds:.1f} s, the others were there; all in {cache.folder()}"
        ),
        soft_wrap=True,
    )
