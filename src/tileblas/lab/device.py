"""The few CUDA driver calls that measuring needs: memory, fills, events, and the GPU's own facts."""

from __future__ import annotations

from typing import Any

import numpy as np


class Driver:
    """Driver calls on one device, its primary context current in the calling thread."""

    def __init__(self, ordinal: int = 0) -> None:
        from cuda.bindings import driver

        self._driver = driver
        self._call(driver.cuInit(0))
        self.device = self._call(driver.cuDeviceGet(ordinal))
        self._context = self._call(driver.cuDevicePrimaryCtxRetain(self.device))
        self._call(driver.cuCtxSetCurrent(self._context))

    def _call(self, answer: tuple) -> Any:
        status, *values = answer
        if status != self._driver.CUresult.CUDA_SUCCESS:
            _, name = self._driver.cuGetErrorName(status)
            raise RuntimeError(f"CUDA driver: {name.decode() if name else status}")
        return values[0] if values else None

    def allocate(self, size: int) -> int:
        return int(self._call(self._driver.cuMemAlloc(size)))

    def free(self, pointer: int) -> None:
        self._call(self._driver.cuMemFree(pointer))

    def fill(self, pointer: int, size: int, stream: int) -> None:
        self._call(self._driver.cuMemsetD8Async(pointer, 0, size, stream))

    def copy(self, target: int, source: int, size: int, stream: int) -> None:
        self._call(self._driver.cuMemcpyDtoDAsync(target, source, size, stream))

    def read(self, pointer: int, size: int) -> bytes:
        """Bytes of device memory; the host waits for the copy, not for work queued elsewhere."""
        host = np.empty(size, np.uint8)
        self._call(self._driver.cuMemcpyDtoH(host.ctypes.data, pointer, size))
        return host.tobytes()

    def event(self) -> Any:
        return self._call(
            self._driver.cuEventCreate(self._driver.CUevent_flags.CU_EVENT_DEFAULT.value)
        )

    def record(self, event: Any, stream: int) -> None:
        self._call(self._driver.cuEventRecord(event, stream))

    def seconds_between(self, start: Any, stop: Any) -> float:
        return self._call(self._driver.cuEventElapsedTime(start, stop)) * 1e-3

    def destroy(self, event: Any) -> None:
        self._call(self._driver.cuEventDestroy(event))

    def synchronize(self, stream: int) -> None:
        self._call(self._driver.cuStreamSynchronize(stream))

    def name(self) -> str:
        return self._call(self._driver.cuDeviceGetName(128, self.device)).split(b"\0")[0].decode()

    def bus_id(self) -> str:
        return (
            self._call(self._driver.cuDeviceGetPCIBusId(32, self.device)).split(b"\0")[0].decode()
        )

    def capability(self) -> tuple[int, int]:
        kind = self._driver.CUdevice_attribute
        return tuple(
            self._call(self._driver.cuDeviceGetAttribute(attribute, self.device))
            for attribute in (
                kind.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                kind.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
            )
        )

    def memory(self) -> int:
        """Bytes of memory on the device."""
        return int(self._call(self._driver.cuDeviceTotalMem(self.device)))

    def cuda_version(self) -> str:
        """The newest CUDA that the installed driver supports."""
        version = self._call(self._driver.cuDriverGetVersion())
        return f"{version // 1000}.{version % 1000 // 10}"
