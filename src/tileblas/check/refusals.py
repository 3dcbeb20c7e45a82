"""Calls that must be refused: the wrong calls of gemv and gemm, and the table of all."""

from __future__ import annotations

from tileblas.check import level1_refusals, level2_refusals, level3_refusals
from tileblas.check.wrong_calls import At, Refusal


def _gemv(id: str, a: At, x: At, y: At | None, *rest, **more) -> Refusal:
    operands = {"a": a, "x": x} | ({"y": y} if y else {})
    return Refusal(f"gemv-{id}", "gemv", operands, *rest, **more)


def _gemm(id: str, a: At, b: At, c: At | None, *rest, **more) -> Refusal:
    operands = {"a": a, "b": b} | ({"c": c} if c else {})
    return Refusal(f"gemm-{id}", "gemm", operands, *rest, **more)


_A, _B, _C = At((3, 4)), At((4, 5)), At((3, 5))
_X, _Y = At((4,)), At((3,))

_ROWS: tuple[Refusal, ...] = (
    *(
        _gemv(f"trans-{word}", _A, _X, _Y, "trans", 1, keywords={"trans": letter}, words=(word,))
        for word, letter in (("X", "X"), ("NT", "NT"), ("''", ""), ("1", 1), ("None", None))
    ),
    _gemv("a-vector", _X, _X, None, "a", 5, words=("(4,)",)),
    _gemv("x-no-axis", _A, At(()), None, "x", 7, words=("()",)),
    _gemv("y-no-axis", _A, _X, At(()), "y", 10, words=("()",)),
    _gemv("columns-of-a", _A, _Y, None, "x", 7, words=("(3, 4)", "(3,)")),
    _gemv("rows-of-a", _A, _X, _X, "y", 10, words=("(3, 4)", "(4,)")),
    _gemv("columns-of-a-T", _A, _X, None, "x", 7, keywords={"trans": "T"}, words=("3", "4")),
    _gemv("rows-of-a-C", _A, _Y, _Y, "y", 10, keywords={"trans": "C"}, words=("3", "4")),
    _gemv("x-is-a-column", _A, At((4, 1)), None, "x", 7, words=("(4, 1)",)),
    _gemv("batches", At((2, 3, 4)), At((5, 4)), None, "x", 7, words=("(5, 4)", "2", "5")),
    _gemv("batch-of-y-missing", At((2, 3, 4)), _X, _Y, "y", 10, words=("(3,)", "(2,)")),
    _gemv("batch-of-y-from-x", _A, At((2, 4)), _Y, "y", 10, words=("(3,)", "(2,)")),
    _gemv("batch-of-y-is-one", At((2, 3, 4)), _X, At((1, 3)), "y", 10, words=("(2,)",)),
    _gemv("beta-without-y", _A, _X, None, "beta", 9, keywords={"beta": 1}, words=("0",)),
    _gemv("nan-beta-without-y", _A, _X, None, "beta", 9, keywords={"beta": float("nan")}),
    _gemv("y-repeats", _A, _X, At((3,), strides=(0,)), "y", 10, words=("overlap",)),
    _gemv("y-windows", _A, _X, At((2, 3), strides=(1, 1)), "y", 10, words=("overlap",)),
    _gemv("y-is-x", At((4, 4)), At((4,), buffer="y"), _X, "y", 10, words=("'x'",)),
    _gemv("y-meets-x", _A, At((4,), start=2, buffer="y"), _Y, "y", 10, words=("'x'",)),
    _gemv(
        "y-is-a-row-of-a", At((4, 4), buffer="y"), _X, At((4,), start=4), "y", 10, words=("'a'",)
    ),
    _gemv(
        "y-is-a-column-of-a",
        At((4, 4), buffer="y"),
        _X,
        At((4,), strides=(4,), start=1),
        "y",
        10,
        words=("'a'",),
    ),
    _gemv("mixed-dtypes", _A, At((4,), "float64"), None, error=TypeError, words=("float64",)),
    _gemv("mixed-halves", At((3, 4), "float16"), At((4,), "bfloat16"), None, error=TypeError),
    _gemv("single-into-double", _A, _X, At((3,), "float64"), error=TypeError, words=("float64",)),
    _gemv(
        "half-into-single",
        At((3, 4), "float16"),
        At((4,), "float16"),
        _Y,
        error=TypeError,
        words=("float32",),
    ),
    _gemv("real-into-complex", _A, _X, At((3,), "complex64"), error=TypeError),
    _gemv("integers", At((3, 4), "int32"), At((4,), "int32"), None, error=TypeError),
    _gemv("complex-alpha", _A, _X, _Y, keywords={"alpha": 2j}, error=TypeError, words=("alpha",)),
    _gemv("complex-beta", _A, _X, _Y, keywords={"beta": 2j}, error=TypeError, words=("beta",)),
    *(
        _gemm(
            f"trans-a-{word}", _A, _B, _C, "trans_a", 1, keywords={"trans_a": letter}, words=(word,)
        )
        for word, letter in (("X", "X"), ("NT", "NT"), ("''", ""), ("1", 1), ("None", None))
    ),
    _gemm(
        "trans-b-R", _A, _B, _C, "trans_b", 2, keywords={"trans_b": "R"}, words=("'R'", "trans_b")
    ),
    _gemm("both-trans", _A, _B, _C, "trans_a", 1, keywords={"trans_a": "?", "trans_b": "!"}),
    _gemm("a-vector", At((4,)), _B, None, "a", 7, words=("(4,)",)),
    _gemm("b-vector", _A, At((4,)), None, "b", 9, words=("(4,)",)),
    _gemm("c-vector", _A, _B, At((15,)), "c", 12, words=("(15,)",)),
    _gemm("inner-sizes", _A, At((5, 4)), None, "b", 9, words=("(3, 4)", "(5, 4)")),
    _gemm("inner-sizes-T", _A, _B, None, "b", 9, keywords={"trans_a": "T"}, words=("3", "4")),
    _gemm("rows-of-c", _A, _B, At((4, 5)), "c", 12, words=("(4, 5)",)),
    _gemm("columns-of-c", _A, _B, At((3, 4)), "c", 12, words=("(3, 4)",)),
    _gemm("c-turned", _A, _B, At((5, 3)), "c", 12, words=("(5, 3)",)),
    _gemm(
        "batches",
        At((5, 3, 1)),
        At((3, 1, 4)),
        None,
        "b",
        9,
        words=("(5, 3, 1)", "(3, 1, 4)", "5", "3"),
    ),
    _gemm("batch-of-c-missing", At((2, 3, 4)), _B, _C, "c", 12, words=("(3, 5)", "(2,)")),
    _gemm("batch-of-c-is-one", At((2, 3, 4)), _B, At((1, 3, 5)), "c", 12, words=("(2,)",)),
    _gemm("beta-without-c", _A, _B, None, "beta", 11, keywords={"beta": 1}, words=("0",)),
    _gemm("nan-beta-without-c", _A, _B, None, "beta", 11, keywords={"beta": float("nan")}),
    _gemm("c-repeats-rows", _A, _B, At((3, 5), strides=(0, 1)), "c", 12, words=("overlap",)),
    _gemm("c-repeats-columns", _A, _B, At((3, 5), strides=(1, 0)), "c", 12, words=("overlap",)),
    _gemm("c-windows", _A, At((4, 4)), At((3, 4), strides=(1, 1)), "c", 12, words=("overlap",)),
    _gemm(
        "c-skewed", At((3, 2)), At((2, 3)), At((3, 3), strides=(2, 1)), "c", 12, words=("overlap",)
    ),
    _gemm("c-is-a", At((4, 4), buffer="c"), At((4, 4)), At((4, 4)), "c", 12, words=("'a'",)),
    _gemm("c-is-b", At((4, 4)), At((4, 4), buffer="c"), At((4, 4)), "c", 12, words=("'b'",)),
    _gemm("c-meets-a", At((3, 4), start=14, buffer="c"), _B, _C, "c", 12, words=("'a'",)),
    _gemm("mixed-dtypes", _A, At((4, 5), "float64"), None, error=TypeError, words=("float64",)),
    _gemm("mixed-halves", At((3, 4), "float16"), At((4, 5), "bfloat16"), None, error=TypeError),
    _gemm("single-into-double", _A, _B, At((3, 5), "float64"), error=TypeError, words=("float64",)),
    _gemm("single-into-half", _A, _B, At((3, 5), "float16"), error=TypeError),
    _gemm(
        "half-into-double",
        At((3, 4), "float16"),
        At((4, 5), "float16"),
        At((3, 5), "float64"),
        error=TypeError,
    ),
    _gemm("real-into-complex", _A, _B, At((3, 5), "complex64"), error=TypeError),
    _gemm(
        "integers",
        At((3, 4), "int32"),
        At((4, 5), "int32"),
        None,
        error=TypeError,
        words=("int32",),
    ),
    _gemm("complex-alpha", _A, _B, _C, keywords={"alpha": 2j}, error=TypeError, words=("alpha",)),
    _gemm("complex-beta", _A, _B, _C, keywords={"beta": 2j}, error=TypeError, words=("beta",)),
    _gemm("unknown-math", _A, _B, _C, "math", None, keywords={"math": "fast"}, words=("ieee",)),
)

REFUSALS: tuple[Refusal, ...] = (
    *level1_refusals.ROWS,
    *level2_refusals.ROWS,
    *_ROWS,
    *level3_refusals.ROWS,
)
