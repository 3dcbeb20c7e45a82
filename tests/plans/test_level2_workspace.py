"""The workspace of level 2 holds all that programs leave, and their counters count them all.

What a program does is told again here, as the kernels do it, from the arguments of a launch.
"""

from __future__ import annotations

import math
import random
from collections import Counter

import numpy as np
import pytest
from planning import SM_90, constants, matrix, one, packed, product, value, vector

from tileblas.tuning.table import table

BAND, MIRRORED = "band.band_kernel", "mirrored.mirrored_kernel"


def sizes_of(seed):
    """Random orders about tiles and beyond, and bands of all widths in them."""
    choose = random.Random(seed)
    for _ in range(60):
        n = choose.choice((1, 7, 64, 65, 200, 1000, 5000))
        yield n, choose.choice((1, 2, n // 3 + 1, n))


def width_of(launch):
    """Bytes of one sum."""
    real = {"fp64": 8, "fp32": 4}
    partial = next(a for a in launch.arguments if a.name == "partial")
    return real[partial.type[1:]] * (2 if constants(launch)["COMPLEX"] else 1)


@pytest.mark.parametrize("tables", [SM_90, table("interpret")], ids=["sm_90", "interpret"])
@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_a_block_of_rows_of_a_band_has_no_more_programs_than_places(dtype, tables):
    """Every block of columns that rows have is that of one program, of which all have a slot."""
    for n, b in sizes_of(1):
        for name, letters in (
            ("trmv", {"uplo": "U"}),
            ("tbmv", {"uplo": "L", "diag": "U"}),
            ("gbmv", {"kl": b // 3, "m": n + 50}),
            ("gbmv", {"kl": b - 1, "m": max(1, n // 2)}),
            ("sbmv", {"uplo": "U"}),
        ):
            a = matrix(n if name == "trmv" else b, n, dtype)
            launch = product(name, a, n, letters=letters, tables=tables)
            if launch.kernel == BAND:
                check_shares(launch)


def check_shares(launch):
    found, at = constants(launch), {name: value(launch, name) for name in (
        "m", "n", "below", "above", "row_blocks", "splits", "share")}  # fmt: skip
    rows, width = found["BLOCK_M"], found["BLOCK_N"]
    left, right = at["below"], at["above"]
    if found["MIRROR"]:
        left = right = max(left, right)
    for block in range(at["row_blocks"]):
        row = block * rows
        first = min(max(row - left, 0), at["n"]) // width
        end = min(min(row + rows, at["m"]) + right, at["n"])
        shares = -(-(max(-(-end // width), first) - first) // at["share"])
        assert shares <= at["splits"]
        i = np.arange(row, min(row + rows, at["m"]))
        j = np.arange(at["n"])
        there = (j >= i[:, None] - left) & (j <= i[:, None] + right)
        if there.any():
            reached = np.flatnonzero(there.any(0))
            assert first * width <= reached[0]
            assert reached[-1] < max(-(-end // width), first) * width
    assert at["row_blocks"] * rows >= at["m"]
    groups = at["row_blocks"]
    assert launch.grid == groups * at["splits"]
    # A sum for each program, and for each block of rows what waits to be moved to x.
    assert launch.partial_bytes >= (groups * at["splits"] + groups) * rows * width_of(launch)
    assert launch.counters >= groups + 1


@pytest.mark.parametrize("tables", [SM_90, table("interpret")], ids=["sm_90", "interpret"])
@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_every_sum_of_a_mirrored_product_has_a_place_of_its_own(dtype, tables):
    """And each block's counter counts to the number of programs that serve the block."""
    seen = Counter()
    for n, b in sizes_of(2):
        for name, shape in (("symv", (n, n)), ("sbmv", (b, n)), ("spmv", None)):
            a = packed(n, dtype) if shape is None else matrix(*shape, dtype)
            launch = product(name, a, n, tables=tables)
            if launch.kernel == MIRRORED:
                check_triangle(launch)
                seen[name, constants(launch)["BANDED"]] += 1
        both = one("gemvt", (matrix(n, b, dtype), vector(b, dtype), vector(n, dtype)),
                   tables=tables)  # fmt: skip
        check_rectangle(both)
    assert set(seen) == {("symv", False), ("spmv", False), ("sbmv", False), ("sbmv", True)}
    assert min(seen.values()) >= 5


def strips_of(launch):
    """(row, strip, its first tile, the one after its last) of the programs that do anything.

    No two have the same, and of a whole triangle those that do nothing are of its first group,
    whose rows can be fewer than it has room for.
    """
    down, across, near, strips = (value(launch, n) for n in ("down", "across", "near", "strips"))
    tiles, found = constants(launch)["TILES"], []
    triangle = constants(launch)["KIND"] not in ("transpose", "adjoint")
    whole = triangle and not constants(launch)["BANDED"]
    assert launch.grid == value(launch, "programs")
    assert launch.grid == (tiles * strips * (strips + 1) // 2 if whole else down * strips)
    for index in range(launch.grid):
        row, strip = find_strip(index, launch)
        first = strip * tiles + (max(row - near + 1, 0) if triangle else 0)
        last = min(first + tiles, row + 1 if triangle else across)
        if row < down and first < last:
            found.append((row, strip, first, last))
        else:
            assert not whole or down <= row < strips * tiles
    assert len({(row, strip) for row, strip, _, _ in found}) == len(found)
    return found


def find_strip(index, launch):
    """(row, strip) of a program, as test_mirrored_strips.py asks of the kernel too."""
    strips, tiles, found = value(launch, "strips"), constants(launch)["TILES"], constants(launch)
    row, strip = divmod(index, strips)
    if found["KIND"] in ("transpose", "adjoint"):
        return row, strip
    if found["BANDED"]:
        return value(launch, "down") - 1 - row, strip
    number, row = divmod(value(launch, "programs") - 1 - index, tiles)
    group = (math.isqrt(8 * number + 1) - 1) // 2
    return group * tiles + row, number - group * (group + 1) // 2


def check_triangle(launch):
    down, near, strips = (value(launch, name) for name in ("down", "near", "strips"))
    side, tiles = constants(launch)["BLOCK"], constants(launch)["TILES"]
    reach, n = value(launch, "reach"), value(launch, "n")
    slots = strips + min(near, down)

    def own(row):
        return -(-min(row + 1, near) // tiles)

    places, arrivals, served = Counter(), Counter(), Counter()
    for row, strip, first, last in strips_of(launch):
        places[row * slots + strip] += 1
        arrivals[row] += 1
        for col in range(first, last):
            served[row, col] += 1
            places[col * slots + own(col) + row - col] += 1
            if col != row:  # who has the tile on the diagonal arrives once for both of its sums
                arrivals[col] += 1
    assert set(places.values()) == set(served.values()) == {1}
    assert launch.partial_bytes >= (max(places) + 1) * side * width_of(launch)
    # Those of a block are read from its first slot on: one more than programs have arrived.
    complete = set()
    for block in range(down):
        count = own(block) + min(near - 1, down - 1 - block)
        assert arrivals[block] == count
        assert count + 1 <= slots
        complete |= {block * slots + slot for slot in range(count + 1)}
    assert set(places) == complete
    assert launch.counters == down
    assert down == -(-n // side)
    tiles_there = {(r, c) for r in range(down) for c in range(r + 1)
                   if max((r - c) * side - side + 1, 0) <= reach}  # fmt: skip
    assert tiles_there == set(served)


def check_rectangle(launch):
    down, across, strips = (value(launch, name) for name in ("down", "across", "strips"))
    side, columns = constants(launch)["BLOCK"], down * strips
    places, arrivals = Counter(), Counter()
    for row, strip, first, last in strips_of(launch):
        places[row * strips + strip] += 1
        arrivals[row] += 1
        for col in range(first, last):
            places[columns + col * down + row] += 1
            arrivals[down + col] += 1
    assert set(places.values()) == {1}
    assert len(places) * side * width_of(launch) <= launch.partial_bytes
    assert max(places) == len(places) - 1
    assert all(arrivals[row] == strips for row in range(down))
    assert all(arrivals[down + col] == down for col in range(across))
    assert launch.counters == down + across
    assert (down, across) == tuple(-(-value(launch, size) // side) for size in "mn")


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("members", [1, 3])
def test_a_solve_has_room_for_every_square_and_every_word(dtype, members):
    """Behind one counter and what keeps them aligned: the words of x. One strip alone is solved
    without squares."""
    for n in (1, 31, 32, 33, 500):
        a, x = np.zeros((members, n, n), dtype), np.zeros((members, n), dtype)
        launch = one("trsv", (a, x))
        side, strips = constants(launch)["SIDE"], value(launch, "strips")
        words = next(argument for argument in launch.arguments if argument.name == "words")
        begin = words.value[1] * words.itemsize
        assert begin % 16 == 0
        assert begin >= 4
        assert launch.counters * 4 >= begin + members * strips * side * x.itemsize
        squares = 4 * members * strips if strips > 1 else 0
        assert launch.partial_bytes == squares * side * side * x.itemsize
        assert launch.grid == members * strips
        assert value(launch, "members") == members
