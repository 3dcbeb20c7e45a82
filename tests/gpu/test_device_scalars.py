"""alpha and beta on the device follow the table that host numbers follow, without a read-back."""

from __future__ import annotations

import math

import pytest

import tileblas as tb

NAN = math.nan
DTYPES = ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("beta", [0.0, 1.0, 0.5, NAN])
@pytest.mark.parametrize("alpha", [0.0, 1.0, 2.0, NAN])
def test_gemm_like_host_numbers(torch, dtype, alpha, beta):
    kind = getattr(torch, dtype)
    a = torch.randint(-3, 4, (33, 17), device="cuda").to(kind)
    b = torch.randint(-3, 4, (17, 40), device="cuda").to(kind)
    old = torch.randint(-3, 4, (33, 40), device="cuda").to(kind)
    if alpha == 0:
        a = a * NAN
    if beta == 0:
        old = old * NAN
    expected = tb.gemm(a, b, old.clone(), alpha=alpha, beta=beta)
    found = tb.gemm(
        a,
        b,
        old.clone(),
        alpha=torch.tensor(alpha, dtype=kind, device="cuda"),
        beta=torch.tensor(beta, dtype=kind, device="cuda"),
    )
    assert torch.equal(found.isnan(), expected.isnan())
    assert torch.equal(found.nan_to_num(), expected.nan_to_num())
    if alpha != alpha or beta != beta:
        assert found.isnan().all()
    else:
        assert not found.isnan().any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("alpha", [0.0, 1.0, 0.5])
def test_axpy_like_host_numbers(torch, dtype, alpha):
    kind = getattr(torch, dtype)
    x = torch.randint(-3, 4, (1001,), device="cuda").to(kind)
    y = torch.randint(-3, 4, (1001,), device="cuda").to(kind)
    if alpha == 0:
        x = x * NAN
    device_alpha = torch.tensor(alpha, dtype=kind, device="cuda")
    found, expected = y.clone(), y.clone()
    tb.axpy(x, found, alpha=device_alpha)
    tb.axpy(x, expected, alpha=alpha)
    assert torch.equal(found, expected)


def test_alpha_zero_and_beta_one_keep_every_bit(torch):
    c = torch.tensor([[-0.0, NAN], [1.0, -math.inf]], device="cuda")
    before = c.view(torch.int32).clone()
    zero, one = torch.zeros((), device="cuda"), torch.ones((), device="cuda")
    tb.gemm(c.clone(), c.clone(), c, alpha=zero, beta=one)
    assert torch.equal(c.view(torch.int32), before)


@pytest.mark.parametrize(("dtype", "compute"), [("float16", "float32"), ("complex64", "float32")])
def test_a_device_scalar_in_the_compute_type(torch, dtype, compute):
    x = torch.ones(8, dtype=getattr(torch, dtype), device="cuda")
    alpha = torch.tensor(0.5, dtype=getattr(torch, compute), device="cuda")
    assert torch.equal(tb.axpy(x, x.clone(), alpha=alpha), x * 1.5)


def test_a_real_device_scalar_scales_the_parts_of_complex_data_separately(torch):
    x = torch.complex(torch.tensor([1.0]), torch.tensor([math.inf])).cuda()
    y = torch.zeros(1, dtype=torch.complex64, device="cuda")
    tb.axpy(x, y, alpha=torch.tensor(2.0, device="cuda"))
    assert (y.real.item(), y.imag.item()) == (2.0, math.inf)


def test_an_unaligned_device_scalar(torch):
    values = torch.tensor([1.0, 2.0, 3.0], device="cuda")
    x = torch.ones(64, device="cuda")
    assert torch.equal(tb.axpy(x, torch.zeros_like(x), alpha=values[1]), 2 * x)


def test_scalars_elsewhere_are_refused(torch):
    x = torch.ones(4, device="cuda")
    with pytest.raises(TypeError, match="must be float32"):
        tb.axpy(x, x.clone(), alpha=torch.tensor(2.0, dtype=torch.float64, device="cuda"))
    with pytest.raises(TypeError, match="must be a number"):
        tb.axpy(x, x.clone(), alpha=torch.ones(1, device="cuda"))
