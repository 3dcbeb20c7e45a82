"""Scalars on the device follow the table that host numbers follow, without a read-back."""

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


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("beta", [0.0, 1.0, 0.5])
@pytest.mark.parametrize("alpha", [0.0, 1.0, 2.0])
def test_axpby_like_host_numbers(torch, dtype, alpha, beta):
    """With alpha = 0, x is not read; with beta = 0, y is not."""
    x, y = (vector * (1 if scalar else NAN) for vector, scalar in pairs(torch, dtype, alpha, beta))
    found, expected = y.clone(), y.clone()
    tb.axpby(x, found, alpha=device(torch, alpha, dtype), beta=device(torch, beta, dtype))
    tb.axpby(x, expected, alpha=alpha, beta=beta)
    assert torch.equal(found, expected)
    assert not found.isnan().any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("c", "s"), [(1.0, 0.0), (0.0, 1.0), (0.5, -2.0)])
def test_rot_like_host_numbers(torch, dtype, c, s):
    """c is real; s has the type of the vectors, where it may be complex."""
    x, y = (vector for vector, _ in pairs(torch, dtype, c, s))
    real = {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
    s = s * 1j if real != dtype else s
    found, expected = (x.clone(), y.clone()), (x.clone(), y.clone())
    returned = tb.rot(*found, device(torch, c, real), device(torch, s, dtype))
    tb.rot(*expected, c, s)
    for array, ours, wanted in zip(returned, found, expected, strict=True):
        assert array is ours
        assert torch.equal(ours, wanted)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("flag", [-2.0, -1.0, 0.0, 1.0])
def test_rotm_like_host_numbers(torch, dtype, flag):
    """The elements of H that the flag leaves out are not read."""
    x, y = (vector for vector, _ in pairs(torch, dtype, 1, 1))
    left_out = {-2.0: (1, 2, 3, 4), -1.0: (), 0.0: (1, 4), 1.0: (2, 3)}[flag]
    values = (flag, 2.0, -3.0, 0.5, 4.0)
    param = [NAN if place in left_out else value for place, value in enumerate(values)]
    found, expected = (x.clone(), y.clone()), (x.clone(), y.clone())
    on_device = torch.tensor(param, dtype=getattr(torch, dtype), device="cuda")
    tb.rotm(*found, on_device)
    tb.rotm(*expected, param)
    for ours, wanted in zip(found, expected, strict=True):
        assert torch.equal(ours, wanted)
        assert not ours.isnan().any()


@pytest.mark.parametrize("alpha", [0.0, 1.0, -2.5])
def test_sums_like_host_numbers(torch, alpha):
    x, y = (vector for vector, _ in pairs(torch, "float32", 1, 1))
    on_device = device(torch, alpha, "float32")
    assert tb.sdsdot(x, y, alpha=on_device).item() == tb.sdsdot(x, y, alpha=alpha).item()
    v = x * (1 if alpha else NAN)  # is not read
    for ours, wanted in zip(
        tb.axpydot(x, v, y, alpha=on_device), tb.axpydot(x, v, y, alpha=alpha), strict=True
    ):
        assert torch.equal(ours, wanted)
        assert not ours.isnan().any()


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_results_of_rotg_are_scalars_of_rot(torch, dtype):
    kind = getattr(torch, dtype)
    a, b = device(torch, 3.0, dtype), device(torch, 4.0, dtype)
    c, s, r, z = tb.rotg(a, b)
    assert (z is None) == kind.is_complex
    x, y = a.repeat(1001), b.repeat(1001)
    tb.rot(x, y, c, s)
    assert torch.allclose(x, r.expand(1001))
    assert torch.allclose(y, torch.zeros_like(y), atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_result_of_rotmg_is_the_param_of_rotm(torch, dtype):
    d1, d2, x1, y1 = (device(torch, value, dtype) for value in (1.5, 0.5, 3.0, 4.0))
    x, y = x1.repeat(1001), y1.repeat(1001)
    tb.rotm(x, y, tb.rotmg(d1, d2, x1, y1))
    assert torch.allclose(x, x1.expand(1001))
    assert torch.allclose(y, torch.zeros_like(y), atol=1e-5)


def device(torch, value: complex, dtype: str):
    """A number on the device."""
    return torch.tensor(value, dtype=getattr(torch, dtype), device="cuda")


def pairs(torch, dtype: str, *scalars: float):
    """Vectors of small integers on the device, each with one of the scalars."""
    kind = getattr(torch, dtype)
    return [(torch.randint(-3, 4, (1001,), device="cuda").to(kind), value) for value in scalars]


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
    half, z = x.half(), x.to(torch.complex64)
    with pytest.raises(TypeError, match="'c' is complex64, but it has to be real"):
        tb.rot(z, z.clone(), z[0], 1)
    with pytest.raises(TypeError, match="must be float16 or float32"):
        tb.rot(half, half.clone(), 1, device(torch, 1.0, "float64"))
    with pytest.raises(TypeError, match="must be a number"):
        tb.rot(x, x.clone(), 1, x[:1])
    with pytest.raises(tb.BlasError, match="has 4 numbers"):
        tb.rotm(x, x.clone(), x[:4])


def test_scalars_inside_an_output_are_refused(torch):
    x, y = torch.ones(8, device="cuda"), torch.ones(8, device="cuda")
    with pytest.raises(tb.BlasError, match=r"'s' .*is an element of 'x'"):
        tb.rot(x, y, 1, x[3])
    with pytest.raises(tb.BlasError, match="is an element of 'y'"):
        tb.rotm(x, y, y[1:6])
    assert (x == 1).all()
    assert (y == 1).all()
