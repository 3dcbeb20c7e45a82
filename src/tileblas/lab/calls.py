"""What a call costs: host time to issue it, beside the arrays' own library and a bare launch.

The problems are so small that a device waits for the host. Every contestant is a function with its
arguments bound, checked once against the reference, then called in bursts, which take turns in
shuffled rounds. The stages of our own call are timed in the same way, each by itself.
"""

from __future__ import annotations

import math
import timeit
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import tileblas
from tileblas.arrays.layouts import READERS
from tileblas.backends import dispatch, repeated
from tileblas.backends.cuda import Runner
from tileblas.lab import environment
from tileblas.lab.bench import timed_backend
from tileblas.lab.cases import Case
from tileblas.lab.device import Device
from tileblas.lab.places import HostPlace, Place, device_place, library_places
from tileblas.lab.problems import Accuracy, Problem
from tileblas.lab.rival_calls import SCALARS, Bound, scalars
from tileblas.lab.rival_scipy import Scipy
from tileblas.lab.timing import Call, Clock, Race, Repeats, race
from tileblas.runtime.driver import LEGACY_STREAM
from tileblas.runtime.launch import Frame, PreparedLaunch

#: Small problems, outputs given where there are any.
CASES = (
    Case("dot", (1024,), "float32"),
    Case("axpy", (1024,), "float32"),
    Case("gemv", (64, 64), "float32", "N", "row"),
    Case("gemm", (64, 64, 64), "float32", "NN", "row"),
)

#: Calls of a burst. A device takes about 1024 launches before it makes the host wait, and a call of
#: another library may be several.
BURST = 200

REPEATS = Repeats(passes=3, fewest=20, most=60)

OURS, OTHERS, PLAN, BARE = "tileblas", "plan(arrays)", "plan()", "cuLaunchKernel"
#: What is called beside ours on the arrays of each library.
LIBRARIES = {"numpy": "SciPy", "torch": "torch", "cupy": "CuPy's cuBLAS"}


class BurstClock:
    """Host time of a call, the mean over a burst that nothing waits for; the wait is not timed."""

    description = f"host clock, mean of bursts of {BURST} calls issued without waiting"

    def __init__(self, finish: Callable[[], Any] = lambda: None) -> None:
        self._finish = finish

    def run(self, calls: Sequence[Call]) -> list[float]:
        seconds = []
        for call in calls:
            seconds.append(timeit.timeit(call, number=BURST) / BURST)  # no garbage collection
            self._finish()
        return seconds


@dataclass(frozen=True)
class Bench:
    """Where calls are issued: on a backend, with arrays of several libraries."""

    backend: str
    places: tuple[Place, ...]
    environment: Mapping[str, str]

    @property
    def common(self) -> dict[str, str]:
        """The columns that all rows share."""
        return {"protocol": BurstClock.description} | dict(self.environment)


def open_bench(backend: str = "auto", arrays: str = "auto") -> Bench:
    """NumPy arrays on the cpu backend; on cuda those of torch and CuPy, as installed, or of one.

    ValueError where there are none.
    """
    chosen = timed_backend(backend)
    if chosen == "cpu":
        return Bench(chosen, (HostPlace(),), environment.columns(on_device=False))
    places = tuple(library_places()) if arrays == "auto" else (device_place(arrays),)
    if not places or any(place.library not in _CALLS for place in places):
        raise ValueError("the cost of calls is compared on arrays of torch or CuPy; there are none")
    return Bench(chosen, places, environment.columns(on_device=True))


@dataclass(frozen=True)
class Cost:
    """Seconds of host time that one call of a contestant takes, or a stage of our own call.

    `of_library` and `of_launch` are its time over that of the library's own call and of a bare
    launch, medians over the rounds; NaN where there is none, and for stages.
    """

    case: Case
    backend: str
    arrays: str
    name: str
    median: float
    minimum: float = math.nan
    of_library: float = math.nan
    of_launch: float = math.nan
    accuracy: Accuracy | None = None

    @property
    def is_stage(self) -> bool:
        return self.accuracy is None

    @property
    def good(self) -> bool:
        """Whether what was timed computes the right thing."""
        return self.accuracy is None or self.accuracy.good


def record(cost: Cost) -> dict[str, Any]:
    """What was measured, by column name."""
    case, accuracy = cost.case, cost.accuracy
    return {
        "routine": case.routine,
        "size": case.size,
        "dtype": case.dtype,
        "layout": case.layout,
        "trans": case.trans,
        "backend": cost.backend,
        "arrays": cost.arrays,
        "kind": "stage" if cost.is_stage else "call",
        "name": cost.name,
        "median_us": cost.median * 1e6,
        "min_us": cost.minimum * 1e6,
        "of_library": cost.of_library,
        "of_launch": cost.of_launch,
        "error": accuracy.error if accuracy else math.nan,
        "within_bar": accuracy.good if accuracy else "",
    }


def cases_of(routines: Sequence[str]) -> list[Case]:
    """The cases of the named routines, all if none is named. ValueError where one has none."""
    found = [case for case in CASES if not routines or case.routine in routines]
    missing = set(routines) - {case.routine for case in found}
    if missing:
        raise ValueError(f"no case of {', '.join(sorted(missing))} for the cost of a call")
    return found


def run(cases: Sequence[Case], bench: Bench, repeats: Repeats = REPEATS) -> Iterator[list[Cost]]:
    """The costs of one case on one kind of arrays after another."""
    with tileblas.backend(bench.backend):
        for place in bench.places:
            on_device = bench.backend == "cuda"
            wait = partial(Device().synchronize, place.stream) if on_device else lambda: None
            for case in cases:
                problem = Problem(case, place)
                yield measure(problem, bench.backend, BurstClock(wait), repeats)


def measure(problem: Problem, backend: str, clock: Clock, repeats: Repeats) -> list[Cost]:
    """Check every contestant once, then time them all, and the stages of our own call."""
    bound = contestants(problem, backend)
    accuracy = {name: problem.accuracy(one) for name, one in bound.items()}
    whole = race({name: one.call for name, one in bound.items()}, clock, repeats)
    about = problem.case, backend, problem.place.library
    library = LIBRARIES[problem.place.library]
    costs = []
    for name in bound:
        time = whole.timing(name)
        ratios = _over(whole, name, library), _over(whole, name, BARE)
        costs.append(Cost(*about, name, time.median, time.minimum, *ratios, accuracy[name]))
    parts = race(stages(problem), clock, repeats)
    seconds = {name: parts.timing(name).median for name in parts.seconds}
    return costs + [Cost(*about, *part) for part in _apart(seconds, costs[0].median).items()]


def _over(result: Race, name: str, other: str) -> float:
    """The time of one contestant over that of another, NaN where that one is not there."""
    return result.ratio(other, name) if other in result.seconds else math.nan


def _apart(seconds: Mapping[str, float], whole: float) -> dict[str, float]:
    """The stages of a call without what they contain of one another, and what is left over."""
    found = dict(seconds)
    if "lookup" in found:  # a signature is made of what is read
        found["key"] -= found["arrays"]
    return found | {"rest": whole - sum(found.values())}


def contestants(problem: Problem, backend: str) -> dict[str, Bound]:
    """Every way to make one call, by name; ours first."""
    place, routine = problem.place, problem.case.routine
    function, arrays = getattr(tileblas, routine), tuple(problem.operands.values())
    defaults = {option.name: option.default for option in problem.spec.options}
    told = {name: value for name, value in problem.options.items() if value != defaults[name]}
    keywords = {**told, **SCALARS.get(routine, {})}
    plan = tileblas.plan(function, *arrays, **keywords)
    found = {
        OURS: Bound(partial(function, *arrays, **keywords), place.to_host),
        OTHERS: Bound(partial(plan, *arrays), place.to_host),
        PLAN: Bound(plan, place.to_host),
        LIBRARIES[place.library]: _CALLS[place.library](problem),
    }
    if backend == "cuda":
        found[BARE] = bare_launch(problem)
    return found


def _rest(problem: Problem) -> tuple[tuple[float, ...], tuple[str, ...], None]:
    """What a call is given beside its arrays: numbers, letters, the name of an arithmetic."""
    return tuple(scalars(problem.spec).values()), tuple(problem.options.values()), None


def bare_launch(problem: Problem) -> Bound:
    """The driver's launch of the very kernel that the call runs, its parameters packed before."""
    place, spec, operands = problem.place, problem.spec, dict(problem.operands)
    rest = _rest(problem)
    ingested = dispatch.ingest_all(spec, tuple(operands.values()))
    described = dispatch.describe(spec, ingested, *rest, None)
    if spec.output_name not in operands:
        operands[spec.output_name] = described.run()
    output, runner = operands[spec.output_name], described.prepared.run
    assert isinstance(runner, Runner)
    (launch,) = runner.launches
    addresses = (place.pointer(operands[slot]) for slot in runner.slots)
    stream = place.stream or LEGACY_STREAM
    frame = _packed(launch, stream, (*addresses, *rest[0]))
    call = partial(launch._launch_kernel, stream, frame.address, 0)
    return Bound(call, lambda _: place.to_host(output), keep=frame)


def _packed(launch: PreparedLaunch, stream: int, values: tuple[Any, ...]) -> Frame:
    """A buffer of parameters that no other launch uses."""
    if launch._packing.uses_workspace:
        wanted = launch._partial_bytes, launch._counters
        space = launch._spaces.acquire(launch._device, stream, None, *wanted)
        space.release()  # it stays the stream's: no other contestant asks for a larger one
        values = (*values, space.partial, space.arrived)
    frame = launch._packing.frame()
    launch._packing.pack(frame, values)
    return frame


def stages(problem: Problem) -> dict[str, Call]:
    """The parts of our own call, each a function by itself: of the short path where it is taken."""
    spec, arrays, rest = problem.spec, tuple(problem.operands.values()), _rest(problem)
    signature = repeated.sign(spec, arrays, *rest)
    known = repeated.find(signature[0]) if signature else None
    if signature is None or known is None:
        operands = dispatch.ingest_all(spec, arrays)
        return {
            "arrays": partial(dispatch.ingest_all, spec, arrays),
            "key": partial(dispatch.describe, spec, operands, *rest, None),
            "run": dispatch.describe(spec, operands, *rest, None).run,
        }
    handle, owner = known._current(known._device)
    _, pointers, numbers = signature
    (queue,) = known._queues
    if known._made is None:
        result: Call = partial(known._meets, pointers, numbers)
        values: tuple[Any, ...] | None = (*known._pick(pointers), *numbers)  # packed once
    else:
        result = partial(known._made, arrays[0], handle)
        pointers[known._output :] = (result()[1],)
        values = None  # never the tuple of the last call, since its result is a new one
    return {
        "arrays": lambda: READERS[type(arrays[0])](arrays, [], []),
        "key": partial(repeated.sign, spec, arrays, *rest),
        "lookup": partial(repeated.find, signature[0]),
        "stream": partial(known._current, known._device),
        "result": result,
        "launch": lambda: queue(handle, owner, values or (*known._pick(pointers), *numbers)),
    }


def _torch(problem: Problem) -> Bound:
    import torch

    return Bound(_TORCH[problem.case.routine](torch, **problem.operands), problem.place.to_host)


def _cupy(problem: Problem) -> Bound:
    from cupy import cublas

    return Bound(_CUPY[problem.case.routine](cublas, **problem.operands), problem.place.to_host)


def _scipy(problem: Problem) -> Bound:
    bound = Scipy().bind(problem.case, problem.operands)
    assert bound is not None
    return bound


#: The arrays' own library: the shortest call it offers, with the output given as in ours.
_CALLS: dict[str, Callable[[Problem], Bound]] = {
    "numpy": _scipy,
    "torch": _torch,
    "cupy": _cupy,
}
_TORCH: dict[str, Callable[..., Call]] = {
    "dot": lambda torch, x, y: partial(torch.dot, x, y),
    "axpy": lambda torch, x, y: partial(y.add_, x, **SCALARS["axpy"]),
    "gemv": lambda torch, a, x, y: partial(torch.mv, a, x, out=y),
    "gemm": lambda torch, a, b, c: partial(torch.mm, a, b, out=c),
}
_CUPY: dict[str, Callable[..., Call]] = {
    "dot": lambda cublas, x, y: partial(cublas.dot, x, y),
    "axpy": lambda cublas, x, y: partial(cublas.axpy, SCALARS["axpy"]["alpha"], x, y),
    "gemv": lambda cublas, a, x, y: partial(cublas.gemv, "N", 1.0, a, x, 0.0, y),
    "gemm": lambda cublas, a, b, c: partial(cublas.gemm, "N", "N", a, b, c),
}
