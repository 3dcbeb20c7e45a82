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
    quiet,
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
    ("n", "lower", "columns", "tiles"),
    [
        (1, True, 8, 4),
        (16, False, 16, 1),
        (32, True, 16, 4),
        (70, False, 8, 4),
        (70, True, 16, 1),
        (140, True, 4, 4),
        (140, False, 16, 4),
        (290, False, 16, 2),
        (300, True, 16, 1),
    ],
)
def test_sizes(n, lower, columns, tiles):
    """Whole and short tiles, strips of which some blocks have fewer; y of NaN is not read."""
    rng = np.random.default_rng(n)
    a = stored(random(rng, "float64", n, n), "symmetric", "", lower, n - 1)
    x, y = random(rng, "float64", n), np.full(n, np.nan)
    result, gauge = expected(mirror(a.values, "symmetric"), wide(x), y, 0.7, None, "float64")
    mirrored_product(a, x, None, y, None, 0.7, kind="symmetric", lower=lower, columns=columns,
                     tiles=tiles)  # fmt: skip
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
    ("dtype", "kind", "m", "n", "columns", "tiles"),
    [
        ("float32", "transpose", 33, 70, 16, 2),
        ("float64", "transpose", 70, 5, 8, 2),
        ("float64", "transpose", 40, 70, 16, 1),
        ("complex64", "adjoint", 48, 37, 16, 2),
        ("complex128", "transpose", 1, 33, 8, 4),
    ],
)
def test_a_matrix_and_its_transpose_have_vectors_of_their_own(dtype, kind, m, n, columns, tiles):
    """gemvt: y := alpha A x + beta y, z := alpha op(A) w + beta z."""
    rng = np.random.default_rng(n)
    a = store(random(rng, dtype, m, n), by_columns=True)
    x, w, y, z = (random(rng, dtype, size) for size in (n, m, m, n))
    full, alpha, beta = wide(a.values), 0.7, -0.3
    turned = full.conj().T if kind == "adjoint" else full.T
    results = [expected(f, wide(v), o, alpha, beta, dtype)
               for f, v, o in ((full, x, y), (turned, w, z))]  # fmt: skip
    mirrored_product(a, x, w, y, z, alpha, beta, kind=kind, columns=columns, tiles=tiles)
    assert_close(y, *results[0], n, dtype)
    assert_close(z, *results[1], m, dtype)


@pytest.mark.parametrize("kind", ["transpose", "adjoint", "hermitian", "symmetric"])
def test_flags_of_complex_operands(kind):
    """Of A conjugated, x and w, minus signs, and scalars that are to be conjugated."""
    rng, n, dtype = np.random.default_rng(5), 20, "complex64"
    alpha, beta = 0.7 - 0.9j, 0.3 + 1j
    values, (x, w, y, z) = random(rng, dtype, n, n), (random(rng, dtype, n) for _ in range(4))
    scalars = {"negate": True, "conj_scalars": True}
    if kind in ("hermitian", "symmetric"):
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


def assert_exceptional(y, full, there, x, dtype):
    """y = A x, where only what is there is multiplied: Inf and NaN in just their rows.

    In rows that are not finite, every Inf has its sign, and both parts of a complex number count.
    """
    with quiet():
        products = np.where(there, full * wide(x), 0)
        result, gauge = products.sum(-1), magnitude(products).sum(-1)
    finite = np.isfinite(result)
    assert_close(y[finite], result[finite], gauge[finite], len(x), dtype)
    for part in ("real", "imag"):
        np.testing.assert_array_equal(getattr(y, part)[~finite], getattr(result, part)[~finite])
    return finite


@pytest.mark.parametrize("lower", [False, True], ids=["upper", "lower"])
@pytest.mark.parametrize(
    ("dtype", "kind", "storage", "tiles"),
    [
        ("float32", "symmetric", "", 2),
        ("float64", "skew", "", 1),
        ("float64", "symmetric", "packed", 4),
        ("complex64", "hermitian", "packed", 1),
        ("complex128", "symmetric", "", 2),
    ],
)
@pytest.mark.parametrize("places", [{36: np.inf}, {0: -np.inf, 35: np.inf}], ids=str)
def test_infinite_elements_of_x_make_no_nan(lower, dtype, kind, storage, tiles, places):
    """All rows meet them, at one place or two; elements that are not there do not."""
    n = 37
    rng = np.random.default_rng(tiles)
    a = stored(random(rng, dtype, n, n), kind, storage, lower, n - 1)
    x, y = random(rng, dtype, n), np.full(n, np.nan, dtype)
    for place, value in places.items():
        x.real[place] = value
    mirrored_product(a, x, None, y, None, kind=kind, lower=lower, columns=16, tiles=tiles)
    there = a.there | a.there.T
    finite = assert_exceptional(y, mirror(a.values, kind), there, x, dtype)
    assert not finite[np.arange(n) != min(places)].any()


@pytest.mark.parametrize("lower", [False, True], ids=["upper", "lower"])
@pytest.mark.parametrize(
    ("dtype", "kind", "reach", "tiles"),
    [
        ("float32", "symmetric", 4, 2),
        ("float64", "skew", 20, 1),
        ("complex64", "hermitian", 17, 2),
        ("complex128", "symmetric", 9, 1),
    ],
)
def test_exceptional_elements_of_x_reach_the_rows_of_a_band(lower, dtype, kind, reach, tiles):
    """Not those that are beyond its end; the imaginary part of x can have them alone."""
    n, places = 70, {0: np.inf, 68: np.nan} | ({31: -np.inf} if reach < 16 else {})
    rng = np.random.default_rng(reach)
    a = stored(random(rng, dtype, n, n), kind, "band", lower, reach)
    x, y = random(rng, dtype, n), np.full(n, np.nan, dtype)
    for place, value in places.items():
        (x.imag if dtype == "complex128" else x.real)[place] = value
    mirrored_product(a, x, None, y, None, kind=kind, lower=lower, reach=reach, columns=16,
                     tiles=tiles)  # fmt: skip
    there = a.there | a.there.T
    finite = assert_exceptional(y, mirror(a.values, kind), there, x, dtype)
    np.testing.assert_array_equal(finite, ~there[:, list(places)].any(1))


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("value", [np.inf, np.nan])
@pytest.mark.parametrize("which", ["x", "w"])
def test_exceptional_elements_of_a_vector_stay_in_its_product(dtype, value, which):
    """gemvt: the other vector's is finite. The last blocks are short, and NaN lies behind them."""
    m, n = 37, 35
    rng = np.random.default_rng(m)
    a = store(random(rng, dtype, m, n), by_columns=True)
    x, w, y, z = (random(rng, dtype, size) for size in (n, m, m, n))
    {"x": x, "w": w}[which].real[[2, -1]] = value
    mirrored_product(a, x, w, y, z, kind="transpose", columns=16)
    full = wide(a.values)
    assert assert_exceptional(y, full, a.there, x, dtype).all() == (which == "w")
    assert assert_exceptional(z, full.T, a.there.T, w, dtype).all() == (which == "x")


@pytest.mark.parametrize("beta", [1.0, 0.5])
@pytest.mark.parametrize("kind", ["symmetric", "transpose"])
def test_a_device_alpha_of_zero_reads_neither_matrix_nor_vector(kind, beta):
    """With beta = 1 y keeps even the sign of its zeros."""
    a = store(np.full((37, 37), np.nan, np.float32), by_columns=True)
    x = np.full(37, np.nan, np.float32)
    y, z = (np.full(37, -0.0, np.float32) for _ in range(2))
    scalars = np.array(0, np.float32), np.array(beta, np.float32)
    both = kind == "transpose"
    mirrored_product(a, x, x if both else None, y, z if both else None, *scalars, kind=kind)
    for output in (y, z):
        assert not output.any()
        assert np.signbit(output).all() or beta != 1 or (output is z and not both)
