"""A case with its operands in memory: the call that is timed, and what it should have computed."""

from __future__ import annotations

import math
import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

import tileblas
from tileblas.check.oracle import FINITE, Reference, reference
from tileblas.check.tolerance import judge
from tileblas.core.dtypes import DTYPES, DType
from tileblas.core.spec import Arg
from tileblas.lab.cases import Case
from tileblas.lab.places import Place
from tileblas.lab.rivals import ALPHA, Bound
from tileblas.routines.registry import ROUTINES

_CHUNK = 1 << 20  # elements of a dot that the reference sums at a time, one chunk a thread
_SAMPLED_ROWS = 4
_SAMPLED_TERMS = 1 << 24  # multiply-adds that the reference of a product may take
_SAMPLED_ELEMENTS = 1 << 16  # of a vector that is written


@dataclass(frozen=True)
class Accuracy:
    """How far one result is from the reference: `error` is relative, `good` within the hard bar.

    The error of a dot is relative to sum |x||y|, which cancellation does not shrink; that of an
    array is the Frobenius norm over the sample, relative to the reference's.
    """

    error: float
    good: bool


def work(case: Case) -> tuple[int, int]:
    """Flops and ideal bytes of a case, by its Spec; with beta = 0 an output is not read."""
    spec, dtype = ROUTINES[case.routine], DTYPES[case.dtype]
    reads_output = "beta" not in spec.scalars
    return spec.flop_count(case.dims, dtype), spec.byte_count(case.dims, dtype, reads_output)


class Problem:
    """Operands of one case, made by its Spec, with alpha as in `ALPHA` and beta = 0."""

    def __init__(self, case: Case, place: Place) -> None:
        self.case, self.place = case, place
        self.spec = spec = ROUTINES[case.routine]
        self.dtype: DType = DTYPES[case.dtype]
        transposable = [arg.trans for arg in spec.arguments if arg.trans]
        self.options = dict(zip(transposable, case.trans, strict=True))
        self.operands = {
            arg.name: self._stored(self._shape(arg), seed)
            for seed, arg in enumerate(spec.arguments)
        }
        self._sums: Reference | None = None

    def _shape(self, arg: Arg) -> tuple[int, ...]:
        sizes = dict(zip(self.spec.dims, self.case.dims, strict=True))
        axes = arg.axes if self.options.get(arg.trans or "", "N") == "N" else arg.axes[::-1]
        return tuple(sizes[axis] for axis in axes)

    def _stored(self, shape: tuple[int, ...], seed: int) -> Any:
        order = "F" if self.case.layout == "col" else "C"
        return self.place.normal(shape, self.case.dtype, seed, order)

    def bind(self) -> Bound:
        """The call of tileblas itself."""
        function = getattr(tileblas, self.case.routine)
        arguments = tuple(self.operands.values())
        keywords: dict[str, Any] = dict(self.options)
        if self.case.routine in ALPHA:
            keywords["alpha"] = ALPHA[self.case.routine]
        return Bound(lambda: function(*arguments, **keywords), self.place.to_host)

    def output(self, bound: Bound) -> np.ndarray:
        """Run a call once and bring all that it computed to the host."""
        returned = bound.call()
        if self._returns_scalar:
            return np.asarray(bound.value(returned))
        return self.place.to_host(self.operands[self.spec.operands[self.spec.output].name])

    @property
    def _returns_scalar(self) -> bool:
        return self.spec.operands[self.spec.output].ndim == 0

    def accuracy(self, bound: Bound) -> Accuracy:
        """Run a call once and compare what it computed with the higher-precision reference."""
        if self._returns_scalar:
            expected = self._dot_reference()
            result = np.asarray(bound.value(bound.call()))
            scale = float(expected.gauge)
        else:
            pick, expected = self._sampled()
            bound.call()
            result = pick()
            scale = float(np.linalg.norm(expected.value))
        error = np.linalg.norm((result - expected.value) - expected.tail) / scale
        return Accuracy(float(error), judge(result, expected, self.dtype).passed)

    def _dot_reference(self) -> Reference:
        """The whole sum, chunk by chunk, the chunks added exactly."""
        if self._sums is None:
            n, x, y = self.case.dims[0], self.operands["x"], self.operands["y"]

            def part(start: int) -> Reference:
                pieces = (self.place.part(v, start, start + _CHUNK) for v in (x, y))
                vectors = dict(zip("xy", pieces, strict=True))
                return reference(self.case.routine, vectors, {}, {}, self.dtype.compute)

            with ThreadPoolExecutor() as pool:
                self._sums = _added(list(pool.map(part, range(0, n, _CHUNK))), n)
        return self._sums

    def _sampled(self):
        """A function that reads a sample of the output, and what it must read after one call."""
        if self.spec.level == 1:
            return self._sampled_vector()
        return self._sampled_product()

    def _sampled_vector(self):
        index = _sample(self.case.dims[0], _SAMPLED_ELEMENTS)
        vectors = {name: self.place.take(v, index) for name, v in self.operands.items()}
        scalars = {"alpha": ALPHA[self.case.routine]}
        expected = reference(self.case.routine, vectors, scalars, {}, self.dtype.compute)
        output = self.operands[self.spec.operands[self.spec.output].name]
        return lambda: self.place.take(output, index), expected

    def _sampled_product(self):
        m, n, k = self.case.dims
        rows = _sample(m, _SAMPLED_ROWS)
        columns = _sample(n, max(1, _SAMPLED_TERMS // (len(rows) * k)))
        a = self.place.take(self.operands["a"], rows, axis=int(self.options["trans_a"] != "N"))
        b = self.place.take(self.operands["b"], columns, axis=int(self.options["trans_b"] == "N"))
        expected = reference("gemm", {"a": a, "b": b}, {}, self.options, self.dtype.compute)
        return lambda: self.place.take(self.operands["c"], rows)[:, columns], expected


def _sample(n: int, count: int) -> list[int]:
    """Up to `count` indices below n, the first and the last among them."""
    if n <= count:
        return list(range(n))
    return sorted({0, n - 1, *random.Random(n).sample(range(1, n - 1), max(count - 2, 0))})


def _added(parts: list[Reference], terms: int) -> Reference:
    """The sum of the references of consecutive pieces of one dot."""

    def exact(numbers: list[float]) -> tuple[float, float]:
        total = math.fsum(numbers)
        return total, math.fsum([*numbers, -total])

    pieces = [complex(part.value) for part in parts] + [complex(part.tail) for part in parts]
    high, low = exact([piece.real for piece in pieces])
    value, tail = np.asarray(high), np.asarray(low)
    if np.iscomplexobj(parts[0].value):
        high_im, low_im = exact([piece.imag for piece in pieces])
        value, tail = np.asarray(complex(high, high_im)), np.asarray(complex(low, low_im))
    gauge = np.asarray(math.fsum(float(part.gauge) for part in parts))
    return Reference(value, tail, gauge, gauge, np.asarray(FINITE), terms, 0)
