"""The GPU architectures that kernels are compiled for."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """Facts of one architecture: largest dynamic shared memory of a block in bytes, and a note."""

    shared_limit: int
    notes: str


ROWS: dict[int, Row] = {
    80: Row(163 * 1024, "Ampere, A100; also runs on 8.6 and 8.7"),
    89: Row(99 * 1024, "Ada, L4 L40 RTX 40"),
    90: Row(227 * 1024, "Hopper, H100 H200 GH200"),
    100: Row(227 * 1024, "Blackwell, B200 GB200"),
    120: Row(99 * 1024, "Blackwell, RTX 50"),
}


@dataclass(frozen=True, order=True, slots=True)
class Target:
    """An architecture by its number: Target(90) is sm_90."""

    arch: int

    def __post_init__(self) -> None:
        if self.arch not in ROWS:
            raise ValueError(f"no target sm_{self.arch}; supported are {names()}")

    @classmethod
    def parse(cls, text: str) -> Target:
        """The target named "sm_90"; "sm90" and "90" are taken too."""
        match = re.fullmatch(r"(?:sm_?)?(\d+)", text.strip().lower())
        if match is None:
            raise ValueError(f"{text!r} is not a target; supported are {names()}")
        return cls(int(match.group(1)))

    @property
    def name(self) -> str:
        return f"sm_{self.arch}"

    @property
    def shared_limit(self) -> int:
        return ROWS[self.arch].shared_limit

    @property
    def notes(self) -> str:
        return ROWS[self.arch].notes

    def __str__(self) -> str:
        return self.name


TARGETS: tuple[Target, ...] = tuple(Target(arch) for arch in ROWS)


def names() -> str:
    """The supported targets as text, for messages."""
    return ", ".join(f"sm_{arch}" for arch in ROWS)


def for_capability(major: int, minor: int) -> Target:
    """The target whose code runs on a device of this compute capability.

    Below 9.0 code runs on every later minor version. From 9.0 on Triton compiles for the
    architecture-specific variant (sm_90a), which runs on exactly that capability.
    """
    arch = 10 * major + minor
    rows = [row for row in ROWS if row // 10 == major and row <= arch]
    if not rows or (major >= 9 and rows[-1] != arch):
        raise RuntimeError(f"no target for compute capability {major}.{minor}; have {names()}")
    return Target(rows[-1])
