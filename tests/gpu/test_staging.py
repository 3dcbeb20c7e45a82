"""NumPy arrays on the GPU: dtypes and layouts, large arrays, threads, streams, memory, forks."""

from __future__ import annotations

import os
import threading
import warnings

import numpy as np
import pytest
from samples import FORMS, Sample, typed

import tileblas as tb
from tileblas.arrays.ingest import ingest
from tileblas.backends import staging
from tileblas.core.dtypes import DTYPES
from tileblas.routines.registry import ROUTINES
from tileblas.runtime import memory
from tileblas.runtime.driver import LEGACY_STREAM, driver

GIB = 1 << 30


@pytest.fixture(autouse=True)
def on_the_gpu():
    with tb.backend("cuda"):
        yield


@pytest.fixture
def in_panels(monkeypatch):
    """Small arrays go the way of large ones: through pinned buffers, in panels."""
    monkeypatch.setattr(memory, "DIRECT_BYTES", 1 << 10)
    monkeypatch.setattr(staging, "_MOST_PANELS", 16)
    monkeypatch.setattr(staging, "_PANEL_BYTES", 1 << 11)
    monkeypatch.setattr(staging, "_PANEL_STEP", 8)


def _gaps(values: np.ndarray) -> np.ndarray:
    return np.repeat(values, 3, axis=-1)[..., ::3]


def _reversed(values: np.ndarray) -> np.ndarray:
    return values[..., ::-1].copy()[..., ::-1]


def _by_columns(values: np.ndarray) -> np.ndarray:
    return values.copy(order="F")  # a copy of vectors too: outputs are written


LAYOUTS = {"C": np.array, "F": _by_columns, "gaps": _gaps, "reversed": _reversed}
each_layout = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())


def random(shape: tuple[int, ...], dtype: str = "float64") -> np.ndarray:
    return np.random.default_rng(3).standard_normal(shape).astype(dtype)


@each_layout
@pytest.mark.parametrize(("form", "dtype"), typed(*DTYPES), ids=str)
def test_every_routine(form, dtype, layout, in_panels):
    sample = Sample(form, dtype)
    found = sample.run({name: layout(values) for name, values in sample.values.items()})
    sample.check(found)


@pytest.mark.parametrize(
    ("form", "dtype"), [(form, dtype) for form in FORMS for dtype in form.spec.dtypes], ids=str
)
def test_small_arrays(form, dtype):
    sample = Sample(form, dtype, sizes={"m": 7, "n": 5, "k": 3})
    sample.check(sample.run({n: v.copy() for n, v in sample.values.items()}))


@pytest.mark.parametrize("trans_a", "NTC")
@pytest.mark.parametrize("order", "CF")
def test_products_are_cut_along_rows_and_columns(trans_a, order, in_panels):
    a, b = random((200, 30), "complex128"), random((30, 170), "complex128")
    a += 1j * a[::-1]
    turned = {"N": a, "T": a.T, "C": a.conj().T}[trans_a]
    c = np.full((200, 170), np.nan + 0j, order=order)
    tb.gemm(turned.copy(order=order), b, c, trans_a=trans_a)
    np.testing.assert_allclose(c, a @ b, rtol=1e-12, atol=1e-12)


def test_batches_and_broadcast_operands(in_panels):
    a, b = random((1, 40, 30)), np.broadcast_to(random((30, 20)), (50, 30, 20))
    np.testing.assert_allclose(tb.gemm(a, b), a @ b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n", [1 << 10, 1 << 20, (1 << 23) + 1])
def test_an_elementwise_result_has_the_bits_of_the_uncut_call(n):
    x, y = random((n,), "float32"), random((n,), "float32")
    device = [memory.from_host(v, 0, LEGACY_STREAM) for v in (x, y)]
    uncut = memory.to_host(tb.axpy(*device, alpha=0.3))
    np.testing.assert_array_equal(tb.axpy(x, y, alpha=0.3).view("u4"), uncut.view("u4"))


def test_a_large_product_gives_the_same_bits_on_every_call():
    a = random((8192, 64), "float32")
    first = tb.gemm(a, a, trans_b="T")
    assert len(staging.cut(ROUTINES["gemm"], ingest(first))[1]) > 1
    for _ in range(3):
        np.testing.assert_array_equal(tb.gemm(a, a, trans_b="T"), first)


@pytest.mark.parametrize("kind", ["dense", "gaps", "reversed", "columns"])
def test_a_gib_there_and_back_keeps_every_bit(kind):
    bits = np.random.default_rng(5).integers(0, 1 << 32, GIB // 4, "uint32")
    values = {
        "dense": lambda: bits,
        "gaps": lambda: np.repeat(bits, 2)[::2],
        "reversed": lambda: bits[::-1],
        "columns": lambda: bits.reshape(1 << 14, -1).T,
    }[kind]()
    array = memory.from_host(values.view("float32"), 0, LEGACY_STREAM)
    found = memory.to_host(array, np.empty_like(values, order="C").view("float32"))
    np.testing.assert_array_equal(found.view("uint32"), values)


def test_threads_that_stage_at_once():
    wrong: list[int] = []

    def work(number: int) -> None:
        with tb.backend("cuda"):
            x = np.full(3_000_000 + number, float(number))
            for _ in range(5):
                y = np.ones_like(x)
                tb.axpy(x, y, alpha=2)
                if not (y == 1 + 2 * number).all():
                    wrong.append(number)
                a = x[:1_000_000].reshape(1000, 1000)
                if not (tb.gemm(a, a) == 1000.0 * number**2).all():
                    wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def free_bytes() -> int:
    """Free device memory when all work is done and the pool keeps nothing."""
    on = driver()
    with on.current(0):
        on.call("cuCtxSynchronize")
        pool = on.call("cuDeviceGetDefaultMemPool", on.call("cuDeviceGet", 0))
        on.call("cuMemPoolTrimTo", pool, 0)
        return on.call("cuMemGetInfo")[0]


def test_memory_is_given_back():
    a, x = random((2000, 2000)), random((8_000_000,))

    def calls() -> None:
        tb.gemm(a, a)
        tb.axpy(x, x.copy())
        tb.dot(x, x)

    calls()
    before = free_bytes()
    for _ in range(20):
        calls()
    assert before - free_bytes() < 8 << 20  # one vector has 64 MB


def test_without_memory_nothing_is_written_and_the_next_call_works():
    x = np.broadcast_to(np.float64(1), (1 << 40,))
    y = np.zeros(10)
    with pytest.raises(MemoryError, match=str(8 << 40)):
        tb.dot(x, x)
    tb.axpy(np.ones(10), y)
    assert (y == 1).all()


def test_a_busy_stream_of_another_library_is_not_waited_for(gate):
    """Neither the legacy stream nor one that waits for it is what staging works on."""
    x = random((3_000_000,), "float32")
    expected = tb.dot(x, x), tb.axpy(x, np.ones_like(x))
    with gate.held(LEGACY_STREAM) as hold:
        found = tb.dot(x, x), tb.axpy(x, np.ones_like(x))
        assert hold.busy
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_current_stream_and_context_stay(torch):
    x = random((3_000_000,), "float32")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        before = driver().call("cuCtxGetCurrent")
        tb.axpy(x, x.copy())
        assert torch.cuda.current_stream() == stream
        assert driver().call("cuCtxGetCurrent") == before


def test_a_capture_of_another_stream_goes_on(torch):
    x = random((3_000_000,), "float32")
    there = torch.ones(1000, device="cuda")
    tb.dot(there, there)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = tb.dot(there, there)
        y = np.ones_like(x)
        tb.axpy(x, y)
    np.testing.assert_array_equal(y, x + 1)
    graph.replay()
    assert captured.item() == 1000


@pytest.mark.parametrize("lazy", ["conj", "neg"])
def test_lazy_views_of_torch_on_the_cpu(torch, lazy):
    x = torch.randn(600_000, dtype=torch.complex64)
    y = torch.randn(600_000, dtype=torch.complex64)
    if lazy == "neg":  # the imaginary part of a lazily conjugated array is lazily negated
        x, y = x.conj().imag, y.conj().imag
    else:
        x, y = x.conj(), y.conj()
    expected = y + 2 * x
    tb.axpy(x, y, alpha=2)
    assert torch.equal(y, expected)


def test_a_child_is_refused_on_the_gpu_and_computes_on_the_cpu():
    x = np.ones(2_000_000)
    assert tb.dot(x, x) == 2_000_000
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
        child = os.fork()
    if child == 0:
        try:
            tb.dot(x, x)
        except RuntimeError as error:
            os.write(writer, str(error).encode())
        with tb.backend("auto"):
            os.write(writer, b" then %d" % tb.dot(x[:4], x[:4]))
        os._exit(0)
    os.waitpid(child, 0)
    said = os.read(reader, 1000)
    assert b"fork" in said
    assert said.endswith(b" then 4")
    assert tb.dot(x, x) == 2_000_000
