"""Which cases are checked: each size, increment and layout is listed once, with its reason.

`grid(routine, dtype, name)` yields the cases of one routine and dtype:

- "netlib"     the grid of netlib's test programs, in full: 17496 calls of gemm
- "interpret"  a few of each kind, for kernels that run in an interpreter
- "reduced"    every kind, with the products of netlib's lists thinned
- "full"       netlib's grid, and every kind at large sizes too
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from tileblas.check.cases import (
    INPUT_ONLY,
    MATRIX_LAYOUTS,
    Case,
    Scalar,
    axpy_case,
    dot_case,
    gemm_case,
)
from tileblas.core.dtypes import DTYPES, HALF

NAMES = ("netlib", "interpret", "reduced", "full")

# ---- what netlib's programs use -----------------------------------------------------------------

NETLIB_SIZES = (0, 1, 2, 3, 5, 9)
NETLIB_LENGTHS = (0, 1, 2, 4)
NETLIB_INCS = ((1, 1), (2, -2), (-2, 1), (-1, -2))
TRANS = tuple(p + q for p, q in itertools.product("NTC", repeat=2))
REAL_SCALARS = ((0, 0.7, 1), (0, 1, 1.3))  # alpha, beta
COMPLEX_SCALARS = ((0, 1, 0.7 - 0.9j), (0, 1, 1.3 - 1.1j))

# ---- what we add --------------------------------------------------------------------------------

INCS = (
    *NETLIB_INCS,
    (1, 2),  # one unit, one not: the copy paths differ
    (3, 1),
    (1, -3),
    (-3, 7),  # no common factor
    (0, 1),  # a zero stride repeats one element of an input
    (1, 0),
)
#: Around warps, vector widths and blocks, where tails begin.
LENGTHS = (3, 5, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 257, 1000, 1023, 1025)
#: Beyond one block, one program, one wave of programs; none a power of two, the last of 7 digits.
LONG = (4097, 7111, 33792, 131071)
LONGEST = 1_000_003

#: Around the edges of tiles, all three different so that swapped sizes show.
EDGES = (
    (15, 16, 17),
    (16, 17, 15),
    (31, 33, 32),
    (33, 31, 64),
    (32, 32, 32),
    (63, 64, 65),
    (65, 63, 33),
    (64, 65, 16),
)
#: Around the largest tiles, and more than one of them each way.
TILES = ((127, 129, 65), (129, 127, 63), (128, 128, 128), (255, 129, 33), (65, 257, 129))
#: Tall, wide, and of long inner dimension: the shapes that tile selection treats apart.
SKEWED = ((257, 1, 33), (1, 257, 33), (2, 3, 4097), (1, 1, 1000), (300, 5, 2), (5, 300, 1))
LARGE_TILES = ((257, 255, 257), (129, 257, 1025), (1000, 17, 129), (17, 1000, 129))
LARGE_SKEWED = ((3, 2, 1_000_003), (1, 1, 65537), (10007, 3, 5), (3, 10007, 5))

BATCHES = (
    ((3,), (3,), (3,)),
    ((3,), (), (3,)),
    ((), (4,), (4,)),
    ((2, 1), (1, 3), (2, 3)),
    ((3,), (2, 3), (2, 3)),
    ((1,), (4,), (4,)),
    ((2, 1, 2), (3, 1), (2, 3, 2)),  # more axes than a launch walks by itself
    ((0,), (0,), (0,)),
    ((0,), (1,), (0,)),
)
MANY = 65_539  # beyond 65535, the limit of a CUDA grid's second and third axis


def grid(routine: str, dtype: str, name: str) -> Iterator[Case]:
    """The cases of one routine and dtype in the named grid; their ids are unique."""
    if name not in NAMES:
        raise ValueError(f"no grid {name!r}; there are {', '.join(NAMES)}")
    make = {"axpy": _axpy, "gemm": _gemm}.get(routine)
    cases = make(dtype, name) if make else _dot(routine, dtype, name)
    seen: set[str] = set()
    for case in cases:
        if case.id not in seen:
            seen.add(case.id)
            yield case


def _scalars(dtype: str) -> tuple[tuple[Scalar, ...], tuple[Scalar, ...]]:
    """netlib's alphas and betas for a dtype."""
    return COMPLEX_SCALARS if DTYPES[dtype].is_complex else REAL_SCALARS


# ---- level 1 ------------------------------------------------------------------------------------


def _lengths(name: str) -> tuple[int, ...]:
    """The vector lengths of a grid, beside netlib's."""
    return {
        "netlib": (),
        "interpret": (5, 33, 129, 1025),
        "reduced": (*LENGTHS, *LONG[:2]),
        "full": (*LENGTHS, *LONG),
    }[name]


def _incs(name: str) -> tuple[tuple[int, int], ...]:
    return {"netlib": NETLIB_INCS, "interpret": ((1, 1), (-3, 7), (0, 1))}.get(name, INCS)


def _dot(routine: str, dtype: str, name: str) -> Iterator[Case]:
    for n, incs in itertools.product(NETLIB_LENGTHS, NETLIB_INCS):
        yield dot_case(routine, dtype, n, incs)
    if name == "netlib":
        return
    for n, incs in itertools.product(_lengths(name), _incs(name)):
        yield dot_case(routine, dtype, n, incs)
    for batches in (((3,), (3,)), ((3,), ()), ((2, 1), (1, 3)), ((0,), (0,)), ((2, 1, 2), (3, 1))):
        yield dot_case(routine, dtype, 17, (1, 2), batches)
    for n in (5, 129, 1025):  # integers: equal terms round alike, which no bar on norms allows for
        yield dot_case(routine, dtype, n, (0, 0), fill="integers")
    for fill, n in (("integers", 257), ("special", 9), ("special", 3), ("nan", 2), ("inf", 4)):
        yield dot_case(routine, dtype, n, (1, 1), fill=fill)
    for offset in (1, 3):
        yield dot_case(routine, dtype, 129, offset=offset)
    for fill in ("wide", "huge", "subnormal"):
        yield dot_case(routine, dtype, 65, fill=fill)
    if name == "interpret":
        yield dot_case(routine, dtype, LONG[1], fill="integers")
        return
    yield dot_case(routine, dtype, 33, (1, 1), ((MANY if name == "full" else 300,), ()))
    yield dot_case(routine, dtype, LONGEST)
    if name == "full":
        yield dot_case(routine, dtype, LONGEST, (2, -3))


def _axpy(dtype: str, name: str) -> Iterator[Case]:
    alphas, _ = _scalars(dtype)
    for n, incs, alpha in itertools.product(NETLIB_LENGTHS, NETLIB_INCS, alphas):
        yield axpy_case(dtype, n, incs, alpha)
    if name == "netlib":
        return
    incs_of_output = [pair for pair in _incs(name) if pair[1]]
    for n, incs in itertools.product(_lengths(name), incs_of_output):
        yield axpy_case(dtype, n, incs, alphas[-1])
    for batches in (
        ((3,), (3,)),
        ((), (3,)),
        ((1, 3), (2, 3)),
        ((0,), (0,)),
        ((2, 1, 2), (2, 3, 2)),
    ):
        yield axpy_case(dtype, 17, (-1, 2), alphas[-1], batches)
    yield from _axpy_values(dtype)
    for offset in (1, 3):
        yield axpy_case(dtype, 129, offset=offset)
    if name == "interpret":
        return
    yield axpy_case(dtype, 33, (1, 1), 2, ((), (MANY if name == "full" else 300,)))
    yield axpy_case(dtype, LONGEST)
    if name == "full":
        yield axpy_case(dtype, LONGEST, (2, -3))


def _axpy_values(dtype: str) -> Iterator[Case]:
    """Exceptional scalars and data, and every way to pass a scalar."""
    alphas: tuple[Scalar, ...] = (0, 1, -1, 3, float("nan"), float("inf"))
    if DTYPES[dtype].is_complex:
        alphas += (2j, complex("nan"), 0j, 1 + 0j)
    for alpha, fill in itertools.product(alphas, ("integers", "special")):
        yield axpy_case(dtype, 9, alpha=alpha, fill=fill)
    for fills in (("nan", "integers"), ("inf", "random"), ("random", "nan")):
        for alpha in (0, 2):
            yield axpy_case(dtype, 5, (2, 1), alpha, fill=fills)
    for fill in ("wide", "huge", "subnormal"):
        yield axpy_case(dtype, 65, alpha=1, fill=fill)
    for form, alpha in itertools.product(("numpy", "array", "compute"), (0, 1, 0.1)):
        yield axpy_case(
            dtype, 9, alpha=alpha, form=form, fill=("nan" if not alpha else "random", "random")
        )


# ---- gemm ---------------------------------------------------------------------------------------


def _gemm(dtype: str, name: str) -> Iterator[Case]:
    if name in ("netlib", "full"):
        yield from _gemm_netlib(dtype)
    if name == "netlib":
        return
    if name == "interpret":
        yield from _gemm_thinned(dtype, 7)
        yield from _gemm_sizes(dtype, (*EDGES[:4], (3, 2, 257), (65, 33, 129)))
    else:
        yield from _gemm_thinned(dtype, 1)
        yield from _gemm_sizes(dtype, (*EDGES, *TILES, *SKEWED))
    if name == "full":
        yield from _gemm_sizes(dtype, (*LARGE_TILES, *LARGE_SKEWED))
    yield from _gemm_layouts(dtype, name)
    yield from _gemm_batches(dtype, name)
    yield from _gemm_values(dtype, name)
    yield from _gemm_exact(dtype, name)
    if DTYPES[dtype] in HALF:
        yield from _gemm_widened(dtype)


def _gemm_netlib(dtype: str) -> Iterator[Case]:
    """Every size, transpose, alpha and beta of netlib's program: 17496 calls."""
    alphas, betas = _scalars(dtype)
    sizes = itertools.product(NETLIB_SIZES, repeat=3)
    for (m, n, k), trans, alpha, beta in itertools.product(sizes, TRANS, alphas, betas):
        yield gemm_case(dtype, (m, n, k), trans, "col+1", alpha, beta)


def _gemm_thinned(dtype: str, stride: int) -> Iterator[Case]:
    """Each size with every transpose, and one of the nine pairs alpha, beta by a Latin square.

    Layouts alternate: column-major as in netlib, row-major as in CBLAS. Every `stride`-th case is
    kept; 7 keeps every pair of a transpose or a size with an alpha and a beta.
    """
    alphas, betas = _scalars(dtype)
    scalars = tuple(itertools.product(alphas, betas))
    indices = itertools.product(range(len(NETLIB_SIZES)), repeat=3)
    cases = itertools.product(indices, enumerate(TRANS))
    for (i, j, p), (t, trans) in itertools.islice(cases, 0, None, stride):
        size = (NETLIB_SIZES[i], NETLIB_SIZES[j], NETLIB_SIZES[p])
        alpha, beta = scalars[(2 * i + 3 * j + 5 * p + t) % len(scalars)]
        layout = ("col+1", "row+1")[(i + j + p + t // 3) % 2]
        yield gemm_case(dtype, size, trans, layout, alpha, beta)


def _gemm_sizes(dtype: str, sizes: tuple[tuple[int, int, int], ...]) -> Iterator[Case]:
    """Larger sizes, with transposes and layouts taken in turn; c holds NaN under beta = 0."""
    alphas, betas = _scalars(dtype)
    layouts = itertools.cycle(("col", "row", "row+7", "col@1"))
    for size, trans, layout in zip(sizes, itertools.cycle(TRANS), layouts, strict=False):
        yield gemm_case(dtype, size, trans, layout, fill=("random", "random", "nan"))
        yield gemm_case(dtype, size, trans[::-1], layout, alphas[-1], betas[-1])


def _gemm_layouts(dtype: str, name: str) -> Iterator[Case]:
    """Each layout for each operand in turn beside plain ones, then for all three."""
    size, other = (5, 7, 6), (33, 17, 40)
    trans = itertools.cycle(TRANS)
    for layout in MATRIX_LAYOUTS:
        if layout in ("same-batch", "batch-inner"):
            continue  # these need a batch: see _gemm_batches
        is_input_only = layout in INPUT_ONLY
        choices = [(layout, "row", "col"), ("col", layout, "row")]
        choices += [] if is_input_only else [("row", "col", layout), (layout,) * 3]
        for choice in choices[:: 2 if name == "interpret" else 1]:
            yield gemm_case(dtype, size, next(trans), choice, 2, 3, fill="integers")
            if name != "interpret":
                yield gemm_case(dtype, other, next(trans), choice, 1, 1)


def _gemm_batches(dtype: str, name: str) -> Iterator[Case]:
    for batches in BATCHES:
        yield gemm_case(dtype, (4, 3, 5), "NT", "row", 2, 3, batches, fill="integers")
        yield gemm_case(dtype, (4, 3, 5), "TN", "col+1", batches=batches, c=False)
    three = ((3,), (3,), (3,))
    yield gemm_case(dtype, (4, 3, 5), "NN", "batch-inner", 2, 3, three, fill="integers")
    yield gemm_case(dtype, (4, 3, 5), "CT", ("same-batch", "row", "reversed"), 1, 1, three)
    yield gemm_case(dtype, (3, 3, 0), "NN", "row", 1, 3, ((2,), (2,), (2,)))
    yield gemm_case(dtype, (3, 3, 0), "NN", "row", batches=((2,), (2,), (2,)), c=False)
    if name == "full":
        many = ((MANY,), (), (MANY,))
        yield gemm_case(dtype, (2, 3, 2), "NN", "row", batches=many, c=False)


def _gemm_values(dtype: str, name: str) -> Iterator[Case]:
    """Exceptional scalars and data, and every way to pass a scalar."""
    nan, inf = float("nan"), float("inf")
    scalars: list[tuple[Scalar, Scalar]]
    scalars = [(0, nan), (nan, 0), (nan, 1), (1, nan), (inf, 1), (1, inf), (-1, -1)]
    if DTYPES[dtype].is_complex:
        scalars += [(2, 3), (2j, -1j), (1 + 2j, 2)]
        for part in (nan, inf):
            for scalar in (complex(part, 0), complex(0, part)):
                scalars += [(scalar, 1), (1, scalar), (scalar, 0), (0, scalar)]
    for alpha, beta in scalars:
        yield gemm_case(dtype, (3, 4, 5), "NT", "row+1", alpha, beta, fill="integers")
    for size in ((5, 6, 7), (2, 3, 1), (17, 16, 2)):
        for alpha, beta in ((1, 0), (1, 1), (2, -1)):
            yield gemm_case(dtype, size, "TC", "col+1", alpha, beta, fill="special")
    for poison in ("nan", "inf"):
        yield gemm_case(dtype, (5, 4, 3), "NN", "row", 2, 0, fill=("random", "random", poison))
        yield gemm_case(dtype, (5, 4, 3), "NT", "col", 0, 2, fill=(poison, poison, "random"))
        yield gemm_case(dtype, (5, 4, 3), "TN", "col", 0, 0, fill=poison)
        yield gemm_case(dtype, (5, 4, 0), "TN", "row", 1, 0, fill=("nan", "nan", poison))
    for fill in ("wide", "huge", ("subnormal", "integers", "subnormal")):
        yield gemm_case(dtype, (5, 4, 6), "NT", "row", 1, 1, fill=fill)
    forms = ("numpy", "array", "compute")
    for form, (alpha, beta) in itertools.product(forms, ((0, 2), (0.1, 0), (0.1, 0.3), (1, 1))):
        fills = ("nan" if not alpha else "random",) * 2 + ("nan" if not beta else "random",)
        yield gemm_case(dtype, (4, 5, 6), "NN", "row", alpha, beta, fill=fills, form=form)


def _gemm_exact(dtype: str, name: str) -> Iterator[Case]:
    """Integers: bit equality. Large ones use every bit of a product, so that lost bits show."""
    sizes = ((7, 7, 7), (11, 11, 11), (15, 15, 15), (46, 46, 46), (33, 65, 40))
    for size, trans in itertools.product(sizes, ("NN", "TN", "NT", "CC")):
        if name != "interpret" or size == (15, 15, 15):
            yield gemm_case(dtype, size, trans, "row@1", 1, 1, fill="integers")
    if DTYPES[dtype] not in HALF:
        for trans in TRANS:
            yield gemm_case(dtype, (9, 8, 3), trans, "col+1", fill="large", c=False)


def _gemm_widened(dtype: str) -> Iterator[Case]:
    """Half inputs into a float32 c: only the sum rounds, and large c keeps its bits."""
    for size, trans in (
        ((3, 5, 9), "NN"),
        ((17, 33, 40), "TC"),
        ((2, 3, 300), "NT"),
        ((4, 4, 0), "NN"),
    ):
        yield gemm_case(
            dtype, size, trans, "row", 1, 0, fill=("random", "random", "nan"), out="float32"
        )
        yield gemm_case(dtype, size, trans, "col+1", 0.7, 1.3, out="float32")
        yield gemm_case(dtype, size, trans, "row+1", 2, 3, fill="integers", out="float32")
