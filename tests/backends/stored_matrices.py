"""Matrices of level 2 as LAPACK stores them, what they are, and the verdict on a result.

Whatever a routine must not read or write holds NaN, and must hold it afterwards.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

import tileblas as tb
from tileblas.core.spec import BAND, PACKED
from tileblas.core.storage import shape_of
from tileblas.routines.registry import ROUTINES

SPECS = {name: spec for name, spec in ROUTINES.items() if spec.level == 2 and name != "gemv"}
PRODUCTS = [name for name, spec in SPECS.items() if "beta" in spec.scalars and name != "gemvt"]
TRIANGULAR, SOLVES = ["trmv", "tbmv", "tpmv"], ["trsv", "tbsv", "tpsv"]
LEVEL3 = [name for name, spec in ROUTINES.items() if spec.level == 3 and spec.structure]
UPDATES = [name for name in SPECS if name not in (*PRODUCTS, *TRIANGULAR, *SOLVES, "gemvt")]
WIDE = {
    "float16": "float64",
    "float32": "float64",
    "float64": "longdouble",
    "complex64": "complex128",
    "complex128": "clongdouble",
}
LAYOUTS = ("C", "F", "gaps", "reversed")
SMALL, LARGE = (1, 2, 5), 70
NAN = float("nan")


def each(names):
    """(name, dtype) for all types of the routines that NumPy has."""
    pairs = [(name, dtype) for name in names for dtype in ROUTINES[name].dtypes if dtype in WIDE]
    return pytest.mark.parametrize(("name", "dtype"), pairs)


def cases(name):
    """(size, layout, letters) of calls of a routine, letters by the name of their option."""
    options = [option for option in SPECS[name].options if not option.is_size]
    names = [option.name for option in options]
    every = [
        dict(zip(names, letters, strict=True))
        for letters in itertools.product(*(option.letters for option in options))
    ]
    yield from itertools.product(SMALL, LAYOUTS, every)
    layouts = itertools.cycle(LAYOUTS)
    for letters in every * (1 if len(every) > 2 else 4):
        yield LARGE, next(layouts), letters


# ---- operands -----------------------------------------------------------------------------------


def draw(rng, dtype, *shape):
    """Numbers of which |re| and |im| are at most 1."""
    values = rng.uniform(-1, 1, shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.uniform(-1, 1, shape)
    return values.astype(dtype)


def lay(values, layout):
    """A vector or matrix in that layout, with NaN between its elements and around them."""
    if layout == "F":
        return lay(values.T, "C").T
    step = {"gaps": 2, "reversed": -3}.get(layout, 1)
    steps = (1, *(step,) * values.ndim)[-values.ndim :] if layout == "C" else (step,) * values.ndim
    buffer = np.full([3 * n + 3 for n in values.shape], NAN, values.dtype)
    view = buffer[tuple(slice(None, None, step) for step in steps)]
    view = view[tuple(slice(n) for n in values.shape)]
    view[...] = values
    return view


def gaps_are_whole(view):
    """Whether no number is in the memory of a view but its own."""
    memory = view
    while isinstance(memory.base, np.ndarray):
        memory = memory.base
    return np.isfinite(memory).sum() <= np.isfinite(view).sum()


@dataclass
class Matrix:
    """A matrix as stored, and what it is.

    `read` marks the elements that are read of op(A), or written of an output; `meaning` is op(A)
    in higher precision.
    """

    array: np.ndarray
    read: np.ndarray
    meaning: np.ndarray


def matrix(name, dtype, values, k=0, kl=0, uplo="U", trans="N", diag="N"):
    """The matrix that a routine makes of dense values; `k` and `kl` are the diagonals of a band."""
    spec, (m, n) = SPECS[name], values.shape
    kind = spec.structure
    storage = spec.operand("ap" if "ap" in spec.argument_names else "a").storage
    row, column = np.arange(m)[:, None], np.arange(n)
    ahead = column - row if uplo == "U" else row - column
    reach = k if storage == BAND else max(m, n)
    read = (ahead <= reach) & (ahead >= {"band": -kl, "": -m, "both": -m}.get(kind, 0))
    if kind == "skew" or diag == "U":
        read &= row != column
    meaning = np.where(read, values, 0).astype(WIDE[dtype])
    given = np.where(read, values, NAN).astype(dtype)
    if kind == "hermitian":
        np.fill_diagonal(given.imag, NAN)
        np.fill_diagonal(meaning.imag, 0)
    if diag == "U":
        np.fill_diagonal(meaning, 1)
    if "beta" in spec.scalars:
        strict = np.where(row == column, 0, meaning)
        mirror = {"symmetric": strict.T, "hermitian": strict.conj().T, "skew": -strict.T}
        meaning = meaning + mirror.get(kind, 0)
    array = given
    if storage == PACKED:
        array = given[packed(n, uplo)]
    if storage == BAND:
        above, below = (k, kl) if kind == "band" else (k, 0) if uplo == "U" else (0, k)
        array = banded(given, above, below)
    if trans != "N":
        read, meaning = read.T, meaning.conj().T if trans == "C" else meaning.T
    return Matrix(array, read, meaning)


def packed(n, uplo):
    """(i, j) of a triangle's elements, column by column."""
    j, i = np.nonzero(np.tri(n) if uplo == "U" else np.tri(n).T)
    return i, j


def banded(values, above, below):
    """The diagonals of a matrix as rows, NaN in the corners."""
    array = np.full((above + below + 1, values.shape[1]), NAN, values.dtype)
    for d in range(-below, above + 1):
        if -values.shape[0] < d < values.shape[1]:
            diagonal = values.diagonal(d)
            array[above - d, max(d, 0) : max(d, 0) + len(diagonal)] = diagonal
    return array


def unpacked(array, name, n, uplo="U"):
    """The dense matrix of an output, NaN where a packed one has nothing."""
    if "ap" not in SPECS[name].argument_names:
        return array
    values = np.full((n, n), NAN, array.dtype)
    values[packed(n, uplo)] = array
    return values


# ---- calls --------------------------------------------------------------------------------------


def operands(name, dtype, rng, n=5, batches=None):
    """Random arrays for all arguments of a routine, in order; `batches` are axes before theirs."""
    sizes = {"m": n, "n": n, "k": n, "b": 3}
    arguments = ROUTINES[name].arguments
    return [
        draw(rng, dtype, *batch, *shape_of(arg.axes, sizes))
        for arg, batch in zip(arguments, batches or [()] * len(arguments), strict=True)
    ]


def call(name, arrays, alpha=1, beta=0, **options):
    """The results of a routine as a tuple, by those scalars that it has."""
    scalars = {"alpha": alpha, "beta": beta}
    given = {scalar: scalars[scalar] for scalar in ROUTINES[name].scalars}
    if name == "gbmv":
        options.setdefault("kl", 1)
    found = getattr(tb, name)(*arrays, **given, **options)
    return found if isinstance(found, tuple) else (found,)


# ---- the verdict --------------------------------------------------------------------------------


def abs1(z):
    return np.abs(z.real) + np.abs(z.imag)


def close(found, wanted, gauge, terms):
    """No element is off by more than (terms + 2) eps of its gauge, of a few terms 16 eps."""
    eps = np.finfo(found.dtype).eps
    error = abs1(found.astype(wanted.dtype) - wanted)
    assert (error <= (16 if terms <= 9 else terms + 2) * eps * gauge).all()


def close_combination(found, scalars, op, x, y):
    """`found` is alpha op x + beta y."""
    alpha, beta = (found.dtype.type(scalar).astype(op.dtype) for scalar in scalars)
    wanted = alpha * (op @ x.astype(op.dtype)) + beta * y.astype(op.dtype)
    gauge = abs1(alpha) * (abs1(op) @ abs1(x)) + abs1(beta) * abs1(y)
    close(found, wanted, gauge, op.shape[1])
