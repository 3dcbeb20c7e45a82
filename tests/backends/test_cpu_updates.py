"""Updates of level 2 on the CPU: each storage and layout beside the wider sum."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from stored_matrices import (
    LARGE,
    NAN,
    SPECS,
    UPDATES,
    WIDE,
    abs1,
    call,
    cases,
    close,
    draw,
    each,
    gaps_are_whole,
    lay,
    matrix,
    unpacked,
)

import tileblas as tb
from tileblas.backends import cpu_elements

pytestmark = pytest.mark.usefixtures("way")


@each(UPDATES)
def test_updates(name, dtype):
    rng = np.random.default_rng(1)
    is_real = bool(SPECS[name].real_scalars) or np.dtype(dtype).kind != "c"
    alphas = itertools.cycle([1, -0.5, 1.5] if is_real else [1, 0.5 - 1.5j, -2.0])
    for n, layout, letters in cases(name):
        check_update(name, dtype, rng, (n, n), layout, letters, next(alphas))


@each(["ger", "geru", "gerc"])
def test_updates_of_any_shape(name, dtype):
    rng = np.random.default_rng(2)
    for shape in ((2, 5), (5, 2), (LARGE, 1), (1, LARGE), (3 * LARGE, 3), (3, 3 * LARGE)):
        for layout in "CF":
            check_update(name, dtype, rng, shape, layout, {}, 0.7)


def test_an_update_beyond_one_block_of_numpy():
    n = cpu_elements.COLUMNS + 70
    check_update("skewsyr2", "float64", np.random.default_rng(3), (n, n), "C", {}, 1.5)


def check_update(name, dtype, rng, shape, layout, letters, alpha):
    a = matrix(name, dtype, draw(rng, dtype, *shape), **letters)
    sizes = shape[: len(SPECS[name].arguments) - 1]
    vectors = [draw(rng, dtype, size) for size in sizes]
    given = lay(a.array, layout)
    arrays = *(lay(v, layout) for v in vectors), given
    assert getattr(tb, name)(*arrays, alpha=alpha, **letters) is given
    assert gaps_are_whole(given)
    made = getattr(tb, name)(*vectors, alpha=alpha, **letters)
    terms = added(name, alpha, [v.astype(WIDE[dtype]) for v in vectors])
    total, gauge = sum(terms), sum(map(abs1, terms))
    check_written(name, a, given, a.meaning + total, abs1(a.meaning) + gauge, letters)
    check_written(name, a, made, total, gauge, letters)
    if "ap" not in SPECS[name].argument_names:
        assert not made[~a.read].any()


def check_written(name, a, found, wanted, gauge, letters):
    dense = unpacked(found, name, wanted.shape[0], **letters)
    if found.dtype == np.float16:  # computed in float32, rounded once
        half = np.finfo(np.float16).eps / 2
        assert (np.abs(dense - wanted) <= half * np.abs(wanted) + 1e-6 * gauge + 2**-25).all()
        return
    close(dense[a.read], wanted[a.read], gauge[a.read], 2)
    if SPECS[name].structure == "hermitian":
        assert not dense.diagonal().imag.any()


def added(name, alpha, vectors):
    """What is added to A, by the formula of the routine."""
    x, y = vectors[0], vectors[-1]
    kind = SPECS[name].structure
    is_adjoint = kind == "hermitian" or name == "gerc"
    first = np.asarray(alpha, x.dtype) * np.multiply.outer(x, y.conj() if is_adjoint else y)
    if len(vectors) == 1 or not kind:
        return [first]
    return {
        "symmetric": [first, first.T],
        "hermitian": [first, first.conj().T],
        "skew": [-first, first.T],
    }[kind]


def test_bfloat16_is_rounded_once():
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    rng = np.random.default_rng(4)
    x, y, a = (draw(rng, "float32", *shape).astype(bfloat16) for shape in ((5,), (70,), (5, 70)))
    wide = [v.astype(np.float32) for v in (x, y, a)]
    wanted = np.multiply.outer(0.5 * wide[0], wide[1]) + wide[2]  # exact, but for one rounding
    tb.ger(x, y, a, alpha=0.5)
    np.testing.assert_array_equal(a, wanted.astype(bfloat16))


@each(UPDATES)
def test_alpha_0_adds_nothing(name, dtype):
    """A stays as it is, its Hermitian diagonal too, and a new A is 0; no vector is read."""
    a = matrix(name, dtype, np.ones((3, 3))).array
    vectors = [np.full(3, NAN, dtype)] * (len(SPECS[name].arguments) - 1)
    before = a.tobytes()
    assert call(name, (*vectors, a), alpha=0)[0].tobytes() == before
    assert not call(name, vectors, alpha=0)[0].any()


@each(UPDATES)
def test_zeros_multiply_nan(name, dtype):
    for n, uplo in itertools.product((5, 130), "UL"):
        letters = {"uplo": uplo} if SPECS[name].options else {}
        for at in (0, n - 1):
            a = matrix(name, dtype, np.ones((n, n)), **letters)
            vectors = np.zeros((len(SPECS[name].arguments) - 1, n), dtype)
            vectors[0, at] = NAN
            found = unpacked(call(name, (*vectors, a.array), **letters)[0], name, n, uplo)
            met = np.zeros((n, n), bool)
            met[at] = True
            if SPECS[name].structure:
                met[:, at] = True
            np.testing.assert_array_equal(np.isnan(found[a.read]), met[a.read])
