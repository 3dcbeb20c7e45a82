"""Solves in a row: programs wait for messages of each other, and clear them at the end."""

from __future__ import annotations

import numpy as np
import pytest

import tileblas as tb

N = 4096  # strips of it are more than run at a time on a small GPU
ROUNDS = 20


def band(diagonals: int, dtype: str) -> np.ndarray:
    """The lower band of a well-conditioned matrix: a dominant diagonal above all others."""
    rng = np.random.default_rng(diagonals)
    values = rng.uniform(-1, 1, (diagonals, N)) / diagonals
    values[0] = rng.uniform(2, 3, N)
    return values.astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_a_solve_finds_nothing_that_the_one_before_it_left(streamed, dtype):
    """One diagonal alone makes no program wait, but for the last one, which clears all messages."""
    diagonal, wide = (streamed.put(band(k, dtype)) for k in (1, 3))
    b = np.linspace(-1, 1, N).astype(dtype)
    found = []
    for _ in range(ROUNDS):
        tb.tbsv(diagonal, streamed.put(b), uplo="L")
        found.append(tb.tbsv(wide, streamed.put(b), uplo="L"))
    streamed.settle()
    first, *others = (streamed.get(x) for x in found)
    assert all(x.tobytes() == first.tobytes() for x in others)
    residual = first * band(3, dtype)[0]
    for k in (1, 2):
        residual[k:] += band(3, dtype)[k, :-k] * first[:-k]
    np.testing.assert_allclose(residual, b, atol=20 * np.finfo(dtype).eps)


@pytest.mark.parametrize("trans", ["N", "T"], ids=["rows", "columns"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_whoever_waits_the_bits_are_the_same(streamed, dtype, trans):
    """Of a dense triangle most programs are not next in turn: they wait for many messages."""
    rng = np.random.default_rng(1)
    values = rng.uniform(-1, 1, (N, N)) / N + 3 * np.eye(N)
    a = np.tril(values).astype(dtype)
    b = np.linspace(-1, 1, N).astype(dtype)
    triangle = streamed.put(a if trans == "N" else np.ascontiguousarray(a.T))
    options = {"uplo": "L" if trans == "N" else "U", "trans": trans}
    found = [tb.trsv(triangle, streamed.put(b), **options) for _ in range(ROUNDS)]
    streamed.settle()
    first, *others = (streamed.get(x) for x in found)
    assert all(x.tobytes() == first.tobytes() for x in others)
    real = np.finfo(dtype)
    bar = 2 * (N + 2) * real.eps * (np.abs(a).astype(float) @ np.abs(first).astype(float))
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    assert np.all(np.abs(a.astype(wide) @ first.astype(wide) - b) <= bar)
