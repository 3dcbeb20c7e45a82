"""Calls on NumPy arrays that run on a GPU: time by stage, beside resident arrays and the CPU.

Each stage goes through the functions that calls go through, with a wait after it; the whole call is
timed by itself, with nothing waited for in between, and so is the CPU backend after it.
What the reckoning of `auto` says of the same calls stands beside that. Copies alone are timed
beside the driver's own copies of the same arrays.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import numpy as np

import tileblas
from tileblas.arrays.ingest import ingest
from tileblas.arrays.results import new_array
from tileblas.arrays.scalars import parse
from tileblas.backends import dispatch, select
from tileblas.backends.staging import DEVICE, Staged
from tileblas.core import check
from tileblas.core.call import Scalar
from tileblas.core.canon import canonical, results
from tileblas.core.operand import HOST, Operand
from tileblas.core.spec import Spec
from tileblas.lab import digits, environment
from tileblas.lab.bench import timed_backend
from tileblas.lab.cases import Case
from tileblas.lab.places import HostPlace, Place, device_place
from tileblas.lab.problems import Accuracy, Problem
from tileblas.lab.rival_calls import scalars
from tileblas.lab.timing import Call, DeviceClock, HostClock, Repeats, race
from tileblas.routines.registry import ROUTINES
from tileblas.runtime import memory
from tileblas.runtime.driver import driver
from tileblas.runtime.pinned import link
from tileblas.tuning.reckoning import Reckoning

#: The list of cases: sizes about which the GPU starts to win, and where transfers are all there is.
LIST = "staged"

COPIES = tuple(1 << exponent for exponent in range(14, 31, 2))  # bytes

REPEATS = Repeats(passes=1, fewest=7, most=30, slow_fewest=3, slow_seconds=0.8)
_STAGE_ROUNDS = 5
_BLAS_SPINS = 0.15  # seconds; OpenBLAS gives up its threads' cores after some 2^26 cycles
_ITERATION = "power iteration"
DEMO_DTYPES = ("float32", "float64")  # as in the demo


@dataclass(frozen=True)
class Stages:
    """Seconds of each stage of a staged call."""

    allocation: float
    to_device: float
    kernel: float
    to_host: float


@dataclass(frozen=True)
class Row:
    """One call: seconds staged from NumPy arrays, on resident arrays, and on the CPU backend.

    `stages` and `reckoning` are missing where the work is many calls. A row with a `problem` holds
    no times.
    """

    work: str
    size: str
    dtype: str
    form: str
    staged: float = math.nan
    resident: float = math.nan
    cpu: float = math.nan
    stages: Stages | None = None
    reckoning: Reckoning | None = None
    accuracy: Accuracy | None = None
    problem: str = ""

    @property
    def good(self) -> bool:
        """Whether it ran, and what it computed is within the error bar where that was looked at."""
        return not self.problem and (self.accuracy is None or self.accuracy.good)


@dataclass(frozen=True)
class CopyRow:
    """One array on its way: seconds through pinned buffers, and of the driver's own copy.

    `ratio` is the median over rounds of driver's over ours.
    """

    way: str
    nbytes: int
    pinned: float
    plain: float
    ratio: float


@dataclass(frozen=True)
class Crossover:
    """From which size on the GPU wins, as measured and as reckoned; "" where it never does."""

    work: str
    dtype: str
    form: str
    measured: str
    reckoned: str


@dataclass(frozen=True)
class Bench:
    """The GPU, its resident arrays, and the columns that all rows share."""

    place: Place
    clock: DeviceClock
    environment: Mapping[str, str]

    @property
    def common(self) -> dict[str, str]:
        staged = f"staged and cpu: {HostClock.description}; resident: {self.clock.description}"
        processor = {"processor": environment.cpu_name()}
        return {"protocol": staged} | processor | dict(self.environment)


def open_bench(arrays: str = "auto") -> Bench:
    """The bench on the first GPU. ValueError where there is none."""
    timed_backend("cuda")
    place = device_place(arrays)
    return Bench(place, DeviceClock(place.stream), environment.columns(on_device=True))


def run(cases: Sequence[Case], bench: Bench, repeats: Repeats = REPEATS) -> Iterator[Row | CopyRow]:
    """Copies, one case after another, the power iteration in the types of the cases.

    What cannot run leaves a row that says why.
    """
    yield from copies(repeats=repeats)
    for case in cases:
        try:
            yield measure(case, bench, repeats)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
            yield Row(case.routine, case.size, case.dtype, case.form, problem=problem)
    for dtype in dict.fromkeys(case.dtype for case in cases if case.dtype in DEMO_DTYPES):
        try:
            yield from power_iteration(bench, dtype, repeats)
        except ImportError as error:
            yield Row(_ITERATION, "", dtype, "", problem=str(error))


def measure(case: Case, bench: Bench, repeats: Repeats = REPEATS, work: str = "") -> Row:
    """Check one case staged, then time it staged, by stage, resident and on the CPU."""
    problem = Problem(case, HostPlace())
    call = problem.bind()
    on_gpu, on_cpu = _on("cuda", call.call), _on("cpu", call.call)
    with tileblas.backend("cuda"):
        accuracy = problem.accuracy(call)
    staged = _alone(on_gpu, repeats)
    arguments = described(problem)
    stages = [stage_seconds(*arguments) for _ in range(_STAGE_ROUNDS)]
    reckoning = reckoned(*arguments)
    resident = Problem(case, bench.place).bind().call
    device = race({"resident": resident}, bench.clock, repeats)
    cpu = _alone(on_cpu, repeats)
    return Row(
        *(work or case.routine, case.size, case.dtype, case.form),
        staged=staged,
        resident=device.timing("resident").median,
        cpu=cpu,
        stages=Stages(*(median(values) for values in zip(*map(_fields, stages), strict=True))),
        reckoning=reckoning,
        accuracy=accuracy,
    )


def _alone(call: Call, repeats: Repeats) -> float:
    """The median seconds of a call, with no threads of a BLAS about that has just been called.

    These spin for a while before they sleep, and take the cores that copy: so calls on the CPU
    backend and staged ones are not interleaved.
    """
    time.sleep(_BLAS_SPINS)
    return race({"call": call}, HostClock(), repeats).timing("call").median


def _on(backend: str, call: Call) -> Call:
    def run() -> None:
        with tileblas.backend(backend):
            call()

    return run


def _fields(stages: Stages) -> tuple[float, ...]:
    return tuple(asdict(stages).values())


Described = tuple[Spec, dict[str, Any], dict[str, Operand], dict[str, Scalar]]


def described(problem: Problem) -> Described:
    """A problem on NumPy arrays as a backend gets it, its result allocated."""
    spec, options, dtype = problem.spec, problem.options, problem.dtype
    numbers = {n: parse(spec, n, value, dtype, HOST) for n, value in scalars(spec).items()}
    operands = {name: ingest(array) for name, array in problem.operands.items()}
    made = results(spec, list(operands.values()), problem.case.dims, (), dtype)
    like = next(iter(operands.values()))
    for name, result in made.items():
        operands[name] = new_array(like, result.shape, spec.operand(name).dtype(dtype), None)
    return spec, options, operands, numbers


def stage_seconds(
    spec: Spec,
    options: Mapping[str, Any],
    operands: Mapping[str, Operand],
    scalars: Mapping[str, Scalar],
) -> Stages:
    """One staged call, stage after stage, waiting after each."""
    staged = Staged(dispatch.call, spec, tuple(options.values()), None, operands, scalars)
    on = driver()
    with link(on, DEVICE).stream() as own:
        marks = [time.perf_counter()]

        def done() -> None:
            on.synchronize(own.handle)
            marks.append(time.perf_counter())

        panels = staged.allocate(own)
        done()
        for panel in panels:
            staged.send(panel)
        done()
        computed = [staged.compute(panel, own) for panel in panels]
        done()
        transfers = [
            staged.receive(panel, name, result)
            for panel, found in zip(panels, computed, strict=True)
            for name, result in found.items()
        ]
        for transfer in transfers:
            transfer.wait()
        done()
    return Stages(*(after - before for before, after in itertools.pairwise(marks)))


def reckoned(
    spec: Spec,
    options: Mapping[str, Any],
    operands: Mapping[str, Operand],
    scalars: Mapping[str, Scalar],
) -> Reckoning:
    """What the reckoning says of a call."""
    given = [operands[arg.name] for arg in spec.arguments]
    letters = dict(options)
    dims, batch = check.check_shapes(spec, given, letters)
    dtype = given[0].dtype
    assert dtype is not None
    made = results(spec, given, dims, batch, dtype)
    problem = canonical(spec, given, made, dims, batch, letters, scalars)
    return select.reckoning(spec, problem)


def power_iteration(bench: Bench, dtype: str, repeats: Repeats = REPEATS) -> Iterator[Row]:
    """The products of one step of the demo's power iteration, then the whole of it."""
    images = digits.load_images(dtype)
    count, pixels = images.shape
    block = digits.BLOCK
    for dims, trans in (
        ((count, block, pixels), "NN"),  # X V
        ((pixels, block, count), "TN"),  # X^T (X V)
        ((block, block, pixels), "TN"),  # Z^T Z, and how far the span has turned
        ((pixels, block, block), "NT"),  # Z L^-T
    ):
        yield measure(Case("gemm", dims, dtype, trans, "row"), bench, repeats, _ITERATION)
    host = HostPlace()
    whole: dict[str, Call] = {
        "staged": _on("cuda", lambda: digits.iterate(images, host)),
        "resident": lambda: digits.iterate(images, bench.place),
        "cpu": _on("cpu", lambda: digits.iterate(images, host)),
    }
    staged, resident, cpu = (_alone(call, repeats) for call in whole.values())
    yield Row(_ITERATION, f"{count}x{pixels}", dtype, "whole", staged, resident, cpu)


def copies(sizes: Sequence[int] = COPIES, repeats: Repeats = REPEATS) -> Iterator[CopyRow]:
    """Arrays of so many bytes up, down into an array, and down into new memory."""
    for nbytes in sizes:
        host = np.ones(nbytes, np.uint8).view(np.float16)
        with link(driver(), DEVICE).stream() as own:
            there = memory.from_host(host, DEVICE, own.handle, owner=own)
            rows = []
            for way, (ours, plain) in _ways(host, there).items():
                times = race({"pinned": ours, "plain": plain}, HostClock(), repeats)
                medians = times.timing("pinned").median, times.timing("plain").median
                rows.append(CopyRow(way, nbytes, *medians, times.ratio("pinned", "plain")))
        yield from rows


def _ways(host: np.ndarray, there: memory.DeviceArray) -> dict[str, tuple[Call, Call]]:
    """Our copy and the driver's, by way; each returns when the array has arrived."""
    on, lanes = driver(), link(driver(), DEVICE)
    address, stream = there.address, there.stream

    def up() -> None:
        lanes.up.send(address, host)
        on.synchronize(lanes.up.stream)

    def plain_up() -> None:
        with on.current(DEVICE):
            on.copy_to_device(address, host.ctypes.data, host.nbytes, stream)
            on.synchronize(stream)

    def down(out: np.ndarray) -> None:
        lanes.down.receive(out, address, stream).wait()

    def plain_down(out: np.ndarray) -> None:
        with on.current(DEVICE):
            on.copy_to_host(out.ctypes.data, address, out.nbytes, stream)
            on.synchronize(stream)

    return {
        "to the device": (up, plain_up),
        "to the host": (lambda: down(host), lambda: plain_down(host)),
        "to new memory": (
            lambda: down(np.empty_like(host)),
            lambda: plain_down(np.empty_like(host)),
        ),
    }


def crossovers(rows: Sequence[Row]) -> list[Crossover]:
    """For each routine, dtype and form: the size from which on the GPU wins at all sizes."""
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        if row.reckoning is not None and row.work in ROUTINES:
            groups.setdefault((row.work, row.dtype, row.form), []).append(row)
    return [
        Crossover(
            *key,
            measured=_first_of_all(group, lambda row: row.staged < row.cpu),
            reckoned=_first_of_all(group, _wins_by_reckoning),
        )
        for key, group in groups.items()
    ]


def _wins_by_reckoning(row: Row) -> bool:
    return row.reckoning is not None and row.reckoning.winner == "cuda"


def _first_of_all(rows: Sequence[Row], wins: Callable[[Row], bool]) -> str:
    """The size of the first row, in the order of rows, after which no row loses."""
    found = ""
    for row in reversed(rows):
        if not wins(row):
            break
        found = row.size
    return found


def record(row: Row | CopyRow) -> dict[str, Any]:
    """What was measured, by column name; the columns of calls and of copies are the same."""
    columns: dict[str, Any] = dict.fromkeys(_COLUMNS, "")
    if isinstance(row, CopyRow):
        columns |= {"work": row.way, "size": f"{row.nbytes} bytes", "staged_us": row.pinned * 1e6}
        return columns | {"plain_us": row.plain * 1e6, "plain_ratio": row.ratio}
    columns |= {"work": row.work, "size": row.size, "dtype": row.dtype, "form": row.form}
    columns |= {f"{name}_us": getattr(row, name) * 1e6 for name in ("staged", "resident", "cpu")}
    if row.stages is not None:
        columns |= {f"{name}_us": s * 1e6 for name, s in asdict(row.stages).items()}
    if row.reckoning is not None:
        columns |= {"reckoned_cuda_us": row.reckoning.cuda * 1e6}
        columns |= {"reckoned_cpu_us": row.reckoning.cpu * 1e6}
    if row.accuracy is not None:
        columns |= {"error": row.accuracy.error, "within_bar": row.accuracy.good}
    return columns | {"problem": row.problem}


_COLUMNS = (
    *("work", "size", "dtype", "form"),
    *("allocation_us", "to_device_us", "kernel_us", "to_host_us"),
    *("staged_us", "resident_us", "cpu_us", "reckoned_cuda_us", "reckoned_cpu_us"),
    *("plain_us", "plain_ratio", "error", "within_bar", "problem"),
)
