"""A stand-in for CuPy whose arrays have addresses and no memory, and launches that are recorded."""

from __future__ import annotations

import contextlib
import itertools
import math
import sys
import types
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

import tileblas as tb
from tileblas.arrays import layouts
from tileblas.backends import cpu_direct, cpu_elements, cpu_products, cuda, dispatch, repeated
from tileblas.runtime import launch as runtime
from tileblas.tuning.table import table

# --import-mode=importlib puts no folder on sys.path.
sys.path.append(str(Path(__file__).parent))


@pytest.fixture(params=["BLAS", "NumPy"])
def way(request, monkeypatch):
    """The CPU, by SciPy's BLAS where it can be, or all by NumPy, in blocks that tests exceed."""
    if request.param == "NumPy":
        for name in ("product", "update", "sided_product", "square_product"):
            monkeypatch.setattr(cpu_direct, name, lambda *arguments: False)
        for name, size in {"ROWS": 16, "COLUMNS": 24, "_LONG": 8, "_WALKED": 64}.items():
            monkeypatch.setattr(cpu_elements, name, size)
        monkeypatch.setattr(cpu_products, "SQUARE", 8)
    with tb.backend("cpu"):
        yield


class Array:
    """What is read of a CuPy array: dtype, shape, strides in bytes, address, device."""

    __cuda_array_interface__ = None  # CuPy shows it too, and it marks an array

    def __init__(self, address, shape, dtype="float32", strides=None, device=0):
        self.dtype, self.shape = np.dtype(dtype), shape
        self.strides = strides or _c_strides(shape, self.dtype.itemsize)
        self.data = types.SimpleNamespace(ptr=address, device_id=device)
        self.device = contextlib.nullcontext()
        self.size = math.prod(shape)


Array.__module__ = "cupy"


def _c_strides(shape, itemsize):
    return tuple(itemsize * math.prod(shape[i + 1 :]) for i in range(len(shape)))


@dataclass
class Queued:
    """One launch: the kernel, and what it was given."""

    kernel: str
    stream: int
    values: tuple
    alignment: int


@dataclass
class Machine:
    """The stand-in: what was queued, how many launches were prepared, the current stream."""

    queued: list[Queued] = field(default_factory=list)
    prepared: int = 0
    stream: int = 7
    addresses: itertools.count = field(default_factory=lambda: itertools.count(1 << 30, 1 << 16))

    def array(self, *shape, **more):
        return Array(next(self.addresses), shape, **more)


@pytest.fixture
def machine(monkeypatch):
    state = Machine()

    class Launch:
        def __init__(self, launch):
            self.launch = launch
            state.prepared += 1

        def queue(self, stream, owner, values):
            launch = self.launch
            state.queued.append(Queued(launch.kernel, stream, values, launch.alignment))

    def current(device):
        return types.SimpleNamespace(ptr=state.stream)

    def empty(shape, dtype):
        return Array(next(state.addresses), shape, dtype)

    cupy = types.SimpleNamespace(
        cuda=types.SimpleNamespace(get_current_stream=current), empty=empty
    )
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(cuda, "device_table", lambda device: table("sm_90"))
    monkeypatch.setattr(runtime, "prepare", lambda launch, device, order: Launch(launch))
    yield state
    dispatch._memo.clear()
    repeated._repeated.clear()
    repeated._latest.clear()
    layouts.READERS.pop(Array, None)
    layouts.ADDRESSES.pop(Array, None)
