"""Rules of levels 2 and 3 on the CPU: NaN, empty operands, batches, lazy bits, and copies."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from stored_matrices import (
    LAYOUTS,
    LEVEL3,
    NAN,
    PRODUCTS,
    SOLVES,
    SPECS,
    TRIANGULAR,
    UPDATES,
    call,
    each,
    lay,
    matrix,
    operands,
    unpacked,
)

import tileblas as tb
from tileblas.backends import blas_pointers
from tileblas.backends.dispatch import describe, ingest_all
from tileblas.core.operand import CONJ, NEG
from tileblas.routines.registry import ROUTINES

each_way = pytest.mark.usefixtures("way")


def widest(name):
    return ROUTINES[name].dtypes[-1]


# ---- values that are no numbers -----------------------------------------------------------------


def vectors_of(name, x):
    """x, and y where the routine has one."""
    return [x, np.zeros_like(x)] if name in PRODUCTS else [x]


@each_way
@each(PRODUCTS + TRIANGULAR)
def test_nan_in_a_vector_reaches_what_it_multiplies(name, dtype):
    """No element that is not there is multiplied, be it by 0."""
    for n, uplo, place in itertools.product((5, 70, 200), "UL", (0, 0.5, 1)):
        at = int(place * (n - 1))
        letters = {} if name == "gbmv" else {"uplo": uplo}
        a = matrix(name, dtype, np.ones((n, n)), 2, 1, **letters)
        x = np.ones(n, dtype)
        x[at] = NAN
        (found,) = call(name, (a.array, *vectors_of(name, x)), **letters)
        np.testing.assert_array_equal(np.isnan(found), a.meaning[:, at] != 0)


@each_way
@each(PRODUCTS + TRIANGULAR)
def test_nan_in_a_matrix_is_not_hidden_by_zeros(name, dtype):
    for (n, at), layout in itertools.product(((5, 2), (65, 64), (130, 65)), LAYOUTS):
        values = np.ones((n, n), dtype)
        values[at - 1, at] = NAN
        a = matrix(name, dtype, values, 2, 1)
        (found,) = call(name, (lay(a.array, layout), *vectors_of(name, np.zeros(n, dtype))))
        np.testing.assert_array_equal(np.isnan(found), np.isnan(a.meaning).any(1))


@each_way
@each(SOLVES)
def test_nan_in_a_vector_reaches_what_depends_on_it(name, dtype):
    for n, uplo in itertools.product((5, 70, 200), "UL"):
        a = matrix(name, dtype, np.eye(n) + 1, n - 1, uplo=uplo)
        x = np.zeros(n, dtype)
        x[n // 2] = NAN
        (found,) = call(name, (a.array, x), uplo=uplo)
        np.testing.assert_array_equal(np.isnan(found), a.meaning[:, n // 2] != 0)
        np.testing.assert_array_equal(found[~np.isnan(found)], 0)


@each_way
@each([*PRODUCTS, *UPDATES, "gemvt"])
def test_a_scalar_that_is_nan_makes_all_nan(name, dtype):
    n, spec = 70, SPECS[name]
    scalars = [{"alpha": NAN}]
    if np.dtype(dtype).kind == "c" and not spec.real_scalars:
        scalars += [{"alpha": complex(0, NAN)}]
    if "beta" in spec.scalars:
        scalars += [{"beta": NAN}, {"alpha": 0, "beta": NAN}]
    for given in scalars:
        a = matrix(name, dtype, np.ones((n, n)), 1, 1)
        if name in UPDATES:
            vectors = np.zeros((len(spec.arguments) - 1, n), dtype)
            found = unpacked(call(name, (*vectors, a.array), **given)[0], name, n)[a.read]
        else:
            vectors = np.zeros((len(spec.arguments) - 1, n), dtype)
            found = np.array(call(name, (a.array, *vectors), **given))
        assert np.isnan(found).all()


# ---- which numbers come to BLAS -----------------------------------------------------------------

#: What SciPy's BLAS has no routine for, or may not divide in.
OURS = {*SOLVES, "skewsymv", "skewsyr2", "gemvt"}


@pytest.fixture
def called(monkeypatch):
    """The names of the routines of BLAS that are called."""
    names = []
    call_it = blas_pointers.by_name

    def record(name, *arguments):
        names.append(name)
        call_it(name, *arguments)

    monkeypatch.setattr(blas_pointers, "by_name", record)
    with tb.backend("cpu"):
        yield names


@each([name for name in SPECS if name not in OURS])
def test_blas_has_what_it_can_take(name, dtype, called):
    """All but half types and complex symmetric matrices, whichever way a dense matrix lies."""
    spec = SPECS[name]
    for layout in "CF":
        arrays = operands(name, dtype, np.random.default_rng(6))
        index = next(i for i, arg in enumerate(spec.arguments) if arg.name in ("a", "ap"))
        if spec.arguments[index].axes != "bn" or layout == "F":
            arrays[index] = np.asarray(arrays[index], order=layout)
            call(name, arrays, alpha=2, beta=3)
    is_complex = np.dtype(dtype).kind == "c"
    has = dtype != "float16" and not (spec.structure == "symmetric" and is_complex)
    assert bool(called) == has


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_no_blas_sees_what_another_would_leave_out(dtype, called):
    a, x = np.ones((3, 3), dtype), np.array([1, 0, 2], dtype)
    tb.trmv(a, x.copy())
    nan = np.array([1, NAN, 2], dtype)
    for update in (tb.ger, tb.syr2) if dtype == "float64" else (tb.gerc, tb.her2):
        update(x, nan, a)
        update(nan, x, a)
        update(x, x, a, alpha=NAN)
    product = tb.symv if dtype == "float64" else tb.hemv
    product(a, x, alpha=NAN)
    product(a, x, x.copy(), beta=np.dtype(dtype).type(NAN))
    assert not called


# ---- empty operands, batches, lazy bits ---------------------------------------------------------


@each_way
@each([*SPECS, *LEVEL3])
def test_nothing_comes_of_nothing(name, dtype):
    arrays = operands(name, dtype, np.random.default_rng(1), n=0)
    assert all(result.size == 0 for result in call(name, arrays))


@each_way
@pytest.mark.parametrize("trans", "NTC")
def test_a_band_without_columns_leaves_beta_y(trans):
    a, x, y = np.ones((3, 0 if trans == "N" else 4)), np.ones(0), np.ones(4)
    more = {"m": 4} if trans == "N" else {"m": 0}
    tb.gbmv(a, x, y, beta=2, trans=trans, kl=1, **more)
    np.testing.assert_array_equal(y, 2)


@each_way
@pytest.mark.parametrize("name", [*SPECS, *LEVEL3])
def test_batches_are_calls_of_their_own(name):
    spec, rng = ROUTINES[name], np.random.default_rng(2)
    inputs = itertools.cycle([(2, 1), (3,)])
    batches = [(2, 3) if arg.is_output else next(inputs) for arg in spec.arguments]
    arrays = operands(name, widest(name), rng, batches=batches)
    whole = [
        np.broadcast_to(array, (2, 3, *array.shape[len(batch) :])).copy()
        for array, batch in zip(arrays, batches, strict=True)
    ]
    found = call(name, arrays, alpha=2, beta=0.5)
    for index in np.ndindex(2, 3):
        alone = call(name, [array[index] for array in whole], alpha=2, beta=0.5)
        for result, other in zip(found, alone, strict=True):
            np.testing.assert_allclose(result[index], other, rtol=1e-9)


@each_way
@pytest.mark.parametrize("name", [*SPECS, *LEVEL3])
def test_lazy_bits_of_every_operand(name):
    """A lazily conjugated or negated operand counts as what it stands for, an output too."""
    spec, dtype = ROUTINES[name], widest(name)
    rng = np.random.default_rng(3)
    arrays = operands(name, dtype, rng)
    bits = [0, NEG, CONJ, CONJ | NEG] if np.dtype(dtype).kind == "c" else [0, NEG]
    allowed = [
        [0] if name == "gemvt" and arg.is_output else [0, CONJ] if name == "gemvt" else bits
        for arg in spec.arguments
    ]
    alpha = 0.5 if spec.real_scalars or np.dtype(dtype).kind != "c" else 0.5 - 2j
    turns = [option for option in spec.options if option.name == "trans"]
    letters = {o.name: (o.complex_letters or o.letters)[-1] for o in turns}
    wanted = call(name, [array.copy() for array in arrays], alpha, 0.25, **letters)
    kl = {"kl": 1} if name == "gbmv" else {}
    options = {option.name: option.default for option in spec.options} | letters | kl
    if "uplo" in options:
        options["uplo"] = "U"
    scalars = {"alpha": alpha, "beta": 0.25}
    for flags in itertools.product(*allowed):
        lazy = [resolved(array, flag) for array, flag in zip(arrays, flags, strict=True)]
        described = [
            operand._replace(flags=operand.flags | flag)
            for operand, flag in zip(ingest_all(spec, lazy), flags, strict=True)
        ]
        given = [scalars[scalar] for scalar in spec.scalars]
        found = describe(spec, described, given, list(options.values()), None, None).run()
        found = found if isinstance(found, tuple) else (found,)
        outputs = [flag for flag, arg in zip(flags, spec.arguments, strict=True) if arg.is_output]
        for result, flag, expected in zip(found, outputs, wanted, strict=True):
            np.testing.assert_allclose(resolved(result, flag), expected, rtol=1e-9)


def resolved(array, flag):
    """A copy of the numbers that lazy bits stand for, or of what is stored for the numbers."""
    values = array.conj() if flag & CONJ else array.copy()
    return -values if flag & NEG else values


# ---- copies -------------------------------------------------------------------------------------


@each_way
@pytest.mark.parametrize("name", [*SPECS, *LEVEL3])
def test_matrices_with_a_unit_stride_are_never_copied(name):
    arrays = operands(name, widest(name), np.random.default_rng(4))
    with tb.options(copies="forbid"):
        call(name, arrays)


@each_way
@pytest.mark.parametrize(
    "name", [*(name for name in SPECS if "nn" in SPECS[name].operands[0].axes), *LEVEL3]
)
def test_a_copy_of_a_matrix_can_be_forbidden(name):
    a, *vectors = operands(name, widest(name), np.random.default_rng(5))
    before = vectors[-1].copy()
    with tb.options(copies="forbid"), pytest.raises(tb.BlasError, match="unit stride"):
        call(name, (lay(a, "gaps"), *vectors))
    np.testing.assert_array_equal(vectors[-1], before)


@each_way
def test_half_types_are_copied_in_updates():
    x, a = np.ones(3, np.float16), np.ones((3, 3), np.float16)
    with tb.options(copies="forbid"), pytest.raises(tb.BlasError, match="half"):
        tb.ger(x, x, a)
    np.testing.assert_array_equal(a, 1)
    np.testing.assert_array_equal(tb.ger(x, x, a), 2)
