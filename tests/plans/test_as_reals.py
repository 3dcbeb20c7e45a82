"""Complex vectors whose parts nothing mixes are planned as real ones of twice the length."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from planning import constants, one, posed, value

from tileblas.core.call import Problem, Scalar
from tileblas.core.dtypes import DTYPES
from tileblas.core.operand import CONJ, NEG, Operand
from tileblas.routines.level1_plans import as_reals

COMPLEX = Scalar("complex", 0.5 + 2j)
ON_DEVICE = Operand(64, DTYPES["complex64"], (), (), 0, 0, "", None)


def places(problem: Problem, slot: str) -> list[int]:
    """The bytes of an operand, number by number in the order of the batch and the vector."""
    view = next(view for view in problem.views if view.slot == slot)
    sizes, strides = (*problem.batch, *view.shape), (*view.batch, *view.strides)
    return [
        view.dtype.itemsize * sum(i * s for i, s in zip(index, strides, strict=True)) + byte
        for index in itertools.product(*map(range, sizes))
        for byte in range(view.dtype.itemsize)
    ]


@pytest.mark.parametrize("name", ["copy", "axpy", "axpby", "swap", "rot"])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_the_real_vectors_are_the_same_bytes(name, dtype):
    base = np.empty((3, 4, 9), dtype)
    x, y = base[:, ::2, :7], base[::-1, 1::2, :7]
    problem = posed(name, (x, y))
    real = as_reals(problem)
    assert real.dims == (14,)
    assert {view.dtype.name for view in real.views} == {DTYPES[dtype].real}
    assert not real.is_complex
    for slot in "xy":
        assert places(real, slot) == places(problem, slot)
    assert (real.negate, real.scalars, real.routine) == (problem.negate, problem.scalars, name)


@pytest.mark.parametrize("name", ["asum", "nrm2"])
def test_what_is_summed_of_magnitudes_keeps_its_result(name):
    problem = posed(name, (np.empty((3, 7), np.complex64),), flags=(CONJ,))
    real = as_reals(problem)
    assert real.dims == (14,)
    assert (real.inputs[0].dtype.name, real.inputs[0].conj) == ("float32", False)
    assert real.output == problem.output
    assert places(real, "x") == places(problem, "x")


X = np.empty((3, 8), np.complex64)


@pytest.mark.parametrize(
    ("name", "arrays", "more"),
    [
        ("axpy", (X[:, ::2], X[:, ::2]), {}),
        ("axpy", (X[:, ::-1], X), {}),
        ("axpy", (np.broadcast_to(X[:, :1], (3, 8)), X), {}),
        ("copy", (X, X[:, :1].repeat(16, axis=1)[:, ::2]), {}),
        ("axpy", (X, X), {"numbers": {"alpha": COMPLEX}}),
        ("axpby", (X, X), {"beta": COMPLEX}),
        ("rot", (X, X), {"numbers": {"s": COMPLEX}}),
        ("scal", (X,), {"numbers": {"alpha": Scalar("complex_pointer", 0, ON_DEVICE)}}),
        ("copy", (X, X), {"flags": (CONJ, 0)}),
        ("swap", (X, X), {"flags": (0, CONJ)}),
        ("asum", (X[:, ::2],), {}),
    ],
)
def test_gaps_complex_factors_and_conjugates_keep_complex_vectors(name, arrays, more):
    problem = posed(name, arrays, **more)
    assert as_reals(problem) is problem


@pytest.mark.parametrize("kind", ["zero", "one", "real", "real_pointer"])
def test_factors_that_are_no_complex_numbers_mix_nothing(kind):
    device = ON_DEVICE._replace(dtype=DTYPES["float32"])
    alpha = Scalar(kind, 0.5, device if kind.endswith("pointer") else None)
    assert as_reals(posed("scal", (X,), numbers={"alpha": alpha})).dims == (16,)


def test_two_conjugates_of_which_one_is_written_come_to_none():
    real = as_reals(posed("axpy", (X, X), flags=(CONJ, CONJ | NEG)))
    assert real.dims == (16,)
    assert real.negate
    assert not real.conj_scalars


def test_real_vectors_and_sums_of_products_stay_as_they_are():
    problem = posed("axpy", (X.real.copy(), X.real.copy()))
    assert as_reals(problem) is problem
    assert constants(one("dot", (X, X)))["COMPLEX"]
    assert constants(one("iamax", (X,)))["COMPLEX"]
    assert constants(one("axpydot", (X, X, X)))["COMPLEX"]


def test_one_element_has_its_neighbour_wherever_it_lies():
    x = np.empty((1, 9), np.complex64)[:, :1]
    real = as_reals(posed("scal", (x,)))
    assert (real.dims, real.output.shape, real.output.strides) == ((2,), (2,), (1,))


@pytest.mark.parametrize("name", ["scal", "axpy", "swap", "nrm2"])
def test_the_launch_is_that_of_real_vectors(name):
    """Of a contiguous array too: its kernel is the one that real arrays have."""
    x = np.empty(100, np.complex64)
    arrays = (x,) if name in ("scal", "nrm2") else (x, x)
    launch = one(name, arrays)
    assert launch == one(name, tuple(a.view(np.float32) for a in arrays))
    assert value(launch, "n") == 200


def test_pairs_at_any_address_are_loaded_wide():
    """At a multiple of 8 bytes a complex64 is two numbers of one load, as float32 are there."""
    x = np.empty(100, np.complex64)
    assert one("scal", (x,), alignment=8).alignment == 8
    rows = np.empty((3, 101), np.complex64)[:, :100]
    assert one("scal", (rows,)).alignment == 8
