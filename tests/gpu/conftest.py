"""GPU lane: every test here needs a CUDA device; elsewhere each is skipped by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileblas.runtime.driver import available

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.gpu)
            if not available():
                item.add_marker(pytest.mark.skip(reason="no CUDA device"))


@pytest.fixture(scope="session")
def torch():
    return pytest.importorskip("torch")


@pytest.fixture(scope="session")
def cupy():
    return pytest.importorskip("cupy")


@pytest.fixture(scope="session")
def jax():
    return pytest.importorskip("jax")
