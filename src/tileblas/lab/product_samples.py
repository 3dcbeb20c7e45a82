"""Samples of what level 3 writes, and what they must be: rows by columns, in higher precision."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tileblas.check.evaluation import Reference, abs1, transposed, widen
from tileblas.check.oracle import reference
from tileblas.lab.samples import Sampled, fixed, sample
from tileblas.lab.structures import Matrix

if TYPE_CHECKING:
    from tileblas.lab.problems import Problem

_ROWS = 4
_TERMS = 1 << 24  # multiply-adds that a reference may take


def product(problem: Problem) -> Sampled:
    """C := A B for an A of which one triangle is stored, or one triangle of C := op(A) op(B)."""
    return (_sided if "side" in problem.options else _triangle)(problem)


def _sided(problem: Problem) -> Sampled:
    """C := A B, or B A, for a matrix A of which one triangle is stored."""
    rows, columns = _sampled(*problem.case.dims)
    matrix, along = Matrix.of(problem.case), np.arange(problem.case.sizes["k"])
    if problem.options["side"] == "L":
        a = matrix.elements(np.array(rows)[:, None], along, problem.gather)
        b = problem.take("b", columns, axis=1)
    else:
        a = problem.take("b", rows)
        b = matrix.elements(along[:, None], np.array(columns), problem.gather)
    expected = _multiplied(problem, a, b)
    return {"c": fixed(lambda: _block(problem, rows, columns), expected)}


def _triangle(problem: Problem) -> Sampled:
    """C := op(A) op(B), or op(A) op(A)^T, in one triangle; the other one stays as it is."""
    n, k = problem.case.dims
    rows, columns = _sampled(n, n, k)
    # On the diagonal and beside it one triangle ends and the other begins.
    near = {i + step for i in rows for step in (-1, 0, 1)}
    columns = sorted({*columns, *(j for j in near if 0 <= j < n)})
    i, j = np.ix_(rows, columns)
    kind = problem.spec.structure
    written = Matrix.of(problem.case).stores(i, j) & ((kind != "skew") | (i != j))
    old = widen(_block(problem, rows, columns))
    found = _multiplied(problem, *_factors(problem, rows, columns))
    real = written & (i == j) & (kind == "hermitian")
    value, tail = (np.where(real, part.real, part) for part in (found.value, found.tail))
    expected = replace(
        found,
        value=np.where(written, value, old),
        tail=np.where(written, tail, 0),
        gauge=np.where(written, found.gauge, 0),
        reach=np.where(written, found.reach, abs1(old)),
        real=real if real.any() else None,
    )
    return {"c": fixed(lambda: _block(problem, rows, columns), expected)}


def _sampled(m: int, n: int, k: int) -> tuple[list[int], list[int]]:
    """Rows and columns of C, whose sums have k terms."""
    rows = sample(m, _ROWS)
    return rows, sample(n, max(1, _TERMS // (len(rows) * k)))


def _block(problem: Problem, rows: list[int], columns: list[int]) -> np.ndarray:
    """The elements of C in these rows and columns."""
    return problem.take("c", rows)[:, columns]


def _multiplied(problem: Problem, a: np.ndarray, b: np.ndarray) -> Reference:
    """Rows by columns."""
    return reference("gemm", {"a": a, "b": b}, {}, {}, problem.dtype.compute)


def _factors(
    problem: Problem, rows: list[int], columns: list[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the first factor, and columns of the second one."""
    spec, options = problem.spec, problem.options
    if not spec.partner:
        b = problem.take("b", columns, axis=int(options["trans_b"] == "N"))
        b = transposed(widen(b), options["trans_b"])
        return _rows(problem, "a", options["trans_a"], rows), b
    names = [name for name in problem.operands if name != "c"]
    left, right = names[:1], names[-1:]
    if spec.twice:  # two products are one, of factors side by side
        left, right = names, names[::-1]
    first = [_rows(problem, name, options["trans"], rows) for name in left]
    second = [_rows(problem, name, options["trans"], columns) for name in right]
    if spec.structure == "skew":
        first[0] = -first[0]
    turned = "C" if spec.partner == "adjoint" else "T"
    return np.concatenate(first, axis=1), transposed(np.concatenate(second, axis=1), turned)


def _rows(problem: Problem, name: str, letter: str, index: list[int]) -> np.ndarray:
    """Rows of op(X)."""
    return transposed(widen(problem.take(name, index, axis=int(letter != "N"))), letter)
