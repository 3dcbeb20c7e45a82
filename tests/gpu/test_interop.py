"""Every array library as input of every routine: right values, the right kind out, no copy."""

from __future__ import annotations

import math
from itertools import cycle

import numpy as np
import pytest
from libraries import Bare, CudaInterface, Cupy, DLPack, Footprint, Jax, Numba, Torch
from samples import FORMS, GIVEN, Sample, shapes, typed

import tileblas as tb

each_form = pytest.mark.parametrize("form", FORMS, ids=str)
each_given = pytest.mark.parametrize("form", GIVEN, ids=str)

#: By level, sizes with an operand of 1 GiB in float32; a batch of rotations, of 256 MiB each.
ROTATIONS = (1 << 26,)
BIG = {1: {"n": 1 << 28}, 2: {"m": 1 << 14, "n": 1 << 14}, 3: {"m": 1 << 14, "n": 8, "k": 1 << 14}}
#: Bytes that a call may take beside its results: a sixteenth of the big operand.
SMALL = 64 << 20


@pytest.mark.parametrize(
    ("form", "dtype"), typed("float16", "bfloat16", "float32", "complex64"), ids=str
)
def test_in_and_out(library, form, dtype):
    if dtype not in library.dtypes:
        pytest.skip(f"{library.name} has no {dtype}")
    sample = Sample(form, dtype)
    arrays = sample.put(library)
    found = sample.run(arrays)
    sample.check(found, library)
    changed = set(form.given) if library.mutable else set()
    for name, array in found.items():
        assert array is arrays[name] if name in changed else library.made(array)
    for name in arrays.keys() - changed:
        np.testing.assert_array_equal(library.get(arrays[name]), sample.values[name])


@each_form
def test_nothing_is_copied(library, form, gate):
    sizes, batch = BIG[form.spec.level], () if form.spec.dims else ROTATIONS
    dtype = form.dtype("float32")
    wanted = shapes(form, sizes, batch)
    arrays = {name: library.blank(shape, dtype) for name, shape in wanted.items()}
    scalars = form.keywords()
    call = getattr(tb, form.routine)
    call(**arrays, **scalars)  # compiles the kernel, makes the workspace
    allowed = SMALL + sum(form.made_bytes(sizes, batch).values())
    if not library.mutable:  # the documented copies of outputs
        allowed += sum(np.dtype(dtype).itemsize * math.prod(wanted[name]) for name in form.given)
    before = Footprint(library)
    with gate.held(library.handle()):  # so that nothing is done with, and freed, before it counts
        found = call(**arrays, **scalars)
        taken = before.taken()
    assert taken < allowed
    del found
    library.settle()


@each_form
def test_mixed_libraries_on_one_device(form):
    """A new result is of the first operand's library."""
    sample = Sample(form)
    makers = dict(zip(sample.values, cycle((Torch(), Cupy(), Numba()))))
    arrays = {name: makers[name].put(value) for name, value in sample.values.items()}
    found = sample.run(arrays)
    first = next(iter(makers.values()))
    for name, array in found.items():
        assert array is arrays[name] if name in form.given else first.made(array)
    sample.check({name: makers.get(name, first).get(array) for name, array in found.items()})


@each_form
def test_read_only_inputs(form):
    library = CudaInterface()
    sample = Sample(form)
    arrays = sample.put(library)
    for name in form.read:
        arrays[name] = read_only(arrays[name])
    sample.check(sample.run(arrays), library)


@each_given
def test_a_read_only_output_is_refused_before_any_write(form):
    library = CudaInterface()
    sample = Sample(form)
    arrays = sample.put(library)
    for output in form.given:
        with pytest.raises(tb.BlasError, match="read-only") as refused:
            sample.run(arrays | {output: read_only(arrays[output])})
        assert refused.value.argument == output
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
    y = torch.zeros_like(x)
    tb.copy(x.conj(), y)
    assert torch.equal(y, x.conj().resolve_conj())
    x, y = kept.clone(), 2 * kept
    tb.swap(x.conj(), y)  # conj(x), y := y, conj(x)
    assert torch.equal(x, 2 * kept.conj().resolve_conj())
    assert torch.equal(y, kept.conj().resolve_conj())
    assert tb.asum(x.conj()).item() == tb.asum(x).item()
    with pytest.raises(tb.BlasError, match="lazily conjugated"):
        tb.rotg(x.conj(), y)


def test_places_are_indices_of_their_library(torch, cupy):
    values = np.array([1, -3, 2, 3, 0.5], "float32")
    for array in (torch.from_numpy(values).cuda(), cupy.asarray(values)):
        largest, smallest = tb.iamax(array), tb.iamin(array)
        assert (int(largest), int(smallest)) == (1, 4)
        assert float(array[largest]) == -3


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
