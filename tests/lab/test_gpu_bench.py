"""The bench on a GPU: every array library, beside cuBLAS, each result against the reference."""

from importlib.util import find_spec

import pytest

from tileblas.lab import calls
from tileblas.lab.bench import device_bench, run
from tileblas.lab.cases import Case, layouts
from tileblas.lab.digits import load_images, principal_components
from tileblas.lab.timing import Repeats
from tileblas.routines.registry import ROUTINES

pytestmark = pytest.mark.gpu

DTYPES = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")
#: Of cuBLAS.
LACK_COMPLEX = ("sbmv", "spmv", "spr", "spr2")
#: Sizes of level 2 by their names, and those of triangles that are products.
SIZES = {"n": (333,), "nb": (3333, 9), "mnb": (999, 1001, 6), "mn": (130, 70), "nk": (333, 70)}
#: Sizes of products by the side of the matrix that is symmetric.
SIDED = {"L": (130, 70, 130), "R": (130, 70, 70)}
CASES = [
    *(
        Case(name, (100_003,), dtype)
        for name in ("dot", "dotc", "nrm2", "scal", "axpy", "axpby", "axpydot")
        for dtype in DTYPES
    ),
    *(
        Case(name, (100_003,), dtype)
        for name in ("asum", "iamax", "iamin", "copy", "swap", "rot")
        for dtype in DTYPES[2:]
    ),
    *(Case("rotm", (100_003,), dtype) for dtype in ("float32", "float64")),
    *(
        Case("gemv", dims, dtype, trans, layout)
        for dtype in DTYPES
        for trans, layout in (("N", "col"), ("T", "col"), ("C", "col"), ("T", "row"), ("C", "row"))
        for dims in ((130, 70), (3, 40_000))
    ),
    *(
        Case(name, SIZES[ROUTINES[name].dims], dtype, letters, layouts(name)[0])
        for names, forms in (
            (("symv", "hemv", "sbmv", "hbmv", "spmv", "hpmv"), ("U", "L")),
            (("syr", "her", "spr", "hpr", "syr2", "her2", "spr2", "hpr2"), ("U", "L")),
            (("trmv", "trsv", "tbmv", "tbsv", "tpmv", "tpsv"), ("LNN", "UTN", "LCU", "UNU")),
            (("gbmv",), ("N", "T", "C")),
            (("ger", "geru", "gerc"), ("",)),
            (("gemvt",), ("T", "C")),
        )
        for name in names
        for letters in forms
        for dtype in ROUTINES[name].dtypes
        if not (name in LACK_COMPLEX and dtype.startswith("complex"))
    ),
    *(
        Case(name, dims, dtype, letters, "row")
        for name, dims, letters in (
            ("symv", (333,), "L"),
            ("trsv", (333,), "LNN"),
            ("syr2", (333,), "U"),
            ("ger", (130, 70), ""),
        )
        for dtype in ("float32", "float64")
    ),
    *(
        Case(name, SIDED[letters[0]], dtype, letters, layout)
        for name in ("symm", "hemm")
        for letters in ("LL", "LU", "RL", "RU")
        for dtype in ROUTINES[name].dtypes
        for layout in ("col", "row")
    ),
    *(
        Case(name, SIZES["nk"], dtype, uplo + trans, layout)
        for name in ("syrk", "syrkx", "syr2k", "herk", "herkx", "her2k")
        for uplo in "LU"
        for trans in ("NC" if name.startswith("he") else "NT")
        for dtype in ROUTINES[name].dtypes
        for layout in ("col", "row")
    ),
    *(
        Case("gemm", (130, 70, 200), dtype, trans, layout)
        for dtype in DTYPES
        for trans, layout in (("NN", "col"), ("TN", "col"), ("NT", "row"), ("CC", "row"))
    ),
]


@pytest.fixture(params=["torch", "cupy", "tileblas"])
def bench(request):
    if request.param != "tileblas" and find_spec(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    return device_bench(request.param)


def test_ours_and_cublas_are_right(bench):
    cases = [c for c in CASES if bench.place.library != "cupy" or c.dtype != "bfloat16"]
    rows = list(run(cases, bench, Repeats(passes=1, fewest=2, most=2)))
    wrong = [f"{row.case}: {row.problem or row.accuracy}" for row in rows if not row.good]
    assert wrong == []
    assert bench.rival is not None, bench.note
    unpaired = [
        str(row.case) for row in rows if not (row.rival_accuracy and row.rival_accuracy.good)
    ]
    assert unpaired == []
    assert all(0 < row.minimum <= row.median < 1 for row in rows)


def test_roofs_are_plausible(bench):
    if bench.place.library == "tileblas":
        pytest.skip("its arrays are made on the host, which takes long at this size")
    assert 1e11 < bench.roofs.read() < 1e14
    assert 1e11 < bench.roofs.update() < 1e14
    assert bench.roofs.rate("float16") > bench.roofs.rate("float32") > 1e12


def test_what_cublas_lacks_is_measured_alone(bench):
    cases = [
        Case("dsdot", (100_003,), "float32"),
        Case("sdsdot", (100_003,), "float32"),
        *(Case(name, (100_003,), "float16") for name in ("asum", "iamax", "copy", "rot", "rotm")),
        *(Case(name, (333,), "float64", "L", "col") for name in ("skewsymv", "skewsyr2")),
        *(Case(name, (333,), "complex64", "L") for name in ("spmv", "spr", "spr2")),
        Case("sbmv", (333, 5), "complex128", "U", "col"),
        *(Case("skewsymm", SIDED["L"], "float64", "LL", layout) for layout in ("col", "row")),
        Case("skewsyr2k", SIZES["nk"], "float32", "UT", "col"),
        Case("gemmtr", SIZES["nk"], "complex64", "LNC", "row"),
        Case("hemv", (333,), "complex64", "U", "row"),
        Case("gbmv", (333, 333, 7), "float32", "N", "row"),
    ]
    rows = list(run(cases, bench, Repeats(passes=1, fewest=2, most=2)))
    wrong = [f"{row.case}: {row.problem or row.accuracy}" for row in rows if not row.good]
    assert wrong == []
    assert {row.rival for row in rows} == {""}


@pytest.mark.parametrize("library", ["torch", "cupy"])
def test_calls_are_right_and_taken_apart(library):
    pytest.importorskip(library)
    opened = calls.open_bench("cuda", library)
    for costs in calls.run(calls.CASES, opened, Repeats(passes=1, fewest=2, most=2)):
        found = [cost.name for cost in costs if not cost.is_stage]
        mine, theirs = [calls.OURS, calls.OTHERS, calls.PLAN], calls.LIBRARIES[library]
        assert found == [*mine, theirs, calls.BARE]
        assert [cost.name for cost in costs if not cost.good] == []
        assert all(cost.of_library > 0 and cost.of_launch > 0 for cost in costs[: len(found)])
        stages = [cost.name for cost in costs if cost.is_stage]
        assert stages == ["arrays", "key", "lookup", "stream", "result", "launch", "rest"]


def test_components_of_digits(bench):
    pytest.importorskip("sklearn")
    assert principal_components(load_images("float64"), bench.place).good
