"""The description of one routine that everything else reads: Spec, Arg and Option."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tileblas.core.dtypes import DTYPES, RESULTS, DType

TRANS = "NTC"  # letters of a transpose option: none, transpose, conjugate transpose


@dataclass(frozen=True)
class Arg:
    """One array operand. `axes` names its dimensions: "n" a vector, "mk" a matrix of m x k, "5"
    five elements.

    `role`: "in" is read, "inout" is read and written in place, "out" is given and only written,
    "new" is always a new result.
    `optional`: a new array is made when none is given. `trans`: the option that swaps the axes.
    `type`: of its elements, where it is not that of the operands: "real" numbers of the precision
    of complex ones (a norm), or one by name. `of_real`: there is one for real operands only.
    """

    name: str
    axes: str
    role: str = "in"
    optional: bool = False
    trans: str | None = None
    type: str = ""
    of_real: bool = False

    @property
    def ndim(self) -> int:
        return len(self.axes)

    @property
    def is_output(self) -> bool:
        return self.role != "in"

    @property
    def is_read(self) -> bool:
        return self.role in ("in", "inout")

    def dtype(self, dtype: DType) -> DType:
        """The element type of this operand in a call on operands of `dtype`."""
        if not self.type:
            return dtype
        return DTYPES[dtype.real] if self.type == "real" else RESULTS[self.type]

    def exists(self, dtype: DType) -> bool:
        """Whether a call on operands of `dtype` has this operand."""
        return not (self.of_real and dtype.is_complex)


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
    `real_scalars`: those that must be real whatever the operands are. `packed`: the name of the
    one sequence in which a caller passes all scalars (rotm). `lazy`: which of torch's lazy bits
    operands may carry, "conj", "neg" or both. `nonempty`: the rule that an empty vector breaks.
    `output` is the last of the outputs, whose shape and order in memory decide a plan; a call
    returns those of `returns`, all if none is named.
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
    real_scalars: tuple[str, ...] = ()
    packed: str = ""
    options: tuple[Option, ...] = ()
    conj: str = ""  # operand that the routine itself conjugates (dotc: x)
    aliasing: bool = False
    idle_alpha: str = ""
    stored_sizes: bool = False
    takes_math: bool = False
    widens: bool = False  # half inputs may meet a float32 output
    lazy: tuple[str, ...] = ("conj", "neg")
    nonempty: str = ""
    dtypes: tuple[str, ...] = tuple(DTYPES)
    family: str = ""
    returns: tuple[str, ...] = ()
    # Derived: what the caller passes, and which of the operands are outputs.
    arguments: tuple[Arg, ...] = field(init=False)
    argument_names: tuple[str, ...] = field(init=False)
    option_names: tuple[str, ...] = field(init=False)
    outputs: tuple[int, ...] = field(init=False)
    output: int = field(init=False)
    output_name: str = field(init=False)

    def __post_init__(self) -> None:
        given = tuple(arg for arg in self.operands if arg.role != "new")
        object.__setattr__(self, "arguments", given)
        outputs = tuple(i for i, arg in enumerate(self.operands) if arg.is_output)
        object.__setattr__(self, "argument_names", tuple(arg.name for arg in given))
        object.__setattr__(self, "option_names", tuple(option.name for option in self.options))
        object.__setattr__(self, "outputs", outputs)
        object.__setattr__(self, "output", outputs[-1])
        object.__setattr__(self, "output_name", self.operands[outputs[-1]].name)
        names = tuple(self.operands[i].name for i in outputs)
        object.__setattr__(self, "returns", self.returns or names)
        object.__setattr__(self, "family", self.family or self.name)

    def __repr__(self) -> str:
        return f"Spec({self.name})"

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names that a caller passes before options: arrays, then numbers."""
        return (*self.argument_names, *((self.packed,) if self.packed else self.scalars))

    def passed_as(self, scalar: str) -> str:
        """The argument of a caller that holds a scalar."""
        return self.packed or scalar

    def operand(self, name: str) -> Arg:
        """The operand of that name."""
        return next(arg for arg in self.operands if arg.name == name)

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
