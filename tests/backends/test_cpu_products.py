"""Products of level 3 on the CPU: each structure, layout and letter beside wider sums."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from stored_matrices import (
    LAYOUTS,
    LEVEL3,
    NAN,
    WIDE,
    abs1,
    call,
    close,
    draw,
    each,
    gaps_are_whole,
    lay,
)

import tileblas as tb
from tileblas.backends import blas_pointers, cpu_products
from tileblas.routines.registry import ROUTINES

SIDED = [name for name in LEVEL3 if "side" in ROUTINES[name].option_names]
TRIANGLES = [name for name in LEVEL3 if name not in SIDED]
RANK = [name for name in TRIANGLES if name not in ("gemmtr", "syrk", "herk")]
TWICE = [name for name in RANK if name.endswith("2k")]
HERMITIAN = [name for name in TRIANGLES if ROUTINES[name].structure == "hermitian"]
SIZES = ((1, 1), (2, 5), (5, 2), (35, 6))

each_way = pytest.mark.usefixtures("way")


def every_letter(name, dtype):
    """The options of each call of a routine."""
    is_complex = np.dtype(dtype).kind == "c"
    options = ROUTINES[name].options
    letters = [(is_complex and option.complex_letters) or option.letters for option in options]
    names = [option.name for option in options]
    return [dict(zip(names, chosen, strict=True)) for chosen in itertools.product(*letters)]


def every_scalar(name, dtype):
    """alpha and beta, one pair after the other without end."""
    pairs = [(1, 0), (0.7, 0.9), (-2, 1), (1, -0.5)]
    real = ROUTINES[name].real_scalars
    if np.dtype(dtype).kind == "c" and "alpha" not in real:
        pairs += [(0.3 - 2j, 0.5), (1j, 1)]
        pairs += [] if "beta" in real else [(1.5, 0.5 - 1j), (1j, 1 + 0j)]
    return itertools.cycle(pairs)


def in_triangle(n, uplo):
    keep = np.tri(n, dtype=bool)
    return keep if uplo == "L" else keep.T


def structured(name, values, uplo):
    """(A as stored, A): NaN is whatever must not be read."""
    kind, n = ROUTINES[name].structure, len(values)
    there = in_triangle(n, uplo) & ((kind != "skew") | ~np.eye(n, dtype=bool))
    stored = np.where(there, values, NAN).astype(values.dtype)
    wide = np.where(there, values, 0).astype(WIDE[values.dtype.name])
    if kind == "hermitian":
        np.fill_diagonal(stored.imag, NAN)
        np.fill_diagonal(wide.imag, 0)
    strict = np.where(np.eye(n, dtype=bool), 0, wide)
    mirrored = {"symmetric": strict.T, "hermitian": strict.conj().T, "skew": -strict.T}
    return stored, wide + mirrored[kind]


def turned(values, letter):
    return {"N": values, "T": values.T, "C": values.conj().T}[letter]


def sided(name, dtype, rng, order, other, side, uplo):
    """(arrays, left factor, right factor) of a product with a structured matrix."""
    stored, a = structured(name, draw(rng, dtype, order, order), uplo)
    shape = (order, other) if side == "L" else (other, order)
    b = draw(rng, dtype, *shape)
    wide = b.astype(a.dtype)
    return [stored, b], *((a, wide) if side == "L" else (wide, a))


def square(name, dtype, rng, n, k, trans="N", trans_a="N", trans_b="N", **_):
    """(arrays, left factor, right factor) of a product of which one triangle is computed."""
    if name == "gemmtr":
        left, right = draw(rng, dtype, n, k), draw(rng, dtype, k, n)
        arrays = [turned(left, trans_a), turned(right, trans_b)]
        return arrays, left.astype(WIDE[dtype]), right.astype(WIDE[dtype])
    a = draw(rng, dtype, n, k)
    b = draw(rng, dtype, n, k) if name in RANK else a
    arrays = [turned(a, trans), turned(b, trans)] if name in RANK else [turned(a, trans)]
    wide = b.astype(WIDE[dtype])
    return arrays, a.astype(wide.dtype), turned(wide, "C" if name in HERMITIAN else "T")


def factors(name, dtype, rng, n, k, letters):
    if name in SIDED:
        return sided(name, dtype, rng, n, k, **letters)
    return square(name, dtype, rng, n, k, **letters)


def written(name, shape, letters):
    """Which elements of C are computed."""
    if name in SIDED:
        return np.ones(shape, bool)
    keep = in_triangle(shape[0], letters["uplo"])
    return keep & ~np.eye(len(keep), dtype=bool) if ROUTINES[name].structure == "skew" else keep


# ---- values -------------------------------------------------------------------------------------


@each_way
@each(LEVEL3)
def test_products(name, dtype):
    rng, scalars = np.random.default_rng(1), every_scalar(name, dtype)
    layouts = itertools.cycle(itertools.product(LAYOUTS, repeat=3))
    for (n, k), letters in itertools.product(SIZES, every_letter(name, dtype)):
        arrays, left, right = factors(name, dtype, rng, n, k, letters)
        for _ in range(9):
            check_product(name, rng, arrays, left, right, letters, next(layouts), next(scalars))


def check_product(name, rng, arrays, left, right, letters, layouts, scalars):
    """Into a given C, of which NaN is what must not be read; it may be changed nowhere else."""
    dtype, (alpha, beta) = arrays[0].dtype, scalars
    c = draw(rng, dtype, left.shape[0], right.shape[1])
    keep = written(name, c.shape, letters)
    start = np.where(keep & (beta != 0), c, NAN).astype(dtype)
    if name in HERMITIAN:
        np.fill_diagonal(start.imag, NAN)
        np.fill_diagonal(c.imag, 0)
    *places, last = layouts
    inputs = [lay(array, place) for array, place in zip(arrays, places, strict=False)]
    given = lay(start, last)
    found = getattr(tb, name)(*inputs, given, alpha=alpha, beta=beta, **letters)
    assert found is given
    assert gaps_are_whole(given)
    assert np.isnan(given[~keep]).all()
    check_values(name, given, keep, left, right, c, scalars)
    if name in HERMITIAN:
        assert not given.diagonal().imag.any()


def check_values(name, found, keep, left, right, c, scalars):
    alpha, beta = (found.dtype.type(scalar).astype(left.dtype) for scalar in scalars)
    terms = [(alpha, left, right)]
    if name in TWICE:
        letter = "C" if name in HERMITIAN else "T"
        terms = [(-alpha if name == "skewsyr2k" else alpha, left, right)]
        second = alpha.conj() if name in HERMITIAN else alpha
        terms.append((second, turned(right, letter), turned(left, letter)))
    wanted, gauge = beta * c, abs1(beta) * abs1(c)
    for factor, u, v in terms:
        wanted = wanted + factor * (u @ v)
        gauge = gauge + abs1(factor) * (abs1(u) @ abs1(v))
    if name in HERMITIAN:  # of one product whatever the caller makes of it
        np.fill_diagonal(wanted.imag, 0)
    close(found[keep], wanted[keep], gauge[keep], left.shape[1] * len(terms))


@each_way
@each(LEVEL3)
def test_new_results_are_0_in_the_other_triangle(name, dtype):
    rng = np.random.default_rng(2)
    for (n, k), letters in itertools.product(SIZES, every_letter(name, dtype)):
        arrays, left, right = factors(name, dtype, rng, n, k, letters)
        found = call(name, arrays, 0.5, **letters)[0]
        keep = written(name, found.shape, letters)
        assert not found[~keep].any()
        check_values(name, found, keep, left, right, np.zeros(found.shape), (0.5, 0))


@pytest.mark.parametrize("name", LEVEL3)
def test_products_beyond_one_square(name):
    rng, n = np.random.default_rng(3), 2 * cpu_products.SQUARE + 7
    dtype = ROUTINES[name].dtypes[-1]
    for letters in every_letter(name, dtype)[::3]:
        arrays, left, right = factors(name, dtype, rng, n, 9, letters)
        with tb.backend("cpu"):
            check_product(name, rng, arrays, left, right, letters, "CFC", (0.7, 0.9))
            check_product(name, rng, arrays, left, right, letters, "CCC", (0.7, 0.9))


# ---- values that are no numbers -----------------------------------------------------------------


@each_way
@each(LEVEL3)
def test_nan_reaches_what_it_multiplies(name, dtype):
    """Zeros do not hide it, and the diagonal of a skew matrix, which is not there, does not meet
    it."""
    rng = np.random.default_rng(4)
    for n, letters in itertools.product((5, 35), every_letter(name, dtype)):
        arrays, _, _ = factors(name, dtype, rng, n, 4, letters)
        last = arrays[-1]
        last[...] = 0
        last[1, 2] = NAN
        if name in SIDED:
            met = np.zeros(last.shape, bool)
            if letters["side"] == "L":
                met[:, 2] = True
                met[1, 2] = name != "skewsymm"
            else:
                met[1, :] = True
                met[1, 2] = name != "skewsymm"
        elif name == "gemmtr":
            at = 2 if letters["trans_b"] == "N" else 1
            met = np.zeros((n, n), bool)
            met[:, at] = True
        else:
            at = 1 if letters["trans"] == "N" else 2
            met = np.zeros((n, n), bool)
            met[:, at] = True
            met[at] |= name not in ("syrkx", "herkx")
        found = call(name, arrays, **letters)[0]
        keep = written(name, found.shape, letters)
        np.testing.assert_array_equal(np.isnan(found[keep]), met[keep])


@each_way
@each(LEVEL3)
def test_nan_in_a_stored_matrix_reaches_what_it_multiplies(name, dtype):
    rng = np.random.default_rng(5)
    for n, uplo in itertools.product((5, 35), "UL"):
        letters = every_letter(name, dtype)[0] | {"uplo": uplo}
        arrays, _, _ = factors(name, dtype, rng, n, n, letters)
        i, j = (1, 3) if uplo == "U" else (3, 1)
        arrays[0][i, j] = NAN
        arrays[-1 if len(arrays) > 1 else 0][:, 0] = 0
        met = np.zeros((n, n), bool)
        met[i] = True
        if name not in (
            "gemmtr",
            "syrkx",
            "herkx",
        ):  # the mirror image too, or what is multiplied with itself
            met[j] |= name in SIDED
            met[:, i] |= name not in SIDED
        found = call(name, arrays, **letters)[0]
        keep = written(name, found.shape, letters)
        np.testing.assert_array_equal(np.isnan(found[keep]), met[keep])


@each_way
@each(LEVEL3)
def test_a_scalar_that_is_nan_makes_all_nan(name, dtype):
    scalars = [{"alpha": NAN}, {"beta": NAN}, {"alpha": 0, "beta": NAN}]
    if np.dtype(dtype).kind == "c":
        real = ROUTINES[name].real_scalars
        scalars += [{s: complex(0, NAN)} for s in ("alpha", "beta") if s not in real]
    for given, uplo in itertools.product(scalars, "UL"):
        c = np.zeros((5, 5), dtype)
        arrays = [np.zeros((5, 5), dtype) for _ in ROUTINES[name].arguments[:-1]]
        call(name, (*arrays, c), uplo=uplo, **{"beta": 2, **given})
        keep = written(name, c.shape, {"uplo": uplo})
        assert np.isnan(c[keep]).all()
        assert not c[~keep].any()


@each_way
@each(LEVEL3)
def test_alpha_0_reads_no_factor(name, dtype):
    c = np.full((5, 5), 2, dtype)
    if name in HERMITIAN:
        np.fill_diagonal(c.imag, NAN)
    arrays = [np.full((5, 5), NAN, dtype) for _ in ROUTINES[name].arguments[:-1]]
    keep = written(name, c.shape, {"uplo": "U"})
    call(name, (*arrays, c), alpha=0, beta=1)
    assert np.isnan(c.diagonal().imag).all() == (name in HERMITIAN)  # it stays as it is
    call(name, (*arrays, c), alpha=0, beta=3)
    np.testing.assert_array_equal(c, np.where(keep, 6, 2))
    c[keep] = NAN
    call(name, (*arrays, c), alpha=0, beta=0)
    np.testing.assert_array_equal(c, np.where(keep, 0, 2))
    assert not call(name, arrays, alpha=0)[0].any()


@each_way
@each(TRIANGLES)
def test_an_empty_sum_leaves_beta_c(name, dtype):
    left, right = np.ones((5, 0), dtype), np.ones((0, 5), dtype)
    arrays = [left, right] if name == "gemmtr" else [left] * (len(ROUTINES[name].arguments) - 1)
    keep = written(name, (5, 5), {"uplo": "L"})
    for layout in LAYOUTS:
        c = lay(np.full((5, 5), 2, dtype), layout)
        call(name, (*arrays, c), beta=0.5, uplo="L")
        np.testing.assert_array_equal(c, np.where(keep, 1, 2))
        call(name, (*arrays, c), alpha=NAN, beta=0, uplo="L")
        np.testing.assert_array_equal(c, np.where(keep, 0, 2))
    assert not call(name, arrays)[0].any()


@each_way
@pytest.mark.parametrize("name", ["symm", "hemm", "syrk", "gemmtr", *RANK[:-1]])
def test_a_real_beta_scales_the_parts_of_complex_numbers(name):
    """As a complex number it would make a NaN of 0 Inf."""
    a, c = np.ones((3, 3), "D"), np.full((3, 3), complex(np.inf, 1))
    call(name, [a] * (len(ROUTINES[name].arguments) - 1) + [c], beta=0.5)
    assert c[0, 2] == complex(np.inf, 0.5)


# ---- what is called, what is copied -------------------------------------------------------------


@pytest.fixture
def called(monkeypatch):
    """The names of the routines of BLAS that are called, beside gemm."""
    names, by_name = [], blas_pointers.by_name
    monkeypatch.setattr(
        blas_pointers, "by_name", lambda *given: (names.append(given[0]), by_name(*given))
    )
    with tb.backend("cpu"):
        yield names


@each(["symm", "hemm", "syrk", "herk", "syr2k", "her2k"])
def test_blas_has_what_it_can_take(name, dtype, called):
    """All that lies by rows or by columns, whichever letters."""
    rng = np.random.default_rng(6)
    for order, letters in itertools.product("CF", every_letter(name, dtype)):
        arrays, left, right = factors(name, dtype, rng, 5, 4, letters)
        c = np.zeros((left.shape[0], right.shape[1]), dtype, order)
        call(name, [*(np.asarray(a, order=order) for a in arrays), c], alpha=2, beta=1, **letters)
        assert called.pop() == name


@pytest.mark.parametrize("name", ["syrk", "herk", "syr2k", "her2k"])
def test_no_blas_sees_what_another_would_leave_out(name, called):
    a = np.zeros((3, 3), ROUTINES[name].dtypes[-1])
    arrays = [np.zeros_like(a) for _ in ROUTINES[name].arguments[2:]] + [a]
    call(name, arrays, alpha=np.inf)
    a[1, 2] = NAN
    call(name, arrays)
    assert not called


@each_way
@each(LEVEL3)
def test_rows_and_columns_together_are_not_copied(name, dtype):
    """But for conjugates that BLAS can take only of what is transposed."""
    if ROUTINES[name].structure == "hermitian":
        return
    rng = np.random.default_rng(7)
    for orders, letters in itertools.product(
        itertools.product("CF", repeat=3), every_letter(name, dtype)
    ):
        if "C" in letters.values():
            continue
        arrays, left, right = factors(name, dtype, rng, 35, 4, letters)
        c = np.zeros((left.shape[0], right.shape[1]), dtype)
        given = [np.asarray(a, order=o) for a, o in zip([*arrays, c], orders, strict=False)]
        with tb.options(copies="forbid"):
            call(name, given, **letters)
        keep = written(name, c.shape, letters)
        check_values(name, given[-1], keep, left, right, c, (1, 0))
