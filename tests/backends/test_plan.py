"""Plans: the call repeated, or made on arrays that lie the same way; anything else is refused."""

from __future__ import annotations

import numpy as np
import pytest

import tileblas as tb


def test_a_plan_computes_nothing_until_it_is_called(machine):
    a, b, c = (machine.array(64, 64) for _ in range(3))
    p = tb.plan(tb.gemm, a, b, c, alpha=2.0)
    assert machine.queued == []
    assert p() is c
    assert p() is c
    pointers = tuple(array.data.ptr for array in (a, b, c))
    assert [q.values for q in machine.queued] == [(*pointers, 2.0, 0)] * 2
    assert machine.queued[0].values is machine.queued[1].values  # nothing is packed again


def test_other_arrays_are_bound_in_the_place_of_the_planned_ones(machine):
    p = tb.plan(tb.axpy, machine.array(100), machine.array(100), alpha=3.0)
    x, y = machine.array(100), machine.array(100)
    assert p(x, y) is y
    assert machine.queued[-1].values == (x.data.ptr, y.data.ptr, 3.0)


def test_results_are_new_each_time(machine):
    p = tb.plan(tb.dot, machine.array(100), machine.array(100))
    first, second = p(), p()
    assert first is not second
    assert [q.values[2] for q in machine.queued] == [first.data.ptr, second.data.ptr]


def test_the_stream_of_a_plan(machine):
    x, y = machine.array(100), machine.array(100)
    p = tb.plan(tb.axpy, x, y, alpha=2.0)
    for machine.stream in (7, 9):
        p()
    assert [q.stream for q in machine.queued] == [7, 9]


def test_an_array_whose_memory_has_moved_is_looked_at_again(machine):
    x, y = machine.array(100), machine.array(100)
    p = tb.plan(tb.axpy, x, y, alpha=2.0)
    x.data.ptr += 1 << 20
    p()
    assert machine.queued[-1].values[0] == x.data.ptr
    x.data.ptr, x.shape = x.data.ptr + 16, (99,)
    with pytest.raises(tb.BlasError, match=r"'x' .*shape"):
        p()
    assert len(machine.queued) == 1


def test_a_device_scalar_whose_memory_has_moved_is_looked_at_again(machine):
    a, b, c = (machine.array(64, 64) for _ in range(3))
    alpha = machine.array()
    repeats = tb.plan(tb.gemm, a, b, c, alpha=alpha), tb.plan(tb.gemm, a, b, alpha=alpha)
    for p in repeats:
        for _ in range(3):
            p()
            assert machine.queued[-1].values[3:] == (alpha.data.ptr, 0)
            alpha.data.ptr += 64


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"dtype": "float64"}, "'a' .*dtype float64, .*float32"),
        ({"shape": (32, 64)}, r"'a' .*shape \(32, 64\), .*\(64, 64\)"),
        ({"strides": (512, 4)}, r"'a' .*strides \(128, 1\), .*\(64, 1\)"),
        ({"device": 1}, "'a' .*device CUDA device 1, .*CUDA device 0"),
    ],
)
def test_arrays_that_lie_otherwise_are_refused(machine, change, words):
    a, b, c = (machine.array(64, 64) for _ in range(3))
    p = tb.plan(tb.gemm, a, b, c)
    prepared = machine.prepared
    other = machine.array(*change.pop("shape", (64, 64)), **change)
    with pytest.raises(tb.BlasError, match=words) as caught:
        p(other, b, c)
    assert (caught.value.routine, caught.value.argument, caught.value.position) == ("gemm", "a", 7)
    assert machine.queued == []
    assert machine.prepared == prepared  # nothing was compiled for it either


def test_less_alignment_is_refused_and_more_is_not(machine):
    a, b, c = (machine.array(64, 64) for _ in range(3))
    odd = machine.array(64, 64)
    odd.data.ptr += 4
    with pytest.raises(tb.BlasError, match=r"'b' .*aligned"):
        tb.plan(tb.gemm, a, b, c)(a, odd, c)
    assert machine.queued == []
    assert tb.plan(tb.gemm, a, odd, c)(a, b, c) is c
    odd.data.ptr += 4
    with pytest.raises(tb.BlasError, match=r"'b' .*aligned to 16 bytes"):
        tb.plan(tb.gemm, a, b, c)(a, odd, c)
    eight = tb.plan(tb.gemm, a, odd, c)
    assert eight(a, odd, c) is c
    odd.data.ptr += 4
    with pytest.raises(tb.BlasError, match=r"'b' .*aligned to 8 bytes"):
        eight(a, odd, c)


def test_overlap_is_refused(machine):
    a, b, c = (machine.array(64, 64) for _ in range(3))
    with pytest.raises(tb.BlasError, match=r"'c' .*shares elements with 'a'"):
        tb.plan(tb.gemm, a, b, c)(c, b, c)
    with pytest.raises(tb.BlasError, match=r"'c' .*shares elements with 'a'"):
        tb.plan(tb.gemm, c, b, c)


def test_the_number_of_arrays(machine):
    a, b, c = (machine.array(64, 64) for _ in range(3))
    p = tb.plan(tb.gemm, a, b, c)
    for arrays in ((a,), (a, b), (a, b, c, c)):
        with pytest.raises(tb.BlasError, match=f"planned for a, b, c; .*{len(arrays)} arrays"):
            p(*arrays)
    with pytest.raises(tb.BlasError, match=r"'c' .*is not given"):
        p(a, b, None)
    without = tb.plan(tb.gemm, a, b)
    with pytest.raises(tb.BlasError, match=r"'c' .*is given"):
        without(a, b, c)
    assert without(a, b).shape == without(a, b, None).shape == (64, 64)


def test_on_the_cpu():
    rng = np.random.default_rng(0)
    a, b, c = rng.standard_normal((3, 5, 5))
    p = tb.plan(tb.gemm, a, b, c, alpha=2, trans_b="T")
    before = c.copy()
    np.testing.assert_array_equal(c, before)
    assert p() is c
    np.testing.assert_allclose(c, 2 * a @ b.T, rtol=1e-14)
    a[...] = 0
    np.testing.assert_array_equal(p(), 0)
    other = np.ones((5, 5))
    np.testing.assert_allclose(p(other, b, c), 2 * other @ b.T, rtol=1e-14)
    with pytest.raises(tb.BlasError, match=r"'a' .*dtype float32, .*float64"):
        p(other.astype("f"), b.astype("f"), c.astype("f"))
    q = tb.plan(tb.dot, b[0], b[1])
    np.testing.assert_allclose([q(), q(b[1], b[1])], [b[0] @ b[1], b[1] @ b[1]], rtol=1e-14)


def test_what_is_no_routine_is_refused():
    with pytest.raises(TypeError, match=r"plan takes a routine of tileblas"):
        tb.plan(np.dot, np.ones(3), np.ones(3))
    with pytest.raises(TypeError, match="missing a required argument: 'y'"):
        tb.plan(tb.dot, np.ones(3))
    with pytest.raises(tb.BlasError, match="'trans_a'"):
        tb.plan(tb.gemm, np.ones((2, 2)), np.ones((2, 2)), trans_a="X")
