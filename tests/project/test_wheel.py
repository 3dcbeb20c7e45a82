"""The wheel is complete, and works in a clean environment from another folder."""

import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow


def run(*command, cwd: Path) -> str:
    """Output of a command that must succeed, free of the settings of this process."""
    ours = ("PYTHONPATH", "TILEBLAS_BACKEND", "TRITON_INTERPRET")
    clean = {name: value for name, value in os.environ.items() if name not in ours}
    done = subprocess.run(
        command, cwd=cwd, env=clean, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", folder, ROOT, cwd=folder)
    return next(folder.glob("tileblas-*.whl"))


@pytest.fixture(scope="module")
def programs(wheel, tmp_path_factory) -> Path:
    """The folder of the programs of an environment with the wheel and its `lab` extra only."""
    folder = tmp_path_factory.mktemp("clean")
    run(sys.executable, "-m", "venv", folder, cwd=folder)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    pins = ROOT / "constraints" / "pinned.txt"
    run(programs / "pip", "install", f"{wheel}[lab]", "--constraint", pins, cwd=folder)
    return programs


def test_wheel_holds_every_file_of_the_package(wheel):
    source = ROOT / "src"
    files = {
        path.relative_to(source).as_posix()
        for path in (source / "tileblas").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert files <= set(ZipFile(wheel).namelist())
    assert "tileblas/py.typed" in files


def test_check_passes_and_names_the_absent_backends(programs, tmp_path):
    said = run(programs / "tileblas", "check", "dot", "--backend", "all", cwd=tmp_path)
    for backend in ("cuda", "interpret"):
        assert any(backend in line and "skipped" in line for line in said.splitlines()), said


def test_tuning_tables_are_found(programs, tmp_path):
    code = "from tileblas.tuning.table import table; print(table('sm_90').arch)"
    assert run(programs / "python", "-c", code, cwd=tmp_path).strip() == "sm_90"
