"""Tests that need a GPU, or Triton's interpreter in the whole process, are skipped elsewhere."""

import pytest

from tileblas import settings
from tileblas.backends.select import cuda_available

#: What Triton's interpreter does that NumPy advises against; it is not ours to change.
TRITONS_OWN = "ignore:Conversion of an array with ndim > 0 to a scalar:DeprecationWarning"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("interpret"):
            item.add_marker(pytest.mark.filterwarnings(TRITONS_OWN))


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpu") and not cuda_available():
        pytest.skip("needs a CUDA device")
    if item.get_closest_marker("interpret") and not settings.interpreting():
        pytest.skip("interprets: run in its own process, with TRITON_INTERPRET=1")
