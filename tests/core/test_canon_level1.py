"""Canonical form of level 1: element-wise updates, several outputs, results of other types."""

from __future__ import annotations

import numpy as np
import pytest

from tileblas.arrays.ingest import ingest
from tileblas.core.call import Problem, Scalar
from tileblas.core.canon import canonical, results
from tileblas.core.check import check_shapes
from tileblas.core.dtypes import DTYPES
from tileblas.core.operand import CONJ, NEG
from tileblas.core.trivial import is_noop, without_product
from tileblas.routines.level1_plans import elementwise
from tileblas.routines.registry import ROUTINES

AXPY, DOTC = ROUTINES["axpy"], ROUTINES["dotc"]
NRM2, SCAL = ROUTINES["nrm2"], ROUTINES["scal"]
ONE, ZERO, REAL = Scalar("one", 1.0), Scalar("zero"), Scalar("real", 0.5)


def posed(name, *arrays, flags=(), **numbers) -> Problem:
    """The problem of a call; scalars that are not given are `REAL`."""
    spec = ROUTINES[name]
    given = [ingest(x) for x in arrays]
    given = [o._replace(flags=f) for o, f in zip(given, flags or (0,) * len(given), strict=True)]
    operands = given + [None] * (len(spec.arguments) - len(given))
    dims, batch = check_shapes(spec, operands, {})
    made = results(spec, operands, dims, batch, given[0].dtype)
    scalars = {scalar: numbers.get(scalar, REAL) for scalar in spec.scalars}
    return canonical(spec, operands, made, dims, batch, {}, scalars)


def elementwise_axpy(x, y) -> Problem:
    operands = [ingest(x), ingest(y)]
    dims, batch = check_shapes(AXPY, operands, {})
    return elementwise(canonical(AXPY, operands, {}, dims, batch, {}, {"alpha": REAL}))


def test_elementwise_on_contiguous_arrays_is_one_vector():
    problem = elementwise_axpy(np.ones((3, 4, 5)), np.ones((3, 4, 5)))
    assert problem.dims == (60,)
    assert problem.batch == ()
    assert problem.output.strides == (1,)


def test_elementwise_walks_the_output_along_its_smallest_stride():
    x, y = np.ones((3, 4)), np.asfortranarray(np.ones((3, 4)))
    problem = elementwise_axpy(x, y)
    assert problem.dims == (3,)
    assert problem.output.strides == (1,)
    assert problem.inputs[0].strides == (4,)
    assert problem.batch == (4,)


def test_elementwise_on_reversed_views_keeps_their_sign():
    problem = elementwise_axpy(np.ones(5)[::-1], np.ones(5))
    assert problem.inputs[0].strides == (-1,)
    assert problem.output.strides == (1,)


def test_dotc_conjugates_its_first_vector():
    x = np.ones(3, complex)
    operands = [ingest(x), ingest(x)]
    made = results(DOTC, operands, (3,), (), operands[0].dtype)
    problem = canonical(DOTC, operands, made, (3,), (), {}, {})
    assert [v.conj for v in problem.inputs] == [True, False]


# ---- nrm2 and scal ------------------------------------------------------------------------------


def test_a_norm_is_real_and_its_problem_has_the_type_of_the_vector():
    x = ingest(np.ones((2, 3), np.complex64))
    made = results(NRM2, [x], (3,), (2,), x.dtype)
    problem = canonical(NRM2, [x], made, (3,), (2,), {}, {})
    assert (problem.dtype.name, problem.output.dtype.name) == ("complex64", "float32")
    assert problem.is_complex
    assert problem.batch == (2,)
    assert not is_noop(NRM2, problem)


def scal_problem(x, alpha=REAL, flags=0) -> Problem:
    operand = ingest(x)._replace(flags=flags)
    dims, batch = check_shapes(SCAL, [operand], {})
    return canonical(SCAL, [operand], {}, dims, batch, {}, {"alpha": alpha})


def test_scal_reads_what_it_writes():
    problem = scal_problem(np.ones((2, 5), complex)[:, ::-2])
    assert problem.inputs == ()
    assert problem.views == (problem.output,)
    assert problem.dtype is problem.output.dtype
    assert problem.output.strides == (-2,)


def test_lazy_bits_of_a_scaled_vector():
    """A sign stays as it is; conjugates ask for the conjugate of alpha."""
    problem = scal_problem(np.ones(3, complex), flags=CONJ | NEG)
    assert not problem.negate
    assert problem.conj_scalars
    assert not problem.output.conj


@pytest.mark.parametrize(
    ("shape", "alpha", "noop"),
    [((3,), ONE, True), ((3,), ZERO, False), ((3,), REAL, False), ((0,), ZERO, True)],
)
def test_quick_returns_of_scal(shape, alpha, noop):
    problem = without_product(scal_problem(np.ones(shape), alpha))
    assert is_noop(SCAL, problem) is noop


def test_scal_of_any_contiguous_array_is_one_vector():
    for x in (np.ones((3, 4, 5)), np.asfortranarray(np.ones((3, 4, 5)))):
        problem = elementwise(scal_problem(x))
        assert (problem.dims, problem.batch, problem.output.strides) == ((60,), (), (1,))


# ---- several outputs, and none that is a vector -------------------------------------------------


@pytest.mark.parametrize("name", ["swap", "rot", "rotm"])
def test_the_last_of_two_outputs_is_the_output_and_the_other_one_is_among_the_inputs(name):
    problem = posed(name, np.ones((2, 5)), np.ones((2, 10))[:, ::2])
    assert [view.slot for view in problem.inputs] == ["x"]
    assert problem.output.slot == "y"
    assert problem.output.strides == (2,)
    assert [name for name, _, _ in problem.scalars] == list(ROUTINES[name].scalars)


def test_axpydot_makes_a_vector_and_a_number():
    x = np.ones((3, 8), np.complex64)
    problem = posed("axpydot", x, x, x)
    assert [view.slot for view in problem.views] == ["w", "v", "u", "z", "r"]
    assert problem.inputs[3].shape == (8,)
    assert problem.output.shape == ()
    assert {view.dtype.name for view in problem.views} == {"complex64"}
    assert posed("axpydot", x, x, x, x).inputs[3] == problem.inputs[3]


@pytest.mark.parametrize(
    ("name", "dtype", "made"),
    [
        ("rotg", "float32", {"c": "float32", "s": "float32", "z": "float32", "r": "float32"}),
        ("rotg", "complex128", {"c": "float64", "s": "complex128", "r": "complex128"}),
        ("rotmg", "float64", {"param": "float64"}),
        ("nrm2", "complex64", {"out": "float32"}),
        ("asum", "complex128", {"out": "float64"}),
        ("iamax", "complex64", {"out": "int64"}),
        ("iamin", "float16", {"out": "int64"}),
        ("dsdot", "float32", {"out": "float64"}),
        ("sdsdot", "float32", {"out": "float32"}),
        ("axpydot", "float16", {"z": "float16", "r": "float16"}),
        ("swap", "float16", {}),
    ],
)
def test_results_have_the_types_of_the_routine(name, dtype, made):
    spec = ROUTINES[name]
    written = ingest(np.ones(4))
    given = [written if a.is_output and not a.optional else None for a in spec.arguments]
    found = results(spec, given, (4,) if spec.dims else (), (2, 3), DTYPES[dtype])
    assert {key: operand.dtype.name for key, operand in found.items()} == made
    shapes = {key: (2, 3, 4) if key == "z" and name == "axpydot" else (2, 3) for key in made}
    shapes |= {"param": (2, 3, 5)} if name == "rotmg" else {}
    assert {key: operand.shape for key, operand in found.items()} == shapes


def test_an_output_that_is_given_is_not_made():
    w = ingest(np.ones(4))
    spec = ROUTINES["axpydot"]
    assert list(results(spec, [w, w, w, None], (4,), (), w.dtype)) == ["z", "r"]
    assert list(results(spec, [w, w, w, w], (4,), (), w.dtype)) == ["r"]


def test_numbers_have_no_sizes_and_their_arrays_are_a_batch():
    a = np.ones((3, 4))
    problem = posed("rotg", a, a.T.copy().T)
    assert problem.dims == ()
    assert problem.batch == (3, 4)
    assert [view.slot for view in problem.views] == ["a", "b", "c", "s", "z", "r"]
    assert posed("rotg", np.ones(()), np.ones(())).batch == ()


def test_elementwise_numbers_are_one_vector():
    problem = elementwise(posed("rotg", np.ones((3, 4)), np.ones((3, 4))))
    assert (problem.dims, problem.batch) == ((12,), ())
    assert {view.strides for view in problem.views} == {(1,)}
    problem = elementwise(posed("rotg", np.ones(()), np.ones(())))
    assert (problem.dims, problem.batch) == ((1,), ())
    assert {view.shape for view in problem.views} == {(1,)}
    columns = elementwise(posed("rotg", np.ones((3, 4)), np.ones(4)))
    assert columns.dims == (4,)
    assert columns.batch == (3,)


@pytest.mark.parametrize("name", ["swap", "rot"])
@pytest.mark.parametrize(
    ("flags", "negate"), [((0, 0), 0), ((NEG, 0), 1), ((0, NEG), 1), ((NEG, NEG), 0)]
)
def test_a_sign_that_both_vectors_carry_cancels(name, flags, negate):
    assert posed(name, np.ones(3), np.ones(3), flags=flags).negate == bool(negate)


@pytest.mark.parametrize(
    ("flags", "conj", "conj_scalars"),
    [((0, 0), False, False), ((CONJ, 0), True, False), ((0, CONJ), True, True)]
    + [((CONJ, CONJ), False, True)],
)
def test_of_two_conjugated_vectors_the_first_one_is_relative_to_the_output(
    flags, conj, conj_scalars
):
    x = np.ones(3, complex)
    problem = posed("rot", x, x.copy(), flags=flags)
    assert [view.conj for view in problem.views] == [conj, False]
    assert problem.conj_scalars == conj_scalars


@pytest.mark.parametrize(
    ("name", "numbers", "noop"),
    [
        ("swap", {}, False),
        ("copy", {}, False),
        ("rot", {"c": ONE, "s": ZERO}, False),
        ("axpby", {"alpha": ZERO, "beta": ONE}, True),
        ("axpby", {"alpha": ZERO, "beta": REAL}, False),
        ("axpby", {"alpha": REAL, "beta": ONE}, False),
        ("axpby", {"alpha": ZERO, "beta": ZERO}, False),
        ("axpy", {"alpha": ZERO}, True),
        ("axpy", {"alpha": ONE}, False),
    ],
)
def test_quick_returns_of_two_vectors(name, numbers, noop):
    problem = posed(name, np.ones(3), np.ones(3), **numbers)
    assert without_product(problem) == problem  # they have no inner dimension
    assert is_noop(ROUTINES[name], problem) is noop
    empty = posed(name, np.ones((2, 0)), np.ones((2, 0)), **numbers)
    assert is_noop(ROUTINES[name], empty)


def test_results_are_made_even_where_there_is_nothing_to_read():
    empty = np.ones((2, 0))
    assert not is_noop(ROUTINES["asum"], posed("asum", empty))
    assert not is_noop(ROUTINES["axpydot"], posed("axpydot", empty, empty, empty, alpha=ZERO))
    none = np.ones((0, 3))
    assert is_noop(ROUTINES["asum"], posed("asum", none))
    assert is_noop(ROUTINES["rotg"], posed("rotg", none, none))
