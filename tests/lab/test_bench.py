"""A bench measures, checks and compares; its CSV rows are complete in themselves."""

import csv
import math

import pytest

import tileblas
from tileblas.lab import bench as benches
from tileblas.lab.bench import least_seconds, measure, open_bench, run, split_by_time
from tileblas.lab.cases import Case, listed
from tileblas.lab.problems import Problem, work
from tileblas.lab.results import MEASURED, CsvFile, read_earlier, record
from tileblas.lab.rivals import Bound, RivalError, Scipy
from tileblas.lab.timing import STANDARD

DOT = Case("dot", (3000,), "float64")
AXPY = Case("axpy", (3000,), "complex64")
GEMM = Case("gemm", (40, 30, 50), "float32", "TN", "row")
HALF = Case("gemm", (40, 30, 50), "bfloat16", "NT", "col")


def test_work_comes_from_the_spec():
    assert work(DOT) == (2 * 3000, 8 * (2 * 3000 + 1))
    assert work(AXPY) == (8 * 3000, 8 * 3 * 3000)
    flops, size = work(GEMM)
    assert flops == 2 * 40 * 30 * 50
    assert size == 4 * (40 * 50 + 50 * 30 + 40 * 30)  # beta = 0: c is written, not read


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
    assert [values[name] for name in ("rival", "rival_median_us", "ratio", "rival_error")] == [
        ""
    ] * 4
    assert values["within_bar"] == "True"


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
    assert record(rows[0])["median_us"] == ""


def test_csv_rows_hold_the_environment_and_the_protocol(host_bench, tmp_path):
    path = tmp_path / "new folder" / "bench.csv"
    with CsvFile(path, host_bench.common) as file:
        for row in run([DOT, GEMM], host_bench):
            file.write(row)
            assert "float" in path.read_text()  # written at once
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert set(rows[0]) == {*MEASURED, "protocol", "date", "device", "numpy"}
    assert [row["routine"] for row in rows] == ["dot", "gemm"]
    assert rows[1]["trans"] == "TN"
    assert {row["device"] for row in rows} == {"some CPU"}
    assert {row["protocol"] for row in rows} == {"fake clock"}
    assert float(rows[0]["median_us"]) == 1000.0


def test_an_earlier_file_gives_ratios(host_bench, tmp_path):
    path = tmp_path / "old.csv"
    with CsvFile(path, host_bench.common) as file:
        file.write(measure(DOT, host_bench, STANDARD))
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


def test_cases_that_would_take_long_are_set_aside(given_roofs):
    short, long = split_by_time(listed("default", ["gemm"]), given_roofs, 1.0)
    assert {case.dims[0] for case in long} >= {8192}
    assert {case.dims[0] for case in short} >= {256, 2048}


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
def test_the_reference_of_a_long_dot_is_summed_in_pieces(dtype, host_bench, monkeypatch):
    case = Case("dotc", (10_001,), dtype)
    whole = Problem(case, host_bench.place)._dot_reference()
    monkeypatch.setattr("tileblas.lab.problems._CHUNK", 999)
    pieces = Problem(case, host_bench.place)._dot_reference()
    assert pieces.value + pieces.tail == pytest.approx(whole.value + whole.tail, rel=1e-14)
    assert pieces.gauge == pytest.approx(whole.gauge)
    assert pieces.terms == whole.terms == 10_001
