"""Builds a Launch argument by argument, in the kernel's order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product, zip_longest
from math import gcd, prod

from tileblas.core.call import Problem, View
from tileblas.core.dtypes import DTYPES, TRITON_NAME
from tileblas.routines.launch import Argument, Launch
from tileblas.tuning.table import Config, Table

BATCH_AXES = 2  # batch axes that a kernel walks itself; further ones become several launches
MAX_GRID = 2**31 - 1  # programs of one launch
WIDEST = 16  # bytes that one thread loads at once at the most


class Binder:
    """Collects the arguments and constants of one kernel launch."""

    def __init__(self, problem: Problem, outer: Mapping[str, int]) -> None:
        self.problem = problem
        self.outer = outer  # element offset of each slot in this part of the batch
        self.arguments: list[Argument] = []
        self.constants: list[tuple[str, object]] = []

    def pointer(self, name: str, view: View, wide: bool = True) -> None:
        """A pointer to the operand's element at index 0, typed as its real component.

        A `wide` pointer is among those that have the alignment of the launch.
        """
        kind = f"*{view.dtype.triton}"
        value = (view.slot, self.outer.get(view.slot, 0) + view.start)
        size = view.dtype.itemsize
        self.arguments.append(Argument(name, "pointer", value, kind, size, loose=not wide))

    def workspace(self, slot: str, real: str, name: str = "", offset: int = 0) -> None:
        """A pointer into the stream's workspace, `offset` numbers beyond where the slot begins."""
        itemsize = DTYPES[real].itemsize if real in DTYPES else {"i32": 4, "i64": 8}[real]
        kind = f"*{TRITON_NAME.get(real, real)}"
        self.arguments.append(Argument(name or slot, "pointer", (slot, offset), kind, itemsize))

    def count(self, name: str, value: int) -> None:
        """A number of programs or batch members: 32 bits hold it, and divide faster."""
        self.arguments.append(Argument(name, "i32", value))

    def size(self, name: str, value: int) -> None:
        """A length in elements."""
        self.arguments.append(Argument(name, "i64", value))

    def stride(
        self, name: str, value: int, view: View, unit: bool = False, wide: bool = True
    ) -> None:
        """A stride in elements; a unit stride is a constant, so that loads are wide.

        A `wide` stride is among those that keep the alignment of the launch.
        """
        if unit:
            self.constants.append((name, 1))
            return
        self.arguments.append(
            Argument(name, "i64", value, itemsize=view.dtype.itemsize, stride=wide)
        )

    def batch_strides(self, name: str, view: View, wide: bool = True) -> None:
        """The operand's strides along the kernel's two batch axes, outermost first."""
        steps = ((0,) * BATCH_AXES + view.batch)[-BATCH_AXES:]
        for axis, step in enumerate(steps):
            self.stride(f"{name}_b{axis}", step, view, wide=wide)

    def matrix(self, a: View) -> None:
        """How the elements of the matrix "a" lie: strides, and the curve of a packed one."""
        unit = unit_axis(a)
        self.stride("a_m", a.strides[0], a, unit=unit == 0 and a.strides[0] == 1)
        self.stride("a_n", a.strides[1], a, unit=unit == 1 and a.strides[1] == 1)
        if any(a.curve):
            self.size("a_curve", sum(a.curve))
        else:
            self.constant("a_curve", 0)

    def signs(self, **views: View) -> None:
        """Whether operands are complex, which are conjugated, and what that makes of scalars."""
        self.constant("COMPLEX", self.problem.is_complex)
        for name, view in views.items():
            self.constant(f"CONJ_{name.upper()}", view.conj)
        self.constant("NEGATE", self.problem.negate)
        self.constant("CONJ_SCALARS", self.problem.conj_scalars)

    def absent(self, *names: str, kind: str = "") -> str:
        """Parameters of the kernel that a routine has no use for; returns `kind`."""
        self.constants += [(name, 0) for name in names]
        return kind

    def real_scalar(self, name: str) -> str:
        """A scalar that is always real: the kernel has no parameter for an imaginary part."""
        kind = self.scalar(name)
        self.constants.remove((f"{name}_im", 0))
        return kind

    def scalar(self, name: str, parameter: str = "", drops_at: tuple[str, ...] = ("beta",)) -> str:
        """A scalar, by value or as device pointer; returns the kind for the kernel.

        `parameter` is its name in the kernel, if another. Those of `drops_at` remove their term
        where they are the number 0: that is then a constant of kind "zero".
        """
        problem, slot = self.problem, name
        kind, dtype = problem.scalar(name)
        if kind == "unit":  # 1 whatever the caller's is: what a first launch has left is added to
            self.constants += [(name, 0), (f"{name}_im", 0)]
            return "one"
        drops, name = name in drops_at, parameter or name
        if kind == "zero" and drops:
            self.constants += [(name, 0), (f"{name}_im", 0)]
            return "zero"
        if kind.endswith("_pointer"):
            row = DTYPES[dtype]
            pointee = f"*{row.triton}"
            # A device scalar can be any element of an array.
            self.arguments.append(
                Argument(name, "pointer", (slot, 0), pointee, row.itemsize, loose=True)
            )
            self.constants.append((f"{name}_im", 0))
            return kind
        real = TRITON_NAME[problem.compute]
        self.arguments.append(Argument(name, real, (slot, "re")))
        if kind == "complex":
            self.arguments.append(Argument(f"{name}_im", real, (slot, "im")))
            return "complex"
        self.constants.append((f"{name}_im", 0))
        return "real"

    def constant(self, name: str, value: object) -> None:
        self.constants.append((name, value))

    def launch(
        self,
        kernel: str,
        grid: int,
        config: Config,
        alignment: int,
        partial_bytes: int = 0,
        counters: int = 0,
        fuse: bool = True,
    ) -> Launch:
        return Launch(
            kernel=kernel,
            arguments=tuple(self.arguments),
            constants=tuple(self.constants),
            grid=grid,
            num_warps=config.num_warps,
            num_stages=config.num_stages,
            max_registers=config.max_registers,
            alignment=alignment,
            partial_bytes=partial_bytes,
            counters=counters,
            fuse=fuse,
        )


def unit_axis(view: View) -> int | None:
    """The axis that an operand is walked along element by element: the last one that can be."""
    axes = range(len(view.strides) - 1, -1, -1)
    for axis in axes:
        if view.strides[axis] == 1:
            return axis
    return next((axis for axis in axes if view.shape[axis] <= 1), None)


def is_repeated(view: View) -> bool:
    """Whether elements are read more than once, so that L2 had better keep them: a broadcast.

    A packed triangle may have no stride along an axis whose steps grow.
    """
    steps = (abs(s) + abs(c) for s, c in zip_longest(view.strides, view.curve, fillvalue=0))
    axes = zip(view.shape, steps, strict=True)
    return 0 in view.batch or any(step == 0 and size > 1 for size, step in axes)


def read_policy(a: View, problem: Problem, table: Table) -> str:
    """How L2 holds a matrix that a kernel reads once: the POLICY of `tile.load`."""
    moved = prod(a.shape) * prod(problem.batch) * a.dtype.itemsize
    return "evict_first" if table.streams(moved) and not is_repeated(a) else ""


def row_alignment(views: Sequence[View], alignment: int) -> int:
    """The bytes that divide the address of every row and matrix of the operands, at most 16.

    `alignment` is that of their first elements, as `alignment_of` has it. 1 where the bytes are no
    more than those of a real number: loads are then no wider than one.
    """
    steps = [
        stride * view.dtype.itemsize
        for view in views
        for stride in (*_row_strides(view), *view.batch)
    ]
    found = gcd(alignment, *steps)
    return found if all(found > view.dtype.real_itemsize for view in views) else 1


def matrix_alignment(a: View, alignment: int, vectors: Sequence[View] = ()) -> int:
    """`row_alignment` of vectors, and of a matrix that may begin later or be packed."""
    if any(a.curve):
        return 1
    offset = a.start * a.dtype.itemsize
    return row_alignment((a, *vectors), gcd(alignment, offset) if offset else alignment)


def sum_bytes(problem: Problem) -> int:
    """Bytes of one sum in the workspace."""
    return DTYPES[problem.compute].itemsize * (2 if problem.is_complex else 1)


def word_type(real: str) -> str:
    """The integer that holds the bits of a real number."""
    return f"i{8 * DTYPES[real].itemsize}"


def _row_strides(view: View) -> list[int]:
    unit = unit_axis(view)
    return [stride for axis, stride in enumerate(view.strides) if axis != unit]


def over_batch(
    problem: Problem,
    programs: int,
    make: Callable[[Binder, int, int], Launch],
    most: int = MAX_GRID,
) -> tuple[Launch, ...]:
    """One launch for the two innermost batch axes, repeated over whatever axes lie outside them.

    `programs` is what one batch member takes of the grid; a batch that would pass the largest grid,
    or has more than `most` members, is cut into parts. `make(binder, inner, count)` gets the size
    of the innermost batch axis and the number of members of its launch.

    Raises ValueError if one member alone would pass the largest grid.
    """
    if programs > MAX_GRID:
        raise ValueError(
            f"{problem.routine}: a problem of dimensions {problem.dims} takes {programs} programs, "
            f"and a launch has at most {MAX_GRID}"
        )
    cut = max(len(problem.batch) - BATCH_AXES, 0)
    launches = []
    for index in product(*(range(n) for n in problem.batch[:cut])):
        for start, sizes in _parts(problem.batch[cut:], min(MAX_GRID // programs, most)):
            at = (*index, *start)
            offsets = {
                view.slot: sum(i * s for i, s in zip(at, view.batch, strict=True))
                for view in problem.views
            }
            inner = sizes[-1] if sizes else 1
            launches.append(make(Binder(problem, offsets), inner, prod(sizes)))
    return tuple(launches)


def largest_axes_last(problem: Problem) -> Problem:
    """The same problem with its batch axes in ascending size: their order is free.

    So the axes that a kernel does not walk itself, each index of which is a launch, are small.
    """
    if len(problem.batch) <= BATCH_AXES:
        return problem
    order = sorted(range(len(problem.batch)), key=lambda axis: problem.batch[axis])
    views = [replace(v, batch=tuple(v.batch[axis] for axis in order)) for v in problem.views]
    return replace(
        problem,
        batch=tuple(problem.batch[axis] for axis in order),
        inputs=tuple(views[:-1]),
        output=views[-1],
    )


def _parts(sizes: tuple[int, ...], most: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """(start, sizes) of parts of at most `most` members that together make up the whole."""
    if prod(sizes) <= most:
        yield (0,) * len(sizes), sizes
        return
    rest = prod(sizes[1:])
    if rest > most:
        for i in range(sizes[0]):
            for start, part in _parts(sizes[1:], most):
                yield (i, *start), (1, *part)
        return
    step = most // rest
    for i in range(0, sizes[0], step):
        yield (i, *(0 for _ in sizes[1:])), (min(step, sizes[0] - i), *sizes[1:])
