"""Copies between NumPy arrays and a device through pinned buffers that several threads fill.

A copy from or to ordinary memory goes through the driver's own buffers, by one thread, at a quarter
of the link's rate or less. Here the array is cut into chunks; each thread copies chunks between the
array and pinned buffers of its own, and the copy engine moves them while the thread is at the next
one. Pages that are touched for the first time, gaps and lazy bits cost the threads the same.

    Link            a device's two lanes, and streams to compute on
    Lane            one direction: a stream, threads, two pinned buffers for each of them
    Transfer        the chunks of one array on their way
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import itertools
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from math import prod
from queue import SimpleQueue
from typing import Any

import numpy as np

from tileblas.core.processor import cores
from tileblas.runtime import fork, log
from tileblas.runtime.driver import Driver

# One core copies about 8 GB/s, so that eight of them keep up with a link of 55 GB/s.
MOST_THREADS = 8

# A chunk takes the link 75 us: several times what a thread spends in Python on it. With two buffers
# for each thread, 64 MiB a direction are pinned at the most: that takes 40 ms, once.
BUFFER_BYTES = 4 << 20

# Smaller arrays are cut so that every thread has chunks, but not into smaller ones than this.
_LEAST_CHUNK = 256 << 10

#: Arrays below this size are copied by the driver: waking threads would take longer. On an H200
#: host 16 MiB went at 14 GB/s that way and at 8 through the threads, 64 MiB at 7 and at 20.
DIRECT_BYTES = 32 << 20

Copy = Callable[[np.ndarray, np.ndarray], Any]  # (target, source) of one shape
Chunk = tuple[int, np.ndarray]  # offset in device memory, elements of the NumPy array


def chunks(array: np.ndarray, nbytes: int) -> Iterator[Chunk]:
    """Parts of an array in C order, of at most `nbytes` each and about as large.

    Each comes with the bytes before it, which is where it lies in a dense copy.
    """
    if array.flags.c_contiguous:
        array = array.reshape(-1)
    limit = max(1, nbytes // array.itemsize)
    axis = next(i for i in range(array.ndim) if prod(array.shape[i + 1 :]) <= limit)
    length = array.shape[axis]
    pieces = -(-length // max(1, limit // prod(array.shape[axis + 1 :])))
    step = -(-length // pieces)
    offset = 0
    for outer in np.ndindex(array.shape[:axis]):
        for start in range(0, length, step):
            part = array[(*outer, slice(start, start + step))]
            yield offset, part
            offset += part.nbytes


class Buffer:
    """A piece of pinned memory, and the event that passes when the link is done with it."""

    def __init__(self, memory: np.ndarray, event: Any) -> None:
        self._bytes, self.event = memory, event
        self.address = memory.ctypes.data

    def like(self, part: np.ndarray) -> np.ndarray:
        """The head of the buffer as a C-ordered array of the shape and type of `part`."""
        return self._bytes[: part.nbytes].view(part.dtype).reshape(part.shape)


Pair = tuple[Buffer, Buffer]  # what a thread works with: one is filled, one is on the link
Work = Callable[[Pair, deque[Chunk]], None]


def _pinned(on: Driver, nbytes: int) -> np.ndarray:
    """Pinned memory as bytes, kept for good.

    Where none can be had it is ordinary memory: the driver then copies that once more, and
    everything else stays the same.
    """
    try:
        address = on.allocate_pinned(nbytes)
    except MemoryError as error:
        log.once("pinned", str(error))
        return np.empty(nbytes, np.uint8)
    return np.ctypeslib.as_array((ctypes.c_uint8 * nbytes).from_address(address))


class Transfer:
    """The chunks of one array on their way; `wait`, once, until all have arrived.

    Without workers everything is there already. `keep` lives as long: the device memory's owner.
    """

    keep: Any = None

    def __init__(self, pending: deque[Chunk] | None = None, workers: Sequence[Future] = ()) -> None:
        self._pending, self._workers = deque() if pending is None else pending, workers
        self._ended = contextlib.ExitStack()

    def wait(self) -> None:
        """Return when no thread touches the array any more; raise what a thread has raised.

        An exception of the waiting thread itself (Ctrl-C) leaves the other chunks uncopied.
        """
        with self._ended:
            try:
                wait(self._workers)
            except BaseException:
                self._pending.clear()
                wait(self._workers)
                raise
            for worker in self._workers:
                worker.result()

    def at_end(self, call: Callable[..., Any], *arguments: Any) -> Transfer:
        """Have something called when `wait` is over."""
        self._ended.callback(call, *arguments)
        return self


class Lane:
    """One direction between the host and a device. Any number of threads may use it at once."""

    def __init__(self, on: Driver, device: int) -> None:
        self._on, self._device = on, device
        self._threads = min(MOST_THREADS, cores())
        self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="tileblas-copy")
        self._pairs: SimpleQueue[Pair] | None = None
        self._pinning = threading.Lock()
        with on.relaxed(), on.current(device):
            self.stream = on.new_stream()

    def send(self, address: int, source: np.ndarray, copy: Copy = np.copyto) -> None:
        """Copy to dense device memory, in C order; returns when `source` has been read.

        The copies are queued on the lane's stream, which the caller orders with others.
        """
        self._start(source, functools.partial(self._send, address, copy)).wait()

    def receive(
        self, target: np.ndarray, address: int, stream: int, copy: Copy = np.copyto
    ) -> Transfer:
        """Start to copy from dense device memory, in C order, once the work in `stream` is done.

        The memory must live until the transfer is over. The threads wait for the work, not the
        lane's stream: it stays free for chunks of transfers that are ready.
        """
        with self._on.relaxed(), self._on.current(self._device):
            ready = self._on.new_event()
            self._on.record(ready, stream)
        work = functools.partial(self._receive, address, copy, ready)
        return self._start(target, work).at_end(self._on.call, "cuEventDestroy", ready)

    def _start(self, array: np.ndarray, work: Work) -> Transfer:
        share = -(-array.nbytes // (2 * self._threads))
        pending = deque(chunks(array, min(max(share, _LEAST_CHUNK), BUFFER_BYTES)))
        workers: list[Future] = []
        try:
            for _ in range(min(self._threads, len(pending))):
                workers.append(Future())
                self._pool.submit(_fulfil, workers[-1], self._run, work, pending)
        except RuntimeError:  # no more threads: the process ends, or has too many
            # The pool may have queued the work all the same, and another thread have begun it.
            if workers[-1].cancel():
                workers.pop()
            workers.append(Future())
            _fulfil(workers[-1], self._run, work, pending)
        return Transfer(pending, workers)

    def _run(self, work: Work, pending: deque[Chunk]) -> None:
        """In a thread: copy chunks until none is left, or until something fails."""
        try:
            # Pinning memory and waiting for events must not end a capture of another thread.
            with self._on.relaxed(), self._on.current(self._device):
                free = self._free_pairs()
                pair = free.get()
                try:
                    work(pair, pending)
                finally:
                    free.put(pair)
        except BaseException:
            pending.clear()  # the other threads need not go on
            raise

    def _free_pairs(self) -> SimpleQueue[Pair]:
        """The buffers that no thread has, pinned all at once, since pinning may hold up the GPU."""
        with self._pinning:
            if self._pairs is None:
                on, count = self._on, 2 * self._threads
                events = [on.new_event() for _ in range(count)]  # first: pinned memory stays pinned
                memory = _pinned(on, BUFFER_BYTES * count).reshape(count, BUFFER_BYTES)
                buffers = [Buffer(row, event) for row, event in zip(memory, events, strict=True)]
                pairs: SimpleQueue[Pair] = SimpleQueue()
                for pair in zip(buffers[::2], buffers[1::2], strict=True):
                    pairs.put(pair)
                self._pairs = pairs
        return self._pairs

    def _send(self, address: int, copy: Copy, pair: Pair, pending: deque[Chunk]) -> None:
        on = self._on
        for buffer in itertools.cycle(pair):
            chunk = _next(pending)
            if chunk is None:
                return
            offset, part = chunk
            on.wait(buffer.event)  # its last chunk is on the device
            copy(buffer.like(part), part)
            on.copy_to_device(address + offset, buffer.address, part.nbytes, self.stream)
            on.record(buffer.event, self.stream)

    def _receive(
        self, address: int, copy: Copy, ready: Any, pair: Pair, pending: deque[Chunk]
    ) -> None:
        on = self._on
        on.wait(ready)
        coming: tuple[Buffer, np.ndarray] | None = None
        try:
            for buffer in itertools.cycle(pair):
                chunk = _next(pending)
                if chunk is not None:
                    offset, part = chunk
                    on.copy_to_host(buffer.address, address + offset, part.nbytes, self.stream)
                    on.record(buffer.event, self.stream)
                if coming is not None:  # the chunk before, while this one is on the link
                    arrived, target = coming
                    on.wait(arrived.event)
                    copy(target, arrived.like(target))
                if chunk is None:
                    return
                coming = buffer, part
        finally:
            for buffer in pair:  # after a failure too: nothing is read after the transfer
                on.wait(buffer.event)


def _fulfil(promise: Future, function: Callable[..., Any], *arguments: Any) -> None:
    """Call the function, unless the promise was cancelled, and keep what it gives or raises."""
    if not promise.set_running_or_notify_cancel():
        return
    try:
        promise.set_result(function(*arguments))
    except BaseException as error:
        promise.set_exception(error)
        del promise  # else it and the error, whose traceback has this frame, keep each other alive


def _next(pending: deque[Chunk]) -> Chunk | None:
    try:
        return pending.popleft()
    except IndexError:
        return None


class ComputeStream:
    """A stream of our own, as `stream=` takes it; it lives as long as the process."""

    def __init__(self, handle: int) -> None:
        self.handle = handle

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.handle


class Link:
    """What stands between the host and one device: a lane up, a lane down, streams to compute on.

    All of these streams leave the legacy stream alone, and are left alone by it.
    """

    def __init__(self, on: Driver, device: int) -> None:
        self._on, self._device = on, device
        self.up, self.down = Lane(on, device), Lane(on, device)
        self._idle: list[ComputeStream] = []

    @contextlib.contextmanager
    def stream(self) -> Iterator[ComputeStream]:
        """A stream that no other thread uses inside the block."""
        try:
            stream = self._idle.pop()
        except IndexError:
            with self._on.relaxed(), self._on.current(self._device):
                stream = ComputeStream(self._on.new_stream())
        try:
            yield stream
        finally:
            self._idle.append(stream)


_links: dict[tuple[Driver, int], Link] = {}
_making = threading.Lock()


def link(on: Driver, device: int) -> Link:
    """The link of a device, made at its first use. A forked child gets RuntimeError, as always."""
    fork.check()
    found = _links.get((on, device))
    if found is None:
        with _making:
            found = _links.get((on, device)) or Link(on, device)
            _links[on, device] = found
    return found
