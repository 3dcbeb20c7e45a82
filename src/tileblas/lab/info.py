"""`tileblas info`: what is installed, what runs where and why, as rows of facts."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass

import numpy as np
import scipy

import tileblas
from tileblas import settings
from tileblas.lab import environment
from tileblas.runtime import cache
from tileblas.runtime.target import Target
from tileblas.tuning.table import FALLBACK, table

DEFAULT_TARGET = "sm_90"  # assumed where there is no GPU

_SLOW_FP64 = (
    "from Triton 3.8 on FP64 tensor-core code for sm_90 is narrower (DMMA 8x8x4) and about half as "
    "fast; 3.6 and 3.7 emit 16x8x16"
)


@dataclass(frozen=True)
class Fact:
    """One line: a name, what is so, and perhaps what follows from it."""

    name: str
    value: str
    note: str = ""


def facts() -> list[Fact]:
    """Everything that `tileblas info` tells, in order."""
    return [
        Fact("tileblas", tileblas.__version__),
        Fact("Python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"),
        Fact("NumPy", np.__version__),
        Fact("SciPy", f"{scipy.__version__}, BLAS: {environment.scipy_blas()}"),
        _triton(),
        Fact("cuda-core", environment.package_version("cuda-core") or "not installed"),
        Fact("CPU", environment.cpu_name()),
        *_gpus(),
        _backend(),
        _cache(),
        _tuning(),
    ]


def _triton() -> Fact:
    version = environment.package_version("triton")
    return Fact("Triton", version or "not installed", _SLOW_FP64 if _is_slow(version) else "")


def _is_slow(triton: str) -> bool:
    """Whether this Triton emits the slower FP64 products for sm_90."""
    return bool(triton) and tuple(int(n) for n in triton.split(".")[:2]) >= (3, 8)


def _gpus() -> list[Fact]:
    reason = environment.why_no_gpu()
    if reason:
        return [Fact("GPU", "none", reason)]
    return [Fact("GPU", _describe(gpu)) for gpu in environment.gpus()]


def _describe(gpu: environment.Gpu) -> str:
    facts = gpu.facts
    major, minor = facts.capability
    driver = f"driver {gpu.driver}, " if gpu.driver else ""
    return (
        f"{facts.name}, compute capability {major}.{minor}, {facts.multiprocessors} "
        f"multiprocessors, {facts.memory_bytes / 2**30:.0f} GiB, {driver}CUDA {gpu.cuda}"
    )


def _backend() -> Fact:
    chosen = settings.chosen_backend()
    if chosen != "auto":
        asked = os.environ.get("TILEBLAS_BACKEND")
        why = f"TILEBLAS_BACKEND={asked}" if asked else "chosen by tileblas.backend"
        return Fact("backend", chosen, f"{why}; arrays on a GPU always run there")
    if environment.why_no_gpu():
        return Fact("backend", "auto", "NumPy arrays run on the CPU: there is no GPU to use")
    return Fact("backend", "auto", "NumPy arrays run where the model expects them done first")


def _cache() -> Fact:
    folder = cache.folder()
    entries = list(folder.glob("*.cubin")) if folder.is_dir() else []
    size = sum(entry.stat().st_size for entry in entries)
    return Fact("cache", str(folder), f"{len(entries)} compiled kernels, {size / 2**20:.1f} MiB")


def local_target() -> Target:
    """The target of the first GPU; sm_90 where there is none."""
    found = environment.gpus()
    return found[0].facts.target if found else Target.parse(DEFAULT_TARGET)


def _tuning() -> Fact:
    target = local_target()
    found = table(target.name)
    note = ""
    if found.arch == FALLBACK:
        note = f"there is no table for {target.name}"
    elif environment.why_no_gpu():
        note = "no GPU here, so this is the table of the default target"
    return Fact("tuning table", f"{found.arch}, measured: {found.measured}", note)
