"""What the compiler makes of level 2: load widths, spills, shared memory, for every target."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

triton = pytest.importorskip("triton")
pytestmark = pytest.mark.compile

from sass import SHARED_LIMIT, disassembled, spills  # noqa: E402

from tileblas.routines.registry import ROUTINES  # noqa: E402
from tileblas.routines.samples import problems  # noqa: E402
from tileblas.runtime.compile import compile_launch, sass  # noqa: E402
from tileblas.runtime.target import Target  # noqa: E402
from tileblas.tuning.table import table  # noqa: E402

SM_90 = table("sm_90")
WIDTH = {"U8": 8, "U16": 16, "64": 64, "128": 128}


def launch_of(name, dtype, n=4096, tables=SM_90, rows="", **flags):
    """The launch of a sample call of order n, whose rows keep no alignment if "odd"."""
    spec = ROUTINES[name]
    wanted = [
        problem
        for problem, alignment in problems(spec, (dtype,))
        if alignment == 16
        and problem.dims[0] == n == problem.dims[1 if "m" in spec.dims else 0]
        and problem.scalar("beta")[0] != "zero"
        and not (problem.structure and problem.structure.unit)
        and not problem.fresh
    ]
    spread = -1 if rows == "odd" else 0  # rows of the first sample keep 16 bytes, of the last none
    (launch,) = spec.plan(wanted[spread], tables, 16)
    return replace(launch, **flags)


def code(launch, cc=90):
    compiled = compile_launch(launch, Target(cc))
    return disassembled(compiled.cubin, compiled.shared)


def bits(operations, instruction):
    """The widths of global loads or stores, in bits, but of those of the workspace."""
    widths = set()
    for operation in operations:
        name, *modifiers = operation.split(".")
        if name == instruction and "STRONG" not in modifiers:
            widths.add(next((WIDTH[m] for m in modifiers if m in WIDTH), 32))
    return widths


# The tiles were chosen with Triton 3.6. Others spill a few numbers: 3.9 six of trmv for sm_80.
SPARE = 0 if triton.__version__.startswith("3.6.") else 16


@pytest.mark.slow  # together
@pytest.mark.parametrize(
    ("name", "dtype", "n"),
    [
        ("symv", "float32", 1024),
        ("symv", "float32", 16384),
        ("symv", "float64", 1024),
        ("symv", "float64", 16384),
        ("hemv", "complex128", 4096),
        ("gemvt", "float64", 4096),
        ("trmv", "float32", 4096),
        ("trsv", "float32", 4096),
        ("ger", "float32", 4096),
        ("ger", "float64", 4096),
        ("syr2", "float32", 4096),
        ("her2", "complex128", 4096),
    ],
)
def test_matrices_are_loaded_wide_and_nothing_is_spilled(name, dtype, n):
    found = code(launch_of(name, dtype, n)).operations()
    assert 128 in bits(found, "LDG")
    assert spills(found) <= SPARE
    if ROUTINES[name].plan.__name__ == "plan_rank":
        assert 128 in bits(found, "STG")


@pytest.mark.parametrize("name", ["ger", "syr"])
def test_rows_that_are_not_aligned_are_loaded_number_by_number(name):
    found = code(launch_of(name, "float32", rows="odd", alignment=1)).operations()
    assert bits(found, "LDG") == {32}
    assert not spills(found)


def test_packed_triangles_spill_nothing():
    assert not spills(code(launch_of("tpmv", "float32", 1000)).operations())


@pytest.mark.slow  # together
@pytest.mark.parametrize("cc", sorted(set(SHARED_LIMIT) - {90}))
def test_other_targets_fit(cc):
    """One type a kernel: it compiles, and its shared memory fits."""
    tables = table(Target(cc).name)
    cases = [("trmv", "float32"), ("symv", "float64"), ("syr", "complex64"), ("trsv", "float32")]
    for name, dtype in cases:
        found = code(launch_of(name, dtype, tables=tables), cc)
        assert found.shared <= SHARED_LIMIT[cc]
        assert spills(found.operations()) <= SPARE


# ---- sums that lanes exchange ------------------------------------------------------------------

_INSTRUCTION = re.compile(r"\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)\s*(.*?)\s*;")


def products_added_unrounded(compiled) -> list[str]:
    """Instructions that multiply and add at once what another lane has sent."""
    sent: set[int] = set()
    found = []
    for line in sass(compiled).splitlines():
        match = _INSTRUCTION.search(line)
        if not match:
            continue
        name, operands = match.groups()
        registers = [int(number) for number in re.findall(r"\bR(\d+)\b", operands)]
        if name == "SHFL.BFLY":
            sent.add(registers[0])
            continue
        if name in ("FFMA", "DFMA") and sent & set(registers[1:]):
            found.append(line.strip())
        sent -= {register + part for register in registers[:1] for part in range(_width(name))}
    return found


def _width(name: str) -> int:
    """How many registers an instruction writes."""
    sizes = {".128": 4, ".64": 2, ".4": 4, ".2": 2, ".WIDE": 2}
    found = [sizes[part] for part in re.findall(r"\.\w+", name) if part in sizes]
    return max([2 if name.startswith("D") else 1, *found])


@pytest.mark.parametrize(
    ("name", "dtype", "n"),
    [
        ("symv", "float32", 256),
        ("symv", "float64", 256),
        ("hemv", "complex64", 256),
        ("gemvt", "float32", 256),
        ("trmv", "float32", 256),
        ("trsv", "float64", 1024),
    ],
)
def test_lanes_that_add_up_for_each_other_have_the_same_sums(name, dtype, n):
    """a b + (a b of another lane) rounds one product alone: each lane would have its own sum, and
    which of them is stored would be a race. With one row in a thread that is what compilers make of
    a product and a sum."""
    launch = launch_of(name, dtype, n, rows="odd")
    assert products_added_unrounded(compile_launch(launch, Target(90))) == []
