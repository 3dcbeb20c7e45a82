"""Variant: the part of a Launch that decides the machine code, without sizes, offsets and grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tileblas.routines.launch import Launch
from tileblas.runtime.target import Target


@dataclass(frozen=True, slots=True)
class Variant:
    """One compilation of one kernel: what is specialised on, and for which target."""

    kernel: str
    arguments: tuple[tuple[str, str], ...]  # (name, Triton type), in order
    divisors: tuple[tuple[str, int], ...]  # (name, promised divisor) where it is more than 1
    constants: tuple[tuple[str, Any], ...]
    num_warps: int
    num_stages: int
    max_registers: int
    fuse: bool
    target: Target

    @property
    def options(self) -> dict[str, Any]:
        """Options of the compiler. Fusion is explicit: its default changes between versions."""
        options: dict[str, Any] = {
            "num_warps": self.num_warps,
            "num_stages": self.num_stages,
            "enable_fp_fusion": self.fuse,
        }
        return options | ({"maxnreg": self.max_registers} if self.max_registers else {})


def variant_of(launch: Launch, target: Target) -> Variant:
    """The variant that a launch needs on a target."""
    arguments = tuple((a.name, a.triton_type) for a in launch.arguments)
    divisors = [(a.name, a.divisor(launch.alignment)) for a in launch.arguments]
    return Variant(
        kernel=launch.kernel,
        arguments=arguments,
        divisors=tuple(promise for promise in divisors if promise[1] > 1),
        constants=launch.constants,
        num_warps=launch.num_warps,
        num_stages=launch.num_stages,
        max_registers=launch.max_registers,
        fuse=launch.fuse,
        target=target,
    )
