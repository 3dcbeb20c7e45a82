"""The description of one routine that everything else reads: Spec, Arg and Option."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tileblas.core.dtypes import DTYPES, DType

TRANS = "NTC"  # letters of a transpose option: none, transpose, conjugate transpose


@dataclass(frozen=True)
class Arg:
    """One array operand. `axes` names its dimensions: "n" a vector, "mk" a matrix of m x k.

    `role`: "in" is read, "inout" is read and written in place, "new" is always a new result.
    `optional`: a new array is made when none is given. `trans`: the option that swaps the axes.
    `real`: it holds real numbers of the operands' precision, where they are complex (a norm).
    """

    name: str
    axes: str
    role: str = "in"
    optional: bool = False
    trans: str | None = None
    real: bool = False

    @property
    def ndim(self) -> int:
        return len(self.axes)

    @property
    def is_output(self) -> bool:
        return self.role != "in"

    def dtype(self, dtype: DType) -> DType:
        """The element type of this operand in a call on operands of `dtype`."""
        return DTYPES[dtype.real] if self.real else dtype


@dataclass(frozen=True)
class Option:
    """One keyword that takes a BLAS letter."""

    name: str
    letters: str
    default: str


@dataclass(frozen=True, eq=False)
class Spec:
    """One routine, described once.

    `dims` names the sizes in the order of every `dims` tuple. `fortran` lists the arguments of the
    Fortran routine in order, from which error positions follow. `flops` and `elements` take the
    sizes by name; `elements` counts the elements that must be moved at the least, with
    `read_output` saying whether the output's old value is one of them.
    `aliasing`: whether an output may be the very view that is an input. `idle_alpha`: the kind of
    alpha with which a routine without beta leaves its output as it is ("zero" for axpy).
    `stored_sizes`: Fortran's m and n are those of the matrix as stored (gemv), not of op(A).
    """

    name: str
    level: int
    formula: str
    notes: str
    operands: tuple[Arg, ...]
    dims: str
    fortran: tuple[str, ...]
    flops: Callable[..., int]
    elements: Callable[..., int]
    plan: Callable[..., Any]
    scalars: tuple[str, ...] = ()
    options: tuple[Option, ...] = ()
    conj: str = ""  # operand that the routine itself conjugates (dotc: x)
    aliasing: bool = False
    idle_alpha: str = ""
    stored_sizes: bool = False
    takes_math: bool = False
    widens: bool = False  # half inputs may meet a float32 output
    dtypes: tuple[str, ...] = tuple(DTYPES)
    family: str = ""
    # Derived: what the caller passes, and which of the operands is the output.
    arguments: tuple[Arg, ...] = field(init=False)
    argument_names: tuple[str, ...] = field(init=False)
    option_names: tuple[str, ...] = field(init=False)
    output: int = field(init=False)
    output_name: str = field(init=False)

    def __post_init__(self) -> None:
        given = tuple(arg for arg in self.operands if arg.role != "new")
        object.__setattr__(self, "arguments", given)
        outputs = [i for i, arg in enumerate(self.operands) if arg.is_output]
        object.__setattr__(self, "argument_names", tuple(arg.name for arg in given))
        object.__setattr__(self, "option_names", tuple(option.name for option in self.options))
        object.__setattr__(self, "output", outputs[0])
        object.__setattr__(self, "output_name", self.operands[outputs[0]].name)
        object.__setattr__(self, "family", self.family or self.name)

    def __repr__(self) -> str:
        return f"Spec({self.name})"

    def __hash__(self) -> int:
        return hash(self.name)

    def position(self, argument: str) -> int | None:
        """The Fortran number of `argument`, None where Fortran has none."""
        return self.fortran.index(argument) + 1 if argument in self.fortran else None

    def flop_count(self, dims: tuple[int, ...], dtype: DType) -> int:
        """Real floating-point operations: a complex multiply-add counts as four real ones."""
        return self.flops(**dict(zip(self.dims, dims, strict=True))) * (
            4 if dtype.is_complex else 1
        )

    def byte_count(self, dims: tuple[int, ...], dtype: DType, read_output: bool = True) -> int:
        """Ideal bytes: each input read once, each output written once, and read if needed."""
        sizes = dict(zip(self.dims, dims, strict=True))
        return self.elements(read_output=read_output, **sizes) * dtype.itemsize
