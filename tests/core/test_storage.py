"""Where the elements of bands and packed triangles lie, beside explicit loops."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tileblas.arrays.ingest import ingest
from tileblas.core.call import Scalar
from tileblas.core.canon import canonical, results
from tileblas.core.check import check_shapes
from tileblas.core.trivial import is_noop, without_product
from tileblas.errors import BlasError
from tileblas.routines.registry import ROUTINES

ONE, ZERO, REAL = Scalar("one", 1.0), Scalar("zero"), Scalar("real", 0.5)


def posed(name, *arrays, alpha=REAL, beta=REAL, **letters):
    """The problem of a call; trailing outputs may be left out."""
    spec = ROUTINES[name]
    options = {option.name: option.default for option in spec.options} | letters
    operands = [ingest(x) for x in arrays]
    operands += [None] * (len(spec.arguments) - len(operands))
    dims, batch = check_shapes(spec, operands, options)
    made = results(spec, operands, dims, batch, operands[0].dtype)
    scalars = {s: {"alpha": alpha, "beta": beta}[s] for s in spec.scalars}
    return canonical(spec, operands, made, dims, batch, options, scalars)


def read(view, array, known):
    """The matrix of a view, read through its address map alone, 0 where nothing is there."""
    places = addresses(view, known)
    sign = -1 if min(places.values()) < 0 else 1  # of a vector that is walked backwards
    length = 1 + max(map(abs, places.values()))
    flat = np.lib.stride_tricks.as_strided(array, (length,), (sign * array.itemsize,))
    found = np.zeros(view.shape, array.dtype)
    for (i, j), at in places.items():
        found[i, j] = flat[abs(at)].conj() if view.conj else flat[abs(at)]
    return found


def addresses(view, known):
    """The place in memory of every element that the structure says is there."""
    curve = view.curve or (0, 0)
    return {
        (i, j): view.start
        + i * view.strides[0]
        + j * view.strides[1]
        + curve[0] * (i * (i + 1) // 2)
        + curve[1] * (j * (j + 1) // 2)
        for i, j in itertools.product(*map(range, view.shape))
        if -known.below <= j - i <= known.above
    }


def turned(a, trans):
    return {"N": a, "T": a.T, "C": a.conj().T}[trans]


def numbered(shape, order="C"):
    """Different complex numbers, none of them 0."""
    count = np.arange(1, 1 + int(np.prod(shape)))
    return np.asarray((count - 1j * count).reshape(shape), np.complex128, order=order)


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("trans", "NTC")
@pytest.mark.parametrize(
    ("m", "n", "kl", "ku"), [(6, 6, 1, 2), (4, 7, 3, 0), (7, 4, 0, 2), (3, 3, 5, 6), (1, 5, 0, 0)]
)
def test_the_band_of_a_general_matrix(m, n, kl, ku, trans, order):
    """A[i, j] is ab[ku + i - j, j]; diagonals that the matrix has not are cut off."""
    ab, a = numbered((kl + ku + 1, n), order), np.zeros((m, n), complex)
    for j in range(n):
        for i in range(max(0, j - ku), min(m, j + kl + 1)):
            a[i, j] = ab[ku + i - j, j]
    x = np.zeros(turned(a, trans).shape[1], complex)
    problem = posed("gbmv", ab, x, np.zeros(turned(a, trans).shape[0], complex), trans=trans, kl=kl)
    known = problem.structure
    np.testing.assert_array_equal(read(problem.inputs[0], ab, known), turned(a, trans))
    assert (known.below, known.above) == (
        (min(kl, m - 1), min(ku, n - 1)) if trans == "N" else (min(ku, n - 1), min(kl, m - 1))
    )


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize(("uplo", "trans"), list(itertools.product("UL", "NTC")))
@pytest.mark.parametrize(("n", "k"), [(6, 2), (5, 0), (3, 7), (1, 1)])
def test_the_band_of_a_triangle(n, k, uplo, trans, order):
    """A[i, j] is ab[k + i - j, j] of an upper one, ab[i - j, j] of a lower one."""
    ab, a = numbered((k + 1, n), order), np.zeros((n, n), complex)
    for j in range(n):
        for i in range(n):
            if uplo == "U" and 0 <= j - i <= k:
                a[i, j] = ab[k + i - j, j]
            if uplo == "L" and 0 <= i - j <= k:
                a[i, j] = ab[i - j, j]
    problem = posed("tbmv", ab, np.zeros(n, complex), uplo=uplo, trans=trans)
    np.testing.assert_array_equal(read(problem.inputs[0], ab, problem.structure), turned(a, trans))


@pytest.mark.parametrize("step", [1, 2, -1])
@pytest.mark.parametrize(("uplo", "trans"), list(itertools.product("UL", "NTC")))
@pytest.mark.parametrize("n", [1, 2, 6])
def test_a_packed_triangle(n, uplo, trans, step):
    """Its columns follow each other, in a vector with any increment."""
    ap = numbered((n * (n + 1) // 2 * abs(step),))[::step]
    a, place = np.zeros((n, n), complex), 0
    for j in range(n):
        for i in range(j + 1) if uplo == "U" else range(j, n):
            a[i, j] = ap[place]
            place += 1
    problem = posed("tpmv", ap, np.zeros(n, complex), uplo=uplo, trans=trans)
    view = problem.inputs[0]
    np.testing.assert_array_equal(read(view, ap, problem.structure), turned(a, trans))


@pytest.mark.parametrize("uplo", "UL")
@pytest.mark.parametrize(
    ("name", "trans", "inner"),
    [("trmv", "N", 0), ("trmv", "T", 0), ("symv", "N", 0), ("skewsymv", "N", -1)],
)
def test_triangles_of_dense_matrices(name, uplo, trans, inner):
    """Which side is there, as multiplied; the diagonal is not of a skew one."""
    letters = {"trans": trans, "diag": "U"} if name == "trmv" else {}
    vectors = [np.zeros(5) for _ in range(1 if name == "trmv" else 2)]
    known = posed(name, np.zeros((5, 5)), *vectors, uplo=uplo, **letters).structure
    lower = (uplo == "L") == (trans == "N")
    assert (known.below, known.above) == ((4, inner) if lower else (inner, 4))
    assert known.lower == lower
    assert known.unit == (name == "trmv")


def test_gemvt_knows_what_else_the_matrix_is_multiplied_as():
    for trans, kind in (("T", "transpose"), ("C", "adjoint")):
        problem = posed("gemvt", np.zeros((3, 4)), np.zeros(4), np.zeros(3), beta=ZERO, trans=trans)
        assert problem.structure.kind == kind
        assert problem.inputs[0].shape == (3, 4)
        assert (problem.inputs[-1].slot, problem.output.slot) == ("y", "z")


# ---- updates ---------------------------------------------------------------------------------


def test_an_update_by_columns_is_turned():
    """Its vectors change places and its triangle sides; conjugates move to x if Hermitian."""
    x, y = np.zeros(4, complex), np.zeros(4, complex)
    for order, turns in (("C", False), ("F", True)):
        a = np.zeros((4, 4), complex, order=order)
        problem = posed("her2", x, y, a, uplo="U")
        assert [view.slot for view in problem.inputs] == (["y", "x"] if turns else ["x", "y"])
        assert [view.conj for view in problem.inputs] == [turns, turns]
        assert problem.structure.lower == turns
        assert problem.output.strides == (4, 1)
        problem = posed("syr2", x, y, a, uplo="U")
        assert not any(view.conj for view in problem.inputs)
        assert problem.structure.lower == turns
        problem = posed("gerc", x, y, a)
        assert [view.conj for view in problem.inputs] == ([True, False] if turns else [False, True])


@pytest.mark.parametrize("uplo", "UL")
@pytest.mark.parametrize("step", [1, 2])
def test_a_packed_update_is_always_turned(uplo, step):
    """Its columns become rows, along which it has no curve."""
    problem = posed("spr", np.zeros(4), np.zeros(10 * step)[::step], uplo=uplo)
    assert problem.structure.lower == (uplo == "U")
    assert problem.output.strides[1] == step
    assert problem.output.curve[1] == 0
    assert problem.output.curve[0] == (step if uplo == "U" else -step)


def test_only_a_new_matrix_is_fresh():
    """Of an update; a product with beta = 0 has no old value to ask about."""
    x, a = np.zeros(4), np.zeros((4, 4))
    assert posed("syr", x).fresh
    assert not posed("syr", x, a).fresh
    assert posed("ger", x, x).fresh
    assert not posed("symv", a, x, beta=ZERO).fresh


def test_alpha_0_is_no_operation_but_where_the_matrix_is_new():
    x, a = np.zeros(4), np.zeros((4, 4))
    assert is_noop(ROUTINES["syr"], posed("syr", x, a, alpha=ZERO))
    assert not is_noop(ROUTINES["syr"], posed("syr", x, alpha=ZERO))
    assert is_noop(ROUTINES["symv"], posed("symv", a, x, x.copy(), alpha=ZERO, beta=ONE))
    assert not is_noop(ROUTINES["symv"], posed("symv", a, x, x.copy(), alpha=ZERO))


@pytest.mark.parametrize(
    ("name", "shape"), [("symv", (4, 4)), ("sbmv", (3, 4)), ("spmv", (10,)), ("gbmv", (3, 4))]
)
def test_a_product_that_is_dropped_is_a_gemv_of_nothing(name, shape):
    letters = {"kl": 1} if name == "gbmv" else {}
    given = posed(name, np.zeros(shape), np.zeros(4), np.zeros(4), alpha=ZERO, **letters)
    left = without_product(given)
    assert (left.routine, left.dims, left.structure) == ("gemv", (4, 0), None)
    assert (left.inputs[0].start, left.inputs[0].curve) == (0, ())
    assert left.output == given.output
    kept = posed(name, np.zeros(shape), np.zeros(4), np.zeros(4), **letters)
    assert without_product(kept) is kept


# ---- errors ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "arrays", "letters", "argument"),
    [
        ("spmv", ((9,), (4,)), {}, "ap"),
        ("spr", ((4,), (11,)), {}, "ap"),
        ("sbmv", ((0, 4), (4,)), {}, "a"),
        ("gbmv", ((3, 4), (4,)), {"kl": 3}, "kl"),
        ("gbmv", ((3, 4), (4,), (5,)), {"kl": 1, "m": 4}, "m"),
    ],
)
def test_storage_that_does_not_fit_is_refused(name, arrays, letters, argument):
    with pytest.raises(BlasError) as caught:
        posed(name, *map(np.zeros, arrays), beta=ZERO, **letters)
    assert caught.value.argument == argument


def test_a_band_has_as_many_rows_as_are_said():
    """By the vector along them, by m, or as many as columns."""
    ab, x = np.zeros((3, 4)), np.zeros(4)
    assert posed("gbmv", ab, x, np.zeros(6), kl=1, m=None).dims == (6, 4, 3)
    assert posed("gbmv", ab, x, kl=1, m=5, beta=ZERO).dims == (5, 4, 3)
    assert posed("gbmv", ab, x, kl=1, beta=ZERO).dims == (4, 4, 3)
    assert posed("gbmv", ab, np.zeros(7), kl=1, trans="T", beta=ZERO).dims == (4, 7, 3)
