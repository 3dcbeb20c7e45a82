"""Staging of host arrays: what is sent, how calls are cut, and that every element comes back."""

import numpy as np
import pytest
from fake_gpu import random

from tileblas.arrays.ingest import ingest
from tileblas.backends import staging
from tileblas.core.operand import CONJ, NEG, c_strides
from tileblas.lab import staged
from tileblas.lab.cases import Case
from tileblas.lab.places import HostPlace
from tileblas.lab.problems import Problem
from tileblas.lab.timing import Repeats
from tileblas.routines.registry import ROUTINES
from tileblas.runtime import driver as drivers
from tileblas.runtime import pinned


def test_the_negative_bit_of_bfloat16_flips_signs(stage):
    """NumPy sees bfloat16 as integers, whose negatives are other numbers."""
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    x = np.array([1.5, -2.0, 0.0, 1e30], bfloat16)
    y = np.full(4, 0.25, bfloat16)
    expected = (0.25 - x.astype("float64")).astype(bfloat16)
    stage("axpy", x, y, flags={"x": NEG})
    np.testing.assert_array_equal(y, expected)


LAYOUTS = {
    "C": lambda a: a,
    "F": lambda a: np.asfortranarray(a),
    "gaps": lambda a: np.repeat(a, 3, axis=-1)[..., ::3],
    "reversed": lambda a: a[::-1].copy()[::-1],
}
layouts = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())


@pytest.mark.parametrize("n", [10, 511, 1024, 4096, 5001])
@layouts
def test_axpy(stage, gpu, layout, n):
    x, y = layout(random(n)), layout(random(n))
    expected = y + 0.5 * x
    stage("axpy", x, y, alpha=0.5)
    np.testing.assert_array_equal(y, expected)
    assert len(gpu.shapes) == max(1, n * 8 // (4 << 10))


@layouts
def test_scal(stage, gpu, layout):
    x = layout(random(2000))
    expected = -3 * x
    stage("scal", x, alpha=-3)
    np.testing.assert_array_equal(x, expected)
    assert len(gpu.shapes) > 1


def test_axpy_of_a_vector_with_itself_sends_it_once(stage, gpu, api):
    x = random(2000)
    expected = 3 * x
    stage("axpy", x, x, alpha=2)
    np.testing.assert_array_equal(x, expected)
    assert sum(nbytes for _, _, nbytes, _ in api.called("cuMemcpyHtoDAsync")) == x.nbytes


@layouts
@pytest.mark.parametrize("trans_a", "NTC")
@pytest.mark.parametrize("trans_b", "NTC")
@pytest.mark.parametrize("order", "CF")
def test_gemm_is_cut_along_rows_or_columns(stage, gpu, layout, trans_a, trans_b, order):
    m, n, k = 61, 53, 7
    a, b = random(m, k, dtype="complex128"), random(k, n, dtype="complex128")
    c = np.asarray(random(m, n, dtype="complex128"), order=order)
    expected = 2 * a @ b + 3 * c
    turn = {"N": lambda v: v, "T": lambda v: v.T, "C": lambda v: v.conj().T}
    a, b = layout(turn[trans_a](a).copy()), layout(turn[trans_b](b).copy())
    stage("gemm", a, b, c, alpha=2, beta=3, trans_a=trans_a, trans_b=trans_b.lower())
    np.testing.assert_allclose(c, expected, rtol=1e-13)
    cut = {shapes[2][0 if order == "C" else 1] for shapes in gpu.shapes}
    assert len(gpu.shapes) > 3
    assert max(cut) < 20


def test_with_beta_0_the_output_is_not_sent(stage, api):
    a, b, c = random(64, 8), random(8, 64), np.full((64, 64), np.nan)
    stage("gemm", a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-13)
    sent = sum(nbytes for _, _, nbytes, _ in api.called("cuMemcpyHtoDAsync"))
    assert sent == a.nbytes + b.nbytes


@pytest.mark.parametrize("routine", ["syrk", "gemmtr", "syr2k"])
def test_the_triangle_that_is_not_written_comes_back_as_it_was(stage, routine):
    """With beta = 0 too, where no element of C is read."""
    a, c = random(64, 8), random(64, 64)
    old = c.copy()
    arrays = {"syrk": (a,), "gemmtr": (a, a.T.copy()), "syr2k": (a, a.copy())}[routine]
    stage(routine, *arrays, c)
    upper = np.triu(np.ones(c.shape, bool))
    np.testing.assert_array_equal(c[~upper], old[~upper])
    product = (2 if routine == "syr2k" else 1) * a @ a.T
    np.testing.assert_allclose(c[upper], product[upper], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("zero", [0, 0.0, 0j])
def test_with_alpha_0_only_the_output_is_sent(stage, api, zero):
    a, b, c = (random(40, 40, dtype="complex128") for _ in range(3))
    expected = 2 * c
    stage("gemm", a, b, c, alpha=zero, beta=2)
    np.testing.assert_array_equal(c, expected)
    assert sum(nbytes for _, _, nbytes, _ in api.called("cuMemcpyHtoDAsync")) == c.nbytes


def test_the_same_matrix_twice_is_sent_once(stage, api, gpu):
    a, c = random(16, 100), np.empty((16, 16))
    stage("gemm", a, a, c, trans_b="T")
    np.testing.assert_allclose(c, a @ a.T, rtol=1e-12, atol=1e-12)
    assert sum(nbytes for _, _, nbytes, _ in api.called("cuMemcpyHtoDAsync")) == a.nbytes


@pytest.mark.parametrize("shapes", [((9, 30, 8), (8, 20)), ((30, 8), (9, 8, 20))], ids=str)
def test_batches_are_cut_and_broadcast(stage, gpu, shapes):
    a, b = (random(*shape) for shape in shapes)
    c = np.empty((9, 30, 20))
    stage("gemm", a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-12, atol=1e-12)
    assert len(gpu.shapes) > 3


def test_two_batch_axes(stage, gpu):
    a, b = random(3, 1, 10, 8), random(5, 8, 12)
    c = np.empty((3, 5, 10, 12))
    stage("gemm", a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-12, atol=1e-12)
    assert len(gpu.shapes) > 1


def test_a_batch_axis_of_stride_0_is_sent_once(stage, api):
    a = np.broadcast_to(random(30, 8), (9, 30, 8))
    b, c = random(8, 20), np.empty((9, 30, 20))
    stage("gemm", a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-12, atol=1e-12)
    sent = sum(nbytes for _, _, nbytes, _ in api.called("cuMemcpyHtoDAsync"))
    assert sent == (30 * 8 + 8 * 20) * 8


@pytest.mark.parametrize("trans", "NTC")
def test_gemv_with_many_rows(stage, gpu, trans):
    a, x, y = random(2000, 3), random(3), random(2000)
    expected = a @ x + 2 * y
    stage("gemv", a if trans == "N" else a.T.copy(), x, y, beta=2, trans=trans)
    np.testing.assert_allclose(y, expected, rtol=1e-12, atol=1e-12)
    assert len(gpu.shapes) > 1


def test_a_sum_is_not_cut(stage, gpu):
    x, out = random(5000), np.empty(())
    stage("dot", x, x, output=out)
    np.testing.assert_allclose(out, x @ x, rtol=1e-13)
    assert gpu.shapes == [((5000,), (5000,))]


@pytest.mark.parametrize("n", [5, 600])
def test_sums_along_a_batch_axis_that_no_vector_walks(stage, gpu, n):
    x, y = np.broadcast_to(random(n), (4, n)), np.broadcast_to(random(3, 1, n), (3, 4, n))
    out = np.full((3, 4), np.nan)
    stage("dot", x, y, output=out)
    assert gpu.shapes == [((1, n), (3, 1, n))]
    np.testing.assert_allclose(out, np.einsum("ji,kji->kj", x, y), rtol=1e-12)
    norms = np.full(4, np.nan)
    stage("nrm2", x, output=norms)
    np.testing.assert_allclose(norms, np.linalg.norm(x, axis=-1), rtol=1e-12)


def test_sums_of_a_batch_arrive_in_their_places(stage, gpu):
    x, y, out = random(1500, 3), random(3), np.empty(1500)
    stage("dot", x, y, output=out)
    np.testing.assert_allclose(out, x @ y, rtol=1e-12, atol=1e-13)
    assert len(gpu.shapes) > 1


@pytest.mark.parametrize("flag", [CONJ, NEG, CONJ | NEG])
def test_lazy_bits_are_applied_on_both_ways(stage, flag):
    """Of torch: the elements of y are the conjugates (negatives) of what is stored."""
    x, y = random(1000, dtype="complex64"), random(1000, dtype="complex64")

    def meant(values):
        values = values.conj() if flag & CONJ else values
        return -values if flag & NEG else values

    expected = meant(y) + 2 * meant(x)
    stage("axpy", x, y, alpha=2, flags={"x": flag, "y": flag})
    np.testing.assert_array_equal(meant(y), expected)


def test_the_stream_is_our_own_and_nothing_is_left_behind(stage, gpu, api):
    x, y = random(4096), random(4096)
    stage("axpy", x, y)
    assert len(gpu.streams) == 1
    assert gpu.streams.isdisjoint({0, 1, 2})
    assert api.blocks == {}


def test_sends_wait_for_the_allocation_and_for_no_panel_before(stage, gpu, api):
    x, y = random(4096), random(4096)
    stage("axpy", x, y)
    (own,) = gpu.streams
    up = pinned.link(drivers.driver(), 0).up.stream
    awaited = [stream for stream, *_ in api.called("cuStreamWaitEvent")]
    assert awaited.count(up) == 1
    assert awaited.count(own) == 2 * len(gpu.shapes)  # computing waits for x and for y
    allocated = [i for i, (name, *_) in enumerate(api.calls) if name == "cuMemAllocAsync"]
    first = next(i for i, (name, *_) in enumerate(api.calls) if name == "cuStreamWaitEvent")
    assert max(allocated) < first


def test_a_failing_panel_leaves_nothing_behind(stage, gpu, api):
    x, y = random(4096), random(4096)
    expected = np.concatenate([(y + x)[:1024], y[1024:]])
    gpu.fails_at = 2
    with pytest.raises(RuntimeError, match="the panel failed"):
        stage("axpy", x, y)
    np.testing.assert_array_equal(y, expected)  # the panels before it had arrived
    assert api.blocks == {}


def test_without_memory_nothing_is_written(stage, api):
    x, y = random(4096), random(4096)
    before = y.copy()
    api.free_bytes = 40_000
    with pytest.raises(MemoryError):
        stage("axpy", x, y)
    np.testing.assert_array_equal(y, before)
    assert api.blocks == {}
    api.free_bytes = 1 << 20
    stage("axpy", x, y)
    np.testing.assert_array_equal(y, before + x)


def test_stages_run_one_after_another_and_compute_the_same(stage, gpu, monkeypatch):
    monkeypatch.setattr(staged.dispatch, "call", gpu.call)
    monkeypatch.setattr(staged, "driver", drivers.driver)
    problem = Problem(Case("gemm", (64, 48, 32), "float64", "NT", "col"), HostPlace())
    a, b, c = problem.operands.values()
    found = staged.stage_seconds(*staged.described(problem))
    np.testing.assert_allclose(c, a @ b.T, rtol=1e-12, atol=1e-12)
    assert len(gpu.shapes) > 1
    assert min(found.allocation, found.to_device, found.kernel, found.to_host) > 0


def test_copies_are_timed_beside_the_drivers(stage, monkeypatch):
    monkeypatch.setattr(staged, "driver", drivers.driver)
    once = Repeats(passes=1, fewest=1, most=1)
    rows = list(staged.copies((1 << 12, 1 << 14), once))
    ways = ["to the device", "to the host", "to new memory"]
    assert [(row.nbytes, row.way) for row in rows] == [
        (size, way) for size in (1 << 12, 1 << 14) for way in ways
    ]
    assert all(min(row.pinned, row.plain, row.ratio) > 0 for row in rows)


@pytest.mark.parametrize("shape", [(7,), (1, 10**6), (10**6, 1), (3, 700, 900), (0, 5)], ids=str)
def test_parts_cover_the_axis_once(shape):
    output = ingest(np.empty(1))._replace(shape=shape, strides=c_strides(shape))
    spec = ROUTINES["gemm" if len(shape) > 1 else "scal"]
    axis, parts = staging.cut(spec, output)
    if axis is None:
        assert parts == [slice(None)]
    else:
        covered = [i for part in parts for i in range(shape[axis])[part]]
        assert covered == list(range(shape[axis]))
        assert len(parts) > 1
