"""Argument and Launch: the frozen records in which a plan tells the runtime what to run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

POINTER = "pointer"
FLOATS = ("fp32", "fp64")

# Slots that the runtime binds itself, from the workspace of the stream.
PARTIAL = "partial"
ARRIVED = "arrived"
WORKSPACE = (PARTIAL, ARRIVED)
WORKSPACE_ALIGNMENT = 16  # bytes; an allocator's is larger


@dataclass(frozen=True, slots=True)
class Argument:
    """One non-constexpr parameter of a kernel, and where its value comes from.

    kind        value                      bound
    pointer     (slot, element_offset)     per call: address of the slot + offset * itemsize
    i32, i64    the integer                once
    fp32, fp64  a slot, ("alpha", "re")    per call

    `type` is the Triton type of a pointer ("*fp32"). `itemsize` is the size in bytes of one element
    of the operand, 8 for a complex64 operand whose pointer is typed "*fp32". `stride` marks strides
    and batch strides: they keep the alignment of a launch. `loose` pointers are those of which no
    launch promises any.
    """

    name: str
    kind: str
    value: Any
    type: str = ""
    itemsize: int = 0
    stride: bool = False
    loose: bool = False

    @property
    def slot(self) -> Any:
        """What is bound per call: "x" for a pointer, ("alpha", "re") for a scalar, else None."""
        if self.kind == POINTER:
            return self.value[0]
        return self.value if self.kind in FLOATS else None

    @property
    def triton_type(self) -> str:
        return self.type if self.kind == POINTER else self.kind

    def divisor(self, alignment: int) -> int:
        """What a launch of some alignment promises to divide the argument; 1 for nothing."""
        if self.slot in WORKSPACE:
            return WORKSPACE_ALIGNMENT
        if self.kind == POINTER:
            return 1 if self.loose else alignment
        return max(1, alignment // self.itemsize) if self.stride else 1


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel launch with everything but the addresses and the scalars.

    kernel is "<file>.<function>" below tileblas.kernels; arguments are in the kernel's order;
    constants are its constexprs; partial_bytes and counters (int32, zero at the start and left zero
    by the kernel) are what it needs of the workspace. `alignment` is in bytes: it divides the
    addresses of all rows that are loaded wide; 1 where loads are of one number. `max_registers` is
    what a thread may have at the most; 0 leaves it to the compiler, which then weighs how many
    programs would share a multiprocessor, and may spread loads out to need fewer. `fuse`: whether
    a product and a sum may be rounded once, as one.
    """

    kernel: str
    arguments: tuple[Argument, ...]
    constants: tuple[tuple[str, Any], ...]
    grid: int
    num_warps: int = 4
    num_stages: int = 2
    max_registers: int = 0
    alignment: int = 1
    partial_bytes: int = 0
    counters: int = 0
    fuse: bool = True

    @property
    def slots(self) -> tuple[Any, ...]:
        """The slots bound per call, each once, in order of first appearance."""
        return tuple(dict.fromkeys(a.slot for a in self.arguments if a.slot is not None))
