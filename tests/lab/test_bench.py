"""A bench measures, checks and compares; its CSV rows are complete in themselves."""

import csv
import math

import numpy as np
import pytest

import tileblas
from tileblas.lab import bench as benches
from tileblas.lab.bench import least_seconds, measure, open_bench, run, split_by_time
from tileblas.lab.cases import Case
from tileblas.lab.lists import listed
from tileblas.lab.problems import Problem, work
from tileblas.lab.results import (
    CsvFile,
    Measurement,
    geometric_means,
    read_earlier,
    record,
)
from tileblas.lab.rivals import Bound, RivalError, Scipy
from tileblas.lab.timing import STANDARD
from tileblas.routines.registry import ROUTINES

DOT = Case("dot", (3000,), "float64")
AXPY = Case("axpy", (3000,), "complex64")
GEMM = Case("gemm", (40, 30, 50), "float32", "TN", "row")
NORM = Case("nrm2", (3000,), "complex64")
MATVEC = Case("gemv", (40, 30), "float64", "T", "col")
HALF = Case("gemm", (40, 30, 50), "bfloat16", "NT", "col")


def test_work_comes_from_the_spec():
    assert work(DOT) == (2 * 3000, 8 * (2 * 3000 + 1))
    assert work(AXPY) == (8 * 3000, 8 * 3 * 3000)
    assert work(NORM) == (8 * 3000, 8 * 3001)
    assert work(MATVEC) == (2 * 40 * 30, 8 * (40 * 30 + 30 + 40))  # beta = 0: y is written
    flops, size = work(GEMM)
    assert flops == 2 * 40 * 30 * 50
    assert size == 4 * (40 * 50 + 50 * 30 + 40 * 30)  # beta = 0: c is written, not read
    assert work(Case("iamax", (3000,), "complex64")) == (4 * 3000, 8 * 3000)
    assert work(Case("copy", (3000,), "float64")) == (0, 8 * 2 * 3000)
    assert work(Case("axpby", (3000,), "float64"))[1] == 8 * 3 * 3000  # y is read too
    assert work(Case("axpydot", (3000,), "float32"))[1] == 4 * (4 * 3000 + 1)


def test_a_row_has_times_rates_errors_and_the_rival(host_bench):
    row = measure(GEMM, host_bench, STANDARD)
    assert (row.median, row.minimum, row.ratio) == (1e-3, 1e-3, 1.0)
    assert row.rate == pytest.approx(2 * 40 * 30 * 50 / 1e-3)
    assert row.unit == "GFLOP/s"
    assert row.roof_share == pytest.approx(least_seconds(GEMM, host_bench.roofs) / 1e-3)
    assert row.good
    assert row.rival.startswith("SciPy")
    assert row.rival_accuracy.good
    assert 0 < row.accuracy.error < 1e-6


def test_rates_of_vectors_count_bytes(host_bench):
    row = measure(DOT, host_bench, STANDARD)
    assert (row.unit, row.rate) == ("GB/s", pytest.approx(8 * 6001 / 1e-3))


def test_without_a_rival_its_columns_are_empty(host_bench):
    values = record(measure(HALF, host_bench, STANDARD))
    assert values["rival"] == ""
    assert all(math.isnan(values[n]) for n in ("rival_median_us", "ratio", "rival_error"))
    assert values["within_bar"]


def test_a_rival_that_refuses_leaves_its_reason(host_bench, monkeypatch):
    def refuses():
        raise RivalError("cuBLAS status 15")

    monkeypatch.setattr(Scipy, "bind", lambda self, case, operands: Bound(refuses))
    row = measure(DOT, host_bench, STANDARD)
    assert row.good
    assert row.rival.endswith("cuBLAS status 15")
    assert math.isnan(row.ratio)
    assert math.isnan(row.rival_median)


def test_a_wrong_result_is_seen(host_bench, monkeypatch):
    monkeypatch.setattr(tileblas, "dot", lambda x, y: x @ y + 1e-6)
    row = measure(DOT, host_bench, STANDARD)
    assert not row.good
    assert row.rival_accuracy.good


def test_a_case_that_fails_leaves_a_row_and_the_others_run(host_bench, monkeypatch):
    def fails(x, y):
        raise MemoryError("24 bytes")

    monkeypatch.setattr(tileblas, "dot", fails)
    rows = list(run([DOT, GEMM], host_bench))
    assert [row.problem for row in rows] == ["not enough memory", ""]
    assert [row.good for row in rows] == [False, True]
    assert math.isnan(record(rows[0])["median_us"])


def test_csv_rows_hold_the_environment_and_the_protocol(host_bench, tmp_path):
    path = tmp_path / "new folder" / "bench.csv"
    with CsvFile(path, host_bench.common) as file:
        for row in run([DOT, GEMM], host_bench):
            file.write(record(row))
            assert "float" in path.read_text()  # written at once
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert set(rows[0]) == {*record(row), "protocol", "date", "device", "numpy"}
    assert [row["routine"] for row in rows] == ["dot", "gemm"]
    assert rows[1]["trans"] == "TN"
    assert rows[0]["sm_mhz"] == rows[0]["trans"] == rows[0]["problem"] == ""
    assert {row["device"] for row in rows} == {"some CPU"}
    assert {row["protocol"] for row in rows} == {"fake clock"}
    assert float(rows[0]["median_us"]) == 1000.0


def test_nothing_measured_leaves_a_cell_empty(tmp_path):
    path = tmp_path / "bench.csv"
    with CsvFile(path, {}) as file:
        file.write(record(Measurement(DOT, "cpu", "numpy", problem="not enough memory")))
    with path.open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["median_us"], row["within_bar"], row["ratio"]) == ("", "", "")
    assert row["problem"] == "not enough memory"


def test_an_earlier_file_gives_ratios(host_bench, tmp_path):
    path = tmp_path / "old.csv"
    with CsvFile(path, host_bench.common) as file:
        file.write(record(measure(DOT, host_bench, STANDARD)))
    earlier = read_earlier(path)
    assert earlier.device == "some CPU"
    faster = benches.Bench(
        "cpu", host_bench.place, type(host_bench.clock)(lambda call: 2.5e-4), None, None, {}
    )
    assert earlier.ratio(measure(DOT, faster, STANDARD)) == pytest.approx(4)
    assert math.isnan(earlier.ratio(measure(GEMM, faster, STANDARD)))


def test_a_file_of_something_else_is_refused(tmp_path):
    path = tmp_path / "other.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="has no columns"):
        read_earlier(path)


def test_geometric_means_are_taken_by_routine_dtype_and_form():
    def row(case, ratio):
        return Measurement(case, "cuda", "torch", ratio=ratio)

    tall = Case("gemv", (400, 3), "float64", "T", "col")
    means = geometric_means(
        [row(MATVEC, 4.0), row(DOT, 0.96), row(tall, 0.25), row(HALF, math.nan), row(DOT, 0.97)]
    )
    assert [(m.routine, m.dtype, m.form) for m in means] == [
        ("gemv", "float64", "col T"),
        ("dot", "float64", ""),
    ]
    assert [(m.cases, m.slower, m.lowest) for m in means] == [(2, 1, 0.25), (2, 1, 0.96)]
    assert means[0].ratio == pytest.approx(1)
    assert means[1].ratio == pytest.approx(math.sqrt(0.96 * 0.97))


def test_cases_that_would_take_long_are_set_aside(given_roofs):
    short, long = split_by_time(listed("default", ["gemm"]), given_roofs, 1.0)
    assert {case.dims[0] for case in long} >= {8192}
    assert {case.dims[0] for case in short} >= {256, 2048}


def test_a_matrix_times_a_vector_is_held_to_the_roof_of_reading(given_roofs):
    scal = Case("scal", (3000,), "float64")
    assert least_seconds(MATVEC, given_roofs) == work(MATVEC)[1] / given_roofs.read()
    assert least_seconds(scal, given_roofs) == work(scal)[1] / given_roofs.update()
    for name, letters in (("symv", "L"), ("trsv", "LNN"), ("ger", ""), ("syr", "L")):
        dims = (300,) * len(ROUTINES[name].dims)
        case = Case(name, dims, "float64", letters, "col")
        roof = given_roofs.update() if ROUTINES[name].updates else given_roofs.read()
        assert least_seconds(case, given_roofs) == work(case)[1] / roof
    for name in ("swap", "axpydot"):  # which returns a number, but writes a vector too
        case = Case(name, (3000,), "float64")
        assert least_seconds(case, given_roofs) == work(case)[1] / given_roofs.update()


def test_without_roofs_there_is_no_share():
    assert math.isnan(least_seconds(DOT, None))
    assert split_by_time([DOT], None, 1.0) == ([DOT], [])


def test_only_backends_that_can_be_timed_are_opened():
    assert open_bench("cpu").backend == "cpu"
    with pytest.raises(ValueError, match="not timed"):
        open_bench("interpret")


def test_why_there_is_no_gpu_is_told(monkeypatch):
    monkeypatch.setattr(benches.environment, "why_no_gpu", lambda: "the cable is out")
    with pytest.raises(ValueError, match="the cable is out"):
        open_bench("cuda")
    assert open_bench("auto").backend == "cpu"


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize(
    ("routine", "dims", "form"),
    [
        ("dotc", (10_001,), ()),
        ("nrm2", (10_001,), ()),
        ("asum", (10_001,), ()),
        ("gemv", (3, 10_001), ("N", "col")),
        ("gemv", (3, 10_001), ("C", "row")),
    ],
)
def test_the_reference_of_a_long_sum_is_made_of_pieces(
    routine, dims, form, dtype, host_bench, monkeypatch
):
    def expected():
        problem = Problem(Case(routine, dims, dtype, *form), host_bench.place)
        return problem._sampled()["y"]()[1] if routine == "gemv" else problem._reduced()

    whole = expected()
    monkeypatch.setattr("tileblas.lab.problems._CHUNK", 999)
    pieces = expected()
    difference = (pieces.value - whole.value) + (pieces.tail - whole.tail)
    # float32 and below are summed in float64, the others in twice that.
    bar = 1e-13 if dtype == "float32" else 1e-28
    assert np.max(np.abs(difference) / whole.gauge) < bar
    assert pieces.value.shape == whole.value.shape == pieces.kind.shape
    np.testing.assert_allclose(pieces.gauge, whole.gauge, rtol=1e-13)
    assert pieces.terms == whole.terms
    assert np.all(pieces.quality <= whole.quality)


@pytest.mark.parametrize("dims", [(1 << 18, 8), (8, 1 << 18), (5000, 1)])
@pytest.mark.parametrize("trans", ["N", "T"])
def test_a_sample_of_a_matvec_finds_errors_at_both_ends(dims, trans, host_bench):
    problem = Problem(Case("gemv", dims, "float32", trans, "col"), host_bench.place)
    a, x, y = (problem.operands[name] for name in "axy")

    def wrong(index):
        y[:] = (a if trans == "N" else a.T) @ x
        y[index] += 1000

    for index in (0, -1):
        assert not problem.accuracy(Bound(lambda index=index: wrong(index))).good
    assert problem.accuracy(Bound(lambda: wrong(slice(0, 0)))).good


@pytest.mark.parametrize("chunk", [1 << 20, 100])
def test_a_wrong_norm_is_seen(chunk, host_bench, monkeypatch):
    monkeypatch.setattr("tileblas.lab.problems._CHUNK", chunk)
    problem = Problem(NORM, host_bench.place)
    right = np.float32(np.linalg.norm(problem.operands["x"].astype(np.complex128)))
    assert problem.accuracy(Bound(lambda: right)).good
    assert not problem.accuracy(Bound(lambda: right * np.float32(1.001))).good


def test_a_routine_in_place_is_judged_by_what_it_found(host_bench):
    problem = Problem(Case("scal", (1001,), "float64"), host_bench.place)
    bound = Scipy().bind(problem.case, problem.operands)
    assert problem.accuracy(bound).good
    assert problem.accuracy(bound).good  # x has changed its sign since
    assert not problem.accuracy(Bound(lambda: None)).good


def test_a_reference_in_pieces_adds_a_number_once(host_bench, monkeypatch):
    problem = Problem(Case("sdsdot", (1001,), "float32"), host_bench.place)
    monkeypatch.setattr("tileblas.lab.problems._CHUNK", 100)
    x, y = (problem.operands[name].astype(np.float64) for name in "xy")
    right = np.float32(0.5 + x @ y)
    assert problem.accuracy(Bound(lambda: right)).good
    assert not problem.accuracy(Bound(lambda: right * np.float32(1 + 1e-6))).good


@pytest.mark.parametrize("chunk", [1 << 20, 100])
@pytest.mark.parametrize(("routine", "pick"), [("iamax", np.argmax), ("iamin", np.argmin)])
def test_a_place_is_the_first_and_exact(routine, pick, chunk, host_bench, monkeypatch):
    monkeypatch.setattr("tileblas.lab.problems._CHUNK", chunk)
    problem = Problem(Case(routine, (1001,), "float64"), host_bench.place)
    x = problem.operands["x"]
    first = pick(np.abs(x))
    x[-1] = -x[first]  # as large, but later
    accuracy = problem.accuracy(Bound(lambda: first))
    assert (accuracy.good, accuracy.error) == (True, 0.0)
    for wrong in (first + 1, 1000):
        assert not problem.accuracy(Bound(lambda wrong=wrong: wrong)).good


def _transformed(x, y, h11, h12, h21, h22):
    x[:], y[:] = h11 * x + h12 * y, h21 * x + h22 * y


@pytest.mark.parametrize(
    ("routine", "right"),
    [("swap", (0, 1, 1, 0)), ("rot", (0.6, 0.8, -0.8, 0.6)), ("rotm", (0.6, 0.8, -0.8, 0.6))],
)
def test_both_outputs_of_a_rotation_are_judged(routine, right, host_bench):
    problem = Problem(Case(routine, (1001,), "float64"), host_bench.place)
    x, y = (problem.operands[name] for name in "xy")
    for wrong in range(4):
        numbers = [value + 1e-3 * (i == wrong) for i, value in enumerate(right)]
        assert not problem.accuracy(
            Bound(lambda numbers=numbers: _transformed(x, y, *numbers))
        ).good
    for _ in range(2):
        assert problem.accuracy(Bound(lambda: _transformed(x, y, *right))).good


def test_both_outputs_of_axpydot_are_judged(host_bench, monkeypatch):
    monkeypatch.setattr("tileblas.lab.problems._CHUNK", 100)
    problem = Problem(Case("axpydot", (1001,), "float32"), host_bench.place)
    w, v, u, z = (problem.operands[name] for name in "wvuz")
    assert z is w

    def call(alpha=0.5, error=0):
        z[:] = w - np.float32(alpha) * v
        return z.astype(np.float64) @ u.astype(np.float64) + error

    assert problem.accuracy(Bound(call)).good
    assert problem.accuracy(Bound(call)).good  # w has become another since
    assert not problem.accuracy(Bound(lambda: call(0.501))).good
    assert not problem.accuracy(Bound(lambda: call(error=1))).good


def test_a_copy_is_exact(host_bench):
    problem = Problem(Case("copy", (1001,), "float32"), host_bench.place)
    x, y = (problem.operands[name] for name in "xy")
    assert not problem.accuracy(Bound(lambda: np.multiply(x, 1 + 1e-7, out=y))).good
    assert problem.accuracy(Bound(lambda: np.copyto(y, x))).error == 0


@pytest.mark.parametrize(
    "case",
    [
        *(Case("asum", (3000,), dtype) for dtype in ("float16", "float64", "complex64")),
        *(Case("iamax", (3000,), dtype) for dtype in ("bfloat16", "float32", "complex128")),
        *(Case("rot", (3000,), dtype) for dtype in ("float16", "float64", "complex64")),
        *(Case(name, (3000,), "complex64") for name in ("copy", "swap", "axpby", "axpydot")),
        Case("iamin", (3000,), "float64"),
        Case("rotm", (3000,), "float32"),
        Case("dsdot", (3000,), "float32"),
        Case("sdsdot", (3000,), "float32"),
    ],
    ids=str,
)
def test_every_routine_on_vectors_is_measured(case, host_bench):
    row = measure(case, host_bench, STANDARD)
    assert row.good
    assert row.unit == "GB/s"
    lacking = case.dtype in ("float16", "bfloat16") or case.routine in ("iamin", "dsdot", "sdsdot")
    assert bool(row.rival) != lacking
    assert lacking or row.rival_accuracy.good


@pytest.mark.parametrize(
    "case",
    [
        Case("trsv", (60,), "float64", "LTN", "row"),
        Case("gbmv", (60, 50, 6), "complex64", "T", "col"),
        Case("hpr2", (60,), "complex128", "U"),
        Case("skewsymv", (60,), "float32", "L", "col"),
        Case("gemvt", (60, 50), "float64", "T", "col"),
    ],
    ids=str,
)
def test_routines_on_matrices_are_measured(case, host_bench):
    with tileblas.backend("cpu"):
        row = measure(case, host_bench, STANDARD)
    assert row.good
    assert row.unit == "GB/s"
    assert row.roof_share == pytest.approx(least_seconds(case, host_bench.roofs) / 1e-3)
    assert bool(row.rival) == (case.routine != "skewsymv")
    assert row.rival_accuracy is None or row.rival_accuracy.good
    values = record(row)
    assert (values["layout"], values["trans"]) == (case.layout, case.trans)


def test_the_rival_column_tells_of_a_stand_in(host_bench, monkeypatch):
    case = Case("gemv", (9, 14), "complex64", "C", "row")
    problem = Problem(case, host_bench.place)
    monkeypatch.setattr(tileblas, "gemv", lambda a, x, y, trans: np.matmul(a.conj().T, x, out=y))
    assert problem.accuracy(problem.bind()).good
    row = measure(case, host_bench, STANDARD)
    assert row.rival.endswith(", gemm of one column")
    assert row.rival_accuracy.good
