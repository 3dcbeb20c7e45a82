"""compute-sanitizer finds nothing: memory, shared-memory races, uninitialised reads, barriers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("sanitized.py")
#: Each tool and the calls it watches; racecheck and synccheck look inside a block, so one size of
#: each kernel serves.
TOOLS = {"memcheck": "every", "initcheck": "every", "racecheck": "few", "synccheck": "few"}
FOUND = 9  # the status with which the tool ends when it has found something


def tool_path() -> str | None:
    """compute-sanitizer on the search path, or in the CUDA toolkit that the environment names."""
    roots = [os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if name in os.environ]
    folders = [os.environ.get("PATH", "")]
    folders += [str(Path(root) / "bin") for root in (*roots, "/usr/local/cuda")]
    return shutil.which("compute-sanitizer", path=os.pathsep.join(folders))


def run(*command: str) -> subprocess.CompletedProcess:
    """Run a program to its end, its error output among the other."""
    return subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )


@pytest.fixture(scope="module")
def compiled():
    """The calls are right, and their kernels are in the cache: no tool watches the compiler."""
    for which in ("compile", "every", "few"):
        done = run(sys.executable, str(SCRIPT), which)
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("tool", TOOLS)
def test_nothing_is_found(tool, compiled):
    path = tool_path()
    if path is None:
        pytest.skip("compute-sanitizer is not installed")
    options = ["--tool", tool, "--error-exitcode", str(FOUND)]
    done = run(path, *options, sys.executable, str(SCRIPT), TOOLS[tool])
    assert done.returncode == 0, done.stdout[-8000:]
    assert " 0 wrong" in done.stdout
    assert "ERROR SUMMARY: 0 errors" in done.stdout or "0 hazards displayed" in done.stdout
