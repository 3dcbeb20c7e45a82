"""The GPU lane's own logic: which stages run, what is counted, the table, the exit status."""

import importlib.util
import sys
from pathlib import Path

import pytest

from tileblas.check.runner import Report, Row
from tileblas.lab import checks, terminal

PATH = Path(__file__).parents[1] / "gpu" / "lane.py"


@pytest.fixture(scope="module")
def lane():
    spec = importlib.util.spec_from_file_location("gpu_lane", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look up annotations
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture
def with_gpu(lane, monkeypatch):
    monkeypatch.setattr(lane, "why_no_gpu", lambda: None)


def python(lane, code: str, read=None):
    """A stage that runs Python code, which may use the path of its report as sys.argv[1]."""
    return lane.Stage((sys.executable, "-c", code, lane.REPORT), read or lane.by_status)


def test_names_of_stages_and_groups(lane):
    assert lane.chosen([]) == list(lane.GROUPS["test"])
    assert lane.chosen(["sanitizer", "no-sync"]) == ["sanitizer", "no-sync"]
    both = lane.chosen(["test", "bench"])
    assert both == list(dict.fromkeys(lane.GROUPS["test"] + lane.GROUPS["bench"]))
    assert {name for group in lane.GROUPS.values() for name in group} <= lane.STAGES.keys()
    with pytest.raises(ValueError, match=r"no stage 'pytset'; there are test, bench, compile"):
        lane.chosen(["pytset"])


def test_files_that_stages_name_exist(lane):
    words = [word.split("=")[-1] for stage in lane.STAGES.values() for word in stage.command]
    files = [Path(word) for word in words if word.endswith(".py")]
    assert all(file.exists() for file in files)
    assert {file.name for file in files} >= {file.name for file in PATH.parent.glob("test_*.py")}


@pytest.mark.parametrize(("status", "expected"), [(0, (1, 0, 0)), (1, (0, 1, 0)), (-11, (0, 1, 0))])
def test_a_command_counts_by_its_status(lane, tmp_path, status, expected):
    assert lane.by_status(tmp_path / "none", status) == lane.Counts(*expected)


TESTS = """
import pytest

@pytest.mark.parametrize("n", range(3))
def test_good(n): pass

def test_bad(): assert False

def test_skipped(): pytest.skip("here")

@pytest.fixture
def broken(): raise ValueError

def test_error(broken): pass
"""


def test_tests_are_counted(lane, tmp_path, monkeypatch):
    (tmp_path / "pytest.ini").write_text("[pytest]")
    (tmp_path / "test_some.py").write_text(TESTS)
    monkeypatch.chdir(tmp_path)
    command = (sys.executable, "-m", "pytest", "-q", f"--junitxml={lane.REPORT}")
    outcome = lane.run("some", lane.Stage(command, lane.by_junit))
    assert outcome.counts == lane.Counts(passed=3, failed=2, skipped=1)
    assert not outcome.good
    assert outcome.seconds > 0


@pytest.mark.parametrize("read", ["by_junit", "by_check"])
def test_a_stage_that_dies_without_a_report_has_failed(lane, read):
    outcome = lane.run("some", python(lane, "import os; os._exit(0)", getattr(lane, read)))
    assert outcome.counts == lane.Counts(failed=1)


def test_a_bad_status_fails_a_report_that_names_no_failure(lane, tmp_path):
    report = tmp_path / "report"
    report.write_text('<r><testsuite tests="4" failures="0" errors="0" skipped="1"/></r>')
    assert lane.by_junit(report, 0) == lane.Counts(3, 0, 1)
    assert lane.by_junit(report, 5).failed == 1


def test_cases_are_counted(lane, tmp_path):
    report = tmp_path / "report"
    rows = [Row("dot", "float32", 10), Row("dot", "float64", 5, ["one: wrong", "two: wrong"])]
    found = Report("cuda", "reduced", rows, ["dot bfloat16: CuPy has no bfloat16"])
    report.write_text(checks.report_as_json(found))
    assert lane.by_check(report, 1) == lane.Counts(passed=13, failed=2, skipped=1)


def test_the_check_of_a_stage_writes_its_report(lane, tmp_path, monkeypatch, capsys):
    found = Report("cuda", "reduced", [Row("dot", "float32", 2, ["case: wrong"])])

    def fake_check(routines, backend, grid, arrays, tell):
        tell(0, 2, "dot float32")
        tell(1, 2, "dot float32")
        return found

    monkeypatch.setattr(checks, "check", fake_check)
    report = tmp_path / "report"
    assert lane.main(["--check", "torch", str(report)]) == 1
    assert lane.by_check(report, 1) == lane.Counts(passed=1, failed=1)
    said = capsys.readouterr().out
    assert said.count("torch: 0 of 2, dot float32") == 1
    assert "case: wrong" in said


def test_a_stage_whose_package_is_absent_is_skipped_by_name(lane):
    stage = lane.Stage(("never",), lane.by_status, "no_such_package")
    outcome = lane.run("some", stage)
    assert outcome.counts == lane.Counts(skipped=1)
    assert outcome.reason == "no_such_package is not installed"
    assert outcome.good


def test_every_stage_runs_and_one_failure_decides(lane, with_gpu, monkeypatch, capfd):
    stages = {
        "first": python(lane, "print('working')"),
        "second": python(lane, "raise SystemExit(3)"),
        "third": python(lane, "pass"),
    }
    monkeypatch.setattr(lane, "STAGES", stages)
    assert lane.main(["first", "second", "third"]) == 1
    table = capfd.readouterr().out.splitlines()
    rows = [line.split() for line in table if line.split()[:1] and line.split()[0] in stages]
    assert [row[:4] for row in rows] == [
        ["first", "1", "0", "0"],
        ["second", "0", "1", "0"],
        ["third", "1", "0", "0"],
    ]
    assert lane.main(["first", "third"]) == 0


def test_without_a_device_nothing_is_green(lane, monkeypatch, capsys):
    monkeypatch.setattr(lane, "why_no_gpu", lambda: "no CUDA driver on this machine")
    monkeypatch.setattr(lane, "run", lambda name, stage: pytest.fail("a stage ran"))
    assert lane.main([]) == 1
    assert "needs a CUDA device: no CUDA driver" in capsys.readouterr().out


def test_an_unknown_stage_is_refused(lane, capsys):
    assert lane.main(["pytset"]) == lane.USAGE_ERROR
    assert "no stage 'pytset'" in capsys.readouterr().err


def test_the_table_is_short(lane):
    console = terminal.new_console()
    outcomes = [lane.Outcome(name, lane.Counts(12345, 0, 678), 599.6) for name in lane.STAGES]
    with console.capture() as captured:
        lane.print_outcomes(console, outcomes)
    lines = captured.get().splitlines()
    assert max(len(line.rstrip()) for line in lines) < 80
    assert any("600" in line for line in lines)
