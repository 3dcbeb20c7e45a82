"""The real Triton kernels on small problems, in the interpreter, beside the CPU backend.

`agreement` runs this file as a program in a process that interprets, and solves the same problems
here on the CPU backend.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tileblas
from tileblas.check.oracle import widen
from tileblas.lab.cases import Case
from tileblas.lab.checks import child_messages
from tileblas.lab.places import HostPlace
from tileblas.lab.problems import Accuracy, Problem

#: Several programs, tails in every direction, both layouts, and every type.
CASES = (
    Case("dot", (5001,), "float32"),
    Case("dot", (5001,), "float64"),
    Case("dotc", (1003,), "complex128"),
    Case("axpy", (3001,), "float16"),
    Case("gemm", (70, 45, 90), "float32", "NN", "col"),
    Case("gemm", (70, 45, 90), "float64", "TN", "col"),
    Case("gemm", (45, 70, 33), "complex64", "NC", "row"),
    Case("gemm", (70, 45, 90), "bfloat16", "NT", "row"),
)


@dataclass(frozen=True)
class Agreement:
    """One problem solved twice; `difference` is the distance of the results over their norm."""

    case: Case
    seconds: float  # in the interpreter
    interpreted: Accuracy
    cpu: Accuracy
    difference: float

    @property
    def good(self) -> bool:
        return self.interpreted.good and self.cpu.good


def agreement(progress: Callable[[int, int], Any] = lambda done, total: None) -> list[Agreement]:
    """Solve every case in the interpreter and on the CPU backend. RuntimeError where it fails."""
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.npz"
        command = [sys.executable, "-m", "tileblas.lab.interpreted", str(results)]
        messages = []
        for message in child_messages(command):
            messages.append(message)
            progress(len(messages), len(CASES))
        with np.load(results) as arrays:
            return [_compared(i, arrays[f"arr_{i}"], message) for i, message in enumerate(messages)]


def _compared(index: int, interpreted: np.ndarray, message: dict[str, Any]) -> Agreement:
    with tileblas.backend("cpu"):
        accuracy, result, _ = _solved(CASES[index])
    difference = float(np.linalg.norm(interpreted - result) / np.linalg.norm(result))
    theirs = Accuracy(message["error"], message["good"])
    return Agreement(CASES[index], message["seconds"], theirs, accuracy, difference)


def _solved(case: Case) -> tuple[Accuracy, np.ndarray, float]:
    """Accuracy, result and seconds of a case on the chosen backend."""
    problem = Problem(case, HostPlace())
    bound = problem.bind()
    accuracy = problem.accuracy(bound)
    start = time.perf_counter()
    result = widen(problem.output(bound))
    return accuracy, result, time.perf_counter() - start


def main(results: str) -> None:
    """Solve every case, report each as a line of JSON, and save the results."""
    solved = []
    for case in CASES:
        accuracy, result, seconds = _solved(case)
        solved.append(result)
        message = {"error": accuracy.error, "good": accuracy.good, "seconds": seconds}
        print(json.dumps(message), flush=True)
    np.savez(results, *solved)


if __name__ == "__main__":
    main(sys.argv[1])
