"""Tests that cannot run in this process are skipped by name, each with what it needs."""

import pytest

from tileblas import settings
from tileblas.backends.select import cuda_available


def missing(item: pytest.Item) -> str | None:
    """What a test needs and this process lacks."""
    if item.get_closest_marker("gpu") and not cuda_available():
        return "needs a CUDA device"
    if item.get_closest_marker("interpret") and not settings.interpreting():
        return "interprets: run it in a process with TRITON_INTERPRET=1"
    if item.get_closest_marker("compile") and settings.interpreting():
        return "compiles: run it in a process without TRITON_INTERPRET"
    return None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        reason = missing(item)
        if reason:
            name = item.name.partition("[")[0]
            item.add_marker(pytest.mark.skip(reason=f"{name} {reason}"), append=False)
