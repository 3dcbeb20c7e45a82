"""The error exits of Fortran BLAS: letters, sizes, leading dimensions, increments, lengths."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

from tileblas.core.check import check_option, fail
from tileblas.core.spec import BAND, PACKED, Arg, Spec
from tileblas.core.storage import math_axes, packed_length
from tileblas.errors import BlasError

#: The numbers of diagonals beside the main one, of which a band has one or two.
_BANDS = ("k", "kl", "ku")


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
    given = {option.name: arguments.get(option.name, option.default) for option in spec.options}
    sizes: Mapping[str, Any] = arguments
    for name in spec.fortran:
        if name in given:
            given[name] = check_option(spec, name, given[name])
            sizes = _operation_sizes(spec, given, arguments)
            continue
        if name not in arguments:
            continue
        value = _integer(spec, name, arguments[name])
        if _is_size(spec, name) and value < 0:
            fail(spec, name, f"is {value}; it must be at least 0")
        elif name.startswith("ld"):
            run = _stored(spec, spec.operand(name[2:]), given, sizes, arguments, layout)[0]
            if value < max(1, run):
                fail(spec, name, f"is {value}; it must be at least max(1, {run})")
        elif name.startswith("inc"):
            is_output = spec.operand(name[3:]).is_output
            if value == 0 and (is_output or spec.level > 1):
                fail(spec, name, "is 0; only an input vector may have increment 0")
    for name, available in (lengths or {}).items():
        offset = (offsets or {}).get(name, 0)
        arg = spec.operand(name)
        needed = offset + _span(spec, arg, given, sizes, arguments, layout)
        if offset < 0 or needed > available:
            fail(spec, name, f"needs {needed} elements (offset {offset}) but has {available}")


def _operation_sizes(
    spec: Spec, options: Mapping[str, Any], arguments: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The arguments with sizes as the Spec has them: those of op(A), not of A as stored."""
    if not spec.stored_sizes or options["trans"] == "N":
        return arguments
    return {**arguments, "m": arguments.get("n"), "n": arguments.get("m")}


def _is_size(spec: Spec, name: str) -> bool:
    return name in spec.dims or name in _BANDS


def _integer(spec: Spec, name: str, value: Any) -> Any:
    """Sizes, leading dimensions and increments are integers; scalars and arrays pass."""
    if not _is_size(spec, name) and not name.startswith(("ld", "inc")):
        return value
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(
            f"{spec.name}: argument {name!r} must be an integer, got {value!r}"
        ) from None


def _stored(spec: Spec, arg: Arg, options, sizes, arguments, layout: str) -> tuple[int, int]:
    """(contiguous length, number of such runs) of a matrix as stored.

    The diagonals of a band lie side by side in both layouts: a run of them is what a column of the
    matrix has, or a row.
    """
    if arg.storage == BAND:
        diagonals = 1 + sum(arguments[name] for name in _BANDS if name in arguments)
        rows = arguments.get("m", arguments["n"])
        return diagonals, arguments["n"] if layout == "col" else rows
    rows, columns = (sizes[axis] for axis in math_axes(arg, options))
    return (rows, columns) if layout == "col" else (columns, rows)


def _span(spec: Spec, arg: Arg, options, sizes, arguments, layout: str) -> int:
    """Elements from the first to the last one that the operand touches."""
    if arg.storage == PACKED:
        return packed_length(arguments["n"])
    if arg.ndim == 1:
        n = sizes[arg.axes]
        return 1 + (n - 1) * abs(arguments["inc" + arg.name]) if n > 0 else 0
    run, runs = _stored(spec, arg, options, sizes, arguments, layout)
    return (runs - 1) * arguments["ld" + arg.name] + run if run > 0 and runs > 0 else 0
