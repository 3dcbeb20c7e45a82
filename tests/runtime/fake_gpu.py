"""A stand-in for a GPU to which host arrays are staged: the CPU backend on fake device memory."""

from __future__ import annotations

import numpy as np
import pytest

import tileblas as tb
from tileblas.arrays.ingest import ingest
from tileblas.arrays.scalars import parse
from tileblas.backends import staging
from tileblas.core.dtypes import RESULTS, numpy_dtype
from tileblas.core.operand import HOST, Operand, numpy_view
from tileblas.routines.registry import ROUTINES
from tileblas.runtime import driver as drivers
from tileblas.runtime import memory, pinned

RANDOM = np.random.default_rng(7)


def random(*shape, dtype="float64"):
    values = RANDOM.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * RANDOM.standard_normal(shape)
    return values.astype(dtype)


def on_host(array):
    """The NumPy view of an array of the stand-in, whose device memory is host memory."""
    dtype = ingest(array).dtype
    view = numpy_view(array.address, dtype, array.shape, array.strides, array)
    return view.view(numpy_dtype(dtype))


def like(array):
    """The operand of a new result, which may be of a type that no argument has."""
    strides = tuple(step // array.itemsize for step in array.strides)
    dtype = RESULTS[array.dtype.name]
    return Operand(array.ctypes.data, dtype, array.shape, strides, 0, HOST, "numpy", array)


class FakeGpu:
    """Computes on arrays of the stand-in with the CPU backend; remembers what it was asked."""

    def __init__(self):
        self.shapes: list[tuple] = []
        self.streams: set[int] = set()
        self.fails_at = -1

    def call(self, spec, arrays, values, options, math, stream):
        if len(self.shapes) == self.fails_at:
            raise RuntimeError("the panel failed")
        self.shapes.append(tuple(array.shape for array in arrays))
        self.streams |= {array.stream for array in arrays} | {stream.handle}
        keywords = dict(zip(spec.scalars, values, strict=True))
        keywords = {spec.packed: tuple(values)} if spec.packed else keywords
        keywords |= dict(zip(spec.option_names, options, strict=True))
        with tb.backend("cpu"):
            found = getattr(tb, spec.name)(*map(on_host, arrays), **keywords)
        found = found if len(spec.returns) > 1 else (found,)
        given = dict(zip(spec.argument_names, arrays, strict=True))

        def returned(name, value):
            """An array that was given itself; a new one; None for one that there is not."""
            if name in given or value is None:
                return given.get(name)
            return memory.from_host(np.asarray(value), 0, stream.handle)

        results = tuple(returned(*pair) for pair in zip(spec.returns, found, strict=True))
        return results if len(results) > 1 else results[0]


@pytest.fixture
def gpu():
    return FakeGpu()


@pytest.fixture
def stage(fake_driver, api, gpu, monkeypatch):
    """stage("axpy", x, y, alpha=2): the call staged to the stand-in, in panels of 4 KiB."""
    monkeypatch.setattr(drivers, "driver", lambda: fake_driver)
    monkeypatch.setattr(memory, "driver", lambda: fake_driver)
    monkeypatch.setattr(memory, "DIRECT_BYTES", 256)
    monkeypatch.setattr(pinned, "BUFFER_BYTES", 1 << 10)
    monkeypatch.setattr(pinned, "_LEAST_CHUNK", 256)
    monkeypatch.setattr(pinned, "cores", lambda: 2)
    monkeypatch.setattr(staging, "_PANEL_BYTES", 4 << 10)
    monkeypatch.setattr(staging, "_PANEL_STEP", 4)
    monkeypatch.setattr(staging, "_MOST_PANELS", 16)
    api.lazy = True

    def run(name, *arrays, output=None, results=None, flags=None, **keywords):
        """`output` is a new result, `results` are several by name."""
        spec = ROUTINES[name]
        flags = flags or {}
        operands = {
            arg.name: ingest(array)._replace(flags=flags.get(arg.name, 0))
            for arg, array in zip(spec.arguments, arrays, strict=True)
        }
        if output is not None:
            operands[spec.output_name] = like(output)
        for key, array in (results or {}).items():
            operands[key] = like(array)
        dtype = ingest(arrays[0]).dtype
        numbers = {"alpha": 1, "beta": 0} | keywords
        scalars = {s: parse(spec, s, numbers[s], dtype, HOST) for s in spec.scalars}
        options = [keywords.get(option.name, option.default) for option in spec.options]
        staging.runner(gpu.call, spec, options, None)(operands, scalars, None)

    return run
