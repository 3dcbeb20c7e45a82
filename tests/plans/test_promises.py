"""What launches promise the compiler of addresses and strides is true, whatever the operands."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tileblas.core.call import Scalar
from tileblas.core.canon import canonical, results
from tileblas.core.check import check_shapes, math_axes
from tileblas.core.dtypes import DTYPES
from tileblas.core.operand import Operand, alignment_of
from tileblas.core.spec import PACKED
from tileblas.core.storage import shape_of
from tileblas.routines import binder
from tileblas.routines.launch import POINTER, WORKSPACE
from tileblas.routines.registry import ROUTINES
from tileblas.tuning.table import table

SM_90 = table("sm_90")
STRIDES = (0, 1, -1, 2, -2, 3, 4, 8, -8, 16, -16, 24, 64, 128)
PAGE = 1 << 40  # an address far from all offsets


def operand(choose: random.Random, dtype: str, shape: tuple[int, ...], output: bool) -> Operand:
    """An operand with strides and an address that are anything, 0 strides of outputs aside."""
    row = DTYPES[dtype]
    steps = [step for step in STRIDES if step or not output]
    strides = tuple(choose.choice(steps) if size > 1 else 0 for size in shape)
    if shape and choose.random() < 0.5:  # most operands have a unit stride
        strides = (*strides[:-1], 1)
    address = PAGE + choose.choice((0, 0, 16, 8, row.real_itemsize))
    return Operand(address, row, shape, strides, 0, 0, "", None)


def scalar(choose: random.Random, dtype: str, real: bool) -> Scalar:
    """A number or a device scalar; a complex one keeps complex vectors from being planned as real.

    A device scalar is any element of an array, so at an odd address.
    """
    kinds = ["real", "zero", "real_pointer"]
    if DTYPES[dtype].is_complex and not real:
        kinds += ["complex", "complex_pointer"]
    kind = choose.choice(kinds)
    row = DTYPES[dtype] if kind.startswith("complex") else DTYPES[DTYPES[dtype].real]
    at = PAGE + row.real_itemsize
    on_device = kind.endswith("pointer")
    return Scalar(kind, 0.5, Operand(at, row, (), (), 0, 0, "", None) if on_device else None)


def planned(choose: random.Random, name: str, dtype: str):
    """The launches of a random call, and the addresses of its operands by slot."""
    spec = ROUTINES[name]
    sizes = {axis: choose.choice((1, 2, 7, 64, 100)) for axis in spec.dims}
    letters: dict[str, Any] = {
        option.name: choose.choice(option.letters) for option in spec.options if option.letters
    }
    if "kl" in spec.option_names:  # of gbmv, whose m follows from the vectors
        letters |= {"kl": choose.randrange(sizes["b"]), "m": None}
    batch = tuple(choose.choice((1, 2, 3)) for _ in range(choose.randrange(4)))
    given = [
        operand(choose, dtype, (*batch, *shape_of(math_axes(arg, letters), sizes)), arg.is_output)
        for arg in spec.arguments
    ]
    dims, batch = check_shapes(spec, given, letters)
    made = results(spec, given, dims, batch, DTYPES[dtype])
    assert set(made) == {
        arg.name for arg in spec.operands if arg.role == "new" and arg.exists(DTYPES[dtype])
    }
    scalars = {s: scalar(choose, dtype, s in spec.real_scalars) for s in spec.scalars}
    problem = canonical(spec, given, made, dims, batch, letters, scalars)
    bases = {arg.name: o.pointer for arg, o in zip(spec.arguments, given, strict=True)}
    launches = spec.plan(problem, SM_90, alignment_of(bases.values()))
    numbers = {name: s.operand.pointer for name, s in scalars.items() if s.operand}
    return launches, bases | numbers


@pytest.mark.parametrize(
    ("name", "dtype"), [(name, dtype) for name, spec in ROUTINES.items() for dtype in spec.dtypes]
)
@pytest.mark.parametrize("most", [binder.MAX_GRID, 100], ids=["whole", "in parts"])
def test_every_promise_is_true(name, dtype, most, monkeypatch):
    monkeypatch.setattr(binder, "MAX_GRID", most)
    choose, seen = random.Random(f"{name} {dtype}"), set()
    for _ in range(60):
        launches, bases = planned(choose, name, dtype)
        for launch in launches:
            seen.add(launch.alignment)
            for argument in launch.arguments:
                value = argument.value
                if argument.slot in WORKSPACE or argument.slot not in bases | {None: 0}:
                    continue  # the workspace's own, results that we allocate, numbers
                if argument.kind == POINTER:
                    value = bases[argument.slot] + value[1] * argument.itemsize
                assert value % argument.divisor(launch.alignment) == 0, argument
    # Rotations from numbers are loaded one by one, wherever they lie, as packed triangles are.
    spec = ROUTINES[name]
    if not spec.dims:
        assert seen == {1}
    elif not any(arg.storage == PACKED for arg in spec.operands):
        assert len(seen) > 1
