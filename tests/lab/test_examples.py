"""Every example runs."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
RUNS = [
    pytest.param(("host_arrays.py",), id="host_arrays"),
    pytest.param(("measure.py",), id="measure"),
    *(
        pytest.param(("device_arrays.py", library), id=library, marks=pytest.mark.gpu)
        for library in ("torch", "cupy")
    ),
]


def test_no_example_is_forgotten():
    assert {path.name for path in EXAMPLES.glob("*.py")} == {run.values[0][0] for run in RUNS}


@pytest.mark.parametrize("run", RUNS)
def test_example_runs(run):
    if len(run) > 1 and find_spec(run[1]) is None:
        pytest.skip(f"{run[1]} is not installed")
    command = [sys.executable, EXAMPLES / run[0], *run[1:]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout
