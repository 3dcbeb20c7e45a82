"""torch tensors, on the CPU and on a GPU: lazy conjugation and negation are read, never ignored."""

import pytest

import tileblas as tb

torch = pytest.importorskip("torch")


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request):
    if request.param == "cuda":
        yield "cuda"
        return
    with tb.backend("cpu"):
        yield "cpu"


def integers(shape, device, seed, dtype=None):
    """Small integers, complex by default: every product of them is exact."""
    generator = torch.Generator().manual_seed(seed)
    re, im = torch.randint(-4, 5, (2, *shape), generator=generator).double()
    return (torch.complex(re, im) if dtype is None else re.to(dtype)).to(device)


def equal(got, wanted):
    assert torch.equal(got.resolve_conj().resolve_neg(), wanted.resolve_conj().resolve_neg())


def test_lazy_conjugates_of_vectors(device):
    x, y = integers((7,), device, 1), integers((7,), device, 2)
    assert x.conj().is_conj()
    equal(tb.dot(x.conj(), y), (x.conj() * y).sum())
    equal(tb.dotc(x.conj(), y), (x * y).sum())
    equal(tb.dotu(x, y.conj()), (x * y.conj()).sum())
    equal(tb.axpy(x.conj(), y.clone(), alpha=2 - 1j), (2 - 1j) * x.conj() + y)


@pytest.mark.parametrize("alpha", [2.0, 2 - 1j, 0])
def test_lazy_bits_of_norms_and_of_scaled_vectors(device, alpha):
    """A norm has neither; a vector that is scaled keeps both."""
    x = integers((7,), device, 1)
    norm = (x.abs() ** 2).sum().sqrt()
    for view in (x, x.conj(), -x, x.imag, x.conj().imag):
        wanted = norm if view.is_complex() else (view**2).sum().sqrt()
        torch.testing.assert_close(tb.nrm2(view), wanted)
    wanted = alpha * x.conj()
    lazy = x.clone().conj()
    assert tb.scal(lazy, alpha=alpha) is lazy
    equal(lazy, wanted)
    negative = x.clone().conj().imag
    assert negative.is_neg()
    wanted = -3 * x.imag
    assert tb.scal(negative, alpha=3) is negative
    equal(negative, wanted)


@pytest.mark.parametrize("trans", ["N", "T", "C"])
def test_lazy_bits_of_matrices_and_vectors(device, trans):
    a, x, y = (integers(shape, device, i) for i, shape in enumerate(((4, 4), (4,), (4,))))
    op = {"N": lambda x: x, "T": lambda x: x.mT, "C": lambda x: x.mH}[trans]
    for matrix in (a, a.conj(), a.mH, a.mT):
        for vector in (x, x.conj()):
            for output in (y.clone(), y.clone().conj()):
                product = (op(matrix).resolve_conj() * vector).sum(-1)
                wanted = (2 - 1j) * product + 1j * output
                got = tb.gemv(matrix, vector, output, alpha=2 - 1j, beta=1j, trans=trans)
                assert got is output
                equal(got, wanted)


@pytest.mark.parametrize("trans", ["N", "T", "C"])
def test_lazy_conjugates_of_matrices(device, trans):
    a, b = integers((4, 4), device, 1), integers((4, 4), device, 2)
    op = {"N": lambda x: x, "T": lambda x: x.mT, "C": lambda x: x.mH}[trans]
    for left in (a, a.conj(), a.mH):
        for right in (b, b.conj(), b.mH):
            wanted = op(left).resolve_conj() @ op(right).resolve_conj()
            equal(tb.gemm(left, right, trans_a=trans, trans_b=trans), wanted)


def test_lazily_conjugated_outputs(device):
    """The tensor, as its user sees it, gets the result; its memory holds the conjugate."""
    x, y = integers((7,), device, 1), integers((7,), device, 2).conj()
    wanted = 1j * x + y
    assert tb.axpy(x, y, alpha=1j) is y
    equal(y, wanted)
    a, b, c = (integers((3, 3), device, seed) for seed in (3, 4, 5))
    c = c.conj()
    wanted = 2j * (a @ b) + (1 + 1j) * c
    assert tb.gemm(a, b, c, alpha=2j, beta=1 + 1j) is c
    equal(c, wanted)


def test_lazy_negatives(device):
    x, ones = (
        integers((7,), device, 1).conj().imag,
        torch.ones(7, dtype=torch.double, device=device),
    )
    assert x.is_neg()
    equal(tb.dot(x, ones), x.sum())
    equal(tb.axpy(x, ones.clone(), alpha=2), 2 * x + 1)
    wanted = 3 * ones + x
    assert tb.axpy(ones, x, alpha=3) is x
    equal(x, wanted)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
def test_results_are_tensors_of_the_same_kind(device, dtype):
    x = torch.ones((2, 3), dtype=getattr(torch, dtype), device=device)
    for got, shape in (
        (tb.dot(x[0], x[1]), ()),
        (tb.dot(x, x), (2,)),
        (tb.gemv(x, x[0]), (2,)),
        (tb.gemm(x, x.mT), (2, 2)),
        (tb.scal(x[0].clone(), alpha=3), (3,)),
    ):
        assert (got.dtype, got.device, tuple(got.shape)) == (x.dtype, x.device, shape)
        assert (got == 3).all()
    norm = tb.nrm2(torch.full((2, 4), 2, dtype=x.dtype, device=device))
    assert (norm.dtype, norm.device, tuple(norm.shape)) == (x.real.dtype, x.device, (2,))
    assert (norm == 4).all()


@pytest.mark.parametrize("dtype", ["int32", "bool", "uint8"])
def test_foreign_dtypes(device, dtype):
    x = torch.ones(3, dtype=getattr(torch, dtype), device=device)
    with pytest.raises(TypeError, match=dtype):
        tb.dot(x, x)


def test_sparse_tensors(device):
    x = torch.ones(3, device=device)
    with pytest.raises(TypeError, match="sparse"):
        tb.dot(x.to_sparse(), x)


def test_expanded_outputs(device):
    x, y = torch.ones((2, 3), device=device), torch.zeros(3, device=device)
    with pytest.raises(tb.BlasError, match="overlap"):
        tb.axpy(x, y.expand(2, 3))
    assert (y == 0).all()
