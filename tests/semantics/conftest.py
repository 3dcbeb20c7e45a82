"""The backends on which the rules of the interface are tested: tests ask for `backend` or `cpu`.

Makes beside_scipy importable too: --import-mode=importlib puts no folder on sys.path.
"""

import sys
from pathlib import Path

import pytest

import tileblas as tb

sys.path.append(str(Path(__file__).parent))


@pytest.fixture(
    params=[
        "cpu",
        pytest.param("interpret", marks=pytest.mark.interpret),
        pytest.param("cuda", marks=pytest.mark.gpu),
    ]
)
def backend(request):
    """Run the test with host arrays computed by this backend."""
    with tb.backend(request.param):
        yield request.param


@pytest.fixture
def cpu():
    """Run the test on the CPU backend only: what it asks is decided before any backend is met."""
    with tb.backend("cpu"):
        yield
