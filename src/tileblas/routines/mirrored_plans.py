"""How products with a matrix and its transpose are launched: symv and its like, gemvt."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from tileblas.core.call import Problem, View
from tileblas.core.canon import lies_by_columns, transpose
from tileblas.core.trivial import drops_product
from tileblas.routines import band_plans
from tileblas.routines.binder import (
    Binder,
    largest_axes_last,
    matrix_alignment,
    over_batch,
    read_policy,
    sum_bytes,
    unit_axis,
)
from tileblas.routines.launch import Launch
from tileblas.routines.matvec_plans import plan_gemv
from tileblas.tuning.model import ceil_div, choose_upto
from tileblas.tuning.table import Config, Table


def plan_mirrored(problem: Problem, table: Table, alignment: int) -> tuple[Launch, ...]:
    """One launch of y := alpha A x + beta y, where A is symmetric, Hermitian or skew."""
    if problem.structure is None:  # nothing is left of the product
        return plan_gemv(problem, table, alignment)
    problem = largest_axes_last(problem)
    a, x = problem.inputs
    config = choose_mirrored(problem, table)
    if config.body == band_plans.BODY:
        return band_plans.launch_band(problem, x, table, alignment, config)
    y = problem.output
    return launch_mirrored(problem, (a, x, x), (y, y), table, alignment, config)


def choose_mirrored(problem: Problem, table: Table) -> Config:
    """The configuration for a mirrored matrix, whose rows of the table say up to which size.

    That is the number of elements; of a band that of diagonals. Narrow ones have the body of
    band_kernel: each element is then read for its row, and again for its column, the second time
    from L2. That takes no tiles that are mostly outside of the band, and no hand-over between them.
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
        size = prod(a.shape) * prod(problem.batch)
        config = choose_upto(table.candidates("mirrored", a.dtype.name, "general"), size)
        return launch_mirrored(problem, (a, x, w), (y, z), table, alignment, config)
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


def launch_mirrored(
    problem: Problem,
    inputs: tuple[View, View, View],
    outputs: tuple[View, View],
    table: Table,
    alignment: int,
    config: Config,
) -> tuple[Launch, ...]:
    """Programs take strips of tiles and leave sums for blocks of the outputs; the last adds up.

    Tiles lie by columns: a matrix that does not is multiplied as its transpose.
    """
    known = problem.structure
    assert known is not None
    (a, x, w), (y, z) = inputs, outputs
    if not lies_by_columns(a):
        flips = known.kind in ("hermitian", "adjoint") and problem.is_complex
        a, known = replace(transpose(a), conj=a.conj ^ flips), known.transposed
        problem = replace(problem, negate=problem.negate ^ (known.kind == "skew"))
        (x, w), (y, z) = (w, x), (z, y)
    m, n = a.shape
    triangle = known.kind in ("symmetric", "hermitian", "skew")
    x_unit = unit_axis(x) == 0
    alignment = matrix_alignment(a, alignment, (x,) if x_unit else ())
    side = config["BLOCK"]
    down, across = ceil_div(m, side), ceil_div(n, side)
    reach = max(known.below, known.above)
    near = min((reach + side - 1) // side + 1, down)
    banded = triangle and reach < n - 1
    tiles = config["TILES"]
    strips = ceil_div(near if triangle else across, tiles)
    # The strips of a whole triangle are numbered without gaps, TILES rows at a time.
    programs = tiles * strips * (strips + 1) // 2 if triangle and not banded else down * strips
    slots = strips + (near if triangle else across)
    blocks = down if triangle else down + across
    policy = read_policy(a, problem, table)

    def make(binder: Binder, inner: int, count: int) -> Launch:
        vectors = (("x", x), ("w", w), ("y", y), ("z", z))
        binder.pointer("a", a)
        for name, view in vectors:
            binder.pointer(name, view, wide=view is x and x_unit)
        binder.workspace("partial", problem.compute)
        binder.workspace("arrived", "i32")
        alpha, beta = binder.scalar("alpha"), binder.scalar("beta")
        for name, value in (("m", m), ("n", n), ("reach", reach)):
            binder.size(name, value)
        binder.matrix(a)
        binder.stride("x_inc", x.strides[0], x, unit=x_unit, wide=False)
        for name, view in vectors[1:]:  # of which a tile takes little: no variant of its own
            binder.stride(f"{name}_inc", view.strides[0], view, wide=False)
        binder.count("inner", inner)
        binder.batch_strides("a", a)
        for name, view in vectors:
            binder.batch_strides(name, view, wide=view is x and x_unit)
        for name, value in (("down", down), ("across", across), ("near", near), ("strips", strips)):
            binder.count(name, value)
        binder.count("programs", programs)
        binder.constant("KIND", known.kind)
        binder.constant("LOWER", triangle and known.lower)
        binder.constant("BANDED", banded)
        binder.signs(a=a, x=x, w=w)
        binder.constant("ALPHA_KIND", alpha)
        binder.constant("BETA_KIND", beta)
        binder.constant("BATCHED", count > 1)
        binder.constant("CURVED", any(a.curve))
        binder.constant("UNIT", a.strides[0] == 1)
        binder.constant("POLICY", policy)
        for knob, value in config.knobs:
            binder.constant(knob, value)
        return binder.launch(
            "mirrored.mirrored_kernel",
            count * programs,
            config,
            alignment,
            partial_bytes=count * down * slots * side * sum_bytes(problem),
            counters=count * blocks,
        )

    return over_batch(problem, programs, make)
