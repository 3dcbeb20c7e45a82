"""How level 2 is launched: products of a matrix and a vector, updates by vectors, solves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import gcd, inf, prod

from tileblas.core.call import Problem, View
from tileblas.core.canon import transpose
from tileblas.core.dtypes import DTYPES
from tileblas.core.trivial import drops_product
from tileblas.routines.binder import (
    Binder,
    is_repeated,
    largest_axes_last,
    over_batch,
    row_alignment,
    unit_axis,
)
from tileblas.routines.launch import Launch
from tileblas.tuning.model import ceil_div, choose_gemv, choose_upto
from tileblas.tuning.table import Config, Table


def plan_gemv(problem: Problem, table: Table, alignment: int) -> tuple[Launch, ...]:
    """One launch: programs share rows and columns, the last one of each row block adds up.

    Tile and number of programs depend on shape and GPU alone, so the bits do not vary between runs.
    """
    problem = largest_axes_last(problem)
    (a, x), y = problem.inputs, problem.output
    m, n = problem.dims
    x_unit = unit_axis(x) == 0
    # y is small: neither it nor an x with gaps may cost A its wide loads.
    alignment = row_alignment((a, x) if x_unit else (a,), alignment)
    columns = lies_by_columns(a)
    candidates = [
        config
        for config in table.candidates("gemv", a.dtype.name, "col" if columns else "row")
        if can_number_blocks(config, n)
    ]
    config, splits = choose_gemv(
        candidates, m, n, prod(problem.batch), a.dtype.itemsize, table.multiprocessors
    )
    row_blocks = ceil_div(m, config["BLOCK_M"])
    moved = m * n * prod(problem.batch) * a.dtype.itemsize
    # Copies into shared memory, as in a pipelined loop, take no such hint.
    passes_by = table.streams(moved) and not is_repeated(a) and config["STAGES"] == 1

    def make(binder: Binder, inner: int, count: int) -> Launch:
        binder.pointer("a", a)
        binder.pointer("x", x, wide=x_unit)
        binder.pointer("y", y, wide=False)
        binder.workspace("partial", problem.compute)
        binder.workspace("arrived", "i32")
        alpha = binder.scalar("alpha")
        beta = binder.scalar("beta")
        binder.size("m", m)
        binder.size("n", n)
        binder.stride("a_m", a.strides[0], a, unit=columns and a.strides[0] == 1)
        binder.stride("a_n", a.strides[1], a, unit=not columns and a.strides[1] == 1)
        binder.stride("x_inc", x.strides[0], x, unit=x_unit, wide=x_unit)
        binder.stride("y_inc", y.strides[0], y, unit=unit_axis(y) == 0, wide=False)
        binder.count("inner", inner)
        binder.batch_strides("a", a)
        binder.batch_strides("x", x, wide=x_unit)
        binder.batch_strides("y", y, wide=False)
        binder.count("row_blocks", row_blocks)
        binder.count("splits", splits)
        binder.constant("COMPLEX", problem.is_complex)
        binder.constant("CONJ_A", a.conj)
        binder.constant("CONJ_X", x.conj)
        binder.constant("NEGATE", problem.negate)
        binder.constant("CONJ_SCALARS", problem.conj_scalars)
        binder.constant("ALPHA_KIND", alpha)
        binder.constant("BETA_KIND", beta)
        binder.constant("BATCHED", count > 1)
        binder.constant("SPLIT", splits > 1)
        binder.constant("BY_COLUMNS", columns)
        binder.constant("UNIT", a.strides[0 if columns else 1] == 1)
        binder.constant("POLICY", "evict_first" if passes_by else "")
        for knob, value in config.knobs:
            binder.constant(knob, value)
        groups = count * row_blocks if splits > 1 else 0
        width = DTYPES[problem.compute].itemsize * (2 if problem.is_complex else 1)
        return binder.launch(
            "matvec.gemv_kernel",
            count * row_blocks * splits,
            config,
            alignment,
            partial_bytes=groups * splits * config["BLOCK_M"] * width,
            counters=groups,
        )

    return over_batch(problem, row_blocks * splits, make)


def lies_by_columns(a: View) -> bool:
    """Whether elements of a column are closer to each other in memory than those of a row.

    A stride of 0 (an axis of one element, or broadcast) does not lead to another element.
    """
    down, along = (abs(stride) or inf for stride in a.strides)
    return down < along


def can_number_blocks(config: Config, n: int) -> bool:
    """Whether 32 bits, in which the kernel numbers blocks of columns, hold a step beyond the last.

    A step is the number of splits, of which there are never more than blocks.
    """
    return ceil_div(n, config["BLOCK_N"]) <= 2**30


BAND_BODY = "band.band_kernel"

# ---- triangular and banded matrices -----------------------------------------------------------


def plan_band(problem: Problem, table: Table, alignment: int) -> tuple[Launch, ...]:
    """One launch of y := alpha op(A) x + beta y for the elements of A that a band has: gbmv."""
    if problem.structure is None:  # nothing is left of the product
        return plan_gemv(problem, table, alignment)
    return _plan_band(problem, problem.inputs[1], table, alignment)


def plan_triangular(problem: Problem, table: Table, alignment: int) -> tuple[Launch, ...]:
    """One launch of x := op(A) x, a band as wide as it can be: trmv, tbmv, tpmv."""
    return _plan_band(problem, problem.output, table, alignment)


def _plan_band(
    problem: Problem, vector: View, table: Table, alignment: int, config: Config | None = None
) -> tuple[Launch, ...]:
    """Programs share the blocks of columns that a block of rows has, each an equal part of them."""
    problem = largest_axes_last(problem)
    in_place = vector.slot == problem.output.slot
    a, y = problem.inputs[0], problem.output
    x = y if in_place else problem.inputs[1]
    known = problem.structure
    assert known is not None
    mirror = known.kind if known.kind in ("symmetric", "hermitian", "skew") else ""
    below, above = known.below, known.above
    if known.unit:  # the diagonal is not there
        below, above = (below, -1) if known.lower else (-1, above)
    m, n = a.shape
    columns, x_unit = lies_by_columns(a), unit_axis(x) == 0
    alignment = matrix_alignment(a, alignment, (x,) if x_unit else ())
    members = prod(problem.batch)
    reach = (max(below, above),) * 2 if mirror else (below, above)
    config = config or choose_upto(
        table.candidates("band", a.dtype.name, "col" if columns else "row"),
        m * min(n, sum(reach) + 1) * members,
    )
    row_blocks = ceil_div(m, config["BLOCK_M"])
    share, splits = share_blocks(config, m, n, *reach, members, table)
    moved = m * n * members * a.dtype.itemsize
    passes_by = table.streams(moved) and not is_repeated(a)

    def make(binder: Binder, inner: int, count: int) -> Launch:
        binder.pointer("a", a)
        binder.pointer("x", x, wide=x_unit)
        binder.pointer("y", y, wide=False)
        binder.workspace("partial", problem.compute)
        binder.workspace("arrived", "i32")
        if in_place:
            binder.absent("alpha", "alpha_im", "beta", "beta_im")
            alpha = beta = "zero"
        else:
            alpha, beta = binder.scalar("alpha"), binder.scalar("beta")
        for name, value in (("m", m), ("n", n), ("below", below), ("above", above)):
            binder.size(name, value)
        bind_matrix(binder, a)
        binder.stride("x_inc", x.strides[0], x, unit=x_unit, wide=x_unit)
        binder.stride("y_inc", y.strides[0], y, wide=False)
        binder.count("inner", inner)
        binder.batch_strides("a", a)
        binder.batch_strides("x", x, wide=x_unit)
        binder.batch_strides("y", y, wide=False)
        binder.count("row_blocks", row_blocks)
        binder.count("splits", splits)
        binder.count("share", share)
        binder.constant("COMPLEX", problem.is_complex)
        binder.constant("CONJ_A", a.conj)
        binder.constant("CONJ_X", x.conj)
        binder.constant("NEGATE", problem.negate)
        binder.constant("CONJ_SCALARS", problem.conj_scalars)
        binder.constant("ALPHA_KIND", alpha)
        binder.constant("BETA_KIND", beta)
        binder.constant("MIRROR", mirror)
        binder.constant("IN_PLACE", in_place)
        binder.constant("UNIT_DIAG", known.unit)
        binder.constant("CURVED", any(a.curve))
        binder.constant("BATCHED", count > 1)
        binder.constant("BY_COLUMNS", columns)
        binder.constant("UNIT", a.strides[0 if columns else 1] == 1)
        binder.constant("POLICY", "evict_first" if passes_by else "")
        for knob, value in config.knobs:
            if knob != "MAX_SHARES":
                binder.constant(knob, value)
        groups = count * row_blocks
        width = config["BLOCK_M"] * sum_bytes(problem)
        return binder.launch(
            BAND_BODY,
            groups * splits,
            config,
            alignment,
            partial_bytes=groups * (splits + 1) * width,
            counters=groups + count,
        )

    return over_batch(problem, row_blocks * splits, make)


def share_blocks(
    config: Config, m: int, n: int, below: int, above: int, members: int, table: Table
) -> tuple[int, int]:
    """(blocks of columns that a program takes, programs that the widest block of rows needs).

    All programs together are to fill the GPU as often as `MAX_SHARES` says, so that those of short
    rows do not leave it idle.
    """
    rows, width = config["BLOCK_M"], config["BLOCK_N"]
    row_blocks = ceil_div(m, rows)
    widest = min(ceil_div(min(n, below + above + rows), width) + 1, max(ceil_div(n, width), 1))
    triangle = min(below, above) < 1 and max(below, above) >= n - 1
    blocks = row_blocks * widest * members // (2 if triangle else 1)
    programs = table.multiprocessors * config.per_processor * config["MAX_SHARES"]
    share = max(1, ceil_div(blocks, programs))
    return share, ceil_div(widest, share)


def matrix_alignment(a: View, alignment: int, vectors: Sequence[View] = ()) -> int:
    """`row_alignment` of vectors, and of a matrix that may begin later or be packed."""
    if any(a.curve):
        return 1
    offset = a.start * a.dtype.itemsize
    return row_alignment((a, *vectors), gcd(alignment, offset) if offset else alignment)


def bind_matrix(binder: Binder, a: View) -> None:
    """How the elements of a matrix lie: strides, and the curve of a packed one."""
    unit = unit_axis(a)
    binder.stride("a_m", a.strides[0], a, unit=unit == 0 and a.strides[0] == 1)
    binder.stride("a_n", a.strides[1], a, unit=unit == 1 and a.strides[1] == 1)
    if any(a.curve):
        binder.size("a_curve", sum(a.curve))
    else:
        binder.constant("a_curve", 0)


def sum_bytes(problem: Problem) -> int:
    """Bytes of one sum in the workspace."""
    return DTYPES[problem.compute].itemsize * (2 if problem.is_complex else 1)


# ---- products with a matrix and its transpose -------------------------------------------------


def plan_mirrored(problem: Problem, table: Table, alignment: int) -> tuple[Launch, ...]:
    """One launch of y := alpha A x + beta y, where A is symmetric, Hermitian or skew."""
    if problem.structure is None:  # nothing is left of the product
        return plan_gemv(problem, table, alignment)
    problem = largest_axes_last(problem)
    a, x = problem.inputs
    config = choose_mirrored(problem, table)
    if config.body == BAND_BODY:
        return _plan_band(problem, x, table, alignment, config)
    y = problem.output
    return _plan_mirrored(problem, (a, x, x), (y, y), table, alignment, config)


def choose_mirrored(problem: Problem, table: Table) -> Config:
    """The configuration for a mirrored matrix, whose rows of the table say up to which size.

    That is the number of elements; of a band that of diagonals. Some have the body of band_kernel:
    each element is then read for its row, and again for its column, the second time from L2. That
    takes no hand-over between blocks, and no tiles that are mostly outside of a narrow band.
    """
    known, a = problem.structure, problem.inputs[0]
    assert known is not None
    diagonals = max(known.below, known.above) + 1
    if diagonals < a.shape[0]:
        return choose_upto(table.candidates("mirrored", a.dtype.name, "band"), diagonals)
    size = prod(a.shape) * prod(problem.batch)
    return choose_upto(table.candidates("mirrored", a.dtype.name), size)


def plan_both(problem: Problem, table: Table, alignment: int) -> tuple[Launch, ...]:
    """One launch of y := alpha A x + beta y and z := alpha op(A) w + beta z: gemvt.

    Without the products it is two, each of them a gemv of nothing.
    """
    problem = largest_axes_last(problem)
    a, x, w, y = problem.inputs
    z = problem.output
    if not drops_product(problem):
        config = choose_upto(table.candidates("mirrored", a.dtype.name, "general"), prod(a.shape))
        return _plan_mirrored(problem, (a, x, w), (y, z), table, alignment, config)
    launches: list[Launch] = []
    for output in (y, z):
        n = output.shape[0]
        if n:
            nothing = replace(a, shape=(n, 0), strides=(16, 1), conj=False)
            vector = replace(x, shape=(0,), strides=(1,), conj=False)
            left = replace(
                problem,
                dims=(n, 0),
                inputs=(nothing, vector),
                output=output,
                structure=None,
            )
            launches += plan_gemv(left, table, alignment)
    return tuple(launches)


def _plan_mirrored(
    problem: Problem,
    inputs: tuple[View, View, View],
    outputs: tuple[View, View],
    table: Table,
    alignment: int,
    config: Config,
) -> tuple[Launch, ...]:
    """Programs take strips of tiles and leave sums for blocks of the outputs; the last adds up.

    Tiles lie by rows: a matrix that does not is multiplied as its transpose.
    """
    known = problem.structure
    assert known is not None
    (a, x, w), (y, z) = inputs, outputs
    negate = problem.negate
    if lies_by_columns(a):
        flips = known.kind in ("hermitian", "adjoint") and problem.is_complex
        a, known = replace(transpose(a), conj=a.conj ^ flips), known.transposed
        negate ^= known.kind == "skew"
        (x, w), (y, z) = (w, x), (z, y)
    m, n = a.shape
    triangle = known.kind in ("symmetric", "hermitian", "skew")
    alignment = matrix_alignment(a, alignment)
    side = config["BLOCK"]
    down, across = ceil_div(m, side), ceil_div(n, side)
    reach = max(known.below, known.above)
    near = min((reach + side - 1) // side + 1, down)
    banded = triangle and reach < n - 1
    strips = ceil_div(near if triangle else across, config["TILES"])
    slots = strips + (min(near, down) if triangle else across)
    blocks = down if triangle else down + across
    moved = m * n * prod(problem.batch) * a.dtype.itemsize
    passes_by = table.streams(moved) and not is_repeated(a)

    def make(binder: Binder, inner: int, count: int) -> Launch:
        vectors = (("x", x), ("w", w), ("y", y), ("z", z))
        binder.pointer("a", a)
        for name, view in vectors:
            binder.pointer(name, view, wide=False)
        binder.workspace("partial", problem.compute)
        binder.workspace("arrived", "i32")
        alpha, beta = binder.scalar("alpha"), binder.scalar("beta")
        for name, value in (("m", m), ("n", n), ("reach", reach)):
            binder.size(name, value)
        bind_matrix(binder, a)
        binder.stride("x_inc", x.strides[0], x, unit=unit_axis(x) == 0, wide=False)
        for name, view in vectors[1:]:  # of which a tile takes little: no variant of its own
            binder.stride(f"{name}_inc", view.strides[0], view, wide=False)
        binder.count("inner", inner)
        binder.batch_strides("a", a)
        for name, view in vectors:
            binder.batch_strides(name, view, wide=False)
        for name, value in (("down", down), ("across", across), ("near", near), ("strips", strips)):
            binder.count(name, value)
        binder.constant("KIND", known.kind)
        binder.constant("LOWER", known.lower)
        binder.constant("BANDED", banded)
        binder.constant("COMPLEX", problem.is_complex)
        binder.constant("CONJ_A", a.conj)
        binder.constant("CONJ_X", x.conj)
        binder.constant("CONJ_W", w.conj)
        binder.constant("NEGATE", negate)
        binder.constant("CONJ_SCALARS", problem.conj_scalars)
        binder.constant("ALPHA_KIND", alpha)
        binder.constant("BETA_KIND", beta)
        binder.constant("BATCHED", count > 1)
        binder.constant("CURVED", any(a.curve))
        binder.constant("UNIT", a.strides[1] == 1)
        binder.constant("POLICY", "evict_first" if passes_by else "")
        for knob, value in config.knobs:
            binder.constant(knob, value)
        return binder.launch(
            "mirrored.mirrored_kernel",
            count * down * strips,
            config,
            alignment,
            partial_bytes=count * down * slots * side * sum_bytes(problem),
            counters=count * blocks,
        )

    return over_batch(problem, down * strips, make)
