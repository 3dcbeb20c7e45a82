"""Which stream a call runs on, what it waits for, and what is kept until it is done."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from tileblas.arrays import streams
from tileblas.arrays.streams import Stream
from tileblas.core.dtypes import DTYPES
from tileblas.core.operand import Operand


class Driver:
    """Notes what it is asked to order; events pass when told to."""

    def __init__(self):
        self.waits: list[tuple[int, int]] = []  # (producer, consumer)
        self.devices: list[int] = []
        self.captures: dict[int, int] = {}
        self.passed: set[int] = set()
        self.marks = 0

    def record_wait(self, producer, consumer, device):
        self.waits.append((producer, consumer))
        self.devices.append(device)

    def capturing(self, stream):
        return self.captures.get(stream, 0)

    def mark(self, stream, device):
        self.marks += 1
        return self.marks

    def reached(self, event):
        return event in self.passed


@pytest.fixture
def driver(monkeypatch):
    found = Driver()
    monkeypatch.setattr(streams, "driver", lambda: found)
    monkeypatch.setattr(streams, "_held", [])
    return found


def operand(stream, keep=None) -> Operand:
    float32 = DTYPES["float32"]
    return Operand(4096, float32, (4,), (1,), 0, 0, "dlpack", None, stream, keep)


def test_both_numbers_of_the_legacy_stream_are_one(driver):
    assert streams.current(operand(1)).handle == streams.current(operand(None)).handle == 0
    streams.order_after(Stream(0), [operand(1), operand(None)])
    assert driver.waits == []


def test_each_foreign_producer_is_waited_for_once(driver):
    streams.order_after(Stream(7), [operand(8), operand(7), operand(8), operand(9)])
    assert driver.waits == [(8, 7), (9, 7)]


def test_streams_are_ordered_on_the_operands_device(driver):
    elsewhere = operand(8)._replace(device=1)
    streams.order_after(Stream(7), [elsewhere])
    streams.hold(Stream(7), [elsewhere])
    assert driver.devices == [1, 1]


def test_producers_wait_before_they_reuse_what_is_read(driver):
    streams.hold(Stream(7), [operand(8), operand(7)])
    assert driver.waits == [(7, 8)]


class TorchStream:
    """Stands in for torch.cuda.Stream: an odd number for torch's own, else a pointer, or 0."""

    def __init__(self, stream_id):
        self.stream_id = stream_id


class Tensor:
    def __init__(self):
        self.recorded: list[object] = []

    def record_stream(self, stream):
        self.recorded.append(stream)


@pytest.fixture
def torch(monkeypatch):
    cuda = SimpleNamespace(Stream=TorchStream)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))


def tensor_operand(stream) -> Operand:
    return operand(stream)._replace(library="torch", array=Tensor())


@pytest.mark.parametrize("number", [0, 3])
def test_torch_is_told_of_a_stream_of_its_own(driver, torch, number):
    there, elsewhere, owner = tensor_operand(7), tensor_operand(8), TorchStream(number)
    streams.hold(Stream(7, owner), [there, elsewhere])
    assert (there.array.recorded, elsewhere.array.recorded) == ([], [owner])
    assert driver.waits == []


@pytest.mark.parametrize("owner", [None, object(), TorchStream(4096)])
def test_torch_is_told_of_no_stream_that_may_be_destroyed(driver, torch, owner):
    """It would record an event there when the memory is freed, and the process would end."""
    used = tensor_operand(8)
    streams.hold(Stream(7, owner), [used])
    assert used.array.recorded == []
    assert driver.waits == [(7, 8)]


@pytest.mark.parametrize(("captures", "waits"), [({7: 1}, []), ({7: 1, 8: 1}, [(8, 7)])])
def test_only_streams_of_one_capture_are_ordered(driver, captures, waits):
    driver.captures = captures
    streams.order_after(Stream(7), [operand(8), operand(9)])
    assert driver.waits == waits


def test_views_of_foreign_memory_live_until_their_event_has_passed(driver):
    first, second = object(), object()
    streams.hold(Stream(7), [operand(7, first)])
    streams.hold(Stream(7), [operand(7, second)])
    assert [views for _, views in streams._held] == [[first], [second]]
    driver.passed = {1}
    streams.hold(Stream(7), [operand(7)])
    assert [views for _, views in streams._held] == [[second]]


def test_nothing_is_held_for_a_capture(driver):
    driver.captures = {7: 1}
    streams.hold(Stream(7), [operand(7, object())])
    assert streams._held == []


@pytest.mark.parametrize(
    "stream",
    [
        SimpleNamespace(__cuda_stream__=lambda: (0, 42)),
        SimpleNamespace(cuda_stream=42),
        SimpleNamespace(ptr=42),
    ],
)
def test_streams_of_every_library_are_taken_and_kept_alive(stream):
    assert streams.named(stream) == Stream(42, stream)


def test_what_is_no_stream_is_refused():
    with pytest.raises(TypeError, match="__cuda_stream__, got str"):
        streams.named("default")
