"""A repeated call reaches its launch at most four frames below the public function."""

import sys

import pytest

import tileblas as tb
from tileblas.arrays import ingest, streams
from tileblas.backends import cuda
from tileblas.runtime import launch as runtime
from tileblas.tuning.table import table

FRAMES = 4


class DeviceArray:
    """Describes float32 memory on a GPU, and has none: for calls whose launch does nothing."""

    def __init__(self, address: int, *shape: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": shape,
            "typestr": "<f4",
            "data": (address, False),
            "strides": None,
            "version": 3,
        }


A, B, C = (DeviceArray(address << 20, 8, 8) for address in (1, 2, 3))
X, Y = (DeviceArray(address << 20, 8) for address in (4, 5))
CALLS = {
    "axpy": lambda: tb.axpy(X, Y, alpha=2),
    "gemm": lambda: tb.gemm(A, B, C),
}


def frames_below(function) -> int:
    """How deep the caller of this is below `function`."""
    frame, depth = sys._getframe(1), 0
    while frame.f_code is not function.__code__:
        frame, depth = frame.f_back, depth + 1
    return depth


@pytest.mark.parametrize("routine", CALLS)
def test_a_repeated_call_is_shallow(routine, monkeypatch):
    depths = []

    class Launch:
        def queue(self, *values):
            depths.append(frames_below(getattr(tb, routine)))

    monkeypatch.setattr(ingest, "_pointer_device", lambda pointer: 0)
    monkeypatch.setattr(cuda, "device_table", lambda device: table("sm_90"))
    monkeypatch.setattr(streams, "order_after", lambda stream, operands: None)
    monkeypatch.setattr(runtime, "prepare", lambda *arguments: Launch())
    CALLS[routine]()
    CALLS[routine]()
    assert len(depths) == 2
    assert depths[1] <= FRAMES


@pytest.mark.gpu
@pytest.mark.parametrize("routine", ["dot", "dotc", "dotu", "axpy", "gemm"])
def test_a_repeated_call_is_shallow_on_a_gpu(routine, monkeypatch):
    torch = pytest.importorskip("torch")
    # A size of its own: a call that is remembered already has the method as it was.
    shape = (13, 13) if routine == "gemm" else 1013
    arrays = [torch.ones(shape, device="cuda") for _ in range(2)]
    function, launch, depths = getattr(tb, routine), runtime.PreparedLaunch.queue, []

    def recorded(self, *values):
        depths.append(frames_below(function))
        return launch(self, *values)

    monkeypatch.setattr(runtime.PreparedLaunch, "queue", recorded)
    function(*arrays)
    function(*arrays)
    assert len(depths) == 2
    assert depths[1] <= FRAMES
