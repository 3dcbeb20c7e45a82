"""The disk cache: keys, hits without the compiler, races, corruption, unwritable folders."""

import concurrent.futures
import dataclasses
import importlib.metadata
import multiprocessing
import os
import subprocess
import sys
import threading
import warnings

import pytest

from tileblas.runtime import cache, sources
from tileblas.runtime.compile import Compiled
from tileblas.runtime.sources import Kernels
from tileblas.runtime.target import Target
from tileblas.runtime.variant import Variant, variant_of

VARIANT = Variant(
    kernel="scale.scale_kernel",
    arguments=(("x", "*fp32"), ("n", "i64")),
    divisors=(("x", 16),),
    constants=(("BLOCK", 1024), ("UNIT", True), ("NONE", None)),
    num_warps=4,
    num_stages=2,
    max_registers=0,
    fuse=True,
    target=Target(90),
)
COMPILED = Compiled(
    kernel="scale.scale_kernel",
    entry="scale_kernel",
    target="sm_90",
    shared=49153,
    threads=128,
    parameters=("*fp32", "i64"),
    cubin=b"\x7fELF\n\0code\n",
)


@pytest.fixture
def compilations(monkeypatch):
    """Replaces the compiler; the variants it was asked for."""
    asked = []

    def compile_variant(variant, kernels):
        asked.append(variant)
        return COMPILED

    monkeypatch.setattr(cache, "compile_variant", compile_variant)
    return asked


def forget():
    cache._memory.clear()


def test_a_variant_is_compiled_once_in_a_process(compilations, kernels):
    assert cache.fetch(VARIANT, kernels) is cache.fetch(VARIANT, kernels)
    assert len(compilations) == 1


def test_a_second_process_reads_it_from_disk(compilations, kernels):
    cache.fetch(VARIANT, kernels)
    forget()
    assert cache.fetch(VARIANT, kernels) == COMPILED
    assert len(compilations) == 1


def test_threads_compile_once(compilations, kernels):
    start = threading.Barrier(8)

    def fetch():
        start.wait()
        return cache.fetch(VARIANT, kernels)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        found = [job.result() for job in [pool.submit(fetch) for _ in range(8)]]
    assert all(item is found[0] for item in found)
    assert len(compilations) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"kernel": "scale.copy_kernel"},
        {"arguments": (("x", "*fp64"), ("n", "i64"))},
        {"arguments": (("x", "*fp32"), ("n", "i32"))},
        {"divisors": ()},
        {"constants": (("BLOCK", 512), ("UNIT", True), ("NONE", None))},
        {"constants": (("BLOCK", 1024), ("UNIT", 1), ("NONE", None))},
        {"num_warps": 8},
        {"num_stages": 3},
        {"max_registers": 255},
        {"fuse": False},
        {"target": Target(80)},
    ],
    ids=str,
)
def test_key_changes_with(change, kernels):
    assert cache.key(dataclasses.replace(VARIANT, **change), kernels) != cache.key(VARIANT, kernels)


def test_key_changes_with_any_source_of_the_folder(kernels, monkeypatch):
    before = cache.key(VARIANT, kernels)
    (kernels.folder / "helper.py").write_text("WIDTH = 1\n")
    assert cache.key(VARIANT, kernels) == before, "the sources are read once in a process"
    sources._digest.cache_clear()
    assert cache.key(VARIANT, kernels) != before


def test_key_changes_with_triton_and_ptxas(kernels, monkeypatch, tmp_path):
    before = cache.key(VARIANT, kernels)
    monkeypatch.setattr(cache, "triton_version", lambda: "3.9.9")
    other = cache.key(VARIANT, kernels)
    cache._tools.cache_clear()
    monkeypatch.setenv("TRITON_PTXAS_PATH", str(tmp_path / "ptxas"))
    absent = cache.key(VARIANT, kernels)
    cache._tools.cache_clear()
    (tmp_path / "ptxas").write_text("a tool")
    present = cache.key(VARIANT, kernels)
    cache._tools.cache_clear()
    assert len({before, other, absent, present}) == 4


def test_key_is_the_same_in_another_process(kernels):
    program = f"""
from pathlib import Path
from tileblas.runtime import cache
from tileblas.runtime.sources import Kernels
from tileblas.runtime.target import Target
from tileblas.runtime.variant import Variant
print(cache.key({VARIANT!r}, Kernels({kernels.package!r}, Path({str(kernels.folder)!r}))))
"""
    assert run(program).strip() == cache.key(VARIANT, kernels)


def test_entry_round_trip():
    assert cache.decode(cache.encode(COMPILED)) == COMPILED


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:40],
        lambda data: data[:-1],
        lambda data: data.replace(b"49153", b"49154"),
        lambda data: data[:-3] + b"\xff" + data[-2:],
        lambda data: b"\0" * len(data),
    ],
    ids=["empty", "head", "truncated", "manifest", "code", "zeros"],
)
def test_a_damaged_entry_is_compiled_again_and_mended(compilations, kernels, damage):
    cache.fetch(VARIANT, kernels)
    path = cache._path(cache.key(VARIANT, kernels))
    sound = path.read_bytes()
    path.write_bytes(damage(sound))
    forget()
    assert not cache.on_disk(VARIANT, kernels)
    assert cache.fetch(VARIANT, kernels) == COMPILED
    assert len(compilations) == 2
    assert path.read_bytes() == sound
    assert cache.on_disk(VARIANT, kernels)


def test_an_entry_of_another_format_is_compiled_again(compilations, kernels, monkeypatch):
    name = cache.key(VARIANT, kernels)
    monkeypatch.setattr(cache, "FORMAT", "tileblas cubin 0")
    cache._store(name, COMPILED)
    monkeypatch.undo()
    assert cache._load(name) is None


def test_only_finished_entries_lie_in_the_folder(compilations, kernels, cache_folder, monkeypatch):
    cache.fetch(VARIANT, kernels)
    monkeypatch.setattr(os, "replace", fail_to_rename)
    monkeypatch.setattr(cache, "_memory", {})
    other = dataclasses.replace(VARIANT, num_warps=8)
    with pytest.warns(RuntimeWarning, match="cannot write its kernel cache"):
        cache.fetch(other, kernels)
    assert [path.name for path in cache_folder.iterdir()] == [
        f"{cache.key(VARIANT, kernels)}.cubin"
    ]


def fail_to_rename(source, target):
    raise OSError("no rename today")


def test_a_folder_that_cannot_be_written_warns_once(compilations, kernels, tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("TILEBLAS_CACHE_DIR", str(blocked / "cache"))
    with pytest.warns(RuntimeWarning, match="TILEBLAS_CACHE_DIR"):
        assert cache.fetch(VARIANT, kernels) == COMPILED
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.fetch(dataclasses.replace(VARIANT, num_warps=8), kernels)
    assert len(compilations) == 2


def test_default_folder_is_the_platforms(monkeypatch):
    monkeypatch.delenv("TILEBLAS_CACHE_DIR")
    assert "tileblas" in cache.folder().parts


def test_triton_version_needs_no_triton(monkeypatch):
    def absent(name):
        raise importlib.metadata.PackageNotFoundError(name)

    cache.triton_version.cache_clear()
    monkeypatch.setattr(importlib.metadata, "version", absent)
    assert cache.triton_version() == "none"
    cache.triton_version.cache_clear()


def write_many(folder: str, seed: int) -> int:
    """One of several processes that write and read the same entries; the number of misreadings."""
    os.environ["TILEBLAS_CACHE_DIR"] = folder
    wrong = 0
    for i in range(200):
        name = f"{i % 5}"
        compiled = dataclasses.replace(COMPILED, cubin=bytes([i % 5]) * 5000)
        cache._store(name, compiled)
        found = cache._load(name)
        wrong += found is not None and found != compiled
        if i % 17 == seed:
            cache._path(name).write_bytes(b"damage")
    return wrong


def test_processes_race(tmp_path):
    spawn = multiprocessing.get_context("spawn")
    with spawn.Pool(4) as pool:
        jobs = [pool.apply_async(write_many, (str(tmp_path), seed)) for seed in range(4)]
        assert [job.get(timeout=60) for job in jobs] == [0] * 4
    assert {path.name for path in tmp_path.iterdir()} <= {f"{i}.cubin" for i in range(5)}


def run(program: str) -> str:
    """Run a program in a fresh Python that finds the package; its output."""
    environment = dict(os.environ, PYTHONPATH=":".join(sys.path))
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.compile
def test_a_hit_imports_neither_triton_nor_kernels(scale, kernels):
    pytest.importorskip("triton")
    variant = variant_of(scale, Target(90))
    compiled = cache.fetch(variant, kernels)
    program = f"""
import sys
from pathlib import Path
from tileblas.runtime import cache
from tileblas.runtime.sources import Kernels
from tileblas.runtime.target import Target
from tileblas.runtime.variant import Variant
kernels = Kernels({kernels.package!r}, Path({str(kernels.folder)!r}))
compiled = cache.fetch({variant!r}, kernels)
forbidden = ("triton", "cuda", "torch", "tileblas.kernels", {kernels.package!r})
print(compiled.entry, len(compiled.cubin), [m for m in sys.modules if m.startswith(forbidden)])
"""
    assert run(program).split() == [compiled.entry, str(len(compiled.cubin)), "[]"]


def test_shipped_kernels_are_found_and_hashed():
    assert isinstance(sources.KERNELS, Kernels)
    assert (sources.KERNELS.folder / "__init__.py").is_file()
    assert len(sources.KERNELS.digest()) == 64
