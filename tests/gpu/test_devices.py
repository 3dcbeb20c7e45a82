"""Two devices: a call runs where its operands lie, whichever device is current."""

from __future__ import annotations

import pytest
from libraries import Cupy, Torch
from samples import FORMS, Sample, shapes

import tileblas as tb
from tileblas.runtime.driver import available, driver

TINY = dict.fromkeys("mnk", 8)
each_form = pytest.mark.parametrize("form", FORMS, ids=str)
pytestmark = pytest.mark.skipif(
    not available() or driver().device_count() < 2, reason="needs two CUDA devices"
)


def on_device(torch, sample: Sample, device: int) -> dict:
    return {n: torch.from_numpy(value).to(f"cuda:{device}") for n, value in sample.values.items()}


@each_form
def test_torch_on_the_second_device(torch, form):
    sample = Sample(form)
    torch.cuda.set_device(0)
    for device in (1, 0, 1):
        found = sample.run(on_device(torch, sample, device))
        assert {array.device.index for array in found.values()} == {device}
        assert torch.cuda.current_device() == 0
        sample.check(found, Torch())


@each_form
def test_cupy_on_the_second_device(cupy, form):
    sample = Sample(form)
    with cupy.cuda.Device(1):
        arrays = {name: cupy.asarray(value) for name, value in sample.values.items()}
    with cupy.cuda.Device(0):
        found = sample.run(arrays)
        assert cupy.cuda.Device().id == 0
    assert {array.device.id for array in found.values()} == {1}
    sample.check(found, Cupy())


@each_form
def test_a_named_stream_of_the_second_device(torch, form):
    sample = Sample(form)
    arrays, stream = on_device(torch, sample, 1), torch.cuda.Stream(1)
    torch.cuda.synchronize(1)
    found = sample.run(arrays, stream=stream)
    stream.synchronize()
    sample.check(found, Torch())


@each_form
def test_a_graph_of_the_second_device(torch, form):
    sample = Sample(form)
    arrays = on_device(torch, sample, 1)
    kept = {name: array.clone() for name, array in arrays.items()}
    with torch.cuda.device(1):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            found = sample.run(arrays)
        for name, array in arrays.items():
            array.copy_(kept[name])
        graph.replay()
        torch.cuda.synchronize(1)
    sample.check(found, Torch())


@pytest.mark.parametrize("form", [f for f in FORMS if len(shapes(f, TINY)) > 1], ids=str)
def test_operands_on_two_devices_are_refused(torch, form):
    sample = Sample(form, sizes=TINY)
    arrays = on_device(torch, sample, 1)
    first = next(iter(arrays))
    arrays[first] = arrays[first].to("cuda:0")
    with pytest.raises(tb.BlasError, match="CUDA device 0"):
        sample.run(arrays)


def test_scalars_of_another_device_are_refused(torch):
    x = torch.ones(8, device="cuda:1")
    with pytest.raises(TypeError, match="on CUDA device 1"):
        tb.scal(x, alpha=torch.tensor(2.0, device="cuda:0"))
    with pytest.raises(TypeError, match="on CUDA device 1"):
        tb.rotm(x, x.clone(), torch.ones(5, device="cuda:0"))


def test_both_devices_at_once(torch):
    """Neither waits for the other, and each has workspaces of its own."""
    samples = [Sample(form, seed=seed) for seed, form in enumerate(FORMS)]
    arrays = [on_device(torch, sample, i % 2) for i, sample in enumerate(samples)]
    for _ in range(10):
        found = [
            sample.run({name: array.clone() for name, array in own.items()})
            for sample, own in zip(samples, arrays, strict=True)
        ]
    for sample, result in zip(samples, found, strict=True):
        sample.check(result, Torch())
