"""Who shares a workspace, how it grows, and when its memory goes."""

import threading
import time

import pytest

from tileblas.runtime import workspace
from tileblas.runtime.workspace import COUNTERS, OWNED_STREAMS, PARTIAL_BYTES, Workspaces


class Owner:
    """Stands for the stream object of a library."""


@pytest.fixture
def spaces(fake_driver) -> Workspaces:
    return Workspaces(fake_driver)


def take(spaces, stream=7, partial_bytes=64, counters=4, device=0, owner=None):
    """Acquire and release, as a launch does; the workspace."""
    space = spaces.acquire(device, stream, owner, partial_bytes, counters)
    space.release()
    return space


def test_one_stream_shares(spaces):
    assert take(spaces) is take(spaces)


@pytest.mark.parametrize("other", [{"stream": 8}, {"device": 1}])
def test_other_streams_and_devices_do_not(spaces, other):
    assert take(spaces) is not take(spaces, **other)


def test_both_names_of_the_default_stream_share(spaces):
    assert take(spaces, stream=0) is take(spaces, stream=1)


def test_threads_share_a_stream_but_not_their_default_streams(spaces):
    found = {}

    def work():
        found["named"] = take(spaces, stream=7)
        found["default"] = take(spaces, stream=2)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found["named"] is take(spaces, stream=7)
    assert found["default"] is not take(spaces, stream=2)


def test_a_later_thread_never_gets_the_workspace_of_an_ended_one(spaces):
    found = []
    for _ in range(3):  # thread identifiers are used again at once
        thread = threading.Thread(target=lambda: found.append(take(spaces, stream=2)))
        thread.start()
        thread.join()
    assert len({id(space) for space in found}) == 3


def test_counters_are_zero_and_zeroed_once(spaces, api):
    space = take(spaces)
    take(spaces)
    assert api.words(space.arrived, space.counters) == [0] * COUNTERS
    assert len(api.called("cuMemsetD32Async")) == 1


def test_partial_is_aligned_and_inside(spaces, api):
    space = take(spaces, counters=COUNTERS + 1)
    assert (space.partial - space.arrived) % 256 == 0
    assert space.partial >= space.arrived + 4 * space.counters
    assert len(api.blocks[space.arrived]) == space.partial - space.arrived + space.partial_bytes


@pytest.mark.parametrize("more", [{"partial_bytes": PARTIAL_BYTES + 1}, {"counters": 2 * COUNTERS}])
def test_it_grows_and_the_former_is_freed_in_stream_order(spaces, api, more):
    small = take(spaces)
    large = take(spaces, **more)
    assert large.partial_bytes >= PARTIAL_BYTES * 3 // 2
    assert large.counters >= (COUNTERS * 3 // 2 if "partial_bytes" in more else 2 * COUNTERS)
    assert take(spaces) is large, "it does not shrink"
    assert api.called("cuMemFreeAsync") == [[small.arrived, 7]]
    assert api.words(large.arrived, large.counters) == [0] * large.counters


def test_what_a_thread_is_about_to_use_is_not_freed(spaces, api):
    held = spaces.acquire(0, 7, None, 64, 4)
    take(spaces, partial_bytes=2 * PARTIAL_BYTES)
    assert held.arrived in api.blocks
    held.release()
    take(spaces, stream=8)
    assert held.arrived not in api.blocks


def test_a_replacement_between_lookup_and_use_is_noticed(spaces, monkeypatch):
    """Another thread replaces the workspace just after it was looked up."""
    take(spaces)
    fits = workspace.Workspace.fits

    def slow_fits(space, partial_bytes, counters):
        result = fits(space, partial_bytes, counters)
        monkeypatch.setattr(workspace.Workspace, "fits", fits)
        take(spaces, partial_bytes=2 * PARTIAL_BYTES)
        return result

    monkeypatch.setattr(workspace.Workspace, "fits", slow_fits)
    space = spaces.acquire(0, 7, None, 64, 4)
    assert space is take(spaces)
    assert space.users == [None]


def test_threads_on_one_stream_never_hold_freed_memory(spaces, api):
    stop, wrong = time.monotonic() + 0.5, []

    def use(step):
        size = step
        while time.monotonic() < stop:
            size = size * 5 // 4 % (1 << 20) + step
            space = spaces.acquire(0, 7, None, size, 4)
            if space.arrived not in api.blocks or space.partial_bytes < size:
                wrong.append(space)
            space.release()

    threads = [threading.Thread(target=use, args=(step,)) for step in (1, 1000, 5000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_capture_has_its_own_of_the_size_it_asks(spaces, api):
    outside = take(spaces)
    api.captures[7] = 41
    first = take(spaces)
    api.captures[7] = 42
    second = take(spaces)
    del api.captures[7]
    assert len({outside.arrived, first.arrived, second.arrived}) == 3
    assert (first.partial_bytes, first.counters) == (64, 4)
    assert take(spaces) is outside


def test_streams_of_one_capture_do_not_share(spaces, api):
    """Branches of a graph may run at the same time."""
    api.captures.update({7: 41, 8: 41})
    assert take(spaces, stream=7) is not take(spaces, stream=8)


def test_a_captures_memory_is_ordinary_kept_and_zeroed_by_the_graph(spaces, api):
    api.captures[7] = 41
    small = take(spaces)
    take(spaces, partial_bytes=1 << 20)
    del api.captures[7]
    for stream in range(10, 20):
        take(spaces, stream=stream)
    assert small.arrived in api.blocks
    assert len(api.called("cuMemAlloc")) == 2
    assert api.called("cuMemFree") == []
    assert [stream for *_, stream in api.called("cuMemsetD32Async")][:2] == [7, 7]


def test_the_default_stream_is_not_asked_whether_it_is_captured(spaces, api):
    take(spaces, stream=1)
    assert api.called("cuStreamIsCapturing") == []


def test_an_owner_lives_as_long_as_its_workspace(spaces):
    owner = Owner()
    assert take(spaces, owner=owner).owner is owner


def test_the_oldest_owned_streams_go(spaces, api):
    default = take(spaces, stream=1)
    owned = [take(spaces, stream=100 + i, owner=Owner()) for i in range(OWNED_STREAMS + 2)]
    gone = [space for space in owned if space.arrived not in api.blocks]
    assert gone == owned[:2]
    assert api.called("cuMemFreeAsync") == [[space.arrived, space.stream] for space in gone]
    assert default.arrived in api.blocks


def test_a_stream_that_is_being_captured_is_not_asked_to_free(spaces, api):
    first = take(spaces, stream=100, owner=Owner())
    api.captures[100] = 41
    for i in range(1, OWNED_STREAMS + 2):
        take(spaces, stream=100 + i, owner=Owner())
    assert first.arrived in api.blocks
    del api.captures[100]
    take(spaces, stream=200)
    assert first.arrived not in api.blocks


def test_out_of_memory_names_the_bytes_and_leaves_nothing_behind(spaces, api):
    with pytest.raises(MemoryError, match=r"\d{9} bytes asked on cuda:0"):
        take(spaces, partial_bytes=1 << 28)
    assert take(spaces).partial_bytes == PARTIAL_BYTES


def test_one_registry_for_each_driver(fake_driver):
    assert workspace.workspaces(fake_driver) is workspace.workspaces(fake_driver)
