"""Calls with several outputs: repeated ones and plans bind, check and return all of them."""

from __future__ import annotations

import numpy as np
import pytest

import tileblas as tb
from tileblas.backends import dispatch


@pytest.fixture
def in_full(monkeypatch):
    """The routines of the calls that took the full path."""
    calls = []
    describe = dispatch.describe

    def counted(spec, *rest):
        calls.append(spec.name)
        return describe(spec, *rest)

    monkeypatch.setattr(dispatch, "describe", counted)
    return calls


def addresses(*arrays):
    return tuple(array.data.ptr for array in arrays)


# ---- repeated calls -----------------------------------------------------------------------------


def test_both_vectors_come_back_as_they_were_given(machine, in_full):
    pairs = [(machine.array(100), machine.array(100)) for _ in range(3)]
    for x, y in pairs:
        found = tb.swap(x, y)
        assert type(found) is tuple
        assert found[0] is x
        assert found[1] is y
    assert in_full == ["swap"]
    assert [q.values for q in machine.queued] == [addresses(*pair) for pair in pairs]


def test_the_scalars_of_a_rotation_are_bound_anew(machine, in_full):
    x, y = machine.array(100), machine.array(100)
    for c, s in ((0.75, 0.625), (0.625, -0.75), (0.625, -0.75), (0.25, 0.875)):
        tb.rot(x, y, c, s)
    assert in_full == ["rot"]
    assert [q.values[2:] for q in machine.queued] == [
        (0.75, 0.625),
        (0.625, -0.75),
        (0.625, -0.75),
        (0.25, 0.875),
    ]


def test_a_complex_sine_binds_both_parts(machine, in_full):
    x, y = (machine.array(100, dtype="complex64") for _ in range(2))
    for s in (0.5 + 0.25j, 0.125 - 0.5j):
        tb.rot(x, y, 0.75, s)
    assert in_full == ["rot"]
    assert [q.values[2:] for q in machine.queued] == [(0.75, 0.5, 0.25), (0.75, 0.125, -0.5)]


@pytest.mark.parametrize("kind", [tuple, list, np.array])
def test_packed_scalars_are_bound_one_by_one(machine, in_full, kind):
    x, y = machine.array(100), machine.array(100)
    for h in (0.5, 0.75):
        tb.rotm(x, y, kind([-1.0, h, 2.0, 3.0, 4.0]))
    assert [q.values[2:] for q in machine.queued] == [
        (-1.0, 0.5, 2.0, 3.0, 4.0),
        (-1.0, 0.75, 2.0, 3.0, 4.0),
    ]
    # A NumPy scalar may be any number, so it is looked at each time.
    assert len(in_full) == (2 if kind is np.array else 1)


def test_the_kind_of_a_modified_rotation_is_part_of_the_call(machine, in_full):
    """Its first number may be 0 and 1, which are kinds of their own."""
    x, y = machine.array(100), machine.array(100)
    for _ in range(2):
        for flag in (-1, 0, 1, -2):
            tb.rotm(x, y, (flag, 2.0, 3.0, 4.0, 5.0))
    assert [q.values[2] for q in machine.queued] == [-1, 0, 1, -2] * 2
    assert len(in_full) == 3  # -1 and -2 are of one kind


def test_either_output_that_has_come_to_meet_another_operand_is_refused(machine, in_full):
    x, y = machine.array(100), machine.array(100)
    tb.swap(x, y)
    for moved, fixed in ((x, y), (y, x)):
        before = moved.data.ptr
        moved.data.ptr = fixed.data.ptr + 160
        with pytest.raises(tb.BlasError, match="shares elements"):
            tb.swap(x, y)
        moved.data.ptr = before
    assert len(machine.queued) == 1
    x.data.ptr = y.data.ptr
    tb.swap(x, y)  # the very view is allowed
    assert machine.queued[-1].values == addresses(y, y)


@pytest.mark.parametrize("place", [0, 1])
def test_a_device_scalar_is_no_element_of_either_output(machine, place):
    x, y, s = machine.array(100), machine.array(100), machine.array()
    tb.rot(x, y, 0.5, s)
    assert machine.queued[-1].values == (*addresses(x, y), 0.5, s.data.ptr)
    s.data.ptr = (x, y)[place].data.ptr + 8
    with pytest.raises(tb.BlasError, match=f"'s' .*is an element of '{'xy'[place]}'"):
        tb.rot(x, y, 0.5, s)
    assert len(machine.queued) == 1


def test_a_number_made_beside_a_vector_that_is_given_takes_the_short_path(machine, in_full):
    for _ in range(3):
        w, v, u, z = (machine.array(100) for _ in range(4))
        found, r = tb.axpydot(w, v, u, z, alpha=2.0)
        assert found is z
        assert r.shape == ()
        assert machine.queued[-1].values == (*addresses(w, v, u, z, r), 2.0)
    assert in_full == ["axpydot"]
    assert len({queued.values[4] for queued in machine.queued}) == 3


def test_such_a_vector_is_still_compared_with_the_others(machine, in_full):
    w, v, u, z = (machine.array(100) for _ in range(4))
    tb.axpydot(w, v, u, z)
    z.data.ptr = v.data.ptr + 4
    with pytest.raises(tb.BlasError, match=r"'z' .*shares elements with 'v'"):
        tb.axpydot(w, v, u, z)
    z.data.ptr = u.data.ptr
    tb.axpydot(w, v, u, z)
    assert [queued.values[3] for queued in machine.queued][-1] == u.data.ptr
    assert in_full == ["axpydot"] * 2  # the very view takes the short path


def test_several_results_that_are_made_are_new_each_time(machine, in_full):
    a, b = machine.array(3, 5), machine.array(3, 5)
    first, second = tb.rotg(a, b), tb.rotg(a, b)
    assert len(first) == 4
    assert {array.shape for array in first} == {(3, 5)}
    assert len({id(array) for array in (*first, *second)}) == 8
    for (c, s, r, z), queued in zip((first, second), machine.queued, strict=True):
        assert set(queued.values) == set(addresses(a, b, c, s, z, r))
    assert in_full == ["rotg", "rotg"]


def test_complex_rotations_return_none_for_what_there_is_not(machine):
    a, b = (machine.array(4, dtype="complex128") for _ in range(2))
    c, s, r, z = tb.rotg(a, b)
    assert z is None
    assert [array.dtype.name for array in (c, s, r)] == ["float64", "complex128", "complex128"]
    assert set(machine.queued[-1].values) == set(addresses(a, b, c, s, r))


def test_rotmg_returns_its_parameters_alone_and_writes_three_numbers(machine, in_full):
    for _ in range(3):
        numbers = [machine.array(7) for _ in range(4)]
        param = tb.rotmg(*numbers)
        assert param.shape == (7, 5)
        assert machine.queued[-1].values == addresses(*numbers, param)
    assert in_full == ["rotmg"]
    numbers[0].data.ptr = numbers[3].data.ptr
    with pytest.raises(tb.BlasError, match=r"'d1' .*shares elements with 'y1'"):
        tb.rotmg(*numbers)


def test_results_have_the_type_of_the_routine_on_the_short_path_too(machine, in_full):
    x = machine.array(100)
    for routine, dtype in ((tb.iamax, "int64"), (tb.asum, "float32")):
        assert [routine(x).dtype.name for _ in range(2)] == [dtype] * 2
    assert [tb.dsdot(x, x).dtype.name for _ in range(2)] == ["float64"] * 2
    z = machine.array(100, dtype="complex64")
    assert [tb.nrm2(z).dtype.name for _ in range(2)] == ["float32"] * 2
    assert in_full == ["iamax", "asum", "dsdot", "nrm2"]


def test_a_factor_of_0_in_axpby_is_no_other_number(machine, in_full):
    x, y = machine.array(100), machine.array(100)
    for alpha, beta in ((2.0, 3.0), (0, 3.0), (2.0, 0), (4.0, 5.0), (0, 7.0)):
        tb.axpby(x, y, alpha=alpha, beta=beta)
    assert in_full == ["axpby"] * 3
    assert [q.values[2:] for q in machine.queued][-2:] == [(4.0, 5.0), (0, 7.0)]


# ---- plans --------------------------------------------------------------------------------------


def test_a_plan_returns_all_outputs(machine):
    x, y = machine.array(100), machine.array(100)
    p = tb.plan(tb.rot, x, y, c=0.6, s=0.8)
    assert machine.queued == []
    for _ in range(2):
        found = p()
        assert found[0] is x
        assert found[1] is y
    assert [q.values for q in machine.queued] == [(*addresses(x, y), 0.6, 0.8)] * 2
    assert machine.queued[0].values is machine.queued[1].values  # nothing is packed again
    others = machine.array(100), machine.array(100)
    assert p(*others) == others
    assert machine.queued[-1].values[:2] == addresses(*others)


def test_a_plan_of_packed_scalars(machine):
    x, y = machine.array(100), machine.array(100)
    p = tb.plan(tb.rotm, x, y, (-1, 2.0, 3.0, 4.0, 5.0))
    assert p() == (x, y)
    assert machine.queued[-1].values == (*addresses(x, y), -1, 2.0, 3.0, 4.0, 5.0)
    with pytest.raises(tb.BlasError, match=r"'param' .*3 numbers"):
        tb.plan(tb.rotm, x, y, (1, 2, 3))


def test_a_plan_compares_every_output_with_the_others(machine):
    x, y = machine.array(100), machine.array(100)
    p = tb.plan(tb.swap, x, y)
    for pair in ((x, x), (y, y)):
        assert p(*pair) == pair
    shifted = machine.array(100)
    shifted.data.ptr = y.data.ptr + 16
    for pair in ((shifted, y), (y, shifted)):
        with pytest.raises(tb.BlasError, match="shares elements"):
            p(*pair)
    with pytest.raises(tb.BlasError, match=r"'x' .*shares elements with 'y'"):
        tb.plan(tb.swap, shifted, y)


def test_a_plan_makes_its_results_anew(machine):
    a, b = machine.array(9), machine.array(9)
    w = [machine.array(100) for _ in range(4)]
    plans = tb.plan(tb.rotg, a, b), tb.plan(tb.axpydot, *w[:3]), tb.plan(tb.axpydot, *w)
    for p, fresh in zip(plans, (4, 2, 1), strict=True):
        first, second = p(), p()
        assert sum(one is not two for one, two in zip(first, second, strict=True)) == fresh


@pytest.mark.parametrize("given", [3, 4])
def test_a_plan_of_axpydot_takes_other_arrays_as_it_was_made(machine, given):
    p = tb.plan(tb.axpydot, *(machine.array(100) for _ in range(given)), alpha=2.0)
    others = [machine.array(100) for _ in range(4)]
    z, r = p(*others[:given])
    assert machine.queued[-1].values == (*addresses(*others[:3], z, r), 2.0)
    assert (z is others[3]) == (given == 4)
    with pytest.raises(tb.BlasError):
        p(*others[: 7 - given])


def test_plans_on_the_cpu():
    rng = np.random.default_rng(0)
    x, y, before = rng.standard_normal((3, 5))
    x[...] = before
    p = tb.plan(tb.swap, x, y)
    old = y.copy()
    np.testing.assert_array_equal(p(), (old, before))
    np.testing.assert_array_equal(p(), (before, old))
    c, s, r, z = tb.plan(tb.rotg, 3.0, 4.0)()
    np.testing.assert_allclose([c, s, r, z], [0.6, 0.8, 5.0, 1 / 0.6], rtol=1e-15)
    z, r = tb.plan(tb.axpydot, x, y, old, alpha=0.5)()
    np.testing.assert_allclose(z, x - 0.5 * y, rtol=1e-14)
    np.testing.assert_allclose(r, (x - 0.5 * y) @ old, rtol=1e-13)


def test_the_very_view_that_is_written_takes_the_short_path(machine, in_full):
    """z is w in place: the addresses meet on every call, and may."""
    for _ in range(3):
        w, v, u = (machine.array(100) for _ in range(3))
        z, r = tb.axpydot(w, v, u, w, alpha=0.5)
        assert z is w
        assert r.shape == ()
        assert machine.queued[-1].values[:4] == addresses(w, v, u, w)
    assert in_full == ["axpydot"]


def test_a_view_that_is_only_nearly_the_written_one_is_refused(machine, in_full):
    w, v, u = (machine.array(100) for _ in range(3))
    tb.axpydot(w, v, u, w)
    shifted = type(w)(w.data.ptr + 4, (100,))
    with pytest.raises(tb.BlasError, match=r"'z' .*shares elements with 'w'"):
        tb.axpydot(w, v, u, shifted)
    backwards = type(w)(w.data.ptr, (100,), strides=(8,))
    with pytest.raises(tb.BlasError, match="shares elements"):
        tb.axpydot(w, v, u, backwards)
