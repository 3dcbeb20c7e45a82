"""GPU lane: every test here needs a CUDA device; elsewhere each is skipped by name."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tileblas.runtime.driver import available

_HERE = Path(__file__).parent

# --import-mode=importlib puts no folder on sys.path.
sys.path.append(str(_HERE))

from gate import Gate  # noqa: E402
from libraries import LIBRARIES, STREAM_LIBRARIES  # noqa: E402

# JAX would take most of the device for itself when it is first used.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


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


@pytest.fixture(scope="session")
def gate():
    return Gate()


def _name(kind: type) -> str:
    return kind.name


@pytest.fixture(params=LIBRARIES, ids=_name)
def library(request):
    """Each array library in turn."""
    return request.param()


@pytest.fixture(params=STREAM_LIBRARIES, ids=_name)
def streamed(request):
    """Each array library that has a current stream in turn."""
    return request.param()
