"""BLAS by SciPy's names. Made from the routines by `make stub`."""

from typing import Any

from tileblas.fblas.names import find_best_blas_type as find_best_blas_type
from tileblas.fblas.names import get_blas_funcs as get_blas_funcs

__all__: list[str]

def sdot(
    x: Any,
    y: Any,
    n: int | None = ...,
    offx: int = ...,
    incx: int = ...,
    offy: int = ...,
    incy: int = ...,
) -> Any: ...
def ddot(
    x: Any,
    y: Any,
    n: int | None = ...,
    offx: int = ...,
    incx: int = ...,
    offy: int = ...,
    incy: int = ...,
) -> Any: ...
def cdotc(
    x: Any,
    y: Any,
    n: int | None = ...,
    offx: int = ...,
    incx: int = ...,
    offy: int = ...,
    incy: int = ...,
) -> Any: ...
def zdotc(
    x: Any,
    y: Any,
    n: int | None = ...,
    offx: int = ...,
    incx: int = ...,
    offy: int = ...,
    incy: int = ...,
) -> Any: ...
def cdotu(
    x: Any,
    y: Any,
    n: int | None = ...,
    offx: int = ...,
    incx: int = ...,
    offy: int = ...,
    incy: int = ...,
) -> Any: ...
def zdotu(
    x: Any,
    y: Any,
    n: int | None = ...,
    offx: int = ...,
    incx: int = ...,
    offy: int = ...,
    incy: int = ...,
) -> Any: ...
def snrm2(x: Any, n: int | None = ..., offx: int = ..., incx: int = ...) -> Any: ...
def dnrm2(x: Any, n: int | None = ..., offx: int = ..., incx: int = ...) -> Any: ...
def scnrm2(x: Any, n: int | None = ..., offx: int = ..., incx: int = ...) -> Any: ...
def dznrm2(x: Any, n: int | None = ..., offx: int = ..., incx: int = ...) -> Any: ...
def sscal(a: Any, x: Any, n: int | None = ..., offx: int = ..., incx: int = ...) -> Any: ...
def dscal(a: Any, x: Any, n: int | None = ..., offx: int = ..., incx: int = ...) -> Any: ...
def cscal(a: Any, x: Any, n: int | None = ..., offx: int = ..., incx: int = ...) -> Any: ...
def zscal(a: Any, x: Any, n: int | None = ..., offx: int = ..., incx: int = ...) -> Any: ...
def saxpy(
    x: Any,
    y: Any,
    n: int | None = ...,
    a: Any = ...,
    offx: int = ...,
    incx: int = ...,
    offy: int = ...,
    incy: int = ...,
) -> Any: ...
def daxpy(
    x: Any,
    y: Any,
    n: int | None = ...,
    a: Any = ...,
    offx: int = ...,
    incx: int = ...,
    offy: int = ...,
    incy: int = ...,
) -> Any: ...
def caxpy(
    x: Any,
    y: Any,
    n: int | None = ...,
    a: Any = ...,
    offx: int = ...,
    incx: int = ...,
    offy: int = ...,
    incy: int = ...,
) -> Any: ...
def zaxpy(
    x: Any,
    y: Any,
    n: int | None = ...,
    a: Any = ...,
    offx: int = ...,
    incx: int = ...,
    offy: int = ...,
    incy: int = ...,
) -> Any: ...
def sgemv(
    alpha: Any,
    a: Any,
    x: Any,
    beta: Any = ...,
    y: Any = ...,
    offx: int = ...,
    incx: int = ...,
    offy: int = ...,
    incy: int = ...,
    trans: int = ...,
    overwrite_y: int = ...,
) -> Any: ...
def dgemv(
    alpha: Any,
    a: Any,
    x: Any,
    beta: Any = ...,
    y: Any = ...,
    offx: int = ...,
    incx: int = ...,
    offy: int = ...,
    incy: int = ...,
    trans: int = ...,
    overwrite_y: int = ...,
) -> Any: ...
def cgemv(
    alpha: Any,
    a: Any,
    x: Any,
    beta: Any = ...,
    y: Any = ...,
    offx: int = ...,
    incx: int = ...,
    offy: int = ...,
    incy: int = ...,
    trans: int = ...,
    overwrite_y: int = ...,
) -> Any: ...
def zgemv(
    alpha: Any,
    a: Any,
    x: Any,
    beta: Any = ...,
    y: Any = ...,
    offx: int = ...,
    incx: int = ...,
    offy: int = ...,
    incy: int = ...,
    trans: int = ...,
    overwrite_y: int = ...,
) -> Any: ...
def sgemm(
    alpha: Any,
    a: Any,
    b: Any,
    beta: Any = ...,
    c: Any = ...,
    trans_a: int = ...,
    trans_b: int = ...,
    overwrite_c: int = ...,
) -> Any: ...
def dgemm(
    alpha: Any,
    a: Any,
    b: Any,
    beta: Any = ...,
    c: Any = ...,
    trans_a: int = ...,
    trans_b: int = ...,
    overwrite_c: int = ...,
) -> Any: ...
def cgemm(
    alpha: Any,
    a: Any,
    b: Any,
    beta: Any = ...,
    c: Any = ...,
    trans_a: int = ...,
    trans_b: int = ...,
    overwrite_c: int = ...,
) -> Any: ...
def zgemm(
    alpha: Any,
    a: Any,
    b: Any,
    beta: Any = ...,
    c: Any = ...,
    trans_a: int = ...,
    trans_b: int = ...,
    overwrite_c: int = ...,
) -> Any: ...
def csscal(
    a: Any,
    x: Any,
    n: int | None = ...,
    offx: int = ...,
    incx: int = ...,
    overwrite_x: int = ...,
) -> Any: ...
def zdscal(
    a: Any,
    x: Any,
    n: int | None = ...,
    offx: int = ...,
    incx: int = ...,
    overwrite_x: int = ...,
) -> Any: ...
