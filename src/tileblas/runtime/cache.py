"""Disk cache of compiled kernels. A hit imports neither triton nor the kernels.

One file holds one variant: a line with the SHA-256 of the rest, a line of JSON (the manifest: entry
name, shared memory, threads, parameters), then the cubin. Files appear by an atomic rename, so
readers and writers of any number of threads and processes need no lock; what a checksum refutes is
thrown away and compiled again.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import threading
import time
import warnings
from pathlib import Path

from tileblas.core.versions import triton_version
from tileblas.runtime import log
from tileblas.runtime.compile import Compiled, compile_variant
from tileblas.runtime.sources import KERNELS, Kernels
from tileblas.runtime.variant import Variant

FORMAT = "tileblas cubin 1"

# Variables that change the machine code Triton emits, or the tool that emits it.
_CODE_VARIABLES = (
    "DISABLE_LLVM_OPT",
    "DISABLE_MMA_V3",
    "DISABLE_MMA_V5",
    "DISABLE_PTXAS_OPT",
    "PTXAS_OPTIONS",
    "TRITON_DISABLE_LINE_INFO",
    "TRITON_LIBDEVICE_PATH",
    "TRITON_OVERRIDE_ARCH",
)
_PTXAS_VARIABLES = ("TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH")

_memory: dict[str, Compiled] = {}
_miss = threading.RLock()
_warned = False


def fetch(variant: Variant, kernels: Kernels = KERNELS) -> Compiled:
    """The compiled variant, from memory, else from disk, else from the compiler."""
    name = key(variant, kernels)
    compiled = _memory.get(name)
    if compiled is None:
        with _miss:
            compiled = _memory.get(name) or _load(name) or _compile(name, variant, kernels)
            _memory[name] = compiled
    return compiled


def on_disk(variant: Variant, kernels: Kernels = KERNELS) -> bool:
    """Whether the cache folder holds a sound entry for the variant."""
    return _load(key(variant, kernels)) is not None


def _compile(name: str, variant: Variant, kernels: Kernels) -> Compiled:
    start = time.perf_counter()
    compiled = compile_variant(variant, kernels)
    log.once("compile", f"{variant} in {time.perf_counter() - start:.2f} s")
    _store(name, compiled)
    return compiled


def key(variant: Variant, kernels: Kernels = KERNELS) -> str:
    """SHA-256 of everything that decides the machine code; the Python version is not part of it."""
    parts = (FORMAT, variant, variant.options, kernels.digest(), triton_version(), _tools())
    return hashlib.sha256(repr(parts).encode()).hexdigest()


@functools.cache
def _tools() -> tuple[tuple[str, str], ...]:
    """The set variables that change the code; a foreign ptxas by path, size and time of change."""
    found = [(name, os.environ[name]) for name in _CODE_VARIABLES if name in os.environ]
    for name in _PTXAS_VARIABLES:
        if name in os.environ:
            found.append((name, _identity(Path(os.environ[name]))))
    return tuple(found)


def _identity(path: Path) -> str:
    try:
        status = path.stat()
    except OSError:
        return str(path)
    return f"{path} {status.st_size} {status.st_mtime_ns}"


def folder() -> Path:
    """The cache folder: TILEBLAS_CACHE_DIR, else the user's cache folder of this platform."""
    chosen = os.environ.get("TILEBLAS_CACHE_DIR")
    if chosen:
        return Path(chosen)
    import platformdirs

    return Path(platformdirs.user_cache_dir("tileblas"))


def _path(name: str) -> Path:
    return folder() / f"{name}.cubin"


def _load(name: str) -> Compiled | None:
    path = _path(name)
    try:
        data = path.read_bytes()
    except OSError:
        return None
    try:
        return decode(data)
    except ValueError:
        _discard(path)
        return None


def _discard(path: Path) -> None:
    with contextlib.suppress(OSError):  # another process was first, or the folder is read-only
        path.unlink()


def _store(name: str, compiled: Compiled) -> None:
    """Write the entry beside its place and rename it; a folder that refuses costs one warning."""
    try:
        path = _path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{os.urandom(8).hex()}")
        try:
            temporary.write_bytes(encode(compiled))
            os.replace(temporary, path)
        except BaseException:
            _discard(temporary)
            raise
    except OSError as error:
        _warn(error)


def _warn(error: OSError) -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            f"tileblas cannot write its kernel cache, so every process compiles anew: {error}; "
            "set TILEBLAS_CACHE_DIR to a writable folder",
            RuntimeWarning,
            stacklevel=2,
        )


def encode(compiled: Compiled) -> bytes:
    """One cache entry as bytes: checksum, manifest, cubin."""
    manifest = {
        "format": FORMAT,
        "kernel": compiled.kernel,
        "entry": compiled.entry,
        "target": compiled.target,
        "shared": compiled.shared,
        "threads": compiled.threads,
        "parameters": compiled.parameters,
    }
    body = json.dumps(manifest).encode() + b"\n" + compiled.cubin
    return hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def decode(data: bytes) -> Compiled:
    """The entry in `data`; ValueError where it is truncated, damaged or of another format."""
    checksum, _, body = data.partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != checksum:
        raise ValueError("checksum does not match")
    manifest, _, cubin = body.partition(b"\n")
    fields = json.loads(manifest)
    if fields.pop("format", None) != FORMAT:
        raise ValueError("another format")
    fields["parameters"] = tuple(fields["parameters"])
    return Compiled(cubin=cubin, **fields)
