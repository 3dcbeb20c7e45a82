"""Which cases are checked: each size, increment and layout is listed once, with its reason.

`grid(routine, dtype, name)` yields the cases of one routine and dtype:

- "netlib"     the grid of netlib's test programs, in full: 3461 calls of gemv, 17496 of gemm
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
    gemv_case,
    nrm2_case,
    scal_case,
)
from tileblas.check.data import SCALES
from tileblas.core.dtypes import DTYPES, HALF

NAMES = ("netlib", "interpret", "reduced", "full")

# ---- what netlib's programs use -----------------------------------------------------------------

NETLIB_SIZES = (0, 1, 2, 3, 5, 9)
NETLIB_LENGTHS = (0, 1, 2, 4)
NETLIB_INCS = ((1, 1), (2, -2), (-2, 1), (-1, -2))
NETLIB_INC = (1, 2)  # of one vector
NETLIB_INC_OF_NORM = (-2, 0, 1, 2)
NETLIB_INCS_OF_GEMV = tuple(itertools.product((1, 2, -1, -2), repeat=2))
#: (m, n) of gemv: two m for each n. Those with an empty dimension are called once.
NETLIB_SHAPES = ((2, 1), (4, 2), (1, 3), (5, 3), (2, 5), (8, 5), (4, 9), (14, 9))
NETLIB_EMPTY_SHAPES = ((0, 0), (1, 0), (0, 1), (0, 2))
TRANS = tuple(p + q for p, q in itertools.product("NTC", repeat=2))
REAL_SCALARS = ((0, 0.7, 1), (0, 1, 1.3))  # alpha, beta
COMPLEX_SCALARS = ((0, 1, 0.7 - 0.9j), (0, 1, 1.3 - 1.1j))
REAL_SCALARS_OF_GEMV = ((0, 0.7, 1), (0, 0.9, 1))

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

#: gemv's A as stored: around tiles, in both orders; tall and wide, where programs share a sum.
PLANES = (
    (15, 17),
    (16, 16),
    (33, 31),
    (31, 33),
    (63, 65),
    (65, 63),
    (128, 128),
    (129, 127),
    (127, 130),
    (255, 257),
    (300, 5),
    (5, 300),
    (257, 1),
    (1, 257),
    (1, 1025),
    (3, 4097),
    (4097, 3),
    (17, 7111),
    (7111, 17),
    (129, 1025),
)
#: The same for an interpreter, which has a program for every few rows: long sums, not long outputs.
SMALL_PLANES = (
    *PLANES[:5],
    (129, 65),
    (2, 257),
    (257, 2),
    (1, 300),
    (300, 1),
    (4097, 3),  # "T", as the letters take turns
    (1, 1),
    (3, 4097),  # "N"
)
LARGE_PLANES = (
    (1025, 1023),
    (2, 33792),
    (33792, 2),
    (1, 131071),
    (131071, 1),
    (10007, 129),
    (129, 10007),
    (3, 1_000_003),
    (1_000_003, 3),
)

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
#: Ways to pass a scalar beside a Python number (see Case), and pairs of alpha and beta to pass.
FORMS = ("numpy", "array", "compute")
PASSED_SCALARS = ((0, 2), (0.1, 0), (0.1, 0.3), (1, 1))
MANY = 65_539  # beyond 65535, the limit of a CUDA grid's second and third axis


def grid(routine: str, dtype: str, name: str) -> Iterator[Case]:
    """The cases of one routine and dtype in the named grid; their ids are unique."""
    if name not in NAMES:
        raise ValueError(f"no grid {name!r}; there are {', '.join(NAMES)}")
    make = {
        "nrm2": _nrm2,
        "scal": _scal,
        "axpy": _axpy,
        "gemv": _gemv,
        "gemm": _gemm,
    }.get(routine)
    cases = make(dtype, name) if make else _dot(routine, dtype, name)
    seen: set[str] = set()
    for case in cases:
        if case.id not in seen:
            seen.add(case.id)
            yield case


def _scalars(dtype: str) -> tuple[tuple[Scalar, ...], tuple[Scalar, ...]]:
    """netlib's alphas and betas for a dtype."""
    return COMPLEX_SCALARS if DTYPES[dtype].is_complex else REAL_SCALARS


def _exceptional_scalars(dtype: str) -> list[tuple[Scalar, Scalar]]:
    """Pairs of alpha and beta with NaN, Inf or a sign, in every part that they can have."""
    nan, inf = float("nan"), float("inf")
    scalars: list[tuple[Scalar, Scalar]]
    scalars = [(0, nan), (nan, 0), (nan, 1), (1, nan), (inf, 1), (1, inf), (-1, -1)]
    if DTYPES[dtype].is_complex:
        scalars += [(2, 3), (2j, -1j), (1 + 2j, 2)]
        for part in (nan, inf):
            for scalar in (complex(part, 0), complex(0, part)):
                scalars += [(scalar, 1), (1, scalar), (scalar, 0), (0, scalar)]
    return scalars


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


def _nrm2(dtype: str, name: str) -> Iterator[Case]:
    yield from _nrm2_scales(dtype, name)
    if name == "netlib":
        return
    incs = (1, -3, 0) if name == "interpret" else (1, 2, -1, -2, 3, -3, 7, 0)
    for n, inc in itertools.product((0, 1, 2, *_lengths(name)), incs):
        yield nrm2_case(dtype, n, inc)
    for batch in ((3,), (2, 3), (0,), (2, 0), (2, 1, 3)):
        yield nrm2_case(dtype, 17, -2, batch)
    yield nrm2_case(dtype, 0, 1, (3,))
    for fill, n in (("special", 3), ("special", 9), ("special", 33), ("nan", 2), ("inf", 4)):
        yield nrm2_case(dtype, n, fill=fill)
    for fill, n in itertools.product(("wide", "huge", "subnormal", "integers"), (1, 2, 65, 1025)):
        yield nrm2_case(dtype, n, fill=fill)
    for offset in (1, 3):
        yield nrm2_case(dtype, 129, offset=offset)
    if name == "interpret":
        yield nrm2_case(dtype, LONG[1], fill="wide")
        return
    for scale in SCALES:  # one element among many of another scale
        yield nrm2_case(dtype, 4097, fill=f"{scale}:1")
        yield nrm2_case(dtype, 4097, fill=f"1:{scale}")
    yield nrm2_case(dtype, 33, 1, (MANY if name == "full" else 300,))
    yield nrm2_case(dtype, LONGEST)
    if name == "full":
        yield nrm2_case(dtype, LONGEST, -3)


def _nrm2_scales(dtype: str, name: str) -> Iterator[Case]:
    """netlib's 100 pairs of scales, with each n and increment or with one by a Latin square."""
    calls = tuple(itertools.product((1, 2, 3, 4), NETLIB_INC_OF_NORM))
    pairs = itertools.product(range(len(SCALES)), repeat=2)
    for i, j in itertools.islice(pairs, 0, None, 3 if name == "interpret" else 1):
        chosen = calls if name in ("netlib", "full") else (calls[(3 * i + 5 * j) % len(calls)],)
        for n, inc in chosen:
            yield nrm2_case(dtype, n, inc, fill=f"{SCALES[i]}:{SCALES[j]}")


def _scal(dtype: str, name: str) -> Iterator[Case]:
    alphas: tuple[Scalar, ...] = (0.3, -1, 0, 1)
    if DTYPES[dtype].is_complex:
        alphas += (0.4 - 0.7j,)
    for n, inc, alpha in itertools.product(range(5), NETLIB_INC, alphas):
        yield scal_case(dtype, n, inc, alpha)
    if name == "netlib":
        return
    incs = (1, -3) if name == "interpret" else (1, 2, -1, -2, 3, -3, 7)
    for n, inc in itertools.product(_lengths(name), incs):
        yield scal_case(dtype, n, inc, alphas[-1])
        if name != "interpret":
            yield scal_case(dtype, n, inc, alphas[0])
    for batch in ((3,), (2, 3), (0,), (2, 0), (2, 3, 2)):
        yield scal_case(dtype, 17, -2, alphas[-1], batch)
        yield scal_case(dtype, 17, 1, 2, batch, order="batch")
    yield from _scal_values(dtype)
    for offset in (1, 3):
        yield scal_case(dtype, 129, offset=offset)
    if name == "interpret":
        return
    yield scal_case(dtype, 33, 1, 2, (MANY if name == "full" else 300,))
    yield scal_case(dtype, LONGEST)
    if name == "full":
        yield scal_case(dtype, LONGEST, -3)


def _scal_values(dtype: str) -> Iterator[Case]:
    """Exceptional scalars and data, and every way to pass a scalar; alpha = 0 multiplies."""
    nan, inf = float("nan"), float("inf")
    alphas: tuple[Scalar, ...] = (0, 1, -1, 3, nan, inf, -inf)
    if DTYPES[dtype].is_complex:
        alphas += (2j, 0j, 1 + 0j, complex(nan, 0), complex(0, nan), complex(0, inf))
    for alpha, fill in itertools.product(alphas, ("integers", "special", "nan", "inf")):
        yield scal_case(dtype, 9, 2, alpha, fill=fill)
    for alpha, fill in itertools.product((1, 0.7, 2), ("wide", "huge", "subnormal")):
        yield scal_case(dtype, 65, alpha=alpha, fill=fill)
    for form, alpha in itertools.product(FORMS, (0, 1, 0.1)):
        yield scal_case(dtype, 9, alpha=alpha, form=form)


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
    for form, alpha in itertools.product(FORMS, (0, 1, 0.1)):
        yield axpy_case(
            dtype, 9, alpha=alpha, form=form, fill=("nan" if not alpha else "random", "random")
        )


# ---- gemv ---------------------------------------------------------------------------------------


def _gemv(dtype: str, name: str) -> Iterator[Case]:
    yield from _gemv_netlib(dtype, {"netlib": 1, "full": 1, "reduced": 5, "interpret": 61}[name])
    if name == "netlib":
        return
    is_small = name == "interpret"
    yield from _gemv_sizes(dtype, SMALL_PLANES if is_small else PLANES, 1 if is_small else 3)
    if name == "full":
        yield from _gemv_sizes(dtype, LARGE_PLANES, 3)
    yield from _gemv_layouts(dtype, name)
    yield from _gemv_batches(dtype, name)
    yield from _gemv_values(dtype)
    yield from _gemv_exact(dtype, name)


def _gemv_netlib(dtype: str, stride: int) -> Iterator[Case]:
    """netlib's 3461 calls, or every `stride`-th of those with something to compute."""
    scalars = COMPLEX_SCALARS if DTYPES[dtype].is_complex else REAL_SCALARS_OF_GEMV
    calls = itertools.product(NETLIB_SHAPES, "NTC", NETLIB_INCS_OF_GEMV, *scalars)
    for shape, trans, incs, alpha, beta in itertools.islice(calls, 0, None, stride):
        yield gemv_case(dtype, shape, trans, "col+1", incs, alpha, beta)
    for shape in NETLIB_EMPTY_SHAPES:
        yield gemv_case(dtype, shape, "N", "col+1", (1, 1), scalars[0][-1], scalars[1][-1])
    yield gemv_case(dtype, (0, 5), "T", "col+1", (1, 1), 1, -0.7)


def _gemv_sizes(dtype: str, sizes: tuple[tuple[int, int], ...], turns: int) -> Iterator[Case]:
    """Larger sizes, each with `turns` of the transposes, column- and row-major.

    y holds NaN under beta = 0.
    """
    alphas, betas = _scalars(dtype)
    incs = itertools.cycle(((1, 1), (2, 1), (1, -1), (-3, 2), (0, 1)))
    letters = itertools.cycle("NTC")
    for size in sizes:
        for trans, order in itertools.product(itertools.islice(letters, turns), ("col", "row")):
            yield gemv_case(dtype, size, trans, order, fill=("random", "random", "nan"))
            yield gemv_case(
                dtype, size, trans, f"{order}+7", next(incs), alphas[-1], betas[-1], offset=1
            )


def _gemv_layouts(dtype: str, name: str) -> Iterator[Case]:
    """Each layout of the matrix, with every transpose and with increments taken in turn."""
    incs = itertools.cycle(pair for pair in INCS if pair[1])
    for layout, trans in itertools.product(MATRIX_LAYOUTS, "NTC"):
        if layout in ("same-batch", "batch-inner"):
            continue  # these need a batch: see _gemv_batches
        yield gemv_case(dtype, (5, 7), trans, layout, next(incs), 2, 3, fill="integers")
        if name != "interpret":
            yield gemv_case(dtype, (65, 33), trans, layout, next(incs), 1, 1)
            yield gemv_case(dtype, (33, 140), trans, layout, next(incs), 0.7)


def _gemv_batches(dtype: str, name: str) -> Iterator[Case]:
    for batches in BATCHES:
        yield gemv_case(dtype, (4, 3), "N", "row", (2, -1), 2, 3, batches, fill="integers")
        yield gemv_case(dtype, (4, 3), "C", "col+1", batches=batches, y=False)
    three = ((3,), (3,), (3,))
    yield gemv_case(dtype, (4, 3), "N", "batch-inner", (1, 1), 2, 3, three, fill="integers")
    yield gemv_case(dtype, (4, 3), "T", "same-batch", (0, -2), 1, 1, three)
    for beta in (0, 1, 3):
        yield gemv_case(dtype, (3, 0), "N", "row", (1, 2), 1, beta, ((2,), (2,), (2,)))
    yield gemv_case(dtype, (0, 3), "T", "row", batches=((2,), (2,), (2,)), y=False)
    if name == "full":
        many = ((MANY,), (), (MANY,))
        yield gemv_case(dtype, (2, 3), "N", "row", batches=many, y=False)


def _gemv_values(dtype: str) -> Iterator[Case]:
    """Exceptional scalars and data, and every way to pass a scalar."""
    for alpha, beta in _exceptional_scalars(dtype):
        yield gemv_case(dtype, (3, 5), "N", "row+1", (1, 2), alpha, beta, fill="integers")
    for size, trans, layout in (((5, 7), "C", "col+1"), ((2, 1), "T", "row"), ((17, 2), "N", "up")):
        for alpha, beta in ((1, 0), (1, 1), (2, -1)):
            yield gemv_case(dtype, size, trans, layout, (1, 1), alpha, beta, fill="special")
    for poison in ("nan", "inf"):
        for layout in ("row", "col"):
            yield gemv_case(
                dtype, (5, 4), "N", layout, (1, 2), 2, 0, fill=("random",) * 2 + (poison,)
            )
            yield gemv_case(
                dtype, (5, 4), "T", layout, (2, 1), 0, 2, fill=(poison,) * 2 + ("random",)
            )
            yield gemv_case(dtype, (5, 4), "C", layout, (1, 1), 0, 0, fill=poison)
        yield gemv_case(dtype, (5, 0), "N", "row", (1, 1), 1, 0, fill=("nan", "nan", poison))
    for fill in ("wide", "huge", ("subnormal", "integers", "subnormal")):
        yield gemv_case(dtype, (5, 6), "T", "row", (1, 1), 1, 1, fill=fill)
    for form, (alpha, beta) in itertools.product(FORMS, PASSED_SCALARS):
        fills = ("nan" if not alpha else "random",) * 2 + ("nan" if not beta else "random",)
        yield gemv_case(dtype, (4, 5), "N", "row", (1, 1), alpha, beta, fill=fills, form=form)


def _gemv_exact(dtype: str, name: str) -> Iterator[Case]:
    """Integers: bit equality. Large ones use every bit of a product, so that lost bits show."""
    sizes = ((7, 7), (15, 46), (46, 15), (33, 257), (257, 33), (130, 129))
    for size, trans, layout in itertools.product(sizes, "NTC", ("row@1", "col@1")):
        if name != "interpret" or size in ((15, 46), (257, 33)):
            yield gemv_case(dtype, size, trans, layout, (1, 1), 1, 1, fill="integers")
    if DTYPES[dtype] not in HALF:
        for trans, layout in itertools.product("NTC", ("row", "col+1")):
            size = (9, 3) if trans == "N" else (3, 9)
            yield gemv_case(dtype, size, trans, layout, fill="large", y=False)


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
    for alpha, beta in _exceptional_scalars(dtype):
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
    for form, (alpha, beta) in itertools.product(FORMS, PASSED_SCALARS):
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
