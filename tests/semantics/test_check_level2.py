"""A broken routine of level 2 fails its cases: each fault is one that some library had or may have.

The right routines, in a line or two of NumPy, pass the same cases.
"""

import numpy as np
import pytest

import tileblas as tb
from tileblas.check import runner
from tileblas.check.guards import POISONS, Guarded, Layout, NumpyLibrary, Region
from tileblas.check.matrix_cases import matrix_case
from tileblas.check.operands import region, values

HOST = NumpyLibrary()


def stored(a, uplo):
    """The stored triangle, and zeros elsewhere whatever is there."""
    return np.triu(a) if uplo == "U" else np.tril(a)


def added(y, product, alpha, beta):
    y[...] = alpha * product + (beta * y if beta else 0)
    return y


def symv(a, x, y, alpha, beta, uplo):
    triangle = stored(a, uplo)
    return added(y, (triangle + triangle.T - np.diag(np.diag(a))) @ x, alpha, beta)


def hemv(a, x, y, alpha, beta, uplo):
    triangle = stored(a, uplo)
    np.fill_diagonal(triangle, np.diag(a).real / 2)
    return added(y, (triangle + triangle.conj().T) @ x, alpha, beta)


def skewsymv(a, x, y, alpha, beta, uplo):
    triangle = stored(a, uplo)
    np.fill_diagonal(triangle, 0)
    return added(y, (triangle - triangle.T) @ x, alpha, beta)


def gbmv(a, x, y, alpha, beta, trans, kl):
    full = np.zeros((len(y), len(x)))
    for i in range(len(y)):
        for j in range(max(0, i - kl), min(len(x), i + len(a) - kl)):
            full[i, j] = a[len(a) - 1 - kl + i - j, j]
    return added(y, full @ x, alpha, beta)


def triangular(a, uplo, trans, diag):
    full = stored(a, uplo)
    if diag == "U":
        np.fill_diagonal(full, 1)
    return {"N": full, "T": full.T, "C": full.conj().T}[trans]


def trmv(a, x, uplo, trans, diag):
    full = triangular(a, uplo, trans, diag)
    there = triangular(np.ones(a.shape, bool), uplo, trans, "N")
    x[...] = np.where(there, full * np.where(there, x, 0), 0).sum(axis=1)
    return x


def substituted(x, a, upper, divide=lambda rest, d: rest / d):
    for i in reversed(range(len(x))) if upper else range(len(x)):
        others = slice(i + 1, None) if upper else slice(0, i)
        x[i] = divide(x[i] - (a[i, others] * x[others]).sum(), a[i, i])
    return x


def trsv(a, x, uplo, trans, diag, **more):
    upper = (uplo == "U") == (trans == "N")
    return substituted(x, triangular(a, uplo, trans, diag), upper, **more)


def her(x, a, alpha, uplo):
    if alpha:
        where = stored(np.ones(a.shape, bool), uplo)
        a[where] += (alpha * np.outer(x, x.conj()))[where]
        a.imag[np.diag_indices_from(a)] = 0
    return a


def syr(x, a=None, *, alpha, uplo):
    if a is None:
        return stored(alpha * np.outer(x, x), uplo)
    where = stored(np.ones(a.shape, bool), uplo)
    a[where] += (alpha * np.outer(x, x))[where]
    return a


def ger(x, y, a, alpha):
    a += alpha * np.outer(x, y) if alpha else 0
    return a


RIGHT = {
    function.__name__: function
    for function in (symv, hemv, skewsymv, gbmv, trmv, trsv, her, syr, ger)
}


# ---- faults -------------------------------------------------------------------------------------


def both_triangles(a, x, y, alpha, beta, uplo):
    return added(y, symv(a, x, y * 0, 1, 0, uplo) + 0 * (a @ x), alpha, beta)


def other_triangle(uplo_of):
    return lambda a, x, y, alpha, beta, uplo: symv(
        a, x, y, alpha, beta, "L" if uplo == "U" else "U"
    )


def diagonal_as_it_is(a, x, y, alpha, beta, uplo):
    """kokkos/stdBLAS#278: the imaginary part of the diagonal is used."""
    triangle = stored(a, uplo)
    full = triangle + triangle.conj().T
    np.fill_diagonal(full, np.diag(a))
    return added(y, full @ x, alpha, beta)


def not_conjugated(a, x, y, alpha, beta, uplo):
    a = a.copy()
    np.fill_diagonal(a, np.diag(a).real)
    return symv(a, x, y, alpha, beta, uplo)


def symmetric(a, x, y, alpha, beta, uplo):
    """A skew matrix taken as a symmetric one without a diagonal."""
    triangle = stored(a, uplo)
    np.fill_diagonal(triangle, 0)
    return added(y, (triangle + triangle.T) @ x, alpha, beta)


def with_diagonal(a, x, y, alpha, beta, uplo):
    triangle = stored(a, uplo)
    return added(y, (triangle - triangle.T) @ x + 0 * np.diag(a), alpha, beta)


def corners(a, x, y, alpha, beta, trans, kl):
    """The corners of the band's array are multiplied by zero."""
    gbmv(a, x, y, alpha, beta, trans, kl)
    y += 0 * a[0, 0]
    return y


def bands_swapped(a, x, y, alpha, beta, trans, kl):
    return gbmv(a, x, y, alpha, beta, trans, len(a) - 1 - kl)


def unit_diagonal_read(a, x, uplo, trans, diag):
    x += 0 * np.diag(a)
    return trmv(a, x, uplo, trans, diag)


def other_rows_read(a, x, uplo, trans, diag):
    """Zeros of the other triangle meet what is in x."""
    full = triangular(a, uplo, trans, diag)
    x[...] = (full * x).sum(axis=1)
    return x


def conjugate_as_transpose(a, x, uplo, trans, diag):
    return trmv(a, x, uplo, "T" if trans == "C" else trans, diag)


def by_inverse(a, x, uplo, trans, diag):
    x[...] = np.linalg.inv(triangular(a, uplo, trans, diag)) @ x
    return x


def by_reciprocals(a, x, uplo, trans, diag):
    return trsv(a, x, uplo, trans, diag, divide=lambda rest, d: rest * (1 / d))


def zeros_skipped(a, x, uplo, trans, diag):
    """The rule that BLAS has given up: what is multiplied by 0 is not read."""
    full = np.where(np.isfinite(a), a, np.where(x == 0, 0, a))
    return trsv(full, x, uplo, trans, diag)


def singularity_tested(a, x, uplo, trans, diag):
    if (np.diag(a) == 0).any():
        raise np.linalg.LinAlgError("singular")
    return trsv(a, x, uplo, trans, diag)


def in_half(a, x, uplo, trans, diag):
    """One element with the error that a rounded factor leaves."""
    trsv(a, x, uplo, trans, diag)
    x[0] *= 1 + 1e-5
    return x


def diagonal_not_real(x, a, alpha, uplo):
    a.imag[np.diag_indices_from(a)] = 0
    her(x, a, alpha, uplo)
    a.imag[0, 0] = 1e-300
    return a


def diagonal_left(x, a, alpha, uplo):
    old = np.diag(a).imag.copy()
    her(x, a, alpha, uplo)
    a.imag[np.diag_indices_from(a)] = old
    return a


def idle_but_real(x, a, alpha, uplo):
    a.imag[np.diag_indices_from(a)] = 0
    return her(x, a, alpha, uplo)


def whole_matrix(x, a=None, *, alpha, uplo):
    if a is None:
        return alpha * np.outer(x, x)
    a += alpha * np.outer(x, x)
    return a


def untouched(x, a=None, *, alpha, uplo):
    return np.zeros((len(x), len(x))) if a is None else a


def skips_zeros(x, y, a, alpha):
    """Columns whose y is 0 are skipped, and with them the NaN of x."""
    a[:, y != 0] += alpha * np.outer(x, y[y != 0])
    return a


def case(routine, *rest, dtype="float64", **more):
    return matrix_case(routine, dtype, *rest, **more)


DOMINANT = {"diagonal": "dominant"}
FAULTS = [
    (both_triangles, case("symv", 5, "U", "row+7", (1,), 2, 1)),
    (other_triangle("symv"), case("symv", 5, "L")),
    (diagonal_as_it_is, case("hemv", 5, "L", dtype="complex128")),
    (not_conjugated, case("hemv", 5, "U", dtype="complex128")),
    (symmetric, case("skewsymv", 5, "U")),
    (with_diagonal, case("skewsymv", 5, "L")),
    (corners, case("gbmv", (5, 7), "N", bands=(1, 2))),
    (bands_swapped, case("gbmv", (7, 5), "N", bands=(1, 2))),
    (unit_diagonal_read, case("trmv", 5, "UNU")),
    (other_rows_read, case("trmv", 5, "LTN", fill=("random", "special"))),
    (conjugate_as_transpose, case("trmv", 5, "LCN", dtype="complex128")),
    (by_inverse, case("trsv", 40, "LNU", dtype="float32", fill=("=-1", "image"))),
    (by_reciprocals, case("trsv", 3, "LNN", fill=("subnormal", "image"), diagonal="tiny powers")),
    (zeros_skipped, case("trsv", 33, "UTN", fill=("flawed", "sparse"), diagonal="powers")),
    (singularity_tested, case("trsv", 5, "UNN", fill="integers", diagonal="one zero")),
    (in_half, case("trsv", 33, "UNN", dtype="float32", **DOMINANT)),
    (diagonal_not_real, case("her", 5, "U", dtype="complex128")),
    (diagonal_left, case("her", 5, "L", dtype="complex128")),
    (idle_but_real, case("her", 5, "L", alpha=0, dtype="complex128")),
    (whole_matrix, case("syr", 5, "U")),
    (whole_matrix, case("syr", 5, "L", new=True)),
    (untouched, case("syr", 5, "U")),
    (skips_zeros, case("ger", (3, 4), fill=("nan", "sparse", "integers"))),
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


def referred(checked, name="a"):
    plan = next(plan for plan in checked.plans if plan.name == name)
    return region(checked, plan)


def test_regions_of_dense_triangles():
    upper = np.triu(np.ones((3, 3), bool))
    off_diagonal = ~np.eye(3, dtype=bool)
    found = referred(case("symv", 3, "U"))
    np.testing.assert_array_equal(found.read, [upper])
    found = referred(case("trmv", 3, "LTU"))
    np.testing.assert_array_equal(found.read, [upper.T & off_diagonal])
    found = referred(case("skewsyr2", 3, "U"))
    np.testing.assert_array_equal(found.written, [upper & off_diagonal])


def test_regions_of_hermitian_diagonals():
    upper = np.triu(np.ones((3, 3), bool))
    found = referred(case("her", 3, "U", dtype="complex64"))
    np.testing.assert_array_equal(found.read, [upper, upper & ~np.eye(3, dtype=bool)])
    np.testing.assert_array_equal(found.written, [upper, upper])
    idle = referred(case("her2", 3, "U", alpha=0, dtype="complex64"))
    assert not np.any(idle.written)
    np.testing.assert_array_equal(idle.read, found.read)


def test_regions_of_bands_and_packed_triangles():
    found = referred(case("gbmv", (3, 4), "N", bands=(1, 1)))
    wanted = [[0, 1, 1, 1], [1, 1, 1, 0], [1, 1, 0, 0]]
    np.testing.assert_array_equal(found.read[0], np.array(wanted, bool))
    found = referred(case("gbmv", (4, 4), "T", bands=(2, 0)))
    wanted = [[1, 1, 1, 1], [1, 1, 1, 0], [1, 1, 0, 0]]
    np.testing.assert_array_equal(found.read[0], np.array(wanted, bool))
    found = referred(case("tbmv", 3, "UNU", bands=2))
    np.testing.assert_array_equal(found.read[0], [[0, 0, 1], [0, 1, 1], [0, 0, 0]])
    found = referred(case("sbmv", 3, "L", bands=3))
    np.testing.assert_array_equal(found.read[0], [[1, 1, 1], [1, 1, 0], [1, 0, 0], [0, 0, 0]])
    found = referred(case("tpmv", 3, "UNU"), "ap")
    np.testing.assert_array_equal(found.read[0], [0, 1, 0, 1, 1, 0])
    found = referred(case("tpmv", 3, "LNU"), "ap")
    np.testing.assert_array_equal(found.read[0], [0, 1, 1, 0, 1, 0])
    assert referred(case("spmv", 3, "U"), "x") is None
    assert referred(case("ger", (2, 3))) is None
    assert not np.any(referred(case("ger", (2, 3), alpha=0)).written)


@pytest.mark.parametrize("poison", POISONS)
def test_elements_outside_of_a_region_are_poison(poison):
    held = np.arange(9.0).reshape(3, 3)
    upper = np.triu(np.ones((3, 3), bool))
    operand = Guarded(held, Layout("F", pad=2), poison, HOST, Region((upper,), (upper,)))
    np.testing.assert_array_equal(operand.array[upper], held[upper])
    np.testing.assert_array_equal(operand.values, np.triu(held))
    test = {"nan": np.isnan, "inf": np.isinf, "finite": np.isfinite}[poison]
    assert test(operand.array[~upper]).all()
    assert (operand.array[~upper] != held[~upper]).all()
    operand.array[upper] = 7
    assert operand.damage(is_output=True) is None
    np.testing.assert_array_equal(operand.result(), np.where(upper, 7, 0))
    operand.array[2, 0] = 7
    assert "not referenced" in operand.damage(is_output=True)


def test_a_diagonal_may_be_poison_in_one_part():
    everywhere, off_diagonal = np.ones((2, 2), bool), ~np.eye(2, dtype=bool)
    held = np.full((2, 2), 1 + 2j)
    parts = Region((everywhere, off_diagonal), (everywhere, everywhere))
    operand = Guarded(held, Layout("C"), "nan", HOST, parts)
    assert np.isnan(operand.array.imag.diagonal()).all()
    np.testing.assert_array_equal(operand.array.real, 1)
    np.testing.assert_array_equal(operand.values, [[1, 1 + 2j], [1 + 2j, 1]])
    operand.array.imag[0, 0] = 0
    assert operand.damage(is_output=True) is None
    assert operand.damage(is_output=False) is not None


# ---- what a case holds --------------------------------------------------------------------------


@pytest.mark.parametrize("letters", ["UNN", "LTN", "UCU"])
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_an_image_has_a_solution_of_whole_numbers(letters, dtype):
    held = values(
        case("trsv", 33, letters, fill=("integers", "image"), diagonal="powers", dtype=dtype)
    )
    a = triangular(held["a"].astype(complex), *letters)
    x = substituted(held["x"].astype(complex), a, (letters[0] == "U") == (letters[1] == "N"))
    np.testing.assert_array_equal(x, np.round(x.real) + 1j * np.round(x.imag))
    assert x.any()


def test_exact_solves_are_those_that_do_not_round():
    exact = {"fill": ("integers", "image"), "diagonal": "powers"}
    assert case("trsv", 5, "UNN", **exact).exact
    assert case("tbsv", 5, "UNU", bands=2, fill=("integers", "image")).exact
    assert case("trsv", 5, "UNN", fill=("subnormal", "image"), diagonal="tiny powers").exact
    assert not case("trsv", 5, "UNN", fill="integers").exact
    assert not case("trsv", 5, "UNN", fill=("integers", "image")).exact
    assert not case("trsv", 5, "UNN", fill=("random", "image"), diagonal="powers").exact


def test_an_id_says_what_is_called():
    made = case("gbmv", (5, 7), "T", "row+1", (1, -2), 2, 3, bands=(1, 2), rows=True)
    assert made.id == "dgbmv-T-5x7-kl1ku2-row+1-inc1,-2-alpha2-beta3-m"
    assert dict(made.options) == {"trans": "T", "kl": 1, "m": 5}
    made = case("tbsv", 5, "LCU", bands=2, fill=("integers", "image"), dtype="complex64")
    assert made.id == "ctbsv-LCU-5-k2-col-inc1-integers/image"
    made = case("hpr2", 4, "U", "gaps", (2, -1), new=True, dtype="complex128")
    assert made.id == "zhpr2-U-4-gaps-inc2,-1-alpha1-new"
    assert case("gbmv", (5, 7), "N", bands=(1, 2), new=True).options[-1] == ("m", 5)
