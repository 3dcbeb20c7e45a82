"""`import tileblas` is light: it touches no GPU, needs no optional library and adds under 0.3 s."""

import json
import statistics
import subprocess
import sys

# scipy.linalg alone would cost more than the whole budget: the CPU backend imports it on first use.
HEAVY = ("cuda", "cupy", "jax", "numba", "rich", "scipy.linalg", "torch", "triton", "typer")

LOADED = """
import json, sys
import tileblas
print(json.dumps(sorted(sys.modules)))
"""

SECONDS = """
import time
import numpy
start = time.perf_counter()
import tileblas
print(time.perf_counter() - start)
"""


def run(code: str) -> str:
    """What a fresh interpreter prints for `code`; the warm-up of its disk cache is our own run."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_import_loads_no_optional_library():
    loaded = set(json.loads(run(LOADED)))
    assert "tileblas" in loaded
    assert sorted(loaded.intersection(HEAVY)) == []


def test_import_adds_little_to_numpy():
    added = [float(run(SECONDS)) for _ in range(7)]  # in each run NumPy is loaded first, untimed
    assert statistics.median(added) < 0.3
