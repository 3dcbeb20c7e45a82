"""What is written beside a measurement: names, versions, clocks."""

import numpy as np
import pytest

from tileblas.lab import environment, gauges
from tileblas.lab.environment import columns, cores, cpu_name, package_version, scipy_blas
from tileblas.lab.gauges import Gauge, Reading, find_gauge


def test_versions_are_read_without_importing():
    assert package_version("numpy") == np.__version__
    assert package_version("no-such-package") == ""


def test_this_machine_has_a_name():
    assert cores() >= 1
    assert cpu_name().endswith(f"{cores()} cores")
    assert scipy_blas()


def test_columns_of_the_host():
    found = columns(on_device=False)
    assert found["device"] == cpu_name()
    assert found["driver"] == found["cuda"] == ""
    assert {"date", "tileblas", "python", "numpy", "scipy", "triton", "cuda_core"} <= set(found)


def test_no_device_is_a_reason(monkeypatch):
    class NoDevice:
        def device_count(self):
            return 0

    monkeypatch.setattr(environment, "driver", NoDevice)
    assert "no device" in environment.why_no_gpu()
    assert environment.gpus() == []


class FakeNvml:
    """The five functions of NVML that a gauge calls."""

    status = 0

    def __init__(self, name):
        pass

    def nvmlInit_v2(self):
        return self.status

    def nvmlDeviceGetHandleByPciBusId_v2(self, bus_id, handle):
        assert bus_id == b"0000:01:00.0"
        return 0

    def nvmlDeviceGetClockInfo(self, device, kind, clock):
        assert kind == 1
        clock._obj.value = 1980
        return 0

    def nvmlDeviceGetPowerUsage(self, device, power):
        power._obj.value = 345_600
        return 0

    def nvmlSystemGetDriverVersion(self, text, length):
        assert length.value == len(text)
        text.value = b"580.159.04"
        return 0


def test_a_gauge_reads_clock_power_and_driver(monkeypatch):
    monkeypatch.setattr(gauges.ctypes, "CDLL", FakeNvml)
    gauge = find_gauge("0000:01:00.0")
    assert gauge.read() == Reading(sm_mhz=1980, watts=345.6)
    assert gauge.driver_version() == "580.159.04"


def test_without_nvml_there_is_no_gauge(monkeypatch):
    def missing(name):
        raise OSError("no such library")

    monkeypatch.setattr(gauges.ctypes, "CDLL", missing)
    assert find_gauge("0000:01:00.0") is None


def test_an_nvml_that_refuses_gives_no_gauge(monkeypatch):
    monkeypatch.setattr(FakeNvml, "status", 9)
    monkeypatch.setattr(gauges.ctypes, "CDLL", FakeNvml)
    assert find_gauge("0000:01:00.0") is None
    with pytest.raises(OSError, match="NVML status 9"):
        Gauge("0000:01:00.0")
