"""The interpret backend: the real Triton kernels on host memory, in Triton's interpreter.

No GPU and no torch are needed. It is slow (milliseconds a kernel program) and there to show that
kernels are right. bfloat16 memory is passed as its bits: Triton's interpreter gets it wrong.
"""

from __future__ import annotations

import ctypes
import importlib
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tileblas.core.call import Problem, Scalar
from tileblas.core.operand import Operand
from tileblas.core.spec import Spec
from tileblas.routines.launch import Argument, Launch
from tileblas.settings import interpreting
from tileblas.tuning.table import table

# Triton's interpreter keeps the grid of the running kernel in globals.
_one_at_a_time = threading.Lock()


def runner(spec: Spec, problem: Problem) -> Callable[..., None]:
    """The function that runs `problem` on operands given by name."""
    if not interpreting():
        raise RuntimeError(
            "Triton compiles in this process; ask for 'interpret' before it is imported"
        )
    launches = spec.plan(problem, table("interpret"), 1)
    kernels = [_kernel(launch.kernel) for launch in launches]

    def run(operands: Mapping[str, Operand], scalars: Mapping[str, Scalar], stream: object) -> None:
        addresses = {name: operand.pointer for name, operand in operands.items()}
        for launch, kernel in zip(launches, kernels, strict=True):
            # NumPy interprets, and would warn of NaN, Inf and overflow, which IEEE rules allow.
            with _one_at_a_time, np.errstate(all="ignore"):
                _launch(kernel, launch, addresses, scalars)

    return run


def _kernel(name: str) -> Any:
    module, _, function = name.partition(".")
    return getattr(importlib.import_module(f"tileblas.kernels.{module}"), function)


def _launch(
    kernel: Any, launch: Launch, addresses: Mapping[str, int], scalars: Mapping[str, Scalar]
) -> None:
    workspace = {
        "partial": ctypes.create_string_buffer(max(launch.partial_bytes, 16)),
        "arrived": ctypes.create_string_buffer(max(4 * launch.counters, 16)),
    }
    located = {**addresses, **{k: ctypes.addressof(v) for k, v in workspace.items()}}
    bound = {a.name: _bind(a, located, scalars) for a in launch.arguments}
    kernel[(launch.grid,)](**bound, **dict(launch.constants))


def _bind(argument: Argument, addresses: Mapping[str, int], scalars: Mapping[str, Scalar]) -> Any:
    if argument.kind == "pointer":
        slot, offset = argument.value
        return _Pointer(addresses[slot] + offset * argument.itemsize, argument.type)
    if argument.kind in ("fp32", "fp64"):
        name, part = argument.value
        value = complex(scalars[name].value)
        return value.real if part == "re" else value.imag
    return argument.value


class _Pointer:
    """An address as the interpreter's idea of a device tensor: the least that satisfies it."""

    def __init__(self, address: int, pointer_type: str) -> None:
        import triton.language as tl

        self.address = address
        self.dtype = {
            "*fp16": tl.float16,
            "*bf16": tl.uint16,
            "*fp32": tl.float32,
            "*fp64": tl.float64,
            "*i32": tl.int32,
            "*i64": tl.int64,
        }[pointer_type]

    def data_ptr(self) -> int:
        return self.address

    def untyped_storage(self) -> _Pointer:
        return self

    def cpu(self) -> _Pointer:
        return self

    def new_empty(self, *shape: Any, device: Any = None) -> _Pointer:
        return self

    def set_(self, *storage: Any) -> _Pointer:
        return self

    def storage_offset(self) -> int:
        return 0

    def size(self) -> Sequence[int]:
        return (1,)

    def stride(self) -> Sequence[int]:
        return (1,)

    def copy_(self, other: Any) -> _Pointer:
        return self
