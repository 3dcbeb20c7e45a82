"""How triangular solves are launched: trsv, tbsv, tpsv."""

from __future__ import annotations

from tileblas.core.call import Problem
from tileblas.core.canon import lies_by_columns
from tileblas.routines.binder import (
    Binder,
    largest_axes_last,
    matrix_alignment,
    over_batch,
    sum_bytes,
    word_type,
)
from tileblas.routines.launch import Launch
from tileblas.tuning.model import ceil_div, choose_upto
from tileblas.tuning.table import Table

#: An order at which a chain of solves waits more than it reads.
_SMALL = 1024
#: Bytes of squares beyond which a batch is solved in parts.
_SQUARES = 1 << 30


def plan_solve(problem: Problem, table: Table, alignment: int) -> tuple[Launch, ...]:
    """One launch of x := op(A)^-1 x, a strip of rows a program: trsv, tbsv, tpsv."""
    problem = largest_axes_last(problem)
    (a,), x, known = problem.inputs, problem.output, problem.structure
    assert known is not None
    n = a.shape[0]
    by_rows = not lies_by_columns(a)
    alignment = matrix_alignment(a, alignment)
    # Of a packed triangle reading takes longer than waiting: numbers are read one by one.
    size = min(n, _SMALL) if any(a.curve) else n
    candidates = table.candidates("solve", a.dtype.name, "row" if by_rows else "col")
    config = choose_upto(candidates, size)
    strips = ceil_div(n, config["SIDE"])
    reach = max(known.below, known.above)
    # Bytes of the four squares of each strip of a member; of a strip alone there are none.
    squares = 4 * strips * config["SIDE"] ** 2 * sum_bytes(problem) if strips > 1 else 0

    def make(binder: Binder, inner: int, count: int) -> Launch:
        binder.pointer("a", a)
        binder.pointer("x", x, wide=False)
        binder.workspace("partial", problem.compute)
        binder.workspace("arrived", "i32")
        # Beyond the number in `arrived`, of which 16 bytes keep what follows aligned.
        word = word_type(problem.compute) if not problem.is_complex else "i64"
        binder.workspace("arrived", word, "words", 16 // (8 if word == "i64" else 4))
        binder.size("n", n)
        binder.size("reach", reach)
        binder.matrix(a)
        binder.stride("x_inc", x.strides[0], x, wide=False)
        binder.count("inner", inner)
        binder.batch_strides("a", a)
        binder.batch_strides("x", x, wide=False)
        binder.count("strips", strips)
        binder.count("members", count)
        binder.count("one", 1)
        binder.constant("COMPLEX", problem.is_complex)
        binder.constant("CONJ_A", a.conj)
        binder.constant("NEGATE", problem.negate)
        binder.constant("UNIT_DIAG", known.unit)
        binder.constant("UPPER", not known.lower)
        binder.constant("CURVED", "" if not any(a.curve) else "rows" if a.curve[0] else "columns")
        binder.constant("BANDED", reach < n - 1)
        binder.constant("BY_ROWS", by_rows)
        binder.constant("BATCHED", count > 1)
        for knob, value in config.knobs:
            binder.constant(knob, value)
        words = count * strips * config["SIDE"] * sum_bytes(problem)
        return binder.launch(
            "solve.solve_kernel",
            count * strips,
            config,
            alignment,
            partial_bytes=count * squares,
            counters=4 + words // 4,
        )

    return over_batch(problem, strips, make, max(_SQUARES // max(squares, 1), 1))
