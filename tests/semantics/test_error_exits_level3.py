"""Error exits of level 3 in the words of Fortran BLAS: which argument, its position, in order.

Those of gemm are in test_error_exits.
"""

import itertools

import pytest

from tileblas.core.fortran import check_blas
from tileblas.errors import BlasError
from tileblas.routines.registry import ROUTINES

#: What each routine checks, in this order, with Fortran's numbers: CBLAS counts one more.
CHECKS = {
    "symm hemm skewsymm": {
        **{"side": 1, "uplo": 2, "m": 3, "n": 4},
        **{"lda": 7, "ldb": 9, "ldc": 12},
    },
    "syrk herk": {"uplo": 1, "trans": 2, "n": 3, "k": 4, "lda": 7, "ldc": 10},
    "syrkx herkx syr2k her2k skewsyr2k": {
        **{"uplo": 1, "trans": 2, "n": 3, "k": 4},
        **{"lda": 7, "ldb": 9, "ldc": 12},
    },
    "gemmtr": {
        **{"uplo": 1, "trans_a": 2, "trans_b": 3, "n": 4, "k": 5},
        **{"lda": 8, "ldb": 10, "ldc": 13},
    },
}
CHECKS = {name: checks for names, checks in CHECKS.items() for name in names.split()}
HERMITIAN = ("herk", "herkx", "her2k")
LETTERS = {"side": "LR", "uplo": "UL", "trans": "NTC", "trans_a": "NTC", "trans_b": "NTC"}
WRONG = {
    **dict.fromkeys(LETTERS, "X"),
    **dict.fromkeys(("m", "n", "k"), -1),
    **dict.fromkeys(("lda", "ldb", "ldc"), -5),
}
RIGHT = {**{name: letters[0] for name, letters in LETTERS.items()}, "m": 3, "n": 5, "k": 2}
each_routine = pytest.mark.parametrize("routine", CHECKS)
each_layout = pytest.mark.parametrize("layout", ["col", "row"])


def letters_of(routine):
    """The letters of each option; Hermitian products have no T."""
    found = {name: LETTERS[name] for name in LETTERS if name in CHECKS[routine]}
    return found | ({"trans": "NC"} if routine in HERMITIAN else {})


def each_word(routine):
    """The options of a call with every combination of letters."""
    letters = letters_of(routine)
    for word in itertools.product(*letters.values()):
        yield dict(zip(letters, word, strict=True))


def stored(routine, arguments):
    """(rows, columns) of each matrix as stored, by its name."""
    n = arguments["n"]
    if "side" in arguments:
        m = arguments["m"]
        order = m if arguments["side"] == "L" else n
        return {"a": (order, order), "b": (m, n), "c": (m, n)}
    k, turns = arguments["k"], arguments.get("trans_a", arguments.get("trans"))
    found = {"a": (n, k) if turns == "N" else (k, n), "c": (n, n)}
    if "trans_b" in arguments:
        found["b"] = (k, n) if arguments["trans_b"] == "N" else (n, k)
    elif "ldb" in CHECKS[routine]:
        found["b"] = found["a"]
    return found


def call(routine, layout="col", lengths=None, offsets=None, **changed):
    """A valid call with the least leading dimensions, changed in what is named."""
    arguments = {name: RIGHT[name] for name in CHECKS[routine] if name in RIGHT}
    known = {name: value for name, value in changed.items() if isinstance(value, int)}
    known |= {name: value.upper() for name, value in changed.items() if isinstance(value, str)}
    for name, shape in stored(routine, {**arguments, **known}).items():
        arguments["ld" + name] = max(1, shape[layout == "row"])
    check_blas(ROUTINES[routine], layout, lengths, offsets, **{**arguments, **changed})


def exits(routine, argument, *rest, **changed):
    with pytest.raises(BlasError) as caught:
        call(routine, *rest, **changed)
    got = (caught.value.routine, caught.value.argument, caught.value.position)
    assert got == (routine, argument, CHECKS[routine][argument])
    return str(caught.value)


def test_every_routine_of_level_3_is_here():
    level3 = {name for name, spec in ROUTINES.items() if spec.level == 3}
    assert set(CHECKS) == level3 - {"gemm"}


@each_routine
@each_layout
def test_valid_calls_pass(routine, layout):
    names = [name for name in "mnk" if name in CHECKS[routine]]
    for word in each_word(routine):
        for sizes in itertools.product((0, 1, 5), repeat=len(names)):
            call(routine, layout, **word, **dict(zip(names, sizes, strict=True)))
        call(routine, layout, **{name: letter.lower() for name, letter in word.items()})


@each_routine
@each_layout
def test_each_wrong_argument_is_named(routine, layout):
    for name in CHECKS[routine]:
        assert str(WRONG[name]) in exits(routine, name, layout, **{name: WRONG[name]})


@each_routine
@pytest.mark.parametrize("letter", ["/", "", "UU", "H", "Q", 0, None])
def test_wrong_letters(routine, letter):
    for name in letters_of(routine):
        exits(routine, name, **{name: letter})


@pytest.mark.parametrize("routine", HERMITIAN)
def test_hermitian_products_are_not_transposed(routine):
    exits(routine, "trans", trans="T")


@each_routine
@each_layout
def test_the_first_wrong_argument_is_named(routine, layout):
    for first, second in itertools.combinations(CHECKS[routine], 2):
        exits(routine, first, layout, **{name: WRONG[name] for name in (first, second)})
    exits(routine, next(iter(CHECKS[routine])), layout, **{n: WRONG[n] for n in CHECKS[routine]})


@each_routine
@each_layout
def test_leading_dimensions(routine, layout):
    """One less than there are rows as stored, or columns where rows are, is refused."""
    for word, (m, n, k) in itertools.product(each_word(routine), ((3, 5, 2), (5, 3, 4), (2, 4, 6))):
        sizes = {"m": m, "n": n, "k": k}
        sizes = {name: size for name, size in sizes.items() if name in CHECKS[routine]}
        for name, shape in stored(routine, {**word, **sizes}).items():
            least = shape[layout == "row"]
            call(routine, layout, **word, **sizes, **{"ld" + name: least + 3})
            message = exits(
                routine, "ld" + name, layout, **word, **sizes, **{"ld" + name: least - 1}
            )
            assert str(least) in message


@each_routine
@each_layout
@pytest.mark.parametrize("ld", [0, -1])
def test_leading_dimensions_of_empty_matrices(routine, layout, ld):
    """At least 1, even where there is no row."""
    empty = dict.fromkeys((name for name in "mnk" if name in CHECKS[routine]), 0)
    for name in ("lda", "ldb", "ldc"):
        if name in CHECKS[routine]:
            exits(routine, name, layout, **empty, **{name: ld})


@each_routine
@each_layout
def test_buffers(routine, layout):
    """(runs - 1) ld + run elements, and the offset."""
    for word in each_word(routine):
        arguments = {name: RIGHT[name] for name in CHECKS[routine] if name in RIGHT} | word
        lds = {name: 7 for name in CHECKS[routine] if name.startswith("ld")}
        for name, shape in stored(routine, arguments).items():
            run, runs = shape if layout == "col" else shape[::-1]
            needed = (runs - 1) * 7 + run
            call(routine, layout, {name: needed + 5}, {name: 5}, **word, **lds)
            for length, offset in ((needed - 1, 0), (needed, 1), (needed, -1), (0, 0)):
                with pytest.raises(BlasError) as caught:
                    call(routine, layout, {name: length}, {name: offset}, **word, **lds)
                assert caught.value.argument == name
                assert caught.value.position == CHECKS[routine]["ld" + name] - 1


@each_routine
def test_sizes_are_integers(routine):
    for name in CHECKS[routine].keys() - LETTERS.keys():
        for value in (2.0, None):
            with pytest.raises(TypeError, match=f"'{name}' must be an integer"):
                call(routine, **{name: value})
