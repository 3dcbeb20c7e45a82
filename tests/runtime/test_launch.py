"""Records, packing of parameters, loading, and the launch itself, on a fake driver."""

import concurrent.futures
import dataclasses
import math
import struct
import threading

import pytest

from tileblas.routines.launch import Argument, Launch
from tileblas.runtime import cache, workspace
from tileblas.runtime import fork as fork_guard
from tileblas.runtime.compile import Compiled
from tileblas.runtime.driver import CudaError
from tileblas.runtime.launch import SHARED_WITHOUT_OPT_IN, load, prepare

ALPHA = ("alpha", "re")
COMPILED = Compiled("scale.scale_kernel", "scale_kernel", "sm_90", 0, 128, (), b"\x7fELF")
SCALE_TYPES = ["uint64", "uint64", "int64", "int64", "float", "uint64", "uint64"]


@pytest.fixture
def compiled(monkeypatch):
    """Replaces compilation by a cubin that only the fake driver loads."""
    monkeypatch.setattr(cache, "fetch", lambda variant, kernels: COMPILED)


@pytest.fixture
def prepared(compiled, fake_driver, kernels):
    def make(launch, order, device=0):
        return prepare(launch, device, order, on=fake_driver, kernels=kernels)

    return make


def test_slots_in_order_of_first_appearance(scale):
    assert scale.slots == ("x", "y", ALPHA)


def test_a_device_scalar_promises_no_alignment():
    assert Argument("alpha", "pointer", ("alpha", 0), "*fp32", 4, loose=True).divisor(16) == 1
    assert Argument("a", "pointer", ("a", 0), "*fp32", 8).divisor(16) == 16


@pytest.mark.parametrize("alignment", [1, 8, 16])
def test_the_workspace_is_aligned_whatever_the_operands_are(alignment):
    partial = Argument("partial", "pointer", ("partial", 0), "*fp32", 4)
    assert partial.divisor(alignment) == 16
    assert workspace._ALIGNMENT % 16 == 0


@pytest.mark.parametrize(
    ("itemsize", "alignment", "divisor"),
    [(2, 16, 8), (4, 16, 4), (8, 16, 2), (16, 16, 1), (4, 8, 2), (8, 8, 1), (2, 1, 1)],
)
def test_stride_divisors(itemsize, alignment, divisor):
    stride = Argument("inc", "i64", 1, itemsize=itemsize, stride=True)
    assert stride.divisor(alignment) == divisor


def test_values_arrive_as_the_kernel_expects_them(prepared, scale, api):
    api.parameters = SCALE_TYPES
    prepared(scale, ("x", "y", ALPHA))(7, None, 4096, 8192, 0.5)
    assert api.launches == [
        {
            "grid": 1,
            "threads": 128,
            "stream": 7,
            "values": [4096, 8192, 1000, 4, 0.5, 0, 0],
        }
    ]


def test_the_caller_chooses_the_order_and_may_pass_more(prepared, scale, api):
    api.parameters = SCALE_TYPES
    call = prepared(scale, (ALPHA, ("alpha", "im"), "y", "z", "x"))
    call(7, None, 0.5, 9.0, 8192, 1, 4096)
    assert api.launches[0]["values"] == [4096, 8192, 1000, 4, 0.5, 0, 0]


def test_the_order_must_name_every_slot(prepared, scale):
    with pytest.raises(ValueError, match=r"needs \['y', \('alpha', 're'\)\]"):
        prepared(scale, ("x",))


def test_a_wrong_number_of_values_is_refused(prepared, scale):
    with pytest.raises(struct.error, match="items for packing"):
        prepared(scale, ("x", "y", ALPHA))(7, None, 1, 2)


def test_offsets_are_in_elements_of_the_operand(prepared, api):
    launch = Launch(
        kernel="scale.scale_kernel",
        arguments=(
            Argument("x", "pointer", ("x", 3), "*fp32", 8),
            Argument("n", "i32", -5),
            Argument("last", "pointer", ("x", -2), "*fp32", 8),
            Argument("first", "pointer", ("x", 0), "*fp32", 8),
        ),
        constants=(),
        grid=3,
    )
    api.parameters = ["uint64", "int32", "uint64", "uint64", "uint64", "uint64"]
    prepared(launch, ("x",))(7, None, 4096)
    assert api.launches[0]["values"] == [4096 + 24, -5, 4096 - 16, 4096, 0, 0]


def test_doubles_are_not_rounded_to_fp32(prepared, scale, api):
    wide = dataclasses.replace(
        scale, arguments=(*scale.arguments[:4], Argument("alpha", "fp64", ALPHA))
    )
    api.parameters = [*SCALE_TYPES[:4], "double", *SCALE_TYPES[5:]]
    prepared(wide, ("x", "y", ALPHA))(7, None, 1, 2, 0.1)
    assert api.launches[0]["values"][4] == 0.1


@pytest.mark.parametrize(
    ("value", "rounded"),
    [
        (1e300, math.inf),
        (-1e300, -math.inf),
        (math.inf, math.inf),
        (3.4028235e38, 3.4028234663852886e38),
        (3.40282356779733661637539395458142568448e38, math.inf),  # the first that rounds up
        (1e-50, 0.0),
    ],
)
def test_scalars_round_to_fp32_as_ieee(prepared, scale, api, value, rounded):
    api.parameters = SCALE_TYPES
    prepared(scale, ("x", "y", ALPHA))(7, None, 1, 2, value)
    assert api.launches[0]["values"][4] == rounded


def test_nan_stays_nan(prepared, scale, api):
    api.parameters = SCALE_TYPES
    prepared(scale, ("x", "y", ALPHA))(7, None, 1, 2, math.nan)
    assert math.isnan(api.launches[0]["values"][4])


def test_the_default_stream_is_named_explicitly(prepared, scale, api):
    prepared(scale, ("x", "y", ALPHA))(0, None, 1, 2, 3.0)
    assert api.launches[0]["stream"] == 1


@pytest.mark.parametrize("device", [0, 1])
@pytest.mark.parametrize("current", ["context 0", "no context"])
def test_the_devices_context_is_current_and_the_former_restored(
    prepared, scale, api, device, current
):
    """The driver refuses a function of another context, so only then is it looked at."""
    call = prepared(scale, ("x", "y", ALPHA), device)
    api.cuCtxSetCurrent(current)
    call(7, None, 1, 2, 3.0)
    assert api.launch_contexts == [f"context {device}"]
    assert api.cuCtxGetCurrent()[1] == current


def test_a_current_context_is_left_alone(prepared, scale, api):
    call = prepared(scale, ("x", "y", ALPHA))
    api.cuCtxSetCurrent("context 0")
    api.calls.clear()
    call(7, None, 1, 2, 3.0)
    assert [name for name, *_ in api.calls] == ["cuLaunchKernel"]


def test_a_module_is_loaded_once_for_each_device(prepared, scale, api):
    for device in (0, 0, 1, 0):
        prepared(scale, ("x", "y", ALPHA), device)
    assert len(api.called("cuLibraryLoadData")) == 2


def test_loading_is_eager_and_may_happen_during_a_capture(prepared, scale, api):
    prepared(scale, ("x", "y", ALPHA))
    names = [name for name, *_ in api.calls]
    inside = names[names.index("cuThreadExchangeStreamCaptureMode") + 1 :]
    assert inside[:3] == ["cuLibraryLoadData", "cuLibraryGetKernel", "cuKernelGetFunction"]
    assert "cuFuncGetAttribute" in inside
    modes = api.called("cuThreadExchangeStreamCaptureMode")
    assert modes == [["RELAXED"], ["GLOBAL"]]


@pytest.mark.parametrize("shared", [SHARED_WITHOUT_OPT_IN, SHARED_WITHOUT_OPT_IN + 1, 232448])
def test_large_shared_memory_is_asked_for(fake_driver, api, shared):
    load(dataclasses.replace(COMPILED, shared=shared), 0, fake_driver)
    asked = api.called("cuFuncSetAttribute")
    expected = [["function in context 0", "MAX_DYNAMIC_SHARED_SIZE_BYTES", shared]]
    assert asked == (expected if shared > SHARED_WITHOUT_OPT_IN else [])


def test_too_large_shared_memory_is_refused_clearly(fake_driver, api):
    with pytest.raises(RuntimeError, match=r"needs 232449 bytes of shared memory.*has 232448"):
        load(dataclasses.replace(COMPILED, shared=232449), 0, fake_driver)


def test_an_empty_grid_is_refused(prepared, scale):
    with pytest.raises(ValueError, match="a grid of 0 blocks"):
        prepared(dataclasses.replace(scale, grid=0), ("x", "y", ALPHA))


def test_a_failing_launch_names_kernel_and_reason(prepared, scale, api):
    call = prepared(scale, ("x", "y", ALPHA))
    api.failing["cuLaunchKernel"] = 700
    with pytest.raises(CudaError, match=r"cuLaunchKernel: CUDA_ERROR_FAKE \(700\).*scale_kernel"):
        call(7, None, 1, 2, 3.0)


@pytest.fixture
def dot() -> Launch:
    """A launch that takes partial sums and counters from the workspace."""
    return Launch(
        kernel="scale.scale_kernel",
        arguments=(
            Argument("x", "pointer", ("x", 0), "*fp32", 4),
            Argument("partial", "pointer", ("partial", 0), "*fp32", 4),
            Argument("arrived", "pointer", ("arrived", 0), "*i32", 4),
        ),
        constants=(),
        grid=4,
        partial_bytes=16,
        counters=1,
    )


DOT_TYPES = ["uint64"] * 5


def test_the_workspace_is_bound(prepared, dot, api):
    api.parameters = DOT_TYPES
    call = prepared(dot, ("x",))
    call(7, None, 4096)
    call(7, None, 4096)
    x, partial, arrived, *scratch = api.launches[0]["values"]
    assert (x, scratch) == (4096, [0, 0])
    assert api.words(arrived, 1024) == [0] * 1024
    assert partial == arrived + 4096
    assert api.launches[1]["values"] == api.launches[0]["values"]
    assert len(api.blocks) == 1


def test_a_workspace_that_is_not_needed_is_null(prepared, dot, api):
    api.parameters = DOT_TYPES
    prepared(dataclasses.replace(dot, partial_bytes=0, counters=0), ("x",))(7, None, 4096)
    assert api.launches[0]["values"] == [4096, 0, 0, 0, 0]
    assert api.blocks == {}


def test_a_failed_launch_has_the_counters_zeroed_before_the_next(prepared, dot, api):
    api.parameters = DOT_TYPES
    call = prepared(dot, ("x",))
    call(7, None, 1)
    api.failing["cuLaunchKernel"] = 701
    with pytest.raises(CudaError):
        call(7, None, 1)
    del api.failing["cuLaunchKernel"]
    before = len(api.called("cuMemsetD32Async"))
    call(7, None, 1)
    call(7, None, 1)
    assert len(api.called("cuMemsetD32Async")) == before + 1


def test_threads_share_a_call_without_mixing_values(prepared, scale, api):
    api.parameters = SCALE_TYPES
    call = prepared(scale, ("x", "y", ALPHA))
    start = threading.Barrier(4)

    def work(thread):
        start.wait()
        for i in range(500):
            call(100 + thread, None, thread, i, float(thread))

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert len(api.launches) == 2000
    for thread in range(4):
        mine = [launch["values"] for launch in api.launches if launch["stream"] == 100 + thread]
        assert mine == [[thread, i, 1000, 4, float(thread), 0, 0] for i in range(500)]


def test_a_call_inside_a_call_does_not_disturb_it(prepared, scale, api):
    """As when a signal handler or a finalizer calls a routine between packing and launching."""
    api.parameters = SCALE_TYPES
    call = prepared(scale, ("x", "y", ALPHA))
    launch_kernel = call._launch_kernel

    def interrupted(*arguments):
        call._launch_kernel = launch_kernel
        call(8, None, 30, 40, 2.0)
        return launch_kernel(*arguments)

    call._launch_kernel = interrupted
    call(7, None, 10, 20, 1.0)
    assert [launch["values"][:2] for launch in api.launches] == [[30, 40], [10, 20]]


def test_after_a_fork_a_call_is_refused(prepared, scale, api, monkeypatch):
    call = prepared(scale, ("x", "y", ALPHA))
    monkeypatch.setattr(fork_guard, "lost", True)
    with pytest.raises(RuntimeError, match="initialised before fork"):
        call(7, None, 1, 2, 3.0)
    assert api.launches == []
