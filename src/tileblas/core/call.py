"""The frozen records of the pipeline: Scalar, View and Problem."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from tileblas.core.dtypes import DType
from tileblas.core.operand import Operand


class Scalar(NamedTuple):
    """alpha or beta: a host number (`value`), or a 0-d device array (`operand`).

    `kind` is what kernels and plans may depend on: "zero", "one", "real", "complex" for host
    numbers, "real_pointer", "complex_pointer" on a device. A complex-typed number is "complex"
    even where its imaginary part is 0, unless it is exactly 0 or 1: it multiplies as BLAS does.
    """

    kind: str
    value: complex = 0.0
    operand: Operand | None = None

    @property
    def dtype(self) -> str:
        """Element type of the device array, "" for a host number."""
        return self.operand.dtype.name if self.operand and self.operand.dtype else ""


@dataclass(frozen=True)
class View:
    """One canonical operand: `slot` names the array it lies in, strides are signed elements.

    `batch` holds one stride per axis of Problem.batch (0 where the operand is broadcast), and
    an axis of length 1 has stride 0. `conj`: the values are the conjugates of what is stored.
    Matrices that are stored as bands or packed are linear too, or nearly: element (i, j) lies
    start + sum over the axes of strides i + curve i (i + 1) / 2 behind the array's first one. Only
    a packed triangle has a curve, along the axis whose steps grow or shrink.
    """

    slot: str
    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    batch: tuple[int, ...]
    conj: bool = False
    start: int = 0
    curve: tuple[int, ...] = ()


@dataclass(frozen=True)
class Structure:
    """Which elements of a matrix are stored and read: those where -below <= j - i <= above.

    `kind` is that of Spec.structure. Of a symmetric, Hermitian or skew matrix these are the stored
    triangle, with its diagonal unless it is skew; of a triangular one they are those of op(A), the
    diagonal among them. `unit`: the diagonal holds ones, and is not read. Of gemvt the kind says
    what A is multiplied as beside A itself, its "transpose" or its "adjoint". `slot` names the
    matrix; one that is written is "general" where its triangle is all that it is told by.
    """

    kind: str
    below: int
    above: int
    unit: bool = False
    slot: str = ""

    @property
    def lower(self) -> bool:
        """Whether a triangle is the lower one; of a diagonal, which is both, False."""
        return self.below > self.above

    @property
    def transposed(self) -> Structure:
        return replace(self, below=self.above, above=self.below)


@dataclass(frozen=True)
class Problem:
    """A checked call in canonical form: all that a plan may depend on, and nothing else.

    Transposes, layouts and reversed views are strides; conjugation is a flag on each input;
    `negate` is the sign of the product; `conj_scalars` conjugates alpha and beta (an output that is
    a lazily conjugated view). `scalars` holds, for alpha and beta, name, kind and, on a device,
    the dtype of the array ("" for host numbers); a beta of kind "unit" is 1 in a plan's second
    launch, whatever the caller's is. `structure` is that of the one matrix, None for a
    general one. `fresh`: the output is new and has no old value, though the routine has no beta.
    """

    routine: str
    dims: tuple[int, ...]
    batch: tuple[int, ...]
    inputs: tuple[View, ...]
    output: View
    scalars: tuple[tuple[str, str, str], ...] = ()
    negate: bool = False
    conj_scalars: bool = False
    math: str | None = None
    structure: Structure | None = None
    fresh: bool = False

    @property
    def views(self) -> tuple[View, ...]:
        return (*self.inputs, self.output)

    @property
    def dtype(self) -> DType:
        """The element type of the inputs, or of the output that is the only operand (scal)."""
        return self.views[0].dtype

    @property
    def compute(self) -> str:
        """The real type in which the arithmetic runs."""
        return self.dtype.compute

    @property
    def is_complex(self) -> bool:
        return self.dtype.is_complex

    @property
    def writes_triangle(self) -> bool:
        """Whether the output is a matrix of which one triangle is written."""
        return self.structure is not None and self.structure.slot == self.output.slot

    def scalar(self, name: str) -> tuple[str, str]:
        """Kind and device dtype of alpha or beta; a routine without such a scalar has "none"."""
        return next(((kind, dtype) for n, kind, dtype in self.scalars if n == name), ("none", ""))
