"""`product_case`: a call of any routine of level 3 on a structured matrix, or in a triangle."""

from __future__ import annotations

from collections.abc import Sequence

from tileblas.check.cases import (
    MATRIX_LAYOUTS,
    Case,
    Plan,
    Scalar,
    named,
    one_each,
    scalar_word,
    size_word,
)
from tileblas.core.storage import math_axes
from tileblas.routines.registry import ROUTINES

#: m and n where a matrix has a side, else n and k.
Size = tuple[int, int]


def product_case(
    routine: str,
    dtype: str,
    size: Size,
    letters: str,
    layout: str | Sequence[str] = "col",
    alpha: Scalar = 1,
    beta: Scalar = 0,
    *,
    batches: Sequence[Sequence[int]] = ((),),
    fill: str | Sequence[str] = "random",
    new: bool = False,
    form: str = "number",
) -> Case:
    """A product of `size` (m, n), or (n, k) where it is written in one triangle of order n.

    `letters` are those of its options in turn. Layouts, batches and fills are those of its operands
    in turn, the last is that of all the others. C is not given where it is to be `new`.
    """
    spec = ROUTINES[routine]
    options = dict(zip(spec.option_names, letters, strict=True))
    sizes = dict(zip(spec.dims, size, strict=False))  # k follows from the side
    arguments = [arg for arg in spec.arguments if not (new and arg.optional)]
    layouts = one_each((layout,) if isinstance(layout, str) else layout, arguments)
    fills = one_each((fill,) if isinstance(fill, str) else fill, arguments)
    plans = tuple(
        Plan(
            arg.name,
            (*batch, *(sizes[axis] for axis in math_axes(arg, options))),
            MATRIX_LAYOUTS[lay],
            own,
            dtype,
        )
        for arg, batch, lay, own in zip(
            arguments, one_each(batches, arguments), layouts, fills, strict=False
        )
    )
    used = layouts[: len(arguments)]
    words = [letters, size_word("x".join(map(str, size)), batches)]
    words += [used[0] if len(set(used)) == 1 else "/".join(used)]
    words += [scalar_word("alpha", alpha), scalar_word("beta", beta), "new" if new else ""]
    scalars = {"alpha": alpha, "beta": beta}
    return named(routine, dtype, words, plans, fills[: len(arguments)], scalars, options, form)
