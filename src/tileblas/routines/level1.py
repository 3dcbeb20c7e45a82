"""Level 1: the Specs of all routines on vectors, and of rotations."""

from __future__ import annotations

from tileblas.core.spec import Arg, Spec
from tileblas.routines import level1_plans as plans

_NUMBERS = ("float32", "float64", "complex64", "complex128")
_REAL_NUMBERS = ("float32", "float64")
_REAL = ("float16", "bfloat16", *_REAL_NUMBERS)

_XY = ("n", "x", "incx", "y", "incy")
_X = ("n", "x", "incx")

_FIXED_TREE = (
    "The sum is a fixed tree: the same bits on every run of the same call on the same machine."
)
_DOT_NOTES = f"""n = 0 gives 0. Half types accumulate in float32 and are rounded once.
{_FIXED_TREE}"""
_SAME_VIEW = "x may be the very view y; any other overlap of the two is refused."
_REAL_ALPHA = "A real-typed alpha on complex vectors scales real and imaginary parts separately."
_PLACE = """The place is an int64, counted from 0; of equal elements it is the first. {rule}
|x| is |re| + |im| of a complex number, compared as if it could not overflow.
An empty vector is refused."""


def _dot_spec(name: str, formula: str, notes: str, conj: str = "") -> Spec:
    return Spec(
        name=name,
        level=1,
        formula=formula,
        notes=f"{notes}\n{_DOT_NOTES}",
        operands=(Arg("x", "n"), Arg("y", "n"), Arg("out", "", role="new")),
        dims="n",
        fortran=_XY,
        flops=lambda n: 2 * n,
        elements=lambda n, read_output: 2 * n + 1,
        plan=plans.reduction("dot"),
        conj=conj,
        family="dot",
    )


def _place_spec(name: str, formula: str, rule: str) -> Spec:
    return Spec(
        name=name,
        level=1,
        formula=formula,
        notes=_PLACE.format(rule=rule),
        operands=(Arg("x", "n"), Arg("out", "", role="new", type="int64")),
        dims="n",
        fortran=_X,
        flops=lambda n: n,
        elements=lambda n, read_output: n,
        plan=plans.reduction(name, "iamax"),
        nonempty="an empty vector has no such element",
        family="iamax",
    )


SPECS = (
    _dot_spec("dot", "sum_i x_i y_i", "On complex vectors this is dotu."),
    _dot_spec("dotc", "sum_i conj(x_i) y_i", "On real vectors this is dot.", conj="x"),
    _dot_spec("dotu", "sum_i x_i y_i", "x is not conjugated."),
    Spec(
        name="dsdot",
        level=1,
        formula="sum_i x_i y_i in double precision",
        notes=f"""Products of float32 are exact in float64, in which they are added and returned.
n = 0 gives 0.
{_FIXED_TREE}""",
        operands=(Arg("x", "n"), Arg("y", "n"), Arg("out", "", role="new", type="float64")),
        dims="n",
        fortran=_XY,
        flops=lambda n: 2 * n,
        elements=lambda n, read_output: 2 * n + 1,
        plan=plans.reduction("dot", "dsdot", wide=True),
        dtypes=("float32",),
    ),
    Spec(
        name="sdsdot",
        level=1,
        formula="alpha + sum_i x_i y_i in double precision, rounded to single",
        notes=f"""Products of float32 are exact in float64, in which they are added.
n = 0 gives alpha.
{_FIXED_TREE}""",
        operands=(Arg("x", "n"), Arg("y", "n"), Arg("out", "", role="new")),
        dims="n",
        fortran=("n", "alpha", "x", "incx", "y", "incy"),
        flops=lambda n: 2 * n,
        elements=lambda n, read_output: 2 * n + 1,
        plan=plans.reduction("dot", "dsdot", wide=True),
        scalars=("alpha",),
        dtypes=("float32",),
    ),
    Spec(
        name="nrm2",
        level=1,
        formula="sqrt(sum_i |x_i|^2)",
        notes=f"""The result is real. n = 0 gives 0. No square overflows or underflows on the way.
A NaN among the elements gives NaN, else an infinity gives Inf.
{_FIXED_TREE}""",
        operands=(Arg("x", "n"), Arg("out", "", role="new", type="real")),
        dims="n",
        fortran=_X,
        flops=lambda n: 2 * n,
        elements=lambda n, read_output: n + 1,
        plan=plans.reduction("nrm2"),
    ),
    Spec(
        name="asum",
        level=1,
        formula="sum_i |re x_i| + |im x_i|",
        notes=f"The result is real. {_DOT_NOTES}",
        operands=(Arg("x", "n"), Arg("out", "", role="new", type="real")),
        dims="n",
        fortran=_X,
        flops=lambda n: n,
        elements=lambda n, read_output: n + 1,
        plan=plans.reduction("asum"),
    ),
    _place_spec(
        "iamax", "the first i with the largest |x_i|", "A NaN counts most, then an infinity."
    ),
    _place_spec("iamin", "the first i with the smallest |x_i|", "A NaN counts first of all."),
    Spec(
        name="scal",
        level=1,
        formula="x := alpha x",
        notes=f"""alpha = 1 leaves x untouched; alpha = 0 multiplies, so that 0 NaN is NaN.
{_REAL_ALPHA}""",
        operands=(Arg("x", "n", role="inout"),),
        dims="n",
        fortran=("n", "alpha", "x", "incx"),
        flops=lambda n: n,
        elements=lambda n, read_output: 2 * n,
        plan=plans.plan_combine,
        scalars=("alpha",),
        idle_alpha="one",
    ),
    Spec(
        name="copy",
        level=1,
        formula="y := x",
        notes="x broadcasts to the batch of y. No element is changed on the way, a NaN neither.\n"
        + _SAME_VIEW,
        operands=(Arg("x", "n"), Arg("y", "n", role="out")),
        dims="n",
        fortran=_XY,
        flops=lambda n: 0,
        elements=lambda n, read_output: 2 * n,
        plan=plans.plan_combine,
        aliasing=True,
    ),
    Spec(
        name="axpy",
        level=1,
        formula="y := alpha x + y",
        notes=f"""alpha = 0 leaves y untouched and does not read x.
{_REAL_ALPHA}
{_SAME_VIEW}""",
        operands=(Arg("x", "n"), Arg("y", "n", role="inout")),
        dims="n",
        fortran=("n", "alpha", "x", "incx", "y", "incy"),
        flops=lambda n: 2 * n,
        elements=lambda n, read_output: 3 * n,
        plan=plans.plan_combine,
        scalars=("alpha",),
        aliasing=True,
        idle_alpha="zero",
    ),
    Spec(
        name="axpby",
        level=1,
        formula="y := alpha x + beta y",
        notes=f"""With alpha = 0, x is not read; with beta = 0, y is not.
{_REAL_ALPHA}
{_SAME_VIEW}""",
        operands=(Arg("x", "n"), Arg("y", "n", role="inout")),
        dims="n",
        fortran=("n", "alpha", "x", "incx", "beta", "y", "incy"),
        flops=lambda n: 3 * n,
        elements=lambda n, read_output: (3 if read_output else 2) * n,
        plan=plans.plan_combine,
        scalars=("alpha", "beta"),
        aliasing=True,
    ),
    Spec(
        name="swap",
        level=1,
        formula="x, y := y, x",
        notes=f"No element is changed on the way, a NaN neither.\n{_SAME_VIEW}",
        operands=(Arg("x", "n", role="inout"), Arg("y", "n", role="inout")),
        dims="n",
        fortran=_XY,
        flops=lambda n: 0,
        elements=lambda n, read_output: 4 * n,
        plan=plans.plan_transform,
        aliasing=True,
    ),
    Spec(
        name="rot",
        level=1,
        formula="x, y := c x + s y, c y - conj(s) x",
        notes=f"""c is real; s may be complex where the vectors are (crot, else csrot).
Nothing is skipped where c = 1 and s = 0.
{_SAME_VIEW} It is then c x + s x.""",
        operands=(Arg("x", "n", role="inout"), Arg("y", "n", role="inout")),
        dims="n",
        fortran=(*_XY, "c", "s"),
        flops=lambda n: 6 * n,
        elements=lambda n, read_output: 4 * n,
        plan=plans.plan_transform,
        scalars=("c", "s"),
        real_scalars=("c",),
        aliasing=True,
    ),
    Spec(
        name="rotm",
        level=1,
        formula="x, y := h11 x + h12 y, h21 x + h22 y",
        notes="""param is (flag, h11, h21, h12, h22): a sequence of five numbers, or an array on the
device of the vectors. flag = -1: all are given. 0: h11 = h22 = 1. 1: h12 = 1, h21 = -1.
-2: nothing is done.""",
        operands=(Arg("x", "n", role="inout"), Arg("y", "n", role="inout")),
        dims="n",
        fortran=(*_XY, "param"),
        flops=lambda n: 6 * n,
        elements=lambda n, read_output: 4 * n,
        plan=plans.plan_transform,
        scalars=("flag", "h11", "h21", "h12", "h22"),
        real_scalars=("flag", "h11", "h21", "h12", "h22"),
        packed="param",
        dtypes=_REAL,
    ),
    Spec(
        name="axpydot",
        level=1,
        formula="z := w - alpha v, r := sum_i z_i u_i",
        notes=f"""One pass over the vectors. z may be the very view of one of the others.
alpha = 0 does not read v. u is not conjugated. Half types: r is of z as it is rounded.
{_FIXED_TREE}""",
        operands=(
            Arg("w", "n"),
            Arg("v", "n"),
            Arg("u", "n"),
            Arg("z", "n", role="out", optional=True),
            Arg("r", "", role="new"),
        ),
        dims="n",
        fortran=("n", "alpha", "w", "incw", "v", "incv", "u", "incu", "z", "incz"),
        flops=lambda n: 4 * n,
        elements=lambda n, read_output: 4 * n + 1,
        plan=plans.plan_axpydot,
        scalars=("alpha",),
        aliasing=True,
        lazy=("conj",),
    ),
    Spec(
        name="rotg",
        level=1,
        formula="c, s, r with [c s; -conj(s) c] [a b] = [r 0]",
        notes="""Numbers, or arrays of numbers: one rotation for each pair. Returns (c, s, r, z).
c is real. z, from which c and s can be had again, there is for real numbers only, else None.
r has the sign of the larger of a and b (real) or the phase of a (complex).
Nothing overflows or underflows on the way (Anderson, Algorithm 978, 2017).""",
        operands=(
            Arg("a", ""),
            Arg("b", ""),
            Arg("c", "", role="new", type="real"),
            Arg("s", "", role="new"),
            Arg("z", "", role="new", of_real=True),
            Arg("r", "", role="new"),
        ),
        dims="",
        fortran=("a", "b", "c", "s"),
        flops=lambda: 10,
        elements=lambda read_output: 6,
        plan=plans.plan_rotg,
        lazy=(),
        dtypes=_NUMBERS,
        returns=("c", "s", "r", "z"),
    ),
    Spec(
        name="rotmg",
        level=1,
        formula="param of the H for which the second element of H [x1 y1] vanishes",
        notes="""In the scale of sqrt(d1) and sqrt(d2). Numbers, or arrays: one rotation for each.
Returns param: (flag, h11, h21, h12, h22) along the last axis, as `rotm` takes it.
d1, d2 and x1 are updated in place where they are arrays. Ends for every input.""",
        operands=(
            Arg("d1", "", role="inout"),
            Arg("d2", "", role="inout"),
            Arg("x1", "", role="inout"),
            Arg("y1", ""),
            Arg("param", "5", role="new"),
        ),
        dims="",
        fortran=("d1", "d2", "x1", "y1", "param"),
        flops=lambda: 20,
        elements=lambda read_output: 12,
        plan=plans.plan_rotmg,
        lazy=(),
        dtypes=_REAL_NUMBERS,
        returns=("param",),
    ),
)
