"""Cases of products with a symmetric, Hermitian or skew matrix, and of those in one triangle."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

from tileblas.check.cases import INPUT_ONLY, MATRIX_LAYOUTS, Case, Scalar
from tileblas.check.matrix_grids import Shape, batches_of, gathered
from tileblas.check.parameters import (
    BATCHES,
    FORMS,
    LARGE_ORDERS_AND_DEPTHS,
    LARGE_SIDED,
    MANY,
    NETLIB_SIZES,
    ORDERS_AND_DEPTHS,
    PASSED_SCALARS,
    REAL_SCALARS,
    SIDED,
    exceptional_scalars,
    netlib_scalars,
)
from tileblas.check.product_cases import Size, product_case
from tileblas.core.dtypes import DTYPES
from tileblas.core.spec import Spec
from tileblas.routines.registry import ROUTINES

_LARGEST_OF_FEW = 65
_FEW_LETTERS = 6
#: Which of the calls of the Latin square are made: every so-many-th, prime to all lists.
_STRIDES = {"reduced": (1, 5), "interpret": (7, 29)}


def products(routine: str, dtype: str, name: str) -> Iterator[Case]:
    """Cases of one routine C := alpha A B + beta C."""
    if name in ("netlib", "full"):
        netlibs = _netlib(routine, dtype)
    else:
        few, many = _STRIDES[name]
        stride = few if len(letters_of(ROUTINES[routine], dtype)) <= _FEW_LETTERS else many
        netlibs = _thinned(routine, dtype, stride)
    sections: list[tuple[Iterable[Case], int]] = [
        (_sizes(routine, dtype), 28),
        (_layouts(routine, dtype), 24),
        (_batches(routine, dtype), 16),
        (_scalars(routine, dtype), 20),
        (_values(routine, dtype), 24),
        (_extremes(routine, dtype), 12),
        (_exact(routine, dtype), 16),
    ]
    if name == "interpret":
        sections = [(_small(cases), count) for cases, count in sections]
    yield from gathered(name, netlibs, sections, _large(routine, dtype))
    if name == "interpret":  # one order of several tiles, and one long sum
        word = letters_of(ROUTINES[routine], dtype)[-1]
        sizes: list[Size] = [(129, 5), (3, 129 if _is_sided(routine) else 257)]
        for size in sizes:
            yield product_case(routine, dtype, size, word, "row", fill=_fills(routine, "nan"))


def _small(cases: Iterable[Case]) -> Iterator[Case]:
    """Those without an axis that takes an interpreter long."""
    for case in cases:
        if max((n for plan in case.plans for n in plan.shape[-2:]), default=0) <= _LARGEST_OF_FEW:
            yield case


# ---- netlib -------------------------------------------------------------------------------------


def factors(routine: str, dtype: str) -> tuple[Sequence[Scalar], Sequence[Scalar]]:
    """netlib's alphas and betas of a routine, which may have real ones only."""
    alphas, betas = netlib_scalars(dtype)
    real = ROUTINES[routine].real_scalars
    return (
        REAL_SCALARS[0] if "alpha" in real else alphas,
        REAL_SCALARS[1] if "beta" in real else betas,
    )


def _netlib(routine: str, dtype: str) -> Iterator[Case]:
    """Every pair of sizes, and with it every letter, alpha and beta of netlib's program."""
    lists = (letters_of(ROUTINES[routine], dtype), *factors(routine, dtype))
    sizes = itertools.product(NETLIB_SIZES, NETLIB_SIZES)
    for size, letters, alpha, beta in itertools.product(sizes, *lists):
        yield product_case(routine, dtype, size, letters, "col+1", alpha, beta)


def _thinned(routine: str, dtype: str, stride: int) -> Iterator[Case]:
    """Each size with every letter, and one of the nine pairs alpha, beta by a Latin square.

    Layouts alternate: column-major as in netlib, row-major as in CBLAS. Every `stride`-th case is
    kept.
    """
    scalars = tuple(itertools.product(*factors(routine, dtype)))
    indices = itertools.product(range(len(NETLIB_SIZES)), repeat=2)
    cases = itertools.product(indices, enumerate(letters_of(ROUTINES[routine], dtype)))
    for (i, j), (t, letters) in itertools.islice(cases, 0, None, stride):
        size = (NETLIB_SIZES[i], NETLIB_SIZES[j])
        alpha, beta = scalars[(i + 2 * j + 3 * t) % len(scalars)]
        layout = ("col+1", "row+1")[(i + j + t // 2) % 2]
        yield product_case(routine, dtype, size, letters, layout, alpha, beta)


# ---- parameters of a routine --------------------------------------------------------------------


def letters_of(spec: Spec, dtype: str) -> list[str]:
    """Every combination of the letters that a type has, each as one word."""
    is_complex = DTYPES[dtype].is_complex
    letters = (
        option.complex_letters if is_complex and option.complex_letters else option.letters
        for option in spec.options
    )
    return ["".join(word) for word in itertools.product(*letters)]


def _some_letters(routine: str, dtype: str) -> list[str]:
    """All of a few words, or of many some in which every letter of every option is."""
    words = letters_of(ROUTINES[routine], dtype)
    return words if len(words) <= _FEW_LETTERS else words[:: len(words) // 4 + 1]


def _is_sided(routine: str) -> bool:
    return "m" in ROUTINES[routine].dims


def _fills(routine: str, output: str, inputs: str = "random") -> tuple[str, ...]:
    return tuple(output if arg.is_output else inputs for arg in ROUTINES[routine].arguments)


# ---- sections -----------------------------------------------------------------------------------


def _sizes(routine: str, dtype: str) -> Iterator[Case]:
    """Larger sizes: C holds NaN under beta = 0 and is added to by turns."""
    sizes = SIDED if _is_sided(routine) else ORDERS_AND_DEPTHS
    yield from _of_sizes(routine, dtype, sizes)


def _large(routine: str, dtype: str) -> Iterator[Case]:
    """Sizes of many tiles, and of one type more members of a batch than a grid's axis holds."""
    sizes = LARGE_SIDED if _is_sided(routine) else LARGE_ORDERS_AND_DEPTHS
    yield from _of_sizes(routine, dtype, sizes)
    spec = ROUTINES[routine]
    if dtype == spec.dtypes[-1]:
        many = batches_of(spec, ((MANY,), (), (MANY,)))
        word = letters_of(spec, dtype)[-1]
        yield product_case(routine, dtype, (2, 3), word, "row", batches=many, new=True)


def _of_sizes(routine: str, dtype: str, sizes: Sequence[Size]) -> Iterator[Case]:
    """Each size with all letters, or with some of many in turn, and with layouts in turn."""
    alphas, betas = factors(routine, dtype)
    words = letters_of(ROUTINES[routine], dtype)
    layouts = itertools.cycle(("col", "row", "row+7", "col@1", "col+7"))
    for i, size in enumerate(sizes):
        # Of 18 words every third, from another one on each time.
        chosen = words if len(words) <= _FEW_LETTERS else words[i % 3 :: 3]
        for t, (letters, layout) in enumerate(zip(chosen, layouts, strict=False)):
            if (i + t) % 2:
                more = (letters, layout, alphas[-1], betas[-1])
                yield product_case(routine, dtype, size, *more)
            else:
                fill = _fills(routine, "nan")
                yield product_case(routine, dtype, size, letters, layout, fill=fill)


def _layouts(routine: str, dtype: str) -> Iterator[Case]:
    """Each layout for each operand in turn beside plain ones, then for all of them."""
    words, others = letters_of(ROUTINES[routine], dtype), ((33, 17), (17, 34))
    names = [layout for layout in MATRIX_LAYOUTS if layout not in ("same-batch", "batch-inner")]
    for i, layout in enumerate(names):
        for j, choice in enumerate(_choices(routine, layout)):
            letters = words[(5 * i + j) % len(words)]
            if (i + j) % 2:
                yield product_case(routine, dtype, others[j % 2], letters, choice, 1, 1)
            yield product_case(routine, dtype, (5, 7), letters, choice, 2, 3, fill="integers")


def _choices(routine: str, layout: str) -> list[tuple[str, ...]]:
    """Layouts of all operands, of which one has this one, or all have it where C may."""
    arguments = ROUTINES[routine].arguments
    plain = ("col", "row", "col")
    choices = [
        tuple(layout if p == q else plain[(p + q) % 3] for q in range(len(arguments)))
        for p, arg in enumerate(arguments)
        if not (arg.is_output and layout in INPUT_ONLY)
    ]
    return choices if layout in INPUT_ONLY else [*choices, (layout,) * len(arguments)]


def _batches(routine: str, dtype: str) -> Iterator[Case]:
    spec = ROUTINES[routine]
    words = itertools.cycle(letters_of(spec, dtype))

    def make(
        size: Size, layout: str | Sequence[str], shapes: Sequence[Shape], *scalars: Scalar, **more
    ) -> Case:
        batches = batches_of(spec, shapes)
        return product_case(
            routine, dtype, size, next(words), layout, *scalars, batches=batches, **more
        )

    for shapes in BATCHES:
        yield make((4, 3), "row", shapes, 2, 3, fill="integers")
        yield make((4, 3), "col+1", shapes, new=True)
    three = ((3,),) * 3
    yield make((4, 3), "batch-inner", three, 2, 3, fill="integers")
    yield make((17, 18), "batch-inner", three)
    yield make((4, 3), ("same-batch", "row", "reversed")[: len(spec.arguments)], three, 1, 1)
    for beta in (0, 1, 3):
        yield make((3, 0), "row", three, 1, beta)
    yield make((3, 0), "row", three, new=True)
    yield make((0, 3), "row", three, new=True)


def _scalars(routine: str, dtype: str) -> Iterator[Case]:
    """Exceptional scalars, and every way to pass one; what they leave unread holds NaN."""
    spec = ROUTINES[routine]
    words = itertools.cycle(letters_of(spec, dtype))
    for alpha, beta in exceptional_scalars(dtype):
        values = {"alpha": alpha, "beta": beta}
        if any(isinstance(values[name], complex) for name in spec.real_scalars):
            continue
        yield product_case(
            routine, dtype, (4, 5), next(words), "row+1", alpha, beta, fill="integers"
        )
    for form, (alpha, beta) in itertools.product(FORMS, (*PASSED_SCALARS, (0, 1))):
        fill = _fills(routine, "random" if beta else "nan", "random" if alpha else "nan")
        yield product_case(
            routine, dtype, (4, 6), next(words), "row", alpha, beta, fill=fill, form=form
        )


def _values(routine: str, dtype: str) -> Iterator[Case]:
    """NaN and Inf in what is read and in what is not."""
    words = _some_letters(routine, dtype)

    def make(size: Size, letters: str, layout: str, alpha: Scalar, beta: Scalar, fill) -> Case:
        return product_case(routine, dtype, size, letters, layout, alpha, beta, fill=fill)

    scalars = ((1, 0), (1, 1), (2, -1))
    sizes = enumerate(((7, 5), (2, 1), (17, 16)))
    for (i, size), (t, letters) in itertools.product(sizes, enumerate(words)):
        yield make(size, letters, "col+1", *scalars[(i + t) % 3], "special")
    for poison, letters in itertools.product(("nan", "inf"), words):
        yield make((5, 3), letters, "row", 2, 0, _fills(routine, poison))
        yield make((5, 3), letters, "col", 0, 2, _fills(routine, "random", poison))
        yield make((5, 3), letters, "row", 0, 0, poison)
        # The diagonal of C keeps even what is not a part of it, where nothing is added.
        yield make((5, 3), letters, "col", 0, 1, _fills(routine, "special", poison))
        yield make((5, 0), letters, "row", 1, 1, _fills(routine, "special", poison))


def _extremes(routine: str, dtype: str) -> Iterator[Case]:
    """A few NaN and Inf among zeros and integers, and numbers near the ends of the range."""
    words, operands = _some_letters(routine, dtype), len(ROUTINES[routine].arguments)
    flawed: Sequence[str] = ("integers", "flawed", "nan")[-operands:]
    small = _fills(routine, "subnormal", "integers")
    for letters in words:
        pitted = _fills(routine, "integers", "pitted")
        yield product_case(routine, dtype, (6, 5), letters, "row", 1, 1, fill=pitted)
        yield product_case(routine, dtype, (6, 5), letters, "col", fill=flawed)
    for letters, fill in zip(itertools.cycle(words), ("wide", "huge", "subnormal", small)):
        yield product_case(routine, dtype, (5, 6), letters, "row", 1, 1, fill=fill)


def _exact(routine: str, dtype: str) -> Iterator[Case]:
    """Integers: bit equality. Large ones use every bit of a product, so that lost bits show."""
    words = _some_letters(routine, dtype)
    layouts = itertools.cycle(("row", "col+7", "col", "row@1", "row+7"))
    for n, letters in itertools.product((1, 16, 46, 65), words):
        more = (letters, next(layouts), 2, (1, -2)[n % 2])
        yield product_case(routine, dtype, (n, n + 1), *more, fill="integers")
        yield product_case(routine, dtype, (n, 33), letters, "row", fill="integers", new=True)
    # Of three products at most: the order of a matrix with a side, or the depth; of two for each
    # column of a rank of 2k.
    depth = 1 if ROUTINES[routine].twice else 3
    for letters, layout in itertools.product(words, ("row", "col+1")):
        size = (9, depth) if letters[0] != "L" or not _is_sided(routine) else (3, 9)
        yield product_case(routine, dtype, size, letters, layout, fill="large", new=True)
