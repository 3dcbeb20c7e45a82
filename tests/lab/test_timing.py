"""The measuring protocol, on clocks that are told what to say."""

import pytest

from tileblas.lab import timing
from tileblas.lab.timing import DeviceClock, HostClock, Race, Repeats, best_seconds, race


def test_contestants_take_turns_in_shuffled_rounds(fake_clock):
    order = []
    contestants = {name: (lambda name=name: order.append(name)) for name in "abc"}
    repeats = Repeats(passes=2, fewest=20, most=20)
    result = race(contestants, fake_clock(), repeats)
    assert (result.passes, result.rounds, result.short) == (2, 20, False)
    rounds = [order[i : i + 3] for i in range(6, len(order), 3)]  # after two to warm up
    assert len(rounds) == 40
    assert all(sorted(one) == ["a", "b", "c"] for one in rounds)
    assert len({tuple(one) for one in rounds}) > 1


def test_the_same_seed_gives_the_same_order(fake_clock):
    def order(seed):
        seen = []
        contestants = {name: (lambda name=name: seen.append(name)) for name in "ab"}
        race(contestants, fake_clock(), seed=seed)
        return seen

    assert order(3) == order(3)
    assert order(3) != order(4)


def test_times_are_kept_with_the_contestant_they_belong_to(fake_clock):
    def slow(): ...

    def fast(): ...

    clock = fake_clock(lambda call: 4e-3 if call is slow else 1e-3)
    result = race({"slow": slow, "fast": fast}, clock)
    assert result.timing("slow").median == 4e-3
    assert result.timing("fast").minimum == 1e-3
    assert result.ratio("fast", "slow") == pytest.approx(4)


def test_median_of_pass_medians_and_the_fastest():
    result = Race({"x": ((3.0, 1.0, 2.0), (9.0, 8.0, 9.0), (4.0, 5.0, 6.0))}, 3, 3, False)
    assert result.timing("x") == timing.Timing(median=5.0, minimum=1.0)


def test_the_ratio_is_paired_by_rounds():
    # Both slow down together: the medians of each alone would hide that they are equal.
    ours, theirs = ((1.0, 10.0, 100.0),), ((2.0, 20.0, 200.0),)
    assert Race({"ours": ours, "theirs": theirs}, 1, 3, False).ratio("ours", "theirs") == 2.0


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        ([1e-3, 1e-3], (3, 100, False)),  # as many as fit in a pass of 0.2 s
        ([1e-6, 1e-6], (3, 200, False)),  # no more than the most
        ([0.04, 0.04], (3, 20, False)),  # never fewer than 20
        ([0.04, 0.06], (1, 20, True)),  # one call over 50 ms: the short form
        ([1.0, 1.0], (1, 5, True)),
    ],
)
def test_how_often_to_repeat(seconds, expected):
    assert Repeats().choose(seconds) == expected


def test_host_clock_times_every_call():
    calls = []
    seconds = HostClock().run([lambda: calls.append(1), lambda: calls.append(2)])
    assert calls == [1, 2]
    assert all(s >= 0 for s in seconds)


def test_best_is_the_fastest_repetition(fake_clock):
    times = iter([9.0, 3.0, 5.0, 2.0, 4.0])
    assert best_seconds(lambda: None, fake_clock(lambda call: next(times)), budget=9.0) == 2.0


class FakeDevice:
    """Records what is queued; an event is a number, and time is the distance of two."""

    def __init__(self):
        self.queue = []

    def allocate(self, size):
        return 4096

    def fill(self, pointer, size, stream):
        self.queue.append(f"fill {size >> 20} MiB on {stream}")

    def event(self):
        return []

    def record(self, event, stream):
        event[:] = [len(self.queue)]
        self.queue.append("event")

    def synchronize(self, stream):
        self.queue.append("synchronize")

    def seconds_between(self, start, stop):
        return float(stop[0] - start[0])


def test_device_clock_overwrites_the_cache_before_each_call_and_reads_at_the_end(monkeypatch):
    monkeypatch.setattr(timing, "Device", FakeDevice)
    clock = DeviceClock(stream=7, gauge=lambda: "reading")
    queue = clock._device.queue
    seconds = clock.run([lambda: queue.append("one"), lambda: queue.extend(["two", "more"])])
    assert queue == [
        *("fill 256 MiB on 7", "event", "one", "event"),
        *("fill 256 MiB on 7", "event", "two", "more", "event"),
        "synchronize",
    ]
    assert seconds == [2.0, 3.0]
    assert clock.reading == "reading"
