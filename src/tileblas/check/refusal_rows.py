"""Wrong calls made of a right one, whatever the routine: letters, batches, types, scalars."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from tileblas.check.wrong_calls import At, Refusal
from tileblas.core.spec import Arg, Spec
from tileblas.errors import BlasError

_LETTERS = (("X", "X"), ("two", "UL"), ("none", ""), ("number", 1), ("None", None))


@dataclass(frozen=True)
class Call:
    """The right call of one routine, and the wrong ones that are made of it.

    `fortran` has the arguments of the Fortran routine, whose numbers are positions.
    """

    spec: Spec
    dtype: str
    operands: dict[str, At]
    keywords: dict[str, Any]
    fortran: tuple[str, ...] = ()

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
        position = self.fortran.index(argument) + 1 if argument in self.fortran else None
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


def letters(call: Call) -> Iterator[Refusal]:
    """Each option with what is no letter of it, and all of them, of which the first is named."""
    names = [option.name for option in call.spec.options if option.letters]
    for name in names:
        for word, letter in _LETTERS:
            yield call.but(f"{name}-{word}", name, {}, {name: letter}, (repr(letter),))
    if len(names) > 1:
        yield call.but("every-letter", names[0], {}, dict.fromkeys(names, "?"))


def batches(call: Call) -> Iterator[Refusal]:
    """Batches that do not broadcast, and an output without those of the inputs."""
    first, second, *_ = (arg.name for arg in call.spec.arguments)
    stacks = [(2, *call.operands[first].shape), (5, *call.operands[second].shape)]
    stack = call.reshaped(first, stacks[0])
    words = (str(stacks[1]), "2", "5")
    yield call.but("batches", second, stack | call.reshaped(second, stacks[1]), words=words)
    yield call.but("batch-of-output-missing", call.outputs[0].name, stack, words=("(2,)",))


def overlaps(call: Call) -> Iterator[Refusal]:
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


def types(call: Call) -> Iterator[Refusal]:
    """Operands of two types, and of each that the routine does not have."""
    last = call.spec.arguments[-1].name
    double = {"float32": "float64", "complex64": "complex128"}[call.dtype]
    mixed = {last: replace(call.operands[last], dtype=double)}
    yield call.but("mixed-types", None, mixed, words=(double,), error=TypeError)
    for wrong in ("int32", "bool", "float16", "bfloat16", "float32", "complex64"):
        if wrong not in call.spec.dtypes:
            operands = {name: replace(at, dtype=wrong) for name, at in call.operands.items()}
            yield call.but(wrong, None, operands, words=(wrong,), error=TypeError)


def scalars(call: Call) -> Iterator[Refusal]:
    """Scalars that are no numbers, or complex where they must be real; a beta without an output."""
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


#: What there is of any routine on matrices.
OF_ANY = (letters, batches, overlaps, types, scalars)
