"""Every array library as input of every routine: right values, the right kind out, no copy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from libraries import Bare, CudaInterface, Cupy, DLPack, Footprint, Jax, Numba, Torch
from samples import FORMS, GIVEN, Sample, shapes

import tileblas as tb
from tileblas.routines.registry import ROUTINES

each_form = pytest.mark.parametrize("form", FORMS, ids=str)
each_given = pytest.mark.parametrize("form", GIVEN, ids=str)

#: By level, sizes with an operand of 1 GiB in float32.
BIG = {1: {"n": 1 << 28}, 2: {"m": 1 << 14, "n": 1 << 14}, 3: {"m": 1 << 14, "n": 8, "k": 1 << 14}}
#: Bytes that a call may take beside its result: a sixteenth of the big operand.
SMALL = 64 << 20


@each_form
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64"])
def test_in_and_out(library, form, dtype):
    if dtype not in library.dtypes:
        pytest.skip(f"{library.name} has no {dtype}")
    sample = Sample(form, dtype)
    arrays = sample.put(library)
    found = sample.run(arrays)
    sample.check(library.get(found))
    if form.new or not library.mutable:
        assert library.made(found)
        inputs = set(arrays)
    else:
        assert found is arrays[sample.output]
        inputs = arrays.keys() - {sample.output}
    for name in inputs:
        np.testing.assert_array_equal(library.get(arrays[name]), sample.values[name])


@each_form
def test_nothing_is_copied(library, form, gate):
    spec = ROUTINES[form.routine]
    wanted = shapes(form, BIG[spec.level])
    arrays = {name: library.blank(shape, "float32") for name, shape in wanted.items()}
    scalars = {name: 2.0 if name == "alpha" else 0.0 for name in spec.scalars}
    call = getattr(tb, form.routine)
    call(**arrays, **scalars)  # compiles the kernel, makes the workspace
    allowed = SMALL
    if not form.new and not library.mutable:  # the documented copy of an output
        allowed += 4 * math.prod(wanted[spec.output_name])
    before = Footprint(library)
    with gate.held(library.handle()):  # so that nothing is done with, and freed, before it counts
        found = call(**arrays, **scalars)
        taken = before.taken()
    assert taken < allowed
    del found
    library.settle()


@each_form
def test_mixed_libraries_on_one_device(form):
    """The result is of the output's library, else of the first operand's."""
    sample = Sample(form)
    makers = dict(zip(sample.values, (Torch(), Cupy(), Numba()), strict=False))
    arrays = {name: makers[name].put(value) for name, value in sample.values.items()}
    found = sample.run(arrays)
    owner = makers[next(iter(makers)) if form.new else sample.output]
    assert owner.made(found) if form.new else found is arrays[sample.output]
    sample.check(owner.get(found))


@each_form
def test_read_only_inputs(form):
    library = CudaInterface()
    sample = Sample(form)
    arrays = sample.put(library)
    for name, array in arrays.items():
        if form.new or name != sample.output:
            arrays[name] = read_only(array)
    sample.check(library.get(sample.run(arrays)))


@each_given
def test_a_read_only_output_is_refused_before_any_write(form):
    library = CudaInterface()
    sample = Sample(form)
    arrays = sample.put(library)
    arrays[sample.output] = read_only(arrays[sample.output])
    with pytest.raises(tb.BlasError, match="read-only") as refused:
        sample.run(arrays)
    assert refused.value.argument == sample.output
    for name, array in arrays.items():
        np.testing.assert_array_equal(library.get(array), sample.values[name])


@each_given
def test_no_jax_output_where_copies_are_forbidden(form):
    library = Jax()
    sample = Sample(form)
    arrays = sample.put(library)
    with tb.options(copies="forbid"), pytest.raises(tb.BlasError, match="copies are forbidden"):
        sample.run(arrays)


def read_only(array: Bare) -> Bare:
    """The same memory, shown as read-only."""
    pointer, _ = array.__cuda_array_interface__["data"]
    return Bare(array.array, data=(pointer, True))


@pytest.mark.parametrize("kind", [CudaInterface, DLPack])
def test_results_for_bare_interfaces_can_be_read_by_all(kind, cupy, torch):
    x = kind().put(np.arange(6.0))
    found = tb.dot(x, x)
    assert float(cupy.asarray(found)) == 55.0
    assert torch.from_dlpack(found).item() == 55.0


def test_reversed_views_of_cupy(cupy):
    x = cupy.arange(5.0)[::-1]
    assert float(tb.dot(x, cupy.array([1.0, 10, 100, 1000, 10000]))) == 1234.0


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


def test_lazy_bits_of_torch_in_level_1_and_2(torch):
    a = torch.randint(-3, 4, (6, 4), device="cuda").to(torch.complex64)
    a = a + 1j * torch.randint(-3, 4, (6, 4), device="cuda")
    x = a[:, 1].clone()
    host = a.cpu().numpy()
    np.testing.assert_array_equal(tb.gemv(a.mH, x).cpu(), host.conj().T @ host[:, 1])
    assert tb.nrm2(a[:, 0].conj().imag).item() == pytest.approx(np.linalg.norm(host[:, 0].imag))
    kept = x.clone()
    tb.scal(x.conj(), alpha=2 + 1j)  # conj(x) := alpha conj(x)
    assert torch.equal(x, (2 - 1j) * kept)


def test_a_device_scalar_inside_the_output_is_refused(torch):
    y = torch.ones(8, device="cuda")
    with pytest.raises(tb.BlasError, match=r"'alpha' .*is an element of 'y'"):
        tb.axpy(torch.ones(8, device="cuda"), y, alpha=y[3])
    assert (y == 1).all()


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
