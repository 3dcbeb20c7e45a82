"""A `Case` is one call as data: operands with shapes, layouts and fills, scalars and options.

`vectors_case` and `numbers_case` (for which `dot_case` and others are shorter), `gemv_case` and
`gemm_case` build cases with ids that read like BLAS, such as `zgemm-NC-3x5x9-col+1-alpha0-beta1`,
and say in one place what the words of an id mean. Other routines of level 2: `matrix_cases`.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tileblas.check.guards import Layout
from tileblas.core.dtypes import DTYPES
from tileblas.core.spec import Arg
from tileblas.routines.registry import ROUTINES

Scalar = int | float | complex

#: Layouts of matrices by name. "+1" is a leading dimension of one more than the least.
MATRIX_LAYOUTS = {
    "col": Layout("F"),
    "row": Layout("C"),
    "col+1": Layout("F", pad=1),
    "row+1": Layout("C", pad=1),
    "col+7": Layout("F", pad=7),
    "row+7": Layout("C", pad=7),
    "col@1": Layout("F", pad=3, offset=1),
    "row@1": Layout("C", pad=3, offset=1),
    "col@2": Layout("F", pad=2, offset=2),
    "row@2": Layout("C", pad=2, offset=2),
    "step": Layout("C", step=2, pad=3),
    "batch-inner": Layout("batch"),
    "up": Layout("C", pad=2, reverse=(-2,)),
    "left": Layout("F", pad=2, reverse=(-1,)),
    "reversed": Layout("C", step=2, reverse=(-2, -1)),
    "same-rows": Layout("C", zero=(-2,)),
    "same-columns": Layout("C", zero=(-1,)),
    "same-batch": Layout("C", zero=(0,)),
}
#: Those that no output may have.
INPUT_ONLY = ("same-rows", "same-columns", "same-batch")
#: Routines that round whole numbers too: roots and quotients.
_ROUNDING = ("nrm2", "rotg", "rotmg")


@dataclass(frozen=True)
class Plan:
    """One operand to be made: its shape as passed, how it lies, and what it holds.

    `diagonal` is what the main diagonal of a stored matrix holds, if not what all of it does.
    """

    name: str
    shape: tuple[int, ...]
    layout: Layout
    fill: str
    dtype: str
    diagonal: str = ""


@dataclass(frozen=True)
class Case:
    """One call of one routine. `id` names it, and seeds its random values.

    `dtype` is that of the inputs. `exact`: the values make every sum exact. `form` says how scalars
    are passed: "number", "numpy" (a NumPy scalar), or "array" (0-d, of the operands' type) and
    "compute" (0-d, of the compute type) in the library of the operands.
    """

    id: str
    routine: str
    dtype: str
    plans: tuple[Plan, ...]
    scalars: tuple[tuple[str, Scalar], ...] = ()
    options: tuple[tuple[str, str | int], ...] = ()
    exact: bool = False
    form: str = "number"

    @property
    def seed(self) -> int:
        return zlib.crc32(self.id.encode())

    def result_dtype(self, output: Arg) -> str:
        """The element type of one of the outputs, given or new."""
        given = (plan.dtype for plan in self.plans if plan.name == output.name)
        return next(given, output.dtype(DTYPES[self.dtype]).name)

    @property
    def has_negative_strides(self) -> bool:
        return any(plan.layout.reverse for plan in self.plans)


def vector(inc: int, offset: int = 0, order: str = "C") -> Layout:
    """The layout of a vector with an increment: negative runs backwards, 0 repeats one element."""
    return Layout(
        order=order,
        core=1,
        step=max(abs(inc), 1),
        reverse=(-1,) if inc < 0 else (),
        zero=(-1,) if inc == 0 else (),
        offset=offset,
    )


def vectors_case(
    routine: str,
    dtype: str,
    n: int,
    incs: Sequence[int] = (),
    batches: Sequence[Sequence[int]] = (),
    fill: str | Sequence[str] = "random",
    offset: int = 0,
    scalars: dict[str, Scalar] | None = None,
    form: str = "number",
    order: str = "C",
    new: bool = False,
    same: bool = False,
) -> Case:
    """A routine of vectors, or of stacks of them in the `order` of a Layout.

    Increments, batches and fills are those of its operands in turn, the last is that of all the
    others. An output that need not be given is not where it is to be `new`. With `same`, inputs
    repeat one member along the first axis of the batch.
    """
    arguments = [arg for arg in ROUTINES[routine].arguments if not (new and arg.optional)]
    names = [arg.name for arg in arguments]
    incs = one_each(incs or (1,), names)
    batches = one_each(batches or ((),), names)
    fills = one_each((fill,) if isinstance(fill, str) else fill, names)
    layouts = [vector(inc, offset, order) for inc in incs]
    if same:
        layouts = [
            lay if arg.is_output else replace(lay, zero=(*lay.zero, 0))
            for arg, lay in zip(arguments, layouts, strict=True)
        ]
    plans = tuple(
        Plan(name, (*batch, n), lay, own, dtype)
        for name, batch, lay, own in zip(names, batches, layouts, fills, strict=True)
    )
    words = [size_word(n, batches), f"inc{','.join(map(str, incs))}", offset_word(offset)]
    words += ["" if order == "C" else order, "same" if same else ""]
    words += [scalar_word(name, value) for name, value in (scalars or {}).items()]
    return named(routine, dtype, [*words, "new" if new else ""], plans, fills, scalars, form=form)


def numbers_case(
    routine: str,
    dtype: str,
    batches: Sequence[Sequence[int]] = (),
    incs: Sequence[int] = (),
    fill: str | Sequence[str] = "random",
    offset: int = 0,
) -> Case:
    """A routine of numbers, or of arrays of them (rotg, rotmg); `incs` are those of last axes."""
    names = ROUTINES[routine].argument_names
    incs = one_each(incs or (1,), names)
    batches = one_each(batches or ((),), names)
    fills = one_each((fill,) if isinstance(fill, str) else fill, names)
    plans = tuple(
        Plan(name, tuple(batch), vector(inc, offset) if batch else Layout(core=0), own, dtype)
        for name, inc, batch, own in zip(names, incs, batches, fills, strict=True)
    )
    sizes = ",".join(
        "x".join(map(str, batch)) or "1" for batch in dict.fromkeys(map(tuple, batches))
    )
    words = [sizes, f"inc{','.join(map(str, incs))}", offset_word(offset)]
    return named(routine, dtype, words, plans, fills)


def dot_case(
    routine: str,
    dtype: str,
    n: int,
    incs: tuple[int, int] = (1, 1),
    batches: tuple[Sequence[int], Sequence[int]] = ((), ()),
    fill: str = "random",
    offset: int = 0,
) -> Case:
    """dot, dotc or dotu of two vectors, or of two stacks of vectors."""
    return vectors_case(routine, dtype, n, incs, batches, fill, offset)


def nrm2_case(
    dtype: str,
    n: int,
    inc: int = 1,
    batch: Sequence[int] = (),
    fill: str = "random",
    offset: int = 0,
) -> Case:
    """nrm2 of a vector, or of a stack of vectors."""
    return vectors_case("nrm2", dtype, n, (inc,), (batch,), fill, offset)


def scal_case(
    dtype: str,
    n: int,
    inc: int = 1,
    alpha: Scalar = 0.7,
    batch: Sequence[int] = (),
    fill: str = "random",
    offset: int = 0,
    order: str = "C",
    form: str = "number",
) -> Case:
    """scal of a vector, or of a stack of vectors in the `order` of a Layout."""
    scalars = {"alpha": alpha}
    return vectors_case("scal", dtype, n, (inc,), (batch,), fill, offset, scalars, form, order)


def axpy_case(
    dtype: str,
    n: int,
    incs: tuple[int, int] = (1, 1),
    alpha: Scalar = 0.7,
    batches: tuple[Sequence[int], Sequence[int]] = ((), ()),
    fill: str | tuple[str, str] = "random",
    offset: int = 0,
    form: str = "number",
) -> Case:
    """axpy of two vectors, or of two stacks of vectors; `fill` for both, or one for each."""
    return vectors_case("axpy", dtype, n, incs, batches, fill, offset, {"alpha": alpha}, form)


def gemv_case(
    dtype: str,
    sizes: tuple[int, int],
    trans: str = "N",
    layout: str = "col",
    incs: tuple[int, int] = (1, 1),
    alpha: Scalar = 1,
    beta: Scalar = 0,
    batches: tuple[Sequence[int], Sequence[int], Sequence[int]] = ((), (), ()),
    fill: str | tuple[str, str, str] = "random",
    y: bool = True,
    offset: int = 0,
    form: str = "number",
) -> Case:
    """gemv of A, m x n as stored, with `batches` of a, x and y; without y where `y` is False."""
    rows, columns = turned(sizes, trans)
    fills = (fill,) * 3 if isinstance(fill, str) else fill
    shapes = (sizes, (columns,), (rows,))
    layouts = (MATRIX_LAYOUTS[layout], *(vector(inc, offset) for inc in incs))
    plans = tuple(
        Plan(name, (*batch, *shape), lay, own, dtype)
        for name, batch, shape, lay, own in zip("axy", batches, shapes, layouts, fills, strict=True)
        if name != "y" or y
    )
    words = [trans, size_word(f"{sizes[0]}x{sizes[1]}", batches), layout]
    words += [f"inc{incs[0]},{incs[1]}", offset_word(offset)]
    words += [scalar_word("alpha", alpha), scalar_word("beta", beta), "" if y else "new"]
    scalars, options = {"alpha": alpha, "beta": beta}, {"trans": trans}
    return named("gemv", dtype, words, plans, fill, scalars, options, form)


def gemm_case(
    dtype: str,
    sizes: tuple[int, int, int],
    trans: str = "NN",
    layout: str | tuple[str, str, str] = "col",
    alpha: Scalar = 1,
    beta: Scalar = 0,
    batches: tuple[Sequence[int], Sequence[int], Sequence[int]] = ((), (), ()),
    fill: str | tuple[str, str, str] = "random",
    c: bool = True,
    out: str | None = None,
    form: str = "number",
) -> Case:
    """gemm of op(A) m x k by op(B) k x n; `batches` of a, b and c; without c where `c` is False."""
    m, n, k = sizes
    out = out or dtype
    stored = {"a": turned((m, k), trans[0]), "b": turned((k, n), trans[1]), "c": (m, n)}
    layouts = (layout,) * 3 if isinstance(layout, str) else layout
    fills = (fill,) * 3 if isinstance(fill, str) else fill
    plans = tuple(
        Plan(name, (*batch, *stored[name]), MATRIX_LAYOUTS[lay], own, out if name == "c" else dtype)
        for name, batch, lay, own in zip("abc", batches, layouts, fills, strict=True)
        if name != "c" or c
    )
    words = [trans, size_word(f"{m}x{n}x{k}", batches), "/".join(dict.fromkeys(layouts))]
    words += [scalar_word("alpha", alpha), scalar_word("beta", beta), "" if c else "new"]
    scalars = {"alpha": alpha, "beta": beta}
    options = {"trans_a": trans[0], "trans_b": trans[1]}
    return named("gemm", dtype, words, plans, fill, scalars, options, form)


def one_each(values: Sequence, names: Sequence) -> list:
    """A value for each operand: the last one is that of all that follow."""
    return [*values, *(values[-1],) * (len(names) - len(values))]


def named(routine, dtype, words, plans, fill, scalars=None, options=None, form="number") -> Case:
    """A case by the words of its id; it is exact if its fills and scalars are whole numbers."""
    fills = (fill,) if isinstance(fill, str) else fill
    mixed = "".join(f"to-{plan.dtype}" for plan in plans if plan.dtype != dtype)
    words = [DTYPES[dtype].letter + routine, *words, _fill_word(fills)]
    words += [mixed, "" if form == "number" else form]
    scalars = scalars or {}
    whole = all(value == int(value.real) + 1j * int(value.imag) for value in _finite(scalars))
    return Case(
        id="-".join(word for word in words if word and word != "random"),
        routine=routine,
        dtype=dtype,
        plans=plans,
        scalars=tuple(scalars.items()),
        options=tuple((options or {}).items()),
        exact=set(fills) <= {"integers", "large"} and whole and routine not in _ROUNDING,
        form=form,
    )


def _fill_word(fills: Sequence[str]) -> str:
    """One word for one fill; each by itself only where operands are many."""
    each = fills if len(fills) > 3 and len(set(fills)) > 1 else dict.fromkeys(fills)
    return "/".join(each)


def _finite(scalars: dict[str, Scalar]) -> list[complex]:
    """The scalars as complex numbers, with a fraction in the place of NaN and Inf."""
    return [complex(s) if abs(s) < 2**20 else 0.5 + 0j for s in scalars.values()]


def turned(shape: tuple[int, int], letter: str) -> tuple[int, int]:
    return shape if letter == "N" else shape[::-1]


def size_word(size, batches) -> str:
    if not any(batches):
        return str(size)
    return "*".join([",".join("x".join(map(str, b)) or "1" for b in batches), str(size)])


def offset_word(offset: int) -> str:
    return f"@{offset}" if offset else ""


def scalar_word(name: str, value: Scalar) -> str:
    text = str(value).strip("()")
    return f"{name}{text}"
