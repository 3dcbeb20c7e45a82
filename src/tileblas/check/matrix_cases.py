"""`matrix_case`: a call of any routine of level 2, whatever way its matrix is stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tileblas.check.cases import (
    MATRIX_LAYOUTS,
    Case,
    Plan,
    Scalar,
    named,
    offset_word,
    one_each,
    scalar_word,
    size_word,
    turned,
    vector,
)
from tileblas.check.guards import Layout
from tileblas.core.spec import BAND, PACKED, Arg, Spec
from tileblas.routines.registry import ROUTINES

#: Layouts of packed triangles by name.
PACKED_LAYOUTS = {
    "flat": vector(1),
    "flat@1": vector(1, 1),
    "gaps": vector(2),
    "gaps@1": vector(3, 1),
    "back": vector(-1),
    "back-gaps": vector(-2),
    "batch-inner": Layout("batch", core=1),
    "same": vector(0),
}
#: What the matrix of a solve and its diagonal hold where the solution is exact whole numbers.
EXACT_SOLVES = (("integers", "powers"), ("subnormal", "tiny powers"))

Size = int | tuple[int, int]  # n, or m and n
Bands = int | tuple[int, int]  # k, or kl and ku


def matrix_case(
    routine: str,
    dtype: str,
    size: Size,
    letters: str = "",
    layout: str = "",
    incs: Sequence[int] = (1,),
    alpha: Scalar = 1,
    beta: Scalar = 0,
    *,
    bands: Bands = 0,
    batches: Sequence[Sequence[int]] = ((),),
    fill: str | Sequence[str] = "random",
    diagonal: str = "",
    new: bool = False,
    rows: bool = False,
    offset: int = 0,
    form: str = "number",
) -> Case:
    """A routine on one matrix of `size`, n or (m, n) as stored, and on vectors of `incs`.

    `letters` are those of its options in turn. `bands` is k, or (kl, ku). Increments, batches and
    fills are those of its operands in turn, the last is that of all the others; `layout` is that of
    the matrix. Outputs that need not be given are not where they are to be `new`. With `rows`, a
    band is told how many it has, as it is where nothing else says so.
    """
    spec = ROUTINES[routine]
    options: dict[str, str | int] = dict(
        zip((option.name for option in spec.options if option.letters), letters, strict=True)
    )
    m, n = (size, size) if isinstance(size, int) else size
    if "kl" in spec.option_names:
        assert isinstance(bands, tuple)
        rows |= new and m != n
        options |= {"kl": bands[0]} | ({"m": m} if rows else {})
    fills = (fill,) if isinstance(fill, str) else tuple(fill)
    layout = layout or ("flat" if _matrix(spec).storage == PACKED else "col")
    vectors = [arg.name for arg in spec.arguments if not _is_matrix(arg)]
    steps = dict(zip(vectors, one_each(incs, vectors), strict=True))
    each = one_each(batches, spec.arguments), one_each(fills, spec.arguments)
    plans = tuple(
        Plan(
            arg.name,
            (*batch, *_shape(spec, arg, (m, n), bands, options)),
            _layout(arg, layout) if _is_matrix(arg) else vector(steps[arg.name], offset),
            own,
            dtype,
            diagonal if _is_matrix(arg) else "",
        )
        for arg, batch, own in zip(spec.arguments, *each, strict=True)
        if not (new and arg.optional)
    )
    scalars = {
        name: value for name, value in (("alpha", alpha), ("beta", beta)) if name in spec.scalars
    }
    words = [letters, size_word(m if m == n and _is_square(spec) else f"{m}x{n}", batches)]
    words += [
        _band_word(spec, bands),
        layout,
        f"inc{','.join(map(str, incs))}",
        offset_word(offset),
    ]
    words += [scalar_word(name, value) for name, value in scalars.items()]
    words += [diagonal.replace(" ", "-"), "m" if rows else "", "new" if new else ""]
    case = named(routine, dtype, words, plans, fills, scalars, options, form)
    if not spec.name.endswith("sv"):
        return case
    whole = (fills[0], diagonal) in EXACT_SOLVES or (fills[0], letters[-1:]) == ("integers", "U")
    return replace(case, exact=whole and fills[-1] == "image")


def _matrix(spec: Spec) -> Arg:
    return next(arg for arg in spec.operands if _is_matrix(arg))


def _is_matrix(arg: Arg) -> bool:
    return arg.name in ("a", "ap")


def _is_square(spec: Spec) -> bool:
    return "m" not in spec.dims


def _shape(
    spec: Spec, arg: Arg, size: tuple[int, int], bands: Bands, options: dict[str, str | int]
) -> tuple[int, ...]:
    """The shape of an operand of one call, not of a batch."""
    m, n = size
    if arg.storage == BAND:
        return (bands + 1 if isinstance(bands, int) else sum(bands) + 1, n)
    if arg.storage == PACKED:
        return (n * (n + 1) // 2,)
    # Vectors have the sizes of op(A).
    m, n = turned(size, str(options["trans"])) if spec.stored_sizes else size
    return tuple({"m": m, "n": n}[axis] for axis in arg.axes)


def _layout(arg: Arg, layout: str) -> Layout:
    return (PACKED_LAYOUTS if arg.storage == PACKED else MATRIX_LAYOUTS)[layout]


def _band_word(spec: Spec, bands: Bands) -> str:
    if _matrix(spec).storage != BAND:
        return ""
    return f"k{bands}" if isinstance(bands, int) else f"kl{bands[0]}ku{bands[1]}"
