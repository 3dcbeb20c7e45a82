"""The bench of staging: what is measured and recorded, and what its tables say."""

import contextlib
import math

import pytest
from rich.console import Console
from typer.testing import CliRunner

import tileblas
from tileblas.lab import bench as benches
from tileblas.lab import digits, lists, staged, tables, terminal
from tileblas.lab.cases import Case
from tileblas.lab.commands import app
from tileblas.lab.places import HostPlace
from tileblas.lab.problems import Problem
from tileblas.lab.results import CsvFile
from tileblas.lab.staged import CopyRow, Row, Stages
from tileblas.lab.timing import Repeats
from tileblas.routines.registry import ROUTINES
from tileblas.tuning.reckoning import Reckoning

ONCE = Repeats(passes=1, fewest=1, most=1)
CASES = (
    Case("dot", (2000,), "float32"),
    Case("nrm2", (2000,), "complex64"),
    Case("scal", (2000,), "float64"),
    Case("axpy", (2000,), "bfloat16"),
    Case("asum", (2000,), "complex64"),
    Case("iamax", (2000,), "complex64"),
    Case("copy", (2000,), "float32"),
    Case("swap", (2000,), "float64"),
    Case("rotm", (2000,), "float64"),
    Case("axpydot", (2000,), "float32"),
    Case("gemv", (60, 50), "float64", "N", "col"),
    Case("gbmv", (60, 60, 4), "float64", "T", "col"),
    Case("trsv", (60,), "complex64", "LCN", "col"),
    Case("hpr", (60,), "complex64", "L"),
    Case("gemm", (64, 63, 62), "float32", "TN", "row"),
)


def row(size, staged, cpu, reckoned_cuda=1.0, reckoned_cpu=2.0, work="gemm", **more):
    reckoning = Reckoning(reckoned_cpu, reckoned_cuda, 0.0, 0.0, 0.0)
    stages = Stages(1e-6, 2e-6, 3e-6, 4e-6)
    return Row(work, size, "float32", "NN", staged, 1e-6, cpu, stages, reckoning, **more)


@pytest.fixture
def bench(fake_clock, monkeypatch):
    """A bench whose GPU is the CPU backend, and whose stages take a microsecond each."""
    monkeypatch.setattr(tileblas, "backend", lambda name: contextlib.nullcontext())
    monkeypatch.setattr(staged, "stage_seconds", lambda *call: Stages(1e-6, 1e-6, 1e-6, 1e-6))
    return staged.Bench(HostPlace(), fake_clock(), {"device": "some GPU"})


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_case_is_checked_and_timed_in_every_way(bench, case):
    found = staged.measure(case, bench, ONCE)
    assert found.good
    assert min(found.staged, found.resident, found.cpu) > 0
    assert (found.work, found.size, found.dtype) == (case.routine, case.size, case.dtype)
    assert found.stages == Stages(1e-6, 1e-6, 1e-6, 1e-6)
    assert found.reckoning is not None


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_reckoning_counts_what_is_sent(case, monkeypatch):
    asked = []
    monkeypatch.setattr(staged.select, "reckon", lambda work, *machine: asked.append(work))
    problem = Problem(case, HostPlace())
    staged.reckoned(*staged.described(problem))
    (work,) = asked
    spec, arrays = problem.spec, problem.operands
    unread = spec.output_name if "beta" in spec.scalars else ""  # beta = 0
    read = [arg.name for arg in spec.arguments if arg.is_read and arg.name != unread]
    assert sorted(work.sent) == sorted(arrays[name].nbytes for name in read)
    written = [spec.operands[index] for index in spec.outputs]
    sizes = [
        arrays[arg.name].nbytes if arg.name in arrays else arg.dtype(problem.dtype).itemsize
        for arg in written
    ]
    assert work.received == sum(sizes)
    assert work.routine == ROUTINES[case.routine].family


def test_what_cannot_run_says_why(bench, monkeypatch):
    monkeypatch.setattr(staged, "copies", lambda repeats: iter(()))
    monkeypatch.setattr(staged, "stage_seconds", lambda *call: 1 / 0)
    (found,) = staged.run([Case("dot", (10,), "complex64")], bench, ONCE)
    assert found.problem.startswith("ZeroDivisionError")
    assert not found.good


def test_the_power_iteration_is_timed_by_product_and_as_a_whole(bench):
    pytest.importorskip("sklearn")
    *products, whole = staged.power_iteration(bench, "float32", ONCE)
    assert [one.size for one in products] == ["1797x24x64", "64x24x1797", "24x24x64", "64x24x24"]
    assert all(one.good for one in products)
    assert (whole.stages, whole.form) == (None, "whole")
    assert whole.staged > 0


def test_the_products_are_those_of_the_iteration(monkeypatch):
    """Every product of the demo's loop is one that is measured."""
    pytest.importorskip("sklearn")
    seen = set()

    def gemm(a, b, *, trans_a="N", trans_b="N"):
        left, right = (m.T if t == "T" else m for m, t in ((a, trans_a), (b, trans_b)))
        seen.add((left.shape[0], right.shape[1], left.shape[1], trans_a + trans_b))
        return left @ right

    monkeypatch.setattr(digits.tb, "gemm", gemm)
    digits.iterate(digits.load_images("float32"), HostPlace())
    assert seen == {
        *((1797, 24, 64, "NN"), (64, 24, 1797, "TN"), (24, 24, 64, "TN"), (64, 24, 24, "NT"))
    }


def test_the_crossover_is_where_no_larger_size_loses():
    rows = [
        row("64", 2.0, 1.0, reckoned_cuda=3.0),
        row("128", 1.0, 2.0, reckoned_cuda=3.0),
        row("256", 2.0, 1.0),
        row("512", 1.0, 2.0),
        row("1024", 1.0, 2.0),
        row("2^20", 2.0, 1.0, reckoned_cuda=3.0, work="dot"),
        row("24x24x64", 1.0, 2.0, work="power iteration"),
    ]
    gemm, dot = staged.crossovers(rows)
    assert (gemm.work, gemm.measured, gemm.reckoned) == ("gemm", "512", "256")
    assert (dot.work, dot.measured, dot.reckoned) == ("dot", "", "")


def test_a_row_without_times_is_no_win():
    rows = [row("64", 1.0, 2.0), Row("gemm", "128", "float32", "NN", problem="out of memory")]
    (found,) = staged.crossovers(rows)
    assert found.measured == "64"


def test_calls_and_copies_share_their_columns(tmp_path):
    copy = CopyRow("to the device", 1 << 20, 1e-3, 3e-3, 3.0)
    call = row("512", 1e-3, 2e-3)
    path = tmp_path / "staged.csv"
    with CsvFile(path, {"device": "some GPU"}) as file:
        for one in (copy, call, Row("gemm", "1", "float32", "NN", problem="no")):
            file.write(staged.record(one))
    head, first, second, third = (line.split(",") for line in path.read_text().splitlines())
    first, second, third = (dict(zip(head, cells, strict=True)) for cells in (first, second, third))
    assert (first["staged_us"], first["plain_us"], first["plain_ratio"]) == ("1000", "3000", "3")
    assert (second["allocation_us"], second["kernel_us"], second["cpu_us"]) == ("1", "3", "2000")
    assert (third["staged_us"], third["problem"]) == ("", "no")


def test_the_tables_show_times_and_ratios():
    rows = [row("512", 1e-3, 2e-3), Row("power iteration", "8x8", "float32", "whole", 1e-3)]
    copy = CopyRow("to the device", 1 << 30, 0.02, 0.16, 8.0)
    bench = staged.Bench(HostPlace(), None, {"device": "some GPU"})
    for width in (79, 200):
        console = Console(width=width, record=True, highlight=False)
        terminal.print_staged(console, rows, [copy], bench)
        said = console.export_text()
        for word in ("1.00 ms", "2.00 us", "2^30", "53.7 GB/s", "8.00x", "some GPU"):
            assert word in said
        assert ("2.00x" in said) == (width == 200)
    assert tables.staged_table(rows).row_count == 2


def test_the_list_holds_every_family():
    listed = lists.listed(staged.LIST)
    vectors = {"dot", "nrm2", "asum", "scal", "copy", "axpy", "swap"}
    assert {case.routine for case in listed} == vectors | {"gemv", "gemm"}
    sizes = [math.prod(case.dims) for case in listed if case.routine == "gemm"]
    assert sizes == sorted(set(sizes)) * 2


def test_described_problems_are_what_backends_get():
    spec, options, operands, scalars = staged.described(Problem(CASES[-1], HostPlace()))
    assert spec.name == "gemm"
    assert options == {"trans_a": "T", "trans_b": "N"}
    assert list(operands) == ["a", "b", "c"]
    assert (scalars["alpha"].kind, scalars["beta"].kind) == ("one", "zero")
    assert operands["c"].shape == (64, 63)


def test_without_a_gpu_the_command_says_so(monkeypatch):
    monkeypatch.setattr(benches.environment, "why_no_gpu", lambda: "no GPU today")
    found = CliRunner().invoke(app, ["bench", "gemm", "--staged"])
    assert (found.exit_code, "no GPU today" in found.output) == (2, True)


def test_the_command_measures_writes_and_prints(monkeypatch, tmp_path):
    bench = staged.Bench(HostPlace(), None, {"device": "some GPU"})
    rows = [CopyRow("to the device", 1 << 30, 0.02, 0.16, 8.0), row("512", 1e-3, 2e-3)]
    asked = []
    monkeypatch.setattr(staged, "open_bench", lambda arrays: bench)
    monkeypatch.setattr(staged, "run", lambda cases, bench: asked.extend(cases) or rows)
    monkeypatch.setattr(staged.Bench, "common", {"device": "some GPU"})
    words = ["bench", "gemm", "--staged", "--sizes", "512", "--csv", str(tmp_path)]
    found = CliRunner().invoke(app, words, env={"COLUMNS": "200"})
    assert found.exit_code == 0
    assert {case.size for case in asked} == {"512"}
    (path,) = tmp_path.glob("staged-some-gpu-*.csv")
    assert len(path.read_text().splitlines()) == 3
    assert "8.00x" in found.output
