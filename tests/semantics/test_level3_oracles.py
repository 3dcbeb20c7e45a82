"""The oracles of products with a structured matrix, and in a triangle, against exact fractions."""

import itertools

import numpy as np
import pytest
import scipy.linalg.blas as theirs
from exact_matrices import check, conj, exactly, random, times, total, triangle

from tileblas.check.evaluation import ANY, FINITE, INFINITE, NAN, NONFINITE
from tileblas.check.oracle import reference
from tileblas.check.tolerance import judge
from tileblas.core.dtypes import DTYPES

NAN_, INF = float("nan"), float("inf")
each_uplo = pytest.mark.parametrize("uplo", "UL")
each_side = pytest.mark.parametrize("side", "LR")

SIDED = [
    ("symm", False),
    ("symm", True),
    ("hemm", True),
    ("skewsymm", False),
]
SQUARES = [("syrk", False, "NTC"), ("syrk", True, "NT"), ("herk", True, "NC")]
PAIRS = [
    *(
        (routine, *rest)
        for routine in ("syrkx", "syr2k")
        for rest in ((False, "NTC"), (True, "NT"))
    ),
    *((routine, True, "NC") for routine in ("herkx", "her2k")),
    ("skewsyr2k", False, "NTC"),
]
HERMITIAN = ("herk", "herkx", "her2k")


def factors(routine, is_complex):
    """alpha and beta as netlib has them."""
    alpha = 0.7 - 0.9j if is_complex and routine != "herk" else 0.7
    return alpha, 1.3 - 1.1j if is_complex and routine not in HERMITIAN else 1.3


def structured(routine, n, uplo, is_complex):
    """(array, elements by place) of a matrix whose other triangle holds NaN."""
    values = random((n, n), is_complex)
    array, elements = np.full((n, n), NAN_ + 0 * values[0, 0]), {}
    for i, j in triangle(n, uplo):
        z = exactly(values[i, j])
        if i != j:
            array[i, j] = values[i, j]
            elements[i, j] = z
            mirrored = {"hemm": conj(z), "skewsymm": (-z[0], -z[1])}
            elements[j, i] = mirrored.get(routine, z)
        elif routine == "hemm":
            array[i, i] = complex(values[i, i].real, NAN_)
            elements[i, i] = (z[0], 0 * z[0])
        elif routine != "skewsymm":
            array[i, i] = values[i, i]
            elements[i, i] = z
    return array, elements


@each_uplo
@each_side
@pytest.mark.parametrize(("m", "n"), [(1, 1), (3, 5), (5, 2)])
@pytest.mark.parametrize(("routine", "is_complex"), SIDED)
def test_products_on_one_side(routine, is_complex, m, n, side, uplo):
    b, c = random((m, n), is_complex, 1), random((m, n), is_complex, 2)
    a, elements = structured(routine, m if side == "L" else n, uplo, is_complex)
    alpha, beta = factors(routine, is_complex)
    operands, scalars = {"a": a, "b": b, "c": c}, {"alpha": alpha, "beta": beta}
    got = reference(routine, operands, scalars, {"side": side, "uplo": uplo}, "float64")
    exact = {}
    for i, j in np.ndindex(m, n):
        if side == "L":
            terms = [times(z, exactly(b[q, j])) for (p, q), z in elements.items() if p == i]
        else:
            terms = [times(exactly(b[i, p]), z) for (p, q), z in elements.items() if q == j]
        old = times(exactly(beta), exactly(c[i, j]))
        exact[i, j] = total((times(exactly(alpha), total(terms)), old))
    check(got, exact)
    assert (got.kind == FINITE).all()
    assert (got.core, got.quality.shape) == (2, ())


def product(i, j, a, b):
    """The element (i, j) of a product of two matrices."""
    return total(times(exactly(p), exactly(q)) for p, q in zip(a[i, :], b[:, j], strict=True))


def op(x, letter):
    return {"N": x, "T": x.T, "C": x.conj().T}[letter]


def products_of(routine, left, right, turn, alpha):
    """The factors alpha, a, b of each product of a call with two inputs."""
    if not routine.endswith("r2k"):
        return [(alpha, left, op(right, turn))]
    first = -alpha if routine == "skewsyr2k" else alpha
    second = np.conj(alpha) if turn == "C" else alpha
    return [(first, left, op(right, turn)), (second, right, op(left, turn))]


def check_triangle(routine, products, is_complex, operands, options):
    """The sum of alpha a b, and beta c, in one triangle, whatever else C holds."""
    n = products[0][1].shape[0]
    alpha, beta = factors(routine, is_complex)
    c, places = random((n, n), is_complex, 3), triangle(n, options["uplo"])
    if routine == "skewsyr2k":
        places = [(i, j) for i, j in places if i != j]

    def added(i, j):
        value = total(times(exactly(factor), product(i, j, a, b)) for factor, a, b in products)
        return (value[0], 0 * value[1]) if routine in HERMITIAN and i == j else value

    held = np.full((n, n), NAN_ + 0 * c[0, 0])
    exact = {}
    for i, j in places:
        held[i, j] = c[i, j]
        if routine in HERMITIAN and i == j:
            held[i, i] = complex(c[i, i].real, NAN_)
            c[i, i] = c[i, i].real
        old = times(exactly(beta), exactly(c[i, j]))
        exact[i, j] = total((added(i, j), old))
    scalars = {"alpha": alpha, "beta": beta}
    got = reference(routine, {**operands, "c": held}, scalars, options, "float64")
    check(got, exact, places)
    used = np.zeros((n, n), bool)
    for place in places:
        used[place] = True
    assert (got.kind[used] == FINITE).all()
    assert (got.kind[~used] == ANY).all()
    assert (got.real is not None) is (routine in HERMITIAN)
    assert got.terms == sum(a.shape[1] for _, a, _ in products)
    new = reference(routine, operands, {"alpha": alpha}, options, "float64")
    assert (new.kind == FINITE).all()
    assert not new.value[~used].any()
    for i, j in places:
        exact[i, j] = added(i, j)
    check(new, exact, places)


@each_uplo
@pytest.mark.parametrize(("n", "k"), [(1, 1), (3, 5), (4, 2)])
@pytest.mark.parametrize(
    ("routine", "is_complex", "trans"),
    [(routine, kind, trans) for routine, kind, letters in SQUARES for trans in letters],
)
def test_products_with_itself(routine, is_complex, trans, n, k, uplo):
    a = random((n, k) if trans == "N" else (k, n), is_complex)
    left = op(a, trans)
    right = op(left, "C" if routine == "herk" else "T")
    products = [(factors(routine, is_complex)[0], left, right)]
    check_triangle(routine, products, is_complex, {"a": a}, {"uplo": uplo, "trans": trans})


@each_uplo
@pytest.mark.parametrize(("n", "k"), [(1, 1), (3, 5), (4, 2)])
@pytest.mark.parametrize(
    ("routine", "is_complex", "trans"),
    [(routine, kind, trans) for routine, kind, letters in PAIRS for trans in letters],
)
def test_products_with_another(routine, is_complex, trans, n, k, uplo):
    a, b = (random((n, k) if trans == "N" else (k, n), is_complex, seed) for seed in (0, 1))
    turn, (alpha, _) = "C" if routine in HERMITIAN else "T", factors(routine, is_complex)
    products = products_of(routine, op(a, trans), op(b, trans), turn, alpha)
    options = {"uplo": uplo, "trans": trans}
    check_triangle(routine, products, is_complex, {"a": a, "b": b}, options)


@each_uplo
@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("trans", list(itertools.product("NTC", repeat=2)))
def test_products_in_one_triangle(trans, is_complex, uplo):
    left, right = trans
    a = random((4, 3) if left == "N" else (3, 4), is_complex)
    b = random((3, 4) if right == "N" else (4, 3), is_complex, 1)
    options = {"uplo": uplo, "trans_a": left, "trans_b": right}
    operands = {"a": a, "b": b}
    products = [(factors("gemmtr", is_complex)[0], op(a, left), op(b, right))]
    check_triangle("gemmtr", products, is_complex, operands, options)


# ---- beside SciPy -------------------------------------------------------------------------------


@each_uplo
@each_side
@pytest.mark.parametrize(("routine", "name"), [("symm", "dsymm"), ("symm", "zsymm"), ("hemm", "")])
def test_products_on_one_side_beside_scipy(routine, name, side, uplo):
    is_complex = name != "dsymm"
    a, b, c = (random((6, 6), is_complex, seed) for seed in range(3))
    alpha, beta = factors(routine, is_complex)
    wanted = getattr(theirs, name or "zhemm")(
        alpha, a, b, beta=beta, c=c, side=side == "R", lower=uplo == "L"
    )
    operands, options = {"a": a, "b": b, "c": c}, {"side": side, "uplo": uplo}
    got = reference(routine, operands, {"alpha": alpha, "beta": beta}, options, "float64")
    np.testing.assert_allclose(got.value, wanted, rtol=1e-13, atol=1e-13)


@each_uplo
@pytest.mark.parametrize("trans", "NTC")
@pytest.mark.parametrize("name", ["dsyrk", "zsyrk", "zherk"])
def test_products_with_itself_beside_scipy(name, trans, uplo):
    if trans == {"dsyrk": "C", "zsyrk": "C", "zherk": "T"}[name]:
        return
    a, c = random((5, 7), name[0] == "z"), random((5, 5), name[0] == "z", 1)
    c = c if trans == "N" else random((7, 7), name[0] == "z", 1)
    alpha, beta = factors(name[1:], name[0] == "z")
    letter = {"N": 0, "T": 1, "C": 2 if name == "zherk" else 1}[trans]
    wanted = getattr(theirs, name)(alpha, a, beta=beta, c=c, trans=letter, lower=uplo == "L")
    options = {"uplo": uplo, "trans": trans}
    scalars = {"alpha": alpha, "beta": beta}
    got = reference(name[1:], {"a": a, "c": c}, scalars, options, "float64")
    used = got.kind == FINITE
    assert used.sum() == len(c) * (len(c) + 1) // 2
    np.testing.assert_allclose(got.value[used], wanted[used], rtol=1e-13, atol=1e-13)


@each_uplo
@pytest.mark.parametrize("trans", "NTC")
@pytest.mark.parametrize("name", ["dsyr2k", "zsyr2k", "zher2k"])
def test_products_of_rank_2k_beside_scipy(name, trans, uplo):
    if trans == {"dsyr2k": "C", "zsyr2k": "C", "zher2k": "T"}[name]:
        return
    is_complex, n = name[0] == "z", 5 if trans == "N" else 7
    a, b = (random((5, 7), is_complex, seed) for seed in (0, 1))
    c, (alpha, beta) = random((n, n), is_complex, 2), factors(name[1:], is_complex)
    letter = {"N": 0, "T": 1, "C": 2 if name == "zher2k" else 1}[trans]
    wanted = getattr(theirs, name)(alpha, a, b, beta=beta, c=c, trans=letter, lower=uplo == "L")
    scalars, options = {"alpha": alpha, "beta": beta}, {"uplo": uplo, "trans": trans}
    got = reference(name[1:], {"a": a, "b": b, "c": c}, scalars, options, "float64")
    used = got.kind == FINITE
    assert used.sum() == n * (n + 1) // 2
    np.testing.assert_allclose(got.value[used], wanted[used], rtol=1e-13, atol=1e-13)


# ---- what is read -------------------------------------------------------------------------------


def test_hand_made_products():
    a, b = np.array([[1.0, 2], [NAN_, 3]]), np.array([[1.0, 0, 2], [0, 1, 1]])
    assert reference("symm", {"a": a, "b": b}, {}, {}, "float64").value.tolist() == [
        [1, 2, 4],
        [2, 3, 7],
    ]
    got = reference("symm", {"a": a, "b": b.T}, {}, {"side": "R"}, "float64")
    assert got.value.tolist() == [[1, 2], [2, 3], [4, 7]]
    a[0, 0] = a[1, 1] = NAN_
    got = reference("skewsymm", {"a": a, "b": b}, {}, {}, "float64")
    assert got.value.tolist() == [[0, 2, 2], [-2, 0, -4]]
    got = reference("skewsymm", {"a": a, "b": b.T}, {}, {"side": "R"}, "float64")
    assert got.value.tolist() == [[0, 2], [-2, 0], [-2, 4]]
    got = reference("syrk", {"a": b}, {}, {"uplo": "L"}, "float64")
    assert got.value.tolist() == [[5, 0], [2, 2]]
    got = reference("herk", {"a": np.array([[1 + 1j, 2], [1j, 0]])}, {}, {}, "float64")
    assert got.value.tolist() == [[6, 1 - 1j], [0, 1]]
    a, b = np.array([[1.0, 2], [0, 3]]), np.array([[1.0, 0], [2, 1]])  # A B^T is [[1, 4], [0, 3]]
    got = reference("syrkx", {"a": a, "b": b}, {}, {}, "float64")
    assert got.value.tolist() == [[1, 4], [0, 3]]
    got = reference("syr2k", {"a": a, "b": b}, {}, {"uplo": "L"}, "float64")
    assert got.value.tolist() == [[2, 0], [4, 6]]
    got = reference("skewsyr2k", {"a": a, "b": b}, {"alpha": 2}, {}, "float64")
    assert got.value.tolist() == [[0, -8], [0, 0]]
    got = reference("herkx", {"a": a * 1j, "b": b + 0j}, {"alpha": 1j}, {}, "float64")
    assert got.value.tolist() == [[-1, -4], [0, -3]]
    got = reference("her2k", {"a": a * 1j, "b": b + 0j}, {}, {}, "float64")
    assert got.value.tolist() == [[0, 4j], [0, 0]]
    b = np.array([[1.0, 0, 2], [0, 1, 1]])
    got = reference("gemmtr", {"a": b, "b": b}, {}, {"trans_b": "T"}, "float64")
    assert got.value.tolist() == [[5, 2], [0, 2]]


@each_side
def test_a_diagonal_that_is_not_there_does_not_multiply(side):
    """A NaN or an infinity of B meets what is stored, and nothing else."""
    a = np.array([[NAN_, 1.0, 2], [NAN_, NAN_, 0], [NAN_, NAN_, NAN_]])
    b = np.array([[NAN_, 1], [0, INF], [1, 0]])
    b = b if side == "L" else b.T
    got = reference("skewsymm", {"a": a, "b": b}, {}, {"side": side}, "float64")
    kind, value = (got.kind, got.value) if side == "L" else (got.kind.T, got.value.T)
    assert kind.tolist() == [[FINITE, INFINITE], [NAN, FINITE], [NAN, NAN]]
    sign = 1 if side == "L" else -1
    assert value[0].tolist() == [2 * sign, INF * sign]
    assert value[1, 1] == -1 * sign
    assert got.terms == 3


def test_stored_zeros_do_multiply():
    a, b = np.zeros((2, 2)), np.array([[INF, 1], [1, 1]])
    got = reference("symm", {"a": a, "b": b}, {}, {}, "float64")
    assert got.kind.tolist() == [[NAN, FINITE], [NAN, FINITE]]
    got = reference("syrk", {"a": np.array([[NAN_], [0.0]])}, {}, {}, "float64")
    assert got.kind.tolist() == [[NAN, NAN], [FINITE, FINITE]]
    got = reference("herk", {"a": np.array([[INF + 0j], [0.0]])}, {}, {}, "float64")
    assert got.kind.tolist() == [[NONFINITE, NONFINITE], [FINITE, FINITE]]


@pytest.mark.parametrize("alpha", [0, 1, NAN_])
@pytest.mark.parametrize("beta", [0, 1, 3, NAN_])
def test_a_skew_diagonal_is_no_part_of_the_result(alpha, beta):
    a, c = np.array([[INF, 1], [1, NAN_]]), np.full((2, 2), NAN_)
    scalars = {"alpha": alpha, "beta": beta}
    got = reference("skewsyr2k", {"a": a, "b": a, "c": c}, scalars, {}, "float64")
    assert got.kind.diagonal().tolist() == [ANY, ANY]
    new = reference("skewsyr2k", {"a": a, "b": a}, {"alpha": alpha}, {}, "float64")
    assert new.kind.diagonal().tolist() == [FINITE, FINITE]
    assert new.value.diagonal().tolist() == [0, 0]


@pytest.mark.parametrize("routine", ["symm", "skewsymm", "syrk", "gemmtr", "syrkx", "syr2k"])
def test_alpha_and_beta_of_0_leave_their_operands_unread(routine):
    bad, one = np.full((2, 2), NAN_), np.eye(2)
    names = ("a",) if routine == "syrk" else ("a", "b")
    unread, read = dict.fromkeys(names, bad), dict.fromkeys(names, one)
    got = reference(routine, {**unread, "c": one}, {"alpha": 0, "beta": 3}, {}, "float64")
    assert got.value.diagonal().tolist() == [3, 3]
    assert (got.kind.diagonal() == FINITE).all()
    got = reference(routine, {**read, "c": bad}, {"beta": 0}, {}, "float64")
    assert got.value.diagonal().tolist() == [{"skewsymm": 0, "syr2k": 2}.get(routine, 1)] * 2
    assert (got.kind.diagonal() == FINITE).all()


@pytest.mark.parametrize(
    ("routine", "shapes"),
    [
        *(("syrk", "a"), ("gemmtr", "ab"), ("herk", "a")),
        *((routine, "ab") for routine in ("syrkx", "herkx", "syr2k", "her2k")),
    ],
)
def test_no_depth_drops_the_product(routine, shapes):
    empty = {"a": np.zeros((2, 0)), "b": np.zeros((0, 2) if routine == "gemmtr" else (2, 0))}
    operands = {name: empty[name] + 0j for name in shapes}
    c = np.array([[1.0, 2], [NAN_, 3]]) + 0j
    got = reference(routine, {**operands, "c": c}, {"alpha": NAN_, "beta": 2}, {}, "float64")
    assert got.value[np.triu_indices(2)].tolist() == [2, 4, 6]
    new = reference(routine, operands, {"alpha": NAN_}, {}, "float64")
    assert new.value.tolist() == [[0, 0], [0, 0]]


# ---- Hermitian diagonals ------------------------------------------------------------------------


each_hermitian = pytest.mark.parametrize("routine", HERMITIAN)


def inputs(routine, a):
    """The inputs of a product, all the same."""
    return dict.fromkeys("a" if routine == "herk" else "ab", a)


@each_hermitian
@pytest.mark.parametrize("k", [0, 2])
def test_a_hermitian_diagonal_stays_as_it_is_where_nothing_is_added(k, routine):
    a = np.full((2, k), NAN_ + 1j)
    c = np.array([[5 + 9j, 1j], [NAN_, 2 + 9j]])
    scalars = {"alpha": 0 if k else 1, "beta": 1}
    expected = reference(routine, {**inputs(routine, a), "c": c}, scalars, {}, "float64")
    assert judge(c, expected, DTYPES["complex128"]).passed
    cleared = c.copy()
    cleared.imag[0, 0] = 0
    assert not judge(cleared, expected, DTYPES["complex128"]).passed


@each_hermitian
@pytest.mark.parametrize(("alpha", "beta"), [(0, 2), (0, 0), (1, 1), (1, 0)])
def test_a_hermitian_diagonal_must_come_out_real_otherwise(alpha, beta, routine):
    a, c = np.array([[1 + 2j], [3j]]), np.array([[5 + 9j, 1j], [NAN_, 2 + 9j]])
    operands, scalars = {**inputs(routine, a), "c": c}, {"alpha": alpha, "beta": beta}
    expected = reference(routine, operands, scalars, {}, "float64")
    right = (2 if routine == "her2k" else 1) * alpha * (a @ a.conj().T) + beta * np.array(
        [[5, 1j], [0, 2]]
    )
    assert judge(right, expected, DTYPES["complex128"]).passed
    right[1, 0] = NAN_  # no part of the result
    assert judge(right, expected, DTYPES["complex128"]).passed
    right.imag[1, 1] = 1e-300
    verdict = judge(right, expected, DTYPES["complex128"])
    assert verdict.where == (1, 1)
    assert "a real value" in verdict.message


def test_stacks_are_broadcast():
    a, b = random((2, 1, 3, 3), False), random((4, 3, 2), False, 1)
    got = reference("symm", {"a": a, "b": b}, {}, {}, "float64")
    assert got.value.shape == (2, 4, 3, 2)
    one = reference("symm", {"a": a[1, 0], "b": b[2]}, {}, {}, "float64")
    np.testing.assert_array_equal(got.value[1, 2], one.value)
    bad = b.copy()
    bad[2, 0, 0] = NAN_
    got = reference("skewsymm", {"a": a, "b": bad}, {}, {}, "float64")
    assert got.value.shape == (2, 4, 3, 2)
    assert got.kind[:, 2, :, 0].tolist() == [[FINITE, NAN, NAN]] * 2
