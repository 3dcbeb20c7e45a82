"""The rules that a call on arrays must meet; each check names routine, argument and rule."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from tileblas.core.call import Scalar
from tileblas.core.dtypes import DTYPES, HALF, DType
from tileblas.core.operand import CONJ, NEG, READONLY, Operand
from tileblas.core.overlap import overlaps_itself, share_elements
from tileblas.core.spec import PACKED, Arg, Spec
from tileblas.core.storage import math_axes, packed_length
from tileblas.errors import BlasError

MATH_NAMES = ("ieee",)  # the arithmetics of FP32 that exist; None means the default


def fail(spec: Spec, argument: str | None, message: str) -> NoReturn:
    """Raise BlasError naming routine, argument and Fortran position."""
    position = spec.position(argument) if argument else None
    raise BlasError(spec.name, argument, message, position)


def check_options(spec: Spec, options: Mapping[str, Any], math: str | None) -> dict[str, Any]:
    """The options as upper-case letters, each one that the routine knows, and sizes as numbers."""
    letters = {name: check_option(spec, name, options[name]) for name in spec.option_names}
    if math is not None and math not in MATH_NAMES:
        fail(spec, "math", f"is {math!r}; it must be None or one of {', '.join(MATH_NAMES)}")
    return letters


def check_option(spec: Spec, name: str, value: Any) -> Any:
    """One option as the upper-case letter that it must be, or as a size, which may be None."""
    option = next(option for option in spec.options if option.name == name)
    if option.is_size:
        return None if value is None and not option.required else check_size(spec, name, value)
    letter = value.upper() if isinstance(value, str) else ""
    if len(letter) != 1 or letter not in option.letters:
        allowed = ", ".join(repr(x) for x in option.letters)
        fail(spec, name, f"is {value!r}; it must be one of {allowed}")
    return letter


def check_letters(spec: Spec, options: Mapping[str, Any], dtype: DType) -> None:
    """The letters are those that the routine knows for this type: syrk has no "C" for complex."""
    for option in spec.options:
        value, letters = options[option.name], option.complex_letters
        if dtype.is_complex and letters and value not in letters:
            allowed = ", ".join(map(repr, letters))
            fail(spec, option.name, f"is {value!r}; for {dtype} it must be one of {allowed}")


def check_size(spec: Spec, name: str, value: Any) -> int:
    """A size as the integer, at least 0, that it must be. Raises TypeError for no integer."""
    try:
        size = operator.index(value)
    except TypeError:
        message = f"{spec.name}: argument {name!r} must be an integer, got {value!r}"
        raise TypeError(message) from None
    if size < 0:
        fail(spec, name, f"is {size}; it must be at least 0")
    return size


def check_dtypes(spec: Spec, operands: Sequence[Operand | None]) -> DType:
    """The one element type of the inputs. Raises TypeError for any other mixture."""
    first: DType | None = None
    for arg, operand in zip(spec.arguments, operands, strict=True):
        if operand is None:
            continue
        dtype = operand.dtype
        if dtype is None or dtype.name not in spec.dtypes:
            got = getattr(operand.array, "dtype", type(operand.array).__name__)
            order = "" if getattr(got, "isnative", True) else " of non-native byte order"
            allowed = ", ".join(spec.dtypes)
            raise TypeError(
                f"{spec.name}: argument {arg.name!r} is {got}{order}, not one of {allowed}"
            )
        first = first or dtype
        widened = spec.widens and arg.is_output and first in HALF and dtype is DTYPES["float32"]
        if dtype is not first and not widened:
            raise TypeError(
                f"{spec.name}: argument {arg.name!r} is {dtype}, but {spec.arguments[0].name!r} is "
                f"{first}; operands are never promoted"
            )
    assert first is not None
    return first


def check_devices(spec: Spec, operands: Sequence[Operand | None]) -> int:
    """The one device of all operands: a CUDA ordinal, or HOST."""
    first = operands[0]
    assert first is not None
    for arg, operand in zip(spec.arguments, operands, strict=True):
        if operand is not None and operand.device != first.device:
            where = [
                f"CUDA device {o.device}" if o.device >= 0 else "the host" for o in (operand, first)
            ]
            message = f"is on {where[0]}, but {spec.arguments[0].name!r} is on {where[1]}"
            fail(spec, arg.name, message)
    return first.device


def check_lazy_bits(spec: Spec, operands: Sequence[Operand | None]) -> None:
    """No operand is a lazy view of a kind that the routine does not take."""
    refused = sum(bit for name, bit in (("conj", CONJ), ("neg", NEG)) if name not in spec.lazy)
    for arg, operand in zip(spec.arguments, operands, strict=True):
        if operand is None:
            continue
        # What is written goes through no lazy bit but where the routine takes both kinds.
        wrong = refused if arg.role == "in" or not refused else CONJ | NEG
        if operand.flags & wrong:
            fail(spec, arg.name, "is a lazily conjugated or negated view; resolve it first")


def check_unit_diagonal(
    spec: Spec, operands: Sequence[Operand | None], options: Mapping[str, Any]
) -> None:
    """No triangle with a unit diagonal is lazily negated: its ones would keep their sign."""
    if options.get("diag") == "U":
        arg, operand = spec.arguments[0], operands[0]
        if operand is not None and operand.flags & NEG:
            fail(spec, arg.name, "is a lazily negated view of diagonal 1; resolve it first")


def check_shapes(
    spec: Spec, operands: Sequence[Operand | None], options: Mapping[str, Any]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(dims, batch): the sizes in the order of spec.dims, and the broadcast leading axes."""
    sizes: dict[str, tuple[int, Arg, tuple[int, ...]]] = {}
    batch: tuple[int, ...] = ()
    batch_from: tuple[Arg, tuple[int, ...]] | None = None
    for arg, operand in zip(spec.arguments, operands, strict=True):
        if operand is None:
            continue
        shape = operand.shape
        if len(shape) < arg.ndim:
            need = (
                "a vector has at least one axis"
                if arg.ndim == 1
                else "a matrix has at least two axes"
            )
            fail(spec, arg.name, f"has shape {shape}; {need}")
        for axis, size in zip(math_axes(arg, options), shape[len(shape) - arg.ndim :], strict=True):
            known, other, seen = sizes.setdefault(axis, (size, arg, shape))
            if known != size:
                mine = f"has shape {shape} with {axis} = {size}"
                fail(spec, arg.name, f"{mine}, but {other.name!r} has {seen} with {axis} = {known}")
        lead = shape[: len(shape) - arg.ndim]
        joined = broadcast(batch, lead)
        if isinstance(joined, BatchMismatch):
            assert batch_from is not None
            name, seen = batch_from[0].name, batch_from[1]
            sizes_differ = f"batch sizes {joined.right} and {joined.left} do not broadcast"
            fail(spec, arg.name, f"has shape {shape}, but {name!r} has {seen}: {sizes_differ}")
        if joined != batch or batch_from is None:
            batch_from = (arg, shape)
        batch = joined
    for arg, operand in zip(spec.arguments, operands, strict=True):
        if operand is None:
            continue
        shape = operand.shape
        if arg.is_output and shape[: len(shape) - arg.ndim] != batch:
            message = f"has shape {shape}, but the inputs broadcast to the batch {batch}"
            fail(spec, arg.name, message)
        if spec.nonempty and 0 in shape[len(shape) - arg.ndim :]:
            fail(spec, arg.name, f"has shape {shape}; {spec.nonempty}")
    found = {axis: size for axis, (size, _, _) in sizes.items()}
    if any(arg.sided for arg in spec.operands):  # the inner dimension is the order of that matrix
        found["k"] = found["m" if options["side"] == "L" else "n"]
    check_storage(spec, found, options)
    return tuple(found[axis] for axis in spec.dims), batch


def check_storage(spec: Spec, sizes: dict[str, int], options: Mapping[str, Any]) -> None:
    """A band has room for its diagonals, a packed triangle as many elements as it must.

    Adds to `sizes`, those of op(A) by name, the rows of a band beside which no vector says them.
    """
    arg = next((arg for arg in spec.operands if arg.storage), None)
    if arg is None:
        return
    if arg.storage == PACKED:
        length, n = sizes.get("p", 0), sizes["n"]
        if "p" in sizes and length != packed_length(n):
            rule = f"a packed triangle of order n = {n} has {packed_length(n)}"
            fail(spec, arg.name, f"has {length} elements; {rule}")
        return
    if sizes["b"] < 1:
        fail(spec, arg.name, "has no row; a band has one for each diagonal, of which one is main")
    if "kl" not in options:
        return
    if options["kl"] >= sizes["b"]:
        rows = f"{arg.name!r} has {sizes['b']} rows, which are to be kl + ku + 1"
        fail(spec, "kl", f"is {options['kl']}, but {rows}")
    rows, columns = "mn" if options["trans"] == "N" else "nm"  # of A as stored
    known, given = sizes.get(rows), options["m"]
    if None not in (known, given) and known != given:
        fail(spec, "m", f"is {given}, but a vector along these rows has {known} elements")
    sizes.setdefault(rows, sizes[columns] if given is None else given)


class BatchMismatch:
    """Two batch sizes that do not broadcast."""

    def __init__(self, left: int, right: int) -> None:
        self.left, self.right = left, right


def broadcast(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...] | BatchMismatch:
    """NumPy's broadcasting rule for two tuples of leading axes."""
    rank = max(len(left), len(right))
    joined = []
    for p, q in zip(
        (1,) * (rank - len(left)) + left, (1,) * (rank - len(right)) + right, strict=True
    ):
        if p != q and 1 not in (p, q):
            return BatchMismatch(p, q)
        joined.append(q if p == 1 else p)
    return tuple(joined)


def check_output(
    spec: Spec, operands: Sequence[Operand | None], scalars: Mapping[str, Scalar]
) -> None:
    """A given output can be written without harm; a missing one has no old value to add."""
    for arg, operand in zip(spec.arguments, operands, strict=True):
        if not arg.is_output:
            continue
        if operand is None:
            if "beta" in scalars and scalars["beta"].kind != "zero":
                fail(spec, "beta", f"is given without {arg.name!r}; it must be the number 0 then")
            continue
        if operand.library == "jax":  # immutable: a copy is written and returned in its place
            continue
        if operand.flags & READONLY:
            fail(spec, arg.name, "is read-only, but it is the output")
        if overlaps_itself(operand):
            strides = operand.strides
            fail(
                spec,
                arg.name,
                f"has overlapping elements (strides {strides}), but it is the output",
            )
        check_aliasing(spec, arg, operand, operands)


def check_aliasing(
    spec: Spec, arg: Arg, output: Operand, operands: Sequence[Operand | None]
) -> None:
    """The output meets no other operand, but as the identical view where that is allowed."""
    for other_arg, other in zip(spec.arguments, operands, strict=True):
        if other is None or other is output or not share_elements(output, other):
            continue
        if spec.aliasing and _same_view(output, other):
            continue
        allowed = " other than being the same view" if spec.aliasing else ""
        fail(
            spec, arg.name, f"shares elements with {other_arg.name!r}{allowed}; pass a copy of one"
        )


def _same_view(left: Operand, right: Operand) -> bool:
    """Whether two operands are the same elements in the same order, with the same lazy bits."""
    return left.pointer == right.pointer and lie_alike(left, right)


def lie_alike(left: Operand, right: Operand) -> bool:
    """Whether two operands would be the same view if they began at the same address."""
    return _layout(left) == _layout(right)


def _layout(operand: Operand) -> tuple:
    # An axis of length 1 has no stride of its own.
    strides = tuple(0 if n <= 1 else s for n, s in zip(operand.shape, operand.strides, strict=True))
    return operand.shape, strides, operand.flags & ~READONLY


def check_scalar_aliasing(
    spec: Spec, name: str, scalar: Operand, arg: Arg, output: Operand
) -> None:
    """A device scalar is no element of an output: kernels read it while they write."""
    if share_elements(output, scalar):
        message = f"is an element of {arg.name!r}, the output; pass a copy of it"
        fail(spec, spec.passed_as(name), message)
