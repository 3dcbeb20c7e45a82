"""The first calls of a process: planned ones do not wait, nothing in the cache is compiled."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from samples import FORMS

SCRIPT = Path(__file__).with_name("first_calls.py")


@pytest.mark.parametrize("where", ["stream", "graph"])
def test_first_calls_on_a_busy_stream_and_in_a_capture(torch, where):
    done = subprocess.run(
        [sys.executable, str(SCRIPT), where], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found == {str(form): "right" for form in FORMS}


FIRST_CALL = """
    import json, sys, time
    import torch
    torch.cuda.init(); torch.zeros(1, device="cuda")
    start = time.perf_counter(); import cuda.core; core = time.perf_counter() - start
    import tileblas as tb
    x = torch.ones(1000, device="cuda"); a = torch.ones(64, 64, device="cuda")
    y = torch.ones(1000, device="cuda"); v = x[:64]
    torch.cuda.synchronize()
    def seconds(function):
        start = time.perf_counter(); function(); torch.cuda.synchronize()
        return time.perf_counter() - start
    calls = {
        "dot": lambda: tb.dot(x, x),
        "dsdot": lambda: tb.dsdot(x, x),
        "sdsdot": lambda: tb.sdsdot(x, x, alpha=2),
        "nrm2": lambda: tb.nrm2(x),
        "asum": lambda: tb.asum(x),
        "iamax": lambda: tb.iamax(x),
        "iamin": lambda: tb.iamin(x),
        "copy": lambda: tb.copy(x, y),
        "axpy": lambda: tb.axpy(x, x),
        "axpby": lambda: tb.axpby(x, y, alpha=2, beta=3),
        "scal": lambda: tb.scal(x, alpha=2),
        "swap": lambda: tb.swap(x, y),
        "rot": lambda: tb.rot(x, y, 0.6, 0.8),
        "rotm": lambda: tb.rotm(x, y, (-1, 1, 0, 0, 1)),
        "axpydot": lambda: tb.axpydot(x, x, x, y),
        "rotg": lambda: tb.rotg(x, y),
        "rotmg": lambda: tb.rotmg(x[0], x[1], x[2], x[3]),
        "gemv": lambda: tb.gemv(a, v),
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
