"""Launches the kernels of level 2 on matrices that lie dense, as bands or packed among NaNs.

Nothing of the package but the kernels is used. What a kernel leaves in the workspace must stay
within the bounds given here, which are those that plans reckon with, and counters must end at zero.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from kernel_harness import COMPUTE, Pointer, quiet, scalar, strides, two, unit, wide

from tileblas.kernels import band, mirrored, rank, solve

GUARD = 64  # elements behind a matrix, and numbers behind a workspace, that nobody may change
TRIANGLES = ("symmetric", "hermitian", "skew")


@dataclass(frozen=True)
class Stored:
    """A matrix in memory: (i, j) is element start + i s0 + j s1 + c0 i(i+1)/2 + c1 j(j+1)/2.

    `at` are the places of all its elements, by the definition of its storage, and `there` says
    which of them exist.
    """

    memory: np.ndarray
    at: np.ndarray
    there: np.ndarray
    start: int
    strides: tuple[int, int]
    curve: tuple[int, int]

    @property
    def transposed(self) -> Stored:
        turned = {name: getattr(self, name)[::-1] for name in ("strides", "curve")}
        return replace(self, at=self.at.T, there=self.there.T, **turned)

    @property
    def by_columns(self) -> bool:
        down, along = (abs(stride) or np.inf for stride in self.strides)
        return down < along

    @property
    def pointer(self) -> Pointer:
        return Pointer(self.memory[..., self.start :])

    @property
    def batch(self) -> tuple[int, ...]:
        return two(strides(self.memory)[:-1], 0)

    @property
    def values(self) -> np.ndarray:
        """The elements that are there, 0 elsewhere."""
        found = self.memory[..., np.where(self.there, self.at, 0)]
        return np.where(self.there, found, found.dtype.type(0))

    def nothing_else_changed(self, before: np.ndarray) -> bool:
        """Whether what is no element of the matrix is as it was, bit for bit."""
        other = np.ones(self.memory.shape[-1], bool)
        other[self.at[self.there]] = False
        return self.memory[..., other].tobytes() == before[..., other].tobytes()


def store(values, storage="", below=None, above=None, by_columns=False, diagonal=True) -> Stored:
    """Store the elements of a matrix where -below <= j - i <= above, all the rest is NaN.

    A packed matrix is the triangle on the side where there are more diagonals. Without the
    `diagonal` that has a place only.
    """
    *_, m, n = values.shape
    below, above = m - 1 if below is None else below, n - 1 if above is None else above
    i, j = np.indices((m, n))
    there = (j - i >= -below) & (j - i <= above) & (diagonal | (i != j))
    start, curve = 0, (0, 0)
    if storage == "packed" and above > below:
        at, steps, curve = i + j * (j + 1) // 2, (1, 0), (0, 1)
        size = n * (n + 1) // 2
    elif storage == "packed":
        at, steps, curve = i + j * (2 * n - j - 1) // 2, (1, n), (0, -1)
        size = n * (n + 1) // 2
    elif storage == "band":
        rows = below + above + 1
        down, along = (1, rows + 2) if by_columns else (n + 3, 1)
        at, steps = (above + i - j) * down + j * along, (down, along - down)
        start, size = above * down, (n * along if by_columns else rows * down)
    else:
        steps = (1, m + 3) if by_columns else (n + 3, 1)
        at, size = i * steps[0] + j * steps[1], max(m * steps[0], n * steps[1])
    memory = np.full((*values.shape[:-2], size + GUARD), np.nan, values.dtype)
    memory[..., at[there]] = values[..., there]
    return Stored(memory, at, there, start, steps, curve)


def mirror(values, kind):
    """The whole matrix of which one triangle is stored."""
    found, i = wide(values), np.arange(values.shape[-1])
    other = {"skew": -found.T, "hermitian": found.conj().T, "symmetric": found.T}[kind].copy()
    diagonal = found[i, i].real if kind == "hermitian" else found[i, i]
    other[i, i] = 0
    found[i, i] = 0
    found = found + other
    found[i, i] = 0 if kind == "skew" else diagonal
    return found


def _workspace(numbers: int, dtype) -> np.ndarray:
    return np.full(numbers + GUARD, np.nan, COMPUTE[dtype.name])


def _check_workspace(partial: np.ndarray, *counters: np.ndarray) -> None:
    assert np.isnan(partial[-GUARD:]).all()
    assert not any(counter.any() for counter in counters)


def _scalars(alpha, beta):
    (alpha_kind, *alpha), (beta_kind, *beta) = (
        ("zero", 0, 0) if value is None else scalar(value) for value in (alpha, beta)
    )
    return alpha_kind, beta_kind, (*alpha, *beta)


@quiet()
def band_product(
    a, x, y, alpha=1.0, beta=None, *, below, above, mirror="", unit_diag=False, conj_a=False,
    conj_x=False, negate=False, conj_scalars=False, share=1, blocks=(16, 8),
):  # fmt: skip
    """band_kernel; without y in place in x."""
    in_place, y = y is None, x if y is None else y
    outer, inner = two(x.shape[:-1], 1)
    m, n = a.at.shape
    block_m, block_n = blocks
    members, row_blocks = outer * inner, -(-m // block_m)
    splits = -(-(-(-n // block_n) + 1) // share)
    groups, width = members * row_blocks, block_m * (2 if y.dtype.kind == "c" else 1)
    partial = _workspace(groups * (splits + 1) * width, y.dtype)
    arrived = np.zeros(groups + members, np.int32)
    alpha_kind, beta_kind, numbers = _scalars(None if in_place else alpha, beta)
    band.band_kernel[(groups * splits,)](
        a.pointer, Pointer(x), Pointer(y), Pointer(partial), Pointer(arrived), *numbers,
        m, n, below, above, *a.strides, sum(a.curve), unit(strides(x)[-1]), strides(y)[-1],
        inner, *a.batch, *two(strides(x)[:-1], 0), *two(strides(y)[:-1], 0),
        row_blocks, splits, share,
        COMPLEX=y.dtype.kind == "c", CONJ_A=conj_a, CONJ_X=conj_x, NEGATE=negate,
        CONJ_SCALARS=conj_scalars, ALPHA_KIND=alpha_kind, BETA_KIND=beta_kind, MIRROR=mirror,
        IN_PLACE=in_place, UNIT_DIAG=unit_diag, CURVED=any(a.curve), BATCHED=members > 1,
        BY_COLUMNS=a.by_columns, UNIT=a.strides[0 if a.by_columns else 1] == 1, POLICY="",
        BLOCK_M=block_m, BLOCK_N=block_n, UNROLL=1,
    )  # fmt: skip
    _check_workspace(partial, arrived)


@quiet()
def mirrored_product(
    a, x, w, y, z, alpha=1.0, beta=None, *, kind, lower=False, reach=None, conj_a=False,
    conj_x=False, conj_w=False, negate=False, conj_scalars=False, block=16, tiles=2, columns=8,
    held=4,
):  # fmt: skip
    """mirrored_kernel on a matrix that lies by columns; without w and z these are x and y."""
    w, z = x if w is None else w, y if z is None else z
    outer, inner = two(x.shape[:-1], 1)
    m, n = a.at.shape
    reach = n - 1 if reach is None else reach
    triangle, members = kind in TRIANGLES, outer * inner
    down, across = -(-m // block), -(-n // block)
    near = min(-(-reach // block) + 1, down)
    strips = -(-(near if triangle else across) // tiles)
    banded = triangle and reach < n - 1
    programs = tiles * strips * (strips + 1) // 2 if triangle and not banded else down * strips
    slots = strips + (near if triangle else across)
    width = block * (2 if y.dtype.kind == "c" else 1)
    partial = _workspace(members * down * slots * width, y.dtype)
    arrived = np.zeros(members * (down if triangle else down + across), np.int32)
    alpha_kind, beta_kind, numbers = _scalars(alpha, beta)
    vectors = (x, w, y, z)
    mirrored.mirrored_kernel[(members * programs,)](
        a.pointer, *map(Pointer, vectors), Pointer(partial), Pointer(arrived), *numbers,
        m, n, reach, *a.strides, sum(a.curve), *(strides(v)[-1] for v in vectors), inner, *a.batch,
        *(step for v in vectors for step in two(strides(v)[:-1], 0)), down, across, near, strips,
        programs, KIND=kind, LOWER=lower, BANDED=banded, COMPLEX=y.dtype.kind == "c",
        CONJ_A=conj_a, CONJ_X=conj_x, CONJ_W=conj_w, NEGATE=negate, CONJ_SCALARS=conj_scalars,
        ALPHA_KIND=alpha_kind, BETA_KIND=beta_kind, BATCHED=members > 1, CURVED=any(a.curve),
        UNIT=a.strides[0] == 1, POLICY="", BLOCK=block, SLICE=columns, HELD=held, TILES=tiles,
        SUMS=2,
    )  # fmt: skip
    _check_workspace(partial, arrived)


@quiet()
def rank_update(
    x, y, a, alpha=1.0, *, kind="general", lower=False, fresh=False, conj_x=False, conj_y=False,
    negate=False, conj_scalars=False, blocks=(16, 16),
):  # fmt: skip
    """rank_kernel on a matrix that lies by rows; without y that is x, of an update of rank 1.

    The flags are those of x and y; y^H of a Hermitian update conjugates once more.
    """
    conj_y ^= kind == "hermitian"
    rank_of, y = 2 if y is not None and kind != "general" else 1, x if y is None else y
    outer, inner = two(x.shape[:-1], 1)
    m, n = a.at.shape
    down, across = -(-m // blocks[0]), -(-n // blocks[1])
    triangle = kind != "general" and not fresh
    tiles = down * (down + 1) // 2 if triangle else down * across
    alpha_kind, _, (*numbers, _, _) = _scalars(alpha, None)
    rank.rank_kernel[(outer * inner * tiles,)](
        Pointer(x), Pointer(y), a.pointer, *numbers, m, n, strides(x)[-1], strides(y)[-1],
        *a.strides, sum(a.curve), inner, *two(strides(x)[:-1], 0), *two(strides(y)[:-1], 0),
        *a.batch, down, across, tiles,
        KIND=kind, RANK=rank_of, LOWER=lower, FRESH=fresh, COMPLEX=x.dtype.kind == "c",
        CONJ_X=conj_x, CONJ_Y=conj_y, NEGATE=negate, CONJ_SCALARS=conj_scalars,
        ALPHA_KIND=alpha_kind, BATCHED=outer * inner > 1, CURVED=any(a.curve),
        UNIT=a.strides[1] == 1, POLICY="", BLOCK_M=blocks[0], BLOCK_N=blocks[1],
    )  # fmt: skip


@quiet()
def solve_in_place(a, x, *, upper, reach=None, unit_diag=False, conj_a=False, negate=False,
                   side=8, held=2, patient=False, early=False, words=None):  # fmt: skip
    """solve_kernel, in place in x. The number of tickets and all words must end at zero.

    `words` are those of the caller, who looks at them afterwards.
    """
    outer, inner = two(x.shape[:-1], 1)
    n = x.shape[-1]
    reach = n - 1 if reach is None else reach
    members, strips = outer * inner, -(-n // side)
    parts = 2 if x.dtype.kind == "c" else 1
    partial = _workspace(4 * members * strips * side * side * parts * (strips > 1), x.dtype)
    arrived = np.zeros(1, np.int32)
    per_number = 2 if x.dtype == np.complex128 else 1
    word = np.int32 if x.dtype == np.float32 else np.int64
    checked = words is None
    if checked:
        words = np.zeros(members * strips * side * per_number + GUARD, word)
    curved = "" if not any(a.curve) else "rows" if a.curve[0] else "columns"
    solve.solve_kernel[(members * strips,)](
        a.pointer, Pointer(x), Pointer(partial), Pointer(arrived), Pointer(words), n, reach,
        *a.strides, sum(a.curve), strides(x)[-1], inner, *a.batch, *two(strides(x)[:-1], 0),
        strips, members, 1,
        COMPLEX=x.dtype.kind == "c", CONJ_A=conj_a, NEGATE=negate, UNIT_DIAG=unit_diag,
        UPPER=upper, CURVED=curved, BANDED=reach < n - 1, BY_ROWS=not a.by_columns,
        BATCHED=members > 1, SIDE=side, HELD=held, PATIENT=patient,
        EARLY=early,
    )  # fmt: skip
    _check_workspace(partial, arrived, *([words] if checked else []))
