"""mirrored_kernel in the interpreter: one pass for A x and op(A) w, in extended precision."""

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
from level2_harness import mirror, mirrored_product, store  # noqa: E402


def expected(full, x, y, alpha, beta, dtype, negate=False, conj_scalars=False):
    """(alpha full x + beta y, the gauge of its error)."""
    alpha, beta = (factor(value, dtype, conj_scalars) for value in (alpha, beta))
    result = (-1 if negate else 1) * alpha * (full * x[..., None, :]).sum(-1)
    gauge = magnitude(alpha) * (magnitude(full) * magnitude(x)[..., None, :]).sum(-1)
    if beta != 0:
        result = result + beta * wide(y)
        gauge = gauge + magnitude(beta) * magnitude(y)
    return result, gauge


def stored(values, kind, storage, lower, reach):
    """A triangle that lies by columns, as the kernel wants it: some are stored transposed."""
    below, above = (reach, 0) if lower else (0, reach)
    return store(values, storage, below, above, by_columns=True, diagonal=kind != "skew")


# Tiles are 16 x 16, two in a strip, in these tests; a slice of them has 8 columns or more.
@pytest.mark.parametrize("storage", ["", "band", "packed"])
@pytest.mark.parametrize("lower", [False, True], ids=["upper", "lower"])
@pytest.mark.parametrize(
    ("dtype", "kind", "n", "columns"),
    [
        ("float32", "symmetric", 33, 8),
        ("float64", "skew", 48, 16),
        ("complex64", "hermitian", 37, 16),
        ("complex128", "symmetric", 49, 8),
    ],
)
def test_mirrored_matrices(storage, lower, dtype, kind, n, columns):
    """The other triangle is NaN, as is what is not to be read of a diagonal."""
    rng = np.random.default_rng(n)
    values, x, y = (random(rng, dtype, *shape) for shape in ((n, n), (n,), (n,)))
    if kind == "hermitian":
        i = np.arange(n)
        values[i, i] = values[i, i].real + 1j * np.nan
    reach = n - 1 if storage != "band" else 19
    a = stored(values, kind, storage, lower, reach)
    alpha, beta = (0.7 - 0.2j, 1.1 + 0.3j) if dtype.startswith("complex") else (0.7, 1.1)
    result, gauge = expected(mirror(a.values, kind), wide(x), y, alpha, beta, dtype)
    before = a.memory.copy()
    mirrored_product(a, x, None, y, None, alpha, beta, kind=kind, lower=lower, reach=reach,
                     columns=columns)  # fmt: skip
    assert_close(y, result, gauge, n, dtype)
    assert a.memory.tobytes() == before.tobytes()


@pytest.mark.parametrize(
    ("n", "lower", "columns"),
    [
        (1, True, 8),
        (16, False, 16),
        (32, True, 16),
        (70, False, 8),
        (140, True, 4),
        (140, False, 16),
    ],
)
def test_sizes(n, lower, columns):
    """Whole and short tiles, strips of which some blocks have fewer; y of NaN is not read."""
    rng = np.random.default_rng(n)
    a = stored(random(rng, "float64", n, n), "symmetric", "", lower, n - 1)
    x, y = random(rng, "float64", n), np.full(n, np.nan)
    result, gauge = expected(mirror(a.values, "symmetric"), wide(x), y, 0.7, None, "float64")
    mirrored_product(a, x, None, y, None, 0.7, kind="symmetric", lower=lower, columns=columns,
                     tiles=4)  # fmt: skip
    assert_close(y, result, gauge, n, "float64")


@pytest.mark.parametrize("reach", [0, 1, 16, 17, 33])
def test_bands_that_end_at_any_place_in_a_tile(reach):
    rng = np.random.default_rng(reach)
    for lower in (False, True):
        a = stored(random(rng, "float64", 50, 50), "symmetric", "band", lower, reach)
        x, y = random(rng, "float64", 50), np.full(50, np.nan)
        result, gauge = expected(mirror(a.values, "symmetric"), wide(x), y, 1.0, None, "float64")
        mirrored_product(a, x, None, y, None, kind="symmetric", lower=lower, reach=reach)
        assert_close(y, result, gauge, 50, "float64")


@pytest.mark.parametrize(
    ("dtype", "kind", "m", "n", "columns"),
    [
        ("float32", "transpose", 33, 70, 16),
        ("float64", "transpose", 70, 5, 8),
        ("complex64", "adjoint", 48, 37, 16),
        ("complex128", "transpose", 1, 33, 8),
    ],
)
def test_a_matrix_and_its_transpose_have_vectors_of_their_own(dtype, kind, m, n, columns):
    """gemvt: y := alpha A x + beta y, z := alpha op(A) w + beta z."""
    rng = np.random.default_rng(n)
    a = store(random(rng, dtype, m, n), by_columns=True)
    x, w, y, z = (random(rng, dtype, size) for size in (n, m, m, n))
    full, alpha, beta = wide(a.values), 0.7, -0.3
    turned = full.conj().T if kind == "adjoint" else full.T
    results = [expected(f, wide(v), o, alpha, beta, dtype)
               for f, v, o in ((full, x, y), (turned, w, z))]  # fmt: skip
    mirrored_product(a, x, w, y, z, alpha, beta, kind=kind, columns=columns)
    assert_close(y, *results[0], n, dtype)
    assert_close(z, *results[1], m, dtype)


@pytest.mark.parametrize("kind", ["transpose", "adjoint", "hermitian"])
def test_flags_of_complex_operands(kind):
    """Of A conjugated, x and w, minus signs, and scalars that are to be conjugated."""
    rng, n, dtype = np.random.default_rng(5), 20, "complex64"
    alpha, beta = 0.7 - 0.9j, 0.3 + 1j
    values, (x, w, y, z) = random(rng, dtype, n, n), (random(rng, dtype, n) for _ in range(4))
    scalars = {"negate": True, "conj_scalars": True}
    if kind == "hermitian":
        a = stored(values, kind, "", True, n - 1)
        full = mirror(a.values, kind).conj()
        result, gauge = expected(full, wide(x).conj(), y, alpha, beta, dtype, **scalars)
        mirrored_product(a, x, None, y, None, alpha, beta, kind=kind, lower=True, conj_a=True,
                         conj_x=True, conj_w=True, **scalars)  # fmt: skip
        assert_close(y, result, gauge, n, dtype)
        return
    a = store(values, by_columns=True)
    full = wide(a.values).conj()
    turned = full.conj().T if kind == "adjoint" else full.T
    first = expected(full, wide(x).conj(), y, alpha, beta, dtype, **scalars)
    second = expected(turned, wide(w), z, alpha, beta, dtype, **scalars)
    mirrored_product(a, x, w, y, z, alpha, beta, kind=kind, conj_a=True, conj_x=True, **scalars)
    assert_close(y, *first, n, dtype)
    assert_close(z, *second, n, dtype)


def test_batches_and_vectors_with_steps():
    """Two batch axes; x backwards, y with gaps, NaN all around that stays."""
    rng = np.random.default_rng(6)
    a = stored(random(rng, "float32", 2, 2, 20, 20), "symmetric", "", True, 19)
    full = np.stack([mirror(v, "symmetric") for v in a.values.reshape(4, 20, 20)])
    x, _ = placed(random(rng, "float32", 2, 2, 20), (1, 1, -2))
    y, buffer = placed(random(rng, "float32", 2, 2, 20), (1, 1, 3))
    result, gauge = expected(full.reshape(2, 2, 20, 20), wide(x), y, 1.5, -0.5, "float32")
    before = buffer.copy()
    mirrored_product(a, x, None, y, None, 1.5, -0.5, kind="symmetric", lower=True)
    assert_close(y, result, gauge, 20, "float32")
    assert untouched(buffer, y, before)


@pytest.mark.parametrize("lower", [False, True], ids=["upper", "lower"])
def test_exceptional_elements_reach_their_row_and_their_column_only(lower):
    """Inf in the last row of tiles, which is short: masks add no NaN."""
    values = np.ones((37, 37), np.float32)
    values[36, 2] = values[2, 36] = np.inf
    a = stored(values, "symmetric", "", lower, 36)
    y = np.full(37, np.nan, np.float32)
    mirrored_product(a, np.ones(37, np.float32), None, y, None, kind="symmetric", lower=lower)
    result = np.full(37, 37, np.float32)
    result[[2, 36]] = np.inf
    np.testing.assert_array_equal(y, result)


@pytest.mark.parametrize("beta", [1.0, 0.5])
@pytest.mark.parametrize("kind", ["symmetric", "transpose"])
def test_a_device_alpha_of_zero_reads_neither_matrix_nor_vector(kind, beta):
    """With beta = 1 y keeps even the sign of its zeros."""
    a, x = (
        store(np.full((37, 37), np.nan, np.float32), by_columns=True),
        np.full(37, np.nan, np.float32),
    )
    y, z = (np.full(37, -0.0, np.float32) for _ in range(2))
    scalars = np.array(0, np.float32), np.array(beta, np.float32)
    both = kind == "transpose"
    mirrored_product(
        a,
        x,
        x if both else None,
        y,
        z if both else None,
        *scalars,
        kind=kind,
    )
    for output in (y, z):
        assert not output.any()
        assert np.signbit(output).all() or beta != 1 or (output is z and not both)
