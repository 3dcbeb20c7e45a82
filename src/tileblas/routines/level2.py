"""Level 2: the Specs of products of a matrix and a vector, updates by vectors, and solves."""

from __future__ import annotations

from tileblas.core.spec import BAND, DENSE, DIAG, PACKED, TRANS, UPLO, Arg, Option, Spec
from tileblas.routines.band_plans import plan_band, plan_triangular
from tileblas.routines.matvec_plans import plan_gemv
from tileblas.routines.mirrored_plans import plan_both, plan_mirrored
from tileblas.routines.rank_plans import plan_rank
from tileblas.routines.solve_plans import plan_solve

_NUMBERS = ("float32", "float64", "complex64", "complex128")
_REAL_NUMBERS = ("float32", "float64")
_COMPLEX_NUMBERS = ("complex64", "complex128")
_ALL = ("float16", "bfloat16", *_NUMBERS)

_UPLO = Option("uplo", UPLO, "U")
_TRANS = Option("trans", TRANS, "N")

#: How a routine's name begins for each way to store its matrix, in BLAS and here.
_PREFIXES = {
    "symmetric": {DENSE: "sy", BAND: "sb", PACKED: "sp"},
    "hermitian": {DENSE: "he", BAND: "hb", PACKED: "hp"},
    "triangular": {DENSE: "tr", BAND: "tb", PACKED: "tp"},
    "skew": {DENSE: "skewsy"},
}
_TYPES = {
    "symmetric": _NUMBERS,
    "hermitian": _COMPLEX_NUMBERS,
    "triangular": _NUMBERS,
    "skew": _REAL_NUMBERS,
}
#: The array of a matrix and what Fortran calls it, by its storage.
_ARRAYS = {
    DENSE: (("a", "nn"), ("a", "lda")),
    BAND: (("a", "bn"), ("k", "a", "lda")),
    PACKED: (("ap", "p"), ("ap",)),
}

_OP = """op(A) is A for "N", its transpose for "T", its conjugate transpose for "C"."""
_BETA = """beta = 0 never reads y; alpha = 0 or n = 0 drops the product, so that A and x are not
read."""
_TREE = "Sums are fixed trees: the same bits on every run of the same call on the same machine."
_TRIANGLE = {
    DENSE: """A is stored in the triangle that uplo names, "U" the upper, "L" the lower one.
The other triangle is never touched.""",
    BAND: """The rows of the array a are the k + 1 diagonals of the triangle that uplo names, "U"
the upper or "L" the lower one, the uppermost first: A[i, j] is a[k + i - j, j] or a[i - j, j].
Its corners, which are outside of A, are never touched.""",
    PACKED: """ap holds the columns of the triangle that uplo names, "U" the upper or "L" the lower
one, one after the other.""",
}
_KIND = {
    "symmetric": "",
    "hermitian": "The imaginary part of the diagonal is taken to be 0 and never read.",
    "skew": "A is the negative of its transpose; its diagonal is taken to be 0 and never touched.",
    "triangular": 'With diag = "U" the diagonal is taken to be 1 and never read.',
}


def _triangle_size(n: int, b: int | None = None) -> int:
    """Elements of a triangle of order n, or of its b diagonals."""
    b = n if b is None else min(b, n)
    return n * b - b * (b - 1) // 2


def _array(storage: str, **role: object) -> Arg:
    name, axes = _ARRAYS[storage][0]
    return Arg(name, axes, storage=storage, **role)  # type: ignore[arg-type]


def _dims(storage: str) -> str:
    return "nb" if storage == BAND else "n"


def _mirrored_product(structure: str, storage: str = DENSE) -> Spec:
    """y := alpha A x + beta y for a matrix of which one triangle is stored."""
    return Spec(
        name=_PREFIXES[structure][storage] + "mv",
        level=2,
        formula=f"y := alpha A x + beta y, A {_adjective(structure, storage)}",
        notes="\n".join(filter(None, (_TRIANGLE[storage], _KIND[structure], _BETA, _TREE))),
        operands=(
            _array(storage),
            Arg("x", "n"),
            Arg("y", "n", role="inout", optional=True),
        ),
        dims=_dims(storage),
        fortran=(
            *("uplo", "n", *(("k",) if storage == BAND else ()), "alpha"),
            *(name for name in _ARRAYS[storage][1] if name != "k"),
            *("x", "incx", "beta", "y", "incy"),
        ),
        flops=lambda n, b=None: 4 * _triangle_size(n, b) - 2 * n,
        elements=lambda n, read_output, b=None: (
            _triangle_size(n, b) + n + n * (2 if read_output else 1)
        ),
        plan=plan_mirrored,
        scalars=("alpha", "beta"),
        options=(_UPLO,),
        dtypes=_TYPES[structure],
        structure=structure,
    )


def _triangular(verb: str, storage: str = DENSE) -> Spec:
    """x := op(A) x ("mv"), or the solution of op(A) x = b in the place of b ("sv")."""
    solves = verb == "sv"
    about = "x := op(A)^-1 x" if solves else "x := op(A) x"
    notes = [_OP, _TRIANGLE[storage], _KIND["triangular"]]
    if solves:
        notes.append(
            """Elements of x are divided by those of the diagonal, which is not tested: a 0 gives
Inf or NaN. |b - op(A) x| is at most (n + 2) eps |op(A)| |x|, element by element."""
        )
    notes.append(_TREE)
    return Spec(
        name=_PREFIXES["triangular"][storage] + verb,
        level=2,
        formula=f"{about}, A {_adjective('triangular', storage)}",
        notes="\n".join(notes),
        operands=(_array(storage, trans="trans"), Arg("x", "n", role="inout")),
        dims=_dims(storage),
        fortran=("uplo", "trans", "diag", "n", *_ARRAYS[storage][1], "x", "incx"),
        flops=lambda n, b=None: 2 * _triangle_size(n, b) - n,
        elements=lambda n, read_output, b=None: _triangle_size(n, b) + 2 * n,
        plan=plan_solve if solves else plan_triangular,
        options=(_UPLO, _TRANS, Option("diag", DIAG, "N")),
        dtypes=_TYPES["triangular"],
        structure="triangular",
        signs=(_ARRAYS[storage][0][0],),
    )


def _adjective(structure: str, storage: str) -> str:
    words = {"hermitian": "Hermitian", "skew": "skew-symmetric"}
    stored = {DENSE: "", BAND: " band", PACKED: " packed"}
    return words.get(structure, structure) + stored[storage]


_NO_SKIP = """alpha = 0 leaves A untouched; nothing else is skipped: zeros of x and y multiply, so
that 0 NaN is NaN. A new A is {new}."""
_NEW_TRIANGLE = "0 in the other triangle"


def _general_update(name: str, conj: str = "") -> Spec:
    return Spec(
        name=name,
        level=2,
        formula=f"A := alpha x y^{'H' if conj else 'T'} + A",
        notes=_NO_SKIP.format(new="the product alone"),
        operands=(
            Arg("x", "m"),
            Arg("y", "n"),
            Arg("a", "mn", role="inout", optional=True),
        ),
        dims="mn",
        fortran=("m", "n", "alpha", "x", "incx", "y", "incy", "a", "lda"),
        flops=lambda m, n: 2 * m * n,
        elements=lambda m, n, read_output: 2 * m * n + m + n,
        plan=plan_rank,
        scalars=("alpha",),
        idle_alpha="zero",
        conj=conj,
        dtypes=_ALL if name == "ger" else _COMPLEX_NUMBERS,
        family="ger",
    )


def _triangle_update(structure: str, rank: int, storage: str = DENSE) -> Spec:
    """alpha x x^T or alpha x y^T + alpha y x^T added to a triangle of A."""
    hermitian, skew = structure == "hermitian", structure == "skew"
    turned = "H" if hermitian else "T"
    if rank == 1:
        formula = f"A := alpha x x^{turned} + A"
    elif skew:
        formula = "A := -alpha x y^T + alpha y x^T + A"
    else:
        second = "conj(alpha)" if hermitian else "alpha"
        formula = f"A := alpha x y^{turned} + {second} y x^{turned} + A"
    kind = {
        "hermitian": "The imaginary part of the diagonal is never read, and written as 0.",
        "skew": "The diagonal is never touched.",
    }.get(structure, "")
    new = "a packed triangle" if storage == PACKED else _NEW_TRIANGLE
    array = _array(storage, role="inout", optional=True)
    vectors = (Arg("x", "n"),) if rank == 1 else (Arg("x", "n"), Arg("y", "n"))
    increments = ("x", "incx") if rank == 1 else ("x", "incx", "y", "incy")
    return Spec(
        name=_PREFIXES[structure][storage] + ("r" if rank == 1 else "r2"),
        level=2,
        formula=f"{formula}, A {_adjective(structure, storage)}",
        notes="\n".join(filter(None, (_TRIANGLE[storage], kind, _NO_SKIP.format(new=new)))),
        operands=(*vectors, array),
        dims="n",
        fortran=("uplo", "n", "alpha", *increments, *_ARRAYS[storage][1]),
        flops=lambda n: 2 * rank * _triangle_size(n),
        elements=lambda n, read_output: 2 * _triangle_size(n) + rank * n,
        plan=plan_rank,
        scalars=("alpha",),
        real_scalars=("alpha",) if hermitian and rank == 1 else (),
        idle_alpha="zero",
        options=(_UPLO,),
        dtypes=_TYPES[structure],
        structure=structure,
        signs=(array.name,) if rank == 1 else (),
    )


SPECS = (
    Spec(
        name="gemv",
        level=2,
        formula="y := alpha op(A) x + beta y",
        notes=f"""{_OP}
{_BETA}
Half types accumulate in float32 and are rounded once.
{_TREE}""",
        operands=(
            Arg("a", "mn", trans="trans"),
            Arg("x", "n"),
            Arg("y", "m", role="inout", optional=True),
        ),
        dims="mn",
        fortran=("trans", "m", "n", "alpha", "a", "lda", "x", "incx", "beta", "y", "incy"),
        flops=lambda m, n: 2 * m * n,
        elements=lambda m, n, read_output: m * n + n + m * (2 if read_output else 1),
        plan=plan_gemv,
        scalars=("alpha", "beta"),
        options=(_TRANS,),
        stored_sizes=True,
    ),
    Spec(
        name="gbmv",
        level=2,
        formula="y := alpha op(A) x + beta y, A a band",
        notes=f"""{_OP}
A has kl diagonals below the main one and ku above it. They are the kl + ku + 1 rows of the array
a, the uppermost first: A[i, j] is a[ku + i - j, j]. Its corners, outside of A, are never read.
A has m rows: as many as the vector along them has elements, else as many as columns if m is None.
{_BETA}
{_TREE}""",
        operands=(
            Arg("a", "bn", trans="trans", storage=BAND),
            Arg("x", "n"),
            Arg("y", "m", role="inout", optional=True),
        ),
        dims="mnb",
        fortran=(
            *("trans", "m", "n", "kl", "ku", "alpha", "a", "lda", "x", "incx"),
            *("beta", "y", "incy"),
        ),
        flops=lambda m, n, b: 2 * min(m, n) * b,
        elements=lambda m, n, b, read_output: min(m, n) * b + n + m * (2 if read_output else 1),
        plan=plan_band,
        scalars=("alpha", "beta"),
        options=(_TRANS, Option("kl", required=True), Option("m")),
        stored_sizes=True,
        dtypes=_NUMBERS,
        structure="band",
    ),
    *(_mirrored_product("symmetric", storage) for storage in (DENSE, BAND, PACKED)),
    *(_mirrored_product("hermitian", storage) for storage in (DENSE, BAND, PACKED)),
    _mirrored_product("skew"),
    *(_triangular("mv", storage) for storage in (DENSE, BAND, PACKED)),
    *(_triangular("sv", storage) for storage in (DENSE, BAND, PACKED)),
    _general_update("ger"),
    _general_update("geru"),
    _general_update("gerc", conj="y"),
    *(
        _triangle_update(structure, rank, storage)
        for rank in (1, 2)
        for structure in ("symmetric", "hermitian")
        for storage in (DENSE, PACKED)
    ),
    _triangle_update("skew", 2),
    Spec(
        name="gemvt",
        level=2,
        formula="y := alpha A x + beta y and z := alpha op(A) w + beta z in one pass over A",
        notes=f"""op(A) is the transpose of A for "T", its conjugate transpose for "C".
beta = 0 never reads y and z; alpha = 0 drops the products, so that A, x and w are not read.
{_TREE}""",
        operands=(
            Arg("a", "mn"),
            Arg("x", "n"),
            Arg("w", "m"),
            Arg("y", "m", role="inout", optional=True),
            Arg("z", "n", role="inout", optional=True),
        ),
        dims="mn",
        fortran=(),
        flops=lambda m, n: 4 * m * n,
        elements=lambda m, n, read_output: m * n + (m + n) * (3 if read_output else 2),
        plan=plan_both,
        scalars=("alpha", "beta"),
        options=(Option("trans", "TC", "T"),),
        lazy=("conj",),
        dtypes=_NUMBERS,
        structure="both",
    ),
)
