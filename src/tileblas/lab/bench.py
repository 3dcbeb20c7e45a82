"""Benchmarks: each case checked, timed beside its rival on one clock, and held to the roofs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import tileblas
from tileblas.arrays.results import is_out_of_memory
from tileblas.lab import environment
from tileblas.lab.cases import Case
from tileblas.lab.device import bus_id
from tileblas.lab.gauges import find_gauge
from tileblas.lab.places import HostPlace, Place, device_place
from tileblas.lab.problems import Problem, work
from tileblas.lab.results import Measurement
from tileblas.lab.rivals import Bound, Cublas, Rival, RivalError, Scipy
from tileblas.lab.roofs import Roofs, device_roofs, host_roofs
from tileblas.lab.timing import STANDARD, Clock, DeviceClock, HostClock, Race, Repeats, race
from tileblas.routines.registry import ROUTINES

_OURS, _THEIRS = "tileblas", "rival"


@dataclass(frozen=True)
class Bench:
    """What a measurement needs on one backend. `note` says what is missing, if anything."""

    backend: str
    place: Place
    clock: Clock
    rival: Rival | None
    roofs: Roofs | None
    environment: Mapping[str, str]
    note: str = ""

    @property
    def common(self) -> dict[str, str]:
        """The columns that all rows share: how and where it was measured."""
        return {"protocol": self.clock.description} | dict(self.environment)


def host_bench() -> Bench:
    """NumPy arrays on the CPU backend, beside SciPy."""
    columns = environment.columns(on_device=False)
    return Bench("cpu", HostPlace(), HostClock(), Scipy(), host_roofs(), columns)


def device_bench(arrays: str = "auto") -> Bench:
    """Device arrays of a library on the cuda backend, beside cuBLAS."""
    place = device_place(arrays)
    gauge = find_gauge(bus_id())
    clock = DeviceClock(place.stream, gauge.read if gauge else None)
    columns = environment.columns(on_device=True)
    try:
        cublas = Cublas(place)
    except OSError as error:
        return Bench("cuda", place, clock, None, None, columns, f"no rival and no roofs: {error}")
    return Bench("cuda", place, clock, cublas, device_roofs(place, clock, cublas), columns)


def open_bench(backend: str = "auto", arrays: str = "auto") -> Bench:
    """The bench of a backend. ValueError where it is not timed or not here."""
    return host_bench() if timed_backend(backend) == "cpu" else device_bench(arrays)


def timed_backend(backend: str) -> str:
    """The backend of that name, for "auto" cuda where there is a GPU. ValueError for any other."""
    reason = environment.why_no_gpu()
    if backend == "auto":
        return "cpu" if reason else "cuda"
    if backend not in ("cuda", "cpu"):
        raise ValueError(f"backend {backend!r} is not timed; choose auto, cuda or cpu")
    if backend == "cuda" and reason:
        raise ValueError(f"backend 'cuda' is not available here: {reason}")
    return backend


def run(
    cases: Iterable[Case],
    bench: Bench,
    repeats: Repeats = STANDARD,
    started: Callable[[Case], Any] = lambda case: None,
) -> Iterator[Measurement]:
    """Measure the cases one after another; one that cannot run leaves a row that says why."""
    with tileblas.backend(bench.backend):
        for case in cases:
            started(case)
            try:
                yield measure(case, bench, repeats)
            except Exception as error:
                message = f"{type(error).__name__}: {error}"
                if is_out_of_memory(error):
                    message = "not enough memory"
                yield Measurement(case, bench.backend, bench.place.library, problem=message)


def measure(case: Case, bench: Bench, repeats: Repeats) -> Measurement:
    """Check one case and its rival once each, then time both."""
    problem = Problem(case, bench.place)
    ours = problem.bind()
    accuracy = problem.accuracy(ours)
    theirs, about_rival = _checked_rival(problem, bench)
    calls = {_OURS: ours.call} | ({_THEIRS: theirs.call} if theirs else {})
    result = race(calls, bench.clock, repeats)
    if theirs:
        about_rival |= _rival_times(result)
    time = result.timing(_OURS)
    flops, size = work(case)
    done, unit = (size, "GB/s") if problem.spec.level < 3 else (flops, "GFLOP/s")
    return Measurement(
        case,
        bench.backend,
        bench.place.library,
        unit=unit,
        median=time.median,
        minimum=time.minimum,
        rate=done / time.median,
        roof_share=least_seconds(case, bench.roofs) / time.median,
        accuracy=accuracy,
        passes=result.passes,
        rounds=result.rounds,
        short=result.short,
        reading=getattr(bench.clock, "reading", None),
        **about_rival,
    )


def _checked_rival(problem: Problem, bench: Bench) -> tuple[Bound | None, dict[str, Any]]:
    """The rival's call, run once, and what its columns say; no call where it refuses."""
    bound = bench.rival.bind(problem.case, problem.operands) if bench.rival else None
    if bench.rival is None or bound is None:
        return None, {}
    name = f"{bench.rival.name} {bench.rival.version}"
    name += f", {bound.note}" if bound.note else ""
    try:
        return bound, {"rival": name, "rival_accuracy": problem.accuracy(bound)}
    except RivalError as error:
        return None, {"rival": f"{name}: {error}"}


def _rival_times(result: Race) -> dict[str, float]:
    time = result.timing(_THEIRS)
    return {
        "rival_median": time.median,
        "rival_minimum": time.minimum,
        "ratio": result.ratio(_OURS, _THEIRS),
    }


def least_seconds(case: Case, roofs: Roofs | None) -> float:
    """The least time that the roofs allow for one call; NaN where no roofs were measured."""
    if roofs is None:
        return math.nan
    spec = ROUTINES[case.routine]
    if spec.level == 2:  # nearly all that is moved is the matrix, which most only read
        updates = spec.updates
    else:
        updates = any(spec.operands[i].role != "new" for i in spec.outputs)
    flops, size = work(case)
    return roofs.seconds(flops, size, case.dtype, spec.level, updates)


def split_by_time(
    cases: Iterable[Case], roofs: Roofs | None, limit: float
) -> tuple[list[Case], list[Case]]:
    """Cases whose one call can take at most `limit` seconds, and the others."""
    short: list[Case] = []
    long: list[Case] = []
    for case in cases:
        (long if least_seconds(case, roofs) > limit else short).append(case)
    return short, long
