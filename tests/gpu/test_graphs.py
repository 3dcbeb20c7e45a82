"""Every routine in CUDA graphs: replayed on new inputs, several alive, none sharing a workspace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from libraries import Cupy, StreamLibrary, Torch, handle
from samples import FORMS, Form, Pending, Sample

import tileblas as tb
from tileblas.runtime import memory, workspace
from tileblas.runtime.workspace import Workspaces

each_form = pytest.mark.parametrize("form", FORMS, ids=str)
TINY = dict.fromkeys("mnk", 2)
#: Forms whose sample is split among programs, which share a workspace.
SPLIT = pytest.mark.parametrize(
    "form",
    [
        *(Form(name, True) for name in ("dot", "nrm2", "iamax", "axpydot")),
        Form("gemv", False),
    ],
    ids=str,
)


def captured(
    library: StreamLibrary, call: Callable[[], Any], stream: Any = None
) -> tuple[Callable[[Any], None], Any]:
    """Capture a call on a stream; what replays it on another one, and what the call returned."""
    stream = stream or library.new_stream()
    if library.name == "torch":
        graph = library.module.cuda.CUDAGraph()
        with library.module.cuda.graph(graph, stream=stream):
            found = call()

        def replay(on: Any) -> None:
            with library.using(on):
                graph.replay()

        return replay, found
    with stream:
        stream.begin_capture()
        try:
            found = call()
        finally:
            graph = stream.end_capture()
    return graph.launch, found


@pytest.fixture
def taken(monkeypatch):
    """The addresses of the workspaces that launches were given, in order."""
    addresses: list[int] = []
    acquire = Workspaces.acquire

    def noted(self, *arguments):
        space = acquire(self, *arguments)
        addresses.append(space.arrived)
        return space

    monkeypatch.setattr(Workspaces, "acquire", noted)
    return addresses


@each_form
def test_a_replay_follows_its_inputs(streamed, form):
    samples = [Sample(form, seed=seed) for seed in range(3)]
    pendings = [Pending(sample, streamed) for sample in samples]
    replay, found = captured(streamed, lambda: samples[0].run(pendings[0].arrays))
    stream = streamed.new_stream()
    for sample, pending in zip(samples, pendings, strict=True):
        pending.write(handle(stream), into=pendings[0])
        replay(stream)
        streamed.settle()
        sample.check(found, streamed)


@pytest.mark.parametrize("form", [f for f in FORMS if Sample(f, sizes=TINY).scalars], ids=str)
def test_a_replay_follows_scalars_on_the_device(streamed, form):
    sample = Sample(form)
    first, scalars = dict(sample.scalars), sample.device_scalars(streamed)
    pending = Pending(sample, streamed)
    replay, found = captured(streamed, lambda: sample.run(pending.arrays, **scalars))
    stream = streamed.new_stream()
    for factor in (1, 0, -1):
        sample.scalars = {name: factor * value for name, value in first.items()}
        sample.rewrite(scalars)
        streamed.settle()
        pending.write(handle(stream))
        replay(stream)
        streamed.settle()
        sample.check(found, streamed)


@SPLIT
def test_several_graphs_alive_run_at_once(streamed, form, taken):
    """Graphs on streams of their own overlap; each has partial sums of its own."""
    samples = [Sample(form, seed=seed) for seed in range(4)]
    pendings = [Pending(sample, streamed) for sample in samples]
    graphs = [
        captured(streamed, lambda sample=sample, pending=pending: sample.run(pending.arrays))
        for sample, pending in zip(samples, pendings, strict=True)
    ]
    assert len(taken) == len(set(taken)) == len(graphs)
    streams = [streamed.new_stream() for _ in graphs]
    for _ in range(25):
        for pending, (replay, _), stream in zip(pendings, graphs, streams, strict=True):
            pending.write(handle(stream))
            replay(stream)
        streamed.settle()
        for sample, (_, found) in zip(samples, graphs, strict=True):
            sample.check(found, streamed)


@SPLIT
def test_a_graph_and_ordinary_calls_do_not_share(streamed, form, taken):
    sample, stream = Sample(form), streamed.new_stream()
    pending = Pending(sample, streamed)
    arrays = [sample.put(streamed) for _ in range(2)]
    streamed.settle()
    with streamed.using(stream):
        before = sample.run(arrays[0])
    replay, found = captured(streamed, lambda: sample.run(pending.arrays), stream)
    with streamed.using(stream):
        after = sample.run(arrays[1])
    assert taken[0] == taken[2] != taken[1]
    pending.write(handle(stream))
    replay(stream)
    streamed.settle()
    for result in (before, found, after):
        sample.check(result, streamed)


@SPLIT
def test_a_workspace_that_grows_outside_leaves_graphs_alone(streamed, form, taken, monkeypatch):
    """The stream's workspace is replaced and freed, and its memory is used for something else."""
    monkeypatch.setattr(workspace, "PARTIAL_BYTES", 4)
    monkeypatch.setattr(workspace, "COUNTERS", 1)
    sample, stream = Sample(form), streamed.new_stream()
    pending = Pending(sample, streamed)
    many = streamed.put(np.ones((64, 40_000), "float32"))
    streamed.settle()
    with streamed.using(stream):
        small = tb.dot(many[0], many[0])
    replay, found = captured(streamed, lambda: sample.run(pending.arrays), stream)
    with streamed.using(stream):
        large = tb.dot(many, many)
    assert len(set(taken)) == 3, "the workspace did not grow, or a graph shares it"
    nan = np.full(1 << 12, np.nan, "float32")
    junk = [memory.from_host(nan, 0, handle(stream)) for _ in range(64)]
    for _ in range(3):
        pending.write(handle(stream))
        replay(stream)
        streamed.settle()
        sample.check(found, streamed)
    assert float(small) == 40_000
    assert (streamed.get(large) == 40_000).all()
    assert all(np.isnan(memory.to_host(array)).all() for array in junk)


def test_captures_open_on_two_streams_at_once(cupy, taken):
    library = Cupy()
    samples = [Sample(Form("dot", True), seed=seed) for seed in range(2)]
    pendings = [Pending(sample, library) for sample in samples]
    streams = [library.new_stream() for _ in samples]
    for stream in streams:
        stream.begin_capture()
    found = []
    for sample, pending, stream in zip(samples, pendings, streams, strict=True):
        with stream:
            found.append(sample.run(pending.arrays))
    graphs = [stream.end_capture() for stream in streams]
    assert len(set(taken)) == 2
    for _ in range(10):
        for pending, graph, stream in zip(pendings, graphs, streams, strict=True):
            pending.write(stream.ptr)
            graph.launch(stream)
        library.settle()
        for sample, result in zip(samples, found, strict=True):
            sample.check(result, library)


def test_two_streams_of_one_capture_keep_their_order(torch):
    x, y = torch.ones(1 << 22, device="cuda"), torch.zeros(1 << 22, device="cuda")
    side = torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        main = torch.cuda.current_stream()
        side.wait_stream(main)
        y.add_(1)
        found = tb.dot(x, y, stream=side)
        main.wait_stream(side)
    for run in range(1, 4):
        graph.replay()
        assert found.item() == run * (1 << 22)


def test_rotations_made_and_applied_in_one_graph(torch):
    """c, s and param stay on the device, and follow the numbers of which they are made."""
    x, y, v, w = (torch.zeros(1001, device="cuda") for _ in range(4))
    a, b, d1, d2 = (torch.zeros((), device="cuda") for _ in range(4))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        c, s, r, _ = tb.rotg(a, b)
        tb.rot(x, y, c, s)
        tb.rotm(v, w, tb.rotmg(d1, d2, a, b))  # a becomes the first element of what is rotated
    for first, second in ((3.0, 4.0), (-5.0, 2.0)):
        for array, value in ((a, first), (b, second), (d1, 1.5), (d2, 0.5)):
            array.fill_(value)
        for array, value in ((x, first), (y, second), (v, first), (w, second)):
            array.fill_(value)
        graph.replay()
        Torch().settle()
        assert abs(r.item()) == pytest.approx((first**2 + second**2) ** 0.5)
        for rotated, length in ((x, r), (v, a)):
            assert torch.allclose(rotated, length.expand(1001))
        for zero in (y, w):
            assert torch.allclose(zero, torch.zeros_like(zero), atol=1e-5)


def test_a_chain_of_calls_in_one_graph(torch):
    """Calls of one capture follow each other, each with the workspace that the last one left."""
    library = Torch()
    x, a = torch.zeros(70_001, device="cuda"), torch.ones(5, 70_001, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        tb.scal(x, alpha=2)
        total = tb.dot(x, x)
        y = tb.gemv(a, x)
        tb.axpy(a[0], x, alpha=total)  # a scalar that the graph itself makes
        norm = tb.nrm2(x)
        place = tb.iamax(x)
    for value in (1, 2):
        x.fill_(value)
        graph.replay()
        library.settle()
        n, doubled = 70_001, 2 * value
        assert total.item() == n * doubled**2
        assert (y == n * doubled).all()
        assert (x == n * doubled**2 + doubled).all()
        assert place.item() == 0
        assert norm.item() == pytest.approx(n**0.5 * (n * doubled**2 + doubled), rel=1e-6)
