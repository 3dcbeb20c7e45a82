"""rank_kernel in the interpreter: updates of matrices and triangles in extended precision."""

import numpy as np
import pytest

pytest.importorskip("triton")
pytest.importorskip("ml_dtypes")
pytestmark = pytest.mark.interpret

from kernel_harness import (  # noqa: E402
    COMPUTE,
    assert_close,
    factor,
    magnitude,
    placed,
    random,
    wide,
)
from level2_harness import rank_update, store  # noqa: E402


def outer(x, y):
    return x[..., :, None] * y[..., None, :]


def product(x, y, alpha, kind):
    """The term that is added to the matrix: alpha x y^T, and for a triangle its other half."""
    if kind == "general":
        return alpha * outer(x, y)
    if y is None:
        return alpha * outer(x, x.conj() if kind == "hermitian" else x)
    if kind == "hermitian":
        return alpha * outer(x, y.conj()) + np.conj(alpha) * outer(y, x.conj())
    sign = -1 if kind == "skew" else 1
    return sign * alpha * outer(x, y) + alpha * outer(y, x)


def check(a, x, y, alpha, kind, fresh=False, **options):
    """Update the matrix and compare it with the formula; what is no element of it must stay."""
    dtype = a.memory.dtype.name
    wide_alpha = factor(alpha, dtype, options.get("conj_scalars", False))
    if options.get("negate"):
        wide_alpha = -wide_alpha
    left, right = (None if v is None else wide(v) for v in (x, y))
    left = left.conj() if options.get("conj_x") else left
    right = right.conj() if options.get("conj_y") else right
    old = np.zeros(a.values.shape) if fresh else wide(a.values)
    added = product(left, right, wide_alpha, kind)
    gauge = 2 * magnitude(wide_alpha) * outer(magnitude(x), magnitude(x if y is None else y))
    if y is not None and kind != "general":
        gauge = gauge + np.swapaxes(gauge, -1, -2)
    gauge = np.where(a.there, gauge + magnitude(old), 0)
    expected = np.where(a.there, old + added, 0)
    if kind == "hermitian":
        i = np.arange(expected.shape[-1])
        expected[..., i, i] = (wide(a.values).real * (not fresh) + added.real)[..., i, i]
    before = a.memory.copy()
    rank_update(x, y, a, alpha, kind=kind, fresh=fresh, **options)
    assert_close(a.values, expected, gauge, 4, dtype)
    if kind == "hermitian":
        assert not a.values[..., i, i].imag.any()
    assert a.nothing_else_changed(before)


# Tiles are 16 x 16 in these tests.
@pytest.mark.parametrize("dtype", list(COMPUTE))
@pytest.mark.parametrize(("m", "n"), [(5, 33), (33, 32), (70, 16), (1, 1)])
def test_general_updates(dtype, m, n):
    """Half types too; rows are longer than the matrix has columns."""
    rng = np.random.default_rng(m)
    x, y = random(rng, dtype, m), random(rng, dtype, n)
    alpha = 0.7 - 0.9j if dtype.startswith("complex") else 0.7
    check(store(random(rng, dtype, m, n)), x, y, alpha, "general")


@pytest.mark.parametrize("storage", ["", "packed"])
@pytest.mark.parametrize("lower", [False, True], ids=["upper", "lower"])
@pytest.mark.parametrize(
    ("dtype", "kind", "rank", "n"),
    [
        ("float32", "symmetric", 1, 33),
        ("complex128", "symmetric", 2, 5),
        ("float64", "skew", 2, 37),
        ("complex64", "hermitian", 1, 33),
        ("complex64", "hermitian", 2, 49),
    ],
)
def test_triangles(storage, lower, dtype, kind, rank, n):
    """The other triangle stays as it is, as does the diagonal of a skew matrix."""
    rng = np.random.default_rng(n)
    x, y = random(rng, dtype, n), random(rng, dtype, n) if rank == 2 else None
    real = kind == "hermitian" and rank == 1
    alpha = 0.7 - 0.9j if dtype.startswith("complex") and not real else 0.7
    check(triangle(random(rng, dtype, n, n), kind, storage, lower), x, y, alpha, kind, lower=lower)


def triangle(values, kind, storage="", lower=False):
    """A triangle that lies by rows: a packed one is stored transposed."""
    n = values.shape[-1]
    if kind == "hermitian":
        i = np.arange(n)
        values[..., i, i] = values[..., i, i].real + 1j * np.nan  # which nobody may use
    options = {"diagonal": kind != "skew"}
    below, above = (n - 1, 0) if lower else (0, n - 1)
    if storage == "packed":
        return store(np.swapaxes(values, -1, -2), storage, above, below, **options).transposed
    return store(values, storage, below, above, **options)


@pytest.mark.parametrize("n", [1, 16, 17, 48, 64, 140])
@pytest.mark.parametrize("lower", [False, True], ids=["upper", "lower"])
def test_every_tile_of_a_triangle_is_updated_once(n, lower):
    """Odd and even numbers of rows of tiles."""
    a = triangle(np.zeros((n, n), np.float32), "symmetric", "", lower)
    rank_update(np.ones(n, np.float32), None, a, kind="symmetric", lower=lower)
    np.testing.assert_array_equal(a.values, a.there.astype(np.float32))


@pytest.mark.parametrize("device", [False, True])
@pytest.mark.parametrize(
    ("kind", "storage"),
    [("general", ""), ("symmetric", ""), ("hermitian", "packed"), ("skew", "")],
)
def test_a_new_matrix_has_no_old_value(kind, storage, device):
    """Its memory is NaN before; of a dense one the other triangle becomes 0."""
    n, dtype = 37, "complex64" if kind == "hermitian" else "float32"
    rng = np.random.default_rng(n)
    a = triangle(np.full((n, n), np.nan, dtype), kind, storage)
    if kind == "general":
        a = store(np.full((n, n), np.nan, dtype))
    x, y = random(rng, dtype, n), random(rng, dtype, n)
    alpha = np.array(0.5, np.float32) if device else 0.5
    rank_update(x, y, a, alpha, kind=kind, fresh=True)
    added = product(wide(x), wide(y), 0.5, kind)
    upper = np.triu(np.ones((n, n), bool), kind == "skew") | (kind == "general")
    dense = a.memory[a.at] if storage else a.memory[: n * (n + 3)].reshape(n, n + 3)[:, :n]
    found = np.where(upper, dense, 0) if storage else dense
    gauge = 2 * outer(magnitude(x), magnitude(y))
    assert_close(found, np.where(upper, added, 0), gauge + gauge.T, 4, dtype)


def test_flags_of_complex_operands():
    rng, alpha, n = np.random.default_rng(5), 0.7 - 0.9j, 20
    x, y = random(rng, "complex64", n), random(rng, "complex64", n)
    flags = {"negate": True, "conj_scalars": True, "conj_x": True}
    check(store(random(rng, "complex64", n, n)), x, y, alpha, "general", conj_y=True, **flags)
    both = {"conj_x": True, "conj_y": True}
    x_conj, y_conj = x.conj(), y.conj()
    matrices = [triangle(random(np.random.default_rng(6), "complex64", n, n), "hermitian")
                for _ in range(2)]  # fmt: skip
    rank_update(x, y, matrices[0], alpha, kind="hermitian", **both)
    check(matrices[1], x_conj, y_conj, alpha, "hermitian")
    np.testing.assert_array_equal(matrices[0].values, matrices[1].values)


def test_batches_and_vectors_with_steps():
    rng = np.random.default_rng(6)
    x, _ = placed(random(rng, "float32", 2, 2, 20), (1, 1, -2))
    y, _ = placed(random(rng, "float32", 2, 2, 20), (1, 1, 3))
    check(store(random(rng, "float32", 2, 2, 20, 20)), x, y, 1.5, "general")
    a = triangle(random(rng, "float32", 2, 2, 20, 20), "symmetric", "packed", True)
    check(a, x, y, 1.5, "symmetric", lower=True)


@pytest.mark.parametrize("kind", ["general", "symmetric"])
def test_no_zero_is_skipped_but_an_alpha_of_zero(kind):
    """0 NaN is NaN; alpha = 0 on the device leaves all as it is, and a new matrix is 0."""
    n = 20
    x, y = np.zeros(n, np.float32), np.zeros(n, np.float32)
    y[3] = np.nan
    ones = np.ones((n, n), np.float32)
    a = store(ones, "", 0 if kind == "symmetric" else n - 1)
    rank_update(x, y, a, kind=kind)
    reached = np.zeros((n, n), bool)
    reached[:, 3] = True
    if kind == "symmetric":
        reached[3] = True
    np.testing.assert_array_equal(np.isnan(a.values), reached & a.there)
    for fresh in (False, True):
        a = store(ones, "", 0 if kind == "symmetric" else n - 1)
        rank_update(x * np.nan, y, a, np.array(0, np.float32), kind=kind, fresh=fresh)
        np.testing.assert_array_equal(a.values, a.there & (not fresh))
