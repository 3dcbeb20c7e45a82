"""Staging of level 1: several outputs, results of other types, and what needs no way up."""

from __future__ import annotations

import numpy as np
import pytest
from fake_gpu import random

from tileblas.core.operand import CONJ, NEG


def sent(api):
    """The bytes that went to the device."""
    return sum(nbytes for _, _, nbytes, _ in api.called("cuMemcpyHtoDAsync"))


def received(api):
    return sum(nbytes for _, _, nbytes, _ in api.called("cuMemcpyDtoHAsync"))


def gapped(values):
    return np.repeat(values, 3, axis=-1)[..., ::3]


layouts = pytest.mark.parametrize("layout", [np.copy, gapped, lambda a: a[::-1].copy()[::-1]])


@layouts
@pytest.mark.parametrize("n", [10, 2000])
def test_swap_brings_both_vectors_back(stage, gpu, api, layout, n):
    x, y = layout(random(n)), layout(random(n))
    expected = y.copy(), x.copy()
    stage("swap", x, y)
    np.testing.assert_array_equal(x, expected[0])
    np.testing.assert_array_equal(y, expected[1])
    assert len(gpu.shapes) == max(1, n * 8 // (4 << 10))
    assert sent(api) == received(api) == 16 * n


@layouts
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_rot_is_cut_into_panels_of_both_vectors(stage, gpu, layout, dtype):
    x, y = layout(random(2000, dtype=dtype)), layout(random(2000, dtype=dtype))
    s = 0.8 if dtype == "float64" else 0.48 - 0.64j
    expected = 0.6 * x + s * y, 0.6 * y - np.conj(s) * x
    stage("rot", x, y, c=0.6, s=s)
    np.testing.assert_allclose(x, expected[0], rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(y, expected[1], rtol=1e-14, atol=1e-15)
    assert len(gpu.shapes) > 2
    assert all(left == right for left, right in gpu.shapes)


@pytest.mark.parametrize("flag", [CONJ, NEG, CONJ | NEG])
def test_lazy_bits_of_two_outputs_are_applied_on_both_ways(stage, flag):
    def meant(values):
        values = values.conj() if flag & CONJ else values
        return -values if flag & NEG else values

    x, y = random(1000, dtype="complex64"), random(1000, dtype="complex64")
    expected = y.copy(), meant(x).copy()  # x is a lazy view, y is not
    stage("swap", x, y, flags={"x": flag})
    np.testing.assert_array_equal(meant(x), expected[0])
    np.testing.assert_array_equal(y, expected[1])


@pytest.mark.parametrize("flag", [-1, 0, 1, -2])
def test_rotm_takes_its_scalars_along(stage, gpu, flag):
    x, y = random(1500), random(1500)
    h11, h21, h12, h22 = 0.5, 2.0, -0.25, 3.0
    h = {
        -1: ((h11, h12), (h21, h22)),
        0: ((1, h12), (h21, 1)),
        1: ((h11, 1), (-1, h22)),
        -2: ((1, 0), (0, 1)),
    }[flag]
    expected = [a * x + b * y for a, b in h]
    stage("rotm", x, y, flag=flag, h11=h11, h21=h21, h12=h12, h22=h22)
    np.testing.assert_allclose([x, y], expected, rtol=1e-14, atol=1e-14)
    assert len(gpu.shapes) > 1


def test_copy_sends_no_output(stage, gpu, api):
    x, y = random(2000), np.full(2000, np.nan)
    stage("copy", x, y)
    np.testing.assert_array_equal(x, y)
    assert sent(api) == x.nbytes
    assert len(gpu.shapes) > 1


@pytest.mark.parametrize(("beta", "vectors"), [(0, 1), (2, 2)])
def test_axpby_sends_what_its_scalars_leave(stage, api, beta, vectors):
    x, y = random(2000), random(2000)
    expected = 3 * x + beta * y
    stage("axpby", x, y, alpha=3, beta=beta)
    np.testing.assert_allclose(y, expected, rtol=1e-14, atol=1e-14)
    assert sent(api) == vectors * x.nbytes


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_axpydot_makes_a_vector_and_a_number(stage, gpu, api, dtype):
    """z is written only; r, which is summed over all of it, forbids panels."""
    w, v, u = (random(3000, dtype=dtype) for _ in range(3))
    z, r = np.full(3000, np.nan, dtype), np.full((), np.nan, dtype)
    stage("axpydot", w, v, u, z, results={"r": r}, alpha=0.5)
    wide = np.result_type(dtype, "float64")
    expected = w.astype(wide) - 0.5 * v.astype(wide)
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(z, expected, rtol=4 * eps, atol=4 * eps)
    gauge = np.sum(abs(expected) * abs(u))
    assert abs(r - np.sum(expected * u)) <= 100 * eps * gauge
    assert gpu.shapes == [((3000,),) * 4]
    assert sent(api) == 3 * w.nbytes + r.nbytes  # the stand-in makes its r by sending it


def test_axpydot_of_a_batch_is_cut_between_its_members(stage, gpu):
    w, v, u = (random(1500, 4) for _ in range(3))
    z, r = np.empty((1500, 4)), np.empty(1500)
    stage("axpydot", w, v, u, z, results={"r": r}, alpha=2)
    np.testing.assert_allclose(z, w - 2 * v, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(r, np.sum((w - 2 * v) * u, -1), rtol=1e-12, atol=1e-13)
    assert len(gpu.shapes) > 1


def test_axpydot_in_place_of_one_of_its_vectors(stage):
    w, v, u = (random(700) for _ in range(3))
    expected, r = w - 2 * v, np.empty(())
    stage("axpydot", w, v, u, w, results={"r": r}, alpha=2)
    np.testing.assert_array_equal(w, expected)
    np.testing.assert_allclose(r, expected @ u, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "complex64"])
@pytest.mark.parametrize("shape", [(), (2000,), (3, 5)], ids=str)
def test_rotg_returns_up_to_four_new_arrays(stage, dtype, shape):
    """z there is for real numbers only."""
    a, b = random(*shape, dtype=dtype), random(*shape, dtype=dtype)
    a, b = np.asarray(a), np.asarray(b)
    types = {"c": a.real.dtype, "s": dtype, "r": dtype}
    types |= {"z": dtype} if dtype == "float64" else {}
    found = {name: np.full(shape, np.nan, type) for name, type in types.items()}
    stage("rotg", a, b, results=found)
    c, s, r = found["c"], found["s"], found["r"]
    wide = np.result_type(dtype, "float64")
    a, b, c, s, r = (np.asarray(v, wide) for v in (a, b, c, s, r))
    eps = 8 * np.finfo(dtype).eps
    np.testing.assert_allclose(c * a + s * b, r, rtol=eps)
    np.testing.assert_allclose(abs(c * b - s.conj() * a), 0, atol=eps * 4)
    np.testing.assert_allclose(c.real**2 + abs(s) ** 2, 1, rtol=eps)
    if dtype == "float64":
        z = np.where(abs(a) > abs(b), s, np.where(c != 0, 1 / c, 1))
        np.testing.assert_allclose(found["z"], z, rtol=eps)


@pytest.mark.parametrize("shape", [(), (900,)], ids=str)
def test_rotmg_updates_three_arrays_and_makes_its_parameters(stage, gpu, shape):
    d1, d2, x1, y1 = (np.asarray(abs(random(*shape)) + 0.5) for _ in range(4))
    before = [value.copy() for value in (d1, d2, x1, y1)]
    param = np.full((*shape, 5), np.nan)
    stage("rotmg", d1, d2, x1, y1, results={"param": param})
    flag, h11, h21, h12, h22 = np.moveaxis(param, -1, 0)
    assert set(np.unique(flag)) <= {0, 1}  # numbers near 1 need no scaling
    x, y = before[2:]
    h11, h22 = np.where(flag == 0, 1, h11), np.where(flag == 0, 1, h22)
    h12, h21 = np.where(flag == 1, 1, h12), np.where(flag == 1, -1, h21)
    np.testing.assert_allclose(h11 * x + h12 * y, x1, rtol=1e-13)
    np.testing.assert_allclose(h21 * x + h22 * y, 0, atol=1e-13)
    norm = before[0] * x**2 + before[1] * y**2
    np.testing.assert_allclose(d1 * x1**2, norm, rtol=1e-13)
    np.testing.assert_array_equal(y1, y)
    assert not np.array_equal(d2, before[1])


@pytest.mark.parametrize("name", ["iamax", "iamin"])
@pytest.mark.parametrize("shape", [(5000,), (1500, 3)], ids=str)
def test_places_are_integers_of_64_bits(stage, api, name, shape):
    x = random(*shape, dtype="float32")
    out = np.full(shape[:-1], -1, np.int64)
    stage(name, x, output=out)
    expected = getattr(np, name.replace("ia", "arg"))(abs(x), axis=-1)
    np.testing.assert_array_equal(out, expected)
    assert received(api) == out.nbytes


@pytest.mark.parametrize(
    ("name", "dtype", "result"),
    [("asum", "complex64", "float32"), ("dsdot", "float32", "float64")],
)
def test_sums_come_in_the_type_of_the_result(stage, name, dtype, result):
    x, out = random(3000, dtype=dtype), np.full((), np.nan, result)
    stage(name, *((x,) if name == "asum" else (x, x)), output=out)
    wide = x.astype(complex)
    expected = np.sum(abs(wide.real) + abs(wide.imag)) if name == "asum" else np.sum(wide.real**2)
    np.testing.assert_allclose(out, expected, rtol=1e-5 if name == "asum" else 1e-13)


def test_a_failing_panel_of_two_outputs_leaves_the_rest_as_it_was(stage, gpu, api):
    x, y = random(4096), random(4096)
    before = x.copy(), y.copy()
    gpu.fails_at = 2
    with pytest.raises(RuntimeError, match="the panel failed"):
        stage("swap", x, y)
    for found, now, then in ((x, before[1], before[0]), (y, before[0], before[1])):
        np.testing.assert_array_equal(found, np.concatenate([now[:1024], then[1024:]]))
    assert api.blocks == {}
