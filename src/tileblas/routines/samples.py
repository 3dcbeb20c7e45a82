"""Sample problems of ordinary calls, whose kernels are prebuilt and counted.

Layouts, conjugation by option, alignment, every tile, beta = 0 or not; vectors also in batches, and
at addresses that are multiples of 8 only. Rarer calls (complex or device scalars, lazy bits, no
unit stride, float32 outputs of half inputs, batches of gemv, rows of float32 and half types that
are a multiple of 8 or 4 bytes but not of 16) compile on first use.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from tileblas.core.call import Problem, Scalar
from tileblas.core.canon import canonical, results
from tileblas.core.dtypes import DTYPES, DType
from tileblas.core.operand import Operand, c_strides
from tileblas.core.spec import Option, Spec
from tileblas.core.storage import math_axes, shape_of
from tileblas.routines.binder import WIDEST
from tileblas.routines.launch import Launch
from tileblas.tuning.table import Table

#: Sizes by level, small and large, square and skewed, so that the model picks every tile; each
#: with a row length that keeps 16-byte alignment and one that does not.
_LONG = 1 << 20
_ORDERS = (64, 256, 1000, 1024, 2048, 4096, 16384)
_BANDS = ((1000, 5), (4096, 65), (4096, 257), (_LONG, 9))  # order, and rows of the band's array
_SIZES: dict[tuple[int, str], tuple[tuple[int, ...], ...]] = {
    (1, ""): ((),),  # numbers have no size
    (1, "n"): ((100,), (1000,), *((1 << exponent,) for exponent in range(14, 30, 2))),
    (2, "n"): tuple((n,) for n in _ORDERS),
    (2, "nb"): _BANDS,
    (2, "mnb"): tuple((n, n, b) for n, b in _BANDS),
    (2, "mn"): (
        *((n, n) for n in _ORDERS),
        *((n, _LONG) for n in (8, 32, 128)),
        *((_LONG, n) for n in (8, 32)),
        (100_000, 300),
    ),
    (3, "mnk"): tuple((n, n, n) for n in (64, 512, 1024, 4096)),
    (3, "nk"): tuple((n, n) for n in (64, 512, 2048, 4096)),
}
#: (elements that rows are longer than they need be, alignment of addresses)
_PLACES = {
    1: ((16, WIDEST), (16, 8), (16, 1)),  # so that the vectors of a batch are not one
    2: ((0, WIDEST), (1, WIDEST), (1, 1)),
    3: ((0, WIDEST), (1, WIDEST), (1, 1)),
}
_BATCHES: dict[int, tuple[tuple[int, ...], ...]] = {1: ((), (3,)), 2: ((),), 3: ((),)}

#: Kinds of a scalar by its name: real ones if not named.
_SCALARS = {"beta": (Scalar("zero"), Scalar("real"))}
_REAL_SCALAR = (Scalar("real"),)


def launches(spec: Spec, table: Table, dtypes: tuple[str, ...] | None = None) -> Iterator[Launch]:
    """Launches of all sample problems of a routine, under an architecture's tuning table."""
    for problem, alignment in problems(spec, dtypes):
        yield from spec.plan(problem, table, alignment)


def problems(spec: Spec, dtypes: tuple[str, ...] | None = None) -> Iterator[tuple[Problem, int]]:
    """(problem, alignment) over dtypes, options, scalars, sizes and alignments."""
    for name in (name for name in spec.dtypes if name in (dtypes or spec.dtypes)):
        dtype = DTYPES[name]
        letters = [_letters(option, dtype) or (None,) for option in spec.options]
        kinds = [_SCALARS.get(scalar, _REAL_SCALAR) for scalar in spec.scalars]
        for chosen, scalars, dims, batch, (pad, alignment) in product(
            product(*letters),
            product(*kinds),
            _SIZES[spec.level, spec.dims],
            _BATCHES[spec.level],
            _PLACES[spec.level],
        ):
            options = dict(zip(spec.option_names, chosen, strict=True))
            if "kl" in options:  # as many diagonals below the main one as above it
                options["kl"] = (dims[spec.dims.index("b")] - 1) // 2
            values = dict(zip(spec.scalars, scalars, strict=True))
            yield _problem(spec, dtype, options, values, dims, batch, pad), alignment


def _letters(option: Option, dtype: DType) -> str:
    """Real types have no conjugate transpose of their own."""
    if dtype.is_complex:
        return option.complex_letters or option.letters
    return option.letters.replace("C", "")


def _problem(
    spec: Spec,
    dtype: DType,
    options,
    scalars,
    dims: tuple[int, ...],
    batch: tuple[int, ...],
    pad: int,
) -> Problem:
    sizes = dict(zip(spec.dims, dims, strict=True))
    operands = [
        _operand(dtype, (*batch, *shape_of(math_axes(arg, options), sizes)), pad)
        for arg in spec.arguments
    ]
    made = results(spec, operands, dims, batch, dtype)
    return canonical(spec, operands, made, dims, batch, options, scalars)


def _operand(dtype: DType, shape: tuple[int, ...], pad: int) -> Operand:
    """An operand at no address, its rows `pad` elements longer than they need be."""
    padded = (*shape[:-1], shape[-1] + pad) if shape else ()
    return Operand(0, dtype, shape, c_strides(padded), 0, 0, "", None)
