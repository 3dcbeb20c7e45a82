"""Shapes, strides and scalars that nobody thought of: any view is computed where it lies."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tileblas as tb
from tileblas.check import runner
from tileblas.check.cases import Case, Plan
from tileblas.check.guards import Layout
from tileblas.core.dtypes import DTYPES
from tileblas.routines.registry import ROUTINES

few = settings(max_examples=60, deadline=None, derandomize=True, database=None)

dtypes = st.sampled_from(list(DTYPES))
sizes = st.integers(0, 12)
letters = st.sampled_from("NTC")
fills = st.sampled_from(["random", "integers", "special", "wide", "nan"])
batches = st.lists(st.integers(0, 3), max_size=2).map(tuple)


def layouts(rank, core, is_output=False):
    """Any layout of so many axes, those of outputs without zero strides."""
    if rank == 0:
        return st.just(Layout(core=0))
    axes = st.lists(st.integers(-rank, -1), unique=True, max_size=rank).map(tuple)
    return st.builds(
        Layout,
        order=st.sampled_from(["C", "F", "batch"]),
        core=st.just(core),
        pad=st.integers(0, 3),
        step=st.integers(1, 3),
        reverse=axes,
        zero=st.just(()) if is_output else st.one_of(st.just(()), axes),
        offset=st.integers(0, 2),
    )


@st.composite
def broadcasts(draw, batch):
    """A shape that broadcasts to `batch`: axes left out, or of size 1."""
    shape = tuple(draw(st.sampled_from([n, 1])) for n in batch)
    return shape[draw(st.integers(0, len(shape))) :]


def plan(draw, name, shape, core, fill, dtype, is_output=False):
    return Plan(name, shape, draw(layouts(len(shape), core, is_output)), fill, dtype)


@st.composite
def scalars(draw, dtype):
    real = st.sampled_from([0, 1, -1, 2, 0.7, float("nan"), -0.0])
    if not DTYPES[dtype].is_complex:
        return draw(real)
    return draw(st.one_of(real, st.sampled_from([1j, 0.7 - 0.9j, 0j, 1 + 0j])))


@st.composite
def vector_cases(draw, routine):
    dtype, n, batch, fill = draw(dtypes), draw(sizes), draw(batches), draw(fills)
    is_output = routine == "axpy"
    x = plan(draw, "x", (*draw(broadcasts(batch)), n), 1, fill, dtype)
    lead = batch if is_output else draw(broadcasts(batch))
    y = plan(draw, "y", (*lead, n), 1, fill, dtype, is_output)
    numbers = (("alpha", draw(scalars(dtype))),) if is_output else ()
    return Case(f"{routine}-{x}-{y}-{numbers}", routine, dtype, (x, y), numbers)


@st.composite
def one_vector_cases(draw, routine):
    dtype, n, batch, fill = draw(dtypes), draw(sizes), draw(batches), draw(fills)
    is_output = routine == "scal"
    x = plan(draw, "x", (*batch, n), 1, fill, dtype, is_output)
    numbers = (("alpha", draw(scalars(dtype))),) if is_output else ()
    return Case(f"{routine}-{x}-{numbers}", routine, dtype, (x,), numbers)


@st.composite
def level1_cases(draw, routine):
    """Any routine of level 1, by its Spec."""
    spec = ROUTINES[routine]
    dtype, batch, fill = draw(st.sampled_from(spec.dtypes)), draw(batches), draw(fills)
    core = spec.arguments[0].ndim
    n = draw(st.integers(1, 12) if spec.nonempty else sizes)
    if spec.dims == "":  # what rotations make of NaN and Inf is not said
        fill = draw(st.sampled_from(["random", "integers", "wide"]))
    shapes = {
        arg.name: batch if arg.is_output else draw(broadcasts(batch)) for arg in spec.arguments
    }
    if not any(arg.is_output for arg in spec.arguments):
        shapes[spec.arguments[0].name] = batch
    plans = tuple(
        plan(draw, arg.name, (*shapes[arg.name], *(n,) * core), core, fill, dtype, arg.is_output)
        for arg in spec.arguments
    )
    if spec.packed:
        flag = st.sampled_from([-2, -1, 0, 1])
        real = st.sampled_from([0, 1, -1, 2, 0.7])
        numbers = (("flag", draw(flag)), *((name, draw(real)) for name in spec.scalars[1:]))
    else:
        kinds = {name: "float64" if name in spec.real_scalars else dtype for name in spec.scalars}
        numbers = tuple((name, draw(scalars(kind))) for name, kind in kinds.items())
    return Case(f"{routine}-{plans}-{numbers}", routine, dtype, plans, numbers)


@st.composite
def gemv_cases(draw):
    dtype, batch, fill = draw(dtypes), draw(batches), draw(fills)
    m, n, trans = draw(sizes), draw(sizes), draw(letters)
    left, right = draw(broadcasts(batch)), draw(broadcasts(batch))
    lead = np.broadcast_shapes(left, right) if draw(st.booleans()) else None
    plans = [
        plan(draw, "a", (*left, *((m, n) if trans == "N" else (n, m))), 2, fill, dtype),
        plan(draw, "x", (*right, n), 1, fill, dtype),
    ]
    numbers = (("alpha", draw(scalars(dtype))),)
    if lead is not None:
        plans.append(plan(draw, "y", (*lead, m), 1, fill, dtype, is_output=True))
        numbers += (("beta", draw(scalars(dtype))),)
    id = f"gemv-{trans}-{plans}-{numbers}"
    return Case(id, "gemv", dtype, tuple(plans), numbers, (("trans", trans),))


@st.composite
def gemm_cases(draw):
    dtype, batch, fill = draw(dtypes), draw(batches), draw(fills)
    m, n, k = draw(sizes), draw(sizes), draw(sizes)
    trans = draw(letters), draw(letters)
    a, b = ((m, k) if trans[0] == "N" else (k, m)), ((k, n) if trans[1] == "N" else (n, k))
    left, right = draw(broadcasts(batch)), draw(broadcasts(batch))
    lead = np.broadcast_shapes(left, right) if draw(st.booleans()) else None
    plans = [
        plan(draw, "a", (*left, *a), 2, fill, dtype),
        plan(draw, "b", (*right, *b), 2, fill, dtype),
    ]
    numbers = (("alpha", draw(scalars(dtype))),)
    if lead is not None:
        plans.append(plan(draw, "c", (*lead, m, n), 2, fill, dtype, is_output=True))
        numbers += (("beta", draw(scalars(dtype))),)
    options = (("trans_a", trans[0]), ("trans_b", trans[1]))
    return Case(f"gemm-{plans}-{numbers}", "gemm", dtype, tuple(plans), numbers, options)


def check(case):
    verdict = runner.check_case(case)
    assert verdict.passed, verdict.message


@pytest.mark.parametrize("routine", ["dot", "dotc", "dotu"])
def test_dot_of_any_views(cpu, routine):
    few(given(vector_cases(routine))(check))()


def test_axpy_of_any_views(cpu):
    few(given(vector_cases("axpy"))(check))()


@pytest.mark.parametrize("routine", ["nrm2", "scal"])
def test_one_vector_of_any_view(cpu, routine):
    few(given(one_vector_cases(routine))(check))()


LEVEL1 = sorted(set(runner.expanded(["level1"])) - {"dot", "dotc", "dotu", "axpy", "nrm2", "scal"})


@pytest.mark.parametrize("routine", LEVEL1)
def test_level_1_of_any_views(cpu, routine):
    few(given(level1_cases(routine))(check))()


def test_gemv_of_any_views(cpu):
    settings(few, max_examples=250)(given(gemv_cases())(check))()


def test_gemm_of_any_views(cpu):
    settings(few, max_examples=250)(given(gemm_cases())(check))()


@pytest.mark.interpret
@pytest.mark.parametrize("name", ["dotc", "axpy", "nrm2", "scal", *LEVEL1, "gemv", "gemm"])
def test_kernels_on_any_views(name):
    cases = {
        "nrm2": partial(one_vector_cases, "nrm2"),
        "scal": partial(one_vector_cases, "scal"),
        "gemv": gemv_cases,
        "gemm": gemm_cases,
        **{routine: partial(level1_cases, routine) for routine in LEVEL1},
    }.get(name, partial(vector_cases, name))()
    examples = 3 if name == "rotmg" else 40  # a call of it takes most of a second
    with tb.backend("interpret"):
        settings(few, max_examples=examples)(given(cases)(check))()
