"""Error exits of level 2 in the words of Fortran BLAS: which argument, its position, in order."""

import itertools

import pytest

from tileblas.core.fortran import check_blas
from tileblas.errors import BlasError
from tileblas.routines.registry import ROUTINES

#: What each routine checks, in this order, with Fortran's numbers: CBLAS counts one more.
CHECKS = {
    "gbmv": {"trans": 1, "m": 2, "n": 3, "kl": 4, "ku": 5, "lda": 8, "incx": 10, "incy": 13},
    "symv hemv skewsymv": {"uplo": 1, "n": 2, "lda": 5, "incx": 7, "incy": 10},
    "sbmv hbmv": {"uplo": 1, "n": 2, "k": 3, "lda": 6, "incx": 8, "incy": 11},
    "spmv hpmv": {"uplo": 1, "n": 2, "incx": 6, "incy": 9},
    "trmv trsv": {"uplo": 1, "trans": 2, "diag": 3, "n": 4, "lda": 6, "incx": 8},
    "tbmv tbsv": {"uplo": 1, "trans": 2, "diag": 3, "n": 4, "k": 5, "lda": 7, "incx": 9},
    "tpmv tpsv": {"uplo": 1, "trans": 2, "diag": 3, "n": 4, "incx": 7},
    "ger geru gerc": {"m": 1, "n": 2, "incx": 5, "incy": 7, "lda": 9},
    "syr her": {"uplo": 1, "n": 2, "incx": 5, "lda": 7},
    "spr hpr": {"uplo": 1, "n": 2, "incx": 5},
    "syr2 her2 skewsyr2": {"uplo": 1, "n": 2, "incx": 5, "incy": 7, "lda": 9},
    "spr2 hpr2": {"uplo": 1, "n": 2, "incx": 5, "incy": 7},
}
CHECKS = {name: checks for names, checks in CHECKS.items() for name in names.split()}
WRONG = {
    **dict.fromkeys(("uplo", "trans", "diag"), "X"),
    **dict.fromkeys(("m", "n", "k", "kl", "ku"), -1),
    **dict.fromkeys(("incx", "incy"), 0),
    "lda": -5,
}
#: A call of 3 x 5 or of order 5, with bands as wide as they are here.
RIGHT = {
    **{"uplo": "U", "trans": "N", "diag": "N", "m": 3, "n": 5, "k": 2, "kl": 1, "ku": 2},
    **{"incx": 1, "incy": 1},
}
each_routine = pytest.mark.parametrize("routine", CHECKS)
each_layout = pytest.mark.parametrize("layout", ["col", "row"])


def least_lda(routine, layout, arguments):
    """The length of a column or a row as stored; of a band, the number of its diagonals."""
    if "kl" in arguments:
        return arguments["kl"] + arguments["ku"] + 1
    if "k" in arguments:
        return arguments["k"] + 1
    rows = arguments.get("m", arguments["n"])
    return max(1, rows if layout == "col" else arguments["n"])


def call(routine, layout="col", lengths=None, offsets=None, **changed):
    """A valid call with the least leading dimension, changed in what is named."""
    arguments = {name: RIGHT[name] for name in CHECKS[routine] if name in RIGHT} | changed
    if "lda" in CHECKS[routine] and "lda" not in changed:
        arguments["lda"] = least_lda(routine, layout, arguments)
    check_blas(ROUTINES[routine], layout, lengths, offsets, **arguments)


def exits(routine, argument, *rest, **changed):
    with pytest.raises(BlasError) as caught:
        call(routine, *rest, **changed)
    got = (caught.value.routine, caught.value.argument, caught.value.position)
    assert got == (routine, argument, CHECKS[routine][argument])
    return str(caught.value)


def test_every_routine_of_level_2_is_here():
    level2 = {name for name, spec in ROUTINES.items() if spec.level == 2}
    assert set(CHECKS) == level2 - {"gemv", "gemvt"}


@each_routine
@each_layout
def test_valid_calls_pass(routine, layout):
    names = [name for name in ("uplo", "trans", "diag") if name in CHECKS[routine]]
    letters = [{"uplo": "ULul", "trans": "NTCntc", "diag": "NUnu"}[name] for name in names]
    for word in itertools.product(*letters):
        for n, inc in itertools.product((0, 1, 7), (1, 2, -1, -3)):
            steps = {name: inc for name in ("incx", "incy") if name in CHECKS[routine]}
            call(routine, layout, n=n, **dict(zip(names, word, strict=True)), **steps)


@each_routine
@each_layout
def test_each_wrong_argument_is_named(routine, layout):
    for name in CHECKS[routine]:
        message = exits(routine, name, layout, **{name: WRONG[name]})
        assert str(WRONG[name]) in message


@each_routine
@pytest.mark.parametrize("letter", ["/", "", "UU", "H", "R", 0, None])
def test_wrong_letters(routine, letter):
    for name in {"uplo", "trans", "diag"} & CHECKS[routine].keys():
        exits(routine, name, **{name: letter})


@each_routine
@each_layout
def test_the_first_wrong_argument_is_named(routine, layout):
    for first, second in itertools.combinations(CHECKS[routine], 2):
        exits(routine, first, layout, **{name: WRONG[name] for name in (first, second)})
    exits(routine, next(iter(CHECKS[routine])), layout, **{n: WRONG[n] for n in CHECKS[routine]})


@each_layout
@pytest.mark.parametrize("routine", [name for name in CHECKS if "lda" in CHECKS[name]])
def test_leading_dimensions(routine, layout):
    """One less than there are rows is refused, columns where rows are stored, or diagonals."""
    for m, n, k in ((3, 5, 2), (5, 3, 0), (1, 1, 4)):
        sizes = {"m": m, "n": n, "k": k, "kl": k, "ku": 1}
        sizes = {name: size for name, size in sizes.items() if name in CHECKS[routine]}
        least = least_lda(routine, layout, sizes)
        call(routine, layout, **sizes, lda=least)
        call(routine, layout, **sizes, lda=least + 3)
        message = exits(routine, "lda", layout, **sizes, lda=least - 1)
        assert str(least) in message
    for lda in (0, -1):
        exits(routine, "lda", layout, n=0, lda=lda)


@pytest.mark.parametrize("trans", "NTC")
@each_layout
def test_the_sizes_of_gbmv_are_those_of_a_as_stored(trans, layout):
    """kl + ku + 1 diagonals, whatever the transpose; x and y are as long as it makes them."""
    along, across = (5, 3) if trans == "N" else (3, 5)
    needed = {
        "a": (5 if layout == "col" else 3) * 6 - 2,  # runs of 4, 6 apart
        "x": 1 + 2 * (along - 1),
        "y": 1 + 3 * (across - 1),
    }
    arguments = {"trans": trans, "lda": 6, "incx": -2, "incy": 3}
    call("gbmv", layout, needed, **arguments)
    for name, position in (("a", 7), ("x", 9), ("y", 12)):
        with pytest.raises(BlasError, match=str(needed[name])) as caught:
            call("gbmv", layout, {name: needed[name] - 1}, **arguments)
        assert (caught.value.argument, caught.value.position) == (name, position)


@pytest.mark.parametrize(
    ("routine", "position"),
    [("spmv", 4), ("hpmv", 4), ("tpmv", 5), ("tpsv", 5), ("spr", 6), ("hpr2", 8)],
)
@each_layout
def test_lengths_of_packed_triangles(routine, position, layout):
    """n (n + 1) / 2 elements, in both layouts."""
    call(routine, layout, {"ap": 15})
    call(routine, layout, {"ap": 20}, {"ap": 5})
    call(routine, layout, {"ap": 0}, n=0)
    for lengths, offsets in (({"ap": 14}, {}), ({"ap": 15}, {"ap": 1}), ({"ap": 15}, {"ap": -1})):
        with pytest.raises(BlasError) as caught:
            call(routine, layout, lengths, offsets)
        assert (caught.value.argument, caught.value.position) == ("ap", position)


@pytest.mark.parametrize("routine", ["tbmv", "sbmv"])
@each_layout
def test_buffers_of_bands(routine, layout):
    call(routine, layout, {"a": 4 * 7 + 3}, lda=7)
    with pytest.raises(BlasError, match="31"):
        call(routine, layout, {"a": 4 * 7 + 2}, lda=7)


@pytest.mark.parametrize("name", ["n", "k", "lda", "incx"])
def test_sizes_are_integers(name):
    for value in (2.0, "2", None):
        with pytest.raises(TypeError, match=f"'{name}' must be an integer"):
            call("tbmv", **{"lda": 3, name: value})
    for name in ("m", "kl", "ku"):
        with pytest.raises(TypeError, match=f"'{name}' must be an integer"):
            call("gbmv", **{"lda": 4, name: 1.5})
