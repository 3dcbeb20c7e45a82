"""The GPU's clock, power and driver version, read from NVML by ctypes where NVML is present."""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass

_SM_CLOCK = 1  # nvmlClockType_t


@dataclass(frozen=True)
class Reading:
    """The clock of the multiprocessors and the board's power at one moment."""

    sm_mhz: int
    watts: float


class Gauge:
    """Reads one GPU, found by its PCI bus id."""

    def __init__(self, bus_id: str) -> None:
        self._nvml = ctypes.CDLL("nvml.dll" if sys.platform == "win32" else "libnvidia-ml.so.1")
        self._device = ctypes.c_void_p()
        self._check(self._nvml.nvmlInit_v2())
        self._check(
            self._nvml.nvmlDeviceGetHandleByPciBusId_v2(bus_id.encode(), ctypes.byref(self._device))
        )

    @staticmethod
    def _check(status: int) -> None:
        if status:
            raise OSError(f"NVML status {status}")

    def read(self) -> Reading:
        clock, power = ctypes.c_uint(), ctypes.c_uint()
        self._check(self._nvml.nvmlDeviceGetClockInfo(self._device, _SM_CLOCK, ctypes.byref(clock)))
        self._check(self._nvml.nvmlDeviceGetPowerUsage(self._device, ctypes.byref(power)))
        return Reading(clock.value, power.value / 1000)

    def driver_version(self) -> str:
        text = ctypes.create_string_buffer(80)
        self._check(self._nvml.nvmlSystemGetDriverVersion(text, ctypes.c_uint(len(text))))
        return text.value.decode()


def find_gauge(bus_id: str) -> Gauge | None:
    """The gauge of a GPU, or None where NVML or this reading is not offered."""
    try:
        gauge = Gauge(bus_id)
        gauge.read()
    except (OSError, AttributeError):
        return None
    return gauge
