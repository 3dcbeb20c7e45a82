"""Error exits of calls in the words of Fortran BLAS: which argument, its position, their order."""

import itertools

import pytest

from tileblas.core.fortran import check_blas
from tileblas.errors import BlasError
from tileblas.routines.registry import ROUTINES

GEMM, AXPY, DOT = ROUTINES["gemm"], ROUTINES["axpy"], ROUTINES["dot"]
#: Fortran's positions; CBLAS, where the layout comes first, counts one more.
POSITIONS = {
    "trans_a": 1,
    "trans_b": 2,
    "m": 3,
    "n": 4,
    "k": 5,
    "lda": 8,
    "ldb": 10,
    "ldc": 13,
}
TRANS = ["".join(pair) for pair in itertools.product("NTC", repeat=2)]
each_layout = pytest.mark.parametrize("layout", ["col", "row"])
each_trans = pytest.mark.parametrize("trans", TRANS)


def gemm(layout="col", trans="NN", m=2, n=3, k=4, **changed):
    """A valid call with the least leading dimensions, changed in what is named."""
    stored = {
        "lda": (m, k) if trans[0] == "N" else (k, m),
        "ldb": (k, n) if trans[1] == "N" else (n, k),
        "ldc": (m, n),
    }
    least = {name: max(1, shape[layout == "row"]) for name, shape in stored.items()}
    arguments = {"trans_a": trans[0], "trans_b": trans[1], "m": m, "n": n, "k": k, **least}
    check_blas(GEMM, layout, **{**arguments, **changed})


def exits(argument, call):
    with pytest.raises(BlasError) as caught:
        call()
    assert (caught.value.argument, caught.value.position) == (argument, POSITIONS[argument])
    assert caught.value.routine == "gemm"
    return str(caught.value)


@each_layout
@each_trans
@pytest.mark.parametrize("sizes", list(itertools.product((0, 1, 5), repeat=3)))
def test_valid_calls_pass(layout, trans, sizes):
    gemm(layout, trans, *sizes)


@each_layout
def test_lower_case_letters_pass(layout):
    gemm(layout, "TC", trans_a="t", trans_b="c")


@each_layout
@pytest.mark.parametrize("letter", ["/", "X", "", "NN", "H", "R"])
def test_letters(layout, letter):
    for other in "NTC":
        exits("trans_a", lambda other=other: gemm(layout, trans_a=letter, trans_b=other))
        exits("trans_b", lambda other=other: gemm(layout, trans_a=other, trans_b=letter))


@each_layout
@each_trans
@pytest.mark.parametrize("size", ["m", "n", "k"])
def test_negative_sizes(layout, trans, size):
    assert "-1" in exits(size, lambda: gemm(layout, trans, **{size: -1}))


@each_layout
@each_trans
@pytest.mark.parametrize("name", ["lda", "ldb", "ldc"])
def test_leading_dimensions(layout, trans, name):
    """One less than the stored rows (columns where rows are stored) is refused, as in netlib."""
    for m, n, k in ((2, 3, 4), (4, 2, 3), (3, 4, 2)):
        rows = {
            "lda": (m, k) if trans[0] == "N" else (k, m),
            "ldb": (k, n) if trans[1] == "N" else (n, k),
            "ldc": (m, n),
        }[name][layout == "row"]
        gemm(layout, trans, m, n, k, **{name: rows})
        call = lambda m=m, n=n, k=k, rows=rows: gemm(layout, trans, m, n, k, **{name: rows - 1})  # noqa: E731
        message = exits(name, call)
        assert str(rows) in message
        assert str(rows - 1) in message


@each_layout
@each_trans
@pytest.mark.parametrize("name", ["lda", "ldb", "ldc"])
@pytest.mark.parametrize("ld", [0, -1])
def test_leading_dimensions_of_empty_matrices(layout, trans, name, ld):
    """At least 1, even where there is no row."""
    exits(name, lambda: gemm(layout, trans, 0, 0, 0, **{name: ld}))


def test_case_064_qmcpack_m_0_and_ldc_0():
    exits("ldc", lambda: gemm("col", "NN", 0, 2, 2, lda=1, ldb=2, ldc=0))


WRONG = {
    "trans_a": "X",
    "trans_b": "X",
    "m": -1,
    "n": -1,
    "k": -1,
    "lda": -5,
    "ldb": -5,
    "ldc": -5,
}


@each_layout
@pytest.mark.parametrize(("first", "second"), list(itertools.combinations(WRONG, 2)))
def test_the_first_wrong_argument_is_named(layout, first, second):
    exits(first, lambda: gemm(layout, **{first: WRONG[first], second: WRONG[second]}))


@each_layout
def test_everything_wrong(layout):
    exits("trans_a", lambda: gemm(layout, **WRONG))


def test_an_unknown_layout():
    with pytest.raises(BlasError, match="'col' or 'row'"):
        gemm("diagonal")


# ---- buffers that are too small -----------------------------------------------------------------


@pytest.mark.parametrize(("name", "needed"), [("a", 3 * 7 + 2), ("b", 2 * 7 + 4), ("c", 2 * 7 + 2)])
def test_matrix_buffers(name, needed):
    """(runs - 1) ld + run elements, and the offset."""
    lds = {"lda": 7, "ldb": 7, "ldc": 7}
    gemm(lengths={name: needed}, **lds)
    gemm(lengths={name: needed + 5}, offsets={name: 5}, **lds)
    for lengths, offsets in (
        ({name: needed - 1}, {}),
        ({name: needed}, {name: 1}),
        ({name: 0}, {}),
    ):
        with pytest.raises(BlasError) as caught:
            gemm(lengths=lengths, offsets=offsets, **lds)
        assert caught.value.argument == name
        assert caught.value.position == {"a": 7, "b": 9, "c": 12}[name]
        assert str(lengths[name]) in str(caught.value)
        assert str(needed + offsets.get(name, 0)) in str(caught.value)


@pytest.mark.parametrize("inc", [1, 2, -3, 0])
def test_vector_buffers(inc):
    needed = 1 + 4 * abs(inc)
    check_blas(DOT, n=5, incx=inc, incy=1, lengths={"x": needed, "y": 5})
    with pytest.raises(BlasError, match=str(needed)) as caught:
        check_blas(DOT, n=5, incx=inc, incy=1, lengths={"x": needed - 1, "y": 5})
    assert (caught.value.argument, caught.value.position) == ("x", 2)
    check_blas(DOT, n=0, incx=inc, incy=1, lengths={"x": 0, "y": 0})


def test_increment_0_is_for_inputs():
    check_blas(AXPY, n=5, incx=0, incy=1)
    check_blas(DOT, n=5, incx=0, incy=0)
    with pytest.raises(BlasError) as caught:
        check_blas(AXPY, n=5, incx=1, incy=0)
    assert (caught.value.argument, caught.value.position) == ("incy", 6)
