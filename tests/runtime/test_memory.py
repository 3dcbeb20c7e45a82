"""DeviceArray: copies, both exchange protocols, and who keeps the memory alive."""

import gc
import sys
import weakref

import numpy as np
import pytest

from tileblas.runtime import dlpack, memory
from tileblas.runtime import fork as fork_guard
from tileblas.runtime.driver import driver
from tileblas.runtime.memory import copy_of, empty, from_host, to_host

NUMPY_TYPES = [name for name in dlpack.TYPES if name != "bfloat16"]
MATRIX = np.arange(12, dtype="float32").reshape(3, 4)
VIEWS = {
    "C": MATRIX,
    "F": MATRIX.T,
    "0-d": np.array(3.0),
    "empty": MATRIX[:0],
    "gaps": MATRIX[:, ::2],
    "reversed": MATRIX[::-1, ::-1],
    "repeated": np.broadcast_to(MATRIX[0], (5, 4)),
    "batch": np.arange(24.0).reshape(2, 3, 4).transpose(0, 2, 1),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())
def test_there_and_back(fake_driver, view):
    array = from_host(view, 0, 7, on=fake_driver)
    assert array.shape == view.shape
    np.testing.assert_array_equal(to_host(array, on=fake_driver), view)


def test_column_major_stays_column_major(fake_driver):
    assert from_host(MATRIX.T, 0, 7, on=fake_driver).strides == (1, 4)


@pytest.mark.parametrize("order", ["C", "F", "gaps"])
def test_into_a_given_array(fake_driver, order):
    array = from_host(MATRIX, 0, 7, on=fake_driver)
    out = np.zeros((3, 8), "float32")[:, ::2] if order == "gaps" else np.zeros((3, 4), "f4", order)
    assert to_host(array, out, on=fake_driver) is out
    np.testing.assert_array_equal(out, MATRIX)


def test_bfloat16_travels_as_its_bits(fake_driver):
    bits = np.array([0x3F80, 0xFFC0], "uint16")
    array = from_host(bits, 0, 7, "bfloat16", on=fake_driver)
    assert (array.dtype, array.nbytes) == ("bfloat16", 4)
    np.testing.assert_array_equal(to_host(array, on=fake_driver), bits)


def test_bfloat16_of_ml_dtypes_is_known_by_name(fake_driver):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = from_host(np.ones(3, ml_dtypes.bfloat16), 0, 7, on=fake_driver)
    assert array.dtype == "bfloat16"


def test_copy_of(fake_driver):
    array = from_host(MATRIX.T, 0, 7, on=fake_driver)
    copy = copy_of(array.address, array, on=fake_driver)
    assert copy.address != array.address
    np.testing.assert_array_equal(to_host(copy, on=fake_driver), MATRIX.T)


def test_memory_goes_back_in_stream_order_with_the_last_reference(fake_driver, api):
    array = empty((2, 3), "float64", 1, 7, on=fake_driver)
    assert api.called("cuMemAllocAsync") == [[48, 7]]
    address = array.address
    del array
    assert api.called("cuMemFreeAsync") == [[address, 7]]


def test_without_pools_memory_is_ordinary(fake_driver, api):
    api.pools = False
    del_me = empty((2,), "float32", 0, 7, on=fake_driver)
    assert api.called("cuMemAlloc") == [[8]]
    del del_me
    assert len(api.called("cuMemFree")) == 1


def test_during_a_capture_memory_is_ordinary(fake_driver, api):
    """What a graph writes must outlive its first run."""
    api.captures[7] = 41
    array = empty((2,), "float32", 0, 7, on=fake_driver)
    assert api.called("cuMemAlloc") == [[8]]
    assert array.address in api.blocks


def test_a_capture_does_not_record_a_free(fake_driver, api):
    array = empty((2,), "float32", 0, 7, on=fake_driver)
    address = array.address
    api.captures[7] = 41
    del array
    assert api.called("cuMemFreeAsync") == []
    empty((2,), "float32", 0, 8, on=fake_driver)
    assert [address, 7] not in api.called("cuMemFreeAsync")
    del api.captures[7]
    empty((2,), "float32", 0, 8, on=fake_driver)
    assert [address, 7] in api.called("cuMemFreeAsync")


def test_empty_arrays_have_an_address(fake_driver):
    assert empty((0, 3), "float32", 0, 7, on=fake_driver).address


def test_out_of_memory_names_the_bytes_and_a_smaller_array_fits(fake_driver):
    with pytest.raises(MemoryError, match=r"out of memory: 34359738368 bytes asked on cuda:0"):
        empty((1 << 16, 1 << 16), "float64", 0, 7, on=fake_driver)
    empty((10,), "float64", 0, 7, on=fake_driver)


def test_nothing_is_freed_in_a_child_that_lost_cuda(fake_driver, api, monkeypatch):
    array = empty((2,), "float32", 0, 7, on=fake_driver)
    monkeypatch.setattr(fork_guard, "lost", True)
    del array
    assert api.called("cuMemFreeAsync") == []


def test_cuda_array_interface(fake_driver):
    array = from_host(MATRIX.T, 0, 0, on=fake_driver)
    assert array.__cuda_array_interface__ == {
        "version": 3,
        "shape": (4, 3),
        "typestr": "<f4",
        "data": (array.address, False),
        "strides": (4, 16),
        "stream": 1,
    }


def test_cuda_array_interface_of_an_empty_array_has_a_null_pointer(fake_driver):
    array = empty((0,), "float32", 0, 7, on=fake_driver)
    assert array.__cuda_array_interface__["data"] == (0, False)


def test_cuda_array_interface_has_no_bfloat16(fake_driver):
    assert not hasattr(empty((2,), "bfloat16", 0, 7, on=fake_driver), "__cuda_array_interface__")


class OnHost:
    """An array that exports host memory by our capsules, for consumers that run without a GPU."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return dlpack.CPU, 0

    def __dlpack__(self, **ignored):
        array = self.array
        strides = tuple(step // array.itemsize for step in array.strides)
        return dlpack.capsule(
            array.ctypes.data, array.shape, strides, array.dtype.name, (dlpack.CPU, 0), self
        )


@pytest.mark.parametrize("name", NUMPY_TYPES)
def test_numpy_reads_every_type(name):
    array = np.arange(6).astype(name).reshape(2, 3)
    read = np.from_dlpack(OnHost(array))
    assert read.dtype == array.dtype
    np.testing.assert_array_equal(read, array)


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())
def test_numpy_reads_every_view(view):
    read = np.from_dlpack(OnHost(view))
    np.testing.assert_array_equal(read, view)
    assert read.size == 0 or read.ctypes.data == view.ctypes.data


def test_jax_reads_bfloat16():
    jax = pytest.importorskip("jax")
    ml_dtypes = pytest.importorskip("ml_dtypes")
    read = jax.dlpack.from_dlpack(OnHost(np.array([1.5, -2.0], ml_dtypes.bfloat16)))
    assert read.dtype == "bfloat16"
    assert read.tolist() == [1.5, -2.0]


def test_the_consumer_keeps_the_memory_alive():
    exported = OnHost(np.arange(3.0))
    alive = weakref.ref(exported)
    read = np.from_dlpack(exported)
    del exported
    gc.collect()
    assert alive() is not None
    np.testing.assert_array_equal(read, [0, 1, 2])
    del read
    gc.collect()
    assert alive() is None


def test_a_capsule_that_nobody_takes_lets_go():
    exported = OnHost(np.arange(3.0))
    alive = weakref.ref(exported)
    capsule = exported.__dlpack__()
    del exported
    assert alive() is not None
    del capsule
    gc.collect()
    assert alive() is None


def test_many_exports_leave_nothing_behind():
    before = len(dlpack._exported)
    for _ in range(100):
        np.from_dlpack(OnHost(np.arange(3.0))).sum()
    assert len(dlpack._exported) == before


@pytest.mark.parametrize(
    ("asked", "waits"), [(None, [1]), (1, [1]), (9, [9]), (7, []), (-1, [])], ids=str
)
def test_the_consumers_stream_waits_for_ours(fake_driver, api, monkeypatch, asked, waits):
    monkeypatch.setattr(memory, "driver", lambda: fake_driver)
    array = empty((2,), "float32", 0, 7, on=fake_driver)
    array.__dlpack__(stream=asked)
    assert [stream for _, stream in api.called("cuEventRecord")] == [7] * len(waits)
    assert [stream for stream, *_ in api.called("cuStreamWaitEvent")] == waits


def test_a_default_stream_waits_on_the_arrays_own_device(fake_driver, api, monkeypatch):
    monkeypatch.setattr(memory, "driver", lambda: fake_driver)
    array = empty((2,), "float32", 1, 0, on=fake_driver)
    with fake_driver.current(0):
        before = len(api.called("cuCtxSetCurrent"))
        array.__dlpack__(stream=2)
    assert api.called("cuCtxSetCurrent")[before] == [fake_driver.context(1)]


def test_it_is_exported_in_place_only(fake_driver):
    array = empty((2,), "float32", 0, 1, on=fake_driver)
    assert array.__dlpack_device__() == (2, 0)
    array.__dlpack__(stream=-1, max_version=(1, 0), dl_device=(2, 0), copy=False)
    for refused in ({"copy": True}, {"dl_device": (1, 0)}):
        with pytest.raises(BufferError, match="in place"):
            array.__dlpack__(stream=-1, **refused)


def test_without_cuda_the_reason_is_given(monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    with pytest.raises(RuntimeError, match=r"the cuda backend needs cuda\.bindings"):
        driver()
