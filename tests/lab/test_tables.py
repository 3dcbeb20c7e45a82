"""Numbers as a reader wants them."""

import math

import pytest
from rich.console import Console

from tileblas.lab.cases import Case
from tileblas.lab.results import Mean, Measurement
from tileblas.lab.tables import bench_table, images_text, means_table, rate_text, time_text


def shown(table) -> list[list[str]]:
    """The words of each line of a table."""
    console = Console(width=150)
    with console.capture() as capture:
        console.print(table)
    return [line.split() for line in capture.get().splitlines()]


def test_ratios_below_what_counts_as_equal_are_marked():
    case = Case("dot", (9,), "float32")
    rows = [Measurement(case, "cuda", "torch", ratio=r) for r in (0.969, 0.97, 1.5, math.nan)]
    lines = [line for line in shown(bench_table(rows)) if line[:1] == ["dot"]]
    assert [line[-2:] for line in lines] == [
        ["0.97x", "<"],
        ["-", "0.97x"],
        ["-", "1.50x"],
        ["-", "-"],
    ]


@pytest.mark.parametrize("tight", [False, True])
def test_means_are_shown_with_the_lowest_and_what_is_below(tight):
    mean = Mean("gemv", "float32", "col T", 15, 2, 1.234, 0.9)
    line = next(line for line in shown(means_table([mean], "cuBLAS", tight)) if "gemv" in line)
    assert line == ["gemv", "float32", "col", "T", "15", "1.23x", "0.90x", "2"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (2.0, "2.00 s"),
        (0.0123, "12.3 ms"),
        (9.996e-3, "10.0 ms"),
        (123.4e-6, "123 us"),
        (99.96e-6, "100 us"),
        (4.5e-7, "0.45 us"),
        (math.nan, "-"),
    ],
)
def test_times(seconds, text):
    assert time_text(seconds) == text


@pytest.mark.parametrize(
    ("rate", "text"),
    [(4.226e12, "4.23 TB/s"), (52.1e9, "52.1 GB/s"), (999.0, "999 B/s"), (math.nan, "-")],
)
def test_rates(rate, text):
    assert rate_text(rate, "B/s") == text


def test_images_are_drawn_side_by_side():
    drawn = images_text([[0.0, 1.0, -1.0, 0.5], [-2.0, 0.0, 0.0, 2.0]], side=2)
    assert drawn.splitlines() == ["  ██    ::  ", "::▒▒      ██"]
