"""A kernel that occupies a stream until the host lets it go: what returns before did not wait."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Iterator
from contextlib import contextmanager

from tileblas.runtime.driver import LEGACY_STREAM, driver

#: Nanoseconds after which the kernel gives up, so that a call that waits for it fails, not hangs.
#: On a busy host JAX takes more than five seconds to compile.
PATIENCE = 20_000_000_000

# One thread reads a word of host memory until it is not zero. PTX needs no compiler in the tests.
_PTX = b"""
.version 7.0
.target sm_80
.address_size 64

.visible .entry wait_for_host(.param .u64 words, .param .u64 patience)
{
    .reg .pred %go, %late;
    .reg .b32 %flag;
    .reg .b64 %words, %patience, %start, %now, %waited;

    ld.param.u64 %words, [words];
    ld.param.u64 %patience, [patience];
    mov.u64 %start, %globaltimer;
again:
    ld.volatile.global.u32 %flag, [%words];
    setp.ne.u32 %go, %flag, 0;
    @%go bra done;
    mov.u64 %now, %globaltimer;
    sub.u64 %waited, %now, %start;
    setp.lt.u64 %late, %waited, %patience;
    @%late bra again;
    st.volatile.global.u32 [%words+4], 1;
done:
    ret;
}
\0"""

_HOLDS = 512  # at a time
_BYTES = 8  # of each: the word that lets go, and the word that says the kernel gave up


class Hold:
    """One stream being occupied."""

    def __init__(self, stream: int, address: int) -> None:
        self._stream = stream or LEGACY_STREAM
        self._words = (ctypes.c_uint32 * 2).from_address(address)
        self._words[:] = 0, 0

    @property
    def busy(self) -> bool:
        """Whether the stream has been occupied from the start until now."""
        with driver().current(0):  # the legacy stream is that of the current context
            (code,) = driver().api.cuStreamQuery(self._stream)
        gave_up = self._words[1]
        return not gave_up and code == driver().api.CUresult.CUDA_ERROR_NOT_READY

    def release(self) -> None:
        self._words[0] = 1


class Gate:
    """`with gate.held(stream) as hold:` occupies a stream of device 0 until the block ends."""

    def __init__(self) -> None:
        on = driver()
        with on.current(0):
            module = on.call("cuModuleLoadData", _PTX)
            self._function = on.call("cuModuleGetFunction", module, b"wait_for_host")
            # Reading an attribute makes a lazily loaded kernel resident, before anything is held.
            kind = on.api.CUfunction_attribute.CU_FUNC_ATTRIBUTE_NUM_REGS
            on.call("cuFuncGetAttribute", kind, self._function)
            mapped = on.api.CU_MEMHOSTALLOC_DEVICEMAP
            self._host = int(on.call("cuMemHostAlloc", _HOLDS * _BYTES, mapped))
            self._device = int(on.call("cuMemHostGetDevicePointer", self._host, 0))
        self._places = itertools.cycle(range(0, _HOLDS * _BYTES, _BYTES))

    @contextmanager
    def held(self, stream: int = LEGACY_STREAM) -> Iterator[Hold]:
        place = next(self._places)
        hold = Hold(stream, self._host + place)
        values = self._device + place, PATIENCE
        types = ctypes.c_void_p, ctypes.c_uint64
        with driver().current(0):
            driver().call(
                "cuLaunchKernel",
                self._function,
                1, 1, 1,
                1, 1, 1,
                0, stream or LEGACY_STREAM, (values, types), 0,
            )  # fmt: skip
        try:
            yield hold
        finally:
            hold.release()
