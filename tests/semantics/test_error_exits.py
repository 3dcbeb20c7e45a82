"""Error exits of calls in the words of Fortran BLAS: which argument, its position, their order."""

import itertools

import pytest

from tileblas.core.fortran import check_blas
from tileblas.errors import BlasError
from tileblas.routines.registry import ROUTINES

GEMM, GEMV, AXPY, DOT = (ROUTINES[name] for name in ("gemm", "gemv", "axpy", "dot"))
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


# ---- gemv ---------------------------------------------------------------------------------------

GEMV_POSITIONS = {"trans": 1, "m": 2, "n": 3, "lda": 6, "incx": 8, "incy": 11}
WRONG_OF_GEMV = {"trans": "X", "m": -1, "n": -1, "lda": -5, "incx": 0, "incy": 0}
each_letter = pytest.mark.parametrize("letter", ["N", "T", "C"])


def gemv(layout="col", trans="N", m=2, n=3, **changed):
    """A valid call: Fortran's m and n are those of A as stored, whatever the transpose."""
    arguments = {"trans": trans, "m": m, "n": n, "lda": max(1, m if layout == "col" else n)}
    check_blas(GEMV, layout, **{**arguments, "incx": 1, "incy": 1, **changed})


def gemv_exits(argument, call):
    with pytest.raises(BlasError) as caught:
        call()
    got = (caught.value.routine, caught.value.argument, caught.value.position)
    assert got == ("gemv", argument, GEMV_POSITIONS[argument])
    return str(caught.value)


@each_layout
@each_letter
@pytest.mark.parametrize(("m", "n"), list(itertools.product((0, 1, 5), repeat=2)))
def test_valid_calls_of_gemv_pass(layout, letter, m, n):
    for incx, incy in itertools.product((1, 2, -1, -2), repeat=2):
        gemv(layout, letter, m, n, incx=incx, incy=incy)
        gemv(layout, letter.lower(), m, n, lda=50)


@each_layout
@pytest.mark.parametrize("letter", ["/", "X", "", "NT", "H", "R"])
def test_letters_of_gemv(layout, letter):
    gemv_exits("trans", lambda: gemv(layout, letter))


@each_layout
@each_letter
@pytest.mark.parametrize("size", ["m", "n"])
def test_negative_sizes_of_gemv(layout, letter, size):
    assert "-1" in gemv_exits(size, lambda: gemv(layout, letter, **{size: -1}))


@each_layout
@each_letter
def test_the_leading_dimension_of_gemv_is_that_of_a_as_stored(layout, letter):
    for m, n in ((2, 5), (5, 2), (0, 3), (3, 0), (0, 0)):
        least = max(1, m if layout == "col" else n)
        gemv(layout, letter, m, n, lda=least)
        for lda in (least - 1, 0, -1):
            message = gemv_exits(
                "lda", lambda m=m, n=n, lda=lda: gemv(layout, letter, m, n, lda=lda)
            )
            assert str(lda) in message


@each_layout
@each_letter
@pytest.mark.parametrize("name", ["incx", "incy"])
def test_increments_of_gemv_are_not_0(layout, letter, name):
    """In Fortran; the array interface takes an x that repeats one element."""
    gemv_exits(name, lambda: gemv(layout, letter, **{name: 0}))


@each_layout
@pytest.mark.parametrize(("first", "second"), list(itertools.combinations(WRONG_OF_GEMV, 2)))
def test_the_first_wrong_argument_of_gemv_is_named(layout, first, second):
    changed = {name: WRONG_OF_GEMV[name] for name in (first, second)}
    gemv_exits(first, lambda: gemv(layout, **changed))


@each_letter
def test_buffers_of_gemv(letter):
    """A 3 x 5 of leading dimension 7; x and y as long as the transpose makes them."""
    lengths = {"x": 5, "y": 3} if letter == "N" else {"x": 3, "y": 5}
    needed = {"a": 4 * 7 + 3, "x": 1 + 2 * (lengths["x"] - 1), "y": 1 + 3 * (lengths["y"] - 1)}
    call = {"trans": letter, "m": 3, "n": 5, "lda": 7, "incx": 2, "incy": -3}
    gemv(lengths=needed, **call)
    for name, position in (("a", 5), ("x", 7), ("y", 10)):
        with pytest.raises(BlasError, match=str(needed[name])) as caught:
            gemv(lengths={name: needed[name] - 1}, **call)
        assert (caught.value.argument, caught.value.position) == (name, position)


# ---- level 1 ------------------------------------------------------------------------------------


def test_level_1_has_no_error_exits_but_increment_0_of_an_output():
    for n, inc in itertools.product((0, 1, 5), (1, 2, -1, -2)):
        check_blas(ROUTINES["nrm2"], n=n, incx=inc)
        check_blas(ROUTINES["scal"], n=n, incx=inc)
    check_blas(ROUTINES["nrm2"], n=5, incx=0)
    with pytest.raises(BlasError) as caught:
        check_blas(ROUTINES["scal"], n=5, incx=0)
    assert (caught.value.argument, caught.value.position) == ("incx", 4)


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
