"""Repeatability, graphs, memory and the cost of a process's first call on a GPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import threading

import pytest

import tileblas as tb


def test_the_same_bits_on_100_runs_and_four_streams(torch):
    x, y = (torch.randn(3_000_001, device="cuda") for _ in range(2))
    a, b = (torch.randn(300, 500, device="cuda", dtype=torch.float64) for _ in range(2))
    first = tb.dot(x, y), tb.gemm(a, b, trans_b="T")
    torch.cuda.synchronize()
    streams = [torch.cuda.Stream() for _ in range(4)]
    for run in range(100):
        with torch.cuda.stream(streams[run % 4]):
            again = tb.dot(x, y), tb.gemm(a, b, trans_b="T")
        torch.cuda.synchronize()
        for found, expected in zip(again, first, strict=True):
            assert torch.equal(found, expected)


def test_four_threads_on_four_streams(torch):
    x = torch.randn(1_000_003, device="cuda")
    expected = tb.dot(x, x)
    torch.cuda.synchronize()
    wrong: list[int] = []

    def work():
        with torch.cuda.stream(torch.cuda.Stream()):
            for run in range(50):
                if tb.dot(x, x).item() != expected.item():
                    wrong.append(run)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_captured_graph_follows_its_inputs(torch):
    x, y = (torch.zeros(1_000_000, device="cuda") for _ in range(2))
    a = torch.zeros(65, 65, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # first use of these shapes: loading must not break the capture
        found = tb.dot(x, y)
        product = tb.gemm(a, a)
        tb.axpy(x, y, alpha=0.5)
    for value in (1.0, 2.0):
        x.fill_(value)
        y.fill_(3.0)
        a.fill_(value)
        graph.replay()
        assert found.item() == 3e6 * value
        assert (product == 65 * value * value).all()
        assert (y == 3 + 0.5 * value).all()


def test_out_of_memory_names_the_bytes_and_leaves_the_library_working(torch):
    x = torch.ones(8, 1, device="cuda")
    free, _ = torch.cuda.mem_get_info()
    big = torch.ones(1, 1, device="cuda").expand(1 << 21, 1)
    assert free < 4 << 42
    with pytest.raises(MemoryError, match=str(4 << 42)):
        tb.gemm(big, big, trans_b="T")
    assert (tb.gemm(x, x, trans_b="T") == 1).all()


def test_use_after_a_fork_is_refused_at_once(torch):
    x = torch.ones(4, device="cuda")
    assert tb.dot(x, x).item() == 4
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            tb.dot(x, x)
            os.write(writer, b"worked")
        except RuntimeError as error:
            os.write(writer, str(error).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert b"fork" in os.read(reader, 1000)
    assert tb.dot(x, x).item() == 4


def test_arrays_on_the_second_device(torch):
    if torch.cuda.device_count() < 2:
        pytest.skip("one CUDA device only")
    x = torch.ones(1000, device="cuda:1")
    found = tb.dot(x, x)
    assert (found.device.index, found.item()) == (1, 1000)
    assert torch.cuda.current_device() == 0
    with pytest.raises(tb.BlasError, match="CUDA device 0"):
        tb.dot(x, torch.ones(1000, device="cuda:0"))


FIRST_CALL = """
    import json, sys, time
    import torch
    torch.cuda.init(); torch.zeros(1, device="cuda")
    start = time.perf_counter(); import cuda.core; core = time.perf_counter() - start
    import tileblas as tb
    x = torch.ones(1000, device="cuda"); a = torch.ones(64, 64, device="cuda")
    torch.cuda.synchronize()
    def seconds(function):
        start = time.perf_counter(); function(); torch.cuda.synchronize()
        return time.perf_counter() - start
    calls = {
        "dot": lambda: tb.dot(x, x),
        "axpy": lambda: tb.axpy(x, x),
        "gemm": lambda: tb.gemm(a, a),
    }
    found = {name: (seconds(call), seconds(call)) for name, call in calls.items()}
    found["cuda.core"] = core
    unwanted = ("triton", "tileblas.kernels")
    found["imported"] = [name for name in sys.modules if name.startswith(unwanted)]
    print(json.dumps(found))
"""


def test_a_first_call_with_a_warm_cache_compiles_and_imports_nothing(
    torch, tmp_path, record_property
):
    environment = {**os.environ, "TILEBLAS_CACHE_DIR": str(tmp_path)}
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(FIRST_CALL)],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        found = json.loads(done.stdout.splitlines()[-1])
    assert found.pop("imported") == []
    print("import cuda.core: %.0f ms" % (1e3 * found.pop("cuda.core")))
    for name, (first, second) in found.items():
        record_property(name, (first, second))
        print(f"{name}: first call {1e3 * first:.1f} ms, second {1e3 * second:.2f} ms")
