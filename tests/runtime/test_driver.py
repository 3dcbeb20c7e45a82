"""The driver: errors, facts, contexts, streams; the fork guard; the log; what imports cost."""

import multiprocessing
import os
import subprocess
import sys

import pytest

from tileblas.runtime import fork, log
from tileblas.runtime.driver import CudaError, DeviceFacts, Driver
from tileblas.runtime.target import Target


def test_an_error_carries_function_code_name_and_text(fake_driver, api):
    api.failing["cuStreamSynchronize"] = 700
    with pytest.raises(CudaError) as caught:
        fake_driver.synchronize(7)
    error = caught.value
    assert (error.function, error.code, error.name) == (
        "cuStreamSynchronize",
        700,
        "CUDA_ERROR_FAKE",
    )
    assert str(error) == "cuStreamSynchronize: CUDA_ERROR_FAKE (700): a fake error"


def test_facts_are_read_once(fake_driver, api):
    facts = fake_driver.facts(0)
    assert facts == DeviceFacts("Fake GPU", (9, 0), 132, 232448, 60 << 20, 1 << 37)
    assert facts.target == Target(90)
    asked = len(api.calls)
    assert fake_driver.facts(0) is facts
    assert len(api.calls) == asked


def test_current_sets_and_restores(fake_driver, api):
    with fake_driver.current(1):
        assert api.cuCtxGetCurrent()[1] == "context 1"
        with fake_driver.current(0):
            assert api.cuCtxGetCurrent()[1] == "context 0"
        assert api.cuCtxGetCurrent()[1] == "context 1"
    assert api.cuCtxGetCurrent()[1] == "no context"


def test_current_does_nothing_where_it_is_current(fake_driver, api):
    api.cuCtxSetCurrent("context 1")
    api.calls.clear()
    with fake_driver.current(1):
        pass
    assert [name for name, *_ in api.calls] == ["cuDeviceGet", "cuDevicePrimaryCtxRetain"] + [
        "cuCtxGetCurrent"
    ]


def test_current_restores_after_an_exception(fake_driver, api):
    with pytest.raises(KeyError), fake_driver.current(1):
        raise KeyError
    assert api.cuCtxGetCurrent()[1] == "no context"


def test_a_context_is_retained_once(fake_driver, api):
    for _ in range(3):
        fake_driver.context(1)
    assert len(api.called("cuDevicePrimaryCtxRetain")) == 1


def test_relaxed_is_undone_after_an_exception(fake_driver, api):
    with pytest.raises(KeyError), fake_driver.relaxed():
        raise KeyError
    assert api.called("cuThreadExchangeStreamCaptureMode") == [["RELAXED"], ["GLOBAL"]]


def test_capturing_gives_the_id(fake_driver, api):
    assert fake_driver.capturing(7) == 0
    api.captures[7] = 41
    assert fake_driver.capturing(7) == 41


def test_an_invalidated_capture_is_an_error(fake_driver, api):
    api.failing["cuStreamIsCapturing"] = 901
    with pytest.raises(CudaError, match="cuStreamIsCapturing"):
        fake_driver.capturing(7)


@pytest.mark.parametrize(("producer", "consumer"), [(7, 0), (0, 7), (7, 8)])
def test_a_stream_waits_for_another_by_an_event(fake_driver, api, producer, consumer):
    fake_driver.record_wait(producer, consumer, 0)
    ((event, recorded),) = api.called("cuEventRecord")
    assert recorded == (producer or 1)
    assert api.called("cuStreamWaitEvent") == [[consumer or 1, event, 0]]
    assert api.called("cuEventDestroy") == [[event]]
    assert api.called("cuStreamGetCtx") == [[max(producer, consumer)]]


def test_two_default_streams_are_ordered_on_the_device_that_is_meant(fake_driver, api):
    with fake_driver.current(0):
        fake_driver.record_wait(0, 2, 1)
    made_current = [context for (context,) in api.called("cuCtxSetCurrent")]
    zero, one = fake_driver.context(0), fake_driver.context(1)
    assert made_current == [zero, one, zero, "no context"]
    assert api.called("cuStreamGetCtx") == []


def test_cuda_used_before_a_fork_by_another_library_is_recognised(api):
    api.failing["cuInit"] = 3  # CUDA_ERROR_NOT_INITIALIZED
    with pytest.raises(RuntimeError, match="initialised before fork"):
        Driver(api)


def test_other_failures_of_initialisation_are_shown(api):
    api.failing["cuInit"] = 100
    with pytest.raises(CudaError, match="cuInit"):
        Driver(api)


def test_a_lost_driver_refuses_every_use(fake_driver, monkeypatch):
    monkeypatch.setattr(fork, "lost", True)
    with pytest.raises(RuntimeError, match=r'get_context\("spawn"\)'):
        fake_driver.synchronize(7)


def use_in_child(connection) -> None:
    try:
        fork.check()
    except RuntimeError as error:
        connection.send(str(error))
    else:
        connection.send("usable")


def ask_child() -> str:
    here, there = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=use_in_child, args=(there,))
    child.start()
    try:
        return here.recv()
    finally:
        child.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:os.fork.*:RuntimeWarning")  # JAX, where a test imported it
@pytest.mark.parametrize("initialised", [False, True])
def test_a_forked_child_is_refused_only_where_cuda_was_in_use(monkeypatch, initialised):
    monkeypatch.setattr(fork, "_initialised", initialised)
    answer = ask_child()
    assert ("initialised before fork" in answer) == initialised
    fork.check()


def test_log_prints_once_for_each_key(capsys, monkeypatch):
    monkeypatch.setattr(log, "enabled", True)
    monkeypatch.setattr(log, "_seen", set())
    for _ in range(2):
        log.once("launch", "first")
        log.once("launch", "second")
        log.once("compile", "x in 1 s", "x")
        log.once("compile", "x in 2 s", "x")
    assert capsys.readouterr().err.splitlines() == [
        "tileblas launch: first",
        "tileblas launch: second",
        "tileblas compile: x in 1 s",
    ]


def test_log_is_silent_by_default(capsys, monkeypatch):
    monkeypatch.setattr(log, "enabled", False)
    log.once("launch", "first")
    assert capsys.readouterr().err == ""


MODULES = "cache compile dlpack driver fork launch log memory sources target variant workspace"


def test_importing_the_runtime_imports_neither_cuda_nor_triton():
    names = [f"tileblas.runtime.{name}" for name in MODULES.split()]
    program = f"""
import importlib, sys
for name in {names!r}:
    importlib.import_module(name)
print([m for m in sys.modules if m.split(".")[0] in ("cuda", "triton", "torch", "cupy", "jax")])
"""
    environment = dict(os.environ, PYTHONPATH=":".join(sys.path))
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
