"""The analytic model: which tile a product gets, how many programs a reduction gets, CPU or GPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tileblas.tuning.table import Config

# A lone program runs this much faster than its share of a full multiprocessor: measured 1.1 to 1.4
# on an H200 (FP64 at 512 and 1024, FP16 at 1024).
_ALONE = 1.2


def ceil_div(a: int, b: int) -> int:
    """Smallest integer that is at least a / b."""
    return -(-a // b)


def gemm_time(config: Config, m: int, n: int, k: int, batch: int, multiprocessors: int) -> float:
    """Relative time of C (m x n) += A B with depth k: waves of tiles, each at the measured rate.

    A tile on the edge costs as much as a full one. The fill of the pipeline counts as num_stages
    more steps of depth. In the last wave a multiprocessor that holds fewer programs than
    `per_processor` is not fully used: it still takes as long as _ALONE says.
    """
    tiles = ceil_div(m, config["BLOCK_M"]) * ceil_div(n, config["BLOCK_N"]) * batch
    steps = ceil_div(max(k, 1), config["BLOCK_K"]) + config.num_stages
    work = config["BLOCK_M"] * config["BLOCK_N"] * config["BLOCK_K"] * steps
    full, rest = divmod(tiles, multiprocessors * config.per_processor)
    resident = ceil_div(rest, multiprocessors)
    last = max(resident, config.per_processor / _ALONE) if rest else 0
    return (full * config.per_processor + last) * work / config.rate


def choose_gemm(
    candidates: Sequence[Config], m: int, n: int, k: int, batch: int, multiprocessors: int
) -> Config:
    """The candidate with the least modelled time; the first one of equals."""
    return min(candidates, key=lambda c: gemm_time(c, m, n, k, batch, multiprocessors))


def split_count(config: Config, n: int, batch: int, multiprocessors: int) -> int:
    """Programs that share one reduction of n elements: a fixed number for a fixed shape and GPU."""
    most = min(multiprocessors * config.per_processor, config["MAX_SPLITS"])
    return max(1, min(ceil_div(n, config["BLOCK"]), most // max(batch, 1)))


@dataclass(frozen=True)
class Reckoning:
    """Predicted seconds of one call on host arrays, transfers included, on both backends."""

    cpu: float
    cuda: float

    @property
    def winner(self) -> str:
        return "cuda" if self.cuda < self.cpu else "cpu"


# Rates of an ordinary host and of an H200, per second: the balance is decided by the transfers.
_CPU_FLOPS_PER_CORE = {"float32": 60e9, "float64": 30e9}
_CPU_BANDWIDTH = 20e9
_TO_DEVICE, _TO_HOST = 6.5e9, 13.8e9  # ordinary NumPy memory, H200 host, measured
_DEVICE_BANDWIDTH = 4.2e12
_DEVICE_FLOPS = {"float32": 30e12, "float64": 50e12}
_CALL_OVERHEAD = 60e-6  # staging one call: allocations, three copies, a launch, a wait


def reckon(flops: int, sent: int, received: int, moved: int, compute: str, cores: int) -> Reckoning:
    """Predict both backends for a call on host arrays.

    `sent` and `received` are the bytes copied to and from the device, `moved` the bytes that the
    routine itself must move, `compute` the real type of its arithmetic.
    """
    cpu = max(flops / (_CPU_FLOPS_PER_CORE[compute] * cores), moved / _CPU_BANDWIDTH)
    kernel = max(flops / _DEVICE_FLOPS[compute], moved / _DEVICE_BANDWIDTH)
    cuda = _CALL_OVERHEAD + sent / _TO_DEVICE + received / _TO_HOST + kernel
    return Reckoning(cpu=cpu, cuda=cuda)
