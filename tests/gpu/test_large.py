"""Sizes, strides and offsets beyond 32 bits; each test says the device memory it needs."""

from __future__ import annotations

import pytest
from libraries import Bare, Torch
from samples import FORMS, Sample, typed

import tileblas as tb

#: OpenBLAS issues 154 and 173: sums that lost parts, or read past the end.
TALL = [(4194305, 2, "float64"), (4456448, 1, "float32"), (16777213, 3, "float32")]


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


@pytest.mark.parametrize("batch", [65539, 262145])
@pytest.mark.parametrize("form", [form for form in FORMS if form.spec.dims], ids=str)
def test_more_batch_members_than_a_grid_axis_holds(torch, form, batch):
    sample = Sample(form, sizes={"m": 4, "n": 5, "k": 3}, batch=(batch,))
    library = Torch()
    sample.check(sample.run(sample.put(library)), library)


@pytest.mark.parametrize(
    ("form", "dtype"),
    # Those on triangles leave something in the workspace for each member.
    typed("float16", forms=tuple(form for form in FORMS if not form.spec.structure)),
    ids=str,
)
def test_268435459_members_of_one_element(torch, form, dtype):
    """A grid of more than 2^28 programs, where each member has one of its own.

    The members repeat a few, of which the results are known.
    """
    need(torch, 26)
    batch, sample, library = (
        268435459,
        Sample(form, dtype, dict.fromkeys("mnk", 1), batch=(5,)),
        Torch(),
    )

    def many(few):
        return few.repeat(batch // 5 + 1, *(1,) * (few.ndim - 1))[:batch]

    arrays = {name: many(few) for name, few in sample.put(library).items()}
    expected = sample.run(sample.put(library))
    sample.check(expected, library)
    for name, array in sample.run(arrays).items():
        assert torch.equal(array, many(expected[name])), name


def test_a_long_inner_dimension(torch):
    k = 1 << 20
    a = torch.ones(2, k, device="cuda")
    assert (tb.gemm(a, a, trans_b="T") == k).all()


def test_nrm2_of_2_31_elements(torch):
    need(torch, 9)
    x = torch.zeros(2**31, device="cuda")
    assert tb.nrm2(x).item() == 0
    x[-1] = 3
    assert tb.nrm2(x).item() == 3


def test_scal_of_more_than_2_31_elements(torch):
    need(torch, 5)
    x = torch.zeros(2**31 + 3, dtype=torch.float16, device="cuda")
    x[-1], x[2**31] = 3, 5
    tb.scal(x, alpha=2)
    assert (x[-1].item(), x[2**31].item(), x[2**31 - 1].item()) == (6, 10, 0)


def test_sums_of_more_than_2_31_elements(torch):
    need(torch, 5)
    x = torch.zeros(2**31 + 3, dtype=torch.float16, device="cuda")
    x[-1], x[2**31], x[2**31 - 1] = 3, -5, 4
    assert tb.asum(x).item() == 12
    assert tb.nrm2(x).item() == pytest.approx(50**0.5, rel=1e-3)


def test_places_beyond_2_31(torch):
    need(torch, 9)
    x = torch.zeros(2**31 + 3, device="cuda")
    x[7], x[2**31], x[2**31 + 1] = 3, -5, 5
    assert tb.iamax(x).item() == 2**31
    x.fill_(2)
    x[7], x[2**31], x[2**31 + 1] = 3, -1, 1
    assert tb.iamin(x).item() == 2**31


def patterns(torch, dtype: str, arrays: int):
    """Two vectors of more than 2^31 small integers, where there is memory for so many arrays."""
    n, kind = 2**31 + 3, getattr(torch, dtype)
    need(torch, arrays * n * kind.itemsize / 1e9)
    few = (torch.arange(period, device="cuda").to(kind) for period in (7, 5))
    return tuple(values.repeat(n // len(values) + 1)[:n] for values in few)


each_size = pytest.mark.parametrize("dtype", ["float16", "float32"])


@each_size
def test_moves_of_more_than_2_31_elements(torch, dtype):
    x, y = patterns(torch, dtype, 6)
    of_x, of_y = torch.zeros_like(x), torch.zeros_like(y)
    tb.copy(x, of_x)
    tb.copy(y, of_y)
    assert torch.equal(of_x, x)
    assert torch.equal(of_y, y)
    tb.swap(x, y)
    assert torch.equal(x, of_y)
    assert torch.equal(y, of_x)


@each_size
def test_axpby_of_more_than_2_31_elements(torch, dtype):
    x, y = patterns(torch, dtype, 6)
    wanted = 2 * x + 3 * y
    assert torch.equal(tb.axpby(x, y, alpha=2, beta=3), wanted)


@each_size
def test_rotations_of_more_than_2_31_elements(torch, dtype):
    x, y = patterns(torch, dtype, 7)
    first, second = 0.5 * x - 2 * y, 0.5 * y + 2 * x
    tb.rot(x, y, 0.5, -2)
    assert torch.equal(x, first)
    assert torch.equal(y, second)
    tb.rotm(x, y, (-1, 0, 2, -1, 0))  # -y and 2 x
    assert torch.equal(x, -second)
    assert torch.equal(y, 2 * first)


def test_axpydot_of_more_than_2_31_elements(torch):
    w, v = patterns(torch, "float16", 6)
    u = torch.zeros_like(w)
    places = (0, 2**31 - 1, 2**31, 2**31 + 2)
    for place in places:
        u[place] = 1
    z, r = tb.axpydot(w, v, u, alpha=2)
    assert torch.equal(z, w - 2 * v)
    assert r.item() == sum(place % 7 - 2 * (place % 5) for place in places)


def test_more_than_2_31_rotations_from_their_numbers(torch):
    need(torch, 62)
    a, b = (torch.full((2**31 + 3,), value, device="cuda") for value in (3.0, 4.0))
    a[2**31], b[2**31] = -8, 6
    c, s, r, z = tb.rotg(a, b)
    for place, wanted in ((0, (0.6, 0.8, 5)), (2**31, (0.8, -0.6, -10)), (-1, (0.6, 0.8, 5))):
        assert [array[place].item() for array in (c, s, r)] == pytest.approx(wanted)
    assert (z[2**31].item(), z[-1].item()) == pytest.approx((-0.6, 1 / 0.6))
    assert (r[: 2**31] == r[0]).all()


def test_modified_rotations_whose_params_pass_2_31(torch):
    need(torch, 28)
    n = 2**29 + 3
    d1, d2, x1, y1 = (torch.full((n,), value, device="cuda") for value in (1.5, 0.5, 3.0, 4.0))
    y1[-1] = 0
    param = tb.rotmg(d1, d2, x1, y1)
    assert param[-2].tolist() == pytest.approx((0, 0, -4 / 3, 4 / 9, 0))
    assert (param[:-1] == param[0]).all()
    assert param[-1, 0].item() == -2
    assert (d1[:-1] == d1[0]).all()
    assert (d1[-1].item(), x1[-1].item()) == (1.5, 3)


def vector(torch, n: int, inc: int):
    """(operand, memory, values): small integers `inc` apart, backwards where it is negative."""
    step = abs(inc)
    memory = torch.zeros((n - 1) * step + 1, device="cuda")
    values = torch.arange(n, device="cuda") % 7 - 3.0
    laid = memory.as_strided((n,), (step,))
    laid.copy_(values)
    if inc > 0:
        return laid, memory, values
    last = memory.data_ptr() + 4 * (n - 1) * step
    return Bare(laid, data=(last, False), strides=(4 * inc,)), memory, values.flip(0)


@pytest.mark.parametrize("sign", [1, -1], ids=["forwards", "backwards"])
@pytest.mark.parametrize(("n", "inc"), [(1048600, 4096), (4, 1073741825), (32, 67108865)])
def test_increments_that_take_offsets_past_2_31(torch, n, inc, sign):
    need(torch, 22)
    x, memory, values = vector(torch, n, sign * inc)
    dense = torch.arange(n, device="cuda") % 5 - 2.0
    torch.cuda.synchronize()
    read = torch.from_dlpack
    assert read(tb.dot(Bare(dense), x)).item() == (dense * values).sum().item()
    sizes = values.abs()
    assert read(tb.asum(x)).item() == sizes.sum().item()
    assert read(tb.iamax(x)).item() == (sizes == sizes.max()).nonzero()[0].item()
    norm = read(tb.nrm2(x)).item()
    assert norm == pytest.approx((values.double() ** 2).sum().sqrt().item(), rel=1e-6)
    y = dense.clone()
    tb.axpy(x, y, alpha=2)
    assert torch.equal(y, 2 * values + dense)
    other = dense.clone()
    tb.swap(x, other)
    assert torch.equal(other, values)
    tb.swap(other, x)
    assert torch.equal(other, dense)
    tb.axpy(dense, x, alpha=3)
    changed = 3 * dense + values
    tb.scal(x, alpha=-2)
    torch.cuda.synchronize()
    stored = memory.as_strided((n,), (inc,))
    assert torch.equal(stored if sign > 0 else stored.flip(0), -2 * changed)
    assert memory.count_nonzero().item() == changed.count_nonzero().item()  # the gaps


@pytest.mark.parametrize("order", ["row", "column"])
@pytest.mark.parametrize(
    ("m", "n", "lead"), [(3, 3, 1073741825), (128, 128, 16777220), (8192, 4, 262177)]
)
def test_leading_dimensions_that_take_offsets_past_2_31(torch, m, n, lead, order):
    need(torch, 13)
    memory = torch.zeros((m - 1) * lead + n, device="cuda")
    laid = memory.as_strided((m, n), (lead, 1))
    values = (torch.arange(m * n, device="cuda") % 7 - 3.0).view(m, n)
    laid.copy_(values)
    a, host = (laid, values.cpu()) if order == "row" else (laid.t(), values.t().cpu())
    x = torch.ones(host.shape[1], device="cuda")
    z = torch.ones(host.shape[0], device="cuda")
    assert torch.equal(tb.gemv(a, x).cpu(), host.sum(1))
    assert torch.equal(tb.gemv(a, z, trans="T").cpu(), host.sum(0))
    b = torch.ones(host.shape[1], 5, device="cuda")
    assert torch.equal(tb.gemm(a, b).cpu(), host @ b.cpu())
    tb.gemm(z[:, None], x[None, :], a, alpha=2, beta=1)
    assert torch.equal(a.cpu(), host + 2)
    assert memory.count_nonzero().item() == (host + 2).count_nonzero().item()


@pytest.mark.parametrize("trans", ["N", "T"])
@pytest.mark.parametrize("order", ["row", "column"])
def test_gemv_of_a_matrix_of_more_than_2_31_elements(torch, trans, order):
    need(torch, 10)
    a = torch.ones((35783, 65133) if order == "row" else (65133, 35783), device="cuda")
    a = a if order == "row" else a.t()
    length = 65133 if trans == "N" else 35783
    found = tb.gemv(a, torch.ones(length, device="cuda"), trans=trans)
    assert (found == length).all()


def test_gemv_with_more_than_2_31_columns(torch):
    need(torch, 9)
    a, x = (torch.zeros(2**31 + 3, dtype=torch.float16, device="cuda") for _ in range(2))
    for place in (0, 2**31 - 1, 2**31, -1):
        a[place], x[place] = 3, 2
    assert tb.gemv(a[None, :], x).tolist() == [24]


def test_gemvt_of_one_row_whose_sums_pass_2_31(torch):
    """A block of z adds up what each block of the long axis has left, numbers beyond 2^31 of it."""
    need(torch, 46)
    n = 2**30 + 64
    a, x = (torch.zeros(1, n, dtype=torch.complex64, device="cuda") for _ in range(2))
    a[0, 0], a[0, -1], x[0, -1] = 1, 2, 3
    y, z = tb.gemvt(a, x[0], torch.ones(1, dtype=torch.complex64, device="cuda"))
    assert (y.item(), z[0].item(), z[1].item(), z[-1].item()) == (6, 1, 0, 2)


def test_gemv_with_more_than_2_31_rows(torch):
    """Each row is one element: a column with a unit stride."""
    need(torch, 9)
    a = torch.zeros(2**31 + 3, dtype=torch.float16, device="cuda")
    a[-1], a[2**31] = 3, 5
    y = tb.gemv(a[:, None], torch.full((1,), 2.0, dtype=torch.float16, device="cuda"))
    assert (y[-1].item(), y[2**31].item(), y[2**31 - 1].item()) == (6, 10, 0)


@pytest.mark.parametrize("trans", ["N", "T"])
@pytest.mark.parametrize(
    "shape",
    [(32000, 11), (81920, 40), (131071, 63), (32, 1536), (3840, 3840), (25020, 25020)],
    ids=str,
)
def test_gemv_of_shapes_that_others_test(torch, shape, trans):
    """Integers, so that every sum is exact; both orders in memory."""
    need(torch, 25)
    for order in ("row", "column"):
        stored = shape if order == "row" else shape[::-1]
        a = (torch.arange(stored[0] * stored[1], device="cuda") % 5 - 2.0).view(stored)
        a = a if order == "row" else a.t()
        op = a if trans == "N" else a.t()
        x = torch.arange(op.shape[1], device="cuda") % 3 - 1.0
        expected = op.double() @ x.double()
        assert torch.equal(tb.gemv(a, x, trans=trans).double(), expected)


@pytest.mark.parametrize(("rows", "columns", "dtype"), TALL)
def test_transposed_gemv_of_a_tall_matrix(torch, rows, columns, dtype):
    """One long sum for each of few columns, in column-major and row-major order."""
    kind = getattr(torch, dtype)
    x = torch.ones(rows, dtype=kind, device="cuda")
    for a in (
        torch.ones(rows, columns, dtype=kind, device="cuda"),
        torch.ones(columns, rows, dtype=kind, device="cuda").t(),
    ):
        assert tb.gemv(a, x, trans="T").tolist() == [rows] * columns
