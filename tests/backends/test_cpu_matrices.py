"""Level 2 on the CPU: every routine, storage and layout beside sums in higher precision.

Whatever a routine must not read or write holds NaN, and must hold it afterwards.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

import tileblas as tb
from tileblas.backends.cpu_elements import COLUMNS
from tileblas.backends.dispatch import describe, ingest_all
from tileblas.core.operand import CONJ, NEG
from tileblas.core.spec import BAND, PACKED
from tileblas.routines.registry import ROUTINES

SPECS = {name: spec for name, spec in ROUTINES.items() if spec.level == 2 and name != "gemv"}
PRODUCTS = [name for name, spec in SPECS.items() if "beta" in spec.scalars and name != "gemvt"]
TRIANGULAR, SOLVES = ["trmv", "tbmv", "tpmv"], ["trsv", "tbsv", "tpsv"]
UPDATES = [name for name in SPECS if name not in (*PRODUCTS, *TRIANGULAR, *SOLVES, "gemvt")]
WIDE = {
    "float16": "float64",
    "float32": "float64",
    "float64": "longdouble",
    "complex64": "complex128",
    "complex128": "clongdouble",
}
LAYOUTS = ("C", "F", "gaps", "reversed")
SIZES = (1, 2, 5, 70)
BEYOND = COLUMNS + 70  # more than one block, and no multiple of one
NAN, INF = float("nan"), float("inf")


@pytest.fixture(autouse=True)
def cpu():
    with tb.backend("cpu"):
        yield


def each(names):
    """(name, dtype) for all types of the routines that NumPy has."""
    pairs = [(name, dtype) for name in names for dtype in SPECS[name].dtypes if dtype in WIDE]
    return pytest.mark.parametrize(("name", "dtype"), pairs)


# ---- operands -----------------------------------------------------------------------------------


def draw(rng, dtype, *shape):
    """Numbers of which |re| and |im| are at most 1."""
    values = rng.uniform(-1, 1, shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.uniform(-1, 1, shape)
    return values.astype(dtype)


def lay(values, layout):
    """The values with that layout in the last two axes, or one, and NaN between and around them."""
    if layout == "F" and values.ndim > 1:
        return lay(np.swapaxes(values, -1, -2), "C").swapaxes(-1, -2)
    step = {"gaps": 2, "reversed": -3}.get(layout, 1)
    buffer = np.full((*values.shape[:-1], 3 * values.shape[-1] + 3), NAN, values.dtype)
    if layout in ("gaps", "reversed") and values.ndim > 1:
        shape = (*values.shape[:-2], 3 * values.shape[-2] + 3, buffer.shape[-1])
        buffer = np.full(shape, NAN, values.dtype)[..., ::step, :][..., : values.shape[-2], :]
    view = buffer[..., ::step][..., : values.shape[-1]]
    view[...] = values
    return view


def gaps_are_whole(view):
    """Whether all around the view is still NaN: nothing else in its memory is a number."""
    memory = view
    while isinstance(memory.base, np.ndarray):
        memory = memory.base
    return np.isfinite(memory).sum() <= np.isfinite(view).sum()


@dataclass
class Matrix:
    """A matrix as it is stored, and what it is.

    `read` marks the elements that are read of op(A), or written of an output; `meaning` is op(A)
    in higher precision.
    """

    array: np.ndarray
    read: np.ndarray
    meaning: np.ndarray


def matrix(name, dtype, values, k=0, kl=0, uplo="U", trans="N", diag="N"):
    """The matrix that a routine makes of dense values; `k` and `kl` are the diagonals of a band."""
    spec, (m, n) = SPECS[name], values.shape
    kind, storage = (
        spec.structure,
        spec.operand("ap" if "ap" in spec.argument_names else "a").storage,
    )
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
    array = pack(given, kind, storage, uplo, k, kl)
    if trans != "N" and kind != "both":
        read, meaning = read.T, meaning.T
        meaning = meaning.conj() if trans == "C" else meaning
    return Matrix(array, read, meaning)


def columns(n, uplo):
    """(i, j) of a triangle's elements, column by column."""
    j, i = np.nonzero(np.tri(n) if uplo == "U" else np.tri(n).T)
    return i, j


def pack(values, kind, storage, uplo, k, kl):
    """The array that LAPACK has for a matrix."""
    m, n = values.shape
    if storage == PACKED:
        return values[columns(n, uplo)]
    if storage != BAND:
        return values
    above, below = (k, kl) if kind == "band" else (k, 0) if uplo == "U" else (0, k)
    array = np.full((above + below + 1, n), NAN, values.dtype)
    for d in range(-below, above + 1):
        diagonal = values.diagonal(d)
        start = max(d, 0)
        array[above - d, start : start + len(diagonal)] = diagonal
    return array


def unpack(array, name, n, uplo):
    """The dense matrix of a packed one, NaN in the other triangle."""
    if "ap" not in SPECS[name].argument_names:
        return array
    values = np.full((n, n), NAN, array.dtype)
    values[columns(n, uplo)] = array
    return values


def cases(name, sizes=SIZES, layouts=LAYOUTS):
    """(size, layout, letters) of the calls of a routine, letters by the name of their option."""
    options = [option for option in SPECS[name].options if not option.is_size]
    for n, layout in itertools.product(sizes, layouts):
        for letters in itertools.product(*(option.letters for option in options)):
            yield n, layout, dict(zip((o.name for o in options), letters, strict=True))


# ---- verdicts -----------------------------------------------------------------------------------


def abs1(z):
    return np.abs(z.real) + np.abs(z.imag)


def close(found, wanted, gauge, terms):
    """No element is off by more than (terms + 2) eps of its gauge, of a few terms 16 eps."""
    eps = np.finfo(found.dtype).eps
    error = abs1(found.astype(wanted.dtype) - wanted)
    assert (error <= (16 if terms <= 9 else terms + 2) * eps * gauge).all()


# ---- products -----------------------------------------------------------------------------------


@each(PRODUCTS)
def test_products(name, dtype):
    rng = np.random.default_rng(1)
    scalars = itertools.cycle([(1, 0), (0.7, 0.9), (-2, 1), (1, -0.5)])
    for n, layout, letters in cases(name):
        check_product(name, dtype, rng, n, layout, letters, next(scalars))


@pytest.mark.parametrize("name", [name for name in PRODUCTS if not name.startswith("h")])
def test_products_beyond_one_block(name):
    rng = np.random.default_rng(2)
    for n, layout, letters in cases(name, sizes=[BEYOND], layouts="CF"):
        for k in (2, 300) if "b" in name else (0,):
            check_product(name, "float64", rng, n, layout, letters, (0.7, 0.9), k)


def check_product(name, dtype, rng, n, layout, letters, scalars, k=None):
    m, k, kl, more = n, n // 2 if k is None else k, 0, {}
    if name == "gbmv":
        m, kl = n + n // 3, k // 2
        more = {"kl": kl, "m": m}
    alpha, beta = scalars
    a = matrix(name, dtype, draw(rng, dtype, m, n), k, kl, **letters)
    x, y = (draw(rng, dtype, size) for size in a.meaning.shape[::-1])
    given = lay(np.full_like(y, NAN) if beta == 0 else y, layout)
    operands = lay(a.array, layout), lay(x, layout), given
    found = getattr(tb, name)(*operands, alpha=alpha, beta=beta, **letters, **more)
    assert found is given
    assert gaps_are_whole(given)
    wide = a.meaning.dtype
    alpha, beta = (np.dtype(dtype).type(scalar).astype(wide) for scalar in scalars)
    wanted = alpha * (a.meaning @ x.astype(wide)) + beta * y.astype(wide)
    gauge = abs1(alpha) * (abs1(a.meaning) @ abs1(x)) + abs1(beta) * abs1(y)
    close(found, wanted, gauge, a.meaning.shape[1])


@each(TRIANGULAR)
def test_triangular_products(name, dtype):
    rng = np.random.default_rng(3)
    for n, layout, letters in cases(name):
        check_triangular(name, dtype, rng, n, layout, letters)


@pytest.mark.parametrize("name", TRIANGULAR)
def test_triangular_products_beyond_one_block(name):
    rng = np.random.default_rng(4)
    for n, layout, letters in cases(name, sizes=[BEYOND], layouts="CF"):
        check_triangular(name, "float64", rng, n, layout, letters)


def check_triangular(name, dtype, rng, n, layout, letters):
    a = matrix(name, dtype, draw(rng, dtype, n, n), n // 3, **letters)
    x = draw(rng, dtype, n)
    given = lay(x, layout)
    assert getattr(tb, name)(lay(a.array, layout), given, **letters) is given
    assert gaps_are_whole(given)
    close(given, a.meaning @ x.astype(a.meaning.dtype), abs1(a.meaning) @ abs1(x), n)


@each(["gemvt"])
def test_both_products(name, dtype):
    rng = np.random.default_rng(5)
    shapes = [(1, 1), (2, 5), (5, 2), (70, 71), (130, 3), (3, BEYOND)]
    scalars = itertools.cycle([(1, 0), (0.7, 0.9), (-2, 1)])
    for (m, n), layout, trans in itertools.product(shapes, LAYOUTS, "TC"):
        alpha, beta = next(scalars)
        a = draw(rng, dtype, m, n)
        x, w, y, z = (draw(rng, dtype, size) for size in (n, m, m, n))
        given = [lay(v if beta else np.full_like(v, NAN), layout) for v in (y, z)]
        inputs = [lay(v, layout) for v in (a, x, w)]
        found = tb.gemvt(*inputs, *given, alpha=alpha, beta=beta, trans=trans)
        assert found[0] is given[0]
        assert found[1] is given[1]
        wide = np.dtype(WIDE[dtype])
        alpha, beta = (np.dtype(dtype).type(scalar).astype(wide) for scalar in (alpha, beta))
        op = a.astype(wide).T if trans == "T" else a.astype(wide).conj().T
        for target, old, b, v in zip(given, (y, z), (a.astype(wide), op), (x, w), strict=True):
            assert gaps_are_whole(target)
            wanted = alpha * (b @ v.astype(wide)) + beta * old.astype(wide)
            gauge = abs1(alpha) * (abs1(b) @ abs1(v)) + abs1(beta) * abs1(old)
            close(target, wanted, gauge, b.shape[1])


def test_without_a_product_both_vectors_are_scaled():
    """alpha = 0 or an empty side: neither A nor x and w are read."""
    nan = np.full((2, 3), NAN)
    for beta, wanted in ((0, 0), (2, 4)):
        y, z = np.full(2, 2.0 if beta else NAN), np.full(3, 2.0 if beta else NAN)
        tb.gemvt(nan, nan[0], nan[:, 0], y, z, alpha=0, beta=beta)
        np.testing.assert_array_equal([*y, *z], wanted)
        for m, n in ((2, 0), (0, 3)):
            y, z = (np.full(size, 2.0 if beta else NAN) for size in (m, n))
            tb.gemvt(nan[:m, :n], nan[0, :n], nan[:m, 0], y, z, beta=beta)
            np.testing.assert_array_equal([*y, *z], wanted)


# ---- solves -------------------------------------------------------------------------------------


@each(SOLVES)
def test_solves(name, dtype):
    rng = np.random.default_rng(6)
    for n, layout, letters in cases(name):
        values = draw(rng, dtype, n, n)
        np.fill_diagonal(values, values.diagonal() + 2)
        check_solve(name, dtype, rng, values, layout, letters)


@each(["trsv", "tpsv"])
def test_solves_of_ill_conditioned_triangles(name, dtype):
    """Off the diagonal ones of either sign: solutions grow by up to 2 from row to row."""
    rng = np.random.default_rng(7)
    for n, layout, letters in cases(name, sizes=[9, 70], layouts="CF"):
        values = np.sign(rng.uniform(-1, 1, (n, n))).astype(dtype)
        check_solve(name, dtype, rng, values, layout, letters)


@pytest.mark.parametrize("name", SOLVES)
def test_solves_beyond_one_block(name):
    rng = np.random.default_rng(8)
    for n, layout, letters in cases(name, sizes=[BEYOND], layouts="CF"):
        values = draw(rng, "float64", n, n) / n + 2 * np.eye(n)
        check_solve(name, "float64", rng, values, layout, letters)


def check_solve(name, dtype, rng, values, layout, letters):
    n = len(values)
    a, b = matrix(name, dtype, values, n // 3, **letters), draw(rng, dtype, n)
    given = lay(b, layout)
    assert getattr(tb, name)(lay(a.array, layout), given, **letters) is given
    assert gaps_are_whole(given)
    residual = abs1(b.astype(a.meaning.dtype) - a.meaning @ given.astype(a.meaning.dtype))
    gauge = abs1(a.meaning) @ abs1(given)
    assert np.isfinite(gauge).all()
    assert (residual <= (16 if n <= 9 else n + 2) * np.finfo(dtype).eps * gauge).all()


@pytest.mark.parametrize("name", SOLVES)
@pytest.mark.parametrize("size", [5e-324, 1e-310, 1e-150, 1e150, 1.7e308])
@pytest.mark.parametrize("turn", [1, 1j, 1 + 1j, 1 - 0.5j, 1e-5 + 1j])
def test_complex_elements_are_divided_without_overflow(name, size, turn):
    """A number by itself is 1, whatever its size."""
    diagonal = np.array([complex(size * turn.real, size * turn.imag)] * 3)
    a = {"trsv": np.diag(diagonal), "tbsv": diagonal[None], "tpsv": diagonal[[0, 0, 0, 0, 0, 0]]}[
        name
    ]
    x = diagonal.copy()
    if name == "tpsv":
        a = np.zeros(6, complex)
        a[[0, 2, 5]] = diagonal
    with np.errstate(all="raise"):
        getattr(tb, name)(a, x)
    np.testing.assert_allclose(x, 1, rtol=4e-16)


@each(SOLVES)
def test_a_zero_diagonal_divides(name, dtype):
    """As IEEE does: Inf, or NaN for 0 / 0, and no warning."""
    for n in (1, 3):
        a = matrix(name, dtype, np.eye(n), n - 1).array
        a[a == 1] = 0
        with np.errstate(all="raise"):
            x = getattr(tb, name)(a, np.ones(n, dtype))
        assert np.isinf(x[-1])
        assert not np.isfinite(x).any()
        assert np.isnan(getattr(tb, name)(a, np.zeros(n, dtype))).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_subnormal_diagonals_divide(dtype):
    tiny = np.finfo(dtype).smallest_subnormal
    a, x = np.diag(np.full(5, 3 * tiny)), np.full(5, 6 * tiny)
    np.testing.assert_array_equal(tb.trsv(a, x), 2)


# ---- updates ------------------------------------------------------------------------------------


@each(UPDATES)
def test_updates(name, dtype):
    rng = np.random.default_rng(9)
    real = bool(SPECS[name].real_scalars) or np.dtype(dtype).kind != "c"
    alphas = itertools.cycle([1, -0.5, 1.5] if real else [1, 0.5 - 1.5j, -2.0])
    for n, layout, letters in cases(name):
        check_update(name, dtype, rng, (n, n), layout, letters, next(alphas))
    if name.startswith("ge"):
        for shape in ((2, 5), (70, 1), (1, 70), (3, BEYOND), (BEYOND, 3)):
            check_update(name, dtype, rng, shape, "C", {}, next(alphas))


@pytest.mark.parametrize("name", [name for name in UPDATES if "float64" in SPECS[name].dtypes])
def test_updates_beyond_one_block(name):
    rng = np.random.default_rng(10)
    for n, layout, letters in cases(name, sizes=[BEYOND], layouts="CF"):
        check_update(name, "float64", rng, (n, n), layout, letters, 0.7)


def check_update(name, dtype, rng, shape, layout, letters, alpha):
    spec, wide = SPECS[name], np.dtype(WIDE[dtype])
    old = draw(rng, dtype, *shape)
    a = matrix(name, dtype, old, **letters)
    vectors = [
        draw(rng, dtype, size) for size in (shape if len(spec.arguments) == 3 else shape[:1])
    ]
    given = lay(a.array, layout)
    found = getattr(tb, name)(*(lay(v, layout) for v in vectors), given, alpha=alpha, **letters)
    assert found is given
    assert gaps_are_whole(given)
    terms = update_terms(name, np.asarray(alpha).astype(wide), [v.astype(wide) for v in vectors])
    wanted, gauge = a.meaning + sum(terms), abs1(a.meaning) + sum(map(abs1, terms))
    rounded = 0 if dtype != "float16" else np.finfo(dtype).eps
    dense = unpack(given, name, shape[0], letters.get("uplo", "U"))
    assert np.isnan(dense[~a.read]).all()
    if rounded:
        np.testing.assert_array_equal(dense, wanted.astype(np.float32).astype(dtype))
        return
    close(dense[a.read], wanted[a.read], gauge[a.read], 2)
    if spec.structure == "hermitian":
        assert not dense.diagonal().imag.any()
    made = getattr(tb, name)(*vectors, alpha=alpha, **letters)
    made = unpack(made, name, shape[0], letters.get("uplo", "U"))
    close(made[a.read], sum(terms)[a.read], gauge[a.read], 2)
    if "ap" not in spec.argument_names:
        assert not made[~a.read].any()


def update_terms(name, alpha, vectors):
    """What is added to A, by the formula of the routine."""
    x, y = vectors[0], vectors[-1]
    kind = SPECS[name].structure
    if kind == "hermitian" or name == "gerc":
        first = alpha * np.multiply.outer(x, y.conj())
    else:
        first = alpha * np.multiply.outer(x, y)
    if len(vectors) == 1 or not kind:
        return [first]
    if kind == "skew":
        return [-first, first.T]
    return [first, first.conj().T if kind == "hermitian" else first.T]


@each(UPDATES)
def test_updates_by_zero(name, dtype):
    """alpha = 0 leaves A and its Hermitian diagonal as they are; a new A is 0."""
    a = matrix(name, dtype, np.ones((3, 3))).array
    vectors = [np.full(3, NAN, dtype)] * (len(SPECS[name].arguments) - 1)
    before = a.tobytes()
    assert getattr(tb, name)(*vectors, a, alpha=0).tobytes() == before
    assert not getattr(tb, name)(*vectors, alpha=0).any()


# ---- values that are no numbers -----------------------------------------------------------------


def call_of(name, dtype, a, x, y, alpha=1, beta=0, **options):
    """One call with the matrix `a`; returns all results."""
    spec, function = SPECS[name], getattr(tb, name)
    if name in TRIANGULAR + SOLVES:
        return function(a, x, **options)
    if name in UPDATES:
        return function(*(x, y)[: len(spec.arguments) - 1], a, alpha=alpha, **options)
    if name == "gemvt":
        return np.concatenate(function(a, x, x, y, y.copy(), alpha=alpha, beta=beta))
    return function(a, x, y, alpha=alpha, beta=beta, **options)


@each(PRODUCTS + TRIANGULAR)
@pytest.mark.parametrize("n", [5, 70, 200])
def test_nan_in_a_vector_reaches_what_it_multiplies(name, dtype, n):
    """No element that is not there is multiplied, be it by 0."""
    for uplo in "UL" if name != "gbmv" else "U":
        letters = {} if name == "gbmv" else {"uplo": uplo}
        a = matrix(name, dtype, np.ones((n, n)), 2, 1, **letters)
        for at in (0, n // 2, n - 1):
            x = np.ones(n, dtype)
            x[at] = NAN
            more = {"kl": 1} if name == "gbmv" else letters
            found = call_of(name, dtype, a.array, x, np.zeros(n, dtype), **more)
            wanted = a.meaning[:, at] != 0
            np.testing.assert_array_equal(np.isnan(found), wanted)


@each(PRODUCTS + TRIANGULAR)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_nan_in_a_matrix_is_not_hidden_by_zeros(name, dtype, layout):
    for n, at in ((5, 2), (65, 64), (130, 65)):
        values = np.ones((n, n), dtype)
        values[at, at] = NAN
        if "sk" in name:
            values[at - 1, at] = NAN
        a = matrix(name, dtype, values, 2, 1)
        more = {"kl": 1} if name == "gbmv" else {}
        found = call_of(
            name, dtype, lay(a.array, layout), np.zeros(n, dtype), np.zeros(n, dtype), **more
        )
        assert np.isnan(found[at])
        assert np.isnan(found).sum() == (2 if "sk" in name else 1)


@each(UPDATES)
@pytest.mark.parametrize("n", [5, 130])
def test_zeros_multiply_nan_in_updates(name, dtype, n):
    for at, uplo in itertools.product((0, n - 1), "UL"):
        letters = {"uplo": uplo} if "uplo" in SPECS[name].option_names else {}
        a = matrix(name, dtype, np.ones((n, n)), **letters)
        x, y = np.zeros((2, n), dtype)
        x[at] = NAN
        found = unpack(call_of(name, dtype, a.array, x, y, **letters), name, n, uplo)
        row, column = np.arange(n)[:, None], np.arange(n)
        touched = (row == at) if name.startswith("ge") else (row == at) | (column == at)
        np.testing.assert_array_equal(
            np.isnan(found)[a.read],
            touched[a.read]
            if touched.shape == a.read.shape
            else np.broadcast_to(touched, a.read.shape)[a.read],
        )


@each([*PRODUCTS, *UPDATES, "gemvt"])
def test_a_scalar_that_is_nan_makes_all_nan(name, dtype):
    for n in (3, 70):
        scalars = [{"alpha": NAN}]
        if np.dtype(dtype).kind == "c" and not SPECS[name].real_scalars:
            scalars += [{"alpha": complex(0, NAN)}]
        if name in PRODUCTS:
            scalars += [{"beta": NAN}, {"alpha": 0, "beta": NAN}]
        for given in scalars:
            a = matrix(name, dtype, np.ones((n, n)), 1, 1)
            x, y = np.zeros((2, n), dtype)
            more = {"kl": 1} if name == "gbmv" else {}
            found = call_of(name, dtype, a.array, x, y, **given, **more)
            if name in UPDATES:
                found = unpack(found, name, n, "U")[a.read]
            assert np.isnan(found).all()


# ---- batches, lazy bits, copies -----------------------------------------------------------------


@each(SPECS)
def test_batches(name, dtype):
    """Each member is the call of its own."""
    rng = np.random.default_rng(11)
    n, more = 5, {"kl": 1} if name == "gbmv" else {}
    shapes = (2, 1), (3,), (2, 3)
    a_batch, x_batch, y_batch = shapes if name not in UPDATES else shapes[::-1]
    if name in TRIANGULAR + SOLVES:
        x_batch = (2, 3)
    members = [
        matrix(name, dtype, draw(rng, dtype, n, n) + 2 * np.eye(n), 2, 1).array for _ in range(6)
    ]
    a = np.stack(members).astype(dtype)
    a = a[: int(np.prod(a_batch))].reshape(*a_batch, *a.shape[1:])
    x, y = draw(rng, dtype, *x_batch, n), draw(rng, dtype, *y_batch, n)
    kept = [v.copy() for v in (a, x, y)]
    if name == "gemvt":
        found = np.stack(tb.gemvt(a, x, x, y, y.copy(), beta=1))
        wanted = np.stack(
            [
                np.stack(
                    [
                        np.stack(
                            tb.gemvt(
                                kept[0][i, 0],
                                kept[1][j],
                                kept[1][j],
                                kept[2][i, j].copy(),
                                kept[2][i, j].copy(),
                                beta=1,
                            )
                        )
                        for j in range(3)
                    ]
                )
                for i in range(2)
            ]
        )
        np.testing.assert_array_equal(found, np.moveaxis(wanted, 2, 0))
        return
    found = call_of(name, dtype, a, x, y, beta=1, **more)
    whole = [
        np.broadcast_to(v, (2, 3, *v.shape[len(b) :]))
        for v, b in zip(kept, (a_batch, x_batch, y_batch), strict=True)
    ]
    for index in np.ndindex(2, 3):
        one = call_of(name, dtype, *(v[index].copy() for v in whole), beta=1, **more)
        np.testing.assert_array_equal(found[index], one)
