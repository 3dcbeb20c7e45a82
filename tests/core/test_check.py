"""Rules that need no memory: a scalar inside the output, and calls in the words of Fortran."""

from __future__ import annotations

import pytest

from tileblas.core.check import check_scalar_aliasing
from tileblas.core.dtypes import DTYPES
from tileblas.core.fortran import check_blas
from tileblas.core.operand import Operand
from tileblas.errors import BlasError
from tileblas.routines.registry import ROUTINES

AXPY, GEMM = ROUTINES["axpy"], ROUTINES["gemm"]
FLOAT32 = DTYPES["float32"]


def test_a_device_scalar_inside_the_output_is_refused():
    y = Operand(4096, FLOAT32, (8,), (2,), 0, 0, "test", None)
    inside = Operand(4096 + 16, FLOAT32, (), (), 0, 0, "test", None)
    between = inside._replace(pointer=4096 + 12)
    arg = AXPY.operand("y")
    with pytest.raises(BlasError, match=r"'alpha' .*is an element of 'y'") as caught:
        check_scalar_aliasing(AXPY, "alpha", inside, arg, y)
    assert caught.value.position == 2
    check_scalar_aliasing(AXPY, "alpha", between, arg, y)


def test_sizes_are_integers():
    with pytest.raises(TypeError, match="'m' must be an integer"):
        check_blas(GEMM, m=2.5, n=2, k=2, lda=3, ldb=2, ldc=3)


def test_letters_have_their_defaults():
    check_blas(GEMM, m=2, n=3, k=4, lda=2, ldb=4, ldc=2)
    with pytest.raises(BlasError) as caught:
        check_blas(GEMM, m=2, n=3, k=4, lda=1, ldb=4, ldc=2)
    assert caught.value.position == 8


@pytest.mark.parametrize("letter", ["N", "T", "C"])
def test_sizes_of_gemv_are_those_of_a_as_stored(letter):
    """Fortran's m counts the rows of A itself; the Spec's m the rows of op(A)."""
    call = {"trans": letter, "m": 2, "n": 3, "incx": 1, "incy": 1}
    check_blas(ROUTINES["gemv"], lda=2, **call)
    check_blas(ROUTINES["gemv"], "row", lda=3, **call)
    for layout, lda in (("col", 1), ("row", 2)):
        with pytest.raises(BlasError, match=str(lda)) as caught:
            check_blas(ROUTINES["gemv"], layout, lda=lda, **call)
        assert (caught.value.argument, caught.value.position) == ("lda", 6)


def test_other_routines_have_the_sizes_of_the_operation():
    """gemm's m and k are those of op(A) in Fortran too."""
    check_blas(GEMM, trans_a="T", m=2, n=3, k=4, lda=4, ldb=4, ldc=2)
