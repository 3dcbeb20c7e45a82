"""Adapter over Triton, used as a compiler only: a variant in, a checked cubin out.

With kernels/ and the interpreter backend, the only file that imports triton, and only on use.
Needs no GPU, no driver and no torch.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass, field
from typing import Any

from tileblas.routines.launch import Launch
from tileblas.runtime.sources import KERNELS, Kernels
from tileblas.runtime.target import Target
from tileblas.runtime.variant import Variant, variant_of

OLDEST, NEWEST = (3, 6), (3, 9)

# After the kernel's own arguments Triton always appends two pointers: global and profile scratch.
SCRATCH_POINTERS = 2

_BITS = {"i32": 32, "i64": 64, "fp32": 32, "fp64": 64}

# Triton's compiler is not documented to be thread-safe.
_compiler = threading.RLock()


class CompileError(RuntimeError):
    """A kernel could not be compiled, or what came out does not match what would be bound."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """Machine code of one variant and what a launch of it needs."""

    kernel: str
    entry: str
    target: str
    shared: int  # bytes of dynamic shared memory
    threads: int  # of a block
    parameters: tuple[str, ...]  # Triton types of the arguments, without the scratch pointers
    cubin: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Usage:
    """Registers of a thread, and bytes of stack and local memory: any means that it spills."""

    registers: int
    stack: int
    local: int


def compile_launch(launch: Launch, target: Target, kernels: Kernels = KERNELS) -> Compiled:
    """Compile what a launch needs for a target; no cache is asked or filled."""
    return compile_variant(variant_of(launch, target), kernels)


def compile_variant(variant: Variant, kernels: Kernels = KERNELS) -> Compiled:
    """Compile a variant and check its interface against what the runtime binds."""
    with _compiler:
        triton = _supported_triton()
        function = kernels.function(variant.kernel)
        _require_compilable(triton, function, variant)
        _check_parameters(function, variant)
        built = triton.compile(
            _source(function, variant),
            target=_gpu_target(variant.target),
            options=variant.options,
        )
    _check_launchable(built.metadata, variant)
    _check_interface(built.asm["ptx"], built.metadata.name, variant)
    return Compiled(
        kernel=variant.kernel,
        entry=built.metadata.name,
        target=variant.target.name,
        shared=built.metadata.shared,
        threads=32 * built.metadata.num_warps,
        parameters=tuple(type for _, type in variant.arguments),
        cubin=built.asm["cubin"],
    )


def _supported_triton() -> Any:
    try:
        import triton
    except ImportError as error:
        raise CompileError(
            "compiling a kernel needs triton: pip install 'tileblas[cuda13]'"
        ) from error
    version = tuple(int(part) for part in re.findall(r"\d+", triton.__version__)[:2])
    if not OLDEST <= version <= NEWEST:
        raise CompileError(f"triton {triton.__version__} is not supported; have 3.6 to 3.9")
    return triton


def _require_compilable(triton: Any, function: Any, variant: Variant) -> None:
    if not isinstance(function, triton.JITFunction):
        raise CompileError(
            f"{variant.kernel} was imported for Triton's interpreter (TRITON_INTERPRET=1); "
            "a process either interprets or compiles"
        )


def _check_parameters(function: Any, variant: Variant) -> None:
    """The launch must name every parameter of the kernel, its arguments in the kernel's order."""
    constants = [name for name, _ in variant.constants]
    arguments = [name for name, _ in variant.arguments]
    expected = [name for name in function.arg_names if name not in constants]
    unknown = set(constants) - set(function.arg_names)
    if arguments != expected or unknown:
        raise CompileError(
            f"{variant.kernel} takes {function.arg_names}; the launch gives the arguments "
            f"{arguments} and the constants {constants}"
        )


def _source(function: Any, variant: Variant) -> Any:
    names = function.arg_names
    types = dict(variant.arguments)
    return _source_type(function)(
        function,
        signature={name: types.get(name, "constexpr") for name in names},
        constexprs={(names.index(name),): value for name, value in variant.constants},
        attrs={
            (names.index(name),): [["tt.divisibility", divisor]]
            for name, divisor in variant.divisors
        },
    )


def _source_type(function: Any) -> Any:
    """Triton's front end for a kernel: its own, or that of Gluon."""
    from triton.experimental.gluon._runtime import GluonASTSource, GluonJITFunction

    if isinstance(function, GluonJITFunction):
        return GluonASTSource
    from triton.compiler import ASTSource

    return ASTSource


def _gpu_target(target: Target) -> Any:
    from triton.backends.compiler import GPUTarget

    return GPUTarget("cuda", target.arch, 32)


def _check_launchable(metadata: Any, variant: Variant) -> None:
    if metadata.global_scratch_size:
        raise CompileError(
            f"{variant.kernel} needs {metadata.global_scratch_size} bytes of global scratch for "
            "each block; take partial_bytes from the workspace instead"
        )
    if metadata.num_ctas != 1:
        raise CompileError(f"{variant.kernel} uses clusters of {metadata.num_ctas} blocks")


def _check_interface(ptx: str, entry: str, variant: Variant) -> None:
    """The widths of the entry's parameters in the PTX must be those that will be bound."""
    found = _parameter_bits(ptx, entry)
    bound = [64 if type.startswith("*") else _BITS[type] for _, type in variant.arguments]
    bound += [64] * SCRATCH_POINTERS
    if found != bound:
        raise CompileError(
            f"{variant.kernel} was compiled with parameters of {found} bits, but {bound} bits are "
            "bound (arguments, then two scratch pointers): this Triton passes arguments in "
            "another way than the versions 3.6 to 3.9"
        )


def _parameter_bits(ptx: str, entry: str) -> list[int]:
    header = re.search(rf"\.entry\s+{re.escape(entry)}\s*\((.*?)\)", ptx, re.DOTALL)
    if header is None:
        raise CompileError(f"no entry {entry} in the PTX")
    return [int(bits) for bits in re.findall(r"\.param\s+\.[a-z](\d+)", header.group(1))]


def usage(compiled: Compiled) -> Usage:
    """Registers and spilling of a compiled kernel, by Triton's cuobjdump."""
    text = _tool("cuobjdump", compiled, "--dump-resource-usage")
    found = dict(re.findall(r"\b(REG|STACK|LOCAL):(\d+)", text))
    return Usage(*(int(found[name]) for name in ("REG", "STACK", "LOCAL")))


def sass(compiled: Compiled) -> str:
    """The machine code of a compiled kernel as text, by Triton's nvdisasm."""
    return _tool("nvdisasm", compiled, "--print-code")


def _tool(name: str, compiled: Compiled, option: str) -> str:
    import subprocess
    import tempfile

    from triton import knobs

    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(compiled.cubin)
        file.flush()
        command = [getattr(knobs.nvidia, name).path, option, file.name]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout
