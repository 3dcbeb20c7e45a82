"""The GPU lane: runs stages one after another, each in a process, and prints a short table last.

    python tests/gpu/lane.py [test | bench | STAGE ...]

"test" and "bench" stand for the stages of `make test-gpu` and `make bench-gpu`. The exit status is
0 when every stage has run and nothing in it has failed.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tileblas.lab import checks, tables, terminal
from tileblas.lab.environment import why_no_gpu
from tileblas.routines.registry import families

HERE = Path(__file__).parent
CHECKS = HERE.parent / "semantics" / "test_grids.py"
PYTHON = sys.executable
TILEBLAS = (PYTHON, "-m", "tileblas")
REPORT = "{report}"
USAGE_ERROR = 2


@dataclass(frozen=True)
class Counts:
    """What became of the parts of a stage: tests, cases, or the one command that it is."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0


@dataclass(frozen=True)
class Stage:
    """A command, and what reads off how it went.

    The command may write a report to the path that replaces REPORT; `read` takes that path and the
    command's status. `package` is what the stage cannot do without.
    """

    command: tuple[str, ...]
    read: Callable[[Path, int], Counts]
    package: str = ""


@dataclass(frozen=True)
class Outcome:
    """A stage that has run, or the reason why it has not."""

    stage: str
    counts: Counts
    seconds: float = 0.0
    reason: str = ""

    @property
    def good(self) -> bool:
        return not self.counts.failed


def by_status(report: Path, status: int) -> Counts:
    """A command counts as one part."""
    return Counts(failed=1) if status else Counts(passed=1)


def by_junit(report: Path, status: int) -> Counts:
    """The tests that pytest ran; one more failure where it ended badly without naming one."""
    if not report.exists():
        return Counts(failed=1)
    suite = ElementTree.parse(report).getroot().find("testsuite")
    assert suite is not None
    total, skipped = int(suite.attrib["tests"]), int(suite.attrib["skipped"])
    failed = int(suite.attrib["failures"]) + int(suite.attrib["errors"])
    passed = max(0, total - skipped - failed)
    return Counts(passed, max(failed, int(status != 0)), skipped)


def by_check(report: Path, status: int) -> Counts:
    """The cases that were checked; a type that the library lacks counts as one part skipped."""
    if not report.exists():
        return Counts(failed=1)
    found = checks.report_from(json.loads(report.read_text(encoding="utf-8"))["report"])
    failed = sum(len(row.failures) for row in found.rows)
    passed = sum(row.cases for row in found.rows) - failed
    return Counts(passed, max(failed, int(status != 0)), len(found.skipped))


def _pytest(*words: str) -> Stage:
    command = (PYTHON, "-m", "pytest", "-m", "gpu", "-q")
    return Stage((*command, f"--junitxml={REPORT}", *words), by_junit)


def _check(arrays: str) -> Stage:
    return Stage((PYTHON, str(HERE / "lane.py"), "--check", arrays, REPORT), by_check, arrays)


def _bench(*words: str) -> Stage:
    return Stage((*TILEBLAS, "bench", "--backend", "cuda", "--csv", "results", *words), by_status)


#: A stage for each file of tests here, by its subject.
_SUBJECTS = {
    path.stem.removeprefix("test_").replace("_", "-"): path
    for path in sorted(HERE.glob("test_*.py"))
}

STAGES: dict[str, Stage] = {
    "compile": Stage((*TILEBLAS, "compile", "--check"), by_status),
    "check-torch": _check("torch"),
    "check-cupy": _check("cupy"),
    "check-numpy": _check("numpy"),
    **{subject: _pytest(str(path)) for subject, path in _SUBJECTS.items()},
    # The GPU tests of other folders, but for those that the stages "check" are.
    "elsewhere": _pytest(f"--ignore={HERE}", f"--ignore={CHECKS}"),
    "bench": _bench(),
    "bench-baseline": _bench("--list", "baseline"),
    "bench-calls": _bench("--calls"),
    "bench-staged": _bench("--staged"),
}

GROUPS: dict[str, tuple[str, ...]] = {
    "test": (
        "compile",
        "check-torch",
        "check-cupy",
        "check-numpy",
        *_SUBJECTS,  # "devices" skips itself where there is one
        "elsewhere",
    ),
    "bench": ("compile", "bench", "bench-baseline", "bench-calls", "bench-staged"),
}


def chosen(words: Sequence[str]) -> list[str]:
    """The stages that names of stages and of groups stand for, each once; "test" for none."""
    names: list[str] = []
    for word in words or ("test",):
        if word not in STAGES and word not in GROUPS:
            known = ", ".join((*GROUPS, *STAGES))
            raise ValueError(f"no stage {word!r}; there are {known}")
        names += GROUPS.get(word, (word,))
    return list(dict.fromkeys(names))


def run(name: str, stage: Stage) -> Outcome:
    """Run a stage to its end; what it prints is shown as it comes."""
    if stage.package and importlib.util.find_spec(stage.package) is None:
        return Outcome(name, Counts(skipped=1), reason=f"{stage.package} is not installed")
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report"
        command = [word.replace(REPORT, str(report)) for word in stage.command]
        status = subprocess.run(command, check=False).returncode
        counts = stage.read(report, status)
    return Outcome(name, counts, time.perf_counter() - start)


def print_outcomes(console: Console, outcomes: Sequence[Outcome]) -> None:
    """The table: stage, passed, failed, skipped, seconds."""
    columns = [("stage", "left"), *((name, "right") for name in ("passed", "failed", "skipped"))]
    table = tables.new_table("", [*columns, ("seconds", "right"), ("", "left")])
    for outcome in outcomes:
        counts = outcome.counts
        table.add_row(
            outcome.stage,
            str(counts.passed),
            Text(str(counts.failed), style="" if outcome.good else "bold red"),
            str(counts.skipped),
            f"{outcome.seconds:.0f}",
            outcome.reason,
        )
    console.print(table)


def check(arrays: str, report: Path) -> int:
    """`tileblas check` on the GPU with arrays of one library, its report also as a file."""
    console, last = terminal.new_console(), ""

    def tell(done: int, total: int, label: str) -> None:
        nonlocal last
        if label != last:
            console.print(f"{arrays}: {done} of {total}, {label}")
            last = label

    found = checks.check(list(families()), "cuda", "auto", arrays, tell)
    report.write_text(checks.report_as_json(found), encoding="utf-8")
    terminal.print_table(console, lambda tight: tables.check_table(found, tight))
    for row in found.rows:
        for failure in row.failures:
            console.print(Text(failure, style="red"), soft_wrap=True)
    return 0 if found.passed else 1


def main(words: Sequence[str]) -> int:
    if words[:1] == ["--check"]:
        return check(words[1], Path(words[2]))
    try:
        names = chosen(words)
    except ValueError as error:
        print(f"lane: {error}", file=sys.stderr)
        return USAGE_ERROR
    console = terminal.new_console()
    reason = why_no_gpu()
    if reason:
        message = f"the GPU lane needs a CUDA device: {reason}"
        console.print(Text(message, style="red"), soft_wrap=True)
        return 1
    outcomes: list[Outcome] = []
    for name in names:
        console.print(f"== {name}", style="bold")
        outcomes.append(run(name, STAGES[name]))
    print_outcomes(console, outcomes)
    return 0 if all(outcome.good for outcome in outcomes) else 1


if __name__ == "__main__":
    os.chdir(HERE.parents[1])
    sys.exit(main(sys.argv[1:]))
