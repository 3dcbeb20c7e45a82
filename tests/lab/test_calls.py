"""What calls cost: bursts, contestants that are right, stages that add up."""

import csv
import ctypes
import math
from types import SimpleNamespace

import numpy as np
import pytest

from tileblas.backends.cuda import Runner
from tileblas.lab import calls
from tileblas.lab.cases import Case
from tileblas.lab.places import HostPlace
from tileblas.lab.problems import Problem
from tileblas.lab.rival_calls import SCALARS, Bound
from tileblas.lab.timing import Repeats
from tileblas.routines.launch import Argument, Launch
from tileblas.runtime.driver import LEGACY_STREAM
from tileblas.runtime.launch import Loaded, Packing, PreparedLaunch

FEW = Repeats(passes=1, fewest=2, most=2)
AXPY = Case("axpy", (1024,), "float32")
ALPHA = SCALARS["axpy"]["alpha"]
each_case = pytest.mark.parametrize("case", calls.CASES, ids=str)


def test_a_burst_is_waited_for_after_its_time_is_taken(monkeypatch):
    done = []
    monkeypatch.setattr(calls.timeit, "timeit", lambda call, number: done.append(call()) or 0.5)
    clock = calls.BurstClock(lambda: done.append("wait"))
    assert clock.run([lambda: "one", lambda: "two"]) == [0.5 / calls.BURST] * 2
    assert done == ["one", "wait", "two", "wait"]


def test_a_burst_is_many_calls():
    done = []
    calls.BurstClock().run([lambda: done.append(1)])
    assert len(done) == calls.BURST


@pytest.mark.parametrize(
    "case",
    [
        *calls.CASES,
        Case("symv", (64,), "float64", "L", "col"),
        Case("gbmv", (60, 60, 4), "float64", "T", "col"),
    ],
    ids=str,
)
def test_every_contestant_is_right(case):
    problem = Problem(case, HostPlace())
    found = calls.contestants(problem, "cpu")
    assert list(found) == [calls.OURS, calls.OTHERS, calls.PLAN, "SciPy"]
    assert all(problem.accuracy(bound).good for bound in found.values())


@each_case
def test_stages_are_those_of_the_call(case):
    stages = calls.stages(Problem(case, HostPlace()))
    assert list(stages) == ["arrays", "key", "run"]  # host arrays never take the short path
    for stage in stages.values():
        stage()


def test_costs_are_paired_with_the_library_and_the_launch(fake_clock, monkeypatch):
    def named(name):
        def call():
            problem.operands["y"] += np.float32(ALPHA) * problem.operands["x"]

        call.name = name
        return Bound(call)

    problem = Problem(AXPY, HostPlace())
    seconds = {calls.OURS: 3e-6, "SciPy": 4e-6, calls.BARE: 2e-6, "arrays": 1e-6, "key": 5e-7}
    names = (calls.OURS, "SciPy", calls.BARE)
    monkeypatch.setattr(calls, "contestants", lambda *_: {name: named(name) for name in names})
    monkeypatch.setattr(calls, "stages", lambda _: {n: named(n).call for n in ("arrays", "key")})
    costs = calls.measure(problem, "cpu", fake_clock(lambda call: seconds[call.name]), FEW)
    assert [(c.name, c.median) for c in costs[:3]] == [(n, seconds[n]) for n in names]
    assert costs[0].of_library == pytest.approx(3 / 4)
    assert costs[0].of_launch == pytest.approx(3 / 2)
    assert all(cost.good for cost in costs)
    assert [(c.name, c.is_stage) for c in costs[3:]] == [
        (n, True) for n in ("arrays", "key", "rest")
    ]
    assert costs[-1].median == pytest.approx(1.5e-6)
    assert math.isnan(costs[-1].of_library)


def test_reading_arrays_is_not_counted_twice():
    timed = {"arrays": 2.0, "key": 3.0, "lookup": 0.5, "launch": 4.0}
    assert calls._apart(timed, 10.0) == {
        "arrays": 2.0, "key": 1.0, "lookup": 0.5, "launch": 4.0, "rest": 2.5
    }  # fmt: skip


def test_a_wrong_contestant_is_seen(fake_clock, monkeypatch):
    monkeypatch.setattr(calls, "contestants", lambda *_: {calls.OURS: Bound(lambda: None)})
    costs = calls.measure(Problem(AXPY, HostPlace()), "cpu", fake_clock(), FEW)
    assert not costs[0].good


def test_routines_without_a_case_are_refused():
    assert calls.cases_of(["gemv"]) == [case for case in calls.CASES if case.routine == "gemv"]
    assert calls.cases_of([]) == list(calls.CASES)
    with pytest.raises(ValueError, match="scal"):
        calls.cases_of(["dot", "scal"])


class HostCuda:
    """cuLaunchKernel, for a kernel that is axpy on host memory, and a workspace."""

    partial, arrived = 64, 128

    def __init__(self):
        self.api = self.driver = self
        self.launches = []

    def cuCtxGetCurrent(self):
        return 0, "context"

    def cuLaunchKernel(self, function, gx, gy, gz, bx, by, bz, shared, stream, frame, extra):
        kinds = [ctypes.c_uint64, ctypes.c_uint64, ctypes.c_float, *(ctypes.c_uint64,) * 4]
        cells = (ctypes.c_void_p * len(kinds)).from_address(frame)
        values = [kind.from_address(cell).value for kind, cell in zip(kinds, cells, strict=True)]
        self.launches.append((function, gx, bx, shared, stream, values))
        x, y = ((ctypes.c_float * 1024).from_address(address) for address in values[:2])
        np.frombuffer(y, np.float32)[:] += np.float32(values[2]) * np.frombuffer(x, np.float32)
        return (0,)

    def acquire(self, *wanted):
        return self

    def release(self): ...


@pytest.mark.parametrize("shared", [False, True])
def test_a_bare_launch_is_the_launch_of_the_call(shared, monkeypatch):
    problem, cuda = Problem(AXPY, HostPlace()), HostCuda()
    kernel = Launch(
        kernel="elementwise.axpy_kernel",
        arguments=(
            Argument("x", "pointer", ("x", 0), "*fp32", 4),
            Argument("y", "pointer", ("y", 0), "*fp32", 4),
            Argument("alpha", "fp32", ("alpha", "re")),
            Argument("partial", "pointer", ("partial", 0), "*fp32", 4),
            Argument("arrived", "pointer", ("arrived", 0), "*i32", 4),
        ),
        constants=(),
        grid=8,
        counters=int(shared),
    )
    loaded = Loaded("function", "library", "context", 128, 48, 32, 0)
    packing = Packing(kernel, ("x", "y", ("alpha", "re")))
    runner = object.__new__(Runner)
    runner.launches = (PreparedLaunch(kernel, loaded, 0, packing, cuda),)
    runner.slots = ("x", "y")
    described = SimpleNamespace(prepared=SimpleNamespace(run=runner))
    monkeypatch.setattr(calls.dispatch, "describe", lambda *arguments: described)

    bare = calls.bare_launch(problem)
    assert problem.accuracy(bare).good
    addresses = [problem.place.pointer(problem.operands[name]) for name in "xy"]
    runner.launches[0](LEGACY_STREAM, None, *addresses, ALPHA)
    assert cuda.launches[0] == cuda.launches[1]
    assert cuda.launches[0][-1][3:5] == ([64, 128] if shared else [0, 0])
    runner.launches[0](LEGACY_STREAM, None, addresses[0], addresses[0], 7.0)
    assert problem.accuracy(bare).good  # its parameters are its own


def test_the_command_prints_tables_and_writes_a_csv(command, monkeypatch, tmp_path):
    monkeypatch.setattr(calls, "BURST", 2)
    monkeypatch.setattr(calls, "REPEATS", FEW)
    path = tmp_path / "calls.csv"
    code, said = command("bench", "dot", "gemm", "--calls", "--backend", "cpu", "--csv", str(path))
    assert code == 0
    for word in ("Host time of a call", "plan(arrays)", "Stages of our call", "rest", "numpy"):
        assert word in said
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["routine"] for row in rows} == {"dot", "gemm"}
    timed = [row for row in rows if row["routine"] == "dot"]
    assert [row["name"] for row in timed if row["kind"] == "call"][-1] == "SciPy"
    assert [row["name"] for row in timed if row["kind"] == "stage"][-1] == "rest"
    assert all(float(row["median_us"]) > 0 for row in timed if row["kind"] == "call")
    assert all(row["protocol"] and row["device"] and row["date"] for row in rows)
    assert timed[0]["within_bar"] == "True"
    assert float(timed[0]["of_library"]) > 0
    assert timed[0]["of_launch"] == ""  # nothing is launched on a CPU


def test_the_command_fails_on_a_wrong_contestant(command, monkeypatch):
    monkeypatch.setattr(calls, "BURST", 2)
    monkeypatch.setattr(calls, "REPEATS", FEW)
    monkeypatch.setitem(calls._CALLS, "numpy", lambda problem: Bound(lambda: 0.0))
    code, said = command("bench", "dot", "--calls", "--backend", "cpu")
    assert code == 1
    assert "WRONG" in said


def test_calls_are_refused_where_nothing_can_be_compared(command, monkeypatch):
    code, said = command("bench", "scal", "--calls", "--backend", "cpu")
    assert code == 2
    assert "no case of scal" in said
    monkeypatch.setattr(calls.environment, "why_no_gpu", lambda: "the cable is out")
    code, said = command("bench", "--calls", "--backend", "cuda")
    assert code == 2
    assert "the cable is out" in said
    monkeypatch.setattr(calls.environment, "why_no_gpu", lambda: None)
    monkeypatch.setattr(calls, "library_places", lambda: iter(()))
    code, said = command("bench", "--calls")
    assert code == 2
    assert "torch or CuPy" in said
