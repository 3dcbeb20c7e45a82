"""The routines of level 3 on structured matrices, and in a triangle, in a line or two of NumPy."""

import numpy as np


def places(n, uplo):
    """The places of one triangle."""
    upper = np.triu(np.ones((n, n), bool))
    return upper if uplo == "U" else upper.T


def full(a, uplo, kind):
    """The matrix of which one triangle is stored."""
    there, diagonal = places(len(a), uplo), np.eye(len(a), dtype=bool)
    stored = np.where(there & ~diagonal, a, 0)
    mirrored = {"symmetric": stored.T, "hermitian": stored.conj().T, "skew": -stored.T}[kind]
    own = {"symmetric": a, "hermitian": a.real, "skew": 0 * stored}[kind]
    return np.where(diagonal, own, stored + mirrored)


def op(x, letter):
    return {"N": x, "T": x.T, "C": x.conj().T}[letter]


def added(c, product, alpha, beta):
    c[...] = alpha * product + (beta * c if beta else 0)
    return c


def sided(kind):
    """C := alpha A B + beta C of the matrix in full; of a skew one, row by row."""

    def run(a, b, c, alpha, beta, side, uplo):
        matrix = full(a, uplo, kind)
        if side == "R":
            return added(c, op(product(op(matrix, "T"), op(b, "T"), kind), "T"), alpha, beta)
        return added(c, product(matrix, b, kind), alpha, beta)

    return run


def product(matrix, b, kind):
    if kind != "skew":
        return matrix @ b
    others = ~np.eye(len(b), dtype=bool)
    return np.array([row[keep] @ b[keep] for row, keep in zip(matrix, others, strict=True)])


def in_triangle(c, product, alpha, beta, uplo, hermitian=False):
    """C := alpha product + beta C in one triangle; of a new C the other one is 0."""
    there = places(len(product), uplo)
    if c is None:
        return np.where(there, alpha * product, 0)
    old = np.where(np.eye(len(c), dtype=bool), c.real, c) if hermitian else c
    c[there] = (alpha * product + (beta * old if beta else 0))[there]
    if hermitian:
        c.imag[np.diag_indices_from(c)] = 0
    return c


def syrk(a, c=None, *, alpha, beta, uplo, trans):
    a = op(a, trans)
    return in_triangle(c, a @ a.T, alpha, beta, uplo)


def herk(a, c=None, *, alpha, beta, uplo, trans):
    a = op(a, trans)
    if c is not None and beta == 1 and (alpha == 0 or a.shape[1] == 0):
        return c
    return in_triangle(c, a @ a.conj().T if alpha else 0 * a @ a.T, alpha, beta, uplo, True)


def gemmtr(a, b, c=None, *, alpha, beta, uplo, trans_a, trans_b):
    return in_triangle(c, op(a, trans_a) @ op(b, trans_b), alpha, beta, uplo)


def partnered(routine):
    """op(A) op(B)^T, or with op(B) op(A)^T as well, in one triangle; of Hermitian kind with ^H."""
    hermitian, turn = routine.startswith("her"), "C" if routine.startswith("her") else "T"

    def run(a, b, c=None, *, alpha, beta, uplo, trans):
        a, b = op(a, trans), op(b, trans)
        if hermitian and c is not None and beta == 1 and (alpha == 0 or a.shape[1] == 0):
            return c
        product = alpha * (a @ op(b, turn))
        if routine.endswith("r2k"):
            other = (np.conj(alpha) if hermitian else alpha) * (b @ op(a, turn))
            product = other + (-product if routine == "skewsyr2k" else product)
        if alpha == 0:
            product = np.zeros_like(product)
        old = None if c is None else np.diag(c).copy()
        out = in_triangle(c, product, 1, beta, uplo, hermitian and c is not None)
        if hermitian and c is None:
            out.imag[np.diag_indices_from(out)] = 0
        if routine == "skewsyr2k":
            np.fill_diagonal(out, 0 if c is None else old)
        return out

    return run


RIGHT = {
    "symm": sided("symmetric"),
    "hemm": sided("hermitian"),
    "skewsymm": sided("skew"),
    "syrk": syrk,
    "herk": herk,
    "gemmtr": gemmtr,
    **{name: partnered(name) for name in ("syrkx", "herkx", "syr2k", "her2k", "skewsyr2k")},
}
