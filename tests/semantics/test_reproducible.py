"""The same bits on every run of the same call: alone, after other work, and from many threads."""

import threading
from contextvars import copy_context

import numpy as np
import pytest

import tileblas as tb
from tileblas.core.dtypes import DTYPES, numpy_dtype

# Hundreds of calls: in the interpreter one Triton is enough.
pytestmark = pytest.mark.slow

TYPES = {name: numpy_dtype(row) for name, row in DTYPES.items()}
each_dtype = pytest.mark.parametrize("dtype", TYPES)


def random(shape, dtype, seed):
    generator = np.random.default_rng(seed)
    values = generator.standard_normal(shape)
    if DTYPES[dtype].is_complex:
        values = values + 1j * generator.standard_normal(shape)
    return values.astype(TYPES[dtype])


def from_threads(count, calls, function):
    """What `function` returned in each call of each thread, on the backend chosen here."""
    results, errors = [], []
    barrier = threading.Barrier(count)

    def work():
        try:
            barrier.wait()
            for _ in range(calls):
                results.append(function())
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=copy_context().run, args=(work,)) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    return results


def runs(backend):
    return 100 if backend != "interpret" else 2


@each_dtype
def test_dot_100_times(backend, dtype):
    x, y = random(10_007, dtype, 1), random(10_007, dtype, 2)
    assert len({tb.dot(x, y).tobytes() for _ in range(runs(backend))}) == 1
    assert len({tb.dotc(x[::-2], y[::2]).tobytes() for _ in range(runs(backend))}) == 1


@each_dtype
def test_gemm_100_times_with_other_work_between(backend, dtype):
    a, b, c = random((67, 130), dtype, 1), random((130, 45), dtype, 2), random((67, 45), dtype, 3)
    other = random((40, 40), "float64", 4)
    seen = set()
    for _ in range(runs(backend)):
        seen.add(tb.gemm(a, b, c.copy(), alpha=0.7, beta=1.3).tobytes())
        tb.gemm(other, other)
        tb.dot(other[0], other[1])
    assert len(seen) == 1


@each_dtype
def test_axpy_100_times(backend, dtype):
    x, y = random(5003, dtype, 1), random(5003, dtype, 2)
    assert len({tb.axpy(x, y.copy(), alpha=0.3).tobytes() for _ in range(runs(backend))}) == 1


@each_dtype
def test_nrm2_100_times(backend, dtype):
    x = random(10_007, dtype, 1)
    assert len({tb.nrm2(x).tobytes() for _ in range(runs(backend))}) == 1
    assert len({tb.nrm2(x[::-2]).tobytes() for _ in range(runs(backend))}) == 1


@each_dtype
def test_scal_100_times(backend, dtype):
    x = random(5003, dtype, 1)
    assert len({tb.scal(x.copy(), alpha=0.3).tobytes() for _ in range(runs(backend))}) == 1


def level1_calls(dtype):
    """Calls of the other routines of level 1 by name, on vectors that programs or threads share."""
    x, y = random(5003, dtype, 1), random(5003, dtype, 2)
    calls = {
        "asum": lambda: (tb.asum(x), tb.asum(x[::-2])),
        "iamax": lambda: (tb.iamax(x), tb.iamin(x), tb.iamax(x[::-2])),
        "copy": lambda: (tb.copy(x, y.copy()),),
        "axpby": lambda: (tb.axpby(x, y.copy(), alpha=0.3, beta=0.7),),
        "swap": lambda: tb.swap(x.copy(), y.copy()),
        "rot": lambda: tb.rot(x.copy(), y.copy(), 0.6, 0.8),
        "axpydot": lambda: tb.axpydot(x, y, x[::-1], alpha=0.3),
    }
    if not DTYPES[dtype].is_complex:
        calls["rotm"] = lambda: tb.rotm(x.copy(), y.copy(), (-1, 0.3, 0.7, -0.9, 1.1))
    if dtype == "float32":
        calls["dsdot"] = lambda: (tb.dsdot(x, y), tb.sdsdot(x, y, alpha=0.1))
    if DTYPES[dtype].itemsize > 2:
        calls["rotg"] = lambda: tuple(v for v in tb.rotg(x[:300], y[:300]) if v is not None)
    if dtype in ("float32", "float64"):
        numbers = [abs(v[:300]) for v in (x, y)]
        calls["rotmg"] = lambda: (tb.rotmg(*(v.copy() for v in (*numbers, x[:300])), y[:300]),)
    return calls


@each_dtype
def test_level_1_100_times(backend, dtype):
    for name, call in level1_calls(dtype).items():
        count = 2 if name == "rotmg" and backend == "interpret" else runs(backend)
        seen = {b"".join(v.tobytes() for v in call()) for _ in range(count)}
        assert len(seen) == 1, name


@each_dtype
@pytest.mark.parametrize("trans", ["N", "T"])
def test_gemv_100_times_with_other_work_between(backend, dtype, trans):
    """Long sums, which programs or threads may share, and many short ones; in both orders."""
    for m, n in ((3, 1030), (130, 5)):
        x, y, other = random(n, dtype, 1), random(m, dtype, 2), random((40, 40), "float64", 3)
        for order in "CF":
            a = np.array(random((m, n) if trans == "N" else (n, m), dtype, 4), order=order)
            seen = set()
            for _ in range(runs(backend)):
                got = tb.gemv(a, x, y.copy(), alpha=0.7, beta=1.3, trans=trans)
                seen.add(got.tobytes())
                tb.gemv(other, other[0])
                tb.nrm2(other[0])
            assert len(seen) == 1


def test_nan_of_an_earlier_call_stays_there(backend):
    """OpenMathLib/OpenBLAS#746: NaN left in an internal buffer leaked into the next call."""
    a = random((59, 50), "complex64", 1)
    clean = tb.gemm(a, a, trans_a="T")
    x = random(59, "complex64", 2)
    clean_vector, clean_norm = tb.gemv(a, x, trans="T"), tb.nrm2(x)
    for dtype in TYPES:
        bad = np.full((59, 50), np.nan, TYPES[dtype])
        tb.gemm(bad, bad, trans_a="T")
        tb.dot(bad, bad)
        tb.gemv(bad, bad[:, 0], trans="T")
        tb.nrm2(bad)
    assert tb.gemm(a, a, trans_a="T").tobytes() == clean.tobytes()
    assert tb.gemv(a, x, trans="T").tobytes() == clean_vector.tobytes()
    assert tb.nrm2(x) == clean_norm


def test_098_threads_on_a_strided_view(cpu):
    """numpy/numpy#31618: 12 threads gave different results for a view that is not contiguous."""
    coordinates = np.asfortranarray(random((262144, 2), "float64", 1))[::-1]
    turn = np.array([[0.8, -0.6], [0.6, 0.8]])
    serial = tb.gemm(coordinates, turn)
    same = from_threads(12, 50, lambda: np.array_equal(tb.gemm(coordinates, turn), serial))
    assert len(same) == 600
    assert all(same)


def test_100_threads_on_one_product(cpu):
    """OpenMathLib/OpenBLAS#1401: five threads gave different answers."""
    a, b = random((128, 1152), "float32", 1), random((1152, 16384), "float32", 2)
    serial = tb.gemm(a, b)
    assert all(from_threads(5, 1, lambda: np.array_equal(tb.gemm(a, b), serial)))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex128"])
def test_threads_on_small_calls_of_every_kind(backend, dtype):
    """What a call remembers is shared by threads: layouts and sizes change all the time."""
    x, a = random(60, dtype, 1), random((12, 12), dtype, 2)

    def calls():
        results = []
        for n in range(1, 12):
            results.append(tb.dot(x[:n], x[::-1][:n]).tobytes())
            results.append(tb.axpy(x[:n], x[n : 2 * n].copy(), alpha=n).tobytes())
            results.append(tb.gemm(a[:n], a[:, n:], alpha=2).tobytes())
            results.append(tb.gemv(a[:n], x[::-2][:12], alpha=2).tobytes())
            results.append(tb.scal(x[:n].copy(), alpha=n).tobytes())
            results.append(tb.nrm2(x[:n]).tobytes())
        return tuple(results)

    rounds = 5 if backend != "interpret" else 1
    assert set(from_threads(4, rounds, calls)) == {calls()}


def test_threads_on_several_programs(backend):
    """Calls that take more than one kernel program, or thread of SciPy's BLAS, at the same time."""
    x, a = random(5000, "float32", 1), random((70, 70), "float32", 2)
    wide, square = random((3, 2000), "float32", 3), random((130, 130), "float32", 4)

    def calls():
        results = (
            tb.dot(x, x),
            tb.nrm2(x),
            tb.gemv(wide, x[:2000]),
            tb.gemv(square, x[:130], trans="T"),
            tb.gemm(a, a),
        )
        return tuple(result.tobytes() for result in results)

    assert set(from_threads(4, 5 if backend != "interpret" else 1, calls)) == {calls()}
