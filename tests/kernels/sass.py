"""Compiles the kernels for a named GPU, without one, and reads the machine code."""

import collections
import re
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

NVDISASM = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "nvdisasm"
ELEMENT = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64"}
ELEMENT |= {"complex64": "fp32", "complex128": "fp64"}
ITEMSIZE = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}
ITEMSIZE |= {"complex64": 8, "complex128": 16}
SHARED_LIMIT = {80: 163 << 10, 89: 99 << 10, 90: 227 << 10, 100: 227 << 10, 120: 99 << 10}

OPERANDS = ("x", "y", "out", "a", "b", "c")
STRIDE = re.compile(r"[abcxy]_(m|n|k|inc|b0|b1)|out_b[01]")
ENCODING = re.compile(r"^(#\w+) = #ttg\.blocked<.*threadsPerWarp = \[([\d, ]+)\]", re.M)
LOAD = re.compile(r"tt\.load .*: tensor<([\dx]+)x!tt\.ptr<\w+>, (#\w+)>")
INSTRUCTION = re.compile(
    r"^\s*/\*([0-9a-f]{4,5})\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)([^;]*);", re.M
)


@dataclass(frozen=True)
class Code:
    """What the compiler made of a kernel."""

    cubin: bytes
    loads: dict[tuple[int, ...], tuple[int, ...]]  # tile loaded: threads of a warp along each axis
    shared: int

    @cached_property  # who asks for shared memory alone need not wait for the machine code
    def instructions(self) -> tuple[tuple[int, str, str], ...]:
        """Address, operation and operands of each instruction."""
        return instructions(self.cubin)

    def loops(self) -> list[collections.Counter]:
        """The operations of each loop, from the target of a backward branch to the branch."""
        found = []
        for address, operation, operands in self.instructions:
            target = re.search(r"0x[0-9a-f]+", operands)
            if operation == "BRA" and target and int(target[0], 16) < address:
                body = range(int(target[0], 16), address)
                found.append(collections.Counter(o for a, o, _ in self.instructions if a in body))
        return found

    def operations(self) -> collections.Counter:
        return collections.Counter(o for _, o, _ in self.instructions)


def spills(operations: collections.Counter) -> int:
    return count(operations, "STL") + count(operations, "LDL")


def count(operations: collections.Counter, prefix: str) -> int:
    """How many operations are `prefix` itself or `prefix` with a modifier."""
    return sum(n for o, n in operations.items() if o == prefix or o.startswith(prefix + "."))


def compiled(
    kernel, dtype, constants, *, cc=90, warps=4, stages=3, registers=0, alignment=16, extents=(),
    partial=None,
):  # fmt: skip
    """The Code of a kernel that is promised the alignment, in bytes, of operands and their rows.

    So it is of the named extents.

    Partial sums are of the compute type, or of the type `partial`.
    """
    element = ELEMENT[dtype]
    compute = "fp64" if element == "fp64" else "fp32"
    types = dict.fromkeys(OPERANDS, "*" + element)
    types |= {"partial": "*" + (partial or compute), "arrived": "*i32"}
    types |= dict.fromkeys(("inner", "splits", "blocks", "row_blocks"), "i32")
    types |= dict.fromkeys(("alpha", "alpha_im", "beta", "beta_im"), compute)
    signature, constexprs, attributes = {}, {}, {}
    for i, name in enumerate(kernel.arg_names):
        if name in constants:
            signature[name], constexprs[(i,)] = "constexpr", constants[name]
            continue
        signature[name] = types.get(name, "i64")
        if signature[name].startswith("*"):
            attributes[(i,)] = [["tt.divisibility", alignment]]
        elif STRIDE.fullmatch(name) or name in extents:
            attributes[(i,)] = [["tt.divisibility", max(1, alignment // ITEMSIZE[dtype])]]
    result = triton.compile(
        ASTSource(kernel, signature, constexprs=constexprs, attrs=attributes),
        target=GPUTarget("cuda", cc, 32),
        options={"num_warps": warps, "num_stages": stages, "enable_fp_fusion": True}
        | ({"maxnreg": registers} if registers else {}),
    )
    return disassembled(result.asm["cubin"], result.metadata.shared, loads(result.asm["ttgir"]))


def disassembled(cubin, shared, spread=None):
    """The Code of a cubin; `spread` is how warps are spread over the tiles that it loads."""
    return Code(cubin, spread or {}, shared)


@cache  # several tests look at the same kernel
def instructions(cubin: bytes) -> tuple[tuple[int, str, str], ...]:
    """The machine code of a cubin, as `cuobjdump -sass` has nvdisasm write it.

    Without its dataflow analysis, which takes a third of its time: it finds where branches go
    whose targets are in registers, and no test follows those.
    """
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        command = [NVDISASM, "-pb", "-novliw", "-ndf", file.name]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = tuple((int(a, 16), o, rest) for a, o, rest in INSTRUCTION.findall(text))
    assert found
    return found


def loads(ttgir):
    """How the threads of a warp are spread over each shape of tile with a blocked layout."""
    threads = {name: tuple(map(int, axes.split(","))) for name, axes in ENCODING.findall(ttgir)}
    return {
        tuple(map(int, shape.split("x"))): threads[encoding]
        for shape, encoding in LOAD.findall(ttgir)
        if encoding in threads
    }


def gemm_constants(
    dtype, blocks, *, a="k", b="n", beta="zero", math="ieee", a_kind="", c_kind="", lower=True
):
    """Constants of gemm_kernel with A contiguous along axis a, B along axis b, C along n."""
    constants = {"a_" + a: 1, "b_" + b: 1, "c_n": 1, "alpha_im": 0, "beta_im": 0}
    if beta == "zero":
        constants["beta"] = 0
    flags = ("CONJ_A", "CONJ_B", "NEGATE", "CONJ_SCALARS")
    constants |= dict.fromkeys(flags, False)
    constants |= {"COMPLEX": dtype.startswith("complex"), "ALPHA_KIND": "real", "BETA_KIND": beta}
    constants |= {"A_KIND": a_kind, "A_LOWER": lower, "C_KIND": c_kind, "C_LOWER": lower}
    block_m, block_n, block_k = blocks
    return constants | {"FRESH": False, "MATH": math, "BLOCK_M": block_m, "BLOCK_N": block_n,
                        "BLOCK_K": block_k, "GROUP_M": 8}  # fmt: skip


def gemv_constants(
    dtype, layout, blocks, *, beta="zero", stages=1, unroll=1, unit=True, policy="", many=True
):
    """Constants of gemv_kernel with A lying by rows, "row", or columns, "col", without gaps."""
    constants = {"a_m" if layout == "col" else "a_n": 1} if unit else {}
    constants |= {"x_inc": 1, "y_inc": 1}
    constants |= {"alpha_im": 0, "beta_im": 0}
    if beta == "zero":
        constants["beta"] = 0
    constants |= dict.fromkeys(("CONJ_A", "CONJ_X", "NEGATE", "CONJ_SCALARS"), False)
    constants |= {"COMPLEX": dtype.startswith("complex"), "ALPHA_KIND": "real", "BETA_KIND": beta}
    block_m, block_n = blocks
    return constants | {"BY_COLUMNS": layout == "col", "UNIT": unit, "POLICY": policy,
                        "BATCHED": many, "SPLIT": many, "BLOCK_M": block_m, "BLOCK_N": block_n,
                        "STAGES": stages, "UNROLL": unroll}  # fmt: skip
