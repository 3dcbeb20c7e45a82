"""Launches of a routine on arrays, as a plan makes them."""

from __future__ import annotations

import numpy as np

from tileblas.arrays.ingest import ingest
from tileblas.core.call import Scalar
from tileblas.core.canon import canonical, result_operand
from tileblas.core.check import check_shapes
from tileblas.routines.registry import ROUTINES
from tileblas.tuning.table import table

SM_90 = table("sm_90")
REAL, ZERO = Scalar("real", 0.5), Scalar("zero")
KNOBS = {name for _, config in SM_90.rows for name, _ in config.knobs}


def launches(name, arrays, alignment=16, beta=ZERO, tables=SM_90):
    spec = ROUTINES[name]
    operands = [ingest(x) for x in arrays]
    options = {option.name: "N" for option in spec.options}
    operands += [None] * (len(spec.arguments) - len(operands))
    dims, batch = check_shapes(spec, operands, options)
    made = None
    if spec.operands[spec.output].role == "new" or operands[spec.output] is None:
        axes = spec.operands[spec.output].axes
        shape = (*batch, *(dims[spec.dims.index(axis)] for axis in axes))
        made = result_operand(spec.operands[spec.output], shape, operands[0].dtype)
    scalars = dict(zip(spec.scalars, (REAL, beta), strict=False))
    problem = canonical(spec, operands, made, dims, batch, options, scalars)
    return spec.plan(problem, tables, alignment)


def one(*args, **kwargs):
    found = launches(*args, **kwargs)
    assert len(found) == 1
    return found[0]


def value(launch, name):
    """The value of an argument."""
    return next(argument.value for argument in launch.arguments if argument.name == name)


def virtual(dtype, shape, strides):
    """An array of any size over the memory of one element, which no plan touches."""
    steps = [stride * np.dtype(dtype).itemsize for stride in strides]
    return np.lib.stride_tricks.as_strided(np.zeros(1, dtype), shape, steps)
