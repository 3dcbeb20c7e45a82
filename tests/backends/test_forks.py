"""A forked child computes on the CPU, whatever threads of its parent were doing."""

from __future__ import annotations

import multiprocessing

import numpy as np
import pytest

import tileblas as tb
from tileblas.backends import dispatch
from tileblas.runtime import fork

if "fork" not in multiprocessing.get_all_start_methods():
    pytest.skip("processes cannot be forked here", allow_module_level=True)


def _dot(results) -> None:
    with tb.backend("cpu"):
        results.put(float(tb.dot(np.full(3, 2.0), np.full(3, 5.0))))


@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")  # JAX's, where a test has imported it
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_lock_that_a_thread_held_does_not_stop_the_child():
    forking = multiprocessing.get_context("fork")
    results = forking.SimpleQueue()
    child = forking.Process(target=_dot, args=(results,))
    with dispatch._remembering:
        child.start()
    child.join(timeout=60)
    if child.is_alive():
        child.kill()
        child.join()
    assert child.exitcode == 0
    assert results.get() == 30


class DeviceExport:
    """An array on a device, whose exporter does not return in a forked child."""

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, **options):
        pytest.fail("the exporter was asked")


def test_an_array_on_a_device_is_refused_before_its_library_is_asked(monkeypatch):
    monkeypatch.setattr(fork, "lost", True)
    with pytest.raises(RuntimeError, match="initialised before fork"):
        tb.dot(DeviceExport(), DeviceExport())
