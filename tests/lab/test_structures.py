"""What the lab says of structured matrices, beside the definitions that the checks are made of."""

import itertools

import numpy as np
import pytest

from tileblas.check import stored
from tileblas.lab.cases import Case, layouts, lettered
from tileblas.lab.places import HostPlace, host_normal
from tileblas.lab.structures import Matrix, matrix_arg, stored_shape, triangle
from tileblas.routines.registry import ROUTINES

#: Sizes by their names: bands narrower and wider than the matrix, of one diagonal, not square.
SIZES = {"n": [(9,)], "nb": [(9, 4), (9, 1), (4, 9)], "mnb": [(9, 6, 4), (6, 9, 5), (7, 7, 1)]}
#: Matrices beside others: on the left, and on the right.
SIDED = [
    Case(name, (6, 9, 6 if side == "L" else 9), ROUTINES[name].dtypes[-1], side + uplo, layout)
    for name in ("symm", "hemm", "skewsymm")
    for layout in layouts(name)
    for side in "LR"
    for uplo in "UL"
]
CASES = [
    Case(name, dims, spec.dtypes[-1], "".join(letters), layout)
    for name, spec in ROUTINES.items()
    if spec.level == 2 and spec.dims in SIZES
    for dims in SIZES[spec.dims]
    for layout in layouts(name)
    for letters in itertools.product(*(option.letters for option in lettered(name)))
]


def in_order(case):
    return "F" if case.layout == "col" else "C"


@pytest.mark.parametrize("case", CASES + SIDED, ids=str)
def test_rows_of_a_matrix_are_made_of_what_is_stored(case):
    """A, mirrored and transposed, with the ones and zeros that are not stored."""
    matrix = Matrix.of(case)
    array = host_normal(stored_shape(matrix_arg(case), case), case.dtype, 1, in_order(case))
    size = matrix.rows, matrix.columns
    expected = stored.dense(ROUTINES[case.routine], array, size, case.options).values
    rows = np.arange(len(expected))[:, None]
    columns = matrix.window(rows[:, 0])
    made = np.zeros_like(expected)
    made[rows, columns] = matrix.elements(
        rows, columns, lambda places: HostPlace().gather(array, places)
    )
    np.testing.assert_array_equal(made, expected)


def test_windows_are_no_wider_than_a_band():
    def width(*case):
        return Matrix.of(Case(*case)).window(np.arange(3)).shape

    assert width("gbmv", (100, 100, 9), "float32", "N", "col") == (3, 9)
    assert width("sbmv", (100, 5), "float32", "L", "col") == (3, 9)
    assert width("tbsv", (100, 5), "float32", "LTN", "col") == (3, 5)
    assert width("tbsv", (3, 5), "float32", "LTN", "col") == (3, 3)
    assert width("trsv", (100,), "float32", "LTN", "col") == (3, 100)


@pytest.mark.parametrize(
    "case", [c for c in CASES if c.routine in ("trmv", "tbmv", "tpmv")], ids=str
)
def test_triangles_have_a_diagonal_of_modulus_1_and_little_else(case):
    array = triangle(case, 1)
    assert array.shape == stored_shape(matrix_arg(case), case)
    if array.ndim == 2:
        assert array.flags[f"{in_order(case)}_CONTIGUOUS"]
    size = case.sizes["n"], case.sizes["n"]
    a = stored.dense(ROUTINES[case.routine], array, size, case.options).values
    diagonal = np.diagonal(a)
    sign = (-1.0) ** np.arange(len(a)) if case.options["diag"] == "N" else np.ones(len(a))
    np.testing.assert_array_equal(diagonal, sign)
    others = a - np.diag(diagonal)
    rows = np.linalg.norm(others, axis=1 if case.options["trans"] == "N" else 0)
    assert rows.max() < 2 / 128
    assert (np.count_nonzero(others) > 0) == (case.sizes.get("b") != 1)


@pytest.mark.parametrize("power", [1500, -1500])
@pytest.mark.parametrize(
    "case",
    [
        Case(routine, dims, dtype, letters, layout)
        for routine, dims, layout in (
            *(("trmv", (300,), layout) for layout in ("col", "row")),
            *(("tbmv", (300, b), "col") for b in (2, 9)),
            ("tpmv", (300,), ""),
        )
        for letters in ("LNN", "UTU")
        for dtype in ("float64", "complex128")
    ],
    ids=str,
)
def test_products_and_solves_again_and_again_leave_numbers_of_their_size(case, power):
    """As many as a race makes of ours and of a rival."""
    n = case.sizes["n"]
    a = stored.dense(ROUTINES[case.routine], triangle(case, 1), (n, n), case.options).values
    x = host_normal((n,), case.dtype, 2)
    size = np.abs(np.linalg.matrix_power(a, power) @ x).mean()
    assert 0.3 < size < 1e5


@pytest.mark.parametrize("order", ["C", "F"])
def test_places_in_memory_are_those_of_the_order(order):
    place = HostPlace()
    array = place.from_host(np.arange(6.0).reshape(2, 3), order)
    assert array.flags[f"{order}_CONTIGUOUS"]
    wanted = {"C": [0, 5, 1], "F": [0, 5, 3]}[order]
    np.testing.assert_array_equal(place.gather(array, np.array([0, 5, 1])), wanted)
    np.testing.assert_array_equal(place.gather(array, np.array([[0], [1]])), [[0], [wanted[2]]])
