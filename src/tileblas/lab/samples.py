"""Samples of what level 2 writes, and what they must be: sampled rows, in higher precision.

A row of op(A) is made of the elements that are stored, so that one formula serves every structure
and storage. A solution is judged by the residuals of sampled rows.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tileblas.check.evaluation import Expected, Reference, widen
from tileblas.check.oracle import reference
from tileblas.lab.rival_calls import scalars
from tileblas.lab.structures import Matrix, matrix_arg

if TYPE_CHECKING:
    from tileblas.lab.problems import Problem

_ROWS = 1 << 12  # of op(A), at the most
_TERMS = 1 << 22  # multiply-adds that a reference may take
_COLUMNS = 1 << 8  # of a matrix that is updated
_ELEMENTS = 1 << 16  # of a matrix that is updated

#: Of an output: a sample, and what it must be. Made before a call, and called after it.
Sample = Callable[[], tuple[np.ndarray, Expected]]
#: Samples by the output's name.
Sampled = dict[str, Sample]


def sample(n: int, count: int) -> list[int]:
    """Up to `count` indices below n, the first and the last among them."""
    if n <= count:
        return list(range(n))
    return sorted({0, n - 1, *random.Random(n).sample(range(1, n - 1), max(count - 2, 0))})


def fixed(read: Callable[[], np.ndarray], expected: Expected) -> Sample:
    """A sample of which is known before the call what it must be."""
    return lambda: (read(), expected)


def product(problem: Problem) -> Sampled:
    """y := op(A) x."""
    matrix, x = Matrix.of(problem.case), problem.host("x")
    return {"y": _multiplied(problem, matrix, x, "y")}


def both_products(problem: Problem) -> Sampled:
    """y := A x and z := op(A) w."""
    matrix, letter = Matrix.of(problem.case), problem.options["trans"]
    return {
        "y": _multiplied(problem, matrix, problem.host("x"), "y"),
        "z": _multiplied(problem, matrix.transposed(letter), problem.host("w"), "z"),
    }


def product_in_place(problem: Problem) -> Sampled:
    """x := op(A) x."""
    return {"x": _multiplied(problem, Matrix.of(problem.case), problem.host("x").copy(), "x")}


def _multiplied(problem: Problem, matrix: Matrix, x: np.ndarray, output: str) -> Sample:
    """The output is op(A) x."""
    rows = _sampled_rows(matrix)
    expected = _rows_times(problem, matrix, rows, x)
    return fixed(lambda: problem.take(output, rows)[:, None], expected)


def solution(problem: Problem) -> Sampled:
    """x := op(A)^-1 x: what was x is op(A) times what has become of it."""
    matrix = Matrix.of(problem.case)
    rows = _sampled_rows(matrix)
    b = problem.take("x", rows)[:, None]

    def residual() -> tuple[np.ndarray, Reference]:
        found = _rows_times(problem, matrix, rows, problem.host("x"))
        # Of a residual (K + 2) eps are allowed, 16 eps if there are few terms; eps is 2 u.
        allowed = 16 if found.terms <= 9 else found.terms + 2
        return b, replace(found, terms=2 * allowed - 2, quality=None)

    return {"x": residual}


def _sampled_rows(matrix: Matrix) -> list[int]:
    count = matrix.rows if matrix.letter == "N" else matrix.columns
    width = matrix.window(np.arange(1)).size
    return sample(count, min(_ROWS, max(1, _TERMS // width)))


def _rows_times(problem: Problem, matrix: Matrix, rows: list[int], x: np.ndarray) -> Reference:
    """Rows of op(A) times a vector, each a matrix of one element."""
    index = np.array(rows)
    columns = matrix.window(index)
    values = matrix.elements(index[:, None], columns, problem.gather)
    pieces = {"a": values[:, None, :], "x": x[columns]}
    return reference("gemv", pieces, {}, {}, problem.dtype.compute)


def update(problem: Problem) -> Sampled:
    """A := alpha x y^T + A, and what is like it; all else of the array stays as it is."""
    matrix, output = Matrix.of(problem.case), problem.spec.output_name
    columns = sample(matrix.columns, _COLUMNS)
    rows = sample(matrix.rows, _ELEMENTS // len(columns))
    i, j = (index.ravel() for index in np.meshgrid(rows, columns, indexing="ij"))
    stored = matrix.stores(i, j)
    if matrix_arg(problem.case).storage:  # there is nothing else
        i, j, stored = i[stored], j[stored], stored[stored]
    places = matrix.places(i, j)
    old = widen(problem.gather(places))
    changed = stored & (i != j) if matrix.kind == "skew" else stored
    real = stored & (i == j) & (matrix.kind == "hermitian")
    left, right = _factors(problem, i, j)
    pieces = {
        "a": left[:, None, :],
        "b": np.where(changed[:, None], right, 0)[:, :, None],
        "c": np.where(real, old.real, old)[:, None, None],
    }
    numbers = {**scalars(problem.spec), "beta": 1.0}
    expected = reference("gemm", pieces, numbers, {}, problem.dtype.compute)
    expected = replace(expected, real=real[:, None, None] if real.any() else None)
    return {output: fixed(lambda: problem.gather(places)[:, None, None], expected)}


def _factors(problem: Problem, i: np.ndarray, j: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What is multiplied in the update of elements: each sum of products is a row by a row."""
    names = [arg.name for arg in problem.spec.arguments if arg.ndim == 1 and not arg.is_output]
    vectors = [widen(problem.host(name)) for name in names]
    kind = problem.spec.structure
    if kind and len(vectors) == 2:
        x, y = vectors
        left, right = [-x if kind == "skew" else x, y], [y, x]
    else:
        left, right = vectors[:1], vectors[-1:]
    if kind == "hermitian" or problem.spec.conj:
        right = [vector.conj() for vector in right]
    return np.stack([v[i] for v in left], axis=-1), np.stack([v[j] for v in right], axis=-1)
