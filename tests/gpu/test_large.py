"""Sizes, strides and offsets beyond 32 bits; each test says the device memory it needs."""

from __future__ import annotations

import pytest

import tileblas as tb


@pytest.fixture(autouse=True)
def _release(torch):
    yield
    torch.cuda.empty_cache()


def need(torch, gigabytes: float) -> None:
    free, _ = torch.cuda.mem_get_info()
    if free < gigabytes * 1e9:
        pytest.skip(f"needs {gigabytes} GB of device memory")


def test_dot_of_more_than_2_31_elements(torch):
    need(torch, 9)
    x = torch.zeros(2**31 + 3, device="cuda")
    x[-1] = 3
    assert tb.dot(x, x).item() == 9


def test_axpy_of_more_than_2_31_elements(torch):
    need(torch, 9)
    x, y = (torch.zeros(2**31 + 3, dtype=torch.float16, device="cuda") for _ in range(2))
    x[-1], x[2**31] = 3, 5
    tb.axpy(x, y, alpha=2)
    assert (y[-1].item(), y[2**31].item(), y[2**31 - 1].item()) == (6, 10, 0)


def test_dot_along_a_column_whose_offsets_pass_2_31(torch):
    need(torch, 9)
    rows = 16909322
    x = torch.ones(rows, 127, device="cuda")[:, 126]
    assert tb.dot(x, x).item() == rows


@pytest.mark.parametrize("axis", [0, 1])
def test_gemm_with_a_leading_dimension_beyond_2_30(torch, axis):
    need(torch, 9)
    stride = 2**30 + 1
    memory = torch.zeros(2 * stride + 3, device="cuda")
    a = memory.as_strided((3, 3), (stride, 1))
    a.copy_(torch.arange(9.0).reshape(3, 3))
    a = a.t() if axis else a
    assert torch.equal(tb.gemm(a, a).cpu(), a.cpu() @ a.cpu())
    c = memory.as_strided((3, 3), (stride, 1))
    one = torch.ones(3, 3, device="cuda")
    assert (tb.gemm(one, one, c.t() if axis else c) == 3).all()


def test_an_output_of_more_than_2_31_elements(torch):
    need(torch, 5)
    a = torch.ones(46341, 64, dtype=torch.float16, device="cuda")
    c = tb.gemm(a, a, trans_b="T")
    for row in (0, -1):
        for column in (0, -1):
            assert c[row, column].item() == 64
    assert (c[-1, -5000:] == 64).all()


@pytest.mark.parametrize("batch", [8192, 8193, 8209])
def test_a_batched_output_of_more_than_2_31_elements(torch, batch):
    need(torch, 5)
    a = torch.ones(batch, 512, 1, dtype=torch.float16, device="cuda")
    b = torch.full((batch, 1, 512), 2.0, dtype=torch.float16, device="cuda")
    memory = torch.full((batch * 512 * 512 + 4096,), -7.0, dtype=torch.float16, device="cuda")
    c = memory[: batch * 512 * 512].view(batch, 512, 512)
    tb.gemm(a, b, c)
    assert (c[:16] == 2).all()
    assert (c[-16:] == 2).all()
    assert (memory[-4096:] == -7).all()


def test_more_batch_members_than_a_grid_axis_holds(torch):
    a = torch.randint(-3, 4, (65539, 4, 3), device="cuda").float()
    b = torch.randint(-3, 4, (65539, 3, 5), device="cuda").float()
    assert torch.equal(tb.gemm(a, b), torch.einsum("bmk,bkn->bmn", a, b))
    x = torch.randint(-3, 4, (262145, 7), device="cuda").float()
    assert torch.equal(tb.dot(x, x), (x * x).sum(-1))


def test_a_long_inner_dimension(torch):
    k = 1 << 20
    a = torch.ones(2, k, device="cuda")
    assert (tb.gemm(a, a, trans_b="T") == k).all()


def test_queued_calls_give_their_memory_back(torch):
    x = torch.ones(1 << 20, device="cuda")
    tb.dot(x, x)
    torch.cuda.synchronize()
    before, _ = torch.cuda.mem_get_info()
    results = [tb.dot(x, x) for _ in range(500)]
    assert all(found.item() == 1 << 20 for found in results)
    del results
    torch.cuda.synchronize()
    after, _ = torch.cuda.mem_get_info()
    assert before - after < 8 << 20
