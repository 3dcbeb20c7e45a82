"""A case with its operands in memory: the call that is timed, and what it should have computed."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

import tileblas
from tileblas.check.oracle import Reference, reference
from tileblas.check.tolerance import judge
from tileblas.core.dtypes import DTYPES, DType
from tileblas.core.spec import Arg
from tileblas.lab.cases import Case
from tileblas.lab.places import Place
from tileblas.lab.rivals import ALPHA, Bound
from tileblas.routines.registry import ROUTINES

_CHUNK = 1 << 20  # terms of a long sum that the reference takes at a time, one chunk a thread
_SAMPLED_ROWS = 4  # of a product of matrices
_SAMPLED_TERMS = {2: 1 << 22, 3: 1 << 24}  # by level: multiply-adds that a reference may take
_SAMPLED_ELEMENTS = {1: 1 << 16, 2: 1 << 12}  # by level: of a vector that is written


@dataclass(frozen=True)
class Accuracy:
    """How far one result is from the reference: `error` is relative, `good` within the hard bar.

    The error of a dot is relative to sum |x||y|, which cancellation does not shrink, that of a
    norm to the norm; that of an array is the Frobenius norm over the sample, relative to the
    reference's.
    """

    error: float
    good: bool


#: Reads a sample of an output; and what it must read.
Sampled = tuple[Callable[[], np.ndarray], Reference]


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
        self._whole: Reference | None = None
        self._sample: Sampled | None = None

    def _shape(self, arg: Arg) -> tuple[int, ...]:
        sizes = dict(zip(self.spec.dims, self.case.dims, strict=True))
        axes = arg.axes if self.options.get(arg.trans or "", "N") == "N" else arg.axes[::-1]
        return tuple(sizes[axis] for axis in axes)

    def _stored(self, shape: tuple[int, ...], seed: int) -> Any:
        order = "F" if self.case.layout == "col" and len(shape) == 2 else "C"
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
        return self.place.to_host(self.operands[self.spec.output_name])

    @property
    def result_dtype(self) -> DType:
        """The element type of the output: real for a norm."""
        return self.spec.operands[self.spec.output].dtype(self.dtype)

    @property
    def _returns_scalar(self) -> bool:
        return self.spec.operands[self.spec.output].ndim == 0

    def accuracy(self, bound: Bound) -> Accuracy:
        """Run a call once and compare what it computed with the higher-precision reference."""
        if self._returns_scalar:
            expected = self._reduced()
            result = np.asarray(bound.value(bound.call()))
            scale = float(expected.gauge)
        else:
            pick, expected = self._sampled()
            bound.call()
            result = pick()
            scale = float(np.linalg.norm(expected.value))
        error = np.linalg.norm((result - expected.value) - expected.tail) / scale
        return Accuracy(float(error), judge(result, expected, self.result_dtype).passed)

    def _reduced(self) -> Reference:
        """The whole sum or norm; its operands never change."""
        if self._whole is None:

            def part(chunk: slice) -> Reference:
                pieces = {
                    name: self.place.part(vector, chunk.start, chunk.stop)
                    for name, vector in self.operands.items()
                }
                return reference(self.case.routine, pieces, {}, {}, self.dtype.compute)

            combined = _root_of_squares if self.case.routine == "nrm2" else _added
            self._whole = combined(_chunked(part, self.case.dims[0]))
        return self._whole

    def _sampled(self) -> Sampled:
        """A function that reads a sample of the output, and what it must read after one call."""
        if self.spec.level == 1:  # the vector is read too: what it must become changes each time
            return self._sampled_vector()
        if self._sample is None:
            matvec = self.spec.level == 2
            self._sample = self._sampled_matvec() if matvec else self._sampled_product()
        return self._sample

    def _sampled_vector(self) -> Sampled:
        index = _sample(self.case.dims[0], _SAMPLED_ELEMENTS[1])
        vectors = {name: self.place.take(v, index) for name, v in self.operands.items()}
        scalars = {"alpha": ALPHA[self.case.routine]}
        expected = reference(self.case.routine, vectors, scalars, {}, self.dtype.compute)
        output = self.operands[self.spec.output_name]
        return lambda: self.place.take(output, index), expected

    def _sampled_matvec(self) -> Sampled:
        m, n = self.case.dims
        rows = _sample(m, min(_SAMPLED_ELEMENTS[2], max(1, _SAMPLED_TERMS[2] // n)))
        transposed = self.options["trans"] != "N"
        a = self.place.take(self.operands["a"], rows, axis=int(transposed))
        x = self.place.to_host(self.operands["x"])

        def part(chunk: slice) -> Reference:
            pieces = {"a": a[chunk] if transposed else a[:, chunk], "x": x[chunk]}
            return reference("gemv", pieces, {}, self.options, self.dtype.compute)

        return lambda: self.place.take(self.operands["y"], rows), _added(_chunked(part, n))

    def _sampled_product(self) -> Sampled:
        m, n, k = self.case.dims
        rows = _sample(m, _SAMPLED_ROWS)
        columns = _sample(n, max(1, _SAMPLED_TERMS[3] // (len(rows) * k)))
        a = self.place.take(self.operands["a"], rows, axis=int(self.options["trans_a"] != "N"))
        b = self.place.take(self.operands["b"], columns, axis=int(self.options["trans_b"] == "N"))
        expected = reference("gemm", {"a": a, "b": b}, {}, self.options, self.dtype.compute)
        return lambda: self.place.take(self.operands["c"], rows)[:, columns], expected


def _sample(n: int, count: int) -> list[int]:
    """Up to `count` indices below n, the first and the last among them."""
    if n <= count:
        return list(range(n))
    return sorted({0, n - 1, *random.Random(n).sample(range(1, n - 1), max(count - 2, 0))})


def _chunked(part: Callable[[slice], Reference], n: int) -> list[Reference]:
    """The references of consecutive pieces of a sum of n terms."""
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
