"""alpha and beta: kinds, rounding, and what is refused."""

from __future__ import annotations

import ctypes
from fractions import Fraction

import numpy as np
import pytest

from tileblas.arrays.scalars import parse, unpacked
from tileblas.core.dtypes import DTYPES
from tileblas.core.operand import HOST, Operand
from tileblas.errors import BlasError
from tileblas.routines.registry import ROUTINES

GEMM = ROUTINES["gemm"]


def scalar(value, dtype="float64", device=HOST):
    return parse(GEMM, "alpha", value, DTYPES[dtype], device)


@pytest.mark.parametrize(
    ("value", "dtype", "kind"),
    [
        (0, "float64", "zero"),
        (-0.0, "float64", "zero"),
        (1, "float32", "one"),
        (1 + 0j, "complex64", "one"),
        (0j, "complex64", "zero"),
        (2, "float64", "real"),
        (2.0, "complex128", "real"),
        (2 + 0j, "complex128", "complex"),
        (np.float32(0.5), "float32", "real"),
        (np.array(0.5), "float64", "real"),
        (Fraction(1, 2), "float64", "real"),
        (1e-60, "float32", "zero"),
        (1e-60, "float64", "real"),
        (float("nan"), "float64", "real"),
    ],
)
def test_kinds(value, dtype, kind):
    assert scalar(value, dtype).kind == kind


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64"])
def test_rounded_once_to_float32(dtype):
    assert scalar(0.1, dtype).value == ctypes.c_float(0.1).value
    assert scalar(1e300, dtype).value == float("inf")


def test_float64_keeps_the_double():
    assert scalar(0.1).value == 0.1


@pytest.mark.parametrize("value", [True, np.True_, "2", None, [1.0], object(), np.ones(1)])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(TypeError, match="gemm: argument 'alpha'"):
        scalar(value)


def test_a_complex_number_needs_complex_operands():
    with pytest.raises(TypeError, match="is complex, but the operands are float64"):
        scalar(1j)


def test_an_integer_beyond_every_float_is_refused():
    with pytest.raises(BlasError, match="beyond every floating-point number") as caught:
        scalar(10**400)
    assert (caught.value.argument, caught.value.position) == ("alpha", 6)


class OnDevice:
    """A bare CUDA array interface: enough to reason about, never read."""

    def __init__(self, shape, typestr):
        self.__cuda_array_interface__ = {
            "shape": shape,
            "typestr": typestr,
            "data": (0, False),
            "version": 3,
        }


@pytest.mark.parametrize(
    ("typestr", "dtype", "kind"),
    [
        ("<f8", "float64", "real_pointer"),
        ("<f2", "float16", "real_pointer"),
        ("<f4", "float16", "real_pointer"),
        ("<c8", "complex64", "complex_pointer"),
        ("<f4", "complex64", "real_pointer"),
    ],
)
def test_device_scalars_of_the_operand_or_compute_type(typestr, dtype, kind):
    found = scalar(OnDevice((), typestr), dtype, device=0)
    assert (found.kind, found.operand is None) == (kind, False)


@pytest.mark.parametrize(
    ("shape", "typestr", "device"),
    [((), "<f8", 0), ((1,), "<f4", 0), ((), "<f4", HOST), ((), "<f4", 1), ((), "<i4", 0)],
)
def test_other_device_scalars_are_refused(shape, typestr, device):
    with pytest.raises(TypeError, match="gemm: argument 'alpha'"):
        scalar(OnDevice(shape, typestr), "float32", device)


# ---- scalars in one sequence --------------------------------------------------------------------


class Exporter:
    """An array of which only DLPack is known: it cannot be iterated over."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **more):
        return self.array.__dlpack__(**more)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("step", [1, -2])
def test_the_numbers_of_a_param_are_those_of_any_array(step):
    values = np.array([-1.0, 2.0, 3.0, 4.0, 5.0])
    stored = values if step == 1 else np.repeat(values[::-1], 2)[::step]
    rotm, kind = ROUTINES["rotm"], DTYPES["float64"]
    for param in (list(values), stored, Exporter(stored)):
        items = unpacked(rotm, param)
        pairs = zip(rotm.scalars, items, strict=True)
        assert [parse(rotm, name, item, kind, HOST).value for name, item in pairs] == list(values)


def test_errors_of_a_param_name_it():
    rotm, kind = ROUTINES["rotm"], DTYPES["float64"]
    with pytest.raises(BlasError, match=r"'param' .*has 4 numbers") as caught:
        unpacked(rotm, [1.0] * 4)
    assert caught.value.position == 6
    with pytest.raises(TypeError, match="'param' must be a sequence of 5 numbers, got float"):
        unpacked(rotm, 1.0)
    with pytest.raises(TypeError, match="'param' is complex"):
        parse(rotm, "h11", 1j, kind, HOST)
    with pytest.raises(BlasError, match=r"'param' .*beyond every floating-point number"):
        parse(rotm, "h21", 10**400, kind, HOST)


def test_a_real_scalar_on_a_device_is_no_complex_number():
    rot, kind = ROUTINES["rot"], DTYPES["complex64"]
    for name, dtype, right in (("c", "complex64", False), ("s", "complex64", True)):
        element = Operand(1 << 20, DTYPES[dtype], (), (), 0, 0, "cupy", None)
        if right:
            assert parse(rot, name, element, kind, 0).kind == "complex_pointer"
            continue
        with pytest.raises(TypeError, match="'c' is complex64, but it has to be real"):
            parse(rot, name, element, kind, 0)
