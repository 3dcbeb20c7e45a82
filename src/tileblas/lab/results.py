"""Results of the bench: one record a case, written to and compared with CSV files."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean
from types import TracebackType
from typing import Any

from tileblas.lab.cases import Case
from tileblas.lab.gauges import Reading
from tileblas.lab.problems import Accuracy

EQUAL = 0.97  # times as fast as the rival: this much and more counts as equal
_KEY = ("routine", "size", "dtype", "layout", "trans", "backend")


@dataclass(frozen=True)
class Measurement:
    """One row of results; times in seconds, `rate` in bytes or flops per second.

    `ratio` is how many times faster than the rival. A row with a `problem` holds no times.
    """

    case: Case
    backend: str
    arrays: str
    unit: str = ""
    median: float = math.nan
    minimum: float = math.nan
    rate: float = math.nan
    roof_share: float = math.nan
    accuracy: Accuracy | None = None
    rival: str = ""
    rival_median: float = math.nan
    rival_minimum: float = math.nan
    rival_accuracy: Accuracy | None = None
    ratio: float = math.nan
    passes: int = 0
    rounds: int = 0
    short: bool = False
    reading: Reading | None = None
    problem: str = ""

    @property
    def good(self) -> bool:
        """Whether the case ran and what it computed is within the hard error bar."""
        return not self.problem and self.accuracy is not None and self.accuracy.good

    @property
    def slower(self) -> bool:
        """Whether the rival was measured and is faster by more than counts as equal."""
        return self.ratio < EQUAL


@dataclass(frozen=True)
class Mean:
    """The geometric mean and the lowest of the ratios to the rival, over cases of one kind."""

    routine: str
    dtype: str
    form: str
    cases: int
    slower: int
    ratio: float
    lowest: float


def geometric_means(rows: Sequence[Measurement]) -> list[Mean]:
    """One mean for each routine, dtype and form, over the rows where a rival was measured."""
    groups: dict[tuple[str, str, str], list[Measurement]] = {}
    for row in rows:
        if not math.isnan(row.ratio):
            key = row.case.routine, row.case.dtype, row.case.form
            groups.setdefault(key, []).append(row)
    means = []
    for key, group in groups.items():
        ratios = [row.ratio for row in group]
        slower = sum(row.slower for row in group)
        means.append(Mean(*key, len(group), slower, geometric_mean(ratios), min(ratios)))
    return means


class CsvFile:
    """Rows in a file, each written when it is measured; `common` columns make it complete.

    The other columns are those of the first row.
    """

    def __init__(self, path: Path, common: Mapping[str, str]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._common = common
        self._file = path.open("w", newline="")
        self._writer: csv.DictWriter | None = None

    def __enter__(self) -> CsvFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def write(self, row: Mapping[str, Any]) -> None:
        """Add a row of values by column name; NaN leaves a cell empty."""
        values = {name: _text(value) for name, value in row.items()} | dict(self._common)
        if self._writer is None:
            self._writer = csv.DictWriter(self._file, list(values))
            self._writer.writeheader()
        self._writer.writerow(values)
        self._file.flush()


def open_csv(
    path: Path | None, common: Mapping[str, str]
) -> AbstractContextManager[CsvFile | None]:
    """A new file of results for a `with`, None where there is no path."""
    return nullcontext() if path is None else CsvFile(path, common)


def record(row: Measurement) -> dict[str, Any]:
    """What was measured, by column name; NaN or "" where there is nothing."""
    ours, theirs = row.accuracy, row.rival_accuracy
    return {
        "routine": row.case.routine,
        "size": row.case.size,
        "dtype": row.case.dtype,
        "layout": row.case.layout,
        "trans": row.case.trans,
        "backend": row.backend,
        "arrays": row.arrays,
        "median_us": row.median * 1e6,
        "min_us": row.minimum * 1e6,
        "rate": row.rate * 1e-9,
        "unit": row.unit,
        "roof_share": row.roof_share,
        "error": ours.error if ours else math.nan,
        "within_bar": ours.good if ours else "",
        "rival": row.rival,
        "rival_median_us": row.rival_median * 1e6,
        "rival_min_us": row.rival_minimum * 1e6,
        "rival_error": theirs.error if theirs else math.nan,
        "ratio": row.ratio,
        "passes": row.passes,
        "rounds": row.rounds,
        "short": row.short,
        "sm_mhz": row.reading.sm_mhz if row.reading else "",
        "watts": row.reading.watts if row.reading else "",
        "problem": row.problem,
    }


def _text(value: Any) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return str(value)


@dataclass(frozen=True)
class Earlier:
    """Results of an earlier CSV file: medians in seconds, and the device they were taken on."""

    medians: Mapping[tuple[str, ...], float]
    device: str

    def ratio(self, row: Measurement) -> float:
        """How many times faster the row is than it was; NaN where it was not measured."""
        case = row.case
        key = (case.routine, case.size, case.dtype, case.layout, case.trans, row.backend)
        return self.medians.get(key, math.nan) / row.median


def read_earlier(path: Path) -> Earlier:
    """An earlier CSV file. ValueError where it is none of ours."""
    with path.open(newline="") as file:
        reader = csv.DictReader(file)
        missing = {*_KEY, "median_us", "device"} - set(reader.fieldnames or ())
        if missing:
            raise ValueError(f"{path} has no columns {', '.join(sorted(missing))}")
        rows = [row for row in reader if row["median_us"]]
    medians = {tuple(row[name] for name in _KEY): float(row["median_us"]) * 1e-6 for row in rows}
    return Earlier(medians, rows[0]["device"] if rows else "")
