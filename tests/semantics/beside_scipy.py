"""Calls of tileblas.blas and of scipy.linalg.blas with the same arguments, and what is compared."""

from __future__ import annotations

import numpy as np
import scipy.linalg.blas as theirs

from tileblas import blas
from tileblas.fblas.names import FUNCTIONS
from tileblas.routines.registry import ROUTINES

SMALL = {np.float32: 1e-5, np.float64: 1e-12, np.complex64: 1e-5, np.complex128: 1e-12}
WITHOUT_A_VALUE = object()

SCIPYS = [name for name in FUNCTIONS if hasattr(theirs, name)]
BEYOND = [name for name in FUNCTIONS if not hasattr(theirs, name)]


def level(name):
    """The level of BLAS that a function is of."""
    return ROUTINES[FUNCTIONS[name].compute.__name__].level


def copied(value):
    """An array of its own that lies as another does, with gaps or by columns; else the value."""
    if not isinstance(value, np.ndarray):
        return value
    if value.ndim == 1 and value.strides[0] > value.itemsize:
        return np.repeat(value, 2)[::2]
    return value.copy(order="K")


def outcome(function, arguments, keywords):
    """What a call returns, the arrays after it, and which of them is what it returned."""
    arguments = [copied(value) for value in arguments]
    keywords = {name: copied(value) for name, value in keywords.items()}
    arrays = [v for v in (*arguments, *keywords.values()) if isinstance(v, np.ndarray)]
    try:
        found = function(*arguments, **keywords)
    except Exception:
        return WITHOUT_A_VALUE, arrays, None
    return found, arrays, [[one is array for array in arrays] for one in each(found)]


def each(found):
    """The results of a call, of which there may be one or several."""
    return found if isinstance(found, tuple) else (found,)


def same(name, *arguments, **keywords):
    """Assert that both do the same, to the values of every array and which of them is returned.

    Whether that was not to raise.
    """
    ours, our_arrays, our_own = outcome(getattr(blas, name), arguments, keywords)
    other, their_arrays, their_own = outcome(getattr(theirs, name), arguments, keywords)
    call = f"{name} {arguments} {keywords}"
    assert (ours is WITHOUT_A_VALUE) == (other is WITHOUT_A_VALUE), call
    if ours is WITHOUT_A_VALUE:
        return False
    close = SMALL[FUNCTIONS[name].dtype.type]
    assert type(ours) is type(other), call
    assert our_own == their_own, call
    for mine, its in zip((*each(ours), *our_arrays), (*each(other), *their_arrays), strict=True):
        assert np.shape(mine) == np.shape(its), call
        np.testing.assert_allclose(mine, its, rtol=close, atol=close, err_msg=call)
    for mine, its in zip(each(ours), each(other), strict=True):
        assert type(mine) is type(its), call
        if isinstance(mine, np.ndarray):
            assert mine.dtype == its.dtype, call
            assert mine.flags.f_contiguous == its.flags.f_contiguous, call
    return True


def values(choose, shape, dtype):
    found = np.array([choose.uniform(-2, 2) for _ in range(int(np.prod(shape)))]).reshape(shape)
    if np.dtype(dtype).kind == "c":
        found = found + 1j * found[::-1]
    return found.astype(dtype)


def vector(choose, dtype, length):
    """A vector of the type, or of another, with gaps, as a list, or as a matrix."""
    x = values(choose, (length,), dtype)
    kinds = (
        lambda: x,
        lambda: x.repeat(2)[::2],
        lambda: x.astype(np.float32 if x.dtype.kind != "c" else np.complex64),
        x.tolist,
        lambda: x.reshape(1, -1),
        lambda: x[: length // 2 * 2].reshape(-1, 2, order=choose.choice("CF")) if length > 1 else x,
    )
    return choose.choice((kinds[0], *kinds))()


def place(choose, *names):
    found = {}
    for name in names:
        if choose.random() < 0.6:
            found[f"inc{name}"] = choose.choice((1, 2, 3, -1, -2, 0))
        if choose.random() < 0.4:
            found[f"off{name}"] = choose.choice((0, 1, 2, 5, -1, 30))
    return found


def meant(array, n, offset, increment):
    """The elements that BLAS means, as a view."""
    found = array[offset :: abs(increment)][:n]
    return found[::-1] if increment < 0 else found
