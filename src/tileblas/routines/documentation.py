"""The docstring of a routine, written from its Spec."""

from __future__ import annotations

from tileblas.core.spec import Arg, Spec

_SCALAR = "number, or 0-d device array (no lazy view) beside device operands; rounded once"
_BETA = "like alpha; must be the number 0 where no output is given"
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
    if spec.packed:
        count = len(spec.scalars)
        lines += [f"{spec.packed} : {count} scalars, in a sequence or an array", f"    {_SCALAR}"]
    else:
        for name in spec.scalars:
            real = "real " if name in spec.real_scalars else ""
            lines += [f"{name} : {real}scalar", f"    {_scalar(spec, name)}"]
    for option in spec.options:
        if option.is_size:
            lines += [f"{option.name} : size{'' if option.required else ' or None'}"]
            lines += ["    at least 0" + ("" if option.required else "; default None")]
            continue
        letters = ", ".join(repr(letter) for letter in option.letters)
        lines += [f"{option.name} : one of {letters}", f"    default {option.default!r}"]
    if spec.takes_math:
        lines += ["math : str, optional", f"    {_MATH}"]
    lines += ["stream : optional", f"    {_STREAM}", "", "Returns", "-------"]
    for name in spec.returns:
        output = spec.operand(name)
        of_type = f" of {output.type}" if output.type else ""
        lines.append(f"{name} : array {_shape(output)}{of_type}")
    lines.append("")
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


def _scalar(spec: Spec, name: str) -> str:
    makes_output = any(spec.operands[index].optional for index in spec.outputs)
    return _BETA if name == "beta" and makes_output else _SCALAR


def _shape(arg: Arg) -> str:
    if not arg.axes:
        return "(...)"
    return f"(..., {', '.join(arg.axes)})" + (f", as op by {arg.trans}" if arg.trans else "")


def _use(arg: Arg) -> str:
    if arg.role == "in":
        return "read; any signed strides"
    made = "; made if not given" if arg.optional else ""
    if arg.role == "out":
        return f"written{made}"
    return f"updated in place{made}"
