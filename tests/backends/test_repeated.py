"""The short path of repeated device calls binds what the full path would, or leaves it to that."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tileblas as tb
from tileblas.backends import dispatch, repeated


@pytest.fixture
def in_full(monkeypatch):
    """Counts the calls that took the full path."""
    calls = []
    describe = dispatch.describe

    def counted(spec, *rest):
        calls.append(spec.name)
        return describe(spec, *rest)

    monkeypatch.setattr(dispatch, "describe", counted)
    return calls


def addresses(*arrays):
    return tuple(array.data.ptr for array in arrays)


def test_the_second_call_binds_its_own_arrays(machine, in_full):
    pairs = [(machine.array(100), machine.array(100)) for _ in range(3)]
    for x, y in pairs:
        assert tb.axpy(x, y, alpha=0.5) is y
    assert in_full == ["axpy"]
    assert [q.values for q in machine.queued] == [(*addresses(x, y), 0.5) for x, y in pairs]


def test_numbers_of_equal_arrays_are_bound_anew(machine, in_full):
    x, y = machine.array(100), machine.array(100)
    for alpha in (0.5, 0.25, 0.25, 3):
        tb.axpy(x, y, alpha=alpha)
    assert in_full == ["axpy"]
    assert [q.values[-1] for q in machine.queued] == [0.5, 0.25, 0.25, 3]


def test_a_new_result_each_time(machine, in_full):
    x, y = machine.array(100), machine.array(100)
    results = [tb.dot(x, y) for _ in range(3)]
    assert in_full == ["dot"]
    assert len({id(result) for result in results}) == 3
    assert [q.values for q in machine.queued] == [addresses(x, y, out) for out in results]
    assert {(out.shape, out.dtype.name) for out in results} == {((), "float32")}


def test_a_product_turned_by_its_output_binds_in_its_own_order(machine, in_full):
    a, b, c = (machine.array(64, 64) for _ in range(3))
    c.strides = (4, 256)  # by columns: the transposed product is planned, b first
    for _ in range(2):
        tb.gemm(a, b, c)
    assert in_full == ["gemm"]
    assert [q.values for q in machine.queued] == [(*addresses(b, a, c), 1, 0)] * 2


@pytest.mark.parametrize("change", ["dtype", "shape", "strides", "device", "alignment", "library"])
def test_another_layout_is_another_call(machine, in_full, change):
    x, y = machine.array(100), machine.array(100)
    tb.dot(x, y)
    x, y = machine.array(100), machine.array(100)
    for array in (x, y):
        if change == "dtype":
            array.dtype = np.dtype("float64")
            array.strides = (8,)
        elif change == "shape":
            array.shape = (50,)
        elif change == "strides":
            array.strides = (8,)
        elif change == "device":
            array.data.device_id = 1
        elif change == "alignment":
            array.data.ptr += 4
        else:
            array.__class__ = type("Other", (type(array),), {"__module__": "cupy"})
    tb.dot(x, y)
    assert in_full == ["dot", "dot"]
    tb.dot(x, y)
    assert in_full == ["dot", "dot"]


@pytest.mark.parametrize("shift", [0, 16, 8, 4, 12])
@pytest.mark.parametrize("operand", [0, 1])
def test_launches_promise_no_more_than_the_least_aligned_address(machine, shift, operand):
    """The same arrays elsewhere, on the full path and then on the short one."""
    x, y = machine.array(100), machine.array(100)
    tb.dot(x, y)
    (x, y)[operand].data.ptr += shift
    tb.dot(x, y)
    tb.dot(x, y)
    promised = {0: 16, 4: 1, 8: 8, 12: 1}[shift % 16]
    assert [queued.alignment for queued in machine.queued] == [16, promised, promised]


def test_options_and_kinds_of_numbers_are_part_of_the_call(machine, in_full):
    a, b, c = (machine.array(64, 64) for _ in range(3))
    calls = [
        {},
        {"trans_a": "T"},
        {"alpha": 2.0},
        {"beta": 1},
        {"beta": 2.0},
        {"alpha": machine.array(), "beta": 0},
        {"math": "ieee"},
    ]
    for _ in range(2):
        for keywords in calls:
            tb.gemm(a, b, c, **keywords)
    assert in_full == ["gemm"] * len(calls)


def test_complex_zeros_keep_their_sign(machine, in_full):
    x, y = (machine.array(100, dtype="complex64") for _ in range(2))
    for alpha in (complex(0.0, -1), complex(-0.0, -1), complex(0.0, -1), complex(-0.0, -1)):
        tb.axpy(x, y, alpha=alpha)
    assert in_full == ["axpy"] * 2  # one for each sign
    signs = [math.copysign(1, q.values[2]) for q in machine.queued]
    assert signs == [1, -1, 1, -1]


def test_complex_numbers_bind_both_parts(machine, in_full):
    x, y = (machine.array(100, dtype="complex64") for _ in range(2))
    for alpha in (2 + 3j, 4 + 5j, 2.5 - 1j):
        tb.axpy(x, y, alpha=alpha)
    assert in_full == ["axpy"]
    assert [q.values[2:] for q in machine.queued] == [(2, 3), (4, 5), (2.5, -1)]
    tb.axpy(x, y, alpha=2.0)  # real-typed: the parts are scaled separately, by another kernel
    assert in_full == ["axpy", "axpy"]
    assert machine.queued[-1].values[2:] == (2.0,)


@pytest.mark.parametrize(
    "alpha", [math.nan, math.inf, -0.0, 1e-40, 1e40, 1 + 1e-12, complex(0, math.nan), True, "2"]
)
def test_what_rounding_or_ieee_makes_special_takes_the_full_path(machine, in_full, alpha):
    dtype = "complex64" if isinstance(alpha, complex) else "float32"
    x, y = (machine.array(100, dtype=dtype) for _ in range(2))
    for _ in range(2):
        if isinstance(alpha, bool | str):
            with pytest.raises(TypeError, match="alpha"):
                tb.axpy(x, y, alpha=alpha)
        else:
            tb.axpy(x, y, alpha=alpha)
    assert in_full == ["axpy", "axpy"]


def test_one_made_by_rounding_does_not_stand_for_all_numbers(machine):
    x = machine.array(100)
    tb.scal(x, alpha=1 + 1e-12)  # 1 in float32: nothing to do
    assert machine.queued == []
    tb.scal(x, alpha=3.0)
    assert machine.queued[-1].values == (*addresses(x), 3.0)


def test_a_complex_one_made_by_rounding_never_takes_the_path_of_other_numbers(machine, in_full):
    """As the number 1 it keeps an infinity that 1 + 0i would turn into NaN."""
    x, y = (machine.array(100, dtype="complex64") for _ in range(2))
    tb.axpy(x, y, alpha=2 + 0j)
    for alpha in (1 + 2.0**-24 + 0j, 1 - 2.0**-25 + 0j):
        tb.axpy(x, y, alpha=alpha)
        assert machine.queued[-1].values[2:] == (1.0,)
    tb.axpy(x, y, alpha=1 + 2.0**-23 + 0j)
    assert machine.queued[-1].values[2:] == (1 + 2.0**-23, 0)
    assert in_full == ["axpy"] * 3


def test_an_option_without_a_hash_is_refused_by_name(machine):
    a, b, c = (machine.array(64, 64) for _ in range(3))
    for _ in range(2):
        with pytest.raises(tb.BlasError, match=r"'trans_a' .*\['T'\]"):
            tb.gemm(a, b, c, trans_a=["T"])
        tb.gemm(a, b, c)
    assert len(machine.queued) == 2


def test_operands_that_have_come_to_meet_are_refused(machine, in_full):
    x, y = machine.array(100), machine.array(100)
    tb.axpy(x, y, alpha=2)
    x.data.ptr = y.data.ptr + 160
    with pytest.raises(tb.BlasError, match=r"'y' .*shares elements with 'x'"):
        tb.axpy(x, y, alpha=2)
    x.data.ptr = y.data.ptr  # the very view is allowed
    tb.axpy(x, y, alpha=2)
    assert [q.values[:2] for q in machine.queued][-1] == addresses(y, y)
    scalar = machine.array()
    tb.axpy(machine.array(100), y, alpha=scalar)
    scalar.data.ptr = y.data.ptr + 8
    with pytest.raises(tb.BlasError, match=r"'alpha' .*is an element of 'y'"):
        tb.axpy(machine.array(100), y, alpha=scalar)


def test_the_current_stream_is_read_at_each_call(machine, in_full):
    x, y = machine.array(100), machine.array(100)
    for machine.stream in (7, 9, 7):
        tb.axpy(x, y, alpha=2)
    assert in_full == ["axpy"]
    assert [q.stream for q in machine.queued] == [7, 9, 7]


def test_a_named_stream_other_than_the_current_one_is_ordered_in_full(
    machine, in_full, monkeypatch
):
    ordered = []
    monkeypatch.setattr(
        "tileblas.arrays.streams.order_after", lambda stream, used: ordered.append(stream.handle)
    )
    monkeypatch.setattr("tileblas.arrays.streams.hold", lambda stream, used: None)
    x, y = machine.array(100), machine.array(100)
    tb.axpy(x, y, alpha=2)
    for handle in (7, 9):
        stream = type("Stream", (), {"__cuda_stream__": lambda self, h=handle: (0, h)})()
        tb.axpy(x, y, alpha=2, stream=stream)
    assert in_full == ["axpy", "axpy"]
    assert ordered == [9]
    assert [q.stream for q in machine.queued] == [7, 7, 9]


def test_the_oldest_signature_is_dropped(machine, in_full, monkeypatch):
    monkeypatch.setattr(repeated, "_REMEMBERED", 2)
    for n in (10, 20, 30, 30, 10):
        tb.dot(machine.array(n), machine.array(n))
    assert in_full == ["dot"] * 4


def test_a_memory_of_calls_keeps_no_array_alive(machine):
    import gc
    import weakref

    x, y = machine.array(100), machine.array(100)
    gone = [weakref.ref(x), weakref.ref(y), weakref.ref(tb.dot(x, y))]
    tb.axpy(x, y, alpha=2)
    del x, y
    machine.queued.clear()
    gc.collect()
    assert [reference() for reference in gone] == [None] * 3
