"""The docstring of a routine, written from its Spec."""

from __future__ import annotations

from tileblas.core.spec import Arg, Spec

_SCALARS = {
    "alpha": "number, or 0-d device array (no lazy view) beside device operands; rounded once",
    "beta": "like alpha; must be the number 0 where no output is given",
}
_MATH = 'FP32 products: "ieee" is FP32 throughout; the default is the fastest at least as accurate'
_STREAM = """CUDA stream (anything with __cuda_stream__). By default the current stream of the
    library of the output, or of the first operand where no output is given: torch's or CuPy's, the
    legacy default stream for others. Calls on host arrays do not use it."""


def docstring(spec: Spec) -> str:
    """Formula, rules, arguments with shapes, result and errors of `spec`."""
    lines = [spec.formula, "", *spec.notes.splitlines(), "", "Parameters", "----------"]
    for arg in spec.arguments:
        default = ", optional" if arg.optional else ""
        lines += [f"{arg.name} : array {_shape(arg)}{default}", f"    {_use(arg)}"]
    for name in spec.scalars:
        lines += [f"{name} : scalar", f"    {_SCALARS[name]}"]
    for option in spec.options:
        letters = ", ".join(repr(letter) for letter in option.letters)
        lines += [f"{option.name} : one of {letters}", f"    default {option.default!r}"]
    if spec.takes_math:
        lines += ["math : str, optional", f"    {_MATH}"]
    lines += ["stream : optional", f"    {_STREAM}", "", "Returns", "-------"]
    output = spec.operands[spec.output]
    lines += [f"{output.name} : array {_shape(output)}", ""]
    lines += [
        f"Element types: {', '.join(spec.dtypes)}; all arrays of one type"
        + (", except a float32 c beside half inputs." if spec.widens else "."),
        "Leading axes are batches and broadcast over inputs.",
        "",
        "Raises",
        "------",
        "BlasError for letters, shapes, devices, overlapping or read-only outputs;",
        "TypeError for element types; MemoryError with the bytes asked. Nothing is written then.",
        "",
        "Source: BLAS Technical Forum Standard (2001); semantics of Reference BLAS (netlib).",
    ]
    return "\n".join(lines)


def _shape(arg: Arg) -> str:
    if not arg.axes:
        return "(...)"
    return f"(..., {', '.join(arg.axes)})" + (f", as op by {arg.trans}" if arg.trans else "")


def _use(arg: Arg) -> str:
    if arg.role == "in":
        return "read; any signed strides"
    made = "; made if not given" if arg.optional else ""
    return f"updated in place and returned{made}"
