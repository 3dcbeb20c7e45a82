"""Tuning tables: the configurations of each kernel and dtype on an architecture, as measured."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from tileblas.core.versions import number, triton_version

FALLBACK = "default"

_LIMITS = ("evict_first_upto", "evict_first_updates_upto")


@dataclass(frozen=True)
class Config:
    """One way to run a kernel: its constexpr knobs, warps, pipeline stages.

    `rate` is what was measured in the limit of a large problem (TFLOP/s for gemm, GB/s for gemv,
    else 0): the model weighs candidates by it. `per_processor` programs share a multiprocessor.
    `layout` is the only one that the row is for, `math` the arithmetic: "ieee", or "fp64" for FP32
    operands that are multiplied and summed in FP64. `body` names a kernel that stands in for the
    usual one. `max_registers` is the launch's. `upto`: the row is for no more elements, of all
    members of a batch, or rows of a solve, or diagonals of a band; 0 says for any number.
    """

    knobs: tuple[tuple[str, int], ...]
    num_warps: int
    num_stages: int
    rate: float = 0.0
    per_processor: int = 1
    layout: str = "any"
    math: str = "ieee"
    body: str = ""
    max_registers: int = 0
    upto: int = 0

    def __getitem__(self, knob: str) -> int:
        return dict(self.knobs)[knob]


@dataclass(frozen=True)
class Table:
    """The configurations of one architecture, with the GPU and versions they were measured on."""

    arch: str
    multiprocessors: int
    measured: str
    rows: tuple[tuple[tuple[str, str], Config], ...]
    evict_first_upto: int = 0  # bytes
    evict_first_updates_upto: int = 0  # bytes, of operands some of which are written

    def streams(self, size: int, writes: bool = False) -> bool:
        """Whether operands of `size` bytes that are read once should leave L2 first.

        Then they displace themselves, and not what earlier kernels have written, which would go to
        memory in the meantime. Beyond a few times the size of L2 that no longer counts.
        """
        return size <= (self.evict_first_updates_upto if writes else self.evict_first_upto)

    def candidates(
        self, kernel: str, dtype: str, layout: str = "any", math: str | None = None
    ) -> tuple[Config, ...]:
        """Rows for kernel and dtype: of this very layout if there are any, else of any layout."""
        rows = [
            config
            for key, config in self.rows
            if key == (kernel, dtype) and math in (None, config.math)
        ]
        exact = tuple(config for config in rows if config.layout == layout)
        found = exact or tuple(config for config in rows if config.layout == "any")
        if not found:
            raise LookupError(f"tuning table {self.arch} has no row for {kernel} {dtype}")
        return found


@cache
def table(arch: str) -> Table:
    """The table of an architecture ("sm_90", "interpret"), else the default one."""
    folder = files("tileblas.tuning") / "tables"
    path = folder / f"{arch}.json"
    if not path.is_file():
        path = folder / f"{FALLBACK}.json"
    data = json.loads(path.read_text())
    rows = tuple(
        ((kernel, dtype), _config(row))
        for row in data["rows"]
        if _compiles(row)
        for kernel in row.get("kernels") or (row["kernel"],)
        for dtype in row["dtypes"]
    )
    limits = {name: data.get(name, 0) for name in _LIMITS}
    return Table(data["arch"], data["multiprocessors"], data["measured"], rows, **limits)


def _compiles(row: dict) -> bool:
    """Whether the installed Triton can compile the row's kernel body."""
    below, installed = row.get("triton_below"), number(triton_version())
    return not (below and installed) or installed < number(below)


def _config(row: dict) -> Config:
    knobs = tuple((name, value) for name, value in row.items() if name.isupper())
    return Config(
        knobs=knobs,
        num_warps=row["num_warps"],
        num_stages=row["num_stages"],
        rate=row.get("rate", 0.0),
        per_processor=row.get("per_processor", 1),
        layout=row.get("layout", "any"),
        math=row.get("math", "ieee"),
        body=row.get("body", ""),
        max_registers=row.get("max_registers", 0),
        upto=row.get("upto", 0),
    )
