"""Calls that must be refused, as data, and the check that they are and that nothing is written.

Each operand is a view `At` some place of a named buffer, so that one table also holds operands that
overlap. What only NumPy can express (read-only arrays, byte order, object arrays) is in the tests.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import tileblas
from tileblas.check.guards import Library
from tileblas.core.dtypes import DTYPES, numpy_dtype
from tileblas.core.operand import c_strides
from tileblas.errors import BlasError

_SIZE = 256  # elements of a buffer


@dataclass(frozen=True)
class At:
    """A view: strides are C order by default, the buffer is the operand's own."""

    shape: tuple[int, ...]
    dtype: str = "float32"
    strides: tuple[int, ...] | None = None
    start: int = 0
    buffer: str = ""


@dataclass(frozen=True)
class Refusal:
    """One wrong call. `position` is the Fortran number of `argument`; the message has `words`."""

    id: str
    routine: str
    operands: dict[str, At]
    argument: str | None = None
    position: int | None = None
    keywords: dict[str, Any] = field(default_factory=dict)
    error: type[Exception] = BlasError
    words: tuple[str, ...] = ()

    @property
    def dtypes(self) -> set[str]:
        return {at.dtype for at in self.operands.values()}

    @property
    def has_negative_strides(self) -> bool:
        return any(stride < 0 for at in self.operands.values() for stride in at.strides or ())


def _dot(id: str, x: At, y: At, *rest, **more) -> Refusal:
    return Refusal(f"dot-{id}", "dot", {"x": x, "y": y}, *rest, **more)


def _nrm2(id: str, x: At, *rest, **more) -> Refusal:
    return Refusal(f"nrm2-{id}", "nrm2", {"x": x}, *rest, **more)


def _scal(id: str, x: At, argument=None, position=None, alpha: Any = 2, **more) -> Refusal:
    keywords = {"alpha": alpha}
    return Refusal(f"scal-{id}", "scal", {"x": x}, argument, position, keywords, **more)


def _axpy(id: str, x: At, y: At, *rest, **more) -> Refusal:
    return Refusal(f"axpy-{id}", "axpy", {"x": x, "y": y}, *rest, **more)


def _gemv(id: str, a: At, x: At, y: At | None, *rest, **more) -> Refusal:
    operands = {"a": a, "x": x} | ({"y": y} if y else {})
    return Refusal(f"gemv-{id}", "gemv", operands, *rest, **more)


def _gemm(id: str, a: At, b: At, c: At | None, *rest, **more) -> Refusal:
    operands = {"a": a, "b": b} | ({"c": c} if c else {})
    return Refusal(f"gemm-{id}", "gemm", operands, *rest, **more)


_A, _B, _C = At((3, 4)), At((4, 5)), At((3, 5))
_X, _Y = At((4,)), At((3,))

_ROWS: tuple[Refusal, ...] = (
    _dot("lengths", At((3,)), At((4,)), "y", 4, words=("(3,)", "(4,)")),
    _dot("no-axis-x", At(()), At((4,)), "x", 2, words=("()",)),
    _dot("no-axis-y", At((4,)), At(()), "y", 4, words=("()",)),
    _dot("batches", At((2, 5)), At((3, 5)), "y", 4, words=("(2, 5)", "(3, 5)", "2", "3")),
    _dot("mixed-dtypes", At((3,)), At((3,), "float64"), error=TypeError, words=("float64",)),
    _dot("mixed-complex", At((3,)), At((3,), "complex64"), error=TypeError),
    _dot("integers", At((3,), "int32"), At((3,), "int32"), error=TypeError, words=("int32",)),
    _dot("bool", At((3,), "bool"), At((3,), "bool"), error=TypeError, words=("bool",)),
    _nrm2("no-axis", At(()), "x", 2, words=("()",)),
    _nrm2("integers", At((3,), "int32"), error=TypeError, words=("int32",)),
    _nrm2("bool", At((3,), "bool"), error=TypeError, words=("bool",)),
    _scal("no-axis", At(()), "x", 3, words=("()",)),
    _scal("x-repeats", At((4,), strides=(0,)), "x", 3, words=("overlap",)),
    _scal("x-windows", At((3, 4), strides=(1, 1)), "x", 3, words=("overlap",)),
    _scal("batch-repeats", At((2, 4), strides=(0, 1)), "x", 3, words=("overlap",)),
    _scal("complex-alpha", At((3,)), alpha=1j, error=TypeError, words=("alpha",)),
    _scal("complex-alpha-one", At((3,)), alpha=1 + 0j, error=TypeError),
    _scal("word-alpha", At((3,)), alpha="2", error=TypeError),
    _scal("list-alpha", At((3,)), alpha=[2.0], error=TypeError),
    _scal("no-alpha", At((3,)), alpha=None, error=TypeError),
    _scal("huge-alpha", At((3,)), "alpha", 2, alpha=-(10**400)),
    _scal("integers", At((3,), "int64"), error=TypeError, words=("int64",)),
    _axpy("lengths", At((3,)), At((4,)), "y", 5, words=("(3,)", "(4,)")),
    _axpy("one-is-not-many", At((1,)), At((4,)), "y", 5, words=("(1,)", "(4,)")),
    _axpy("no-axis-x", At(()), At((4,)), "x", 3),
    _axpy("no-axis-y", At((4,)), At(()), "y", 5),
    _axpy("batch-of-y-too-small", At((2, 4)), At((4,)), "y", 5, words=("(4,)", "(2,)")),
    _axpy("batch-of-y-is-one", At((2, 4)), At((1, 4)), "y", 5, words=("(1, 4)", "(2,)")),
    _axpy("batches", At((2, 4)), At((3, 4)), "y", 5, words=("(2, 4)", "(3, 4)", "2", "3")),
    _axpy("y-repeats", At((4,)), At((4,), strides=(0,)), "y", 5, words=("overlap",)),
    _axpy("y-windows", At((3, 4)), At((3, 4), strides=(1, 1)), "y", 5, words=("overlap",)),
    _axpy("x-is-y-shifted", At((4,), buffer="y"), At((4,), start=1), "y", 5, words=("'x'",)),
    _axpy(
        "x-is-y-reversed",
        At((4,), strides=(-1,), start=3, buffer="y"),
        At((4,)),
        "y",
        5,
        words=("'x'",),
    ),
    _axpy("x-is-a-row-of-y", At((4,), buffer="y"), At((3, 4)), "y", 5, words=("'x'",)),
    _axpy("complex-alpha", At((3,)), At((3,)), keywords={"alpha": 1j}, error=TypeError),
    _axpy("complex-alpha-zero", At((3,)), At((3,)), keywords={"alpha": 1 + 0j}, error=TypeError),
    _axpy("word-alpha", At((3,)), At((3,)), keywords={"alpha": "2"}, error=TypeError),
    _axpy("no-alpha", At((3,)), At((3,)), keywords={"alpha": None}, error=TypeError),
    _axpy("list-alpha", At((3,)), At((3,)), keywords={"alpha": [2.0]}, error=TypeError),
    _axpy("huge-alpha", At((3,)), At((3,)), "alpha", 2, keywords={"alpha": 10**400}),
    _axpy("mixed-dtypes", At((3,), "float64"), At((3,)), error=TypeError),
    _axpy("half-into-single", At((3,), "float16"), At((3,)), error=TypeError),
    _axpy("integers", At((3,), "int64"), At((3,), "int64"), error=TypeError),
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


#: dotc and dotu refuse what dot refuses.
REFUSALS: tuple[Refusal, ...] = _ROWS + tuple(
    replace(row, id=row.id.replace("dot", name), routine=name)
    for name in ("dotc", "dotu")
    for row in _ROWS
    if row.routine == "dot"
)


def refused(refusal: Refusal, library: Library) -> str | None:
    """None if the call was refused as it must be and nothing was written, else what happened."""
    buffers: dict[str, Any] = {}
    arrays = {}
    for name, at in refusal.operands.items():
        key = at.buffer or name
        if key not in buffers:
            buffers[key] = library.put(_numbered(at.dtype))
        strides = c_strides(at.shape) if at.strides is None else at.strides
        arrays[name] = library.view(buffers[key], at.start, at.shape, strides)
    before = {key: library.get(buffer).tobytes() for key, buffer in buffers.items()}
    try:
        getattr(tileblas, refusal.routine)(**arrays, **refusal.keywords)
    except Exception as error:
        problem = _wrong_error(refusal, error)
    else:
        problem = "it was not refused"
    after = {key: library.get(buffer).tobytes() for key, buffer in buffers.items()}
    return problem or (None if after == before else "it wrote to an operand")


def _numbered(dtype: str) -> np.ndarray:
    kind = numpy_dtype(DTYPES[dtype]) if dtype in DTYPES else np.dtype(dtype)
    return np.arange(_SIZE).astype(kind)


def _wrong_error(refusal: Refusal, error: Exception) -> str | None:
    if type(error) is not refusal.error:
        return f"expected {refusal.error.__name__}, got {type(error).__name__}: {error}"
    if isinstance(error, BlasError):
        got = (error.routine, error.argument, error.position)
        if got != (refusal.routine, refusal.argument, refusal.position):
            return f"named {got}: {error}"
    missing = [word for word in (refusal.routine, *refusal.words) if word not in str(error)]
    return f"does not say {', '.join(missing)}: {error}" if missing else None
