"""A case with its operands in memory: the call that is timed, and what it should have computed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

import tileblas
from tileblas.check.evaluation import Exact, Expected, Reference
from tileblas.check.oracle import reference, references
from tileblas.check.tolerance import judge
from tileblas.core.dtypes import DTYPES, DType
from tileblas.core.spec import Arg
from tileblas.lab import product_samples, samples
from tileblas.lab.cases import Case
from tileblas.lab.places import Place
from tileblas.lab.rival_calls import SCALARS, Bound, scalars
from tileblas.lab.samples import Sampled, fixed, sample
from tileblas.lab.structures import matrix_arg, stored_shape, triangle
from tileblas.routines.registry import ROUTINES

_CHUNK = 1 << 20  # terms of a long sum that the reference takes at a time, one chunk a thread
_SAMPLED_ELEMENTS = 1 << 16  # of a vector that is written
_SAMPLED_ROWS = {2: 1 << 12, 3: 4}  # by level: of a product
_SAMPLED_TERMS = {2: 1 << 22, 3: 1 << 24}  # by level: multiply-adds that a reference may take


@dataclass(frozen=True)
class Accuracy:
    """How far one result is from the reference: `error` is relative, `good` within the hard bar.

    The error of a dot is relative to sum |x||y|, which cancellation does not shrink, that of a
    norm, and of a sum in higher precision, to the result; that of an array is the Frobenius norm
    over the sample, relative to the reference's, and that of a solution the residuals', relative to
    the right-hand side's. What must be exact has an error of 0 or 1. Of several outputs, the worst
    counts.
    """

    error: float
    good: bool


#: Arguments that are the very array that is another one: axpydot updates w, as libraries do that
#: have no such routine.
_SAME = {"axpydot": {"z": "w"}}


def work(case: Case) -> tuple[int, int]:
    """Flops and ideal bytes of a case, by its Spec; with beta = 0 an output is not read."""
    spec, dtype = ROUTINES[case.routine], DTYPES[case.dtype]
    reads_output = scalars(spec).get("beta") != 0
    return spec.flop_count(case.dims, dtype), spec.byte_count(case.dims, dtype, reads_output)


class Problem:
    """Operands of one case, made by its Spec; numbers are those of `scalars`."""

    def __init__(self, case: Case, place: Place) -> None:
        self.case, self.place = case, place
        self.spec = spec = ROUTINES[case.routine]
        self.dtype: DType = DTYPES[case.dtype]
        self.options = case.options
        self.operands = {arg.name: self._made(arg, seed) for seed, arg in enumerate(spec.arguments)}
        for name, other in _SAME.get(spec.name, {}).items():
            self.operands[name] = self.operands[other]
        self._whole: Expected | None = None
        self._sample: Sampled | None = None

    def _made(self, arg: Arg, seed: int) -> Any:
        order = "F" if self.case.layout == "col" and arg.ndim == 2 else "C"
        if self.spec.structure == "triangular" and arg == matrix_arg(self.case):
            return self.place.from_host(triangle(self.case, seed), order)
        return self.place.normal(stored_shape(arg, self.case), self.case.dtype, seed, order)

    def host(self, name: str) -> np.ndarray:
        """An operand on the host, where it may be itself."""
        return self.place.to_host(self.operands[name])

    def take(self, name: str, index: list[int], axis: int = 0) -> np.ndarray:
        """Some elements, rows or columns of an operand, on the host."""
        return self.place.take(self.operands[name], index, axis)

    def gather(self, places: np.ndarray) -> np.ndarray:
        """Elements of the one matrix by their places in memory, on the host."""
        return self.place.gather(self.operands[matrix_arg(self.case).name], places)

    def bind(self) -> Bound:
        """The call of tileblas itself."""
        function = getattr(tileblas, self.case.routine)
        arguments, numbers = tuple(self.operands.values()), SCALARS.get(self.spec.name, {})
        packed = {self.spec.packed: tuple(numbers.values())} if self.spec.packed else numbers
        keywords = {**self.options, **packed}
        return Bound(lambda: function(*arguments, **keywords), self._to_host)

    def _to_host(self, returned: Any) -> np.ndarray:
        """The last output, of all that a call returned."""
        returns = self.spec.returns
        if len(returns) > 1:
            returned = returned[returns.index(self.spec.output_name)]
        return self.place.to_host(returned)

    def output(self, bound: Bound) -> np.ndarray:
        """Run a call once and bring its output, the last of several, to the host."""
        returned = bound.call()
        if self._returns_scalar:
            return np.asarray(bound.value(returned))
        return self.place.to_host(self.operands[self.spec.output_name])

    @property
    def _returns_scalar(self) -> bool:
        return self.spec.operands[self.spec.output].ndim == 0

    def accuracy(self, bound: Bound) -> Accuracy:
        """Run a call once and compare all it computed with the higher-precision reference."""
        written = self._sampled()
        returned = bound.call()
        judged = [self._judged(name, *finish()) for name, finish in written.items()]
        if self._returns_scalar:
            result = np.asarray(bound.value(returned))
            judged.append(self._judged(self.spec.output_name, result, self._reduced()))
        error = np.max([one.error for one in judged])  # of which a NaN is the largest
        return Accuracy(float(error), all(one.good for one in judged))

    def _judged(self, name: str, result: np.ndarray, expected: Expected) -> Accuracy:
        arg = self.spec.operand(name)
        good = judge(result, expected, arg.dtype(self.dtype)).passed
        if not isinstance(expected, Reference):
            return Accuracy(float(not good), good)
        size = float(np.linalg.norm(expected.value))
        scale = max(size, float(expected.gauge)) if arg.ndim == 0 else size
        error = np.linalg.norm((result - expected.value) - expected.tail) / scale
        return Accuracy(float(error), good)

    def _reduced(self) -> Expected:
        """The whole sum, norm or place of an element; after the call, where it changes a vector."""
        if self.spec.name == "axpydot":
            return _added(self._chunked("dotu", {"x": self.operands["z"], "y": self.operands["u"]}))
        if self._whole is None:
            parts = self._chunked(self.spec.name, self.operands)
            if self.spec.family == "iamax":
                self._whole = self._first(parts)
            else:
                combined = _root_of_squares if self.spec.name == "nrm2" else _added
                self._whole = combined(parts)
        return self._whole

    def _chunked(self, routine: str, vectors: Mapping[str, Any]) -> list[Any]:
        """The references of consecutive pieces of vectors that are reduced."""
        output, numbers = ROUTINES[routine].output_name, SCALARS.get(routine, {})

        def part(chunk: slice) -> Expected:
            pieces = {
                name: self.place.part(vector, chunk.start, chunk.stop)
                for name, vector in vectors.items()
            }
            once = numbers if chunk.start == 0 else dict.fromkeys(numbers, 0.0)
            return references(routine, pieces, once, {}, self.dtype.compute)[output]

        return _chunked(part, self.case.dims[0])

    def _first(self, parts: list[Exact]) -> Exact:
        """The place of an element from those of the pieces: the place among what is there."""
        places = [i * _CHUNK + int(part.value) for i, part in enumerate(parts)]
        there = {"x": self.place.take(self.operands["x"], places)}
        found = references(self.spec.name, there, {}, {}, self.dtype.compute)
        return Exact(np.asarray(places[int(found[self.spec.output_name].value)]))

    def _sampled(self) -> Sampled:
        """Samples of the arrays that are written; made again where a call changes what it reads."""
        if self.spec.level == 1:
            return self._sampled_vectors()
        if self.spec.updates:
            return samples.update(self)
        if self.spec.structure == "triangular":
            solves = self.spec.name.endswith("sv")
            return samples.solution(self) if solves else samples.product_in_place(self)
        if self.spec.level == 3 and self.spec.structured == self.spec.output_name:
            return product_samples.product(self)  # which reads the other triangle
        if self._sample is None:
            self._sample = self._sampled_product()
        return self._sample

    def _sampled_vectors(self) -> Sampled:
        written = [arg.name for arg in self.spec.arguments if arg.is_output]
        if not written:
            return {}
        index = sample(self.case.dims[0], _SAMPLED_ELEMENTS)
        vectors = {name: self.take(name, index) for name in self.operands}
        numbers = SCALARS.get(self.spec.name, {})
        expected = references(self.spec.name, vectors, numbers, {}, self.dtype.compute)
        return {name: fixed(partial(self.take, name, index), expected[name]) for name in written}

    def _sampled_product(self) -> Sampled:
        if self.spec.name == "gemv":
            return self._sampled_matvec()
        if self.spec.name == "gemm":
            return self._sampled_matrix()
        if self.spec.level == 3:
            return product_samples.product(self)
        several = len(self.spec.outputs) > 1
        return samples.both_products(self) if several else samples.product(self)

    def _sampled_matvec(self) -> Sampled:
        """gemv, in pieces of a row, which may be as long as any vector."""
        m, n = self.case.dims
        rows = sample(m, min(_SAMPLED_ROWS[2], max(1, _SAMPLED_TERMS[2] // n)))
        transposed = self.options["trans"] != "N"
        a, x = self.take("a", rows, axis=int(transposed)), self.host("x")

        def part(chunk: slice) -> Reference:
            pieces = {"a": a[chunk] if transposed else a[:, chunk], "x": x[chunk]}
            return reference("gemv", pieces, {}, self.options, self.dtype.compute)

        return {"y": fixed(lambda: self.take("y", rows), _added(_chunked(part, n)))}

    def _sampled_matrix(self) -> Sampled:
        m, n, k = self.case.dims
        rows = sample(m, _SAMPLED_ROWS[3])
        columns = sample(n, max(1, _SAMPLED_TERMS[3] // (len(rows) * k)))
        a = self.take("a", rows, axis=int(self.options["trans_a"] != "N"))
        b = self.take("b", columns, axis=int(self.options["trans_b"] == "N"))
        expected = reference("gemm", {"a": a, "b": b}, {}, self.options, self.dtype.compute)
        return {"c": fixed(lambda: self.take("c", rows)[:, columns], expected)}


def _chunked(part: Callable[[slice], Any], n: int) -> list[Any]:
    """The references of consecutive pieces of n terms."""
    chunks = [slice(start, min(start + _CHUNK, n)) for start in range(0, n, _CHUNK)]
    with ThreadPoolExecutor() as pool:
        return list(pool.map(part, chunks))


def _added(parts: list[Reference]) -> Reference:
    """The reference of a sum from those of its pieces, which are added exactly."""
    if len(parts) == 1:
        return parts[0]
    value, tail = _exact_sum(np.stack([p.value for p in parts] + [p.tail for p in parts]))
    gauge = np.sum([p.gauge for p in parts], axis=0)
    quality = np.sum([np.asarray(p.quality) for p in parts], axis=0)
    terms = sum(p.terms for p in parts)
    return replace(
        parts[0], value=value, tail=tail, gauge=gauge, reach=gauge, terms=terms, quality=quality
    )


def _exact_sum(pieces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sum over the first axis, rounded, and what the rounding left over."""
    if np.iscomplexobj(pieces):
        (re, re_rest), (im, im_rest) = _exact_sum(pieces.real), _exact_sum(pieces.imag)
        return np.asarray(re + 1j * im), np.asarray(re_rest + 1j * im_rest)
    total = np.apply_along_axis(math.fsum, 0, pieces)
    return total, np.apply_along_axis(math.fsum, 0, np.concatenate([pieces, -total[None]]))


def _root_of_squares(parts: list[Reference]) -> Reference:
    """The reference of a norm from those of its pieces: exact but for the last roundings."""
    square = sum((Fraction(float(p.value)) + Fraction(float(p.tail))) ** 2 for p in parts)
    root = math.sqrt(square)
    tail = float((square - Fraction(root) ** 2) / (2 * Fraction(root)))
    value, terms = np.asarray(root), sum(p.terms for p in parts)
    quality = np.asarray(np.linalg.norm([np.asarray(p.quality) for p in parts]))
    return replace(
        parts[0], value=value, tail=np.asarray(tail), gauge=value, terms=terms, quality=quality
    )
