"""Results of the bench: one record a case, written to and compared with CSV files."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from tileblas.lab.cases import Case
from tileblas.lab.gauges import Reading
from tileblas.lab.problems import Accuracy

MEASURED = (
    *("routine", "size", "dtype", "layout", "trans", "backend", "arrays"),
    *("median_us", "min_us", "rate", "unit", "roof_share", "error", "within_bar"),
    *("rival", "rival_median_us", "rival_min_us", "rival_error", "ratio"),
    *("passes", "rounds", "short", "sm_mhz", "watts", "problem"),
)
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


class CsvFile:
    """Rows in a file, each written when it is measured; `common` columns make it complete."""

    def __init__(self, path: Path, common: Mapping[str, str]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._common = common
        self._file = path.open("w", newline="")
        self._writer = csv.DictWriter(self._file, [*MEASURED, *common])
        self._writer.writeheader()

    def __enter__(self) -> CsvFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def write(self, row: Measurement) -> None:
        self._writer.writerow(record(row) | dict(self._common))
        self._file.flush()


def record(row: Measurement) -> dict[str, str]:
    """What was measured, as text by column name; empty where there is nothing."""
    ours, theirs = row.accuracy, row.rival_accuracy
    values: dict[str, Any] = {
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
    return {name: _text(value) for name, value in values.items()}


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
