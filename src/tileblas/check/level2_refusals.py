"""The wrong calls of level 2 that must be refused, but for those of gemv.

Each routine has a right call, of order 4 or of 3 x 4, and rows of what is changed in it. What only
NumPy can express (read-only arrays) is in the tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tileblas.check import refusal_rows
from tileblas.check.refusal_rows import Call
from tileblas.check.wrong_calls import At, Refusal
from tileblas.core.spec import BAND, PACKED, Spec
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


def _right(spec: Spec) -> Call:
    """A call that would be right, of the first type of the routine that is no half."""
    dtype = next(name for name in spec.dtypes if name not in ("float16", "bfloat16"))
    sizes = {"m": 3 if "m" in spec.dims else 4, "n": 4, "b": 3, "p": 10}
    operands = {
        arg.name: At(tuple(sizes[axis] for axis in arg.axes), dtype) for arg in spec.arguments
    }
    keywords = {"kl": 1} if "kl" in spec.option_names else {}
    return Call(spec, dtype, operands, keywords, tuple(FORTRAN.get(spec.name, ())))


def _rows() -> Iterator[Refusal]:
    for spec in ROUTINES.values():
        if spec.level == 2 and spec.name != "gemv":
            call = _right(spec)
            for rows in (*refusal_rows.OF_ANY, _shapes, _storage):
                yield from rows(call)
    yield from _bands(_right(ROUTINES["gbmv"]))


def _shapes(call: Call) -> Iterator[Refusal]:
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


def _storage(call: Call) -> Iterator[Refusal]:
    """Bands without rows, and packed triangles of another length."""
    if call.matrix.storage == PACKED:
        for length in (9, 11, 0):
            ap = call.reshaped("ap", (length,))
            yield call.but(f"ap-{length}", "ap", ap, words=(str(length), "10"))
    if call.matrix.storage == BAND:
        keywords = {"kl": 0} if call.keywords else {}
        yield call.but("no-diagonal", "a", call.reshaped("a", (0, 4)), keywords, ("row",))


def _bands(call: Call) -> Iterator[Refusal]:
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


ROWS: tuple[Refusal, ...] = tuple(_rows())
