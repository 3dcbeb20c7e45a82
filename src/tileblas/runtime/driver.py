"""The CUDA driver: contexts, modules, memory, streams and events, with errors as exceptions.

Calls go through cuda.bindings.driver, the layer below cuda.core, because its names are CUDA's own
and have not moved between versions. It is imported at the first call of `driver()`.
"""

from __future__ import annotations

import functools
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tileblas.runtime import fork
from tileblas.runtime.target import Target, for_capability

LEGACY_STREAM = 1
PER_THREAD_STREAM = 2

_OUT_OF_MEMORY = 2
_NOT_INITIALIZED = 3
_NOT_READY = 600


class CudaError(RuntimeError):
    """A call of the CUDA driver failed; `code` is the CUresult."""

    def __init__(self, function: str, code: int, name: str, text: str) -> None:
        self.function, self.code, self.name, self.text = function, code, name, text
        super().__init__(f"{function}: {name} ({code}): {text}")


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """What plans need to know of a device."""

    name: str
    capability: tuple[int, int]
    multiprocessors: int
    shared_limit: int  # bytes of dynamic shared memory that one block may ask for
    l2_bytes: int
    memory_bytes: int

    @property
    def target(self) -> Target:
        return for_capability(*self.capability)


class Current:
    """Context manager: the primary context of a device is current inside, the former one after."""

    __slots__ = ("_context", "_driver", "_former")

    def __init__(self, driver: Driver, context: Any) -> None:
        self._driver, self._context, self._former = driver, context, None

    def __enter__(self) -> None:
        current = self._driver.call("cuCtxGetCurrent")
        if current != self._context:
            self._driver.call("cuCtxSetCurrent", self._context)
            self._former = current

    def __exit__(self, *exception: object) -> None:
        if self._former is not None:
            self._driver.call("cuCtxSetCurrent", self._former)


class Driver:
    """An initialised CUDA driver; `api` is cuda.bindings.driver or a stand-in for tests."""

    def __init__(self, api: Any) -> None:
        self.api = api
        self._contexts: dict[int, Any] = {}
        self._facts: dict[int, DeviceFacts] = {}
        self._pools: dict[int, bool] = {}
        self._lock = threading.RLock()
        try:
            self.call("cuInit", 0)
        except CudaError as error:
            if error.code == _NOT_INITIALIZED:  # another library used CUDA before a fork
                raise fork.error() from error
            raise
        fork.note_initialised()

    def call(self, name: str, *arguments: Any) -> Any:
        """Call a function of the driver: its one result, a tuple of several, or None."""
        fork.check()
        code, *results = getattr(self.api, name)(*arguments)
        if code:
            raise self.error(name, code)
        return results[0] if len(results) == 1 else tuple(results) or None

    def error(self, function: str, code: Any) -> CudaError:
        """The exception for a CUresult other than success."""
        name, text = self.api.cuGetErrorName(code)[1], self.api.cuGetErrorString(code)[1]
        return CudaError(function, int(code), _decoded(name), _decoded(text))

    # Devices and contexts

    def device_count(self) -> int:
        return self.call("cuDeviceGetCount")

    def facts(self, device: int) -> DeviceFacts:
        """Name, compute capability, size and limits of a device; read once."""
        facts = self._facts.get(device)
        if facts is None:
            facts = self._facts[device] = self._read_facts(device)
        return facts

    def _read_facts(self, device: int) -> DeviceFacts:
        handle = self.call("cuDeviceGet", device)
        kinds = self.api.CUdevice_attribute

        def attribute(name: str) -> int:
            return self.call(
                "cuDeviceGetAttribute", getattr(kinds, f"CU_DEVICE_ATTRIBUTE_{name}"), handle
            )

        return DeviceFacts(
            name=_decoded(self.call("cuDeviceGetName", 128, handle)).partition("\0")[0],
            capability=(
                attribute("COMPUTE_CAPABILITY_MAJOR"),
                attribute("COMPUTE_CAPABILITY_MINOR"),
            ),
            multiprocessors=attribute("MULTIPROCESSOR_COUNT"),
            shared_limit=attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"),
            l2_bytes=attribute("L2_CACHE_SIZE"),
            memory_bytes=self.call("cuDeviceTotalMem", handle),
        )

    def context(self, device: int) -> Any:
        """The primary context of a device: the one that torch, CuPy and JAX use. Kept for good."""
        context = self._contexts.get(device)
        if context is None:
            with self._lock:
                handle = self.call("cuDeviceGet", device)
                context = self._contexts.setdefault(
                    device, self.call("cuDevicePrimaryCtxRetain", handle)
                )
        return context

    def current(self, device: int) -> Current:
        """Context manager that makes the device's primary context current where it is not."""
        return Current(self, self.context(device))

    def device_of(self, address: int) -> int:
        """The ordinal of the device that owns an address."""
        kind = self.api.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        return int(self.call("cuPointerGetAttribute", kind, address))

    # Streams and capture

    @contextmanager
    def relaxed(self):
        """Inside, this thread may load modules and allocate while some stream is being captured."""
        mode = self.api.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        former = self.call("cuThreadExchangeStreamCaptureMode", mode)
        try:
            yield
        finally:
            self.call("cuThreadExchangeStreamCaptureMode", former)

    def capturing(self, stream: int) -> int:
        """The id of the graph capture that the stream takes part in, 0 if none."""
        if stream <= LEGACY_STREAM:  # the legacy stream cannot be captured
            return 0
        code, status = self.api.cuStreamIsCapturing(stream)
        if code:
            raise self.error("cuStreamIsCapturing", code)
        return int(self.call("cuStreamGetCaptureInfo", stream)[1]) if status else 0

    def record_wait(self, producer: int, consumer: int, device: int) -> None:
        """Work queued in `consumer` from now on waits for the work now in `producer`.

        The default streams have no device of their own: each belongs to the other one's, and both
        to `device`.
        """
        flag = self.api.CUevent_flags.CU_EVENT_DISABLE_TIMING
        named = max(producer, consumer)
        if named > PER_THREAD_STREAM:
            context = self.call("cuStreamGetCtx", named)
        else:
            context = self.context(device)
        with Current(self, context):
            event = self.call("cuEventCreate", int(flag))
            try:
                self.call("cuEventRecord", event, producer or LEGACY_STREAM)
                self.call("cuStreamWaitEvent", consumer or LEGACY_STREAM, event, 0)
            finally:
                self.call("cuEventDestroy", event)

    def mark(self, stream: int, device: int) -> Any:
        """An event that passes when the work now in the stream is done."""
        flag = self.api.CUevent_flags.CU_EVENT_DISABLE_TIMING
        with self.current(device):
            event = self.call("cuEventCreate", int(flag))
            self.call("cuEventRecord", event, stream or LEGACY_STREAM)
        return event

    def reached(self, event: Any) -> bool:
        """Whether a mark has passed; it is destroyed then."""
        with self.relaxed():  # a query would end a capture of another stream
            code, *_ = self.api.cuEventQuery(event)
        if int(code) == _NOT_READY:
            return False
        if code:
            raise self.error("cuEventQuery", code)
        self.call("cuEventDestroy", event)
        return True

    def synchronize(self, stream: int) -> None:
        """Wait until the stream is idle."""
        self.call("cuStreamSynchronize", stream or LEGACY_STREAM)

    # Streams and events of our own; the device must be current

    def new_stream(self) -> int:
        """A stream that does not wait for the legacy one, nor that one for it; kept for good."""
        flag = self.api.CUstream_flags.CU_STREAM_NON_BLOCKING
        return int(self.call("cuStreamCreate", int(flag)))

    def new_event(self) -> Any:
        """An event that a thread waits for asleep. It counts as passed until it is recorded."""
        flags = self.api.CUevent_flags
        chosen = int(flags.CU_EVENT_DISABLE_TIMING) | int(flags.CU_EVENT_BLOCKING_SYNC)
        return self.call("cuEventCreate", chosen)

    def record(self, event: Any, stream: int) -> None:
        """Have the event pass when the work now in the stream is done."""
        self.call("cuEventRecord", event, stream or LEGACY_STREAM)

    def wait(self, event: Any) -> None:
        """Hold this thread until the event has passed."""
        self.call("cuEventSynchronize", event)

    # Memory; the device must be current

    def allocate_pinned(self, nbytes: int) -> int:
        """Host memory that the device reads and writes itself; kept for good."""
        try:
            return int(self.call("cuMemAllocHost", nbytes))
        except CudaError as error:
            if error.code != _OUT_OF_MEMORY:
                raise
            raise MemoryError(f"out of memory: {nbytes} bytes could not be pinned") from None

    def allocate(self, nbytes: int, device: int, stream: int) -> tuple[int, bool]:
        """Device memory: its address, and whether it came from the stream-ordered pool.

        During a capture of the stream it is ordinary memory, so that it outlives the graph's run.
        """
        pooled = self._has_pools(device) and not self.capturing(stream)
        try:
            with self.relaxed():
                if pooled:
                    address = self.call("cuMemAllocAsync", nbytes, stream or LEGACY_STREAM)
                else:
                    address = self.call("cuMemAlloc", nbytes)
        except CudaError as error:
            if error.code != _OUT_OF_MEMORY:
                raise
            raise MemoryError(f"out of memory: {nbytes} bytes asked on cuda:{device}") from None
        return int(address), pooled

    def free(self, address: int, pooled: bool, stream: int) -> None:
        """Give memory back, in the order of the stream where it came from the pool."""
        with self.relaxed():
            if pooled:
                self.call("cuMemFreeAsync", address, stream or LEGACY_STREAM)
            else:
                self.call("cuMemFree", address)

    def _has_pools(self, device: int) -> bool:
        known = self._pools.get(device)
        if known is None:
            kind = self.api.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED
            handle = self.call("cuDeviceGet", device)
            known = self._pools[device] = bool(self.call("cuDeviceGetAttribute", kind, handle))
        return known

    def zero_words(self, address: int, count: int, stream: int) -> None:
        """Set `count` 32-bit words to zero, in the order of the stream."""
        self.call("cuMemsetD32Async", address, 0, count, stream or LEGACY_STREAM)

    def copy_to_device(self, address: int, host: int, nbytes: int, stream: int) -> None:
        self.call("cuMemcpyHtoDAsync", address, host, nbytes, stream or LEGACY_STREAM)

    def copy_on_device(self, target: int, source: int, nbytes: int, stream: int) -> None:
        self.call("cuMemcpyDtoDAsync", target, source, nbytes, stream or LEGACY_STREAM)

    def copy_to_host(self, host: int, address: int, nbytes: int, stream: int) -> None:
        self.call("cuMemcpyDtoHAsync", host, address, nbytes, stream or LEGACY_STREAM)


def _decoded(text: bytes | str) -> str:
    return text.decode(errors="replace") if isinstance(text, bytes) else text


@functools.cache
def _cached_driver() -> Driver:
    try:
        from cuda.bindings import driver as api
    except ImportError as error:
        raise RuntimeError(
            "the cuda backend needs cuda.bindings: pip install 'tileblas[cuda13]'"
        ) from error
    try:
        return Driver(api)
    except CudaError:
        raise
    except Exception as error:  # each version of the bindings reports a missing libcuda its own way
        raise RuntimeError(f"no CUDA driver on this machine: {error}") from error


def driver() -> Driver:
    """The driver of this process; RuntimeError without CUDA, or where a fork has lost it."""
    fork.check()
    return _cached_driver()


@functools.cache
def available() -> bool:
    """Whether this process can use a CUDA device; the first call imports cuda.bindings."""
    try:
        return driver().device_count() > 0
    except RuntimeError:
        return False
