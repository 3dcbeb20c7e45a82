"""A broken routine of level 3 fails its cases: each fault is one that some library had or may have.

The right routines of `numpy_products` pass the same cases.
"""

import numpy as np
import pytest
from numpy_products import (
    RIGHT,
    added,
    full,
    gemmtr,
    herk,
    in_triangle,
    op,
    partnered,
    places,
    sided,
    syrk,
)

import tileblas as tb
from tileblas.check import runner
from tileblas.check.operands import region
from tileblas.check.product_cases import product_case

# ---- faults -------------------------------------------------------------------------------------


def other_triangle(kind):
    """The triangle that is not stored is used."""
    return lambda *rest, uplo, **more: sided(kind)(*rest, **more, uplo="UL"[uplo == "U"])


def other_triangle_times_0(a, b, c, alpha, beta, side, uplo):
    """A mask that multiplies keeps the NaN of what is not stored."""
    return added(c, full(a, uplo, "symmetric") @ b + 0 * a.T @ b, alpha, beta)


def diagonal_as_it_is(a, b, c, alpha, beta, side, uplo):
    """kokkos/stdBLAS#278: the imaginary part of the diagonal is used."""
    matrix = full(a, uplo, "hermitian")
    np.fill_diagonal(matrix, np.diag(a))
    return added(c, matrix @ b, alpha, beta)


def not_conjugated(a, b, c, alpha, beta, side, uplo):
    a = a.copy()
    np.fill_diagonal(a, np.diag(a).real)
    return sided("symmetric")(a, b, c, alpha, beta, side, uplo)


def skew_as_symmetric(a, b, c, alpha, beta, side, uplo):
    a = a.copy()
    np.fill_diagonal(a, 0)
    return sided("symmetric")(a, b, c, alpha, beta, side, uplo)


def diagonal_multiplies(a, b, c, alpha, beta, side, uplo):
    """A zero on the diagonal of a skew matrix meets a NaN."""
    return added(c, full(a, uplo, "skew") @ b, alpha, beta)


def left_as_right(kind):
    return lambda *rest, side, **more: sided(kind)(*rest, **more, side="LR"[side == "L"])


def whole_matrix(a, c=None, *, alpha, beta, uplo, trans):
    product = op(a, trans) @ op(a, trans).T
    return alpha * product if c is None else added(c, product, alpha, beta)


def transposed(a, c=None, *, trans, **more):
    return syrk(a, c, trans="N" if trans == "T" else "T", **more)


def conjugated(a, c=None, *, alpha, beta, uplo, trans):
    a = op(a, trans)
    return in_triangle(c, a @ a.conj().T, alpha, beta, uplo)


def adjoint_turned(a, c=None, *, trans, **more):
    """A^T conj(A) in the place of A^H A."""
    return herk(a.conj(), c, trans=trans, **more)


def diagonal_not_real(a, c=None, **more):
    herk(a, c, **more)
    c.imag[1, 1] = 1e-300
    return c


def diagonal_left(a, c=None, **more):
    old = np.diag(c).imag.copy()
    herk(a, c, **more)
    c.imag[np.diag_indices_from(c)] = old
    return c


def idle_but_real(a, c=None, **more):
    herk(a, c, **more)
    c.imag[np.diag_indices_from(c)] = 0
    return c


def nothing_of_an_old_matrix(a, c=None, *, beta, **more):
    return herk(a, c, beta=beta or 1e-30, **more)


def zeros_skipped(a, c=None, *, alpha, beta, uplo, trans):
    """The zero test of netlib's syrk: what is multiplied by 0 is not read."""
    a = op(a, trans)
    product = np.array([[row[other != 0] @ other[other != 0] for other in a] for row in a])
    return in_triangle(c, product, alpha, beta, uplo)


def second_transposed_as_first(a, b, c=None, *, trans_a, trans_b, **more):
    return gemmtr(a, b, c, trans_a=trans_a, trans_b=trans_a, **more)


def all_of_it(a, b, c=None, *, alpha, beta, uplo, trans_a, trans_b):
    product = op(a, trans_a) @ op(b, trans_b)
    return alpha * product if c is None else added(c, product, alpha, beta)


def strictly(a, b, c=None, *, alpha, beta, uplo, trans_a, trans_b):
    """The diagonal is left out."""
    old = np.diag(c).copy()
    gemmtr(a, b, c, alpha=alpha, beta=beta, uplo=uplo, trans_a=trans_a, trans_b=trans_b)
    np.fill_diagonal(c, old)
    return c


def as_other(routine):
    """Each routine in the place of the next one: a term too many or too few, no conjugates."""
    return lambda *rest, **more: partnered(routine)(*rest, **more)


def swapped(routine):
    """B A^T in the place of A B^T: the other sign, or the other conjugate."""
    return lambda a, b, *rest, **more: partnered(routine)(b, a, *rest, **more)


def alpha_twice(a, b, c=None, *, alpha, **more):
    """The second product with alpha in the place of conj(alpha)."""
    c = partnered("herkx")(a, b, c, alpha=alpha, **more)
    return partnered("herkx")(b, a, c, alpha=alpha, **more | {"beta": 1})


def old_value_twice(a, b, c=None, *, beta, **more):
    """Two passes, and beta in both."""
    c = partnered("syrkx")(a, b, c, beta=beta, **more)
    return partnered("syrkx")(b, a, c, beta=beta, **more)


def diagonal_cleared(a, b, c=None, **more):
    c = partnered("skewsyr2k")(a, b, c, **more)
    np.fill_diagonal(c, 0)
    return c


def diagonal_of_a_pair_left(routine):
    def run(a, b, c=None, **more):
        old = np.diag(c).imag.copy()
        partnered(routine)(a, b, c, **more)
        c.imag[np.diag_indices_from(c)] = old
        return c

    return run


def idle_pair_but_real(routine):
    def run(a, b, c=None, **more):
        partnered(routine)(a, b, c, **more)
        c.imag[np.diag_indices_from(c)] = 0
        return c

    return run


def case(routine, *rest, dtype="float64", **more):
    return product_case(routine, dtype, *rest, **more)


ONES = {"alpha": 1, "beta": 1}
COMPLEX = {"dtype": "complex128"}
FAULTS = [
    (other_triangle("symmetric"), case("symm", (5, 3), "LU", **ONES)),
    (other_triangle_times_0, case("symm", (5, 3), "LL", "row+7", **ONES)),
    (left_as_right("symmetric"), case("symm", (5, 5), "RU", **ONES)),
    (left_as_right("hermitian"), case("hemm", (5, 5), "LL", **ONES, **COMPLEX)),
    (diagonal_as_it_is, case("hemm", (5, 3), "LU", **COMPLEX)),
    (not_conjugated, case("hemm", (5, 3), "LU", **COMPLEX)),
    (other_triangle("hermitian"), case("hemm", (3, 5), "RL", **COMPLEX)),
    (skew_as_symmetric, case("skewsymm", (5, 3), "LU")),
    (diagonal_multiplies, case("skewsymm", (5, 7), "LL", fill=("random", "flawed", "nan"))),
    (whole_matrix, case("syrk", (4, 3), "UN", **ONES)),
    (whole_matrix, case("syrk", (4, 3), "LT", new=True)),
    (transposed, case("syrk", (4, 4), "UN")),
    (conjugated, case("syrk", (4, 3), "UN", **COMPLEX)),
    (zeros_skipped, case("syrk", (6, 9), "UN", fill=("pitted", "nan"))),
    (adjoint_turned, case("herk", (4, 3), "UC", **COMPLEX)),
    (diagonal_not_real, case("herk", (4, 3), "LN", **ONES, **COMPLEX)),
    (diagonal_left, case("herk", (4, 3), "LN", **ONES, **COMPLEX)),
    (idle_but_real, case("herk", (4, 3), "UN", alpha=0, beta=1, **COMPLEX)),
    (idle_but_real, case("herk", (4, 0), "UC", alpha=2, beta=1, **COMPLEX)),
    (diagonal_left, case("herk", (4, 3), "UN", alpha=0, beta=2, **COMPLEX)),
    (diagonal_left, case("herk", (4, 0), "UN", alpha=1, beta=2, **COMPLEX)),
    (nothing_of_an_old_matrix, case("herk", (4, 3), "UN", fill=("random", "nan"), **COMPLEX)),
    (second_transposed_as_first, case("gemmtr", (4, 4), "UNT", **ONES)),
    (all_of_it, case("gemmtr", (4, 3), "LTN", **ONES)),
    (all_of_it, case("gemmtr", (4, 3), "UTN", new=True)),
    (strictly, case("gemmtr", (4, 3), "UNC", **ONES)),
    (as_other("syr2k"), case("syrkx", (4, 3), "UN", **ONES)),
    (as_other("syrkx"), case("syr2k", (4, 3), "LT", **ONES)),
    (as_other("syr2k"), case("skewsyr2k", (4, 3), "UN", **ONES)),
    (as_other("syr2k"), case("her2k", (4, 3), "UN", **COMPLEX)),
    (as_other("syrkx"), case("herkx", (4, 3), "LC", **COMPLEX)),
    (swapped("syrkx"), case("syrkx", (4, 3), "UN", **ONES)),
    (swapped("herkx"), case("herkx", (4, 3), "UC", **ONES, **COMPLEX)),
    (swapped("skewsyr2k"), case("skewsyr2k", (4, 3), "LT", new=True)),
    (swapped("her2k"), case("her2k", (4, 3), "LN", alpha=2 + 1j, beta=1, **COMPLEX)),
    (alpha_twice, case("her2k", (4, 3), "UN", alpha=2 + 1j, beta=1, **COMPLEX)),
    (old_value_twice, case("syr2k", (4, 3), "UN", alpha=1, beta=3)),
    (diagonal_cleared, case("skewsyr2k", (4, 3), "UN", **ONES)),
    *(
        (fault(routine), case(routine, size, "UN", alpha=alpha, beta=beta, **COMPLEX))
        for routine in ("herkx", "her2k")
        for fault, size, alpha, beta in (
            (diagonal_of_a_pair_left, (4, 3), 1, 1),
            (diagonal_of_a_pair_left, (4, 3), 0, 2),
            (diagonal_of_a_pair_left, (4, 0), 1, 2),
            (idle_pair_but_real, (4, 3), 0, 1),
            (idle_pair_but_real, (4, 0), 2j, 1),
        )
    ),
]
NAMES = [f"{fault.__name__}-{checked.routine}-{i}" for i, (fault, checked) in enumerate(FAULTS)]


@pytest.mark.parametrize(("fault", "checked"), FAULTS, ids=NAMES)
def test_faults_are_noticed(monkeypatch, fault, checked):
    monkeypatch.setattr(tb, checked.routine, RIGHT[checked.routine])
    with np.errstate(all="ignore"):
        assert runner.check_case(checked).message == ""
        monkeypatch.setattr(tb, checked.routine, fault)
        assert not runner.check_case(checked).passed


# ---- what a call may touch -----------------------------------------------------------------------


def referred(checked, name):
    return region(checked, next(plan for plan in checked.plans if plan.name == name))


def test_regions_of_matrices_on_one_side():
    upper, off_diagonal = places(3, "U"), ~np.eye(3, dtype=bool)
    np.testing.assert_array_equal(referred(case("symm", (3, 5), "LU"), "a").read, [upper])
    np.testing.assert_array_equal(referred(case("symm", (5, 3), "RL"), "a").read, [upper.T])
    found = referred(case("skewsymm", (3, 5), "LU"), "a")
    np.testing.assert_array_equal(found.read, [upper & off_diagonal])
    found = referred(case("hemm", (3, 5), "LU", **COMPLEX), "a")
    np.testing.assert_array_equal(found.read, [upper, upper & off_diagonal])
    for name in "bc":
        assert referred(case("symm", (3, 5), "LU"), name) is None
        assert referred(case("symm", (3, 5), "LU", alpha=0, beta=1), name) is None


def test_regions_of_triangles_that_are_written():
    upper, off_diagonal = places(3, "U"), ~np.eye(3, dtype=bool)
    for routine, letters in (("syrk", "UN"), ("gemmtr", "UNN"), ("syrkx", "UN"), ("syr2k", "UN")):
        checked = case(routine, (3, 5), letters)
        found = referred(checked, "c")
        np.testing.assert_array_equal((*found.read, *found.written), [upper, upper])
        assert referred(checked, "a") is None
    for routine in ("herk", "herkx", "her2k"):
        found = referred(case(routine, (3, 5), "LC", **COMPLEX), "c")
        np.testing.assert_array_equal(found.read, [upper.T, upper.T & off_diagonal])
        np.testing.assert_array_equal(found.written, [upper.T, upper.T])
    found = referred(case("skewsyr2k", (3, 5), "UN"), "c")
    np.testing.assert_array_equal((*found.read, *found.written), [upper & off_diagonal] * 2)


@pytest.mark.parametrize(
    ("routine", "letters"),
    [
        *(("syrk", "UT"), ("herk", "UC"), ("gemmtr", "UTN")),
        *(("syrkx", "UT"), ("her2k", "UC"), ("skewsyr2k", "LT")),
    ],
)
@pytest.mark.parametrize(("k", "alpha", "beta"), [(5, 0, 1), (0, 2, 1), (5, 0, 2), (5, 1, 1)])
def test_nothing_is_written_where_nothing_is_added(routine, letters, k, alpha, beta):
    found = referred(case(routine, (3, k), letters, alpha=alpha, beta=beta, **COMPLEX), "c")
    assert np.any(found.written) == (beta == 2 or (alpha != 0 and k > 0))


# ---- what a case is ------------------------------------------------------------------------------


def shapes(checked):
    return [plan.shape for plan in checked.plans]


def test_shapes_follow_from_sides_and_transposes():
    assert shapes(case("symm", (3, 5), "LU")) == [(3, 3), (3, 5), (3, 5)]
    assert shapes(case("symm", (3, 5), "RU")) == [(5, 5), (3, 5), (3, 5)]
    assert shapes(case("syrk", (3, 5), "UN")) == [(3, 5), (3, 3)]
    assert shapes(case("syrk", (3, 5), "UC")) == [(5, 3), (3, 3)]
    assert shapes(case("syr2k", (3, 5), "UC")) == [(5, 3), (5, 3), (3, 3)]
    assert shapes(case("gemmtr", (3, 5), "UTN")) == [(5, 3), (5, 3), (3, 3)]
    batches = ((2,), (), (2,))
    assert shapes(case("gemmtr", (3, 5), "LNC", batches=batches)) == [(2, 3, 5), (3, 5), (2, 3, 3)]
    assert shapes(case("gemmtr", (3, 5), "LNN", new=True)) == [(3, 5), (5, 3)]


def test_an_id_says_what_is_called():
    made = case("symm", (5, 7), "RL", "row+1", 2, 3, fill="integers")
    assert made.id == "dsymm-RL-5x7-row+1-alpha2-beta3-integers"
    assert made.exact
    assert dict(made.options) == {"side": "R", "uplo": "L"}
    made = case("herk", (4, 6), "LC", ("row", "col"), new=True, dtype="complex64")
    assert made.id == "cherk-LC-4x6-row-alpha1-beta0-new"
    made = case("gemmtr", (4, 6), "UTN", ("row", "col", "row"), batches=((3,), (), (3,)))
    assert made.id == "dgemmtr-UTN-3,1,3*4x6-row/col/row-alpha1-beta0"
