"""Numbers as a reader wants them."""

import math

import pytest

from tileblas.lab.tables import images_text, rate_text, time_text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (2.0, "2.00 s"),
        (0.0123, "12.3 ms"),
        (9.996e-3, "10.0 ms"),
        (123.4e-6, "123 us"),
        (99.96e-6, "100 us"),
        (4.5e-7, "0.45 us"),
        (math.nan, "-"),
    ],
)
def test_times(seconds, text):
    assert time_text(seconds) == text


@pytest.mark.parametrize(
    ("rate", "text"),
    [(4.226e12, "4.23 TB/s"), (52.1e9, "52.1 GB/s"), (999.0, "999 B/s"), (math.nan, "-")],
)
def test_rates(rate, text):
    assert rate_text(rate, "B/s") == text


def test_images_are_drawn_side_by_side():
    drawn = images_text([[0.0, 1.0, -1.0, 0.5], [-2.0, 0.0, 0.0, 2.0]], side=2)
    assert drawn.splitlines() == ["  ██    ::  ", "::▒▒      ██"]
