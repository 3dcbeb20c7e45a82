"""The demo's last part: the kernels in the interpreter agree with the CPU backend."""

import pytest

from tileblas.lab.checks import why_absent
from tileblas.lab.interpreted import CASES, agreement


def test_interpreted_kernels_agree_with_the_cpu_backend():
    reason = why_absent("interpret")
    if reason:
        pytest.skip(reason)
    seen = []
    found = agreement(lambda done, total: seen.append((done, total)))
    assert [one.case for one in found] == list(CASES)
    assert all(one.good for one in found)
    eps = {"float16": 1e-3, "bfloat16": 1e-2, "float32": 1e-5, "complex64": 1e-5}
    assert all(one.difference < eps.get(one.case.dtype, 1e-13) for one in found)
    assert seen == [(i + 1, len(CASES)) for i in range(len(CASES))]
