"""A stand-in for cuda.bindings.driver on host memory, and a package of tiny kernels."""

from __future__ import annotations

import ctypes
import itertools
import sys
import textwrap
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.path.append(str(Path(__file__).parent))  # --import-mode=importlib puts no folder on it

from fake_gpu import gpu, stage  # noqa: F401

from tileblas.routines.launch import Argument, Launch
from tileblas.runtime import cache
from tileblas.runtime.driver import Driver
from tileblas.runtime.sources import Kernels

SUCCESS, OUT_OF_MEMORY, INVALID = 0, 2, 1

KERNELS = '''
    """Kernels that the tests of the runtime compile."""

    import triton
    import triton.language as tl


    @triton.jit
    def scale_kernel(x, y, n, x_inc, alpha, BLOCK: tl.constexpr):
        """y := alpha x"""
        i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + i, alpha * tl.load(x + i * x_inc, mask=i < n), mask=i < n)


    @triton.jit
    def copy_kernel(x, y, BLOCK: tl.constexpr):
        """y := x"""
        i = tl.arange(0, BLOCK)
        tl.store(y + i, tl.load(x + i))


    @triton.jit
    def scratch_kernel(x, BLOCK: tl.constexpr):
        """A kernel that makes a TMA descriptor in global scratch memory."""
        described = tl.make_tensor_descriptor(x, [BLOCK], [1], [BLOCK])
        described.store([0], tl.zeros([BLOCK], tl.float32))
'''


def _names(prefix: str, *names: str) -> SimpleNamespace:
    return SimpleNamespace(**{f"{prefix}_{name}": name for name in names})


class Handle:
    """A number as the bindings wrap it: equal to another only by int()."""

    def __init__(self, value: int) -> None:
        self._value = value

    def __int__(self) -> int:
        return self._value


class FakeCuda:
    """The functions of cuda.bindings.driver that the runtime calls, for `devices` devices."""

    CUdevice_attribute = _names(
        "CU_DEVICE_ATTRIBUTE",
        "COMPUTE_CAPABILITY_MAJOR",
        "COMPUTE_CAPABILITY_MINOR",
        "MULTIPROCESSOR_COUNT",
        "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN",
        "L2_CACHE_SIZE",
        "MEMORY_POOLS_SUPPORTED",
    )
    CUfunction_attribute = _names(
        "CU_FUNC_ATTRIBUTE", "NUM_REGS", "LOCAL_SIZE_BYTES", "MAX_DYNAMIC_SHARED_SIZE_BYTES"
    )
    CUpointer_attribute = _names("CU_POINTER_ATTRIBUTE", "DEVICE_ORDINAL")
    CUstreamCaptureMode = _names("CU_STREAM_CAPTURE_MODE", "RELAXED")
    CUevent_flags = SimpleNamespace(CU_EVENT_BLOCKING_SYNC=1, CU_EVENT_DISABLE_TIMING=2)
    CUstream_flags = SimpleNamespace(CU_STREAM_NON_BLOCKING=1)

    def __init__(self, devices: int = 2, memory: int = 1 << 24) -> None:
        self.devices, self.free_bytes = devices, memory
        self.pools = True
        self.shared_limit = 232448
        self.calls: list[tuple] = []
        self.captures: dict[int, int] = {}  # stream: id of the capture it takes part in
        self.failing: dict[str, int] = {}  # function: the code it returns
        self.blocks: dict[int, ctypes.Array] = {}
        self.pinned: list[ctypes.Array] = []
        self._freed: list[ctypes.Array] = []
        self.lazy = False  # copies wait in their stream until somebody waits for it
        self._waiting: dict[int, list[tuple[int, int, int]]] = {}  # by stream
        self._recorded: dict[int, int] = {}  # event: the stream it was recorded in
        self._copying = threading.Lock()
        self.launches: list[dict] = []
        self.launch_contexts: list[str] = []  # what was current at each of them
        self.parameters: list[str] = []  # ctypes formats of the parameters of the next launches
        self._thread = threading.local()
        self._numbers = itertools.count(1000)

    def __getattribute__(self, name: str):
        value = object.__getattribute__(self, name)
        if not name.startswith("cu") or name.startswith("cuGetError"):
            return value

        def recorded(*arguments):
            self.calls.append((name, *arguments))
            code = self.failing.get(name)
            return (code, None) if code else value(*arguments)

        return recorded

    def called(self, name: str) -> list[tuple]:
        return [arguments for function, *arguments in self.calls if function == name]

    def words(self, address: int, count: int) -> list[int]:
        return list((ctypes.c_int32 * count).from_address(address))

    # The driver's functions

    def cuInit(self, flags):
        return (SUCCESS,)

    def cuGetErrorName(self, code):
        return SUCCESS, b"CUDA_ERROR_FAKE"

    def cuGetErrorString(self, code):
        return SUCCESS, b"a fake error"

    def cuDeviceGetCount(self):
        return SUCCESS, self.devices

    def cuDeviceGet(self, ordinal):
        return SUCCESS, ordinal

    def cuDeviceGetName(self, size, device):
        return SUCCESS, b"Fake GPU\0\0\0"

    def cuDeviceTotalMem(self, device):
        return SUCCESS, 1 << 37

    def cuDeviceGetAttribute(self, name, device):
        values = {
            "COMPUTE_CAPABILITY_MAJOR": 9,
            "COMPUTE_CAPABILITY_MINOR": 0,
            "MULTIPROCESSOR_COUNT": 132,
            "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": self.shared_limit,
            "L2_CACHE_SIZE": 60 << 20,
            "MEMORY_POOLS_SUPPORTED": int(self.pools),
        }
        return SUCCESS, values[name]

    def cuDevicePrimaryCtxRetain(self, device):
        return SUCCESS, f"context {device}"

    def _current(self):
        return getattr(self._thread, "context", "no context")

    def cuCtxGetCurrent(self):
        return SUCCESS, self._current()

    def cuCtxSetCurrent(self, context):
        self._thread.context = context
        return (SUCCESS,)

    def cuThreadExchangeStreamCaptureMode(self, mode):
        former = getattr(self._thread, "mode", "GLOBAL")
        self._thread.mode = mode
        return SUCCESS, former

    def cuStreamGetCtx(self, stream):
        return SUCCESS, "context 0"

    def cuStreamIsCapturing(self, stream):
        return SUCCESS, int(stream in self.captures)

    def cuStreamGetCaptureInfo(self, stream):
        return SUCCESS, 1, Handle(self.captures[stream]), "graph", [], 0

    def cuStreamSynchronize(self, stream):
        return self._catch_up(stream)

    def cuStreamCreate(self, flags):
        return SUCCESS, Handle(next(self._numbers))

    def cuEventCreate(self, flags):
        return SUCCESS, next(self._numbers)

    def cuEventRecord(self, event, stream):
        self._recorded[event] = stream
        return (SUCCESS,)

    def cuEventSynchronize(self, event):
        return self._catch_up(self._recorded.get(event))

    def cuStreamWaitEvent(self, stream, event, flags):
        return self._catch_up(self._recorded[event])

    def cuEventDestroy(self, event):
        return (SUCCESS,)

    def cuPointerGetAttribute(self, name, address):
        return SUCCESS, 0

    def _allocate(self, nbytes):
        if nbytes > self.free_bytes:
            return (OUT_OF_MEMORY,)
        self.free_bytes -= nbytes
        block = ctypes.create_string_buffer(b"\xaa" * nbytes, nbytes)
        self.blocks[ctypes.addressof(block)] = block
        return SUCCESS, Handle(ctypes.addressof(block))

    def _free(self, address):
        block = self.blocks.pop(address)
        ctypes.memset(address, 0xDD, len(block))  # so that a copy that comes later shows
        self.free_bytes += len(block)
        self._freed.append(block)  # kept, so that no later block has its address
        return (SUCCESS,)

    def cuMemAlloc(self, nbytes):
        if self.captures and getattr(self._thread, "mode", "GLOBAL") != "RELAXED":
            return (INVALID,)
        return self._allocate(nbytes)

    def cuMemAllocAsync(self, nbytes, stream):
        return self._allocate(nbytes)

    def cuMemFree(self, address):
        return self._free(address)

    def cuMemFreeAsync(self, address, stream):
        return self._free(address)

    def cuMemsetD32Async(self, address, value, count, stream):
        (ctypes.c_int32 * count).from_address(address)[:] = [value] * count
        return (SUCCESS,)

    def _move(self, target, source, nbytes):
        ctypes.memmove(target, source, nbytes)
        return (SUCCESS,)

    def _queue(self, target, source, nbytes, stream):
        if not (self.lazy and (self._is_pinned(target) or self._is_pinned(source))):
            return self._move(target, source, nbytes)  # ordinary memory is copied at once
        with self._copying:
            self._waiting.setdefault(stream, []).append((target, source, nbytes))
        return (SUCCESS,)

    def _is_pinned(self, address):
        starts = ((ctypes.addressof(block), len(block)) for block in self.pinned)
        return any(start <= address < start + size for start, size in starts)

    def _catch_up(self, stream):
        """Do what waits in a stream, which may be more than an event asks for, never less."""
        with self._copying:
            for copy in self._waiting.pop(stream, []):
                self._move(*copy)
        return (SUCCESS,)

    def cuMemAllocHost(self, nbytes):
        if self.captures and getattr(self._thread, "mode", "GLOBAL") != "RELAXED":
            return (INVALID,)
        block = ctypes.create_string_buffer(nbytes)
        self.pinned.append(block)
        return SUCCESS, ctypes.addressof(block)

    def cuMemcpyHtoDAsync(self, target, source, nbytes, stream):
        return self._queue(target, source, nbytes, stream)

    def cuMemcpyDtoHAsync(self, target, source, nbytes, stream):
        return self._queue(target, source, nbytes, stream)

    def cuMemcpyDtoDAsync(self, target, source, nbytes, stream):
        return self._move(target, source, nbytes)

    def cuLibraryLoadData(self, code, *options):
        return SUCCESS, "library"

    def cuLibraryGetKernel(self, library, name):
        return SUCCESS, "kernel"

    def cuKernelGetFunction(self, kernel):
        return SUCCESS, f"function in {self._current()}"

    def cuFuncGetAttribute(self, name, function):
        return SUCCESS, {"NUM_REGS": 32, "LOCAL_SIZE_BYTES": 0}[name]

    def cuFuncSetAttribute(self, function, name, value):
        return (SUCCESS,)

    def cuLaunchKernel(self, function, gx, gy, gz, bx, by, bz, shared, stream, address, extra):
        context = self._current()
        if function != f"function in {context}":
            return (INVALID,)
        self.launch_contexts.append(context)
        kinds = [getattr(ctypes, f"c_{name}") for name in self.parameters]
        pointers = (ctypes.c_void_p * len(kinds)).from_address(address)
        values = [kind.from_address(at).value for kind, at in zip(kinds, pointers, strict=True)]
        self.launches.append({"grid": gx, "threads": bx, "stream": stream, "values": values})
        return (SUCCESS,)


@pytest.fixture
def api() -> FakeCuda:
    return FakeCuda()


@pytest.fixture
def fake_driver(api, monkeypatch) -> Driver:
    monkeypatch.setattr("tileblas.runtime.fork.note_initialised", lambda: None)
    monkeypatch.setattr("tileblas.runtime.pinned._links", {})  # its threads end with the test
    return Driver(api)


@pytest.fixture
def kernels(tmp_path, monkeypatch) -> Kernels:
    """A package with scale.scale_kernel, importable for the time of a test."""
    package = f"kernels_{tmp_path.name}"
    folder = tmp_path / package
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "scale.py").write_text(textwrap.dedent(KERNELS).lstrip())
    monkeypatch.syspath_prepend(tmp_path)
    yield Kernels(package, folder)
    for name in [name for name in sys.modules if name.startswith(package)]:
        del sys.modules[name]


@pytest.fixture
def scale() -> Launch:
    """A launch of scale_kernel: y := alpha x for 1000 elements with stride 4."""
    return Launch(
        kernel="scale.scale_kernel",
        arguments=(
            Argument("x", "pointer", ("x", 0), "*fp32", 4),
            Argument("y", "pointer", ("y", 0), "*fp32", 4),
            Argument("n", "i64", 1000),
            Argument("x_inc", "i64", 4, itemsize=4, stride=True),
            Argument("alpha", "fp32", ("alpha", "re")),
        ),
        constants=(("BLOCK", 1024),),
        grid=1,
        alignment=16,
    )


@pytest.fixture(autouse=True)
def cache_folder(tmp_path, monkeypatch):
    """Each test has an empty cache, on disk and in memory."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("TILEBLAS_CACHE_DIR", str(folder))
    monkeypatch.setattr(cache, "_memory", {})
    monkeypatch.setattr(cache, "_warned", False)
    return folder
