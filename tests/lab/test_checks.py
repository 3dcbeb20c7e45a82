"""`tileblas check`: which backends are here, and the report of the process that interprets."""

import sys

import pytest

from tileblas.check import runner
from tileblas.check.runner import Report, Row
from tileblas.lab import checks


@pytest.mark.parametrize(
    ("triton", "numpy", "expected"),
    [
        ("3.6.0", "2.3.5", None),
        ("3.7.1", "2.4.0", None),
        ("3.10.0", "2.5.1", None),
        ("3.6.0", "2.4.0", "needs numpy < 2.4"),
        ("", "2.3.5", "not installed"),
    ],
)
def test_versions_that_cannot_interpret_are_named(triton, numpy, expected):
    reason = checks._why_not_interpreted(triton, numpy)
    assert reason is None if expected is None else expected in reason


def test_the_cpu_backend_is_everywhere():
    assert checks.why_absent("cpu") is None


def test_a_report_survives_the_way_between_processes(capsys):
    report = Report(
        "interpret", "interpret", [Row("dot", "float32", 3, ["case: wrong"], 0.5)], ["no"]
    )
    report.rows.append(Row("dot", "float64", 1, [], float("inf")))
    (message,) = checks.child_messages(
        [sys.executable, "-c", f"print({checks.report_as_json(report)!r})"]
    )
    assert checks.report_from(message["report"]) == report


def test_a_child_that_dies_says_why():
    with pytest.raises(RuntimeError, match="no such thing"):
        list(
            checks.child_messages([sys.executable, "-c", "raise SystemExit('no such thing') or 3"])
        )
    with pytest.raises(RuntimeError, match="status 3"):
        list(checks.child_messages([sys.executable, "-c", "raise SystemExit(3)"]))


def test_cases_are_counted_while_they_are_checked(monkeypatch):
    def fake_run(routines, backend, advance, grid, library):
        advance("dot float32", 1)
        advance("dot float64", 1)
        return Report(backend, grid)

    monkeypatch.setattr(runner, "run", fake_run)
    monkeypatch.setattr(runner, "count", lambda routines, grid, backend, library: 2)
    seen = []
    checks.check(["dot"], "cpu", "auto", "torch", lambda *progress: seen.append(progress))
    assert seen == [(0, 2, ""), (1, 2, "dot float32"), (2, 2, "dot float64")]
