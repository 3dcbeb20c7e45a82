"""No call waits for the device: each returns while a kernel occupies its stream."""

from __future__ import annotations

import pytest
from samples import FORMS, Form, Pending, Sample

from tileblas.routines.registry import ROUTINES

each_form = pytest.mark.parametrize("form", FORMS, ids=str)
WITH_SCALARS = [form for form in FORMS if ROUTINES[form.routine].scalars]
#: One size that is split among programs and takes a workspace, one that is not.
SPLIT = pytest.mark.parametrize("split", [True, False], ids=["split", "whole"])


def sizes(form: Form, split: bool) -> dict[str, int] | None:
    return None if split else dict.fromkeys(ROUTINES[form.routine].dims, 40)


@SPLIT
@each_form
def test_operands_and_results_on_the_device(library, form, split, gate):
    sample = Sample(form, sizes=sizes(form, split))
    sample.run(sample.put(library))
    pending = Pending(sample, library)
    with gate.held(library.handle()) as hold:
        pending.write(library.handle())
        found = sample.run(pending.arrays)
        assert hold.busy
    sample.check(library.get(found))


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
    sample.check(library.get(found))


@each_form
def test_a_new_stream_and_a_new_shape(streamed, form, gate):
    """Planning, a workspace of the stream's own and its zeroed counters need no wait either.

    Only kernels are loaded before: a like shape has been seen.
    """
    seen, sizes = (
        {d: n if d == "n" else 3 for d in ROUTINES[form.routine].dims} for n in (100_003, 100_005)
    )
    like = Sample(form, sizes=seen)
    like.run(like.put(streamed))
    sample = Sample(form, sizes=sizes)
    pending = Pending(sample, streamed)
    with streamed.using(streamed.new_stream()):
        with gate.held(streamed.handle()) as hold:
            pending.write(streamed.handle())
            found = sample.run(pending.arrays)
            assert hold.busy
        sample.check(streamed.get(found))


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
            sample.check(streamed.get(found))
