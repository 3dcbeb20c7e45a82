"""Copies through pinned buffers: how arrays are cut, what waits for what, and what goes wrong."""

import threading

import numpy as np
import pytest

from tileblas.runtime import fork as fork_guard
from tileblas.runtime import memory, pinned
from tileblas.runtime.driver import CudaError
from tileblas.runtime.memory import empty_like, from_host, to_host
from tileblas.runtime.pinned import chunks, link

KIB = 1 << 10
BLOCK = np.arange(6 * 50 * 200, dtype="float32").reshape(6, 50, 200)
VIEWS = {
    "C": BLOCK,
    "F": BLOCK.T,
    "0-d": BLOCK[0, 0, 0:1].reshape(()),
    "vector": BLOCK.reshape(-1),
    "gaps": BLOCK[:, :, ::3],
    "rows with gaps": BLOCK[:, ::2, :],
    "reversed": BLOCK[::-1, :, ::-1],
    "one column": BLOCK[:, :, :1],
    "repeated rows": np.broadcast_to(BLOCK[0, 0], (300, 200)),
    "repeated elements": np.broadcast_to(BLOCK[:, :, :1], (6, 50, 80)),
    "swapped": BLOCK.transpose(1, 0, 2),
}
all_views = pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())


@pytest.fixture
def small_buffers(monkeypatch):
    """Buffers of 4 KiB, two threads, and no array too small for them."""
    monkeypatch.setattr(pinned, "BUFFER_BYTES", 4 * KIB)
    monkeypatch.setattr(pinned, "_LEAST_CHUNK", KIB)
    monkeypatch.setattr(pinned, "cores", lambda: 2)
    monkeypatch.setattr(memory, "DIRECT_BYTES", 0)


@pytest.fixture
def on(small_buffers, fake_driver):
    return fake_driver


@all_views
@pytest.mark.parametrize("nbytes", [100, 1000, 4096, 1 << 30])
def test_chunks_are_the_dense_copy_in_pieces(view, nbytes):
    found = np.full(view.size, -1, view.dtype)
    for offset, part in chunks(view, nbytes):
        assert 0 < part.nbytes <= max(nbytes, view.itemsize)
        start = offset // view.itemsize
        assert (found[start : start + part.size] == -1).all()
        found[start : start + part.size] = part.ravel()
    np.testing.assert_array_equal(found, view.ravel())


@pytest.mark.parametrize("count", [1023, 1024, 1025, 2047, 2048, 2049])
def test_chunks_at_a_boundary_are_of_one_size(count):
    sizes = [part.size for _, part in chunks(np.zeros(count, "float32"), 4 * KIB)]
    assert sum(sizes) == count
    assert len(sizes) == -(-count // 1024)
    assert max(sizes) - min(sizes) < len(sizes)


@all_views
def test_there_and_back(on, api, view):
    array = from_host(view, 0, 7, on=on)
    np.testing.assert_array_equal(to_host(array, on=on), view)
    assert view.size < 1024 or len(api.called("cuMemcpyHtoDAsync")) > 1


@all_views
def test_into_every_second_element(on, view):
    wide = np.full((*view.shape, 2), -1, "float32")
    array = from_host(view, 0, 7, on=on)
    to_host(array, wide[..., 0], on=on)
    np.testing.assert_array_equal(wide[..., 0], view)
    assert (wide[..., 1] == -1).all()


def test_elements_may_be_transformed_on_the_way(on):
    values = np.arange(5000) + 1j
    array = empty_like(values, 0, 7, on=on)
    memory.send(values, array, lambda target, source: np.conjugate(source, out=target), on=on)
    np.testing.assert_array_equal(to_host(array, on=on), values.conj())
    found = np.empty_like(values)
    transfer = memory.receive(array, found, lambda to, of: np.negative(of, out=to), on=on)
    transfer.wait()
    np.testing.assert_array_equal(found, -values.conj())


@all_views
def test_a_buffer_is_used_again_when_its_copy_is_done(on, api, view):
    """The stand-in copies as late as it may, so that a buffer filled too early shows."""
    api.lazy = True
    array = from_host(view, 0, 7, on=on)
    np.testing.assert_array_equal(to_host(array, on=on), view)


def test_the_way_down_waits_for_the_work_in_the_arrays_stream(on, api):
    values = np.arange(20_000.0)
    array = from_host(values, 0, 7, on=on)
    api.lazy = True
    later = on.allocate_pinned(values.nbytes)
    on.copy_to_device(array.address, later, values.nbytes, 7)
    assert not to_host(array, on=on).any()


def test_both_ways_at_once(on, api):
    api.lazy = True
    values = np.arange(20_000.0)
    first = from_host(values, 0, 7, on=on)
    found = np.empty_like(values)
    transfer = memory.receive(first, found, on=on)
    second = from_host(-values, 0, 7, on=on)
    transfer.wait()
    np.testing.assert_array_equal(found, values)
    np.testing.assert_array_equal(to_host(second, on=on), -values)


def test_the_copies_have_a_stream_of_their_own_in_order_with_the_callers(on, api):
    array = from_host(BLOCK, 0, 7, on=on)
    up, down = link(on, 0).up.stream, link(on, 0).down.stream
    waits = [(stream, api._recorded[event]) for stream, event, _ in api.called("cuStreamWaitEvent")]
    assert waits == [(up, 7), (7, up)]
    to_host(array, on=on)
    assert {stream for *_, stream in api.called("cuMemcpyHtoDAsync")} == {up}
    assert {stream for *_, stream in api.called("cuMemcpyDtoHAsync")} == {down}
    assert api.called("cuStreamCreate") == [[1], [1]]  # neither waits for the legacy stream
    assert up != down


def test_memory_is_pinned_once(on, api):
    for _ in range(5):
        to_host(from_host(BLOCK, 0, 7, on=on), on=on)
    # once for each direction: two threads with two buffers each
    assert api.called("cuMemAllocHost") == [[2 * 2 * 4 * KIB]] * 2


def test_nothing_is_pinned_where_an_event_cannot_be_made(on, api):
    """It would stay pinned, out of reach, and the next call would pin as much again."""
    array = empty_like(BLOCK, 0, 7, on=on)
    link(on, 0)
    api.failing["cuEventCreate"] = 700
    for _ in range(2):
        with pytest.raises(CudaError, match="cuEventCreate"):
            memory.send(BLOCK, array, wait=False, on=on)
    assert api.called("cuMemAllocHost") == []


def test_no_event_is_left_behind(on, api):
    def kept():
        return len(api.called("cuEventCreate")) - len(api.called("cuEventDestroy"))

    for _ in range(5):
        to_host(from_host(BLOCK, 0, 7, on=on), on=on)
    assert kept() == 2 * 2 * 2  # directions, threads, buffers of each


def test_small_arrays_are_left_to_the_driver(fake_driver, api):
    array = from_host(BLOCK[0, ::2], 0, 7, on=fake_driver)
    np.testing.assert_array_equal(to_host(array, on=fake_driver), BLOCK[0, ::2])
    assert [stream for *_, stream in api.called("cuMemcpyHtoDAsync")] == [7]
    assert api.pinned == []


def test_where_nothing_can_be_pinned_ordinary_memory_serves(on, api):
    api.failing["cuMemAllocHost"] = 2
    array = from_host(BLOCK, 0, 7, on=on)
    np.testing.assert_array_equal(to_host(array, on=on), BLOCK)
    assert api.pinned == []


def test_memory_is_pinned_while_another_stream_is_captured(on, api):
    api.captures[9] = 41
    array = from_host(BLOCK, 0, 7, on=on)
    np.testing.assert_array_equal(to_host(array, on=on), BLOCK)


@pytest.mark.parametrize(
    "function", ["cuMemAllocHost", "cuMemcpyHtoDAsync", "cuEventRecord", "cuEventSynchronize"]
)
def test_an_error_of_the_driver_on_the_way_up_arrives(on, api, function):
    api.failing[function] = 700
    with pytest.raises(CudaError, match=function):
        from_host(BLOCK, 0, 7, on=on)
    api.failing.clear()
    array = from_host(BLOCK, 0, 7, on=on)
    np.testing.assert_array_equal(to_host(array, on=on), BLOCK)


@pytest.mark.parametrize(
    "function", ["cuMemAllocHost", "cuMemcpyDtoHAsync", "cuEventRecord", "cuEventSynchronize"]
)
def test_an_error_of_the_driver_on_the_way_down_arrives(on, api, function):
    array = from_host(BLOCK, 0, 7, on=on)
    api.failing[function] = 700
    with pytest.raises(CudaError, match=function):
        to_host(array, on=on)
    api.failing.clear()
    np.testing.assert_array_equal(to_host(array, on=on), BLOCK)


def test_an_error_of_a_thread_arrives_and_the_others_stop(on):
    """The memory may be used again at once: no thread copies any more."""
    called = []

    def copy(target, source):
        called.append(None)
        if len(called) == 5:
            raise KeyError("the fifth")
        np.copyto(target, source)

    values = np.arange(1_000_000.0)
    array = empty_like(values, 0, 7, on=on)
    with pytest.raises(KeyError, match="the fifth"):
        memory.send(values, array, copy, on=on)
    until = len(called)
    assert until < 10
    called.clear()
    with pytest.raises(KeyError, match="the fifth"):
        memory.receive(array, np.empty_like(values), copy, on=on).wait()
    assert len(called) < 10


def test_after_a_failure_the_callers_stream_still_waits_for_the_copies(on, api):
    api.failing["cuMemcpyHtoDAsync"] = 700
    with pytest.raises(CudaError):
        from_host(BLOCK, 0, 7, on=on)
    waits = [stream for stream, *_ in api.called("cuStreamWaitEvent")]
    assert waits == [link(on, 0).up.stream, 7]


def test_an_interrupted_wait_ends_when_the_threads_have_stopped(on, monkeypatch):
    waited = []

    def interrupted(workers):
        waited.append(real(workers))
        if len(waited) == 1:
            raise KeyboardInterrupt

    real = pinned.wait
    values = np.arange(100_000.0)
    array = from_host(values, 0, 7, on=on)
    transfer = memory.receive(array, np.empty_like(values), on=on)
    monkeypatch.setattr(pinned, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        transfer.wait()
    assert len(waited) == 2


def test_without_more_threads_the_callers_own_copies(on, monkeypatch):
    def no_more(self, *arguments):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(pinned.ThreadPoolExecutor, "submit", no_more)
    array = from_host(BLOCK, 0, 7, on=on)
    np.testing.assert_array_equal(to_host(array, on=on), BLOCK)


def test_work_that_was_queued_without_a_thread_for_it_is_not_done_later(on, api, monkeypatch):
    """The array may be gone by then, as the event is that says when the device is ready."""
    queued = []

    def no_thread(self, *work):
        queued.append(work)
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(pinned.ThreadPoolExecutor, "submit", no_thread)
    values = np.arange(5000.0)
    np.testing.assert_array_equal(to_host(from_host(values, 0, 7, on=on), on=on), values)
    api.calls.clear()
    for function, *arguments in queued:
        function(*arguments)
    assert len(queued) == 2
    assert api.calls == []


def test_many_threads_at_once(on, api):
    api.lazy = True
    wrong: list[int] = []

    def work(number):
        values = np.arange(20_000.0) * number
        with link(on, 0).stream() as stream:
            for _ in range(5):
                array = from_host(values, 0, stream.handle, on=on)
                if not np.array_equal(to_host(array, on=on), values):
                    wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_stream_is_lent_to_one_at_a_time(on):
    with link(on, 0).stream() as first, link(on, 0).stream() as second:
        assert first.handle != second.handle
    with link(on, 0).stream() as again:
        assert again.handle in (first.handle, second.handle)
    assert again.__cuda_stream__() == (0, again.handle)


def test_each_device_has_a_link_of_its_own(on):
    assert link(on, 0) is link(on, 0)
    assert link(on, 0) is not link(on, 1)


def test_a_child_that_lost_cuda_is_refused_at_once(on, monkeypatch):
    array = from_host(BLOCK, 0, 7, on=on)
    monkeypatch.setattr(fork_guard, "lost", True)
    with pytest.raises(RuntimeError, match="fork"):
        link(on, 0)
    with pytest.raises(RuntimeError, match="fork"):
        from_host(BLOCK, 0, 7, on=on)
    with pytest.raises(RuntimeError, match="fork"):
        to_host(array, on=on)
