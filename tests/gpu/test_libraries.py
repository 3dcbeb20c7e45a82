"""Device arrays of every library: in place, the right kind out, on the right stream."""

from __future__ import annotations

import numpy as np
import pytest

import tileblas as tb


def test_torch_in_torch_out(torch):
    x = torch.arange(5.0, device="cuda")
    found = tb.dot(x, x)
    assert isinstance(found, torch.Tensor)
    assert (found.shape, found.device, found.item()) == (torch.Size([]), x.device, 30.0)


def test_cupy_in_cupy_out_with_a_reversed_view(cupy):
    x = cupy.arange(5.0)[::-1]
    found = tb.dot(x, cupy.array([1.0, 10, 100, 1000, 10000]))
    assert isinstance(found, cupy.ndarray)
    assert float(found) == 1234.0


def test_jax_gets_a_new_array_and_keeps_the_old_one(jax):
    jnp = jax.numpy
    x, y = jnp.arange(4, dtype="float32"), jnp.ones(4, dtype="float32")
    found = tb.axpy(x, y, alpha=2)
    assert isinstance(found, jax.Array)
    np.testing.assert_array_equal(np.asarray(found), [1, 3, 5, 7])
    np.testing.assert_array_equal(np.asarray(y), 1)
    product = tb.gemm(jnp.ones((3, 4), "bfloat16"), jnp.ones((4, 2), "bfloat16"))
    assert product.dtype == "bfloat16"
    np.testing.assert_array_equal(np.asarray(product, dtype="float32"), 4)


class Bare:
    """Shows only the CUDA array interface of another array."""

    def __init__(self, array):
        self.__cuda_array_interface__ = array.__cuda_array_interface__
        self.array = array


class Exporter:
    """Shows only the DLPack protocol of another array."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("wrap", [Bare, Exporter])
def test_bare_interfaces_are_updated_in_place(wrap, cupy):
    x, y = cupy.arange(6.0), cupy.ones(6)
    cupy.cuda.get_current_stream().synchronize()
    wrapped = wrap(y)
    assert tb.axpy(wrap(x), wrapped, alpha=3) is wrapped
    cupy.cuda.Device().synchronize()
    np.testing.assert_array_equal(y.get(), 3 * np.arange(6.0) + 1)


@pytest.mark.parametrize("wrap", [Bare, Exporter])
def test_results_for_bare_interfaces_can_be_read_by_all(wrap, cupy, torch):
    x = wrap(cupy.arange(6.0))
    found = tb.dot(x, x)
    assert float(cupy.asarray(found)) == 55.0
    assert torch.from_dlpack(found).item() == 55.0


def test_two_libraries_on_one_device(cupy, torch):
    x, y = torch.ones(4, device="cuda", dtype=torch.float64), cupy.arange(4.0)
    assert isinstance(tb.dot(x, y), torch.Tensor)
    assert isinstance(tb.dot(y, x), cupy.ndarray)
    assert tb.axpy(x, y, alpha=2) is y
    cupy.testing.assert_array_equal(y, [2, 3, 4, 5])


def test_host_and_device_are_not_mixed(torch):
    x = torch.ones(4, device="cuda")
    with pytest.raises(tb.BlasError, match=r"'y' .*is on the host, but 'x' is on CUDA device 0"):
        tb.dot(x, np.ones(4, np.float32))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_lazy_bits_of_torch_are_read(torch, dtype):
    kind = getattr(torch, dtype)
    a = torch.randint(-3, 4, (5, 3), device="cuda") + 1j * torch.randint(
        -3, 4, (5, 3), device="cuda"
    )
    a = a.to(kind)
    b = (torch.arange(15, device="cuda").reshape(5, 3) * (1 - 2j)).to(kind)
    assert torch.equal(tb.gemm(a.mH, b), a.mH.resolve_conj().cpu().__matmul__(b.cpu()).to("cuda"))
    c = torch.zeros(3, 3, dtype=kind, device="cuda")
    tb.gemm(a, b, c.conj(), trans_a="C", alpha=1j)
    expected = 1j * a.cpu().mH.resolve_conj() @ b.cpu()
    assert torch.equal(c.cpu().conj().resolve_conj(), expected.to(kind))
    imag = a.conj().imag
    assert imag.is_neg()
    assert tb.dot(imag[:, 0], imag[:, 0] * 0 + 1).item() == imag[:, 0].sum().item()


def test_named_stream_is_used_and_waits_for_the_producer(torch):
    x = torch.zeros(1 << 24, device="cuda")
    stream = torch.cuda.Stream()
    for value in (1.0, 2.0, 3.0):
        torch.cuda._sleep(20_000_000)
        x.fill_(value)
        found = tb.dot(x, x, stream=stream)
        stream.synchronize()
        assert found.item() == value * value * (1 << 24)


def test_the_current_stream_of_torch_is_used(torch):
    stream = torch.cuda.Stream()
    x = torch.zeros(1 << 22, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(20_000_000)
        x.fill_(1.0)
        found = tb.dot(x, x)
    stream.synchronize()
    assert found.item() == 1 << 22


def test_what_is_no_stream_is_refused(torch):
    x = torch.ones(4, device="cuda")
    with pytest.raises(TypeError, match="__cuda_stream__"):
        tb.dot(x, x, stream="default")


def test_numpy_arrays_staged_to_the_gpu():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((70, 50)), rng.standard_normal((50, 60))
    c = np.ones((140, 120))[::2, ::-2]
    with tb.backend("cuda"):
        assert tb.gemm(a, b, c, alpha=2, beta=3) is c
        np.testing.assert_allclose(c, 2 * a @ b + 3, rtol=1e-13, atol=1e-13)
        assert isinstance(tb.dot(a[0], a[1]), np.float64)
    assert (c.base[1::2] == 1).all()


def test_broadcast_host_arrays_are_sent_once():
    a = np.broadcast_to(np.arange(6.0).reshape(2, 3), (1 << 20, 2, 3))
    with tb.backend("cuda"):
        found = tb.gemm(a[:5], np.ones((3, 4)))
        assert tb.dot(np.broadcast_to(1.0, (1 << 20,)), np.ones(1 << 20)) == 1 << 20
    np.testing.assert_array_equal(found, a[:5] @ np.ones((3, 4)))


@pytest.mark.parametrize("wrap", [Bare, Exporter])
def test_named_stream_for_results_of_our_own(wrap, cupy):
    stream = cupy.cuda.Stream(non_blocking=True)
    x = cupy.arange(1 << 20, dtype="float64")
    cupy.cuda.Device().synchronize()
    found = tb.dot(wrap(x), wrap(x), stream=stream)
    assert float(cupy.asarray(found)) == float((x * x).sum())


def test_jax_output_on_a_named_stream(jax, cupy):
    jnp = jax.numpy
    stream = cupy.cuda.Stream(non_blocking=True)
    for value in range(20):
        x, y = jnp.full(1 << 20, value, "float32"), jnp.ones(1 << 20, "float32")
        found = tb.axpy(x * 1, y, alpha=2, stream=stream)
        assert float(found.sum()) == (1 << 20) * (1 + 2 * value)


def test_temporaries_of_jax_live_until_the_kernel_has_read_them(jax):
    jnp = jax.numpy
    x = jnp.ones(1 << 24, "float32")
    for value in range(20):
        found = tb.dot(x * value, x)
        junk = [jnp.full(1 << 24, -1.0, "float32") for _ in range(3)]
        assert float(found) == value * (1 << 24)
        del junk


def test_a_device_scalar_inside_the_output_is_refused(torch):
    y = torch.ones(8, device="cuda")
    with pytest.raises(tb.BlasError, match=r"'alpha' .*is an element of 'y'"):
        tb.axpy(torch.ones(8, device="cuda"), y, alpha=y[3])
    assert (y == 1).all()


def test_two_streams_of_one_capture_keep_their_order(torch):
    x, y = torch.ones(1 << 22, device="cuda"), torch.zeros(1 << 22, device="cuda")
    side = torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        main = torch.cuda.current_stream()
        side.wait_stream(main)
        y.add_(1)
        found = tb.dot(x, y, stream=side)
        main.wait_stream(side)
    for run in range(1, 4):
        graph.replay()
        assert found.item() == run * (1 << 22)
