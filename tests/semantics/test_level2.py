"""Level 2 as an array interface: what is returned, what is made, what is left alone."""

import itertools

import numpy as np
import pytest

import tileblas as tb
from tileblas.arrays.ingest import ingest
from tileblas.backends import dispatch
from tileblas.check.level2_refusals import FORTRAN
from tileblas.check.matrix_cases import matrix_case
from tileblas.check.operands import values
from tileblas.check.oracle import references
from tileblas.check.tolerance import judge
from tileblas.core.dtypes import DTYPES, numpy_dtype
from tileblas.core.operand import CONJ, NEG
from tileblas.routines.registry import ROUTINES

SPECS = {name: spec for name, spec in ROUTINES.items() if spec.level == 2 and spec.name != "gemv"}
UPDATES = [name for name, spec in SPECS.items() if spec.updates]
TRIANGLE_UPDATES = [name for name in UPDATES if SPECS[name].structure]
each_routine = pytest.mark.parametrize("routine", SPECS)
each_uplo = pytest.mark.parametrize("uplo", "UL")
nan = np.nan


def call_of(routine, n=4, dtype=None, **more):
    """(arrays, keywords) of a right call on whole numbers; solves have a solution of such."""
    spec = SPECS[routine]
    dtype = dtype or spec.dtypes[-1]
    size = (n - 1, n) if "m" in spec.dims else n
    first = "".join(option.letters[0] for option in spec.options if option.letters)
    bands = (1, 1) if routine == "gbmv" else 1
    solves = {"fill": ("integers", "image"), "diagonal": "powers"}
    more = {"fill": "integers", "bands": bands} | (solves if routine[2:] == "sv" else {}) | more
    case = matrix_case(routine, dtype, size, more.pop("letters", first), **more)
    return values(case), {**dict(case.scalars), **dict(case.options)}


def outcome(routine, arrays, keywords):
    """The outputs of a call by name, and what they must be."""
    spec = SPECS[routine]
    scalars = {name: keywords[name] for name in spec.scalars}
    options = {name: keywords[name] for name in spec.option_names if name in keywords}
    dtype = next(iter(arrays.values())).dtype
    compute = DTYPES[dtype.name].compute
    expected = references(
        routine, {name: x.copy() for name, x in arrays.items()}, scalars, options, compute
    )
    returned = getattr(tb, routine)(**arrays, **keywords)
    returned = returned if isinstance(returned, tuple) else (returned,)
    return dict(zip(spec.returns, returned, strict=True)), expected


def right(found, expected):
    for name, result in found.items():
        verdict = judge(result, expected[name], DTYPES[result.dtype.name])
        assert verdict.passed, verdict.message


def equal(first, second):
    """The same output, or several of them."""
    pairs = zip(first, second, strict=True) if isinstance(first, tuple) else [(first, second)]
    for one, other in pairs:
        np.testing.assert_array_equal(one, other)


# ---- what is returned ---------------------------------------------------------------------------


@each_routine
def test_a_given_output_is_returned_itself(backend, routine):
    arrays, keywords = call_of(routine)
    found, expected = outcome(routine, arrays, keywords)
    right(found, expected)
    for name, result in found.items():
        assert result is arrays[name]


@pytest.mark.parametrize(
    ("routine", "dtype"),
    [
        (name, dtype)
        for name, spec in SPECS.items()
        for dtype in spec.dtypes
        if any(arg.optional for arg in spec.arguments)
    ],
)
def test_a_new_output_is_c_ordered(backend, routine, dtype):
    arrays, keywords = call_of(routine, dtype=dtype, new=True)
    found, expected = outcome(routine, arrays, keywords)
    right(found, expected)
    for result in found.values():
        assert type(result) is np.ndarray
        assert result.flags.c_contiguous
        assert result.flags.writeable
        assert result.dtype == numpy_dtype(DTYPES[dtype])


@each_uplo
@pytest.mark.parametrize("routine", [name for name in TRIANGLE_UPDATES if "p" not in name])
@pytest.mark.parametrize("alpha", [1, 0])
def test_a_new_triangle_has_zeros_beside_it(backend, routine, uplo, alpha):
    arrays, keywords = call_of(routine, 40, new=True, letters=uplo, alpha=alpha)
    (a,) = outcome(routine, arrays, keywords)[0].values()
    beside = np.tril(a, -1) if uplo == "U" else np.triu(a, 1)
    assert not beside.any()
    assert a.any() == bool(alpha)
    if routine == "skewsyr2":
        assert not a.diagonal().any()


@each_routine
def test_read_only_outputs_are_refused(cpu, routine):
    arrays, keywords = call_of(routine)
    for arg in (arg for arg in SPECS[routine].arguments if arg.is_output):
        output = arrays[arg.name]
        output.flags.writeable = False
        before = output.tobytes()
        with pytest.raises(tb.BlasError, match="read-only") as caught:
            getattr(tb, routine)(**arrays, **keywords)
        names = FORTRAN.get(routine, [])
        position = names.index(arg.name) + 1 if arg.name in names else None
        assert (caught.value.argument, caught.value.position) == (arg.name, position)
        assert output.tobytes() == before
        output.flags.writeable = True


@each_routine
def test_read_only_inputs_are_inputs(cpu, routine):
    arrays, keywords = call_of(routine)
    for arg in SPECS[routine].arguments:
        arrays[arg.name].flags.writeable = arg.is_output
    right(*outcome(routine, arrays, keywords))


# ---- alpha = 0 ----------------------------------------------------------------------------------


@pytest.mark.parametrize("routine", UPDATES)
def test_an_update_by_nothing_leaves_every_bit(backend, routine):
    """Of a Hermitian diagonal too: its imaginary part is no 0 then."""
    arrays, keywords = call_of(routine, alpha=0)
    for name, array in arrays.items():
        array[...] = complex(nan, 5) if array.dtype.kind == "c" else nan
        if name in ("a", "ap"):
            array[0] = 3
    before = {name: array.tobytes() for name, array in arrays.items()}
    getattr(tb, routine)(**arrays, **keywords)
    assert {name: array.tobytes() for name, array in arrays.items()} == before


@pytest.mark.parametrize("routine", ["her", "her2", "hpr", "hpr2"])
def test_an_update_by_zeros_makes_the_diagonal_real(backend, routine):
    """alpha is not 0: the rules of the update hold, whatever the vectors are."""
    arrays, keywords = call_of(routine)
    arrays["x"][...] = 0
    found, expected = outcome(routine, arrays, keywords)
    right(found, expected)
    (a,) = found.values()
    diagonal = a.diagonal() if a.ndim == 2 else a[np.cumsum(np.arange(4) + 1) - 1]
    assert (diagonal.imag == 0).all()


# ---- letters, sizes, views ----------------------------------------------------------------------


@each_routine
def test_letters_may_be_small(backend, routine):
    arrays, keywords = call_of(routine)
    small = {k: v.lower() if isinstance(v, str) else v for k, v in keywords.items()}
    right(*outcome(routine, {k: v.copy() for k, v in arrays.items()}, keywords))
    again = {name: array.copy() for name, array in arrays.items()}
    first = getattr(tb, routine)(**arrays, **keywords)
    second = getattr(tb, routine)(**again, **small)
    equal(first, second)


@pytest.mark.parametrize("routine", ["symv", "skewsymv", "trmv", "syr", "syr2"])
def test_the_other_triangle_of_the_transpose_is_the_same_one(backend, routine):
    """A view is as good as the array: A^T is stored in the lower triangle where A is in the upper.

    The transpose of a skew matrix is its negative.
    """
    dtype = "float64"
    arrays, keywords = call_of(routine, 20, dtype)
    turned = {name: array.copy() for name, array in arrays.items()}
    turned["a"] = turned["a"].T
    other = keywords | {"uplo": "L"} | ({"trans": "T"} if routine == "trmv" else {})
    other |= {"alpha": -1} if routine == "skewsymv" else {}
    first = getattr(tb, routine)(**arrays, **keywords)
    second = getattr(tb, routine)(**turned, **other)
    is_matrix = first.ndim == 2
    np.testing.assert_array_equal(first, second.T if is_matrix else second)


def test_the_rows_of_a_band(backend):
    """As many as y has elements, as m says, or as there are columns."""
    a, x = np.ones((3, 4)), np.ones(4)
    np.testing.assert_array_equal(tb.gbmv(a, x, kl=1), [2, 3, 3, 2])
    np.testing.assert_array_equal(tb.gbmv(a, x, kl=1, m=2), [2, 3])
    np.testing.assert_array_equal(tb.gbmv(a, x, kl=1, m=6), [2, 3, 3, 2, 1, 0])
    np.testing.assert_array_equal(tb.gbmv(a, x, np.empty(3), kl=1), [2, 3, 3])
    np.testing.assert_array_equal(tb.gbmv(a, np.ones(6), kl=1, trans="T"), [2, 3, 3, 3])
    assert tb.gbmv(a, x, kl=1, m=0).shape == (0,)


@pytest.mark.parametrize("kind", [int, np.int64, np.uint8])
def test_sizes_are_integers_of_any_kind(backend, kind):
    a, x = np.arange(12.0).reshape(3, 4), np.ones(4)
    wanted = tb.gbmv(a, x, kl=2)
    np.testing.assert_array_equal(tb.gbmv(a, x, kl=kind(2), m=kind(4)), wanted)


def test_calls_that_differ_in_a_size_or_a_letter_differ(backend):
    """What is remembered of a call is not used for another one."""
    a, x = np.arange(1.0, 13).reshape(3, 4), np.ones(4)
    results = [tb.gbmv(a, x, kl=kl).tolist() for kl in (0, 1, 2, 0, 1, 2)]
    assert results[:3] == results[3:]
    assert len({tuple(result) for result in results}) == 3
    square = np.arange(1.0, 17).reshape(4, 4)
    letters = list(itertools.product("UL", "NT", "NU"))
    results = [tuple(tb.trmv(square, x.copy(), uplo=u, trans=t, diag=d)) for u, t, d in letters * 2]
    assert results[:8] == results[8:]
    assert len(set(results)) == 8


@each_routine
def test_a_plan_repeats_a_call(backend, routine):
    arrays, keywords = call_of(routine)
    again = {name: array.copy() for name, array in arrays.items()}
    plan = tb.plan(getattr(tb, routine), *arrays.values(), **keywords)
    wanted = getattr(tb, routine)(**again, **keywords)
    equal(plan(), wanted)


@each_routine
def test_no_element_at_all(backend, routine):
    arrays, keywords = call_of(routine, 1 if "m" in SPECS[routine].dims else 0)
    found, expected = outcome(routine, arrays, keywords)
    right(found, expected)


# ---- lazy conjugates and signs, as torch has them ------------------------------------------------


def lazily(array, flags):
    """An operand whose values are those of the array though something else is stored."""
    stored = array.conj() if flags & CONJ else array
    stored = (-stored if flags & NEG else stored).copy()
    return stored, ingest(stored)._replace(flags=flags)


LAZY = [
    (name, letters, flags, operand)
    for name, spec in SPECS.items()
    for letters in (
        "".join(word)
        for word in itertools.product(
            *(option.letters for option in spec.options if option.letters)
        )
    )
    for flags in (CONJ, NEG, CONJ | NEG)
    for operand in (*spec.argument_names, "all")
]


def negates_ones(letters, flags, operand):
    """Whether a triangle of which the diagonal is 1 is lazily negated."""
    return letters[2:] == "U" and flags & NEG and operand in ("a", "ap", "all")


def takes(spec, flags, operand):
    """Whether a routine takes lazy bits of these kinds, in an operand or in all of them."""
    kinds = {kind for kind, bit in (("conj", CONJ), ("neg", NEG)) if flags & bit}
    if spec.dtypes[-1] == "float64" and flags & CONJ:
        return False
    written = operand == "all" or spec.operand(operand).is_output
    return kinds <= set(spec.lazy) and not (written and spec.lazy != ("conj", "neg"))


@pytest.mark.parametrize(
    ("routine", "letters", "flags", "operand"),
    [row for row in LAZY if takes(SPECS[row[0]], row[2], row[3])],
)
def test_lazy_bits(cpu, routine, letters, flags, operand):
    """Every combination is as if the values were stored."""
    spec = SPECS[routine]
    arrays, keywords = call_of(routine, letters=letters, alpha=2, beta=3)
    scalars = {name: keywords[name] for name in spec.scalars}
    options = {name: keywords.get(name) for name in spec.option_names}
    known = {name: value for name, value in options.items() if value is not None}
    expected = references(routine, arrays, scalars, known, "float64")
    made = {
        name: lazily(array, flags if operand in (name, "all") else 0)
        for name, array in arrays.items()
    }
    operands = [made[name][1] for name in spec.argument_names]
    call = (spec, operands, list(scalars.values()), list(options.values()), None, None)
    if negates_ones(letters, flags, operand):
        with pytest.raises(tb.BlasError, match="of diagonal 1"):
            dispatch.describe(*call)
        return
    dispatch.describe(*call).run()
    for arg in (arg for arg in spec.arguments if arg.is_output):
        result, _ = lazily(made[arg.name][0], operands[spec.argument_names.index(arg.name)].flags)
        verdict = judge(result, expected[arg.name], DTYPES[result.dtype.name], exact=True)
        assert verdict.passed, verdict.message
