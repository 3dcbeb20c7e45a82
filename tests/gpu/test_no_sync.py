"""No call waits for the device: each returns while a kernel occupies its stream."""

from __future__ import annotations

import pytest
from samples import FORMS, Form, Pending, Sample

each_form = pytest.mark.parametrize("form", FORMS, ids=str)
WITH_SCALARS = [form for form in FORMS if form.spec.scalars]
#: A size that is split among programs and takes a workspace; one that is not, of each way to sum.
WAYS_TO_SUM = [form for form in FORMS if form.sums and form.routine == form.spec.family]
SPLIT = pytest.mark.parametrize(
    ("form", "split"),
    [*((form, "split") for form in FORMS), *((form, "whole") for form in WAYS_TO_SUM)],
    ids=str,
)


@SPLIT
def test_operands_and_results_on_the_device(library, form, split, gate):
    sample = Sample(form, sizes=None if split == "split" else dict.fromkeys("mnk", 40))
    sample.run(sample.put(library))
    pending = Pending(sample, library)
    with gate.held(library.handle()) as hold:
        pending.write(library.handle())
        found = sample.run(pending.arrays)
        assert hold.busy
    sample.check(found, library)


@pytest.mark.parametrize("form", WITH_SCALARS, ids=str)
def test_scalars_on_the_device(library, form, gate):
    sample = Sample(form)
    scalars = sample.device_scalars(library)
    sample.run(sample.put(library), **scalars)
    pending = Pending(sample, library)
    with gate.held(library.handle()) as hold:
        pending.write(library.handle())
        found = sample.run(pending.arrays, **scalars)
        assert hold.busy
    sample.check(found, library)


def sized(form: Form, n: int) -> Sample:
    """Operands of about n elements, or some rotations: their oracle is slow."""
    batch = () if form.spec.dims else (n - 100_000,)
    return Sample(form, sizes={"m": 3, "n": n, "k": 3}, batch=batch)


@each_form
def test_a_new_stream_and_a_new_shape(streamed, form, gate):
    """Planning, a workspace of the stream's own and its zeroed counters need no wait either.

    Only kernels are loaded before: a like shape has been seen, whose rows are as well aligned.
    """
    like, sample = sized(form, 100_003), sized(form, 100_011)
    like.run(like.put(streamed))
    pending = Pending(sample, streamed)
    with streamed.using(streamed.new_stream()):
        with gate.held(streamed.handle()) as hold:
            pending.write(streamed.handle())
            found = sample.run(pending.arrays)
            assert hold.busy
        sample.check(found, streamed)


@each_form
def test_many_calls_are_queued(streamed, form, gate):
    """Each call's temporaries are given back in stream order, not waited for."""
    sample = Sample(form)
    sample.run(sample.put(streamed))
    operands = [sample.put(streamed) for _ in range(20)]
    streamed.settle()
    with streamed.using(streamed.new_stream()):
        with gate.held(streamed.handle()) as hold:
            results = [sample.run(arrays) for arrays in operands]
            assert hold.busy
        for found in results:
            sample.check(found, streamed)
