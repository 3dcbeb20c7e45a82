"""What measurements and checks look like in a terminal: numbers with units, and tables of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import NamedTuple

from rich import box
from rich.table import Table
from rich.text import Text

from tileblas.check.runner import Report, Row
from tileblas.lab import calls, staged
from tileblas.lab.calls import Cost
from tileblas.lab.cases import Case
from tileblas.lab.digits import Components
from tileblas.lab.interpreted import Agreement
from tileblas.lab.problems import Accuracy
from tileblas.lab.results import EQUAL, Earlier, Mean, Measurement

_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"))


def new_table(title: str, columns: Sequence[tuple[str, str]], tight: bool = False) -> Table:
    """An empty table; each column is its heading and "left" or "right"."""
    table = Table(
        title=title or None,
        box=box.SIMPLE_HEAD,
        title_justify="left",
        padding=0 if tight else (0, 1),
        pad_edge=False,
    )
    for heading, justify in columns:
        if justify == "left":
            table.add_column(heading, no_wrap=True)  # a word is no use in part
        else:
            table.add_column(heading, justify="right")
    return table


def time_text(seconds: float) -> str:
    """Seconds in the unit that suits them."""
    if math.isnan(seconds):
        return "-"
    scale, unit = next((row for row in _TIMES if seconds >= row[0]), _TIMES[-1])
    return f"{_three_digits(seconds / scale)} {unit}"


def rate_text(rate: float, unit: str) -> str:
    """A rate in bytes or flops per second, the prefix chosen by its size: "4.2 TB/s"."""
    if math.isnan(rate):
        return "-"
    scale, prefix = next((row for row in _PREFIXES if rate >= row[0]), (1.0, ""))
    return f"{_three_digits(rate / scale)} {prefix}{unit}"


def _three_digits(value: float) -> str:
    return (
        f"{value:.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"
    )


def _percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{share:.0%}"


def _times(ratio: float) -> str:
    return "-" if math.isnan(ratio) else f"{ratio:.2f}x"


def bench_table(
    rows: Sequence[Measurement],
    rival: str = "rival",
    earlier: Earlier | None = None,
    tight: bool = False,
) -> Table:
    """One line a case; * marks times from the short form of the protocol.

    `tight` leaves out what is least missed, so that 80 columns suffice.
    """
    columns = _bench_columns(rival, earlier, tight)
    table = new_table("", [(column.heading, column.justify) for column in columns], tight)
    for row in rows:
        table.add_row(*(column.cell(row) for column in columns))
    return table


class _Column(NamedTuple):
    heading: str
    justify: str
    cell: Callable[[Measurement], str | Text]


def _bench_columns(rival: str, earlier: Earlier | None, tight: bool) -> list[_Column]:
    columns = [
        _Column("size", "right", lambda row: row.case.size),
        _Column("dtype", "left", lambda row: row.case.dtype),
        _Column("backend", "left", lambda row: row.backend),
        _Column("median", "right", lambda row: time_text(row.median) + _mark(row)),
        _Column("rate", "right", _rate),
        _Column("roof" if tight else "of roof", "right", lambda row: _percent(row.roof_share)),
        _Column("error", "right", _error),
        _Column(rival, "right", _rival_time),
        _Column("ratio", "right", _ratio),
    ]
    if tight:
        routine = _Column("routine", "left", lambda row: f"{row.case.routine} {row.case.trans}")
        columns.insert(0, routine)
    else:
        columns.insert(0, _Column("routine", "left", lambda row: row.case.routine))
        columns.insert(3, _Column("form", "left", lambda row: row.case.form))
        columns.insert(6, _Column("min", "right", lambda row: time_text(row.minimum)))
    if earlier:
        columns.append(_Column("vs earlier", "right", lambda row: _times(earlier.ratio(row))))
    return columns


def _rival_time(row: Measurement) -> str:
    return "-" if math.isnan(row.rival_median) else time_text(row.rival_median) + _mark(row)


def _ratio(row: Measurement) -> Text:
    return Text(f"{_times(row.ratio)} <", style="yellow") if row.slower else Text(_times(row.ratio))


def _mark(row: Measurement) -> str:
    return "*" if row.short else ""


def _rate(row: Measurement) -> str:
    return rate_text(row.rate, "B/s" if row.unit == "GB/s" else "FLOP/s")


def _error(row: Measurement) -> Text:
    return error_text(row.accuracy) if row.accuracy else Text("not measured", style="red")


def error_text(accuracy: Accuracy) -> Text:
    """A relative error, marked where it is beyond the hard bar."""
    if accuracy.good:
        return Text(f"{accuracy.error:.1e}")
    return Text(f"{accuracy.error:.1e} WRONG", style="bold red")


def means_table(means: Sequence[Mean], rival: str, tight: bool = False) -> Table:
    """The geometric means of the ratios to a rival, one line for each kind of case."""
    columns = [("routine", "left"), ("dtype", "left"), ("form", "left"), ("cases", "right")]
    columns += [(f"vs {rival}", "right"), ("lowest", "right"), (f"< {EQUAL:g}x", "right")]
    table = new_table("Geometric means", columns, tight)
    for mean in means:
        table.add_row(
            *(mean.routine, mean.dtype, mean.form, str(mean.cases)),
            *(_times(mean.ratio), _times(mean.lowest), str(mean.slower)),
        )
    return table


def calls_table(costs: Sequence[Cost], tight: bool = False) -> Table:
    """Host times of calls: one line for each case and kind of arrays."""
    times = (calls.OURS, calls.OTHERS, calls.PLAN, "its library", "launch")
    ratios = ("/ library", "plan() / launch")
    table = new_table("Host time of a call", _about_calls(times + ratios), tight)
    for found in _by_call(cost for cost in costs if not cost.is_stage):
        named = {cost.name: cost for cost in found}
        ours, plan = named[calls.OURS], named[calls.PLAN]
        library = named[calls.LIBRARIES[ours.arrays]]
        contestants = (ours, named[calls.OTHERS], plan, library, named.get(calls.BARE))
        table.add_row(
            *_of_call(ours),
            *(_call_time(cost) for cost in contestants),
            *(_share(ours.of_library), _share(plan.of_launch)),
        )
    return table


def stages_table(costs: Sequence[Cost], tight: bool = False) -> Table:
    """Where the host time of our own calls goes."""
    costs = [cost for cost in costs if cost.is_stage]
    names = list(dict.fromkeys(cost.name for cost in costs))
    table = new_table("Stages of our call", _about_calls(names), tight)
    for found in _by_call(costs):
        times = {cost.name: time_text(cost.median) for cost in found}
        table.add_row(*_of_call(found[0]), *(times.get(name, "-") for name in names))
    return table


def _about_calls(names: Sequence[str]) -> list[tuple[str, str]]:
    about = [("routine", "left"), ("size", "right"), ("arrays", "left")]
    return about + [(name, "right") for name in names]


def _of_call(cost: Cost) -> tuple[str, str, str]:
    return cost.case.routine, cost.case.size, cost.arrays


def _by_call(costs: Iterable[Cost]) -> list[list[Cost]]:
    """The costs of the same case on the same arrays, together."""
    groups: dict[tuple[Case, str], list[Cost]] = {}
    for cost in costs:
        groups.setdefault((cost.case, cost.arrays), []).append(cost)
    return list(groups.values())


def _call_time(cost: Cost | None) -> Text:
    if cost is None:
        return Text("-")
    if not cost.good:
        return Text(f"{time_text(cost.median)} WRONG", style="bold red")
    return Text(time_text(cost.median))


def _share(ratio: float) -> str:
    return "-" if math.isnan(ratio) else f"{ratio:.2f}"


def staged_table(rows: Sequence[staged.Row], tight: bool = False) -> Table:
    """Calls on NumPy arrays: their stages on a GPU, the whole, and what else could be done.

    `tight` leaves out the form, the allocation and the ratios.
    """
    columns = [("work", "left"), ("size", "right"), ("dtype", "left")]
    names: tuple[str, ...] = ("up", "kernel", "down", "call", "resident", "cpu")
    if not tight:
        columns.append(("form", "left"))
        names = ("allocate", *names, "cpu / call", "reckoned")
    table = new_table("", [*columns, *((name, "right") for name in names)], tight)
    for row in rows:
        stages = list(asdict(row.stages).values()) if row.stages else [math.nan] * 4
        call = Text(time_text(row.staged), style="green" if row.staged < row.cpu else "")
        cells: list[str | Text] = [
            *map(time_text, stages),
            call,
            time_text(row.resident),
            time_text(row.cpu),
        ]
        if tight:
            dtype = _SHORT_NAMES.get(row.dtype, row.dtype)
            table.add_row(row.work.removeprefix("power "), row.size, dtype, *cells[1:])
            continue
        reckoning = row.reckoning
        expected = reckoning.cpu / reckoning.cuda if reckoning else math.nan
        ratios = _times(row.cpu / row.staged), _times(expected)
        table.add_row(row.work, row.size, row.dtype, row.form, *cells, *ratios)
    return table


def crossovers_table(found: Sequence[staged.Crossover], tight: bool = False) -> Table:
    """From which size on the GPU wins, as measured and as reckoned."""
    columns = [("routine", "left"), ("dtype", "left"), ("form", "left")]
    columns += [("GPU wins from", "right"), ("reckoned", "right")]
    table = new_table("Where the GPU starts to win, transfers included", columns, tight)
    for one in found:
        sizes = one.measured or "never", one.reckoned or "never"
        table.add_row(one.work, one.dtype, one.form, *sizes)
    return table


def copies_table(rows: Sequence[staged.CopyRow], tight: bool = False) -> Table:
    """Copies through pinned buffers beside the driver's own."""
    columns = [("copy", "left"), ("bytes", "right"), ("pinned", "right"), ("rate", "right")]
    columns += [("driver", "right"), ("rate", "right"), ("ratio", "right")]
    table = new_table("", columns, tight)
    for row in rows:
        table.add_row(
            *(row.way, f"2^{row.nbytes.bit_length() - 1}"),
            *(time_text(row.pinned), rate_text(row.nbytes / row.pinned, "B/s")),
            *(time_text(row.plain), rate_text(row.nbytes / row.plain, "B/s")),
            _times(row.ratio),
        )
    return table


def check_table(report: Report, tight: bool = False) -> Table:
    """Routine by dtype: cases, and the largest error over the hard bar, which 1 just meets."""
    dtypes = list(dict.fromkeys(row.dtype for row in report.rows if row.dtype))
    headings = [_SHORT_NAMES.get(dtype, dtype) if tight else dtype for dtype in dtypes]
    columns = [("routine", "left"), *((name, "right") for name in headings), ("refusals", "right")]
    cases = sum(row.cases for row in report.rows)
    title = f"{report.backend}: {cases} cases of the {report.grid} grid in {report.seconds:.0f} s"
    table = new_table(title, columns, tight)
    found = {(row.routine, row.dtype): row for row in report.rows}
    for routine in dict.fromkeys(row.routine for row in report.rows):
        cells = [_check_cell(found.get((routine, dtype))) for dtype in (*dtypes, "")]
        table.add_row(routine, *cells)
    return table


def _check_cell(row: Row | None) -> Text:
    if row is None:
        return Text("-")
    if not row.passed:
        return Text(f"{len(row.failures)} of {row.cases} FAILED", style="bold red")
    return Text(f"{row.cases}, {row.worst:.2f}" if row.dtype else f"{row.cases}", style="green")


def components_table(found: Sequence[Components]) -> Table:
    """Each component's share of the variance beside NumPy's, for every precision."""
    columns = [("component", "right"), ("NumPy's SVD", "right")]
    for one in found:
        columns += [(one.dtype, "right"), ("difference", "right")]
    table = new_table("", columns)
    for i, share in enumerate(found[0].reference_explained):
        cells = []
        for one in found:
            difference = abs(one.explained[i] - one.reference_explained[i])
            cells += [f"{one.explained[i]:.4%}", f"{difference:.0e}"]
        table.add_row(str(i + 1), f"{share:.4%}", *cells)
    return table


def images_text(vectors: Sequence[Sequence[float]], side: int) -> str:
    """Square images side by side: blocks where ink is added, dots where it is taken away."""
    lines = []
    for row in range(side):
        pieces = []
        for vector in vectors:
            largest = max(map(abs, vector))
            pixels = vector[row * side : (row + 1) * side]
            shades = (_SHADES[round(2 * p / largest) + 2] for p in pixels)
            pieces.append("".join(2 * shade for shade in shades))
        lines.append("    ".join(pieces))
    return "\n".join(lines)


def agreement_table(found: Sequence[Agreement], tight: bool = False) -> Table:
    """The interpreted kernels and the CPU backend on the same problems."""
    columns = [("routine", "left"), ("size", "right"), ("dtype", "left"), ("form", "left")]
    columns += [("time", "right"), ("error", "right"), ("on cpu", "right")]
    table = new_table("", [*columns, ("distance", "right"), ("", "left")], tight)
    for one in found:
        case = one.case
        verdict = Text("agree", style="green") if one.good else Text("WRONG", style="bold red")
        table.add_row(
            *(case.routine, case.size, case.dtype, case.form, time_text(one.seconds)),
            *(error_text(one.interpreted), error_text(one.cpu), f"{one.difference:.1e}", verdict),
        )
    return table


_SHORT_NAMES = {
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    "complex64": "c64",
    "complex128": "c128",
}
_SHADES = ":· ▒█"  # from -1 to 1
