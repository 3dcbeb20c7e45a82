"""Host arrays on the cuda backend: copied to the device, computed there, the output copied back.

A call with a large output is cut along one axis of it into panels. Each is the same call on parts
of the operands: while one panel is computed, the next is on its way up and the one before on its
way down. No axis that is summed over is cut. Element-wise results have the bits of the uncut call;
the plan of a product may depend on the size of its panel, and so may the last bits, which are the
same every time, since the panels follow from the shapes alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tileblas.core.call import Scalar
from tileblas.core.check import math_axes
from tileblas.core.dtypes import DTYPES, DType
from tileblas.core.operand import CONJ, NEG, Operand, numpy_view
from tileblas.core.spec import Arg, Spec

if TYPE_CHECKING:  # at run time only where there is a GPU
    from tileblas.runtime.memory import DeviceArray
    from tileblas.runtime.pinned import ComputeStream, Copy, Transfer

DEVICE = 0  # where host arrays are staged to; CUDA_VISIBLE_DEVICES chooses another one

# To wake the threads that copy takes 1 to 2 ms; a panel of this size is 3 ms on the link. With 8 of
# them, what cannot overlap (the first one up, the last one down) is a small part.
_PANEL_BYTES = 128 << 20
_MOST_PANELS = 8
_PANEL_STEP = 128  # elements: panels end where tiles do, and their rows stay aligned

# The sizes of each routine whose parts are calls of their own. A batch axis always is one.
_INDEPENDENT = (
    {"gemv": "m"}
    | dict.fromkeys(("gemm", "ger", "geru", "gerc"), "mn")
    | dict.fromkeys(("axpby", "axpy", "copy", "rot", "rotm", "scal", "swap"), "n")
)


def runner(
    call: Callable[..., Any], spec: Spec, options: Any, math: str | None, fresh: bool = False
) -> Callable:
    """The function that stages operands, repeats the call on the device, fetches the output.

    Where the output is `fresh`, so has no old value, the call on the device makes one too.
    """

    def run(operands: Mapping[str, Operand], scalars: Mapping[str, Scalar], stream: Any) -> None:
        from tileblas.runtime.driver import driver
        from tileblas.runtime.pinned import link

        on = driver()
        staged = Staged(call, spec, options, math, operands, scalars, fresh)
        # stream= orders work on device arrays; here the copies decide, and the call waits for them.
        # That must not end a capture of another stream, so the rules of captures are relaxed.
        with on.relaxed(), link(on, DEVICE).stream() as own, ExitStack() as arriving:
            for panel in staged.allocate(own):
                staged.send(panel)
                for name, result in staged.compute(panel, own).items():
                    # Waited for at the end, also when a later panel fails.
                    # Callbacks run last to first: what has arrived is then repeated.
                    arriving.callback(_repeat, panel.outputs[name], result.shape)
                    arriving.callback(staged.receive(panel, name, result).wait)

    return run


@dataclass(slots=True)
class Piece:
    """A part of one host array, as NumPy stores it, and the device array that stands for it."""

    host: np.ndarray
    device: DeviceArray
    copy: Copy
    unsent: bool


@dataclass(frozen=True)
class Panel:
    """One call on the device: a piece for each argument, and where each output goes, by name.

    There is none for an output that the call on the device makes itself.
    """

    pieces: tuple[Piece | None, ...]
    outputs: Mapping[str, np.ndarray]


class Staged:
    """One call on host arrays, in the stages that a panel goes through."""

    def __init__(
        self,
        call: Callable[..., Any],
        spec: Spec,
        options: Sequence[str],
        math: str | None,
        operands: Mapping[str, Operand],
        scalars: Mapping[str, Scalar],
        fresh: bool = False,
    ) -> None:
        self._call, self._spec, self._math = call, spec, math
        self._made = spec.output_name if fresh else None
        self._options, self._operands = options, operands
        names = spec.option_names
        self._letters = {n: str(o).upper() for n, o in zip(names, options, strict=True)}
        self._values = [scalars[name].value for name in spec.scalars]
        alpha, beta = scalars.get("alpha"), scalars.get("beta")
        # What a triangle leaves alone comes back with it, so it has to be there.
        self._reads_output = beta is None or beta.kind != "zero" or spec.writes_triangle
        # Beside a beta, alpha = 0 drops the product, and no input is read.
        self._reads_inputs = alpha is None or beta is None or alpha.kind != "zero"
        self._ordered = False  # sends wait for the memory's allocation

    def allocate(self, stream: ComputeStream) -> list[Panel]:
        """Device memory of all panels, in the order of the stream: what fails, fails before."""
        from tileblas.runtime import memory

        axis, parts = cut(self._spec, self._operands[self._spec.output_name])
        made: dict[tuple, Piece] = {}  # the same elements are sent once: gemm(a, a, trans_b="T")
        panels: list[Panel] = []
        for part in parts:
            pieces = tuple(
                None if arg.name == self._made else self._piece(arg, axis, part, made, stream)
                for arg in self._spec.arguments
            )
            panels.append(Panel(pieces, self._targets(axis, part)))
        self._ordered = len(panels) > 1
        if self._ordered:
            memory.order_sends(DEVICE, stream.handle)
        return panels

    def _targets(self, axis: int | None, part: slice) -> dict[str, np.ndarray]:
        """The parts of the outputs that a panel computes."""
        arrays = {}
        for arg in (self._spec.operands[index] for index in self._spec.outputs):
            if arg.name in self._operands:  # some there are for real operands only
                stored = _stored(self._operands[arg.name])
                axis_here = self._axis_in(arg, stored.ndim, axis)
                arrays[arg.name] = _part(stored, axis_here, part)
        return arrays

    def _piece(
        self,
        arg: Arg,
        axis: int | None,
        part: slice,
        made: dict[tuple, Piece],
        stream: ComputeStream,
    ) -> Piece:
        from tileblas.runtime import memory

        operand = self._operands[arg.name]
        host = _sent(operand, arg)
        host = _part(host, self._axis_in(arg, host.ndim, axis), part)
        key = (host.ctypes.data, host.shape, host.strides, operand.flags, operand.dtype)
        if key not in made:
            name = _name(operand.dtype)
            device = memory.empty_like(host, DEVICE, stream.handle, name, stream)
            unsent = self._reads_output if arg.is_output else self._reads_inputs
            unsent = unsent and arg.is_read
            made[key] = Piece(host, device, _copier(operand), unsent)
        return made[key]

    def _axis_in(self, arg: Arg, ndim: int, axis: int | None) -> int | None:
        """Where an axis of the output lies in an operand of `ndim` axes, None if nowhere."""
        if axis is None:
            return None
        output = self._spec.operands[self._spec.output]
        split = len(self._operands[output.name].shape) - output.ndim
        lead = ndim - arg.ndim
        if axis < split:
            return axis - split + lead if axis >= split - lead else None
        axes = math_axes(arg, self._letters)
        found = axes.find(output.axes[axis - split])
        return lead + found if found >= 0 else None

    def send(self, panel: Panel) -> None:
        """Copy to the device what the panel needs and no panel before it did."""
        from tileblas.runtime import memory

        for piece in panel.pieces:
            if piece is not None and piece.unsent:
                # All memory is there: no copy need wait for the computing of a panel before.
                memory.send(piece.host, piece.device, piece.copy, wait=not self._ordered)
                piece.unsent = False

    def compute(self, panel: Panel, stream: ComputeStream) -> dict[str, DeviceArray]:
        """Queue the call on the device arrays; returns its outputs by name."""
        spec, arrays = self._spec, [piece and piece.device for piece in panel.pieces]
        found = self._call(spec, arrays, self._values, self._options, self._math, stream)
        returned = dict(
            zip(spec.returns, found if len(spec.returns) > 1 else (found,), strict=True)
        )
        names = zip(spec.argument_names, arrays, strict=True)
        given = {name: array for name, array in names if array is not None}
        return {name: {**returned, **given}[name] for name in panel.outputs}

    def receive(self, panel: Panel, name: str, result: DeviceArray) -> Transfer:
        """Start to copy an output to its place, through the lazy bits of a torch view."""
        from tileblas.runtime import memory

        copy = _copier(self._operands[name])
        return memory.receive(result, _first(panel.outputs[name], result.shape), copy)


def panel_count(nbytes: int) -> int:
    """How many panels a call with an output of so many bytes is worth."""
    return max(1, min(_MOST_PANELS, nbytes // _PANEL_BYTES))


def cut(spec: Spec, output: Operand) -> tuple[int | None, list[slice]]:
    """The axis along which a call is cut and the parts of it; (None, [all]) if it is not worth it.

    Of the axes with enough elements, the one whose elements are farthest apart in memory.
    """
    assert output.dtype is not None
    count = panel_count(prod(output.shape) * output.dtype.itemsize)
    arg = spec.operands[spec.output]
    split = len(output.shape) - arg.ndim
    free = [
        axis
        for axis in range(len(output.shape))
        if axis < split or arg.axes[axis - split] in _INDEPENDENT.get(spec.name, "")
    ]
    if count == 1 or not free:
        return None, [slice(None)]
    axis = max(free, key=lambda i: (min(output.shape[i], count), abs(output.strides[i])))
    step = -(-output.shape[axis] // count)
    if step > _PANEL_STEP:
        step = -(-step // _PANEL_STEP) * _PANEL_STEP
    return axis, [slice(start, start + step) for start in range(0, output.shape[axis], step)]


def _part(array: np.ndarray, axis: int | None, part: slice) -> np.ndarray:
    """The part of an array along an axis that it has and does not broadcast."""
    if axis is None or array.shape[axis] == 1:
        return array
    return array[(slice(None),) * axis + (part,)]


def _sent(operand: Operand, arg: Arg) -> np.ndarray:
    """What is sent of an operand: a batch axis of stride 0 once, as the device broadcasts it."""
    lead = operand.strides[: len(operand.strides) - arg.ndim]
    parts = (slice(0, 1) if step == 0 else slice(None) for step in lead)
    return _stored(operand)[(*parts, ...)]


def _first(output: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The part of a new output that is computed: once along a batch axis that no input walks."""
    return output if output.shape == shape else output[tuple(map(slice, shape))]


def _repeat(output: np.ndarray, shape: tuple[int, ...]) -> None:
    """Fill the rest of the output from that part."""
    if output.shape != shape:
        output[...] = _first(output, shape)


def _stored(operand: Operand) -> np.ndarray:
    """The array as NumPy stores it (bfloat16 as its bits)."""
    assert operand.dtype is not None
    return numpy_view(operand.pointer, operand.dtype, operand.shape, operand.strides, operand.array)


def _copier(operand: Operand) -> Copy:
    """copy(target, source) through the lazy bits of a torch view."""
    if operand.flags & NEG and operand.dtype is DTYPES["bfloat16"]:
        return _negate_bfloat16
    return _COPIERS[operand.flags & (CONJ | NEG)]


def _negate_bfloat16(target: np.ndarray, source: np.ndarray) -> None:
    """target := -source of bfloat16, which is here as its bits: the sign is the highest one."""
    np.bitwise_xor(source, np.uint16(1 << 15), out=target)


_COPIERS: dict[int, Copy] = {
    0: np.copyto,
    CONJ: lambda target, source: np.conjugate(source, out=target),
    NEG: lambda target, source: np.negative(source, out=target),
    CONJ | NEG: lambda target, source: np.negative(np.conjugate(source, out=target), out=target),
}


def _name(dtype: DType | None) -> str:
    assert dtype is not None
    return dtype.name
