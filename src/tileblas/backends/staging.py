"""Host arrays on the cuda backend: copied to the device, computed there, the output copied back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tileblas.core.call import Scalar
from tileblas.core.dtypes import DType
from tileblas.core.operand import CONJ, NEG, Operand, numpy_view
from tileblas.core.spec import Spec

DEVICE = 0  # where host arrays are staged to; CUDA_VISIBLE_DEVICES chooses another one
_STREAM = 0


def runner(call: Callable[..., Any], spec: Spec, options: Any, math: str | None) -> Callable:
    """The function that stages operands, repeats the call on the device, fetches the output."""

    def run(operands: Mapping[str, Operand], scalars: Mapping[str, Scalar], stream: Any) -> None:
        output = spec.output_name
        beta = scalars.get("beta")
        arrays: list[Any] = []
        for arg in spec.arguments:
            operand = operands[arg.name]
            if arg.is_output and beta is not None and beta.kind == "zero":
                arrays.append(_empty(operand))
            else:
                arrays.append(_to_device(operand, arg.ndim))
        values = [scalars[name].value for name in spec.scalars]
        # stream= orders work on device arrays; here the copies decide, and the call waits for them.
        result = call(spec, arrays, values, options, math, None)
        _fetch(result, operands[output])

    return run


def _empty(operand: Operand) -> Any:
    from tileblas.runtime import memory

    return memory.empty(operand.shape, _name(operand.dtype), DEVICE, _STREAM)


def _to_device(operand: Operand, ndim: int) -> Any:
    """A dense device copy; the lazy bits of a torch view are applied on the way.

    A batch axis of stride 0 is sent once: the device broadcasts it as the host did.
    """
    from tileblas.runtime import memory

    values = _stored(operand)
    lead = operand.strides[: len(operand.strides) - ndim]
    values = values[tuple(slice(0, 1) if step == 0 else slice(None) for step in lead)]
    if operand.flags & CONJ:
        values = np.conjugate(values)
    if operand.flags & NEG:
        values = np.negative(values)
    return memory.from_host(values, DEVICE, _STREAM, _name(operand.dtype))


def _fetch(result: Any, operand: Operand) -> None:
    """Copy the result to the host array, through its lazy bits."""
    from tileblas.runtime import memory

    values = memory.to_host(result)
    if operand.flags & CONJ:
        values = np.conjugate(values)
    if operand.flags & NEG:
        values = np.negative(values)
    _stored(operand)[...] = values


def _stored(operand: Operand):
    """The array as NumPy stores it (bfloat16 as its bits)."""
    assert operand.dtype is not None
    return numpy_view(operand.pointer, operand.dtype, operand.shape, operand.strides, operand.array)


def _name(dtype: DType | None) -> str:
    assert dtype is not None
    return dtype.name
