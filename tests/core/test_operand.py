"""What addresses say of the loads that they allow."""

from __future__ import annotations

import pytest

from tileblas.core.operand import alignment_of


@pytest.mark.parametrize(
    ("pointers", "alignment"),
    [
        ((), 16),
        ((4096, 8192), 16),
        ((4096, 8200), 8),
        ((4104, 8200), 8),
        ((4096, 8196), 1),
        ((4104, 8194), 1),
        ((4097,), 1),
    ],
)
def test_the_alignment_of_all_is_that_of_the_least(pointers, alignment):
    assert alignment_of(pointers) == alignment
