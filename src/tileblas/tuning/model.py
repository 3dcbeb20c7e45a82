"""The analytic model: which tile a product gets, how many programs a reduction gets."""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot

from tileblas.tuning.table import Config

# A lone program runs this much faster than its share of a full multiprocessor: measured 1.1 to 1.4
# on an H200 (FP64 at 512 and 1024, FP16 at 1024).
_ALONE = 1.2


def ceil_div(a: int, b: int) -> int:
    """Smallest integer that is at least a / b."""
    return -(-a // b)


def tile_count(config: Config, m: int, n: int, triangle: bool) -> int:
    """Tiles of an m x n matrix, or those that have elements in one triangle of it."""
    down, across = ceil_div(m, config["BLOCK_M"]), ceil_div(n, config["BLOCK_N"])
    if not triangle:
        return down * across
    return sum(
        min(ceil_div((i + 1) * config["BLOCK_M"], config["BLOCK_N"]), across) for i in range(down)
    )


def gemm_time(
    config: Config, m: int, n: int, k: int, batch: int, multiprocessors: int, triangle: bool = False
) -> float:
    """Relative time of C (m x n) += A B with depth k: waves of tiles, each at the measured rate.

    A tile on the edge costs as much as a full one. The fill of the pipeline counts as num_stages
    more steps of depth. In the last wave a multiprocessor that holds fewer programs than
    `per_processor` is not fully used: it still takes as long as _ALONE says.
    """
    tiles = tile_count(config, m, n, triangle) * batch
    steps = ceil_div(max(k, 1), config["BLOCK_K"]) + config.num_stages
    work = config["BLOCK_M"] * config["BLOCK_N"] * config["BLOCK_K"] * steps
    full, rest = divmod(tiles, multiprocessors * config.per_processor)
    resident = ceil_div(rest, multiprocessors)
    last = max(resident, config.per_processor / _ALONE) if rest else 0
    return (full * config.per_processor + last) * work / config.rate


def choose_gemm(
    candidates: Sequence[Config],
    m: int,
    n: int,
    k: int,
    batch: int,
    multiprocessors: int,
    triangle: bool = False,
) -> Config:
    """The candidate with the least modelled time; the first one of equals."""
    return min(candidates, key=lambda c: gemm_time(c, m, n, k, batch, multiprocessors, triangle))


def split_count(config: Config, n: int, batch: int, multiprocessors: int) -> int:
    """Programs that share one reduction of n elements: a fixed number for a fixed shape and GPU."""
    most = min(multiprocessors * config.per_processor, config["MAX_SPLITS"])
    return max(1, min(ceil_div(n, config["BLOCK"]), most // max(batch, 1)))


def choose_upto(candidates: Sequence[Config], size: int) -> Config:
    """The first candidate that is for so many elements: few are best off in few wide programs."""
    return next(c for c in candidates if not c.upto or size <= c.upto)


# A matrix-vector product: what a step of a program takes at the least, since it waits for memory,
# what one more hand-over through the workspace adds, and how many partial sums a program that adds
# them up takes in at a time.
_STEP_SECONDS = 1e-6
_HANDOVER_SECONDS = 2e-6
_PARTIALS_PER_STEP = 4096


def gemv_time(
    config: Config, splits: int, m: int, n: int, batch: int, itemsize: int, multiprocessors: int
) -> float:
    """Seconds of y (m) += A x with `splits` programs for each block of rows, as modelled.

    Waves of programs; a step of a wave waits for memory, and moves its tiles at the measured
    bandwidth `rate` (GB/s), the two partly at the same time. A tile on the edge costs as much as a
    full one.
    """
    programs = ceil_div(m, config["BLOCK_M"]) * batch * splits
    steps = ceil_div(ceil_div(n, config["BLOCK_N"]), splits)
    tile = config["BLOCK_M"] * config["BLOCK_N"] * itemsize / (config.rate * 1e9)
    resident = multiprocessors * config.per_processor
    full, rest = divmod(programs, resident)
    time = full * steps * hypot(_STEP_SECONDS, resident * tile)
    time += steps * hypot(_STEP_SECONDS, rest * tile) if rest else 0.0
    if splits > 1:
        partials = ceil_div(splits * config["BLOCK_M"], _PARTIALS_PER_STEP)
        time += _HANDOVER_SECONDS + partials * _STEP_SECONDS
    return time


def choose_gemv(
    candidates: Sequence[Config], m: int, n: int, batch: int, itemsize: int, multiprocessors: int
) -> tuple[Config, int]:
    """(configuration, splits) with the least modelled time; the first one of equals."""
    pairs = [(c, s) for c in candidates for s in _splits(c, m, n, batch, multiprocessors)]
    return min(pairs, key=lambda p: gemv_time(p[0], p[1], m, n, batch, itemsize, multiprocessors))


def _splits(config: Config, m: int, n: int, batch: int, multiprocessors: int) -> list[int]:
    """Numbers of splits to consider: none, and what fills the GPU once, twice, four times."""
    blocks = ceil_div(n, config["BLOCK_N"])
    groups = ceil_div(m, config["BLOCK_M"]) * batch
    fills = (multiprocessors * config.per_processor * waves // groups for waves in (1, 2, 4))
    return [1, *(min(fill, blocks) for fill in fills if min(fill, blocks) > 1)]
