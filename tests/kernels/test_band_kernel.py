"""band_kernel in the interpreter: triangles, bands and mirrored matrices in extended precision."""

import numpy as np
import pytest

pytest.importorskip("triton")
pytest.importorskip("ml_dtypes")
pytestmark = pytest.mark.interpret

from kernel_harness import (  # noqa: E402
    assert_close,
    factor,
    magnitude,
    placed,
    random,
    untouched,
    wide,
)
from level2_harness import band_product, mirror, store  # noqa: E402

STORAGES = ("", "band", "packed")
each_order = pytest.mark.parametrize("by_columns", [False, True], ids=["rows", "columns"])


def check(full, x, y, run, alpha=1.0, beta=None, conj_x=False, **options):
    """y after `run` is alpha full op(x) + beta y; without y that is x, and a product alone."""
    y, dtype = x if y is None else y, x.dtype.name
    alpha = factor(alpha, dtype, options.get("conj_scalars", False))
    beta = factor(beta, dtype, options.get("conj_scalars", False))
    vector = wide(x).conj() if conj_x else wide(x)
    sign = -1 if options.get("negate") else 1
    expected = sign * alpha * (full * vector[..., None, :]).sum(-1)
    gauge = magnitude(alpha) * (magnitude(full) * magnitude(x)[..., None, :]).sum(-1)
    if beta != 0:
        expected = expected + beta * wide(y)
        gauge = gauge + magnitude(beta) * magnitude(y)
    run()
    assert_close(y, expected, gauge, full.shape[-1], dtype)


def multiply(a, x, y, alpha=1.0, beta=None, *, full, **options):
    """Run the kernel and compare it with the product by the `full` matrix."""
    check(
        full, x, y, lambda: band_product(a, x, y, alpha, beta, **options), alpha, beta,
        **{k: v for k, v in options.items() if k in ("conj_x", "negate", "conj_scalars")},
    )  # fmt: skip


def triangle(values, lower, unit=False):
    """One triangle of a matrix, with ones on its diagonal if `unit`."""
    kept = np.tril(wide(values)) if lower else np.triu(wide(values))
    if unit:
        i = np.arange(values.shape[-1])
        kept[..., i, i] = 1
    return kept


# Blocks are 16 rows by 8 columns in these tests.
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("lower", [False, True], ids=["upper", "lower"])
@pytest.mark.parametrize(
    ("dtype", "n", "trans", "unit", "share"),
    [
        ("float32", 20, "N", False, 1),
        ("float64", 34, "T", True, 2),
        ("complex64", 21, "C", False, 2),
        ("complex128", 21, "N", True, 9),
    ],
)
def test_triangles_in_place(storage, lower, dtype, n, trans, unit, share):
    """The other triangle and a unit diagonal are NaN."""
    values = random(np.random.default_rng(n), dtype, n, n)
    x = random(np.random.default_rng(1), dtype, n)
    reach = n - 1 if storage != "band" else 11
    below, above = (reach, 0) if lower else (0, reach)
    a = store(values, storage, below, above, by_columns=n % 2 == 0, diagonal=not unit)
    before = a.memory.copy()
    full = triangle(a.values, lower, unit)
    if trans != "N":
        a, full, below, above = a.transposed, full.T, above, below
    if unit:
        below, above = (below, -1) if below > above else (-1, above)
    conj = trans == "C"
    multiply(a, x, None, full=full.conj() if conj else full, below=below, above=above,
             unit_diag=unit, conj_a=conj, share=share)  # fmt: skip
    assert a.memory.tobytes() == before.tobytes()


@pytest.mark.parametrize(
    ("n", "by_columns"), [(1, False), (5, True), (16, False), (70, True), (140, False)]
)
def test_sizes_of_triangles(n, by_columns):
    rng = np.random.default_rng(n)
    a = store(random(rng, "float64", n, n), "", n - 1, 0, by_columns)
    multiply(a, random(rng, "float64", n), None, full=wide(a.values), below=n - 1, above=0, share=4)


@each_order
@pytest.mark.parametrize(
    ("dtype", "m", "n", "below", "above", "trans"),
    [
        ("float32", 70, 33, 2, 3, "N"),
        ("float64", 33, 70, 20, 0, "N"),
        ("float32", 33, 70, 1, 40, "T"),
        ("complex64", 20, 37, 4, 2, "C"),
        ("complex128", 37, 20, 0, 0, "N"),
    ],
)
def test_bands(by_columns, dtype, m, n, below, above, trans):
    """Wide, tall, one-sided and diagonal ones; y of NaN must not be read."""
    rng = np.random.default_rng(m)
    values, conj = random(rng, dtype, m, n), trans == "C"
    a = store(values, "band", below, above, by_columns)
    full = wide(a.values)
    if trans != "N":
        a, full, below, above = a.transposed, full.T, above, below
    x, y = random(rng, dtype, full.shape[1]), np.full(full.shape[0], np.nan, dtype)
    multiply(a, x, y, 0.7, full=full.conj() if conj else full, conj_a=conj,
             below=below, above=above, share=2)  # fmt: skip


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("lower", [False, True], ids=["upper", "lower"])
@pytest.mark.parametrize(
    ("dtype", "kind", "n"),
    [("float32", "symmetric", 20), ("float64", "skew", 33), ("complex64", "hermitian", 21),
     ("complex128", "symmetric", 20)],
)  # fmt: skip
def test_mirrored_matrices(storage, lower, dtype, kind, n):
    """Each stored element counts for its row and for its column."""
    rng = np.random.default_rng(n)
    values, x, y = (random(rng, dtype, *shape) for shape in ((n, n), (n,), (n,)))
    reach, inner = n - 1 if storage != "band" else 9, -1 if kind == "skew" else 0
    i = np.arange(n)
    if kind == "hermitian":
        values[i, i] = values[i, i].real + 1j * np.nan
    below, above = (reach, 0) if lower else (0, reach)
    a = store(values, storage, below, above, by_columns=lower, diagonal=kind != "skew")
    full = mirror(a.values, kind)
    below, above = (below, inner) if lower else (inner, above)
    alpha, beta = (0.7 - 0.2j, 1.1 + 0.3j) if dtype.startswith("complex") else (0.7, 1.1)
    multiply(a, x, y, alpha, beta, full=full, mirror=kind, below=below, above=above, share=2)


def test_flags_of_complex_operands():
    rng = np.random.default_rng(5)
    a = store(random(rng, "complex64", 20, 20), "band", 3, 2)
    x, y = random(rng, "complex64", 20), random(rng, "complex64", 20)
    multiply(
        a, x, y, 0.7 - 0.9j, 0.3 + 1j, full=wide(a.values).conj(), below=3, above=2, conj_a=True,
        conj_x=True, negate=True, conj_scalars=True,
    )  # fmt: skip


def test_batches_and_vectors_with_steps():
    """Two batch axes; x backwards, y with gaps, NaN all around that stays."""
    rng = np.random.default_rng(6)
    a = store(random(rng, "float32", 2, 2, 20, 20), "band", 3, 2)
    x, _ = placed(random(rng, "float32", 2, 2, 20), (1, 1, -2))
    y, buffer = placed(random(rng, "float32", 2, 2, 20), (1, 1, 3))
    before = buffer.copy()
    multiply(a, x, y, 1.5, -0.5, full=wide(a.values), below=3, above=2)
    assert untouched(buffer, y, before)
    a = store(random(rng, "float32", 2, 2, 20, 20), "packed", 0, 19)
    x, buffer = placed(random(rng, "float32", 2, 2, 20), (1, 1, -2))
    before = buffer.copy()
    multiply(a, x, None, full=wide(a.values), below=0, above=19)
    assert untouched(buffer, x, before)


def test_exceptional_values_reach_their_rows_only():
    """A NaN in x reaches the rows that have its column, whatever the elements there."""
    values = np.zeros((40, 40), np.float32)
    x, y = np.ones(40, np.float32), np.full(40, np.nan, np.float32)
    x[20] = np.nan
    band_product(store(values, "band", 3, 5), x, y, below=3, above=5, share=2)
    assert set(np.flatnonzero(np.isnan(y))) == set(range(15, 24))


@pytest.mark.parametrize("beta", [1.0, 0.5])
def test_a_device_alpha_of_zero_reads_neither_matrix_nor_vector(beta):
    """With beta = 1 y keeps even the sign of its zeros."""
    a = store(np.full((20, 20), np.nan, np.float32), "band", 3, 2)
    x, y = np.full(20, np.nan, np.float32), np.full(20, -0.0, np.float32)
    band_product(a, x, y, np.array(0, np.float32), np.array(beta, np.float32), below=3, above=2)
    assert not y.any()
    assert np.signbit(y).all() or beta != 1
