"""The wrong calls of level 2 that must be refused, but for those of gemv.

Each routine has a right call, of order 4 or of 3 x 4, and rows of what is changed in it. What only
NumPy can express (read-only arrays) is in the tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from tileblas.check.wrong_calls import At, Refusal
from tileblas.core.spec import BAND, PACKED, Arg, Spec
from tileblas.errors import BlasError
from tileblas.routines.registry import ROUTINES

#: The arguments of the Fortran routines, whose numbers are positions; gemvt is not one of them.
_FORTRAN = {
    "gbmv": "trans m n kl ku alpha a lda x incx beta y incy",
    "symv hemv skewsymv": "uplo n alpha a lda x incx beta y incy",
    "sbmv hbmv": "uplo n k alpha a lda x incx beta y incy",
    "spmv hpmv": "uplo n alpha ap x incx beta y incy",
    "trmv trsv": "uplo trans diag n a lda x incx",
    "tbmv tbsv": "uplo trans diag n k a lda x incx",
    "tpmv tpsv": "uplo trans diag n ap x incx",
    "ger geru gerc": "m n alpha x incx y incy a lda",
    "syr her": "uplo n alpha x incx a lda",
    "spr hpr": "uplo n alpha x incx ap",
    "syr2 her2 skewsyr2": "uplo n alpha x incx y incy a lda",
    "spr2 hpr2": "uplo n alpha x incx y incy ap",
}
#: The arguments of each routine by its name.
FORTRAN = {name: words.split() for names, words in _FORTRAN.items() for name in names.split()}

_LETTERS = (("X", "X"), ("two", "UL"), ("none", ""), ("number", 1), ("None", None))


@dataclass(frozen=True)
class _Call:
    """The right call of one routine, and the wrong ones that are made of it."""

    spec: Spec
    dtype: str
    operands: dict[str, At]
    keywords: dict[str, Any]

    def but(
        self,
        id: str,
        argument: str | None = None,
        operands: dict[str, At] | None = None,
        keywords: dict[str, Any] | None = None,
        words: tuple[str, ...] = (),
        error: type[Exception] = BlasError,
        without: str = "",
    ) -> Refusal:
        """The call with other operands and keywords, or one `without` an operand, is refused."""
        name = self.spec.name
        passed = self.operands | (operands or {})
        passed.pop(without, None)
        numbers = FORTRAN.get(name, [])
        position = numbers.index(argument) + 1 if argument in numbers else None
        keywords = self.keywords | (keywords or {})
        return Refusal(f"{name}-{id}", name, passed, argument, position, keywords, error, words)

    def reshaped(self, name: str, shape: tuple[int, ...]) -> dict[str, At]:
        """One operand in another shape."""
        return {name: At(shape, self.dtype)}

    @property
    def outputs(self) -> list[Arg]:
        return [arg for arg in self.spec.arguments if arg.is_output]

    @property
    def matrix(self) -> Arg:
        return next(arg for arg in self.spec.arguments if arg.name in ("a", "ap"))


def _right(spec: Spec) -> _Call:
    """A call that would be right, of the first type of the routine that is no half."""
    dtype = next(name for name in spec.dtypes if name not in ("float16", "bfloat16"))
    sizes = {"m": 3 if "m" in spec.dims else 4, "n": 4, "b": 3, "p": 10}
    operands = {
        arg.name: At(tuple(sizes[axis] for axis in arg.axes), dtype) for arg in spec.arguments
    }
    return _Call(spec, dtype, operands, {"kl": 1} if "kl" in spec.option_names else {})


def _rows() -> Iterator[Refusal]:
    for spec in ROUTINES.values():
        if spec.level == 2 and spec.name != "gemv":
            call = _right(spec)
            for rows in (_letters, _shapes, _batches, _storage, _overlaps, _types, _scalars):
                yield from rows(call)
    yield from _bands(_right(ROUTINES["gbmv"]))


def _letters(call: _Call) -> Iterator[Refusal]:
    names = [option.name for option in call.spec.options if option.letters]
    for name in names:
        for word, letter in _LETTERS:
            yield call.but(f"{name}-{word}", name, {}, {name: letter}, (repr(letter),))
    if len(names) > 1:
        yield call.but("every-letter", names[0], {}, dict.fromkeys(names, "?"))


def _shapes(call: _Call) -> Iterator[Refusal]:
    """Operands that do not fit those before them, or are none of the kind."""
    seen: set[str] = set()
    for arg in call.spec.arguments:
        shape = call.operands[arg.name].shape
        if arg.axes[-1] in seen:
            longer = (*shape[:-1], shape[-1] + 1)
            yield call.but(
                f"{arg.name}-longer",
                arg.name,
                call.reshaped(arg.name, longer),
                words=(str(longer),),
            )
        fewer = call.reshaped(arg.name, shape[1:])
        yield call.but(f"{arg.name}-axes", arg.name, fewer, words=(str(shape[1:]),))
        seen |= set(arg.axes)
    if call.matrix.axes == "nn":
        for word, shape in (("wide", (4, 5)), ("tall", (5, 4))):
            yield call.but(f"a-{word}", "a", call.reshaped("a", shape), words=(str(shape),))


def _batches(call: _Call) -> Iterator[Refusal]:
    first, second, *_ = (arg.name for arg in call.spec.arguments)
    stacks = [(2, *call.operands[first].shape), (5, *call.operands[second].shape)]
    stack = call.reshaped(first, stacks[0])
    words = (str(stacks[1]), "2", "5")
    yield call.but("batches", second, stack | call.reshaped(second, stacks[1]), words=words)
    yield call.but("batch-of-output-missing", call.outputs[0].name, stack, words=("(2,)",))


def _storage(call: _Call) -> Iterator[Refusal]:
    """Bands without rows, and packed triangles of another length."""
    if call.matrix.storage == PACKED:
        for length in (9, 11, 0):
            ap = call.reshaped("ap", (length,))
            yield call.but(f"ap-{length}", "ap", ap, words=(str(length), "10"))
    if call.matrix.storage == BAND:
        keywords = {"kl": 0} if call.keywords else {}
        yield call.but("no-diagonal", "a", call.reshaped("a", (0, 4)), keywords, ("row",))


def _bands(call: _Call) -> Iterator[Refusal]:
    """What gbmv is told of a band: its array has 3 rows, A has 3."""
    for kl in (3, 7):
        yield call.but(f"kl-{kl}", "kl", {}, {"kl": kl}, (str(kl), "3"))
    yield call.but("negative-kl", "kl", {}, {"kl": -1}, ("-1", "0"))
    yield call.but("trans-before-kl", "trans", {}, {"trans": "X", "kl": -1})
    for m in (2, 4, 0):
        yield call.but(f"m-{m}", "m", {}, {"m": m}, (str(m), "3"))
    yield call.but("negative-m", "m", {}, {"m": -1}, ("-1",))
    turned = call.reshaped("x", (3,)) | call.reshaped("y", (4,))
    yield call.but("m-of-T", "m", turned, {"m": 4, "trans": "T"}, ("4", "3"))
    for name, value in (("kl", 1.0), ("kl", "1"), ("kl", None), ("m", 3.0)):
        words = (name, repr(value))
        yield call.but(f"{name}-is-{value!r}", None, {}, {name: value}, words, TypeError)
    without = replace(call, keywords={})
    yield without.but("no-kl", words=("kl",), error=TypeError)


def _overlaps(call: _Call) -> Iterator[Refusal]:
    """Outputs whose elements are some of their own, or of another operand."""
    names = [arg.name for arg in call.outputs]
    for output in names:
        at = call.operands[output]
        steps = (0,) * (len(at.shape) - 1) + (1,) if len(at.shape) > 1 else (0,)
        repeats = {output: replace(at, strides=steps)}
        yield call.but(f"{output}-repeats", output, repeats, words=("overlap",))
        for other in (name for name in call.operands if name != output):
            # The other begins where the last element of the output is.
            meets = {other: replace(call.operands[other], buffer=output, start=prod(at.shape) - 1)}
            # Of two outputs, the first is said to meet the second.
            named, with_ = sorted((output, other)) if other in names else (output, other)
            id = f"{output}-meets-{other}"
            yield call.but(id, named, meets, words=(f"'{with_}'",))


def _types(call: _Call) -> Iterator[Refusal]:
    last = call.spec.arguments[-1].name
    double = {"float32": "float64", "complex64": "complex128"}[call.dtype]
    mixed = {last: replace(call.operands[last], dtype=double)}
    yield call.but("mixed-types", None, mixed, words=(double,), error=TypeError)
    for wrong in ("int32", "bool", "float16", "bfloat16", "float32", "complex64"):
        if wrong not in call.spec.dtypes:
            operands = {name: replace(at, dtype=wrong) for name, at in call.operands.items()}
            yield call.but(wrong, None, operands, words=(wrong,), error=TypeError)


def _scalars(call: _Call) -> Iterator[Refusal]:
    for name in call.spec.scalars:
        values: tuple[Any, ...] = ("2", [2.0])
        if call.dtype == "float32" or name in call.spec.real_scalars:
            values += (2j, 2 + 0j)
        for value in values:
            yield call.but(f"{name}-is-{value}", None, {}, {name: value}, (name,), TypeError)
    if "beta" in call.spec.scalars:
        for output in (arg.name for arg in call.outputs):
            for beta in (1, float("nan")):
                id = f"beta-is-{beta}-without-{output}"
                words = (output, "0")
                yield call.but(id, "beta", {}, {"beta": beta}, words, without=output)


ROWS: tuple[Refusal, ...] = tuple(_rows())
