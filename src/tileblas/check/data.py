"""The values that operands are filled with, by name.

Each fill is a function of a random generator, a shape, and a dtype. Sums of products of "integers"
are exact, and those of "large" as said at LARGE, so that results can be compared bit by bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product

import numpy as np

from tileblas.check.tolerance import finfo
from tileblas.core.dtypes import DType, numpy_dtype

Shape = Sequence[int]

#: Largest magnitude of "large" integers: they use every bit that the type's products can hold, so
#: that an operand rounded to TF32 or bfloat16 shows. Sums of up to three products stay exact.
LARGE = {"float32": 2**11, "float64": 2**25, "complex64": 2**10, "complex128": 2**24}


def filled(fill: str, random: np.random.Generator, shape: Shape, dtype: DType) -> np.ndarray:
    """An array of the named fill, in C order; "=2.5" fills it with that number."""
    if fill.startswith("="):
        number = complex(fill[1:])
        return np.full(shape, number if dtype.is_complex else number.real, numpy_dtype(dtype))
    values = FILLS[fill](random, tuple(shape), dtype)
    if dtype.is_complex and not np.iscomplexobj(values):
        # Set parts one by one: adding 1j * Inf to a number would make its real part NaN.
        parts = np.empty(shape, np.complex128)
        parts.real, parts.imag = values, FILLS[fill](random, tuple(shape), dtype)
        values = parts
    with np.errstate(over="ignore"):
        return values.astype(numpy_dtype(dtype))


def _random(random, shape, dtype):
    """Uniform in (-1/2, 1/2) as in netlib's programs, with one exact zero."""
    values = random.uniform(-0.5, 0.5, shape)
    if values.size > 2:
        values.flat[values.size // 2] = 0.0
    return values


def _integers(random, shape, dtype):
    """Integers small enough for a sum of thousands of products to be exact."""
    largest = 2 if dtype.itemsize == 2 else 10
    return random.integers(-largest, largest + 1, shape).astype(np.float64)


def _large(random, shape, dtype):
    largest = LARGE[dtype.name]
    return random.integers(-largest, largest + 1, shape).astype(np.float64)


def _nan(random, shape, dtype):
    return np.full(shape, np.nan)


def _inf(random, shape, dtype):
    return np.where(random.random(shape) < 0.5, -np.inf, np.inf)


def _special(random, shape, dtype):
    """Integers, zeros among them, with one element in ten NaN, Inf or -Inf."""
    values = _integers(random, shape, dtype)
    special = random.choice([np.nan, np.inf, -np.inf], shape)
    return np.where(random.random(shape) < 0.1, special, values)


def _subnormal(random, shape, dtype):
    """Small multiples of the smallest subnormal: a kernel that flushes them returns 0."""
    _, tiny, _ = finfo(dtype.real)
    return random.integers(-9, 10, shape) * tiny


def _huge(random, shape, dtype):
    """Up to the largest finite value, so that sums overflow and products all the more."""
    _, _, largest = finfo(dtype.real)
    return random.uniform(-1, 1, shape) * largest


def _wide(random, shape, dtype):
    """Magnitudes over a quarter of the exponent range: small terms must not drown the bar."""
    _, _, largest = finfo(dtype.real)
    reach = int(np.log2(largest)) // 4
    return random.uniform(-1, 1, shape) * 2.0 ** random.integers(-reach, reach, shape)


def _positive(random, shape, dtype):
    """Of "wide" magnitudes: what rotmg has to scale up and down."""
    return np.abs(_wide(random, shape, dtype))


# ---- of triangles, and of right-hand sides ------------------------------------------------------


def _sparse(random, shape, dtype):
    """Integers of which three in four are zero."""
    return np.where(random.random(shape) < 0.75, 0.0, _integers(random, shape, dtype))


def _flawed(random, shape, dtype):
    """Integers with a few NaN and Inf: rows without one come out finite."""
    values = _integers(random, shape, dtype)
    flaws = random.choice([np.nan, np.inf, -np.inf], shape)
    return np.where(random.random(shape) < 1 / (2 + shape[-1]), flaws, values)


def _pitted(random, shape, dtype):
    """Mostly zeros, with NaN and Inf among them: a product that skips zeros does not see those."""
    flaws = random.choice([np.nan, np.inf, -np.inf], shape)
    return np.where(random.random(shape) < 0.1, flaws, _sparse(random, shape, dtype))


def _shifted(random, shape, dtype):
    """Random numbers in (1/2, 3/2): the diagonals of netlib's programs."""
    return random.uniform(0.5, 1.5, shape)


def _dominant(random, shape, dtype):
    """Beyond the sum of the random numbers of a row: a well-conditioned matrix."""
    return random.choice([-1, 1], shape) * random.uniform(1, 2, shape) * max(shape[-1] / 2, 1)


def _powers(random, shape, dtype):
    """Powers of two, of either sign, real or imaginary: a quotient by one is exact."""
    values = random.choice([-1, 1], shape) * 2.0 ** random.integers(-2, 4, shape)
    return values * np.where(random.random(shape) < 0.5, 1j, 1) if dtype.is_complex else values


def _tiny_powers(random, shape, dtype):
    """Subnormal powers of two, whose reciprocals overflow."""
    _, tiny, _ = finfo(dtype.real)
    return _powers(random, shape, dtype) * 4 * tiny


def _one_zero(random, shape, dtype):
    """Integers that are not 0, but for the one in the middle."""
    values = random.choice([-1, 1], shape) * random.integers(1, 5, shape).astype(np.float64)
    values[..., shape[-1] // 2 : shape[-1] // 2 + 1] = 0
    return values


#: The scales of netlib's NRM2 test: around them squares underflow, overflow, or lose bits.
SCALES = ("0", "2safmin", "small", "ulp", "1", "1/ulp", "big", "safmax", "inf", "nan")


def _scales(random, shape, dtype, first: str, others: str):
    """Random numbers in (-1, 1), the first of each vector at one scale and the others at one."""
    values = random.uniform(-1, 1, shape) * _scale(others, dtype)
    values[..., :1] = random.uniform(-1, 1, (*shape[:-1], 1)) * _scale(first, dtype)
    return values


def _scale(name: str, dtype: DType) -> float:
    """A scale as netlib has it: those above 1 are halved, so that norms of a few are finite."""
    u, tiny, _ = finfo(dtype.real)
    ulp = 2 * u
    safmin = tiny / ulp
    safmax = 1 / safmin
    scales = {
        "2safmin": 2 * safmin,
        "small": safmin / ulp,
        "ulp": ulp,
        "1/ulp": 1 / ulp / 2,
        "big": safmax * ulp / 2,
        "safmax": safmax / 2,
    }
    return scales.get(name) or float(name)


FILLS: dict[str, Callable[..., np.ndarray]] = {
    "random": _random,
    "integers": _integers,
    "large": _large,
    "nan": _nan,
    "inf": _inf,
    "special": _special,
    "subnormal": _subnormal,
    "huge": _huge,
    "wide": _wide,
    "positive": _positive,
    "sparse": _sparse,
    "flawed": _flawed,
    "pitted": _pitted,
    "shifted": _shifted,
    "dominant": _dominant,
    "powers": _powers,
    "tiny powers": _tiny_powers,
    "one zero": _one_zero,
    **{f"{p}:{q}": partial(_scales, first=p, others=q) for p, q in product(SCALES, repeat=2)},
}
