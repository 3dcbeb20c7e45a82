"""Fill the kernel cache for a target without a GPU: `tileblas compile`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context

from tileblas.routines.launch import Launch
from tileblas.routines.registry import families
from tileblas.routines.samples import launches
from tileblas.runtime import cache
from tileblas.runtime.target import Target
from tileblas.runtime.variant import Variant, variant_of
from tileblas.tuning.table import table


@dataclass(frozen=True)
class Summary:
    """What a prebuild did: variants in the cache, how many of them were compiled, seconds taken."""

    variants: int
    compiled: int
    seconds: float


def variants(routines: Iterable[str], target: Target, dtypes=None) -> tuple[Variant, ...]:
    """The kernel variants that ordinary calls of these routines (families) need on a target."""
    specs = [spec for name in routines for spec in families()[name]]
    found = (
        variant_of(launch, target)
        for spec in specs
        for launch in launches(spec, table(target.name), dtypes)
    )
    return tuple(dict.fromkeys(found))


def compile_variants(
    routines: Iterable[str],
    target: Target,
    progress: Callable[[int, int], None] | None = None,
    dtypes: tuple[str, ...] | None = None,
    workers: int | None = None,
    rarer: Iterable[Launch] = (),
) -> Summary:
    """Compile what the cache lacks, in parallel; `progress(done, total)` after each variant.

    `rarer` are launches beyond those of ordinary calls.
    """
    start = time.perf_counter()
    more = (variant_of(launch, target) for launch in rarer)
    wanted = dict.fromkeys((*variants(routines, target, dtypes), *more))
    missing = [variant for variant in wanted if not cache.on_disk(variant)]
    done = len(wanted) - len(missing)
    if progress:
        progress(done, len(wanted))
    # Compiling holds Python's lock, so threads would not overlap.
    with ProcessPoolExecutor(workers or os.cpu_count(), mp_context=get_context("spawn")) as pool:
        for future in as_completed([pool.submit(_compile, variant) for variant in missing]):
            future.result()
            done += 1
            if progress:
                progress(done, len(wanted))
    return Summary(len(wanted), len(missing), time.perf_counter() - start)


def _compile(variant: Variant) -> None:
    cache.fetch(variant)
