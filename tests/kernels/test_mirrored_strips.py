"""Which program of mirrored_kernel has which tiles, and which of them are whole."""

import itertools
import math

import numpy as np
import pytest

triton = pytest.importorskip("triton")
pytest.importorskip("ml_dtypes")
pytestmark = pytest.mark.interpret

import triton.language as tl  # noqa: E402
from kernel_harness import Pointer, quiet  # noqa: E402

from tileblas.kernels import mirrored  # noqa: E402

BLOCK = 16


@triton.jit
def describe(
    numbers, found, m, n, reach, down, across, near, strips, programs,
    TILES: tl.constexpr, TRIANGLE: tl.constexpr, UPPER: tl.constexpr, BANDED: tl.constexpr,
    BLOCK: tl.constexpr, COUNT: tl.constexpr,
):  # fmt: skip
    """Row, strip, its tiles [first, last), and those of them that are whole, of some programs."""
    lanes = tl.arange(0, COUNT)
    index = tl.load(numbers + lanes).to(tl.int32)
    row, strip = mirrored.find_strip(index, strips, down, programs, TILES, TRIANGLE, BANDED)
    first, last = mirrored.strip_of(row, strip, across, near, TILES, TRIANGLE)
    begin, end = mirrored.whole_tiles(
        row, first, last, down, m, n, reach, TRIANGLE, UPPER, BANDED, BLOCK
    )
    tl.store(found + lanes, row)
    tl.store(found + COUNT + lanes, strip)
    tl.store(found + 2 * COUNT + lanes, first)
    tl.store(found + 3 * COUNT + lanes, last)
    tl.store(found + 4 * COUNT + lanes, begin)
    tl.store(found + 5 * COUNT + lanes, end)


@quiet()
def described(numbers, sizes, **constants):
    """What `describe` finds for all of the numbers at once, a row of six for each."""
    count = triton.next_power_of_2(len(numbers))
    given = np.zeros(count, np.int64)
    given[: len(numbers)] = numbers
    found = np.full((6, count), -7, np.int64)
    describe[(1,)](Pointer(given), Pointer(found), *sizes, **constants, BLOCK=BLOCK, COUNT=count)
    return found[:, : len(numbers)].T.tolist()


def beside_the_diagonal(m, n, reach, kind, upper):
    """Of each tile, which elements are there; those of an upper triangle are in reverse order."""
    down, across = -(-m // BLOCK), -(-n // BLOCK)
    i, j = np.indices((down * BLOCK, across * BLOCK))
    there = (i < m) & (j < n)
    if kind != "general":
        distance = j - i if upper else i - j
        there &= (distance > 0) & (distance <= reach)
    there = there.reshape(down, BLOCK, across, BLOCK).swapaxes(1, 2)
    return there[::-1, ::-1] if upper else there


def cases():
    """Kinds and sizes about tiles; bands that end at any place in one."""
    orders = (1, 15, 16, 33, 80, 127, 300)
    for n, upper in itertools.product(orders, (False, True)):
        yield "triangle", n, n, n - 1, upper
        for reach in (0, 1, 14, 15, 17, 30, 31, 40):
            if reach < n - 1:
                yield "band", n, n, reach, upper
    for m, n in zip(orders, orders[::-1], strict=True):
        yield "general", m, n, n - 1, False


@pytest.mark.parametrize("tiles", [1, 2, 4])
def test_every_tile_is_in_one_strip_of_one_program_which_knows_whether_it_is_whole(tiles):
    for kind, m, n, reach, upper in cases():
        there = beside_the_diagonal(m, n, reach, kind, upper)
        down, across = there.shape[:2]
        near = min(-(-reach // BLOCK) + 1, down)
        strips = -(-(across if kind == "general" else near) // tiles)
        programs = tiles * strips * (strips + 1) // 2 if kind == "triangle" else down * strips
        found = described(
            range(programs), (m, n, reach, down, across, near, strips, programs),
            TILES=tiles, TRIANGLE=kind != "general", UPPER=upper, BANDED=kind == "band",
        )  # fmt: skip
        assert len({(row, strip) for row, strip, *_ in found}) == programs
        taken = np.zeros((down, across), int)
        for row, _, first, last, begin, end in found:
            if row < down and first < last:
                taken[row, first:last] += 1
                whole = [col for col in range(first, last) if there[row, col].all()]
                assert list(range(begin, end)) == whole
            elif kind == "triangle":  # none has nothing to do but for rows that make up a group
                assert down <= row < strips * tiles
        needed = there.any((2, 3))
        if kind != "general":  # those on the diagonal too, whose own elements are multiplied apart
            needed |= np.eye(down, dtype=bool)
        np.testing.assert_array_equal(taken, needed)


@pytest.mark.parametrize("tiles", [1, 2, 8])
def test_numbers_of_strips_are_right_to_the_largest_grid(tiles):
    """Where the groups of rows begin and end, whose numbers a square root gives only nearly."""
    strips = math.isqrt(2 * (2**31 - 1) // tiles) - 1
    programs = tiles * strips * (strips + 1) // 2
    assert 2**31 - 2**18 < programs < 2**31
    choose = np.random.default_rng(tiles)
    groups = {1, 2, 3, 4095, 4096, strips - 1, *choose.integers(1, strips, 300).tolist()}
    numbers = [
        programs - 1 - (tiles * (group * (group + 1) // 2 + near) + member)
        for group, near, member in itertools.product(groups, (-1, 0), {0, tiles - 1})
    ]
    down = strips * tiles
    n = down * BLOCK
    found = described(
        numbers, (n, n, n - 1, down, down, down, strips, programs),
        TILES=tiles, TRIANGLE=True, UPPER=False, BANDED=False,
    )  # fmt: skip
    for number, (row, strip, *_) in zip(numbers, found, strict=True):
        pair, member = divmod(programs - 1 - number, tiles)
        group = (math.isqrt(8 * pair + 1) - 1) // 2
        assert (row, strip) == (group * tiles + member, pair - group * (group + 1) // 2)
