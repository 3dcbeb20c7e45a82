"""Roofs: measured ones are plausible, and the least time follows from the right one."""

import math

import pytest

from tileblas.lab import roofs
from tileblas.lab.roofs import Roofs, host_roofs


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(roofs, "_HOST_BYTES", 1 << 20)
    monkeypatch.setattr(roofs, "_HOST_ORDER", 64)


@pytest.mark.parametrize("what", ["read", "update", "float16", "float32", "complex128"])
def test_measured_roofs_are_finite_rates(small, what):
    rate = roofs._measure_host(what)
    assert math.isfinite(rate)
    assert rate > 1e6


def test_a_roof_is_measured_once():
    asked = []
    measured = Roofs(lambda what: asked.append(what) or 1e9)
    assert measured.read() == measured.read() == 1e9
    assert measured.rate("float32") == measured.rate("float32")
    assert asked == ["read", "float32"]


def test_the_host_has_one_set_of_roofs():
    assert host_roofs() is host_roofs()


def test_the_least_time_is_set_by_the_first_roof_met(given_roofs):
    least = given_roofs.seconds
    assert least(1, 10**10, "float64", level=1, updates=False) == 1.0
    assert least(1, 8 * 10**9, "float64", level=1, updates=True) == 1.0
    assert least(10**11, 8, "float64", level=3, updates=True) == 1.0
    assert least(8, 8 * 10**9, "float64", level=3, updates=True) == 1.0
    assert least(10**15, 10**10, "float64", level=1, updates=False) == 1.0  # no product
