"""Launches of a routine on arrays, as a plan makes them."""

from __future__ import annotations

import numpy as np

from tileblas.arrays.ingest import ingest
from tileblas.core.call import Problem, Scalar
from tileblas.core.canon import canonical, results
from tileblas.core.check import check_shapes
from tileblas.routines.registry import ROUTINES
from tileblas.tuning.table import table

SM_90 = table("sm_90")
REAL, ZERO = Scalar("real", 0.5), Scalar("zero")
KNOBS = {name for _, config in SM_90.rows for name, _ in config.knobs}


def posed(name, arrays, beta=ZERO, numbers=None, flags=(), letters=None) -> Problem:
    """The problem of a call; `numbers` are scalars by name, `flags` lazy bits of the operands.

    `letters` are options by name, the others have their defaults.
    """
    spec = ROUTINES[name]
    operands = [ingest(x) for x in arrays]
    for i, flag in enumerate(flags):
        operands[i] = operands[i]._replace(flags=flag)
    options = {option.name: option.default for option in spec.options} | (letters or {})
    operands += [None] * (len(spec.arguments) - len(operands))
    dims, batch = check_shapes(spec, operands, options)
    made = results(spec, operands, dims, batch, operands[0].dtype)
    scalars = dict.fromkeys(spec.scalars, REAL) | {"beta": beta} | (numbers or {})
    return canonical(spec, operands, made, dims, batch, options, scalars)


def launches(
    name, arrays, alignment=16, beta=ZERO, tables=SM_90, numbers=None, flags=(), letters=None
):
    problem = posed(name, arrays, beta, numbers, flags, letters)
    return ROUTINES[name].plan(problem, tables, alignment)


def one(*args, **kwargs):
    found = launches(*args, **kwargs)
    assert len(found) == 1
    return found[0]


def arrays(name, x):
    """The same vector for all arguments of a routine."""
    return (x,) * len(ROUTINES[name].arguments)


def constants(launch):
    """The constants of a launch by name."""
    return dict(launch.constants)


def value(launch, name):
    """The value of an argument."""
    return next(argument.value for argument in launch.arguments if argument.name == name)


class Virtual(np.ndarray):
    """An array that has no memory to show where a test fails."""

    def __repr__(self):
        return f"<{self.dtype} array of {self.shape}>"


def virtual(dtype, shape, strides):
    """An array of any size over the memory of one element, which no plan touches."""
    steps = [stride * np.dtype(dtype).itemsize for stride in strides]
    return np.lib.stride_tricks.as_strided(np.zeros(1, dtype), shape, steps).view(Virtual)


def vector(n, dtype=np.float64):
    """A vector of any length."""
    return virtual(dtype, (n,), (1,))


def matrix(m, n, dtype=np.float64, order="row"):
    """A matrix of any size that lies by rows or by columns."""
    return virtual(dtype, (m, n), (n, 1) if order == "row" else (1, m))


def packed(n, dtype=np.float64):
    """A packed triangle of order n."""
    return vector(n * (n + 1) // 2, dtype)


def product(name, a, n, **options):
    """The launch of a product of a matrix in any storage with a vector of n elements."""
    return one(name, (a, vector(n, a.dtype)), **options)
