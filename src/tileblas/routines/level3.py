"""Level 3: the Specs of products of matrices."""

from __future__ import annotations

from tileblas.core.spec import SIDE, TRANS, UPLO, Arg, Option, Spec
from tileblas.routines.product_plans import plan_product, plan_twice

_NUMBERS = ("float32", "float64", "complex64", "complex128")
_TYPES = {
    "symmetric": _NUMBERS,
    "hermitian": ("complex64", "complex128"),
    "skew": ("float32", "float64"),
}

_UPLO = Option("uplo", UPLO, "U")
_SIDE = Option("side", SIDE, "L")

_BETA = """beta = 0 never reads C; alpha = 0 or an empty sum drops the product, so that {names} not
read."""
_TRIANGLE = """A is stored in the triangle that uplo names, "U" the upper, "L" the lower one. The
other triangle is never touched."""
_OUTPUT = """Only the triangle of C that uplo names is computed, "U" the upper, "L" the lower one.
The other triangle of a given C is never touched, that of a new one is 0."""
_KIND = {
    "symmetric": "",
    "hermitian": "The imaginary part of the diagonal is taken to be 0 and never read.",
    "skew": "A is the negative of its transpose; its diagonal is taken to be 0 and never touched.",
}
_REAL_DIAGONAL = """{} real. The imaginary part of the diagonal of C is never read, and written
as 0."""
_ADJECTIVES = {"symmetric": "symmetric", "hermitian": "Hermitian", "skew": "skew-symmetric"}


def _sided_product(name: str, structure: str) -> Spec:
    """C := alpha A B + beta C, or B A, for a matrix A of which one triangle is stored."""
    return Spec(
        name=name,
        level=3,
        formula=f"C := alpha A B + beta C, or alpha B A + beta C, A {_ADJECTIVES[structure]}",
        notes="\n".join(
            filter(
                None,
                (
                    """A stands on the left of B for side = "L", on the right for "R".""",
                    _TRIANGLE,
                    _KIND[structure],
                    _BETA.format(names="A and B are"),
                ),
            )
        ),
        operands=(
            Arg("a", "kk", sided="side"),
            Arg("b", "mn"),
            Arg("c", "mn", role="inout", optional=True),
        ),
        dims="mnk",
        fortran=(
            *("side", "uplo", "m", "n", "alpha", "a", "lda", "b", "ldb"),
            *("beta", "c", "ldc"),
        ),
        flops=lambda m, n, k: 2 * m * n * k,
        elements=lambda m, n, k, read_output: k * (k + 1) // 2 + m * n * (3 if read_output else 2),
        plan=plan_product,
        scalars=("alpha", "beta"),
        options=(_SIDE, _UPLO),
        takes_math=True,
        dtypes=_TYPES[structure],
        structure=structure,
    )


def _square_product(name: str, structure: str) -> Spec:
    """C := alpha A A^T + beta C, or A A^H, in one triangle of C."""
    hermitian = structure == "hermitian"
    turned, letter = ("^H", "C") if hermitian else ("^T", "T")
    words = "conjugate transpose" if hermitian else "transpose"
    notes = [f'op(A) is A for "N", its {words} for "{letter}".', _OUTPUT]
    if hermitian:
        notes.append(_REAL_DIAGONAL.format("alpha and beta are"))
    notes.append(_BETA.format(names="A is"))
    return Spec(
        name=name,
        level=3,
        formula=f"C := alpha op(A) op(A){turned} + beta C, C {_ADJECTIVES[structure]}",
        notes="\n".join(notes),
        operands=(
            Arg("a", "nk", trans="trans"),
            Arg("c", "nn", role="inout", optional=True),
        ),
        dims="nk",
        fortran=("uplo", "trans", "n", "k", "alpha", "a", "lda", "beta", "c", "ldc"),
        flops=lambda n, k: n * (n + 1) * k,
        elements=lambda n, k, read_output: n * k + n * (n + 1) // 2 * (2 if read_output else 1),
        plan=plan_product,
        scalars=("alpha", "beta"),
        real_scalars=("alpha", "beta") if hermitian else (),
        options=(
            _UPLO,
            Option("trans", "NC", "N")
            if hermitian
            else Option("trans", TRANS, "N", complex_letters="NT"),
        ),
        takes_math=True,
        dtypes=_TYPES[structure],
        structure=structure,
        structured="c",
        partner="adjoint" if hermitian else "transpose",
        signs=("c",),
    )


def _rank_product(name: str, structure: str, twice: bool) -> Spec:
    """C := alpha A B^T + beta C, or with alpha B A^T as well, in one triangle of C."""
    hermitian, skew = structure == "hermitian", structure == "skew"
    turned, letters = ("^H", "NC") if hermitian else ("^T", TRANS)
    words = "conjugate transpose" if hermitian else "transpose"
    terms = [f"alpha op(A) op(B){turned}"]
    if twice:
        terms.append(f"{'conj(alpha)' if hermitian else 'alpha'} op(B) op(A){turned}")
    notes = [f'op(X) is X for "N", its {words} for "{letters[1]}".', _OUTPUT]
    if hermitian:
        notes.append(_REAL_DIAGONAL.format("beta is"))
    if skew:
        notes.append("The diagonal of C is never touched.")
    if not twice:
        notes.append("That the product has the symmetry of C is for the caller to see to.")
    notes.append(_BETA.format(names="A and B are"))
    return Spec(
        name=name,
        level=3,
        formula=f"C := {'-' if skew else ''}{' + '.join(terms)} + beta C, "
        f"C {_ADJECTIVES[structure]}",
        notes="\n".join(notes),
        operands=(
            Arg("a", "nk", trans="trans"),
            Arg("b", "nk", trans="trans"),
            Arg("c", "nn", role="inout", optional=True),
        ),
        dims="nk",
        fortran=(
            *("uplo", "trans", "n", "k", "alpha", "a", "lda", "b", "ldb"),
            *("beta", "c", "ldc"),
        ),
        flops=lambda n, k: (2 if twice else 1) * n * (n + 1) * k,
        elements=lambda n, k, read_output: 2 * n * k + n * (n + 1) // 2 * (2 if read_output else 1),
        plan=plan_twice if twice else plan_product,
        scalars=("alpha", "beta"),
        real_scalars=("beta",) if hermitian else (),
        options=(_UPLO, Option("trans", letters, "N", complex_letters="" if hermitian else "NT")),
        takes_math=True,
        dtypes=_TYPES[structure],
        structure=structure,
        structured="c",
        partner="adjoint" if hermitian else "transpose",
        twice=twice,
    )


SPECS = (
    Spec(
        name="gemm",
        level=3,
        formula="C := alpha op(A) op(B) + beta C",
        notes="""op(X) is X for "N", its transpose for "T", its conjugate transpose for "C".
beta = 0 never reads C; alpha = 0 or k = 0 drops the product, so that A and B are not read.
Half inputs accumulate in float32 and may be given a float32 c.""",
        operands=(
            Arg("a", "mk", trans="trans_a"),
            Arg("b", "kn", trans="trans_b"),
            Arg("c", "mn", role="inout", optional=True),
        ),
        dims="mnk",
        fortran=(
            "trans_a",
            "trans_b",
            "m",
            "n",
            "k",
            "alpha",
            "a",
            "lda",
            "b",
            "ldb",
            "beta",
            "c",
            "ldc",
        ),
        flops=lambda m, n, k: 2 * m * n * k,
        elements=lambda m, n, k, read_output: m * k + k * n + m * n * (2 if read_output else 1),
        plan=plan_product,
        scalars=("alpha", "beta"),
        options=(Option("trans_a", TRANS, "N"), Option("trans_b", TRANS, "N")),
        takes_math=True,
        widens=True,
    ),
    Spec(
        name="gemmtr",
        level=3,
        formula="C := alpha op(A) op(B) + beta C in one triangle of C",
        notes=f"""op(X) is X for "N", its transpose for "T", its conjugate transpose for "C".
{_OUTPUT}
{_BETA.format(names="A and B are")}""",
        operands=(
            Arg("a", "nk", trans="trans_a"),
            Arg("b", "kn", trans="trans_b"),
            Arg("c", "nn", role="inout", optional=True),
        ),
        dims="nk",
        fortran=(
            *("uplo", "trans_a", "trans_b", "n", "k", "alpha", "a", "lda", "b", "ldb"),
            *("beta", "c", "ldc"),
        ),
        flops=lambda n, k: n * (n + 1) * k,
        elements=lambda n, k, read_output: 2 * n * k + n * (n + 1) // 2 * (2 if read_output else 1),
        plan=plan_product,
        scalars=("alpha", "beta"),
        options=(
            _UPLO,
            Option("trans_a", TRANS, "N"),
            Option("trans_b", TRANS, "N"),
        ),
        takes_math=True,
        dtypes=_NUMBERS,
        structure="general",
        structured="c",
    ),
    _sided_product("symm", "symmetric"),
    _sided_product("hemm", "hermitian"),
    _sided_product("skewsymm", "skew"),
    _square_product("syrk", "symmetric"),
    _square_product("herk", "hermitian"),
    *(
        _rank_product(name, structure, twice)
        for name, structure, twice in (
            ("syrkx", "symmetric", False),
            ("herkx", "hermitian", False),
            ("syr2k", "symmetric", True),
            ("her2k", "hermitian", True),
            ("skewsyr2k", "skew", True),
        )
    ),
)
