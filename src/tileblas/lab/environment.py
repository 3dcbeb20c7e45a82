"""What a measurement depends on, as columns of every CSV row: processor, GPU, driver, versions."""

from __future__ import annotations

import platform
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path

import numpy as np

import tileblas
from tileblas.core.processor import cores
from tileblas.lab.device import bus_id, cuda_version
from tileblas.lab.gauges import find_gauge
from tileblas.runtime.driver import DeviceFacts, driver

PACKAGES = ("numpy", "scipy", "triton", "cuda-core", "torch", "cupy")
_DISTRIBUTIONS = {"cupy": ("cupy-cuda13x", "cupy-cuda12x", "cupy")}


@dataclass(frozen=True)
class Gpu:
    """A CUDA device and the driver that serves it; `driver` is "" where NVML is absent."""

    facts: DeviceFacts
    driver: str
    cuda: str


def package_version(name: str) -> str:
    """The installed version of a package, without importing it; "" where it is absent."""
    for distribution in _DISTRIBUTIONS.get(name, (name,)):
        try:
            return metadata.version(distribution)
        except metadata.PackageNotFoundError:
            continue
    return ""


@cache
def cpu_name() -> str:
    """The processor's model and the number of cores that this process may use."""
    return f"{_cpu_model()}, {cores()} cores"


def _cpu_model() -> str:
    if sys.platform == "darwin":
        command = ["sysctl", "-n", "machdep.cpu.brand_string"]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    listing = Path("/proc/cpuinfo")
    if listing.exists():
        for line in listing.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def scipy_blas() -> str:
    """The BLAS that SciPy is built with, and its version."""
    import scipy

    blas = scipy.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip()


def why_no_gpu() -> str | None:
    """Why there is no CUDA device to use, None where there is one."""
    try:
        return None if driver().device_count() else "the CUDA driver sees no device"
    except RuntimeError as error:
        return str(error)


def gpus() -> list[Gpu]:
    """Every CUDA device."""
    found = []
    for ordinal in range(0 if why_no_gpu() else driver().device_count()):
        gauge = find_gauge(bus_id(ordinal))
        version = gauge.driver_version() if gauge else ""
        found.append(Gpu(driver().facts(ordinal), version, cuda_version()))
    return found


def columns(on_device: bool) -> dict[str, str]:
    """The environment as the CSV files name it."""
    gpu = gpus()[0] if on_device else None
    found = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "device": gpu.facts.name if gpu else cpu_name(),
        "driver": gpu.driver if gpu else "",
        "cuda": gpu.cuda if gpu else "",
        "tileblas": tileblas.__version__,
        "python": platform.python_version(),
    }
    found |= {name.replace("-", "_"): package_version(name) for name in PACKAGES}
    return found | {"numpy": np.__version__}
