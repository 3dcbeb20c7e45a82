"""`tileblas check` on the backends of this machine, the interpreter in a process of its own."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tileblas import settings
from tileblas.check import runner
from tileblas.check.guards import CupyLibrary, Library, NumpyLibrary, TorchLibrary
from tileblas.check.runner import Report, Row
from tileblas.lab.environment import package_version, why_no_gpu

BACKENDS = ("cpu", "interpret", "cuda")
GRIDS = ("auto", "interpret", "reduced", "netlib", "full")

LIBRARIES: dict[str, Callable[[], Library]] = {
    "numpy": NumpyLibrary,
    "torch": TorchLibrary,
    "cupy": CupyLibrary,
}

Progress = Callable[[int, int, str], Any]  # cases done, cases in all, what is checked now


def why_absent(backend: str) -> str | None:
    """Why a backend cannot run here, None where it can."""
    if backend == "interpret":
        return _why_not_interpreted(package_version("triton"), np.__version__)
    return why_no_gpu() if backend == "cuda" else None


def _why_not_interpreted(triton: str, numpy: str) -> str | None:
    """Why this pair of versions cannot interpret kernels."""
    if not triton:
        return "triton is not installed: pip install triton, on Linux"
    if _release(triton) < (3, 7) and _release(numpy) >= (2, 4):
        return f"the interpreter of triton {triton} needs numpy < 2.4, and this is {numpy}"
    return None


def _release(version: str) -> tuple[int, int]:
    """Major and minor number of a version."""
    major, minor, *_ = version.split(".")
    return int(major), int(minor)


def check(
    routines: Sequence[str], backend: str, grid: str, arrays: str, progress: Progress
) -> Report:
    """Check routines on one backend, in this process where that is possible.

    `arrays` names the library of the operands on the cuda backend; elsewhere they are NumPy's.
    """
    if backend == "interpret" and not settings.interpreting():
        return _check_elsewhere(routines, backend, grid, progress)
    library = LIBRARIES[arrays if backend == "cuda" else "numpy"]()
    total = runner.count(routines, backend, grid, library)
    progress(0, total, "")
    done = 0

    def advance(label: str, cases: int) -> None:
        nonlocal done
        done += cases
        progress(done, total, label)

    return runner.run(routines, backend, advance, grid, library)


def _check_elsewhere(
    routines: Sequence[str], backend: str, grid: str, progress: Progress
) -> Report:
    """The same check in a child process that interprets; it reports one JSON object a line."""
    command = [sys.executable, "-m", "tileblas", "check", *routines]
    command += ["--backend", backend, "--grid", grid, "--json"]
    for message in child_messages(command):
        if "report" in message:
            return report_from(message["report"])
        progress(message["done"], message["total"], message["label"])
    raise RuntimeError(f"the check on {backend} ended without a report")


def child_messages(command: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The JSON objects that a program in the interpreter writes, one a line, as they come.

    RuntimeError with the end of its error output where it fails without an answer.
    """
    environment = os.environ | {"TILEBLAS_BACKEND": "interpret"}
    with tempfile.TemporaryFile("w+") as errors:
        with subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as child:
            assert child.stdout is not None
            for line in child.stdout:
                yield json.loads(line)
        errors.seek(0)
        complaint = errors.read().strip()
    if child.returncode:
        raise RuntimeError(complaint or f"the interpreter ended with status {child.returncode}")


def report_from(data: dict[str, Any]) -> Report:
    """A report from the dictionary that `dataclasses.asdict` made of it."""
    rows = [Row(**row) for row in data["rows"]]
    return Report(**(data | {"rows": rows}))


def report_as_json(report: Report) -> str:
    return json.dumps({"report": dataclasses.asdict(report)})


def progress_as_json(done: int, total: int, label: str) -> str:
    return json.dumps({"done": done, "total": total, "label": label})
