"""Workspace: partial results and zeroed arrival counters, one for each stream that needs them.

Launches of one stream run in order, so they can share. What may run at the same time never shares:
each stream has its own, the per-thread default stream one a thread, and each graph capture one for
every stream that takes part in it.

A workspace that is too small is replaced by a larger one. It is freed in the order of its stream,
and only when no thread stands between taking it and launching with it. One that belongs to a
capture is kept for good, since the graph may be replayed at any time. A graph's runs follow each
other; two executables instantiated from one capture must not run at the same time.
"""

from __future__ import annotations

import functools
import itertools
import threading
from typing import Any

from tileblas.runtime.driver import LEGACY_STREAM, PER_THREAD_STREAM, Driver

# The smallest sizes, so that a stream rarely outgrows its workspace. A capture gets what it asks.
PARTIAL_BYTES = 1 << 18
COUNTERS = 1 << 10

# Streams whose owner is known are kept alive by their workspace; beyond this many the oldest go.
OWNED_STREAMS = 32

_COUNTER_BYTES = 4
_ALIGNMENT = 256

Key = tuple[int, int, int, int]  # device, stream, thread (per-thread default stream), capture


class Workspace:
    """Memory of one stream: `counters` zeroed int32 at `arrived`, then bytes at `partial`."""

    __slots__ = (
        "arrived",
        "counters",
        "device",
        "dirty",
        "owner",
        "partial",
        "partial_bytes",
        "pooled",
        "stream",
        "thread",
        "users",
    )

    def __init__(self, key: Key, owner: Any, partial_bytes: int, counters: int) -> None:
        self.device, self.stream, self.thread, _ = key
        self.owner = owner
        self.partial_bytes, self.counters = partial_bytes, counters
        self.arrived = self.partial = 0
        self.pooled = False
        self.dirty = True  # the counters are not known to be zero
        self.users: list[None] = []  # one entry for each thread that is about to launch with it

    def release(self) -> None:
        """The launch is queued: the memory may now be freed in the order of the stream."""
        self.users.pop()

    def fits(self, partial_bytes: int, counters: int) -> bool:
        return partial_bytes <= self.partial_bytes and counters <= self.counters and not self.dirty


class Workspaces:
    """All workspaces of a process."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self._spaces: dict[Key, Workspace] = {}
        self._retired: list[Workspace] = []
        self._changing = threading.RLock()
        self._thread = threading.local()
        self._numbers = itertools.count(1)

    def acquire(
        self, device: int, stream: int, owner: Any, partial_bytes: int, counters: int
    ) -> Workspace:
        """The stream's workspace, at least this large, counters zero; `release` it after launching.

        The device must be current. No lock is taken where it fits: the caller first marks the
        workspace as used, then looks whether it is still the stream's. Whoever replaces it does so
        in the other order, so one of the two sees the other.
        """
        key = self._key(device, stream)
        while True:
            space = self._spaces.get(key)
            if space is None or not space.fits(partial_bytes, counters):
                space = self._fitting(key, owner, partial_bytes, counters)
            space.users.append(None)
            if self._spaces.get(key) is space:
                return space
            space.release()

    def _key(self, device: int, stream: int) -> Key:
        thread = self._thread_number() if stream == PER_THREAD_STREAM else 0
        return device, stream or LEGACY_STREAM, thread, self.driver.capturing(stream)

    def _thread_number(self) -> int:
        """A number of this thread that no later thread gets, as thread identifiers can be."""
        try:
            return self._thread.number
        except AttributeError:
            self._thread.number = next(self._numbers)
            return self._thread.number

    def _fitting(self, key: Key, owner: Any, partial_bytes: int, counters: int) -> Workspace:
        with self._changing:
            space = self._spaces.get(key)
            if space is None or partial_bytes > space.partial_bytes or counters > space.counters:
                former, space = space, self._allocate(key, owner, partial_bytes, counters, space)
                self._spaces[key] = space
                if former is not None and not _captured(key):
                    self._retired.append(former)
                self._retire_oldest()
            if space.dirty:
                self.driver.zero_words(space.arrived, space.counters, space.stream)
                space.dirty = False
            self._free_retired()
            return space

    def _allocate(
        self, key: Key, owner: Any, partial_bytes: int, counters: int, former: Workspace | None
    ) -> Workspace:
        if not _captured(key):
            partial_bytes = max(partial_bytes, PARTIAL_BYTES)
            counters = max(counters, COUNTERS)
        if former is not None:  # growth by half at least, so that it ends soon
            partial_bytes = max(partial_bytes, former.partial_bytes * 3 // 2)
            counters = max(counters, former.counters * 3 // 2)
            owner = former.owner if owner is None else owner
        space = Workspace(key, owner, partial_bytes, counters)
        head = -(-counters * _COUNTER_BYTES // _ALIGNMENT) * _ALIGNMENT
        space.arrived, space.pooled = self.driver.allocate(
            head + partial_bytes, space.device, space.stream
        )
        space.partial = space.arrived + head
        return space

    def _retire_oldest(self) -> None:
        """Let go of the oldest owned streams where there are too many."""
        owned = [k for k, s in self._spaces.items() if s.owner is not None and not _captured(k)]
        for key in owned[: max(0, len(owned) - OWNED_STREAMS)]:
            self._retired.append(self._spaces.pop(key))

    def _free_retired(self) -> None:
        """Free what was replaced and is not about to be used."""
        waiting = []
        for space in self._retired:
            if self._freeable(space):
                with self.driver.current(space.device):
                    self.driver.free(space.arrived, space.pooled, space.stream)
            else:
                waiting.append(space)
        self._retired = waiting

    def _freeable(self, space: Workspace) -> bool:
        """No thread is about to launch with it, and here and now its stream can order the free."""
        if space.users or space.thread not in (0, self._thread_number()):
            return False
        return not self.driver.capturing(space.stream)


def _captured(key: Key) -> bool:
    return key[3] != 0


@functools.cache
def workspaces(driver: Driver) -> Workspaces:
    """The workspaces of this driver."""
    return Workspaces(driver)
