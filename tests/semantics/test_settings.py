"""tb.backend, tb.options and math=: what they choose, for whom, and what they refuse."""

import subprocess
import sys
import threading

import numpy as np
import pytest

import tileblas as tb
from tileblas import settings
from tileblas.core.dtypes import DTYPES, numpy_dtype

TYPES = {name: numpy_dtype(row) for name, row in DTYPES.items()}


def forbidden(routine, call, *untouched):
    """The call raises BlasError because it would copy, and writes nothing."""
    before = [array.tobytes() for array in untouched]
    with tb.options(copies="forbid"), pytest.raises(tb.BlasError, match="cop") as caught:
        call()
    assert caught.value.routine == routine
    assert [array.tobytes() for array in untouched] == before


# ---- copies -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_what_blas_can_express_is_never_copied(cpu, dtype):
    big = np.ones((8, 8), TYPES[dtype])
    with tb.options(copies="forbid"):
        assert tb.dot(big[:, 1], big[::-1, 2]) == 8
        assert tb.dotc(big[::3, 1], big[2:5, 0]) == 3
        tb.axpy(big[:, 1], big[::-1, 2], alpha=2)
        for a in (big[:3, :4], big.T[:3, :4]):
            for c in (np.ones((3, 3), TYPES[dtype]), np.ones((3, 3), TYPES[dtype], order="F")):
                tb.gemm(a, a, c, trans_b="T", beta=2)
        columns, c = big.T[:3, :4], np.ones((3, 3), TYPES[dtype], order="F")
        tb.gemm(columns, columns, c, trans_b="C")


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_what_blas_can_express_on_vectors_is_never_copied(cpu, dtype):
    """Increments of any sign and 0, rows and columns, and every letter."""
    big, one = np.ones((8, 8), TYPES[dtype]), np.ones(1, TYPES[dtype])
    with tb.options(copies="forbid"):
        assert tb.nrm2(big[::-2, 1]) == 2
        assert tb.nrm2(np.broadcast_to(one, 4)) == 2
        tb.scal(big.copy()[::-1, 2], alpha=2)
        for a in (big[:3, :4], big.T[:3, :4]):
            for x in (big[0, ::2], big[::-2, 0], np.broadcast_to(one, 4)):
                for y in (np.ones(3, TYPES[dtype]), np.ones(6, TYPES[dtype])[::-2]):
                    assert (tb.gemv(a, x, y, alpha=2, beta=3) == 11).all()
            for trans in "TC":
                y = np.ones(8, TYPES[dtype])[::2]
                assert (tb.gemv(a, big[:3, 0], y, beta=2, trans=trans) == 5).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_types_are_copied_on_the_cpu(cpu, dtype):
    x, y, a = np.ones(4, TYPES[dtype]), np.ones(4, TYPES[dtype]), np.ones((2, 2), TYPES[dtype])
    c = np.ones((2, 2), TYPES[dtype])
    forbidden("dot", lambda: tb.dot(x, y))
    forbidden("axpy", lambda: tb.axpy(x, y), y)
    forbidden("gemm", lambda: tb.gemm(a, a))
    forbidden("gemm", lambda: tb.gemm(a, a, c), c)
    forbidden("nrm2", lambda: tb.nrm2(x))
    forbidden("scal", lambda: tb.scal(x, alpha=2), x)
    forbidden("gemv", lambda: tb.gemv(a, a[0], y[:2]), y)
    assert tb.dot(x, y) == 4


def test_matrices_without_a_unit_stride_are_copied_on_the_cpu(cpu):
    step, plain = np.ones((8, 8))[::2, ::2], np.ones((4, 4))
    c = np.ones((4, 4))
    forbidden("gemm", lambda: tb.gemm(step, plain, c), c)
    forbidden("gemm", lambda: tb.gemm(plain, step, c), c)
    forbidden("gemm", lambda: tb.gemm(plain, plain, step, beta=1), step)
    assert (tb.gemm(step, plain) == 4).all()
    forbidden("gemv", lambda: tb.gemv(step, plain[0], c[0]), c)
    forbidden("gemv", lambda: tb.gemv(plain[::-1], plain[0], c[0]), c)
    assert (tb.gemv(step, plain[0]) == 4).all()


def test_a_conjugation_that_blas_lacks_is_copied_on_the_cpu(cpu):
    """Row-major storage of A^H is column-major storage of conj(A), for which BLAS has no letter."""
    rows, c = np.ones((3, 4), complex), np.ones((3, 3), complex, order="F")
    with tb.options(copies="forbid"), pytest.raises(tb.BlasError, match="conj"):
        tb.gemm(rows, rows, c, trans_b="C")
    assert (c == 1).all()
    # Of a product with a vector ?gemm has it, which takes no vector that lies backwards.
    forwards, backwards = np.ones(3, complex), np.ones(3, complex)[::-1]
    with tb.options(copies="forbid"):
        assert (tb.gemv(rows, forwards, trans="C") == 3).all()
    with tb.options(copies="forbid"), pytest.raises(tb.BlasError, match="without a unit stride"):
        tb.gemv(rows, backwards, c[0, :1].repeat(4), trans="C")
    assert (tb.gemv(rows, backwards, trans="C") == 3).all()


def test_a_copy_is_refused_before_the_first_of_a_batch_is_written(cpu):
    a, c = np.ones((3, 8, 8))[:, ::2, ::2], np.zeros((3, 4, 4))
    forbidden("gemm", lambda: tb.gemm(a, a, c), c)


def test_copies_are_refused_after_the_same_call_was_allowed(cpu):
    step = np.ones((8, 8))[::2, ::2]
    tb.gemm(step, step)
    forbidden("gemm", lambda: tb.gemm(step, step))
    tb.gemm(step, step)


@pytest.mark.interpret
@pytest.mark.parametrize("dtype", TYPES)
def test_kernels_never_copy(dtype):
    with tb.backend("interpret"), tb.options(copies="forbid"):
        big = np.ones((8, 8), TYPES[dtype])
        assert tb.dot(big[0], big[1]) == 8
        assert (tb.gemm(big[::2, ::2], big[::-2, 1::2]) == 4).all()
        assert (tb.axpy(big[0, ::2], big[1, 1::2]) == 2).all()
        assert (tb.gemv(big[2::2, ::-2], big[2, 1:4], trans="C", alpha=2) == 6).all()
        assert (tb.scal(big[3, ::-2], alpha=3) == 3).all()
        assert tb.nrm2(big[::2, 7]) == 2


def test_unknown_options():
    with pytest.raises(tb.BlasError, match="allow"):
        tb.options(copies="never")


def test_options_end_with_their_block():
    with tb.options(copies="forbid"):
        assert settings.copies_forbidden()
        with tb.options(copies="allow"):
            assert not settings.copies_forbidden()
        assert settings.copies_forbidden()
    assert not settings.copies_forbidden()
    with pytest.raises(RuntimeError), tb.options(copies="forbid"):
        raise RuntimeError
    assert not settings.copies_forbidden()


# ---- backends -----------------------------------------------------------------------------------


def test_a_backend_chosen_for_a_block():
    before = settings.chosen_backend()
    with tb.backend("cpu"):
        assert settings.chosen_backend() == "cpu"
        with tb.backend("auto"):
            assert settings.chosen_backend() == "auto"
        assert settings.chosen_backend() == "cpu"
    assert settings.chosen_backend() == before


def test_a_backend_chosen_for_the_process():
    before = settings.chosen_backend()
    try:
        tb.backend("cpu")
        assert settings.chosen_backend() == "cpu"
    finally:
        tb.backend(before)


def test_a_block_is_its_threads_own():
    seen = []
    with tb.backend("cpu" if settings.chosen_backend() == "auto" else "auto"):
        inside = settings.chosen_backend()
        thread = threading.Thread(target=lambda: seen.append(settings.chosen_backend()))
        thread.start()
        thread.join()
    assert seen == [settings.chosen_backend()] != [inside]


@pytest.mark.parametrize("name", ["gpu", "", "CPU", None, 1])
def test_unknown_backends(name):
    with pytest.raises(tb.BlasError, match="auto, cuda, cpu, interpret"):
        tb.backend(name)


def python(program, **environment):
    import os

    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "TRITON_INTERPRET": "0", **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_interpret_is_refused_once_triton_compiles():
    pytest.importorskip("triton")
    program = """
import triton, tileblas as tb
try:
    tb.backend("interpret")
except tb.BlasError as error:
    print("refused:", error)
"""
    done = python(program, TILEBLAS_BACKEND="auto")
    assert done.stdout.startswith("refused:"), done.stderr
    assert "before" in done.stdout


def test_the_environment_chooses_the_backend():
    program = "import tileblas as tb; print(tb.settings.chosen_backend())"
    assert python(program, TILEBLAS_BACKEND="cpu").stdout == "cpu\n"
    wrong = python(program, TILEBLAS_BACKEND="gpu")
    assert wrong.returncode != 0
    assert "BlasError" in wrong.stderr
    assert "auto, cuda, cpu, interpret" in wrong.stderr


# ---- math ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_the_default_is_at_least_as_accurate_as_ieee(backend, dtype):
    """It may multiply and sum in float64, where that is faster, and then it rounds once."""
    random = np.random.default_rng(5)
    a = random.standard_normal((33, 40)).astype(dtype)
    exact = a.astype("complex128") @ a.astype("complex128").T
    default, ieee = (tb.gemm(a, a, trans_b="T", math=math) - exact for math in (None, "ieee"))
    assert np.linalg.norm(default) <= np.linalg.norm(ieee) <= 40 * 2**-24 * np.linalg.norm(exact)


@pytest.mark.parametrize("math", ["", "fast", "IEEE", 32, "float32"])
def test_unknown_arithmetic(cpu, math):
    a = np.ones((2, 2), np.float32)
    with pytest.raises(tb.BlasError, match="ieee") as caught:
        tb.gemm(a, a, math=math)
    assert (caught.value.argument, caught.value.position) == ("math", None)
