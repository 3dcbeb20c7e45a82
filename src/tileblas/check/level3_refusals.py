"""The wrong calls of level 3 that must be refused, but for those of gemm.

Each routine has a right call for each letter of its options, with m = 3, n = 4 and k = 5, and rows
of what is changed in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tileblas.check import refusal_rows
from tileblas.check.refusal_rows import Call
from tileblas.check.wrong_calls import At, Refusal
from tileblas.core.dtypes import DTYPES
from tileblas.core.spec import Spec
from tileblas.core.storage import math_axes
from tileblas.routines.registry import ROUTINES

#: The arguments of the Fortran routines, whose numbers are positions.
_FORTRAN = {
    "symm hemm skewsymm": "side uplo m n alpha a lda b ldb beta c ldc",
    "syrk herk": "uplo trans n k alpha a lda beta c ldc",
    "syrkx herkx syr2k her2k skewsyr2k": "uplo trans n k alpha a lda b ldb beta c ldc",
    "gemmtr": "uplo trans_a trans_b n k alpha a lda b ldb beta c ldc",
}
#: The arguments of each routine by its name.
FORTRAN = {name: words.split() for names, words in _FORTRAN.items() for name in names.split()}

_SIZES = {"m": 3, "n": 4, "k": 5}


def _right(spec: Spec, letters: dict[str, str]) -> Call:
    """A call that would be right, of the first type of the routine, with these letters."""
    options = {option.name: option.default for option in spec.options} | letters
    operands = {
        arg.name: At(tuple(_SIZES[axis] for axis in math_axes(arg, options)), spec.dtypes[0])
        for arg in spec.arguments
    }
    return Call(spec, spec.dtypes[0], operands, dict(letters), tuple(FORTRAN[spec.name]))


def _rows() -> Iterator[Refusal]:
    for name in FORTRAN:
        spec = ROUTINES[name]
        call = _right(spec, {})
        for rows in (*refusal_rows.OF_ANY, _letters_of_types, _math):
            yield from rows(call)
        for letters in _each_letter(spec):
            yield from _shapes(_right(spec, letters))


def _each_letter(spec: Spec) -> Iterator[dict[str, str]]:
    """No letter, then each one that is no default by itself."""
    complex_too = DTYPES[spec.dtypes[0]].is_complex
    yield {}
    for option in spec.options:
        letters = option.complex_letters if complex_too else ""
        for letter in letters or option.letters:
            if letter != option.default:
                yield {option.name: letter}


def _shapes(call: Call) -> Iterator[Refusal]:
    """Operands that do not fit those before them along some axis, or are no matrices."""
    options = {option.name: option.default for option in call.spec.options} | call.keywords
    word = "".join(f"-{name}-{letter}" for name, letter in call.keywords.items())
    seen: set[str] = set()
    for arg in call.spec.arguments:
        shape = call.operands[arg.name].shape
        for place, axis in enumerate(math_axes(arg, options)):
            if axis in seen:
                for size in (shape[place] - 1, shape[place] + 1):
                    other = (*shape[:place], size, *shape[place + 1 :])
                    id = f"{arg.name}-{other[0]}x{other[1]}{word}"
                    yield call.but(id, arg.name, call.reshaped(arg.name, other), {}, (str(other),))
            seen.add(axis)
        vector = call.reshaped(arg.name, shape[1:])
        yield call.but(f"{arg.name}-axes{word}", arg.name, vector, {}, (str(shape[1:]),))
    if len(set(call.operands["c"].shape)) > 1:
        turned = call.operands["c"].shape[::-1]
        yield call.but(f"c-turned{word}", "c", call.reshaped("c", turned), {}, (str(turned),))


def _letters_of_types(call: Call) -> Iterator[Refusal]:
    """Letters that the routine has for real operands only."""
    complex_ones = [dtype for dtype in call.spec.dtypes if DTYPES[dtype].is_complex]
    for option in call.spec.options:
        for letter in set(option.letters) - set(option.complex_letters or option.letters):
            for dtype in complex_ones:
                operands = {name: replace(at, dtype=dtype) for name, at in call.operands.items()}
                id, words = f"{option.name}-{letter}-of-{dtype}", (repr(letter), dtype)
                yield call.but(id, option.name, operands, {option.name: letter}, words)


def _math(call: Call) -> Iterator[Refusal]:
    yield call.but("unknown-math", "math", {}, {"math": "fast"}, ("ieee",))


ROWS: tuple[Refusal, ...] = tuple(_rows())
