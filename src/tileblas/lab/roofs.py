"""Measured roofs of this machine: the memory bandwidth and arithmetic rate that times are held to.

A roof is what vendor code reaches here at a good size, so a kernel can come out a little above one.
Reading and updating memory have separate roofs, since their best rates differ. All are in bytes or
flops per second, each measured on first use and kept.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np

from tileblas.core.dtypes import DTYPES
from tileblas.lab.cases import Case
from tileblas.lab.device import Device
from tileblas.lab.environment import cores
from tileblas.lab.places import Place, host_normal
from tileblas.lab.rival_cublas import Cublas
from tileblas.lab.timing import Clock, HostClock, best_seconds

_HOST_BYTES = 256 << 20  # of one array: beyond the last-level cache of most machines
_HOST_ORDER = 1536
_DEVICE_LENGTH = 1 << 27  # float64: 1 GiB
_DEVICE_ORDERS = (4096, 8192)


class Roofs:
    """The roofs of one place; `measure` maps "read", "update" or a dtype's name to its rate."""

    def __init__(self, measure: Callable[[str], float]) -> None:
        self._measure = cache(measure)

    def read(self) -> float:
        """Bytes read per second."""
        return self._measure("read")

    def update(self) -> float:
        """Bytes read and written per second, where memory is read and updated."""
        return self._measure("update")

    def rate(self, dtype: str) -> float:
        """Real flops per second of matrix products of `dtype`."""
        return self._measure(dtype)

    def seconds(self, flops: int, size: int, dtype: str, level: int, updates: bool) -> float:
        """The least time for work of `flops` on `size` bytes: whichever roof is met first."""
        moving = size / (self.update() if updates else self.read())
        if level < 3:  # no routine on vectors reaches the arithmetic roof
            return moving
        return max(moving, flops / self.rate(dtype))


@cache
def host_roofs() -> Roofs:
    """The roofs of this machine's CPU."""
    return Roofs(_measure_host)


def device_roofs(place: Place, clock: Clock, cublas: Cublas) -> Roofs:
    """The roofs of the GPU where `place` keeps its arrays."""

    def measure(what: str) -> float:
        if what == "read":
            return _device_vectors("dot", 2, place, clock, cublas)
        if what == "update":
            updated = _device_vectors("axpy", 3, place, clock, cublas)
            return max(updated, _device_copy(place, clock))
        dtype = "float16" if what == "bfloat16" else what  # the same rate; CuPy has no bfloat16
        return max(_device_product(dtype, n, place, clock, cublas) for n in _DEVICE_ORDERS)

    return Roofs(measure)


def _measure_host(what: str) -> float:
    if what == "read":
        return _host_bandwidth(np.dot, 2)
    if what == "update":
        return _host_bandwidth(lambda x, y: np.add(x, y, out=y), 3)
    return _host_product(what)


def _host_bandwidth(work: Callable[[np.ndarray, np.ndarray], object], passes: int) -> float:
    """Bandwidth of `work` on two vectors, divided among the cores; NumPy lets them run at once."""
    count = cores()
    x, y = np.ones(_HOST_BYTES // 8), np.ones(_HOST_BYTES // 8)
    pieces = list(zip(np.array_split(x, count), np.array_split(y, count), strict=True))
    with ThreadPoolExecutor(count) as pool:
        seconds = best_seconds(lambda: list(pool.map(lambda p: work(*p), pieces)), HostClock())
    return passes * _HOST_BYTES / seconds


def _host_product(dtype: str) -> float:
    """Rate of SciPy's gemm; half types compute in float32 on a CPU."""
    from scipy.linalg.blas import get_blas_funcs

    row = DTYPES[dtype]
    working = row.name if row.letter in "sdcz" else row.compute
    n = _HOST_ORDER
    a = host_normal((n, n), working, 0, "F")
    c = np.zeros_like(a)
    gemm = get_blas_funcs("gemm", (a,))
    seconds = best_seconds(lambda: gemm(1.0, a, a, 0.0, c, overwrite_c=1), HostClock())
    return 2 * n**3 * (4 if row.is_complex else 1) / seconds


def _device_vectors(routine: str, passes: int, place: Place, clock: Clock, cublas: Cublas) -> float:
    case = Case(routine, (_DEVICE_LENGTH,), "float64")
    vectors = {name: place.normal(case.dims, case.dtype, i) for i, name in enumerate("xy")}
    bound = cublas.bind(case, vectors)
    assert bound is not None
    return passes * 8 * _DEVICE_LENGTH / best_seconds(bound.call, clock)


def _device_copy(place: Place, clock: Clock) -> float:
    """The driver's own copy, bytes read and written."""
    device, size = Device(), 8 * _DEVICE_LENGTH
    source, target = (place.normal((_DEVICE_LENGTH,), "float64", i) for i in range(2))
    addresses = place.pointer(target), place.pointer(source)
    seconds = best_seconds(lambda: device.copy(*addresses, size, place.stream), clock)
    return 2 * size / seconds


def _device_product(dtype: str, n: int, place: Place, clock: Clock, cublas: Cublas) -> float:
    case = Case("gemm", (n, n, n), dtype, "TN", "col")
    matrices = {name: place.normal((n, n), dtype, i, "F") for i, name in enumerate("abc")}
    bound = cublas.bind(case, matrices)
    assert bound is not None
    flops = 2 * n**3 * (4 if DTYPES[dtype].is_complex else 1)
    return flops / best_seconds(bound.call, clock)
