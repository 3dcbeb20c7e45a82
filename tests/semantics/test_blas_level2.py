"""Level 2 of tileblas.blas: beside SciPy on random calls, what SciPy lacks, what differs."""

from __future__ import annotations

import inspect
import random

import numpy as np
import pytest
from beside_scipy import BEYOND, SCIPYS, SMALL, level, meant, place, same, values, vector

from tileblas import BlasError, blas
from tileblas.fblas.names import FUNCTIONS

THEIRS = [name for name in SCIPYS if level(name) == 2 and not name.endswith("gemv")]
OURS = [name for name in BEYOND if level(name) == 2]


@pytest.fixture(autouse=True)
def on_the_cpu(cpu):
    """SciPy's arrays are NumPy's."""


def triangle(matrix, lower):
    """A triangle of a matrix, NaN in the other one."""
    keep = np.tri(len(matrix), dtype=bool)
    return np.where(keep if lower else keep.T, matrix, np.nan).astype(matrix.dtype)


def in_band(matrix, below, above, spare=0):
    """The diagonals of a matrix as rows, NaN in the corners and in spare rows after them."""
    m, n = matrix.shape
    found = np.full((below + above + 1 + spare, n), np.nan, matrix.dtype)
    for i in range(m):
        for j in range(max(0, i - below), min(n, i + above + 1)):
            found[above + i - j, j] = matrix[i, j]
    return found


def in_columns(matrix, lower, spare=0):
    """The columns of a triangle one after the other, and NaN in spare elements after them."""
    columns = [matrix[j:, j] if lower else matrix[: j + 1, j] for j in range(len(matrix))]
    return np.concatenate([*columns, np.full(spare, np.nan)]).astype(matrix.dtype)


def mostly(choose, usual, *others):
    """The usual choice, but of ten times once another."""
    return choose.choice(others) if others and choose.random() < 0.1 else usual


def laid(choose, matrix):
    """A matrix by rows, by columns, with gaps or as a list."""
    kinds = (matrix, np.asfortranarray(matrix), matrix.repeat(2, 1)[:, ::2], matrix.tolist())
    return choose.choice(kinds)


def array_of(choose, base, matrix, lower, below, above):
    """The array `a` of a routine, with NaN where it is not read; sometimes it is too small."""
    spare = choose.randrange(2)
    if base == "gbmv":
        array = in_band(matrix, below, above, spare)
    elif base[1] == "b":
        array = in_band(matrix, *((below, 0) if lower else (0, below)), spare)
    else:
        array = matrix if base.startswith("ge") else triangle(matrix, lower)
    smaller = [array[:, :-1]]
    if base != "gbmv":  # of which SciPy does not count the rows
        smaller.append(array[:-1])
    return laid(choose, mostly(choose, array, *(part for part in smaller if part.size)))


def vectors_for(choose, base, dtype, sizes):
    """Vectors and their places: of ger all elements, of others some of those that there are."""
    if base.startswith("ger"):
        steps = {name: mostly(choose, choose.choice((1, -1)), 2) for name in ("incx", "incy")}
        return steps | {name: vector(choose, dtype, n) for name, n in sizes.items()}
    found = {name: vector(choose, dtype, choose.randrange(n, 18)) for name, n in sizes.items()}
    found |= place(choose, "x", "y")
    if base == "spr" and dtype.kind == "c" and found.get("incx", 1) < 0:
        del found["incx"]  # OpenBLAS reads what lies before x
    return found


def call(choose, name):
    """Arguments and keywords of a random call; some have vectors that are too short, or matrices,
    sizes and options that do not fit."""
    base, dtype = name[1:], FUNCTIONS[name].dtype
    n, lower, k = choose.randrange(1, 6), choose.choice((0, 1)), choose.randrange(4)
    kl, ku = choose.randrange(3), choose.randrange(3)
    m = choose.randrange(1, 6) if base.startswith("g") else n
    if base == "gbmv":  # SciPy wants no fewer
        m = max(m, kl + ku + 1)
    matrix = values(choose, (m, n), dtype) / 2
    if base.startswith("t"):  # well conditioned
        np.fill_diagonal(matrix, 3)
    given = {
        "m": m,
        "n": mostly(choose, n, -1, n + 1),
        "k": mostly(choose, k, -1, k + 2),
        "kl": kl,
        "ku": ku,
        "alpha": choose.choice((1, 2.5, 0, 1 - 2j)),
        "beta": choose.choice((0, 1, -2)),
        "lower": mostly(choose, lower, 2, -1),
        "trans": choose.choice((0, 1, 2)),
        "diag": mostly(choose, choose.choice((0, 1)), 2),
        "a": array_of(choose, base, matrix, lower, kl if base == "gbmv" else k, ku),
        **vectors_for(choose, base, dtype, {"x": m, "y": n}),
    }
    if base[1] == "p":
        packed = in_columns(matrix, lower, choose.randrange(2))
        given["ap"] = mostly(choose, packed, packed[:1])
    arguments, keywords = [], {}
    for parameter in inspect.signature(FUNCTIONS[name]).parameters.values():
        if parameter.default is parameter.empty:
            arguments.append(given[parameter.name])
        elif "overwrite" in parameter.name:
            keywords[parameter.name] = choose.choice((0, 1))
        elif parameter.name in given and (parameter.name == "lower" or choose.random() < 0.7):
            keywords[parameter.name] = given[parameter.name]
    return arguments, keywords


@pytest.mark.parametrize("name", THEIRS)
def test_beside_scipy(name):
    choose, worked = random.Random(name), 0
    for _ in range(150):
        arguments, keywords = call(choose, name)
        worked += same(name, *arguments, **keywords)
    assert 30 < worked < 140


def test_what_scipy_has_and_what_it_lacks():
    """No name of either kind went by untested."""
    assert {name[1:] for name in THEIRS} == {
        *("gbmv", "symv", "hemv", "sbmv", "hbmv", "spmv", "hpmv"),
        *("trmv", "trsv", "tbmv", "tbsv", "tpmv", "tpsv", "ger", "geru", "gerc"),
        *("syr", "her", "spr", "hpr", "syr2", "her2", "spr2", "hpr2"),
    }
    assert {name[1:] for name in OURS} == {*PRODUCTS, *UPDATES, "gemvt"}


def full(stored, lower, sign=1):
    """The matrix of which a triangle is given, its transpose times `sign` above or below it."""
    strict = np.tril(stored, -1) if lower else np.triu(stored, 1)
    return strict + sign * strict.T + (np.diag(np.diag(stored)) if sign == 1 else 0)


def whole(choose, shape, dtype):
    """Numbers that no sum of a few products rounds."""
    count = int(np.prod(shape)) * (2 if np.dtype(dtype).kind == "c" else 1)
    numbers = np.array([choose.randrange(-99, 99) / 8 for _ in range(count)])
    return numbers.astype(np.dtype(dtype).char.lower()).view(dtype).reshape(shape)


def vectors_of(choose, names, dtype):
    """Vectors of 30 elements, and where in them those are that are meant."""
    places = {name: (choose.randrange(3), choose.choice((1, 2, -1, -3))) for name in names}
    keywords = {f"off{name}": offset for name, (offset, _) in places.items()}
    keywords |= {f"inc{name}": step for name, (_, step) in places.items()}
    return {name: whole(choose, (30,), dtype) for name in names}, places, keywords


def factors(choose, dtype, count):
    return choose.choices((2, 0, -1.5, *((0.5 - 2j,) if dtype.kind == "c" else ())), k=count)


# What SciPy lacks, with the sign of the transpose.
PRODUCTS = {"symv": 1, "sbmv": 1, "skewsymv": -1}
UPDATES = {"syr2": 1, "spr2": 1, "skewsyr2": -1}


def agree(found, wanted, array, overwrite):
    """Assert that a result has the values that are wanted, and is the array if it may be."""
    small = SMALL[wanted.dtype.type]
    np.testing.assert_allclose(found, wanted, rtol=small, atol=small)
    assert found.dtype == wanted.dtype
    assert (found is array) == bool(overwrite)


@pytest.mark.parametrize("name", [name for name in OURS if name[1:] in PRODUCTS])
def test_products_that_scipy_lacks(name):
    choose, dtype = random.Random(name), FUNCTIONS[name].dtype
    for _ in range(60):
        n, k = choose.randrange(1, 7), choose.randrange(4)
        lower, overwrite = choose.choices((0, 1), k=2)
        matrix = whole(choose, (n, n), dtype)
        if name[1:] == "sbmv":
            matrix = np.triu(np.tril(matrix, k), -k)
            a = k, in_band(matrix, *((k, 0) if lower else (0, k)), choose.randrange(2))
        else:
            a = (laid(choose, triangle(matrix, lower)),)
        vectors, places, keywords = vectors_of(choose, "xy", dtype)
        alpha, beta = factors(choose, dtype, 2)
        wanted = vectors["y"].copy()
        old, x = meant(wanted, n, *places["y"]), meant(vectors["x"], n, *places["x"])
        old[...] = alpha * (full(matrix, lower, PRODUCTS[name[1:]]) @ x) + beta * old
        keywords |= {"beta": beta, "y": vectors["y"], "lower": lower, "overwrite_y": overwrite}
        found = FUNCTIONS[name](*a[:-1], alpha, a[-1], vectors["x"], **keywords)
        agree(found, wanted, vectors["y"], overwrite)


@pytest.mark.parametrize("name", [name for name in OURS if name[1:] in UPDATES])
def test_updates_that_scipy_lacks(name):
    choose, dtype, sign = random.Random(name), FUNCTIONS[name].dtype, UPDATES[name[1:]]
    for _ in range(60):
        n, new = choose.randrange(1, 7), choose.random() < 0.3
        lower, overwrite = choose.choices((0, 1), k=2)
        vectors, places, keywords = vectors_of(choose, "xy", dtype)
        x, y = (meant(vectors[name], n, *places[name]) for name in "xy")
        (alpha,) = factors(choose, dtype, 1)
        change = alpha * (np.outer(y, x) + sign * np.outer(x, y))
        change = np.tril(change) if lower else np.triu(change)
        matrix = np.asfortranarray(whole(choose, (n, n), dtype))
        keywords["lower"] = lower
        if name[1:] == "spr2":
            a, wanted = (in_columns(v, lower, 2) for v in (matrix, matrix + change))
            keywords["overwrite_ap"] = overwrite
            found = FUNCTIONS[name](n, alpha, *vectors.values(), a, **keywords)
        else:
            a, wanted = (None, change) if new else (matrix, matrix + change)
            keywords |= {"n": n, "a": a, "overwrite_a": overwrite}
            found = FUNCTIONS[name](alpha, *vectors.values(), **keywords)
            assert found.flags.f_contiguous
        agree(found, wanted, a, overwrite and a is not None)


@pytest.mark.parametrize("name", [name for name in OURS if name[1:] == "gemvt"])
def test_two_products_at_once(name):
    choose, dtype = random.Random(name), FUNCTIONS[name].dtype
    for _ in range(60):
        m, n, trans = choose.randrange(1, 7), choose.randrange(1, 7), choose.choice((1, 2))
        a = whole(choose, (m, n), dtype)
        vectors, places, keywords = vectors_of(choose, "xwyz", dtype)
        (alpha, beta), overwrite = factors(choose, dtype, 2), choose.choice((0, 1))
        keywords |= {"trans": trans, "beta": beta, "overwrite_z": overwrite, "y": vectors["y"]}
        new = choose.random() < 0.3
        if new:  # z is as long as it has to be
            vectors["z"] = np.zeros(places["z"][0] + (n - 1) * abs(places["z"][1]) + 1, dtype)
        else:
            keywords["z"] = vectors["z"]
        wanted = {name: vectors[name].copy() for name in "yz"}
        for out, read, matrix in (("y", "x", a), ("z", "w", a.T if trans == 1 else a.T.conj())):
            size, length = matrix.shape
            old = meant(wanted[out], size, *places[out])
            old[...] = alpha * (matrix @ meant(vectors[read], length, *places[read])) + beta * old
        y, z = FUNCTIONS[name](alpha, laid(choose, a), vectors["x"], vectors["w"], **keywords)
        agree(y, wanted["y"], vectors["y"], False)
        agree(z, wanted["z"], vectors["z"], overwrite and not new)


@pytest.mark.parametrize(
    ("call", "argument", "words"),
    [
        (lambda: blas.dsymv(1, np.ones((2, 3)), np.ones(3)), "a", r"shape \(2, 3\)"),
        (lambda: blas.dsymv(1, np.eye(2), np.ones(2), lower=2), "lower", "is 2; it is 0"),
        (lambda: blas.dsymv(1, np.eye(2), np.ones(1)), "x", "need 2"),
        (lambda: blas.dsymv(1, np.eye(2), np.ones(2), y=np.ones(1)), "y", "need 2"),
        (lambda: blas.dtrmv(np.eye(2), np.ones(2), diag=2), "diag", "is 2; it is 0 or 1"),
        (lambda: blas.dtrsv(np.eye(2), np.ones(2), trans=3), "trans", "is 3; it is 0, 1"),
        (lambda: blas.dtbsv(2, np.ones((2, 4)), np.ones(4)), "a", "2 rows; the band has 3"),
        (lambda: blas.dtbmv(-1, np.ones((2, 4)), np.ones(4)), "k", "is -1; it has to be 0"),
        (lambda: blas.dtpsv(3, np.ones(5), np.ones(3)), "ap", "has 5 elements"),
        (lambda: blas.dgbmv(4, 3, 1, 1, 1, np.ones((3, 4)), np.ones(4)), "n", "a has 4 columns"),
        (lambda: blas.dgemvt(1, np.eye(2), np.ones(2), np.ones(2), trans=0), "trans", "is 0; it"),
        (lambda: blas.dgemvt(1, np.eye(2), np.ones(2), np.ones(1)), "w", "need 2"),
        (lambda: blas.dger(1, np.ones(2), np.ones(2), incy=2), "incy", "is 2; here it is 1 or -1"),
        (lambda: blas.dger(1, np.ones(2), np.ones(2), a=np.eye(3)), "a", r"has \(2, 2\)"),
        (lambda: blas.dsyr(1, np.ones(2), n=3), "x", "need 3"),
        (lambda: blas.dsyr2(1, np.ones(2), np.ones(2), n=-1), "n", "is -1"),
        (lambda: blas.dspr(3, 1, np.ones(3), np.ones(5)), "ap", "need 6"),
        (lambda: blas.dspr2(2, 1, np.ones(2), np.ones(1), np.ones(3)), "y", "need 2"),
    ],
)
def test_errors_name_the_function_the_argument_and_the_rule(call, argument, words):
    with pytest.raises(BlasError, match=words) as caught:
        call()
    assert caught.value.argument == argument
    assert caught.value.routine in FUNCTIONS


@pytest.mark.parametrize("trans", [0, 1])
def test_a_band_may_reach_beyond_the_matrix(trans):
    """SciPy refuses fewer rows than diagonals."""
    matrix = np.array([[1.0, 2, 3], [4, 5, 6]])
    found = blas.dgbmv(2, 3, 1, 2, 2, in_band(matrix, 1, 2), [1, 2, 4], trans=trans)
    assert found.tolist() == ([18, 24, 30] if trans else [34, 76])


def test_too_few_diagonals_are_refused():
    """Of gbmv SciPy's BLAS prints a line and leaves y as it was."""
    with pytest.raises(BlasError, match="has 3 rows; the band has 5 diagonals"):
        blas.dgbmv(6, 4, 2, 2, 1, np.ones((3, 4)), np.ones(4))


def test_a_transpose_is_0_1_or_2():
    """SciPy takes any other for 1 in trsv and in routines on bands and packed triangles."""
    for function, arguments in (
        (blas.dtrsv, (np.eye(2), np.ones(2))),
        (blas.dtbmv, (0, np.ones((1, 2)), np.ones(2))),
        (blas.dtpsv, (2, np.ones(3), np.ones(2))),
    ):
        for trans in (-1, 3):
            with pytest.raises(BlasError, match="it is 0, 1"):
                function(*arguments, trans=trans)


def test_a_product_with_an_empty_matrix_leaves_its_vector_alone():
    """As BLAS does, whatever beta is; y that is made is 0."""
    y = np.array([1.0, np.nan])
    none, empty = np.ones((0, 2)), np.ones((2, 0))
    for found in (
        blas.dgemv(1, empty, [], beta=3, y=y),
        blas.dgemv(1, none, [], beta=3, y=y, trans=1),
        blas.dgbmv(2, 0, 0, 0, 1, np.ones((1, 0)), [], beta=0, y=y),
        blas.dgbmv(0, 2, 0, 0, 1, np.ones((1, 2)), [], beta=0, y=y, trans=1),
        blas.dgemvt(1, empty, [], [1, 2], beta=0, y=y)[0],
        blas.dgemvt(1, none, [1, 2], [], beta=3, z=y)[1],
        blas.dspmv(0, 1, [], [], beta=3, y=y),
    ):
        np.testing.assert_array_equal(found, y)
        assert found is not y
    assert blas.dgbmv(2, 0, 0, 0, 1, np.ones((1, 0)), []).tolist() == [0, 0]


def test_empty_matrices_are_allowed():
    """SciPy refuses them: there is no offset below a length of 0."""
    none = np.ones((0, 0))
    for found in (
        *(blas.dsymv(1, none, []), blas.zhemv(1, none, []), blas.dsbmv(0, 1, np.ones((1, 0)), [])),
        *(blas.dtrmv(none, []), blas.dtpsv(0, [], []), blas.dtbmv(1, np.ones((2, 0)), [])),
        *(blas.dspr(0, 1, [], []), blas.zhpr2(0, 1, [], [], [])),
    ):
        assert found.shape == (0,)
    assert blas.dger(1, [], [1, 2]).shape == (0, 2)
    assert blas.dsyr(1, []).shape == blas.zher2(1, [1], []).shape == (0, 0)


def test_other_elements_of_a_longer_vector_stay(cpu):
    x = np.arange(8.0)
    found = blas.dtrsv([[2.0, 1], [0, 4]], x, offx=1, incx=3)
    assert found.tolist() == [0, 0, 2, 3, 1, 5, 6, 7]
    packed = np.arange(5.0)
    assert blas.dspr(2, 1, [1, 1], packed, overwrite_ap=1) is packed
    assert packed.tolist() == [1, 2, 3, 3, 4]


def test_packed_complex_updates_walk_back():
    """OpenBLAS, which SciPy ships, reads what lies before x then."""
    x = np.array([1, 2j, 3 + 1j])
    found = blas.zspr(3, 1j, np.repeat(x, 2), np.zeros(6), offx=1, incx=-2)
    np.testing.assert_array_equal(found, in_columns(1j * np.outer(x[::-1], x[::-1]), 0))


def test_alpha_of_a_hermitian_update_is_real():
    """SciPy takes a complex one and its real part."""
    assert blas.zher(2 + 5j, [1, 1j]).tolist() == [[2, -2j], [0, 2]]
    assert blas.zhpr(2, 2 + 5j, [1, 1j], np.zeros(3)).tolist() == [2, -2j, 2]
