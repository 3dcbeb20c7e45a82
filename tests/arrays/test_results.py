"""Results of repeated calls: many 0-d tensors made at once, on a stand-in for torch."""

from __future__ import annotations

import contextlib
import itertools
import sys
from types import SimpleNamespace

import pytest

from tileblas.arrays import results
from tileblas.core.dtypes import DTYPES
from tileblas.core.operand import Operand

FLOAT32, FLOAT64 = DTYPES["float32"], DTYPES["float64"]


class Torch:
    """The functions of torch that make results; memory runs out where it is told to."""

    float32, float64 = "torch.float32", "torch.float64"

    class OutOfMemoryError(RuntimeError):
        pass

    def __init__(self):
        self.addresses = itertools.count(4096, 512)
        self.full = False
        self.stream = 0
        self._C = SimpleNamespace(_cuda_getCurrentRawStream=lambda device: self.stream)
        self.made: list[str] = []

    def tensor(self, how):
        if self.full:
            raise self.OutOfMemoryError("CUDA out of memory")
        self.made.append(how)
        address = next(self.addresses)
        return SimpleNamespace(data_ptr=lambda: address)

    def empty_strided(self, shape, strides, *, dtype, device):
        return self.tensor("one")

    def zeros(self, count, *, dtype, device):
        models = self.tensor("models")
        return SimpleNamespace(unbind=lambda: [models] * count)

    def _foreach_neg(self, tensors):
        return [self.tensor("many") for _ in tensors]

    def inference_mode(self, mode):
        return contextlib.nullcontext()

    def no_grad(self):
        return contextlib.nullcontext()


@pytest.fixture
def torch(monkeypatch):
    found = Torch()
    monkeypatch.setitem(sys.modules, "torch", found)
    results._torch_numbers.cache_clear()
    yield found
    results._torch_numbers.cache_clear()


def make(dtype=FLOAT32):
    array = SimpleNamespace(device="cuda:0")
    like = Operand(4096, dtype, (8,), (1,), 0, 0, "torch", array)
    return results.maker(like, (), dtype)


def addresses(maker, count, stream=0):
    found = [maker(None, stream) for _ in range(count)]
    assert [tensor.data_ptr() for tensor, _ in found] == [address for _, address in found]
    return [address for _, address in found]


def test_numbers_are_all_different(torch):
    maker, count = make(), 3 * results._NUMBERS
    assert len(set(addresses(maker, count))) == count
    assert torch.made.count("models") == 1
    assert torch.made.count("one") == 2  # one each time that more were being made


def test_all_calls_of_a_device_and_type_share_what_is_ready(torch):
    """Else each length of vector would keep 64 blocks of device memory of its own."""
    makers = [make() for _ in range(10)]
    found = [address for maker in makers for address in addresses(maker, 4)]
    assert len(set(found)) == 40
    assert torch.made.count("many") == results._NUMBERS
    addresses(make(FLOAT64), 1)
    assert torch.made.count("many") == 2 * results._NUMBERS


def test_the_first_ones_are_made_before_they_are_asked_for(torch):
    """To make them may wait for the device, the first time."""
    maker = make()
    before = list(torch.made)
    addresses(maker, results._NUMBERS)
    assert torch.made == before


def test_on_other_streams_each_is_made_alone(torch):
    torch.stream = 7
    addresses(make(), 3, stream=7)
    assert torch.made == ["one"] * 3


def test_out_of_memory_is_a_memory_error_with_the_bytes(torch):
    torch.full = True
    maker = make()
    with pytest.raises(MemoryError, match=r"4 bytes asked for a result of shape \(\), float32"):
        maker(None, 0)
    torch.full = False
    assert len(set(addresses(maker, 5))) == 5
