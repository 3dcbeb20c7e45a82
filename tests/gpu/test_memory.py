"""Device memory: given back after queued calls, MemoryError with the bytes where there is none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from libraries import Bare, CudaInterface, Footprint, Jax, Library
from samples import FORMS, GIVEN, Form, Sample, shapes

import tileblas as tb
from tileblas.core.dtypes import DTYPES
from tileblas.runtime.driver import LEGACY_STREAM, driver

each_form = pytest.mark.parametrize("form", FORMS, ids=str)
each_given = pytest.mark.parametrize("form", GIVEN, ids=str)

CALLS = 500
#: Bytes: more than a library keeps for itself, less than the results of the queued calls.
FEW = 32 << 20
#: Members of a batch whose result takes 200 KB, or 32 MiB: more than any allocator has in reserve.
SOME, MANY = 50_000, 8 << 20
#: Sizes that leave a result of one element, at least, for each member.
TINY = {"m": 1, "n": 3, "k": 2}
UNIT = dict.fromkeys("mnk", 1)


@each_form
def test_queued_calls_give_their_memory_back(library, form):
    if (library.name, form.routine) == ("jax", "dsdot"):
        pytest.skip("JAX makes float32 of the result, in memory that it keeps")
    sample = Sample(form, sizes=TINY, batch=(SOME,))
    arrays = sample.put(library)
    sample.run(arrays)
    before = Footprint(library)
    results = [sample.run(arrays) for _ in range(CALLS)]
    del results
    library.settle()
    sample.run(arrays)  # lets go of what the earlier calls held until they were done
    assert before.left() < FEW


@contextmanager
def nothing_left(library: Library) -> Iterator[None]:
    """Inside, no allocator has 64 KiB of device memory in one piece."""
    library.settle()
    on, blocks = driver(), []
    with on.current(0):
        size, _ = on.call("cuMemGetInfo")
        while size >= 1 << 16:
            try:
                blocks.append(on.allocate(size, 0, LEGACY_STREAM))
            except MemoryError:
                size //= 2
    try:
        yield
    finally:
        with on.current(0):
            for address, pooled in blocks:
                on.free(address, pooled, LEGACY_STREAM)
            on.synchronize(LEGACY_STREAM)


def test_no_memory_for_a_result(library):
    """Of any routine; the error names the bytes, and afterwards the library works."""
    forms = [form for form in FORMS if form.new]
    operands = {form: many(form, library) for form in forms}
    with nothing_left(library):
        for form in forms:
            first = form.made[0]
            with pytest.raises(MemoryError, match=str(form.made_bytes(UNIT, (MANY,))[first])):
                getattr(tb, form.routine)(**operands[form])
    del operands
    for form in forms:
        sample = Sample(form)
        sample.check(sample.run(sample.put(library)), library)


def many(form: Form, library: Library) -> dict[str, Any]:
    """Operands of one element for each of many members of a batch."""
    wanted, dtype = shapes(form, UNIT, (MANY,)), form.dtype("float32")
    arrays = {name: library.blank(shape, dtype) for name, shape in wanted.items()}
    return arrays | form.options


@pytest.mark.parametrize("form", [form for form in GIVEN if not form.made], ids=str)
def test_no_memory_is_needed_for_a_given_output(streamed, form):
    sample = Sample(form)
    sample.run(sample.put(streamed))
    arrays = sample.put(streamed)
    with nothing_left(streamed):
        found = sample.run(arrays)
    sample.check(found, streamed)


def test_no_memory_for_a_workspace_leaves_the_output(streamed):
    """A stream that has no workspace yet cannot get one."""
    sample = Sample(Form("gemv", False))
    sample.run(sample.put(streamed))
    arrays, stream = sample.put(streamed), streamed.new_stream()
    refused = pytest.raises(MemoryError, match=r"\d+ bytes")
    with nothing_left(streamed), streamed.using(stream), refused:
        sample.run(arrays)
    np.testing.assert_array_equal(streamed.get(arrays["y"]), sample.values["y"])
    with streamed.using(stream):
        sample.check(sample.run(arrays), streamed)


@each_given
def test_no_memory_for_the_copy_of_an_output_that_cannot_change(jax, form):
    library = Jax()
    arrays = many(form, library)
    wanted = DTYPES[form.dtype("float32")].itemsize * MANY
    with nothing_left(library), pytest.raises(MemoryError, match=str(wanted)):
        getattr(tb, form.routine)(**{**arrays, **form.keywords()})
    assert not any(library.get(arrays[name]).any() for name in form.given)


@pytest.mark.parametrize("kind", ["torch", "cupy", "bare"])
def test_a_result_beyond_every_device(torch, cupy, kind):
    """Of broadcast inputs, which take no memory themselves."""
    n = 1 << 21
    column = {
        "torch": lambda: torch.ones(1, 1, device="cuda").expand(n, 1),
        "cupy": lambda: cupy.broadcast_to(cupy.ones((1, 1), "float32"), (n, 1)),
        "bare": lambda: Bare(
            CudaInterface().put(np.ones((1, 1), "float32")).array, shape=(n, 1), strides=(0, 0)
        ),
    }[kind]()
    with pytest.raises(MemoryError, match=str(4 * n * n)):
        tb.gemm(column, column, trans_b="T")
