"""Stand-ins for a machine: a clock that says what it is told, roofs that are given, a cuBLAS.

Makes host_cublas importable too: --import-mode=importlib puts no folder on sys.path.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tileblas.lab import rival_cublas
from tileblas.lab.bench import Bench
from tileblas.lab.commands import app
from tileblas.lab.places import HostPlace
from tileblas.lab.rivals import Cublas, Scipy
from tileblas.lab.roofs import Roofs

sys.path.append(str(Path(__file__).parent))

from host_cublas import HostCublas, HostDevice


class FakeClock:
    """Runs each call, and reports the seconds it is told a call takes."""

    description = "fake clock"

    def __init__(self, seconds: Callable[[Callable], float] = lambda call: 1e-3) -> None:
        self.seconds = seconds
        self.runs: list[int] = []

    def run(self, calls):
        self.runs.append(len(calls))
        taken = []
        for call in calls:
            call()
            taken.append(self.seconds(call))
        return taken


RATES = {"read": 10e9, "update": 8e9, "float32": 200e9, "float64": 100e9}


@pytest.fixture
def fake_clock():
    return FakeClock


@pytest.fixture
def given_roofs() -> Roofs:
    return Roofs(lambda what: RATES.get(what, 50e9))


@pytest.fixture
def host_bench(given_roofs) -> Bench:
    """The CPU backend beside SciPy, on a clock for which every call takes a millisecond."""
    environment = {"date": "2030-01-02 03:04 UTC", "device": "some CPU", "numpy": "2.0"}
    return Bench("cpu", HostPlace(), FakeClock(), Scipy(), given_roofs, environment)


@pytest.fixture
def command(monkeypatch):
    """Runs `tileblas WORDS` and returns the exit code and all output."""
    monkeypatch.setenv("COLUMNS", "200")

    def run(*words):
        result = CliRunner().invoke(app, words)
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.output

    return run


@pytest.fixture
def cublas(monkeypatch):
    """cuBLAS as a rival, on host memory."""
    library = HostCublas()
    monkeypatch.setattr(rival_cublas, "load_cublas", lambda: library)
    monkeypatch.setattr(rival_cublas, "Device", HostDevice)
    return Cublas(HostPlace())
