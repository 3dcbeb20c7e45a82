"""Calls run on the right stream, wait for their producers, and hold what they still read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from libraries import Bare, CudaInterface, Cupy, Exporter, Torch, handle, own_on_host
from samples import FORMS, Form, Pending, Sample

import tileblas as tb
from tileblas.runtime.driver import LEGACY_STREAM, driver

each_form = pytest.mark.parametrize("form", FORMS, ids=str)
with_inputs = pytest.mark.parametrize("form", [form for form in FORMS if form.read], ids=str)


def idle(stream: int) -> bool:
    """Whether all work queued on a stream is done."""
    (code,) = driver().api.cuStreamQuery(stream or LEGACY_STREAM)
    return code == driver().api.CUresult.CUDA_SUCCESS


def warmed(form: Form, library) -> Sample:
    """A sample whose kernel is compiled and loaded."""
    sample = Sample(form)
    sample.run(sample.put(library))
    library.settle()
    return sample


@each_form
def test_the_current_stream_is_used(streamed, form, gate):
    sample = warmed(form, streamed)
    pending = Pending(sample, streamed)
    with streamed.using(streamed.new_stream()):
        with gate.held(streamed.handle()) as hold:
            pending.write(streamed.handle())
            found = sample.run(pending.arrays)
            assert hold.busy
        sample.check(found, streamed)


@each_form
def test_the_named_stream_is_used(library, form, gate):
    sample = warmed(form, library)
    pending, stream = Pending(sample, library), Torch().new_stream()
    with gate.held(handle(stream)) as hold:
        pending.write(handle(stream))
        found = sample.run(pending.arrays, stream=stream)
        assert hold.busy
    stream.synchronize()
    sample.check(found, library)


@each_form
def test_a_named_stream_waits_for_the_current_one(streamed, form, gate):
    sample = warmed(form, streamed)
    pending, named = Pending(sample, streamed), streamed.new_stream()
    with streamed.using(streamed.new_stream()):
        with gate.held(streamed.handle()):
            pending.write(streamed.handle())
            found = sample.run(pending.arrays, stream=named)
            assert not idle(handle(named))
        named.synchronize()
        sample.check(found, streamed)


@each_form
def test_the_stream_entry_of_the_cuda_interface_is_waited_for(torch, form, gate):
    sample = warmed(form, CudaInterface())
    pending = Pending(sample, Torch())
    producer, consumer = torch.cuda.Stream(), torch.cuda.Stream()
    shown = {
        name: Bare(array, stream=producer.cuda_stream, version=3)
        for name, array in pending.arrays.items()
    }
    with gate.held(producer.cuda_stream):
        pending.write(producer.cuda_stream)
        found = sample.run(shown, stream=consumer)
        assert not idle(consumer.cuda_stream)
    consumer.synchronize()
    sample.check(unveiled(found, pending))


@each_form
def test_a_dlpack_producer_on_another_stream_is_waited_for(torch, form, gate):
    """The exporter makes the stream that the exchange names wait for its own."""
    sample = warmed(form, CudaInterface())
    pending = Pending(sample, Torch())
    producer, consumer = torch.cuda.Stream(), torch.cuda.Stream()
    shown = {name: Exporter(array) for name, array in pending.arrays.items()}
    with gate.held(producer.cuda_stream), torch.cuda.stream(producer):
        pending.write(producer.cuda_stream)
        found = sample.run(shown, stream=consumer)
        assert not idle(consumer.cuda_stream)
    consumer.synchronize()
    sample.check(unveiled(found, pending))


def unveiled(found: dict[str, Any], pending: Pending) -> dict[str, np.ndarray]:
    """Outputs on the host: torch's, which were shown as something else, and our own."""
    return {
        name: Torch().get(pending.arrays[name]) if name in pending.arrays else own_on_host(array)
        for name, array in found.items()
    }


@pytest.mark.parametrize("owner", [Torch, Cupy], ids=["torch", "cupy"])
def test_two_libraries_on_streams_of_their_own(torch, cupy, owner, gate):
    """The stream of the output's library does the work, after what the other one's has queued."""
    ours, other = owner(), (Cupy if owner is Torch else Torch)()
    sample = warmed(Form("axpy", False), ours)
    pending, y = Pending(sample, other), ours.put(sample.values["y"])
    with other.using(other.new_stream()), ours.using(ours.new_stream()):
        with gate.held(other.handle()):
            pending.write(other.handle())
            sample.run({"x": pending.arrays["x"], "y": y})
            assert not idle(ours.handle())
        sample.check({"y": y}, ours)


@with_inputs
def test_torch_does_not_reuse_what_another_stream_reads(torch, form, gate):
    """record_stream: an input freed right after the call keeps its memory until it was read."""
    sample = warmed(form, Torch())
    torch.full((1,), torch.nan, device="cuda")  # loads the kernel
    Torch().settle()
    arrays = sample.put(Torch())
    given = {name: arrays.pop(name) for name in form.given}
    shapes = [array.shape for array in arrays.values()]
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with gate.held(stream.cuda_stream) as hold:
        found = sample.run({**arrays, **given}, stream=stream)
        arrays.clear()
        junk = [torch.full(shape, torch.nan, device="cuda") for shape in shapes]
        torch.cuda.current_stream().synchronize()  # the junk is there, the inputs are yet unread
        assert hold.busy
    stream.synchronize()
    sample.check(found, Torch())
    assert all(array.isnan().all() for array in junk)


def test_a_stream_may_end_before_the_arrays_that_it_read(torch, cupy):
    """torch must not be told of it: it would record an event there as it frees the arrays."""
    # So short that no workspace is needed, which would keep the stream alive.
    x, stream = torch.ones(1000, device="cuda"), cupy.cuda.Stream(non_blocking=True)
    found = tb.dot(x, x, stream=stream)
    stream.synchronize()
    del stream
    del x
    assert found.item() == 1000


@with_inputs
def test_cupy_does_not_reuse_what_another_stream_reads(cupy, form, gate):
    """CuPy's stream, in whose order its memory is used again, waits for the call's."""
    sample = warmed(form, Cupy())
    cupy.full(1, cupy.nan, "float32")
    Cupy().settle()
    arrays = sample.put(Cupy())
    given = {name: arrays.pop(name) for name in form.given}
    shapes = [array.shape for array in arrays.values()]
    stream = cupy.cuda.Stream(non_blocking=True)
    with gate.held(stream.ptr):
        found = sample.run({**arrays, **given}, stream=stream)
        arrays.clear()
        junk = [cupy.full(shape, cupy.nan, "float32") for shape in shapes]
        assert not idle(Cupy().handle())
    stream.synchronize()
    sample.check(found, Cupy())
    assert all(cupy.isnan(array).all() for array in junk)


def test_a_consumer_of_our_own_result_waits_for_its_stream(cupy, gate):
    library, stream = CudaInterface(), cupy.cuda.Stream(non_blocking=True)
    sample = warmed(Form("dot", True), library)
    pending = Pending(sample, library)
    with gate.held(stream.ptr):
        pending.write(stream.ptr)
        found = sample.run(pending.arrays, stream=stream)
        seen = {name: cupy.from_dlpack(array) for name, array in found.items()}
        assert not idle(Cupy().handle())
    sample.check(seen, Cupy())


def test_jax_outputs_on_a_named_stream(jax, cupy):
    jnp = jax.numpy
    stream = cupy.cuda.Stream(non_blocking=True)
    for value in range(20):
        x, y = jnp.full(1 << 20, value, "float32"), jnp.ones(1 << 20, "float32")
        found = tb.axpy(x * 1, y, alpha=2, stream=stream)
        assert float(found.sum()) == (1 << 20) * (1 + 2 * value)


def test_temporaries_of_jax_live_until_the_kernel_has_read_them(jax):
    jnp = jax.numpy
    x = jnp.ones(1 << 24, "float32")
    for value in range(20):
        found = tb.dot(x * value, x)
        junk = [jnp.full(1 << 24, -1.0, "float32") for _ in range(3)]
        assert float(found) == value * (1 << 24)
        del junk


@each_form
def test_what_is_no_stream_is_refused(form):
    sample = Sample(form, sizes=dict.fromkeys("mnk", 4))
    with pytest.raises(TypeError, match="__cuda_stream__"):
        sample.run(sample.put(CudaInterface()), stream="default")
