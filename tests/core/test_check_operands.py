"""Rules for operands: lazy bits, emptiness, batches of outputs, several outputs that meet."""

from __future__ import annotations

import numpy as np
import pytest

from tileblas.arrays.ingest import ingest
from tileblas.core.call import Scalar
from tileblas.core.check import (
    check_dtypes,
    check_lazy_bits,
    check_options,
    check_output,
    check_shapes,
)
from tileblas.core.operand import CONJ, NEG, READONLY
from tileblas.errors import BlasError
from tileblas.routines.registry import ROUTINES

REAL, ZERO = Scalar("real", 0.5), Scalar("zero")
BOTH = CONJ | NEG


def given(name, *arrays, flags=None):
    """The operands of a call; `flags` are lazy bits by name."""
    spec = ROUTINES[name]
    operands = [ingest(x) for x in arrays] + [None] * (len(spec.arguments) - len(arrays))
    names = spec.argument_names
    for key, flag in (flags or {}).items():
        i = names.index(key)
        operands[i] = operands[i]._replace(flags=operands[i].flags | flag)
    return spec, operands


def shapes(name, *arrays):
    spec, operands = given(name, *arrays)
    letters = {option.name: option.default for option in spec.options}
    return check_shapes(spec, operands, letters)


def outputs(name, *arrays, flags=None, **scalars):
    spec, operands = given(name, *arrays, flags=flags)
    check_output(spec, operands, dict.fromkeys(spec.scalars, REAL) | scalars)


# ---- lazy bits ----------------------------------------------------------------------------------


def arrays_of(name, dtype=complex):
    return [np.ones(3, dtype) for _ in ROUTINES[name].arguments]


@pytest.mark.parametrize(
    ("name", "argument", "flag"),
    [
        *(("rotg", argument, flag) for argument in "ab" for flag in (CONJ, NEG, BOTH)),
        *(("rotmg", argument, NEG) for argument in ("d1", "d2", "x1", "y1")),
        *(("axpydot", argument, NEG) for argument in "wvuz"),
        *(("axpydot", argument, BOTH) for argument in "wvuz"),
        ("axpydot", "z", CONJ),  # what is written is no lazy view at all
    ],
)
def test_lazy_views_that_a_routine_does_not_take_are_refused(name, argument, flag):
    spec, operands = given(name, *arrays_of(name), flags={argument: flag})
    with pytest.raises(BlasError, match=f"'{argument}' .*lazily .*resolve it first") as caught:
        check_lazy_bits(spec, operands)
    assert caught.value.argument == argument
    assert caught.value.position == spec.position(argument)


@pytest.mark.parametrize("argument", "wvu")
def test_axpydot_takes_conjugated_inputs(argument):
    check_lazy_bits(*given("axpydot", *arrays_of("axpydot"), flags={argument: CONJ}))


@pytest.mark.parametrize("name", ["dot", "axpy", "axpby", "swap", "rot", "rotm", "scal", "copy"])
@pytest.mark.parametrize("flag", [CONJ, NEG, BOTH])
def test_other_vectors_may_be_lazy_views(name, flag):
    flags = dict.fromkeys(ROUTINES[name].argument_names, flag)
    check_lazy_bits(*given(name, *arrays_of(name), flags=flags))


def test_plain_arrays_and_missing_ones_have_no_lazy_bits():
    for name in ROUTINES:
        spec, operands = given(name, *arrays_of(name))
        check_lazy_bits(spec, operands)
        pairs = zip(spec.arguments, operands, strict=True)
        optional = [None if arg.optional else operand for arg, operand in pairs]
        check_lazy_bits(spec, optional)


def test_a_read_only_input_is_no_lazy_view():
    check_lazy_bits(*given("rotg", np.ones(3), np.ones(3), flags={"a": READONLY}))


# ---- sizes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["iamax", "iamin"])
@pytest.mark.parametrize("shape", [(0,), (2, 0)])
def test_an_empty_vector_has_no_extremum(name, shape):
    with pytest.raises(BlasError, match=r"'x' .*empty vector has no such element") as caught:
        shapes(name, np.ones(shape))
    assert caught.value.position == 2


def test_an_empty_batch_of_vectors_has_no_vector_that_is_empty():
    assert shapes("iamax", np.ones((0, 3))) == ((3,), (0,))


@pytest.mark.parametrize("name", ["nrm2", "asum", "scal"])
def test_an_empty_vector_may_be_summed(name):
    assert shapes(name, np.ones((2, 0))) == ((0,), (2,))


@pytest.mark.parametrize("name", ["swap", "rot", "rotm"])
def test_both_vectors_have_the_whole_batch_where_both_are_written(name):
    """Either could otherwise be written several times."""
    one, many = np.ones(4), np.ones((3, 4))
    assert shapes(name, many, many.copy()) == ((4,), (3,))
    for arrays, argument in (((one, many), "x"), ((many, one), "y")):
        with pytest.raises(BlasError, match=rf"'{argument}' .*batch \(3,\)"):
            shapes(name, *arrays)
    with pytest.raises(BlasError, match=r"'x' .*batch \(2, 3\)"):
        shapes(name, np.ones((2, 1, 4)), np.ones((2, 3, 4)))


@pytest.mark.parametrize("name", ["copy", "axpy", "axpby"])
def test_an_input_broadcasts_to_the_batch_of_the_output_and_not_the_other_way(name):
    assert shapes(name, np.ones(4), np.ones((3, 4))) == ((4,), (3,))
    with pytest.raises(BlasError, match=r"'y' .*batch \(3,\)"):
        shapes(name, np.ones((3, 4)), np.ones(4))


def test_numbers_of_rotations_broadcast_where_they_are_only_read():
    assert shapes("rotg", np.ones((3, 1)), np.ones(4)) == ((), (3, 4))
    batch = np.ones((3, 4))
    assert shapes("rotmg", batch, batch, batch, np.ones(4)) == ((), (3, 4))
    with pytest.raises(BlasError, match=r"'d2' .*batch \(3, 4\)"):
        shapes("rotmg", batch, np.ones(4), batch, batch)


def test_axpydot_writes_z_for_the_whole_batch():
    w, v, u = np.ones((3, 1, 4)), np.ones(4), np.ones((2, 4))
    assert shapes("axpydot", w, v, u) == ((4,), (3, 2))
    assert shapes("axpydot", w, v, u, np.ones((3, 2, 4))) == ((4,), (3, 2))
    with pytest.raises(BlasError, match=r"'z' .*batch \(3, 2\)"):
        shapes("axpydot", w, v, u, np.ones((3, 1, 4)))


@pytest.mark.parametrize("trans", ["N", "T", "C"])
@pytest.mark.parametrize("name", ["tbmv", "tbsv"])
def test_a_triangular_band_has_the_order_of_the_vector(name, trans):
    spec, operands = given(name, np.ones((2, 5)), np.ones(5))
    letters = {"uplo": "U", "trans": trans, "diag": "N"}
    assert check_shapes(spec, operands, letters) == ((5, 2), ())
    for columns in (3, 7):
        _, operands = given(name, np.ones((2, columns)), np.ones(5))
        with pytest.raises(BlasError, match=rf"\(2, {columns}\) with n = {columns}"):
            check_shapes(spec, operands, letters)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("rotm", "complex64"), ("rotmg", "float16"), ("rotg", "float16"), ("dsdot", "float64")],
)
def test_types_that_a_routine_is_not_for_are_refused(name, dtype):
    with pytest.raises(TypeError, match=f"{name}: argument .* is {dtype}, not one of"):
        check_dtypes(*given(name, *arrays_of(name, dtype)))


def test_routines_on_vectors_have_no_options():
    assert check_options(ROUTINES["rot"], {}, None) == {}


# ---- outputs that meet --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["swap", "rot"])
def test_two_outputs_may_be_one_view_and_nothing_between(name):
    base = np.ones(10)
    outputs(name, base[:5], base[5:])
    outputs(name, base[:5], base[:5])
    outputs(name, base[::2], base[1::2])
    for x, y in ((base[:6], base[4:]), (base[:5], base[4::-1]), (base[1:6], base[:5])):
        with pytest.raises(BlasError, match=r"'x' .*shares elements with 'y' other than being"):
            outputs(name, x, y)


@pytest.mark.parametrize("flag", [CONJ, NEG])
def test_one_view_with_two_readings_is_not_the_same_view(flag):
    x = np.ones(4, complex)
    outputs("swap", x, x, flags={"x": flag, "y": flag})
    with pytest.raises(BlasError, match="shares elements"):
        outputs("swap", x, x, flags={"y": flag})


@pytest.mark.parametrize(
    ("name", "allowed"), [("copy", True), ("axpby", True), ("axpy", True), ("rotm", False)]
)
def test_whether_the_same_view_is_allowed_is_the_routines_affair(name, allowed):
    x = np.ones(4)
    if allowed:
        outputs(name, x, x)
        return
    with pytest.raises(BlasError, match=r"'x' .*shares elements with 'y'; pass a copy"):
        outputs(name, x, x)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_z_of_axpydot_may_be_any_of_its_vectors(place):
    vectors = [np.ones(8) for _ in range(3)]
    outputs("axpydot", *vectors, vectors[place])
    with pytest.raises(BlasError, match=rf"'z' .*shares elements with '{'wvu'[place]}' other"):
        outputs("axpydot", *(v[:7] for v in vectors), vectors[place][1:])


def test_the_inputs_of_axpydot_may_meet():
    x = np.ones(8)
    outputs("axpydot", x[:7], x[1:], x[:7], np.ones(7))
    outputs("axpydot", x, x, x)


@pytest.mark.parametrize("pair", [("d1", "d2"), ("d2", "x1"), ("x1", "y1")])
def test_numbers_that_rotmg_updates_are_not_one(pair):
    names = ROUTINES["rotmg"].argument_names
    arrays = {name: np.ones(3) for name in names}
    arrays[pair[1]] = arrays[pair[0]]
    with pytest.raises(BlasError, match=f"'{pair[0]}' .*shares elements with '{pair[1]}'"):
        outputs("rotmg", *arrays.values())


@pytest.mark.parametrize("argument", ["x", "y"])
def test_every_output_must_be_writable_and_not_overlap_itself(argument):
    vectors = {"x": np.ones(4), "y": np.ones(4)}
    with pytest.raises(BlasError, match=f"'{argument}' .*read-only"):
        outputs("swap", *vectors.values(), flags={argument: READONLY})
    vectors[argument] = np.lib.stride_tricks.as_strided(np.ones(1), (4,), (0,))
    with pytest.raises(BlasError, match=f"'{argument}' .*overlapping elements"):
        outputs("swap", *vectors.values())


def test_a_missing_z_needs_no_beta():
    x = np.ones(4)
    outputs("axpydot", x, x, x, alpha=ZERO)
