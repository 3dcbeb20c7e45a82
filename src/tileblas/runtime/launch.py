"""From a Launch to a callable: find or compile its module, load it, pack arguments, launch.

`prepare` does everything that a repeated call can leave out. What it returns packs the addresses
and scalars of one call into a buffer whose address the driver reads the parameters from.
"""

from __future__ import annotations

import ctypes
import functools
import math
import struct
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tileblas.routines.launch import POINTER, WORKSPACE, Launch
from tileblas.runtime import cache, fork, log
from tileblas.runtime.compile import SCRATCH_POINTERS, Compiled
from tileblas.runtime.driver import LEGACY_STREAM, CudaError, Driver, driver
from tileblas.runtime.sources import KERNELS, Kernels
from tileblas.runtime.variant import variant_of
from tileblas.runtime.workspace import Workspaces, workspaces

# Dynamic shared memory that a kernel gets without asking.
SHARED_WITHOUT_OPT_IN = 48 * 1024

_CELL = 8  # bytes of the buffer that every parameter takes, whatever its size
_FLOAT32_MAX = float.fromhex("0x1.fffffep+127")
_FORMATS = {"pointer": "Q", "i64": "q", "i32": "i4x", "fp32": "f4x", "fp64": "d"}


@dataclass(frozen=True, slots=True)
class Loaded:
    """A kernel on a device, ready to be launched."""

    function: Any  # CUfunction
    library: Any  # CUlibrary, kept for good
    context: Any  # CUcontext, the device's primary context
    threads: int
    shared: int
    registers: int
    local_bytes: int


_modules: dict[tuple[Driver, int, str], Loaded] = {}
_loading = threading.RLock()


def load(compiled: Compiled, device: int, on: Driver | None = None) -> Loaded:
    """Load a compiled kernel on a device, all of it and now: lazy loading would break a capture."""
    on = on or driver()
    facts = on.facts(device)
    if compiled.shared > facts.shared_limit:
        raise RuntimeError(
            f"{compiled.kernel} needs {compiled.shared} bytes of shared memory for a block; "
            f"{facts.name} has {facts.shared_limit}"
        )
    kinds = on.api.CUfunction_attribute
    with on.current(device), on.relaxed():
        library = on.call("cuLibraryLoadData", compiled.cubin, None, None, 0, None, None, 0)
        kernel = on.call("cuLibraryGetKernel", library, compiled.entry.encode())
        function = on.call("cuKernelGetFunction", kernel)
        # Reading an attribute makes a lazily loaded kernel resident.
        registers = on.call("cuFuncGetAttribute", kinds.CU_FUNC_ATTRIBUTE_NUM_REGS, function)
        local = on.call("cuFuncGetAttribute", kinds.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function)
        if compiled.shared > SHARED_WITHOUT_OPT_IN:
            kind = kinds.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            on.call("cuFuncSetAttribute", function, kind, compiled.shared)
    return Loaded(
        function=function,
        library=library,
        context=on.context(device),
        threads=compiled.threads,
        shared=compiled.shared,
        registers=registers,
        local_bytes=local,
    )


def prepare(
    launch: Launch,
    device: int,
    order: Sequence[Any],
    *,
    on: Driver | None = None,
    kernels: Kernels = KERNELS,
) -> PreparedLaunch:
    """A callable that launches on a device; `order` names the values that it will be called with.

    A name is a slot of the launch: "x" for an address, ("alpha", "re") for a number. Every slot
    must be named, except those of the workspace; names of slots that are not used are allowed.
    """
    on = on or driver()
    variant = variant_of(launch, on.facts(device).target)
    name = on, device, cache.key(variant, kernels)
    loaded = _modules.get(name)
    if loaded is None:
        compiled = cache.fetch(variant, kernels)
        with _loading:
            loaded = _modules.get(name) or load(compiled, device, on)
            _modules[name] = loaded
    log.once("launch", launch)
    return PreparedLaunch(launch, loaded, device, Packing(launch, tuple(order)), workspaces(on))


class Packing:
    """Where each parameter of a launch lies in a buffer of 8-byte cells.

    The buffer starts with what changes from call to call, so that one pack_into writes it: the
    values in the caller's order, then pointers into the workspace, then pointers at an offset from
    one of the values. Then come, written once, the integers and null pointers: Triton's two for
    scratch memory, and those into a workspace where this launch needs none.
    """

    def __init__(self, launch: Launch, order: tuple[Any, ...]) -> None:
        missing = [s for s in launch.slots if s not in order and s not in WORKSPACE]
        if missing:
            raise ValueError(f"{launch.kernel} needs {missing}, which are not in {order}")
        self.uses_workspace = bool(launch.partial_bytes or launch.counters)
        values = order + WORKSPACE if self.uses_workspace else order
        moved = [a for a in launch.arguments if a.kind == POINTER and a.value[1]]
        fixed = [a for a in launch.arguments if a.slot not in values]
        formats = [_slot_format(launch, slot) for slot in values] + ["Q"] * len(moved)

        cells = {a.name: len(values) + i for i, a in enumerate(moved)}
        cells |= {a.name: len(formats) + i for i, a in enumerate(fixed)}
        scratch = len(formats) + len(fixed)
        self.cells = [
            cells[a.name] if a.name in cells else values.index(a.slot) for a in launch.arguments
        ] + list(range(scratch, scratch + SCRATCH_POINTERS))
        # (which value, bytes to add) of each pointer at an offset
        self.moved = [(values.index(a.slot), a.value[1] * a.itemsize) for a in moved]
        self._pack_into = struct.Struct("<" + "".join(formats)).pack_into
        self._initial = bytes(_CELL * len(formats))
        self._initial += struct.pack(
            "<" + "".join(_FORMATS[a.kind] for a in fixed),
            *(0 if a.kind == POINTER else a.value for a in fixed),
        )
        self._initial += bytes(_CELL * SCRATCH_POINTERS)

    def frame(self) -> Frame:
        """A new buffer, with the integers in place."""
        return Frame(self._initial, self.cells)

    def pack(self, frame: Frame, values: tuple[Any, ...]) -> None:
        """Write what changes from call to call; numbers beyond FP32 become infinities."""
        frame.values = None
        cells = values
        if self.moved:
            cells += tuple([values[index] + offset for index, offset in self.moved])
        try:
            self._pack_into(frame.buffer, 0, *cells)
        except OverflowError:
            self._pack_into(frame.buffer, 0, *_saturated(cells))
        frame.values = values


def _slot_format(launch: Launch, slot: Any) -> str:
    """The format of a slot: that of the argument it is bound to, else an address or a double."""
    for argument in launch.arguments:
        if argument.slot == slot:
            return _FORMATS[argument.kind]
    return "Q" if isinstance(slot, str) else "d"


class Frame:
    """A buffer of parameters and the array of pointers to them that cuLaunchKernel takes."""

    __slots__ = ("_pointers", "address", "buffer", "values")

    def __init__(self, initial: bytes, cells: Sequence[int]) -> None:
        self.buffer = ctypes.create_string_buffer(initial, len(initial))
        base = ctypes.addressof(self.buffer)
        self._pointers = (ctypes.c_void_p * len(cells))(*(base + _CELL * cell for cell in cells))
        self.address = ctypes.addressof(self._pointers)
        self.values: tuple[Any, ...] | None = None  # what was packed into it last


class PreparedLaunch:
    """call(stream, owner, *values): queue the kernel on a stream.

    `stream` is a handle, `owner` the object that keeps it alive, or None. `values` are addresses
    and numbers in the prepared order. Threads, and calls inside calls, do not disturb each other:
    each takes a frame of its own.
    """

    __slots__ = (
        "_context",
        "_counters",
        "_current_context",
        "_device",
        "_driver",
        "_frames",
        "_launch_kernel",
        "_packing",
        "_partial_bytes",
        "_spaces",
        "_uses_workspace",
        "launch",
    )

    def __init__(
        self, launch: Launch, loaded: Loaded, device: int, packing: Packing, spaces: Workspaces
    ) -> None:
        if launch.grid < 1:
            raise ValueError(f"{launch.kernel}: a grid of {launch.grid} blocks")
        self.launch = launch
        self._device = device
        self._packing = packing
        self._uses_workspace = packing.uses_workspace
        self._spaces = spaces
        self._driver = spaces.driver
        self._context = loaded.context
        self._current_context = spaces.driver.api.cuCtxGetCurrent
        # What is left to say at a launch: the stream and the parameters.
        self._launch_kernel = functools.partial(
            spaces.driver.api.cuLaunchKernel,
            loaded.function,
            launch.grid, 1, 1,
            loaded.threads, 1, 1,
            loaded.shared,
        )  # fmt: skip
        self._partial_bytes, self._counters = launch.partial_bytes, launch.counters
        self._frames: list[Frame] = []

    def __call__(self, stream: int, owner: Any, *values: Any) -> None:
        self.queue(stream, owner, values)

    def queue(self, stream: int, owner: Any, values: tuple[Any, ...]) -> None:
        """The call itself. The very tuple of the last call is known to be packed already."""
        if fork.lost:
            fork.check()
        stream = stream or LEGACY_STREAM
        if self._uses_workspace:
            self._with_workspace(stream, owner, values)
        else:
            self._launch(stream, values)

    def _with_workspace(self, stream: int, owner: Any, values: tuple[Any, ...]) -> None:
        if not self._in_context():
            with self._driver.current(self._device):
                return self._with_workspace(stream, owner, values)
        space = self._spaces.acquire(
            self._device, stream, owner, self._partial_bytes, self._counters
        )
        try:
            self._launch(stream, (*values, space.partial, space.arrived))
        except BaseException:
            space.dirty = True
            raise
        finally:
            space.release()

    def _launch(self, stream: int, values: tuple[Any, ...]) -> None:
        frames = self._frames
        try:
            frame = frames.pop()
        except IndexError:
            frame = self._packing.frame()
        try:
            if frame.values is not values:
                self._packing.pack(frame, values)
            code = self._launch_kernel(stream, frame.address, 0)[0]
        finally:
            frames.append(frame)
        if code:
            # The driver refuses to launch a function while another context, or none, is current.
            if self._in_context():
                raise self._failure(code)
            with self._driver.current(self._device):
                self._launch(stream, values)

    def _in_context(self) -> bool:
        """Whether the context that the kernel was loaded in is current."""
        return self._current_context()[1] == self._context

    def _failure(self, code: Any) -> CudaError:
        error = self._driver.error("cuLaunchKernel", code)
        text = f"{error.text}; at the launch of {self.launch.kernel}, or in earlier work"
        return CudaError(error.function, error.code, error.name, text)


def _saturated(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """The values with floats beyond the range of FP32 as infinities, as rounding has them.

    struct refuses such a float, and only as FP32.
    """
    return tuple([
        math.copysign(math.inf, v) if isinstance(v, float) and abs(v) > _FLOAT32_MAX else v
        for v in values
    ])  # fmt: skip
