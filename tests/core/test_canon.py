"""Canonical form: layouts, transposes, batches and lazy bits become strides and flags."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tileblas.arrays.ingest import ingest
from tileblas.core.call import Problem, Scalar
from tileblas.core.canon import canonical, results
from tileblas.core.check import check_shapes
from tileblas.core.operand import CONJ, NEG
from tileblas.core.trivial import is_noop, without_product
from tileblas.routines.registry import ROUTINES

GEMM, GEMV = ROUTINES["gemm"], ROUTINES["gemv"]
ONE, ZERO, REAL = Scalar("one", 1.0), Scalar("zero"), Scalar("real", 0.5)


def gemm_problem(a, b, c, trans=("N", "N"), alpha=ONE, beta=ZERO, flags=(0, 0, 0)) -> Problem:
    operands = [
        ingest(x)._replace(flags=f) if x is not None else None
        for x, f in zip((a, b, c), flags, strict=True)
    ]
    options = dict(zip(("trans_a", "trans_b"), trans, strict=True))
    dims, batch = check_shapes(GEMM, operands, options)
    made = results(GEMM, operands, dims, batch, operands[0].dtype)
    return canonical(GEMM, operands, made, dims, batch, options, {"alpha": alpha, "beta": beta})


def evaluate(problem: Problem, arrays: dict[str, np.ndarray]) -> np.ndarray:
    """The product that a canonical problem describes, computed from strides alone."""
    values = []
    for view in problem.inputs:
        size = arrays[view.slot].itemsize
        strides = tuple(s * size for s in (*view.batch, *view.strides))
        array = np.lib.stride_tricks.as_strided(
            arrays[view.slot], (*problem.batch, *view.shape), strides
        )
        values.append(array.conj() if view.conj else array)
    return values[0] @ values[1]


LAYOUTS = {
    "C": lambda x: np.ascontiguousarray(x),
    "F": lambda x: np.asfortranarray(x),
    "reversed": lambda x: np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1],
}


@pytest.mark.parametrize("trans", list(itertools.product("NTC", repeat=2)))
@pytest.mark.parametrize("layouts", list(itertools.product(LAYOUTS, repeat=3)))
def test_the_canonical_product_is_the_product(trans, layouts):
    rng = np.random.default_rng(0)
    m, n, k = 3, 4, 5

    def draw(rows, columns, layout):
        values = rng.integers(-3, 4, (rows, columns)) + 1j * rng.integers(-3, 4, (rows, columns))
        return LAYOUTS[layout](values)

    def op(x, letter):
        return {"N": x, "T": x.T, "C": x.conj().T}[letter]

    a = draw(*((m, k) if trans[0] == "N" else (k, m)), layouts[0])
    b = draw(*((k, n) if trans[1] == "N" else (n, k)), layouts[1])
    c = draw(m, n, layouts[2])
    problem = gemm_problem(a, b, c, trans)
    product = evaluate(problem, {"a": a, "b": b})
    turned = layouts[2] == "F"
    assert problem.inputs[0].slot == ("b" if turned else "a")
    expected = op(a, trans[0]) @ op(b, trans[1])
    np.testing.assert_array_equal(product, expected.T if turned else expected)
    if layouts[2] != "reversed":
        assert problem.output.strides[1] == 1


def test_lazy_bits_of_inputs_become_flags():
    a = np.ones((2, 2), complex)
    problem = gemm_problem(a, a, a.copy(), ("C", "N"), flags=(CONJ, CONJ | NEG, 0))
    assert [v.conj for v in problem.inputs] == [False, True]
    assert problem.negate
    assert not problem.conj_scalars


def test_an_output_that_is_a_conjugated_view_conjugates_the_right_hand_side():
    a = np.ones((2, 2), complex)
    problem = gemm_problem(a, a, a.copy(), ("C", "N"), flags=(0, 0, CONJ | NEG))
    assert [v.conj for v in problem.inputs] == [False, True]
    assert problem.conj_scalars
    assert problem.negate


def test_real_operands_have_no_conjugation():
    a = np.ones((2, 2))
    assert [v.conj for v in gemm_problem(a, a, None, ("C", "C")).inputs] == [False, False]


def test_batches_merge_to_the_fewest_axes():
    a = np.ones((4, 5, 1, 6, 2, 3))
    b = np.ones((3, 2))
    problem = gemm_problem(a, b, None)
    assert problem.batch == (120,)
    assert problem.inputs[0].batch == (6,)
    assert problem.inputs[1].batch == (0,)


def test_a_broadcast_axis_in_the_middle_keeps_its_neighbours_apart():
    a = np.ones((4, 1, 6, 2, 3))
    b = np.ones((4, 5, 6, 3, 2))
    problem = gemm_problem(a, b, None)
    assert problem.batch == (4, 5, 6)
    assert problem.inputs[0].batch == (36, 0, 6)
    assert problem.inputs[1].batch == (180, 36, 6)


def test_a_column_vector_as_output_is_written_along_its_unit_stride():
    a, b = np.ones((7, 3)), np.ones((3, 1))
    problem = gemm_problem(a, b, None)
    assert problem.dims == (1, 7, 3)
    assert problem.output.strides == (0, 1)


def test_axes_of_length_one_have_no_stride():
    a = np.ones((1, 8))[:, ::2]
    problem = gemm_problem(a, np.ones((4, 3)), None)
    assert problem.inputs[0].strides == (0, 2)


@pytest.mark.parametrize(
    ("shape", "alpha", "beta", "noop"),
    [
        ((2, 3, 4), ONE, ZERO, False),
        ((0, 3, 4), ONE, REAL, True),
        ((2, 0, 4), ONE, REAL, True),
        ((2, 3, 0), ONE, ONE, True),
        ((2, 3, 0), ONE, ZERO, False),
        ((2, 3, 4), ZERO, ONE, True),
        ((2, 3, 4), ZERO, REAL, False),
    ],
)
def test_quick_returns_of_gemm(shape, alpha, beta, noop):
    m, n, k = shape
    problem = gemm_problem(
        np.ones((m, k)), np.ones((k, n)), np.ones((m, n)), alpha=alpha, beta=beta
    )
    assert is_noop(GEMM, without_product(problem)) is noop


def test_alpha_zero_leaves_no_inner_dimension_to_read():
    problem = without_product(
        gemm_problem(np.ones((2, 4)), np.ones((4, 3)), np.ones((2, 3)), alpha=ZERO, beta=REAL)
    )
    assert problem.dims == (2, 3, 0)
    assert [v.shape for v in problem.inputs] == [(2, 0), (0, 3)]


def test_one_row_of_a_column_major_output_is_written_as_a_column():
    c = np.zeros((4, 6), order="F")[:1]
    problem = gemm_problem(np.ones((1, 3)), np.ones((3, 6)), c)
    assert problem.dims == (6, 1, 3)
    assert problem.output.strides == (4, 0)


# ---- gemv ---------------------------------------------------------------------------------------


def gemv_problem(a, x, y, trans="N", alpha=ONE, beta=ZERO, flags=(0, 0, 0)) -> Problem:
    operands = [
        ingest(v)._replace(flags=f) if v is not None else None
        for v, f in zip((a, x, y), flags, strict=True)
    ]
    options = {"trans": trans}
    dims, batch = check_shapes(GEMV, operands, options)
    made = results(GEMV, operands, dims, batch, operands[0].dtype)
    return canonical(GEMV, operands, made, dims, batch, options, {"alpha": alpha, "beta": beta})


@pytest.mark.parametrize("trans", ["N", "T", "C"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_canonical_matrix_vector_product_is_the_product(trans, layout):
    """Sizes are those of op(A): m results, sums of n."""
    rng = np.random.default_rng(1)
    a = rng.integers(-3, 4, (3, 5)) + 1j * rng.integers(-3, 4, (3, 5))
    x = rng.integers(-3, 4, 5) + 1j * rng.integers(-3, 4, 5)
    stored = LAYOUTS[layout]({"N": a, "T": a.T, "C": a.conj().T}[trans])
    problem = gemv_problem(stored, x, np.zeros(3, complex), trans)
    assert problem.dims == (3, 5)
    assert problem.inputs[0].slot == "a"
    np.testing.assert_array_equal(evaluate(problem, {"a": stored, "x": x}), a @ x)


def test_a_conjugated_output_of_gemv_conjugates_the_right_hand_side():
    a = np.ones((2, 2), complex)
    problem = gemv_problem(a, a[0], a[1].copy(), "C", flags=(0, NEG, CONJ | NEG))
    assert [v.conj for v in problem.inputs] == [False, True]
    assert problem.conj_scalars
    assert not problem.negate


def test_stacks_of_gemv_merge_where_every_operand_walks_in_one_stride():
    problem = gemv_problem(np.ones((4, 5, 2, 3)), np.ones(3), None)
    assert problem.batch == (20,)
    assert [v.batch for v in problem.views] == [(6,), (0,), (2,)]
    problem = gemv_problem(np.ones((2, 3)), np.ones((4, 5, 3)), None)
    assert [v.batch for v in problem.views] == [(0,), (3,), (2,)]


@pytest.mark.parametrize(
    ("shape", "alpha", "beta", "noop"),
    [
        ((2, 3), ONE, ZERO, False),
        ((0, 3), ONE, REAL, True),
        ((2, 0), ONE, ONE, True),
        ((2, 0), ONE, REAL, False),
        ((2, 0), ONE, ZERO, False),
        ((2, 3), ZERO, ONE, True),
        ((2, 3), ZERO, ZERO, False),
    ],
)
@pytest.mark.parametrize("trans", ["N", "T"])
def test_quick_returns_of_gemv(shape, alpha, beta, noop, trans):
    m, n = shape
    a = np.ones((m, n) if trans == "N" else (n, m))
    problem = gemv_problem(a, np.ones(n), np.ones(m), trans, alpha, beta)
    assert is_noop(GEMV, without_product(problem)) is noop


def test_alpha_zero_leaves_gemv_nothing_to_read():
    a, x = np.ones((2, 4), complex), np.ones(4, complex)[::-1]
    problem = without_product(gemv_problem(a, x, np.ones(2, complex), "N", ZERO, REAL))
    assert problem.dims == (2, 0)
    assert [v.shape for v in problem.inputs] == [(2, 0), (0,)]
    assert not any(v.conj for v in problem.inputs)
