"""The same bits on every run, whatever runs beside it or ran before: threads, streams, forks."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from samples import FORMS, GIVEN, Form, Sample, typed

import tileblas as tb

each_form = pytest.mark.parametrize("form", FORMS, ids=str)
THREADS = STREAMS = 4
RUNS = 100


def runs(sample: Sample, library: Any) -> Callable[[], dict[str, Any]]:
    """A function that repeats a call on the same operands, on the current stream."""
    arrays = sample.put(library)
    library.settle()

    def run() -> dict[str, Any]:
        given = dict(arrays)
        given |= {name: library.copy(arrays[name]) for name in sample.form.given}
        return sample.run(given)

    return run


def different(library: Any, results: list[Any], expected: Any) -> list[int]:
    """Which of the results do not have the bits that are expected."""
    library.settle()
    wanted = bits(library, expected)
    return [i for i, found in enumerate(results) if bits(library, found) != wanted]


def bits(library: Any, found: dict[str, Any]) -> dict[str, bytes]:
    """The bytes of each output."""
    return {name: library.get(array).tobytes() for name, array in found.items()}


@pytest.mark.parametrize(("form", "dtype"), typed("float32", "complex128"), ids=str)
def test_four_threads_on_four_streams(streamed, form, dtype):
    """The threads share the streams, and so their workspaces."""
    sample = Sample(form, dtype, fill="random")
    run = runs(sample, streamed)
    expected = run()
    streamed.settle()
    sample.check(expected, streamed)
    streams = [streamed.new_stream() for _ in range(STREAMS)]
    start = threading.Barrier(THREADS)
    results: list[list[Any]] = [[] for _ in range(THREADS)]

    def work(thread: int) -> None:
        start.wait()
        for i in range(RUNS):
            with streamed.using(streams[(thread + i) % STREAMS]):
                results[thread].append(run())

    threads = [threading.Thread(target=work, args=(i,)) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [result for own in results for result in own]
    assert len(found) == THREADS * RUNS, "a thread ended early"
    assert different(streamed, found, expected) == []


@pytest.mark.parametrize(("form", "dtype"), typed("float16", "float64"), ids=str)
def test_on_a_busy_device(streamed, form, dtype):
    """Other work takes multiprocessors away, so that programs arrive in another order."""
    sample = Sample(form, dtype, fill="random")
    run = runs(sample, streamed)
    expected = run()
    streamed.settle()
    side, streams = streamed.new_stream(), [streamed.new_stream() for _ in range(STREAMS)]
    square = streamed.put(np.ones((2048, 2048), "float32"))
    streamed.settle()
    results = []
    for i in range(RUNS):
        if i % 10 == 0:
            with streamed.using(side):
                tb.gemm(square, square)
        with streamed.using(streams[i % STREAMS]):
            results.append(run())
    assert different(streamed, results, expected) == []


@each_form
def test_after_a_call_that_gave_nan(streamed, form):
    """What an earlier call left in the workspace is never read."""
    sample, spoilt = Sample(form), Sample(form, fill="nan")
    run = runs(sample, streamed)
    expected = run()
    results = []
    for _ in range(5):
        spoilt.run(spoilt.put(streamed))
        results.append(run())
    sample.check(expected, streamed)
    assert different(streamed, results, expected) == []


@each_form
def test_members_of_a_batch_that_are_split_share_nothing(streamed, form):
    """Their programs run side by side; each member has partial sums and a counter of its own."""
    sample = Sample(form, batch=(3,), fill="random")
    sample.check(sample.run(sample.put(streamed)), streamed)


@pytest.mark.parametrize("form", GIVEN, ids=str)
def test_a_first_call_equals_later_ones(streamed, form):
    """Nothing is tuned or tried on a user's output."""
    sizes = dict.fromkeys("mnk", 1013)  # met in no other test
    run = runs(Sample(form, sizes=sizes, fill="random"), streamed)
    first = run()
    assert different(streamed, [run() for _ in range(3)], first) == []


def forked(work: Callable[[], str]) -> str:
    """What `work` returns in a forked child; an answer a second after the fork is too late."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, work().encode())
        finally:
            os._exit(0)
    try:
        ready, _, _ = select.select([reader], [], [], 1.0)
        return os.read(reader, 1000).decode() if ready else "no answer within a second"
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.close(reader)
        os.close(writer)


@each_form
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")  # JAX's
def test_use_after_a_fork_is_refused_at_once(library, form):
    sample = Sample(form)
    arrays = sample.put(library)
    sample.run(arrays)

    def work() -> str:
        try:
            sample.run(arrays)
        except RuntimeError as error:
            return f"{type(error).__name__}: {error}"
        return "worked"

    assert "initialised before fork" in forked(work)
    again = sample.put(library)
    sample.check(sample.run(again), library)  # the parent is unharmed


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")
def test_host_arrays_after_a_fork_run_on_the_cpu(library):
    sample = Sample(Form("dot", True))
    sample.run(sample.put(library))
    x = np.ones(100)
    assert forked(lambda: str(tb.dot(x, x))) == "100.0"
