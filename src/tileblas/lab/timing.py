"""The measuring protocol: contestants interleaved in shuffled rounds, medians over passes.

A *round* runs every contestant once, in a shuffled order; a *pass* is many rounds. Reported are the
median of the pass medians and the fastest repetition: where a power limit slows the typical one,
the fastest still shows what the code can do. Two contestants are compared by the median over rounds
of the ratio of their times, so that what drifts between rounds cancels.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Protocol

from tileblas.lab.device import Device

Call = Callable[[], Any]

#: Bytes overwritten before each call on a device: more than any L2 of today (H200: 60 MB).
FLUSH_BYTES = 256 << 20


class Clock(Protocol):
    """Runs calls one after another and tells the seconds each of them took."""

    description: str

    def run(self, calls: Sequence[Call]) -> list[float]: ...


class HostClock:
    """Wall time of calls that return when they are done; caches stay as the last call left them."""

    description = "host clock, warm caches"

    def run(self, calls: Sequence[Call]) -> list[float]:
        seconds = []
        for call in calls:
            start = time.perf_counter()
            call()
            seconds.append(time.perf_counter() - start)
        return seconds


class DeviceClock:
    """Device time between two CUDA events around a call; the L2 is overwritten before each call.

    The overwriting also keeps the device busy while the host issues the call, so that the time
    measured is the kernel's, not the host's. Everything is queued first and read at the end.
    """

    description = f"device events, cold L2 ({FLUSH_BYTES >> 20} MiB overwritten before each call)"

    def __init__(self, stream: int, gauge: Callable[[], Any] | None = None) -> None:
        self._device = Device()
        self._stream = stream
        self._flush = self._device.allocate(FLUSH_BYTES)
        self._events: list[tuple[Any, Any]] = []
        self._gauge = gauge
        self.reading: Any = None  # of the gauge, taken while the device works

    def run(self, calls: Sequence[Call]) -> list[float]:
        device, stream = self._device, self._stream
        while len(self._events) < len(calls):
            self._events.append((device.event(), device.event()))
        pairs = self._events[: len(calls)]
        for call, (start, stop) in zip(calls, pairs, strict=True):
            device.fill(self._flush, FLUSH_BYTES, stream)
            device.record(start, stream)
            call()
            device.record(stop, stream)
        if self._gauge is not None:
            self.reading = self._gauge()
        device.synchronize(stream)
        return [device.seconds_between(start, stop) for start, stop in pairs]


@dataclass(frozen=True)
class Repeats:
    """How often to repeat: by default three passes of at least 20 rounds.

    More rounds while a pass stays within `pass_seconds`. Where a contestant takes longer than
    `slow` seconds, the short form: one pass of a few rounds, and the results are marked.
    """

    passes: int = 3
    fewest: int = 20
    most: int = 200
    pass_seconds: float = 0.2
    slow: float = 0.05
    slow_fewest: int = 5
    slow_seconds: float = 3.0

    def choose(self, seconds: Sequence[float]) -> tuple[int, int, bool]:
        """Passes, rounds in a pass, and whether this is the short form, from one round's times."""
        if max(seconds) > self.slow:
            wanted = int(self.slow_seconds / sum(seconds))
            return 1, min(max(wanted, self.slow_fewest), self.fewest), True
        wanted = int(self.pass_seconds / max(sum(seconds), 1e-9))
        return self.passes, min(max(wanted, self.fewest), self.most), False


STANDARD = Repeats()


@dataclass(frozen=True)
class Timing:
    """Seconds of one contestant: median of the pass medians, and the fastest repetition."""

    median: float
    minimum: float


@dataclass(frozen=True)
class Race:
    """What a run of `race` measured: for each contestant, seconds[pass][round]."""

    seconds: Mapping[str, tuple[tuple[float, ...], ...]]
    passes: int
    rounds: int
    short: bool

    def timing(self, name: str) -> Timing:
        passes = self.seconds[name]
        return Timing(median(median(one) for one in passes), min(min(one) for one in passes))

    def ratio(self, name: str, rival: str) -> float:
        """How many times faster `name` is than `rival`: the median over rounds."""
        ours, theirs = self.seconds[name], self.seconds[rival]
        return median(
            their / max(our, 1e-12)
            for our_pass, their_pass in zip(ours, theirs, strict=True)
            for our, their in zip(our_pass, their_pass, strict=True)
        )


def race(
    contestants: Mapping[str, Call],
    clock: Clock,
    repeats: Repeats = STANDARD,
    seed: int = 0,
) -> Race:
    """Time every contestant, interleaved, after two rounds that tell how often."""
    calls = list(contestants.values())
    probes = zip(clock.run(calls), clock.run(calls), strict=True)
    passes, rounds, short = repeats.choose([min(pair) for pair in probes])
    shuffle = random.Random(seed).shuffle
    measured: dict[str, list[tuple[float, ...]]] = {name: [] for name in contestants}
    for _ in range(passes):
        order: list[str] = []
        for _ in range(rounds):
            names = list(contestants)
            shuffle(names)
            order += names
        times = clock.run([contestants[name] for name in order])
        for name, per_pass in measured.items():
            per_pass.append(tuple(t for n, t in zip(order, times, strict=True) if n == name))
    return Race({name: tuple(p) for name, p in measured.items()}, passes, rounds, short)


def best_seconds(call: Call, clock: Clock, budget: float = 0.4, most: int = 40) -> float:
    """The fastest of up to `most` repetitions of `call` within about `budget` seconds."""
    clock.run([call])
    probe = clock.run([call])[0]
    repetitions = min(max(int(budget / max(probe, 1e-9)), 2), most)
    return min(probe, *clock.run([call] * repetitions))
