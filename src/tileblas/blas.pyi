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
def dsdot(
    x: Any,
    y: Any,
    n: int | None = ...,
    offx: int = ...,
    incx: int = ...,
    offy: int = ...,
    incy: int = ...,
) -> Any: ...
def sdsdot(
    x: Any,
    y: Any,
    n: int | None = ...,
    b: Any = ...,
    offx: int = ...,
    incx: int = ...,
    offy: int = ...,
    incy: int = ...,
) -> Any: ...
def snrm2(x: Any, n: int | None = ..., offx: int = ..., incx: int = ...) -> Any: ...
def dnrm2(x: Any, n: int | None = ..., offx: int = ..., incx: int = ...) -> Any: ...
def scnrm2(x: Any, n: int | None = ..., offx: int = ..., incx: int = ...) -> Any: ...
def dznrm2(x: Any, n: int | None = ..., offx: int = ..., incx: int = ...) -> Any: ...
def sasum(x: Any, n: int | None = ..., offx: int = ..., incx: int = ...) -> Any: ...
def dasum(x: Any, n: int | None = ..., offx: int = ..., incx: int = ...) -> Any: ...
def scasum(x: Any, n: int | None = ..., offx: int = ..., incx: int = ...) -> Any: ...
def dzasum(x: Any, n: int | None = ..., offx: int = ..., incx: int = ...) -> Any: ...
def isamax(x: Any, n: int | None = ..., offx: int = ..., incx: int = ...) -> Any: ...
def idamax(x: Any, n: int | None = ..., offx: int = ..., incx: int = ...) -> Any: ...
def icamax(x: Any, n: int | None = ..., offx: int = ..., incx: int = ...) -> Any: ...
def izamax(x: Any, n: int | None = ..., offx: int = ..., incx: int = ...) -> Any: ...
def isamin(x: Any, n: int | None = ..., offx: int = ..., incx: int = ...) -> Any: ...
def idamin(x: Any, n: int | None = ..., offx: int = ..., incx: int = ...) -> Any: ...
def icamin(x: Any, n: int | None = ..., offx: int = ..., incx: int = ...) -> Any: ...
def izamin(x: Any, n: int | None = ..., offx: int = ..., incx: int = ...) -> Any: ...
def sscal(a: Any, x: Any, n: int | None = ..., offx: int = ..., incx: int = ...) -> Any: ...
def dscal(a: Any, x: Any, n: int | None = ..., offx: int = ..., incx: int = ...) -> Any: ...
def cscal(a: Any, x: Any, n: int | None = ..., offx: int = ..., incx: int = ...) -> Any: ...
def zscal(a: Any, x: Any, n: int | None = ..., offx: int = ..., incx: int = ...) -> Any: ...
def scopy(
    x: Any,
    y: Any,
    n: int | None = ...,
    offx: int = ...,
    incx: int = ...,
    offy: int = ...,
    incy: int = ...,
) -> Any: ...
def dcopy(
    x: Any,
    y: Any,
    n: int | None = ...,
    offx: int = ...,
    incx: int = ...,
    offy: int = ...,
    incy: int = ...,
) -> Any: ...
def ccopy(
    x: Any,
    y: Any,
    n: int | None = ...,
    offx: int = ...,
    incx: int = ...,
    offy: int = ...,
    incy: int = ...,
) -> Any: ...
def zcopy(
    x: Any,
    y: Any,
    n: int | None = ...,
    offx: int = ...,
    incx: int = ...,
    offy: int = ...,
    incy: int = ...,
) -> Any: ...
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
def saxpby(
    x: Any,
    y: Any,
    n: int | None = ...,
    a: Any = ...,
    b: Any = ...,
    offx: int = ...,
    incx: int = ...,
    offy: int = ...,
    incy: int = ...,
) -> Any: ...
def daxpby(
    x: Any,
    y: Any,
    n: int | None = ...,
    a: Any = ...,
    b: Any = ...,
    offx: int = ...,
    incx: int = ...,
    offy: int = ...,
    incy: int = ...,
) -> Any: ...
def caxpby(
    x: Any,
    y: Any,
    n: int | None = ...,
    a: Any = ...,
    b: Any = ...,
    offx: int = ...,
    incx: int = ...,
    offy: int = ...,
    incy: int = ...,
) -> Any: ...
def zaxpby(
    x: Any,
    y: Any,
    n: int | None = ...,
    a: Any = ...,
    b: Any = ...,
    offx: int = ...,
    incx: int = ...,
    offy: int = ...,
    incy: int = ...,
) -> Any: ...
def sswap(
    x: Any,
    y: Any,
    n: int | None = ...,
    offx: int = ...,
    incx: int = ...,
    offy: int = ...,
    incy: int = ...,
) -> Any: ...
def dswap(
    x: Any,
    y: Any,
    n: int | None = ...,
    offx: int = ...,
    incx: int = ...,
    offy: int = ...,
    incy: int = ...,
) -> Any: ...
def cswap(
    x: Any,
    y: Any,
    n: int | None = ...,
    offx: int = ...,
    incx: int = ...,
    offy: int = ...,
    incy: int = ...,
) -> Any: ...
def zswap(
    x: Any,
    y: Any,
    n: int | None = ...,
    offx: int = ...,
    incx: int = ...,
    offy: int = ...,
    incy: int = ...,
) -> Any: ...
def srot(
    x: Any,
    y: Any,
    c: Any,
    s: Any,
    n: int | None = ...,
    offx: int = ...,
    incx: int = ...,
    offy: int = ...,
    incy: int = ...,
    overwrite_x: int = ...,
    overwrite_y: int = ...,
) -> Any: ...
def drot(
    x: Any,
    y: Any,
    c: Any,
    s: Any,
    n: int | None = ...,
    offx: int = ...,
    incx: int = ...,
    offy: int = ...,
    incy: int = ...,
    overwrite_x: int = ...,
    overwrite_y: int = ...,
) -> Any: ...
def crot(
    x: Any,
    y: Any,
    c: Any,
    s: Any,
    n: int | None = ...,
    offx: int = ...,
    incx: int = ...,
    offy: int = ...,
    incy: int = ...,
    overwrite_x: int = ...,
    overwrite_y: int = ...,
) -> Any: ...
def zrot(
    x: Any,
    y: Any,
    c: Any,
    s: Any,
    n: int | None = ...,
    offx: int = ...,
    incx: int = ...,
    offy: int = ...,
    incy: int = ...,
    overwrite_x: int = ...,
    overwrite_y: int = ...,
) -> Any: ...
def srotm(
    x: Any,
    y: Any,
    param: Any,
    n: int | None = ...,
    offx: int = ...,
    incx: int = ...,
    offy: int = ...,
    incy: int = ...,
    overwrite_x: int = ...,
    overwrite_y: int = ...,
) -> Any: ...
def drotm(
    x: Any,
    y: Any,
    param: Any,
    n: int | None = ...,
    offx: int = ...,
    incx: int = ...,
    offy: int = ...,
    incy: int = ...,
    overwrite_x: int = ...,
    overwrite_y: int = ...,
) -> Any: ...
def saxpydot(
    w: Any,
    v: Any,
    u: Any,
    n: int | None = ...,
    a: Any = ...,
    offw: int = ...,
    incw: int = ...,
    offv: int = ...,
    incv: int = ...,
    offu: int = ...,
    incu: int = ...,
    overwrite_w: int = ...,
) -> Any: ...
def daxpydot(
    w: Any,
    v: Any,
    u: Any,
    n: int | None = ...,
    a: Any = ...,
    offw: int = ...,
    incw: int = ...,
    offv: int = ...,
    incv: int = ...,
    offu: int = ...,
    incu: int = ...,
    overwrite_w: int = ...,
) -> Any: ...
def caxpydot(
    w: Any,
    v: Any,
    u: Any,
    n: int | None = ...,
    a: Any = ...,
    offw: int = ...,
    incw: int = ...,
    offv: int = ...,
    incv: int = ...,
    offu: int = ...,
    incu: int = ...,
    overwrite_w: int = ...,
) -> Any: ...
def zaxpydot(
    w: Any,
    v: Any,
    u: Any,
    n: int | None = ...,
    a: Any = ...,
    offw: int = ...,
    incw: int = ...,
    offv: int = ...,
    incv: int = ...,
    offu: int = ...,
    incu: int = ...,
    overwrite_w: int = ...,
) -> Any: ...
def srotg(a: Any, b: Any) -> Any: ...
def drotg(a: Any, b: Any) -> Any: ...
def crotg(a: Any, b: Any) -> Any: ...
def zrotg(a: Any, b: Any) -> Any: ...
def srotmg(d1: Any, d2: Any, x1: Any, y1: Any) -> Any: ...
def drotmg(d1: Any, d2: Any, x1: Any, y1: Any) -> Any: ...
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
def csrot(
    x: Any,
    y: Any,
    c: Any,
    s: Any,
    n: int | None = ...,
    offx: int = ...,
    incx: int = ...,
    offy: int = ...,
    incy: int = ...,
    overwrite_x: int = ...,
    overwrite_y: int = ...,
) -> Any: ...
def zdrot(
    x: Any,
    y: Any,
    c: Any,
    s: Any,
    n: int | None = ...,
    offx: int = ...,
    incx: int = ...,
    offy: int = ...,
    incy: int = ...,
    overwrite_x: int = ...,
    overwrite_y: int = ...,
) -> Any: ...
