"""What calls are made of: sizes, increments, batches, scalars, each listed once with its reason."""

from __future__ import annotations

import itertools

from tileblas.check.cases import Scalar
from tileblas.core.dtypes import DTYPES

# ---- what netlib's programs use -----------------------------------------------------------------

NETLIB_SIZES = (0, 1, 2, 3, 5, 9)
NETLIB_LENGTHS = (0, 1, 2, 4)
NETLIB_INCS = ((1, 1), (2, -2), (-2, 1), (-1, -2))
NETLIB_INC = (1, 2)  # of one vector
NETLIB_INC_OF_NORM = (-2, 0, 1, 2)
NETLIB_INCS_OF_COPY = (*NETLIB_INCS, (0, 1))
#: (c, s) of ROT, and n and increment: those of netlib, and rotations by quarters of a turn.
NETLIB_ROTATION = (0.8, 0.6)
QUARTERS = ((1, 0), (0, 1), (0, -1))
INCS_OF_QUARTERS = tuple(itertools.product((1, -1, 2), repeat=2))
#: (a, b) of ROTG.
NETLIB_ROTG = (
    (0.3, 0.4),
    (0.4, 0.3),
    (-0.3, 0.4),
    (-0.4, 0.3),
    (-0.3, -0.4),
    (0, 0),
    (0, 1),
    (1, 0),
)
#: (d1, d2, x1, y1) of ROTMG: each way through it.
NETLIB_ROTMG = (
    (0.1, 0.3, 1.2, 0.2),
    (0.7, 0.2, 0.6, 4.2),
    (0, 0, 0, 0),
    (4, -1, 2, 4),
    (6e-10, 2e-2, 1e5, 10),
    (4e10, 2e-2, 1e-5, 10),
    (2e-10, 4e-2, 1e5, 10),
    (2e10, 4e-2, 1e-5, 10),
    (4, -2, 8, 4),
)
#: param of ROTM, each flag.
NETLIB_ROTM = (
    (-2, 0, 0, 0, 0),
    (-1, 2, -3, 4, 5),
    (0, 0, 2, -3, 0),
    (1, 5, 2, 0, -4),
)
NETLIB_INCS_OF_GEMV = tuple(itertools.product((1, 2, -1, -2), repeat=2))
#: (m, n) of gemv: two m for each n. Those with an empty dimension are called once.
NETLIB_SHAPES = ((2, 1), (4, 2), (1, 3), (5, 3), (2, 5), (8, 5), (4, 9), (14, 9))
NETLIB_EMPTY_SHAPES = ((0, 0), (1, 0), (0, 1), (0, 2))
#: Orders of triangular and symmetric matrices, k of bands (ku of gbmv, whose kl is one less).
NETLIB_ORDERS = NETLIB_SIZES[1:]
NETLIB_BANDS = (0, 1, 2, 4)
NETLIB_STEPS = (1, 2, -1, -2)
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

#: Orders around the edges of tiles, for each grid; above one tile everywhere.
ORDERS = {
    "interpret": (17, 33, 70),
    "reduced": (17, 33, 65, 130, 300),
    "full": (15, 16, 31, 32, 33, 63, 64, 65, 127, 128, 129, 130, 255, 257, 300),
}
LARGE_ORDER = 1000
#: The same for matrices that are not square.
OBLONGS = {
    "interpret": ((17, 33), (70, 5), (5, 70)),
    "reduced": ((17, 33), (33, 17), (65, 130), (130, 65), (300, 5), (5, 300), (1, 257)),
    "full": (*PLANES[:16], (130, 65), (65, 130), (1000, 17), (17, 1000)),
}
#: Bands beside larger matrices: of one diagonal, of a few, wider than a tile, than the matrix.
WIDTHS = (1, 0, 7, 33, 2, 70)
OBLONG_WIDTHS = ((1, 1), (0, 2), (7, 3), (33, 0), (17, 40), (0, 0))
#: Increments of one vector that is written, and of several of which the last is.
STEPS = (1, 2, -1, -3, 7)
STEPS_OF_TWO = ((1, 1), (2, 1), (1, -1), (-3, 2), (7, -3), (0, 1))

#: m and n of a product with a square matrix on one side: its order is m or n.
SIDED = (
    *((m, n) for m, n, _ in EDGES),
    *((m, n) for m, n, _ in TILES),
    (257, 1),
    (1, 257),
    (2, 300),
    (300, 5),
    (1, 1000),
)
LARGE_SIDED = ((257, 255), (1000, 17), (17, 1000), (130, 513), (513, 130), (3, 2049), (2049, 3))
#: n and k of a product in one triangle of order n.
ORDERS_AND_DEPTHS = (
    *((m, k) for m, _, k in EDGES),
    *((m, k) for m, _, k in TILES),
    (257, 1),
    (2, 1000),
    (3, 4097),
    (300, 5),
    (1, 257),
)
LARGE_ORDERS_AND_DEPTHS = (
    (257, 257),
    (129, 1025),
    (1000, 17),
    (513, 130),
    (2049, 3),
    (3, 1_000_003),
    (1, 65537),
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


def netlib_scalars(dtype: str) -> tuple[tuple[Scalar, ...], tuple[Scalar, ...]]:
    """netlib's alphas and betas for a dtype."""
    return COMPLEX_SCALARS if DTYPES[dtype].is_complex else REAL_SCALARS


def exceptional_scalars(dtype: str) -> list[tuple[Scalar, Scalar]]:
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
