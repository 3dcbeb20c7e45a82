"""Calls of every routine on operands of exact size, for compute-sanitizer to watch.

    python sanitized.py every|few|compile

"every" meets the edges of tiles, splits, tails and unaligned operands in all types; "few" each
kernel once for each type. Ends with status 1 where a result is wrong. "compile" only fills the
kernel cache for both.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from tileblas.check import guards
from tileblas.check.cases import (
    Case,
    axpy_case,
    dot_case,
    gemm_case,
    gemv_case,
    nrm2_case,
    numbers_case,
    scal_case,
    vectors_case,
)
from tileblas.check.guards import NumpyLibrary
from tileblas.check.launches import launches_of
from tileblas.check.matrix_cases import Bands, matrix_case
from tileblas.check.runner import check_case
from tileblas.core.dtypes import DTYPES, RESULTS, numpy_dtype
from tileblas.core.spec import PACKED
from tileblas.routines.registry import ROUTINES
from tileblas.runtime import dlpack, memory
from tileblas.runtime.driver import driver
from tileblas.runtime.memory import DeviceArray
from tileblas.runtime.prebuild import compile_variants
from tileblas.tuning.table import table

#: One element, less than a warp, around a block, and shares of several programs with a tail.
LENGTHS = (1, 33, 2047, 4097, 9001)
#: Offset and increment: aligned, not aligned, backwards.
WAYS = ((0, 1), (1, 1), (0, -2))
#: As stored: small, around tiles, rows and columns long enough to be split.
MATRICES = ((3, 5), (33, 257), (129, 65), (5, 9001), (9001, 5))
#: m, n, k: an element, an inner dimension of one, around small and large tiles.
PRODUCTS = ((1, 1, 1), (5, 5, 1), (33, 31, 65), (129, 127, 33))
#: Both unit axes, rows that are not aligned, and no unit axis.
LAYOUTS = ("col", "row", "col@1", "step")


#: The other routines on vectors, with scalars that leave nothing out.
SCALARS: dict[str, dict[str, float]] = {
    "dsdot": {},
    "sdsdot": {"alpha": 0.7},
    "asum": {},
    "iamax": {},
    "iamin": {},
    "axpydot": {"alpha": 0.7},
    "copy": {},
    "axpby": {"alpha": 0.7, "beta": 1.3},
    "swap": {},
    "rot": {"c": 0.8, "s": 0.6},
    "rotm": {"flag": -1, "h11": 0.7, "h21": -0.9, "h12": 1.1, "h22": 1.3},
}
#: Routines on triangles and bands: letters of their options in turn, and the diagonals of a band.
STRUCTURED: dict[str, tuple[tuple[str, ...], Bands]] = {
    "symv": (("U", "L"), 0),
    "hemv": (("U",), 0),
    "sbmv": (("L",), 3),
    "spmv": (("U", "L"), 0),
    "skewsymv": (("L",), 0),
    "gbmv": (("N", "T"), (2, 3)),
    "trmv": (("UNN", "LTU"), 0),
    "tpmv": (("LNN",), 0),
    "trsv": (("UNN", "LTU"), 0),
    "tbsv": (("LNN",), 3),
    "tpsv": (("UTN",), 0),
    "ger": (("",), 0),
    "gerc": (("",), 0),
    "syr": (("U",), 0),
    "spr": (("L",), 0),
    "her2": (("L",), 0),
    "skewsyr2": (("U",), 0),
    "gemvt": (("T",), 0),
}
#: Orders: an element, less than a tile, around tiles, and enough to be shared by several programs.
ORDERS = (1, 5, 65, 257, 700)
SUMS = ("dsdot", "sdsdot", "asum", "iamax", "axpydot")


def routines_of(dtype: str) -> list[str]:
    """Those of them that take a type."""
    return [name for name in SCALARS if dtype in ROUTINES[name].dtypes]


def vectors(
    routine: str, dtype: str, n: int, incs: tuple[int, ...] = (1,), offset: int = 0
) -> Case:
    """A case of one of them; the increments are those of its vectors in turn."""
    incs = incs[: len(ROUTINES[routine].arguments)]
    return vectors_case(routine, dtype, n, incs, offset=offset, scalars=SCALARS[routine])


def structured(
    dtype: str, orders: Iterable[int], layouts: tuple[str, ...], fewer: bool = False
) -> Iterator[Case]:
    """Cases of the routines on triangles and bands, dense ones as each of the layouts lies."""
    for routine, (letters, bands) in STRUCTURED.items():
        spec = ROUTINES[routine]
        if dtype not in spec.dtypes:
            continue
        packed = any(arg.storage == PACKED for arg in spec.operands)
        solves = routine.endswith("sv")
        beta = 0.5 if "beta" in spec.scalars else 0
        for n in orders:
            for chosen in letters[:1] if fewer else letters:
                for layout in ("flat",) if packed else layouts:
                    yield matrix_case(
                        routine, dtype, n, chosen, layout, beta=beta, bands=bands,
                        diagonal="dominant" if solves else "",
                    )  # fmt: skip


def rotations(dtype: str, counts: Iterable[int]) -> Iterator[Case]:
    """Rotations made of so many numbers, some of which are scaled."""
    for routine in ("rotg", "rotmg"):
        if dtype in ROUTINES[routine].dtypes:
            for count in counts:
                yield numbers_case(routine, dtype, ((count,),), (1, -2), "positive")


def few(dtype: str) -> Iterator[Case]:
    """Each kernel once, split among programs where it can be."""
    yield dot_case("dot", dtype, 9001)
    yield nrm2_case(dtype, 9001)
    yield scal_case(dtype, 4097)
    yield axpy_case(dtype, 4097)
    for routine in routines_of(dtype):
        yield vectors(routine, dtype, 9001 if ROUTINES[routine].family in SUMS else 4097)
    yield from rotations(dtype, (129,))
    for trans in "NT":
        yield gemv_case(dtype, (33, 9001), trans, beta=0.5)
    yield from structured(dtype, (257,), ("row",), fewer=True)
    for layout in ("col", "col@1"):
        yield gemm_case(dtype, (129, 127, 33), "NN", layout, beta=0.5)


def every(dtype: str) -> Iterator[Case]:
    """The edges of everything."""
    for n in LENGTHS:
        for offset, inc in WAYS:
            yield dot_case("dotc", dtype, n, (inc, 1), offset=offset)
            yield nrm2_case(dtype, n, inc, offset=offset)
            yield scal_case(dtype, n, inc, offset=offset)
            yield axpy_case(dtype, n, (1, inc), offset=offset)
        for place, routine in enumerate(routines_of(dtype)):
            # Each with one way to lie at a time: over all lengths, with every way.
            offset, inc = WAYS[(place + n) % len(WAYS)]
            yield vectors(routine, dtype, n, (inc, 1), offset=offset)
    yield from rotations(dtype, (1, 33, 129))
    for sizes in MATRICES:
        for layout in LAYOUTS:
            yield gemv_case(dtype, sizes, "N", layout, beta=0.5)
            yield gemv_case(dtype, sizes, "C", layout, (1, -2), y=False)
    yield from structured(dtype, ORDERS, ("col", "row"))
    yield from structured(dtype, (65,), ("col@1", "step"), fewer=True)
    for sizes in PRODUCTS:
        for layout in LAYOUTS:
            yield gemm_case(dtype, sizes, "NN", layout, beta=0.5)
            yield gemm_case(dtype, sizes, "TC", layout, c=False)
    yield gemm_case(dtype, (17, 9, 5), "NN", "row", batches=((3,), (), (3,)))
    yield gemv_case(dtype, (17, 9), "N", "row", batches=((3,), (), (3,)))


class Buffer:
    """Device memory of exactly the bytes of a host array, with its elements."""

    def __init__(self, host: np.ndarray) -> None:
        self.dtype, self.nbytes = host.dtype, host.nbytes
        self.address = int(driver().call("cuMemAlloc", self.nbytes))
        driver().call("cuMemcpyHtoD", self.address, host.ctypes.data, self.nbytes)

    def read(self) -> np.ndarray:
        host = np.empty(self.nbytes // self.dtype.itemsize, self.dtype)
        driver().call("cuMemcpyDtoH", host.ctypes.data, self.address, self.nbytes)
        return host

    def __del__(self) -> None:
        driver().call("cuMemFree", self.address)


class View:
    """Elements of a buffer, shown by DLPack."""

    def __init__(self, buffer: Buffer, start: int, shape: Any, strides: Any) -> None:
        self.buffer, self.place = buffer, (start, tuple(shape), tuple(strides))

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack.CUDA, 0

    def __dlpack__(self, **options: Any) -> Any:
        start, shape, strides = self.place
        address = self.buffer.address + start * self.buffer.dtype.itemsize
        name, device = self.buffer.dtype.name, self.__dlpack_device__()
        return dlpack.capsule(address, shape, strides, name, device, self)


class ExactLibrary:
    """Arrays for the checks, each alone in an allocation of its own size."""

    name = "exact"
    negative_strides = True

    def put(self, host: np.ndarray) -> Buffer:
        return Buffer(host)

    def view(self, buffer: Buffer, start: int, shape: Any, strides: Any) -> View:
        return View(buffer, start, shape, strides)

    def get(self, array: Buffer | View | DeviceArray) -> np.ndarray:
        if isinstance(array, Buffer):
            return array.read()
        if isinstance(array, View):
            return NumpyLibrary().view(array.buffer.read(), *array.place)
        return memory.to_host(array).view(numpy_dtype(RESULTS[array.dtype]))


def wrong_cases(cases: Iterable[Case]) -> Iterator[str]:
    for case in cases:
        verdict = check_case(case, ExactLibrary(), ("nan",))
        if not verdict.passed:
            yield f"{case.id}: {verdict.message}"


def leave() -> None:
    """Give the context back, so that the tool sees its end and reports all it has found."""
    gc.collect()
    driver().call("cuCtxSynchronize")
    driver().call("cuDevicePrimaryCtxRelease", driver().call("cuDeviceGet", 0))


def compile_all() -> None:
    cases = [case for dtype in DTYPES for make in (every, few) for case in make(dtype)]
    target = driver().facts(0).target
    compile_variants([], target, rarer=launches_of(cases, table(target.name)))


def watched(make: Callable[[str], Iterator[Case]]) -> int:
    """Run the calls; how many gave a wrong result."""
    driver().call("cuCtxSetCurrent", driver().context(0))
    # Nothing around the operands that an overrun could hit unseen, and no pool: the tools know the
    # size of an ordinary allocation to the byte.
    guards.GUARD = 0
    driver()._pools[0] = False
    cases = [case for dtype in DTYPES for case in make(dtype)]
    wrong = list(wrong_cases(cases))
    print(*wrong, f"{len(cases)} calls, {len(wrong)} wrong", sep="\n")
    leave()
    return len(wrong)


def main() -> int:
    if sys.argv[1] == "compile":
        compile_all()
        return 0
    return 1 if watched({"every": every, "few": few}[sys.argv[1]]) else 0


if __name__ == "__main__":
    sys.exit(main())
