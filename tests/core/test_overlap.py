"""Overlap of operands, against a brute-force enumeration of every address."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tileblas.core.dtypes import DTYPES
from tileblas.core.operand import Operand, extent
from tileblas.core.overlap import overlaps_itself, ranges_meet, share_elements


def operand(shape, strides, start=0) -> Operand:
    dtype = DTYPES["float32"]
    return Operand(4096 + 4 * start, dtype, shape, strides, 0, 0, "test", None)


def addresses(shape, strides, start=0) -> list[int]:
    return [
        start + sum(i * s for i, s in zip(index, strides, strict=True))
        for index in itertools.product(*(range(n) for n in shape))
    ]


views = st.integers(1, 3).flatmap(
    lambda rank: st.tuples(
        st.tuples(*[st.integers(0, 4)] * rank), st.tuples(*[st.integers(-7, 7)] * rank)
    )
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(views)
def test_self_overlap_is_exact(view):
    found = addresses(*view)
    assert overlaps_itself(operand(*view)) == (len(set(found)) < len(found))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(views, views, st.integers(-8, 8))
def test_shared_elements_are_exact(left, right, shift):
    shared = set(addresses(*left)) & set(addresses(*right, shift))
    assert share_elements(operand(*left), operand(*right, shift)) == bool(shared)
    if shared:
        assert ranges_meet(operand(*left), operand(*right, shift))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(views)
def test_extent_covers_exactly_what_is_touched(view):
    found = addresses(*view)
    assert extent(*view) == ((min(found), max(found) + 1) if found else (0, 0))


def test_interleaved_columns_do_not_coincide():
    left, right = operand((5,), (2,)), operand((5,), (2,), start=1)
    assert ranges_meet(left, right)
    assert not share_elements(left, right)


def test_operands_of_two_devices_never_meet():
    here = operand((4,), (1,))
    assert not ranges_meet(here, here._replace(device=1))


@pytest.mark.parametrize("n", [1, 2])
def test_a_stride_of_zero_overlaps_from_two_elements_on(n):
    assert overlaps_itself(operand((n,), (0,))) is (n > 1)


def test_a_huge_operand_is_judged_without_enumeration():
    assert not overlaps_itself(operand((1 << 20, 1 << 20), (1 << 20, 1)))
    assert overlaps_itself(operand((1 << 20, 1 << 20), (1 << 19, 1)))
