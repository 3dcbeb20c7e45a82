"""The rules that a call must meet: calls on arrays, and calls in the words of Fortran BLAS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from tileblas.core.call import Scalar
from tileblas.core.dtypes import DTYPES, HALF, DType
from tileblas.core.operand import READONLY, Operand
from tileblas.core.overlap import overlaps_itself, share_elements
from tileblas.core.spec import Arg, Spec
from tileblas.errors import BlasError

MATH_NAMES = ("ieee",)  # the arithmetics of FP32 that exist; None means the default


def fail(spec: Spec, argument: str | None, message: str) -> NoReturn:
    """Raise BlasError naming routine, argument and Fortran position."""
    position = spec.position(argument) if argument else None
    raise BlasError(spec.name, argument, message, position)


# ---- calls on arrays --------------------------------------------------------------------------


def check_options(spec: Spec, options: Mapping[str, Any], math: str | None) -> dict[str, str]:
    """The options as upper-case letters, each one that the routine knows."""
    letters = {}
    for option in spec.options:
        value = options[option.name]
        letter = value.upper() if isinstance(value, str) else value
        if not isinstance(letter, str) or len(letter) != 1 or letter not in option.letters:
            allowed = ", ".join(repr(x) for x in option.letters)
            fail(spec, option.name, f"is {value!r}; it must be one of {allowed}")
        letters[option.name] = letter
    if math is not None and math not in MATH_NAMES:
        fail(spec, "math", f"is {math!r}; it must be None or one of {', '.join(MATH_NAMES)}")
    return letters


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


def check_shapes(
    spec: Spec, operands: Sequence[Operand | None], options: Mapping[str, str]
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
        if arg.is_output and lead != batch:
            fail(
                spec, arg.name, f"has shape {shape}, but the inputs broadcast to the batch {batch}"
            )
    return tuple(sizes[axis][0] for axis in spec.dims), batch


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


def math_axes(arg: Arg, options: Mapping[str, str]) -> str:
    """The operand's axes as stored: swapped where its trans option is T or C."""
    return arg.axes[::-1] if arg.trans and options[arg.trans] != "N" else arg.axes


def check_output(
    spec: Spec, operands: Sequence[Operand | None], scalars: Mapping[str, Scalar]
) -> None:
    """A given output can be written without harm; a missing one has no old value to add."""
    for arg, operand in zip(spec.arguments, operands, strict=True):
        if not arg.is_output:
            continue
        if operand is None:
            if scalars["beta"].kind != "zero":
                fail(spec, "beta", f"is given without {arg.name!r}; it must be the number 0 then")
            continue
        # JAX arrays are immutable: the dispatcher has already put a copy in their place.
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
        same = (output.pointer, output.shape, output.strides, output.flags & ~READONLY)
        if spec.aliasing and same == (
            other.pointer,
            other.shape,
            other.strides,
            other.flags & ~READONLY,
        ):
            continue
        allowed = " other than being the same view" if spec.aliasing else ""
        fail(
            spec, arg.name, f"shares elements with {other_arg.name!r}{allowed}; pass a copy of one"
        )


# ---- calls in the words of Fortran BLAS ------------------------------------------------------


def check_blas(
    spec: Spec,
    layout: str = "col",
    lengths: Mapping[str, int] | None = None,
    offsets: Mapping[str, int] | None = None,
    **arguments: Any,
) -> None:
    """Check letters, sizes, leading dimensions, increments in the order of Fortran's arguments.

    `arguments` are named as in spec.fortran (trans_a, m, lda, incx, ...); `layout` is "col" or
    "row"; `lengths` gives elements available behind an operand, `offsets` where it starts there.
    Raises BlasError for the first argument that breaks its rule, with its Fortran position.
    """
    if layout not in ("col", "row"):
        raise BlasError(spec.name, "layout", f"is {layout!r}; it must be 'col' or 'row'")
    options = {option.name: str(arguments[option.name]).upper() for option in spec.options}
    for name in spec.fortran:
        if name not in arguments:
            continue
        value = arguments[name]
        if name in options:
            check_options_of_one(spec, name, value)
        elif name in spec.dims and value < 0:
            fail(spec, name, f"is {value}; it must be at least 0")
        elif name.startswith("ld"):
            rows = _stored_rows(spec, _operand_named(spec, name[2:]), options, arguments, layout)
            if value < max(1, rows):
                fail(spec, name, f"is {value}; it must be at least max(1, {rows})")
        elif name.startswith("inc"):
            is_output = _operand_named(spec, name[3:]).is_output
            if value == 0 and (is_output or spec.level > 1):
                fail(spec, name, "is 0; only an input vector may have increment 0")
    for name, available in (lengths or {}).items():
        offset = (offsets or {}).get(name, 0)
        needed = offset + _span(spec, _operand_named(spec, name), options, arguments, layout)
        if offset < 0 or needed > available:
            fail(spec, name, f"needs {needed} elements (offset {offset}) but has {available}")


def check_options_of_one(spec: Spec, name: str, value: Any) -> None:
    """One option letter, checked alone so that errors come in the order of positions."""
    one = next(option for option in spec.options if option.name == name)
    others = {option.name: option.default for option in spec.options}
    check_options(spec, {**others, one.name: value}, None)


def _operand_named(spec: Spec, name: str) -> Arg:
    return next(arg for arg in spec.operands if arg.name == name)


def _stored(spec: Spec, arg: Arg, options, arguments, layout: str) -> tuple[int, int]:
    """(contiguous length, number of such runs) of a matrix as stored."""
    rows, columns = (arguments[axis] for axis in math_axes(arg, options))
    return (rows, columns) if layout == "col" else (columns, rows)


def _stored_rows(spec: Spec, arg: Arg, options, arguments, layout: str) -> int:
    return _stored(spec, arg, options, arguments, layout)[0]


def _span(spec: Spec, arg: Arg, options, arguments, layout: str) -> int:
    """Elements from the first to the last one that the operand touches."""
    if arg.ndim == 1:
        n = arguments[arg.axes]
        return 1 + (n - 1) * abs(arguments["inc" + arg.name]) if n > 0 else 0
    run, runs = _stored(spec, arg, options, arguments, layout)
    return (runs - 1) * arguments["ld" + arg.name] + run if run > 0 and runs > 0 else 0
