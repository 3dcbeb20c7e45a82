"""The description of one routine that everything else reads: Spec, Arg and Option."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tileblas.core.dtypes import DTYPES, RESULTS, DType

TRANS = "NTC"  # letters of a transpose option: none, transpose, conjugate transpose
SIDE = "LR"  # where a matrix stands: left or right of the other one
UPLO = "UL"  # which triangle is stored: the upper one, the lower one
DIAG = "NU"  # what is on the diagonal of a triangle: what is stored, or ones

#: Ways to store a matrix: all of it, the diagonals of a band as rows, a triangle column by column.
DENSE, BAND, PACKED = "", "band", "packed"


@dataclass(frozen=True)
class Arg:
    """One array operand. `axes` names its dimensions: "n" a vector, "mk" a matrix of m x k, "5"
    five elements, "p" the n (n + 1) / 2 elements of a packed triangle.

    `role`: "in" is read, "inout" is read and written in place, "out" is given and only written,
    "new" is always a new result.
    `optional`: a new array is made when none is given. `trans`: the option that swaps the axes.
    `type`: of its elements, where it is not that of the operands: "real" numbers of the precision
    of complex ones (a norm), or one by name. `of_real`: there is one for real operands only.
    `storage`: how a matrix is stored that is not dense. BAND has the diagonals as its rows, the
    uppermost first, each element in the column that it has in the matrix; PACKED has the columns of
    a triangle one after the other. `sided`: the option that says on which side of the other matrix
    a square one stands: its order, k, is m for "L" and n for "R".
    """

    name: str
    axes: str
    role: str = "in"
    optional: bool = False
    trans: str | None = None
    type: str = ""
    of_real: bool = False
    storage: str = DENSE
    sided: str = ""

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
    """One keyword that takes a BLAS letter, or, where it has no letters, a size.

    A `required` size has no default; None stands for one that follows from the arrays. Complex
    arrays may have fewer letters: `complex_letters`, where these are not all.
    """

    name: str
    letters: str = ""
    default: str | None = None
    required: bool = False
    complex_letters: str = ""

    @property
    def is_size(self) -> bool:
        return not self.letters


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
    `structure`: what the one matrix is of which not all elements are stored or read: "triangular",
    "symmetric", "hermitian", "skew" (its transpose is its negative), "band", or "both" where
    a general one is multiplied as it is and transposed. `signs`: the operands
    whose lazy minus signs a result carries, all but one that is its own old value if none is named.
    `structured`: the operand that `structure` describes, if not the first one called "a" or "ap".
    `partner`: what the first input is multiplied by, the "transpose" or the "adjoint" of the last
    one, which may be the same (syrk, herk). `twice`: the product with the two of them exchanged is
    added (syr2k).
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
    structure: str = ""
    structured: str = ""
    partner: str = ""
    twice: bool = False
    signs: tuple[str, ...] = ()
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
        every = tuple(arg.name for arg in self.operands)
        # Where there is one operand (scal), old value and new one carry the same sign.
        object.__setattr__(self, "signs", self.signs or (every if len(every) > 1 else ()))
        object.__setattr__(self, "family", self.family or self.name)
        matrix = next((name for name in every if name in ("a", "ap")), "")
        object.__setattr__(self, "structured", self.structure and (self.structured or matrix))

    def __repr__(self) -> str:
        return f"Spec({self.name})"

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names that a caller passes before options: arrays, then numbers."""
        return (*self.argument_names, *((self.packed,) if self.packed else self.scalars))

    @property
    def updates(self) -> bool:
        """Whether a result that is made has an old value, of zeros: there is no beta to say 0."""
        output = self.operands[self.output]
        return output.role == "inout" and output.optional and "beta" not in self.scalars

    @property
    def writes_triangle(self) -> bool:
        """Whether a given output keeps the elements of one triangle (syr, syrk)."""
        return bool(self.structured) and self.structured == self.output_name

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
