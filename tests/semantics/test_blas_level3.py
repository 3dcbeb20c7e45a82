"""Level 3 of tileblas.blas beside gemm: next to SciPy on random calls, what SciPy lacks, errors."""

from __future__ import annotations

import inspect
import random

import numpy as np
import pytest
from beside_scipy import BEYOND, SCIPYS, SMALL, level, same, values

from tileblas import BlasError, blas
from tileblas.fblas.names import FUNCTIONS

THEIRS = [name for name in SCIPYS if level(name) == 3 and not name.endswith("gemm")]
OURS = [name for name in BEYOND if level(name) == 3]


@pytest.fixture(autouse=True)
def on_the_cpu(cpu):
    """SciPy's arrays are NumPy's."""


def triangle(matrix, lower):
    """A triangle of a matrix, NaN in the other one."""
    keep = np.tri(len(matrix), dtype=bool)
    return np.where(keep if lower else keep.T, matrix, np.nan).astype(matrix.dtype)


def laid(choose, matrix):
    """A matrix by rows, by columns, with gaps or as a list."""
    kinds = (matrix, np.asfortranarray(matrix), matrix.repeat(2, 1)[:, ::2], matrix.tolist())
    return choose.choice(kinds)


def mostly(choose, usual, *others):
    """The usual choice, but of ten times once another."""
    return choose.choice(others) if others and choose.random() < 0.1 else usual


def transposes(name):
    """The numbers for `trans` that both have."""
    if FUNCTIONS[name].dtype.kind != "c":
        return 0, 1, 2
    return (0, 2) if name[1:] in ("herk", "herkx", "her2k") else (0, 1)


def call(choose, name):
    """Arguments and keywords of a random call; some have matrices or options that do not fit."""
    dtype = FUNCTIONS[name].dtype
    m, n = choose.randrange(1, 6), choose.randrange(1, 6)
    lower, side = choose.choice((0, 1)), choose.choice((0, 1))
    trans = choose.choice(transposes(name))
    if "side" in inspect.signature(FUNCTIONS[name]).parameters:
        order = n if side else m
        a, shape = triangle(values(choose, (order, order), dtype), lower), (m, n)
    else:
        order = n if trans else m
        a, shape = values(choose, (m, n), dtype), (order, order)
    b, c = values(choose, (m, n), dtype), values(choose, shape, dtype)
    given = {
        "alpha": choose.choice((1, 2.5, 0, 1 - 2j)),
        "a": laid(choose, a),
        "b": laid(choose, mostly(choose, b, b.repeat(2, 0).repeat(2, 1))),
        "beta": choose.choice((0, 1, -2)),
        "c": laid(choose, mostly(choose, c, c.repeat(2, 0))),
        "side": mostly(choose, side, 2, -1),
        "lower": mostly(choose, lower, 2, -1),
        "trans": mostly(choose, trans, 3, -1),
        "overwrite_c": choose.choice((0, 1)),
    }
    arguments, keywords = [], {}
    for parameter in inspect.signature(FUNCTIONS[name]).parameters.values():
        if parameter.default is parameter.empty:
            arguments.append(given[parameter.name])
        elif parameter.name in ("side", "lower", "trans") or choose.random() < 0.7:
            keywords[parameter.name] = given[parameter.name]
    return arguments, keywords


@pytest.mark.parametrize("name", THEIRS)
def test_beside_scipy(name):
    choose, worked = random.Random(name), 0
    for _ in range(150):
        arguments, keywords = call(choose, name)
        worked += same(name, *arguments, **keywords)
    assert 60 < worked < 145


def test_what_scipy_has_and_what_it_lacks():
    """No name of either kind went by untested."""
    assert {name[1:] for name in THEIRS} == {"symm", "hemm", "syrk", "herk", "syr2k", "her2k"}
    assert {name[1:] for name in OURS} == {"gemmtr", "skewsymm", "syrkx", "herkx", "skewsyr2k"}


def agree(found, wanted, array, overwrite):
    """Assert that a result has the values that are wanted, and is the array if it may be."""
    small = SMALL[wanted.dtype.type]
    np.testing.assert_allclose(found, wanted, rtol=small, atol=small)
    assert found.dtype == wanted.dtype
    assert found.flags.f_contiguous
    assert (found is array) == bool(overwrite)


def target(choose, shape, dtype):
    """A matrix to write or none, and the keywords that say so with their beta."""
    if choose.random() < 0.3:
        return None, 0, {}
    c, beta = np.asfortranarray(values(choose, shape, dtype)), choose.choice((0, 1, -2))
    return c, beta, {"c": c, "beta": beta, "overwrite_c": choose.choice((0, 1))}


@pytest.mark.parametrize("name", [name for name in OURS if name[1:] == "skewsymm"])
def test_products_of_skew_matrices(name):
    choose, dtype = random.Random(name), FUNCTIONS[name].dtype
    for _ in range(60):
        m, n = choose.randrange(1, 7), choose.randrange(1, 7)
        side, lower = choose.choices((0, 1), k=2)
        order = n if side else m
        a, b = triangle(values(choose, (order, order), dtype), lower), values(choose, (m, n), dtype)
        half = np.tril(a, -1) if lower else np.triu(a, 1)
        np.fill_diagonal(a, np.nan)
        c, beta, keywords = target(choose, (m, n), dtype)
        full = half - half.T
        wanted = 0.5 * (b @ full if side else full @ b) + (0 if c is None else beta * c)
        arrays = laid(choose, a), laid(choose, b)
        found = FUNCTIONS[name](0.5, *arrays, side=side, lower=lower, **keywords)
        agree(found, wanted.astype(dtype), c, keywords.get("overwrite_c"))


@pytest.mark.parametrize("name", [name for name in OURS if name[1:] == "gemmtr"])
def test_triangles_of_products(name):
    choose, dtype = random.Random(name), FUNCTIONS[name].dtype
    turns = {0: lambda v: v, 1: lambda v: v.T, 2: lambda v: v.conj().T}
    for _ in range(60):
        n, k, lower = choose.randrange(1, 7), choose.randrange(1, 7), choose.choice((0, 1))
        trans_a, trans_b = choose.choices((0, 1, 2), k=2)
        a, b = values(choose, (n, k), dtype), values(choose, (k, n), dtype)
        c, beta, keywords = target(choose, (n, n), dtype)
        old = np.zeros((n, n), dtype) if c is None else c
        keep = np.tri(n, dtype=bool)
        wanted = np.where(keep if lower else keep.T, 1.5 * (a @ b) + beta * old, old)
        arrays = laid(choose, turns[trans_a](a)), laid(choose, turns[trans_b](b))
        keywords |= {"trans_a": trans_a, "trans_b": trans_b, "lower": lower}
        found = FUNCTIONS[name](1.5, *arrays, **keywords)
        agree(found, wanted.astype(dtype), c, keywords.get("overwrite_c"))


@pytest.mark.parametrize("name", [n for n in OURS if n[1:] in ("syrkx", "herkx", "skewsyr2k")])
def test_products_of_two_factors(name):
    choose, dtype = random.Random(name), FUNCTIONS[name].dtype
    is_skew = name[1:] == "skewsyr2k"
    for _ in range(60):
        n, k, lower = choose.randrange(1, 7), choose.randrange(1, 7), choose.choice((0, 1))
        trans = choose.choice(transposes(name))
        a, b = values(choose, (n, k), dtype), values(choose, (n, k), dtype)
        c, beta, keywords = target(choose, (n, n), dtype)
        old = np.zeros((n, n), dtype) if c is None else c
        product = a @ (b.conj() if name[1:] == "herkx" else b).T
        product = product.T - product if is_skew else product
        keep = np.tri(n, k=-1 if is_skew else 0, dtype=bool)
        wanted = np.where(keep if lower else keep.T, 1.5 * product + beta * old, old)
        if name[1:] == "herkx":
            np.fill_diagonal(wanted.imag, 0)
        if trans:
            a, b = (v.conj().T if trans == 2 else v.T for v in (a, b))
        keywords |= {"trans": trans, "lower": lower}
        found = FUNCTIONS[name](1.5, laid(choose, a), laid(choose, b), **keywords)
        agree(found, wanted.astype(dtype), c, keywords.get("overwrite_c"))


@pytest.mark.parametrize(
    ("call", "argument", "words"),
    [
        (lambda: blas.dsymm(1, np.ones((2, 3)), np.eye(2)), "a", r"shape \(2, 3\)"),
        (lambda: blas.dsymm(1, np.eye(2), np.eye(2), side=2), "side", "is 2; it is 0 .A on the"),
        (lambda: blas.dsymm(1, np.eye(2), np.eye(2), lower=-1), "lower", "is -1; it is 0"),
        (lambda: blas.dsymm(1, np.eye(2), np.eye(2), c=np.eye(3)), "c", r"result has \(2, 2\)"),
        (lambda: blas.zsyrk(1, np.eye(2), trans=2), "trans", r"is 2; it is 0 or 1 \(tr"),
        (lambda: blas.zherk(1, np.eye(2), trans=1), "trans", r"is 1; it is 0 or 2 \(con"),
        (lambda: blas.zsyr2k(1, np.eye(2), np.eye(2), trans=2), "trans", r"is 2; it is 0 or 1 "),
        (lambda: blas.zher2k(1, np.eye(2), np.eye(2), trans=1), "trans", r"is 1; it is 0 or 2 "),
        (lambda: blas.dsyrk(1, np.eye(2), trans=3), "trans", "is 3; it is 0, 1"),
        (lambda: blas.dsyrk(1, np.ones((2, 3)), c=np.eye(3)), "c", r"result has \(2, 2\)"),
        (lambda: blas.dgemmtr(1, np.eye(2), np.eye(2), trans_b=3), "trans_b", "is 3; it is 0, 1"),
    ],
)
def test_errors_name_the_function_the_argument_and_the_rule(call, argument, words):
    with pytest.raises(BlasError, match=words) as caught:
        call()
    assert caught.value.argument == argument
    assert caught.value.routine in FUNCTIONS


def test_real_factors_of_herk_are_real_parts():
    """As f2py takes them."""
    a = np.array([[1, 2j], [3, 4 - 1j]])
    found = blas.zherk(2 + 1j, a, beta=1j, c=np.full((2, 2), np.nan))
    np.testing.assert_array_equal(found[0], blas.zherk(2, a)[0])


def test_beta_of_her2k_is_its_real_part_and_alpha_is_not():
    a, b = np.array([[1, 2j], [3, 4 - 1j]]), np.array([[2, 1j], [1 - 1j, 0]])
    found = blas.zher2k(2 + 1j, a, b, beta=1j, c=np.full((2, 2), np.nan))
    product = (2 + 1j) * a @ b.conj().T
    np.testing.assert_allclose(found[0], (product + product.conj().T)[0])
