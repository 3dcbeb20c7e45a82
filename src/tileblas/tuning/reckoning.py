"""The reckoning: how long a call on host arrays takes on the CPU, and staged to a GPU.

The rates are data, `rates.json`, measured by `tileblas bench --staged`: nothing is timed in a
user's call, nor kept on disk between processes, so that a call runs on the same backend every time.
The CPU's rates are kept for one core and for all cores of the machine they were measured on. A
machine with few cores has its share of the first, one with many is held by the second: both are
what decides, far more than the model of the processor.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from tileblas.core.dtypes import DType

# Of any GPU: beside the link to it, which decides, the difference between models is small.
_DEVICE_BANDWIDTH = 1e12


@dataclass(frozen=True)
class Rates:
    """What `rates.json` holds: seconds, and bytes or flops per second.

    `cpu` maps routine and dtype to the rates of one core and of all cores; those of level 3 and of
    routines on vectors without a row of their own are under "gemm" and "any".
    """

    measured: str
    cores: int
    cpu: dict[tuple[str, str], tuple[float, float]]
    call_seconds: float
    transfer_seconds: float
    direct_to_device: float
    direct_to_host: float
    copy_thread: float
    pinned: float

    def cpu_rate(self, routine: str, level: int, dtype: str, cores: int) -> float:
        """Bytes (level 3: flops) per second that SciPy's BLAS does on so many cores."""
        kind = "gemm" if level == 3 else "any"
        one, every = self.cpu.get((routine, dtype)) or self.cpu[kind, dtype]
        return min(one * cores, every * max(1.0, cores / self.cores))

    def transfer(self, nbytes: int, direct: float, threads: int) -> float:
        """Seconds of one copy: by the driver, or by threads through pinned memory."""
        pinned = min(self.pinned, self.copy_thread * threads)
        return min(nbytes / direct, self.transfer_seconds + nbytes / pinned)


@cache
def rates() -> Rates:
    """The rates that every reckoning uses."""
    data = json.loads((files("tileblas.tuning") / "rates.json").read_text())
    cpu = {
        (row["routine"], dtype): (row["core"] * 1e9, row["all"] * 1e9)
        for row in data["rows"]
        for dtype in row["dtypes"]
    }
    link = data["link"]
    scaled = {name: value if "seconds" in name else value * 1e9 for name, value in link.items()}
    return Rates(data["measured"], data["cores"], cpu, **scaled)


@dataclass(frozen=True)
class Reckoning:
    """Predicted seconds of one call on host arrays: on the CPU, and by stages on a GPU.

    `call` is what staging costs whatever the sizes. With several panels the three other stages
    overlap but for the first panel's way up and the last one's way down.
    """

    cpu: float
    call: float
    to_device: float
    kernel: float
    to_host: float
    panels: int = 1

    @property
    def cuda(self) -> float:
        stages = self.to_device, self.kernel, self.to_host
        longest = max(stages)
        return self.call + longest + (sum(stages) - longest) / self.panels

    @property
    def winner(self) -> str:
        return "cuda" if self.cuda < self.cpu else "cpu"

    def __str__(self) -> str:
        cuts = f", in {self.panels} overlapping panels" if self.panels > 1 else ""
        return (
            f"{self.winner}: cpu {1e3 * self.cpu:.3g} ms, cuda {1e3 * self.cuda:.3g} ms "
            f"(call {1e3 * self.call:.3g}, to the device {1e3 * self.to_device:.3g}, "
            f"kernel {1e3 * self.kernel:.3g}, to the host {1e3 * self.to_host:.3g}{cuts})"
        )


@dataclass(frozen=True)
class Work:
    """What a call has to do: `moved` are the bytes that the routine itself reads and writes.

    `sent` are the sizes of the arrays that go to the device, `received` that of the result. `rate`
    is what the device does in flops per second.
    """

    routine: str
    level: int
    dtype: DType
    flops: int
    moved: int
    sent: Sequence[int]
    received: int
    panels: int
    rate: float


def reckon(work: Work, cores: int, threads: int) -> Reckoning:
    """Predict both backends, on so many cores and so many threads that copy."""
    known = rates()
    done = work.flops if work.level == 3 else work.moved
    rate = known.cpu_rate(work.routine, work.level, work.dtype.name, cores)
    to_device = (known.transfer(n, known.direct_to_device, threads) for n in work.sent)
    return Reckoning(
        cpu=done / rate,
        call=known.call_seconds,
        to_device=sum(to_device),
        kernel=max(work.flops / work.rate, work.moved / _DEVICE_BANDWIDTH),
        to_host=known.transfer(work.received, known.direct_to_host, threads),
        panels=work.panels,
    )
