"""One GPU as measuring sees it: memory to overwrite, timed events, facts to report with times."""

from __future__ import annotations

from typing import Any

import numpy as np

from tileblas.runtime.driver import LEGACY_STREAM, Driver, driver


class Device:
    """The first CUDA device, its primary context current in this thread from now on."""

    _ORDINAL = 0

    def __init__(self) -> None:
        self._driver: Driver = driver()
        self._driver.call("cuCtxSetCurrent", self._driver.context(self._ORDINAL))

    def allocate(self, size: int) -> int:
        """Memory for as long as the process lives."""
        return int(self._driver.call("cuMemAlloc", size))

    def read(self, pointer: int, size: int, stream: int) -> bytes:
        """Bytes of device memory, once the work queued on `stream` is done; from any thread."""
        host = np.empty(size, np.uint8)
        with self._driver.current(self._ORDINAL):
            self._driver.copy_to_host(host.ctypes.data, pointer, size, stream)
            self._driver.synchronize(stream)
        return host.tobytes()

    def fill(self, pointer: int, size: int, stream: int) -> None:
        self._driver.call("cuMemsetD8Async", pointer, 0, size, stream or LEGACY_STREAM)

    def copy(self, target: int, source: int, size: int, stream: int) -> None:
        self._driver.call("cuMemcpyDtoDAsync", target, source, size, stream or LEGACY_STREAM)

    def event(self) -> Any:
        flag = self._driver.api.CUevent_flags.CU_EVENT_DEFAULT
        return self._driver.call("cuEventCreate", int(flag))

    def record(self, event: Any, stream: int) -> None:
        self._driver.call("cuEventRecord", event, stream or LEGACY_STREAM)

    def seconds_between(self, start: Any, stop: Any) -> float:
        return self._driver.call("cuEventElapsedTime", start, stop) * 1e-3

    def synchronize(self, stream: int) -> None:
        self._driver.synchronize(stream)


def bus_id(ordinal: int = 0) -> str:
    """A device's address on the PCI bus, by which NVML finds it."""
    handle = driver().call("cuDeviceGet", ordinal)
    text = driver().call("cuDeviceGetPCIBusId", 32, handle)
    return text.split(b"\0")[0].decode()


def cuda_version() -> str:
    """The newest CUDA that the installed driver supports."""
    version = driver().call("cuDriverGetVersion")
    return f"{version // 1000}.{version % 1000 // 10}"
