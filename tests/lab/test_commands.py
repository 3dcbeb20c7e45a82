"""The command line: what it prints, what it refuses, and its exit codes."""

import sys
from pathlib import Path

import pytest

from tileblas import cli
from tileblas.check.runner import Report, Row
from tileblas.lab import bench as benches
from tileblas.lab import cases, checks, demo, info, lists
from tileblas.routines.registry import families


def small_bench(host_bench):
    return lambda backend="auto", arrays="auto": host_bench


def test_info_names_versions_backend_cache_and_table(command):
    code, said = command("info")
    assert code == 0
    for name in ("tileblas", "NumPy", "BLAS", "Triton", "GPU", "backend", "cache", "tuning table"):
        assert name in said


def test_info_warns_of_slow_double_precision():
    assert [info._is_slow(v) for v in ("", "3.6.0", "3.7.1", "3.8.0", "3.10.0")] == [
        *(False, False, False, True, True)
    ]


def test_info_tells_why_a_backend_was_chosen(monkeypatch):
    monkeypatch.setattr(info.settings, "chosen_backend", lambda: "cpu")
    monkeypatch.setenv("TILEBLAS_BACKEND", "cpu")
    assert "TILEBLAS_BACKEND=cpu" in info._backend().note


@pytest.mark.parametrize(
    "words",
    [
        ("check", "geem"),
        ("check", "dot", "--backend", "tpu"),
        ("check", "dot", "--grid", "chess"),
        ("check", "dot", "--arrays", "lists"),
        ("bench", "geem"),
        ("bench", "dot", "--sizes", "many"),
        ("bench", "dot", "--dtypes", "int8"),
        ("bench", "dot", "--list", "wish"),
        ("bench", "gemm", "--trans", "NX", "--backend", "cpu"),
        ("bench", "dot", "--backend", "interpret"),
        ("bench", "dot", "--compare", "no/such/file.csv"),
        ("compile", "geem"),
        ("compile", "dot", "--target", "sm_12"),
    ],
)
def test_what_cannot_be_meant_is_refused(command, words):
    code, said = command(*words)
    assert code == 2
    assert said.startswith("tileblas: ")


def test_unknown_routines_are_answered_with_the_known_ones(command):
    _, said = command("check", "geem")
    assert "geem" in said
    assert all(name in said for name in families())


@pytest.fixture
def backends(monkeypatch):
    """Only the CPU backend is here; `backends["report"]` is what its check finds."""
    found = {"report": Report("cpu", "reduced", [Row("dot", "float32", 7, [], 0.25)])}
    monkeypatch.setattr(
        checks, "why_absent", lambda name: None if name == "cpu" else f"no {name} here"
    )
    monkeypatch.setattr(
        checks, "check", lambda routines, name, grid, arrays, progress: found["report"]
    )
    return found


def test_check_passes_and_names_what_it_skips(command, backends):
    code, said = command("check", "dot")
    assert code == 0
    assert "7, 0.25" in said
    for name in ("interpret", "cuda"):
        assert f"{name}: skipped: no {name} here" in said


def test_check_fails_with_the_failing_cases(command, backends):
    failures = [f"case {i}: wrong" for i in range(12)]
    backends["report"] = Report("cpu", "reduced", [Row("dot", "float32", 20, failures, 9.0)])
    code, said = command("check", "dot")
    assert code == 1
    assert "12 of 20 FAILED" in said
    assert "case 0: wrong" in said
    assert "... and 2 more" in said


def test_a_backend_asked_for_by_name_must_be_there(command, backends):
    assert command("check", "dot", "--backend", "cuda")[0] == 1


def test_bench_prints_a_table_and_writes_a_csv(command, host_bench, monkeypatch, tmp_path):
    monkeypatch.setattr(benches, "open_bench", small_bench(host_bench))
    words = ("bench", "dot", "gemm", "--sizes", "64", "--dtypes", "s,d")
    path = tmp_path / "first.csv"
    code, said = command(*words, "--csv", str(path))
    assert code == 0
    for word in ("float32", "float64", "col NN", "1.00 ms", "SciPy", "1.00x", "some CPU"):
        assert word in said
    assert len(path.read_text().splitlines()) == 5
    code, said = command(*words, "--compare", str(path), "--csv", str(tmp_path))
    assert code == 0
    assert "vs earlier" in said
    assert len(list(tmp_path.glob("bench-some-cpu-*.csv"))) == 1


def test_bench_prints_means_where_several_cases_are_alike(command, host_bench, monkeypatch):
    monkeypatch.setattr(benches, "open_bench", small_bench(host_bench))
    _, said = command("bench", "dot", "--sizes", "64,65", "--dtypes", "s")
    assert "Geometric means" in said
    assert "vs SciPy" in said
    _, said = command("bench", "dot", "--sizes", "64", "--dtypes", "s")
    assert "Geometric means" not in said


def test_bench_leaves_out_what_takes_too_long(command, host_bench, monkeypatch):
    monkeypatch.setattr(benches, "open_bench", small_bench(host_bench))
    monkeypatch.setitem(
        lists.LISTS,
        "default",
        (cases.Rows("gemm", cases.squares(8, 9000), ("float32",), ("NN",), ("col",)),),
    )
    code, said = command("bench")
    assert code == 0
    assert "left out, over 1 s a call (name --sizes): gemm 9000 float32 col NN" in said


def test_bench_fails_on_a_wrong_result(command, host_bench, monkeypatch):
    monkeypatch.setattr(benches, "open_bench", small_bench(host_bench))
    monkeypatch.setattr("tileblas.dot", lambda x, y: x @ y + 1)
    code, said = command("bench", "dot", "--sizes", "100", "--dtypes", "d")
    assert code == 1
    assert "WRONG" in said


def test_demo_shows_all_its_parts(command, host_bench, monkeypatch):
    pytest.importorskip("sklearn")
    monkeypatch.setattr(benches, "open_bench", small_bench(host_bench))
    small = (cases.Rows("dot", ((1000,),), ("float32",)),)
    monkeypatch.setitem(lists.LISTS, "demo", small)
    monkeypatch.setattr(demo.checks, "why_absent", lambda name: "not today")
    code, said = command("demo")
    assert code == 0
    for word in ("rival", "digits", "NumPy's SVD", "agrees with", "skipped: not today", "Done in"):
        assert word in said


def test_demo_says_which_extra_it_needs(command, host_bench, monkeypatch):
    monkeypatch.setattr(benches, "open_bench", small_bench(host_bench))
    monkeypatch.setitem(lists.LISTS, "demo", ())
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    code, said = command("demo")
    assert code == 2
    assert "tileblas[demo]" in said


@pytest.mark.compile
def test_compile_fills_the_cache_once(command, monkeypatch, tmp_path):
    monkeypatch.setenv("TILEBLAS_CACHE_DIR", str(tmp_path))
    words = ("compile", "dotc", "--target", "sm_90", "--dtypes", "s")
    code, said = command(*words)
    assert code == 0
    count = len(list(tmp_path.glob("*.cubin")))
    assert count > 0
    assert f"{count} variants of dot: {count} compiled" in said
    _, said = command(*words)
    assert f"{count} variants of dot: 0 compiled" in said


@pytest.mark.parametrize("package", ["typer", "rich"])
def test_a_missing_package_is_answered_with_its_extra(package, monkeypatch, capsys):
    monkeypatch.delitem(sys.modules, "tileblas.lab.commands", raising=False)
    for name in [n for n in sys.modules if n.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SystemExit) as exit_code:
        cli.main()
    assert exit_code.value.code == 2
    said = capsys.readouterr().err
    assert package in said
    assert "tileblas[lab]" in said


def test_other_import_errors_are_not_hidden(monkeypatch):
    monkeypatch.setitem(sys.modules, "tileblas.lab.commands", None)
    with pytest.raises(ModuleNotFoundError, match=r"tileblas\.lab\.commands"):
        cli.main()


def test_the_package_runs_as_a_program():
    assert "main()" in (Path(cli.__file__).parent / "__main__.py").read_text()
