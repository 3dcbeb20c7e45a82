"""Sizes as they are written, and the named lists."""

import pytest

from tileblas.lab.cases import Case, format_size, parse_sizes
from tileblas.lab.lists import LISTS, listed
from tileblas.routines.registry import ROUTINES


@pytest.mark.parametrize(
    ("text", "ndim", "expected"),
    [
        ("4096", 1, [(4096,)]),
        ("4096", 3, [(4096, 4096, 4096)]),
        ("2^10", 1, [(1024,)]),
        ("2^3..2^5", 1, [(8,), (16,), (32,)]),
        ("2^16..2^21:2", 1, [(1 << 16,), (1 << 18,), (1 << 20,), (1 << 21,)]),
        ("8x512x64", 3, [(8, 512, 64)]),
        ("1x2^20x7, 5", 3, [(1, 1 << 20, 7), (5, 5, 5)]),
    ],
)
def test_sizes_are_read(text, ndim, expected):
    assert parse_sizes(text, ndim) == expected


@pytest.mark.parametrize(
    ("text", "ndim"),
    [("", 1), ("0", 1), ("-3", 1), ("abc", 1), ("2^5..2^3", 1), ("2^1..2^3:0", 1), ("8x9", 3)],
)
def test_what_is_no_size_is_refused_with_its_text(text, ndim):
    with pytest.raises(ValueError, match="size"):
        parse_sizes(text, ndim)


@pytest.mark.parametrize("dims", [(5,), (1 << 20,), (100, 100, 100), (8, 512, 64), (1 << 14,) * 3])
def test_a_written_size_reads_as_itself(dims):
    assert parse_sizes(format_size(dims), len(dims)) == [dims]


@pytest.mark.parametrize("name", LISTS)
def test_lists_fit_the_specs(name):
    for case in listed(name):
        spec = ROUTINES[case.routine]
        assert len(case.dims) == len(spec.dims)
        assert case.dtype in spec.dtypes
        assert len(case.trans) == sum(1 for arg in spec.arguments if arg.trans)
        assert case.layout in (("col", "row") if case.trans else ("",))


def test_every_routine_is_in_the_default_list():
    on_arrays = {name for name, spec in ROUTINES.items() if spec.dims}
    assert {case.routine for case in listed("default")} == on_arrays


def test_the_list_of_level_1_has_the_sizes_of_the_record():
    recorded = [(1 << e,) for e in (10, 14, 16, 18, 20, 22, 24, 26)]
    few = [(1 << e,) for e in (16, 20, 24)]
    for name in ("nrm2", "asum", "iamax", "scal", "copy", "axpy", "swap", "rot"):
        assert [case.dims for case in listed("level1", [name])] == recorded * 4
    for name in ("axpby", "axpydot", "iamin"):
        assert [case.dims for case in listed("level1", [name])] == few * 4
    for name, sizes in (("dot", recorded), ("dotc", recorded), ("rotm", few)):
        assert [case.dims for case in listed("level1", [name])] == sizes * 2


def test_the_list_for_acceptance_holds_what_is_promised():
    cases = set(listed("accept"))
    for dtype in ("float32", "float64"):
        for exponent in (16, 24, 28):
            assert Case("dot", (1 << exponent,), dtype) in cases
    for dtype in ("float64", "float32", "float16", "bfloat16"):
        for trans in ("NN", "TN", "NT"):
            assert Case("gemm", (4096,) * 3, dtype, trans, "col") in cases


def test_the_list_for_acceptance_holds_the_rows_of_the_vector_routines():
    cases = set(listed("accept"))
    for dtype in ("float32", "float64"):
        for exponent in (16, 17, 18, 19, 20, 24, 26):
            assert Case("nrm2", (1 << exponent,), dtype) in cases
        for exponent in (20, 24, 28):
            assert Case("scal", (1 << exponent,), dtype) in cases
    counts = {"float32": 30, "float64": 30, "complex64": 30, "complex128": 28}
    for dtype, count in counts.items():
        assert sum(case.routine == "gemv" and case.dtype == dtype for case in cases) == count


def test_the_baseline_has_the_matrices_as_stored():
    cases = listed("baseline", ["gemv"])
    assert len(cases) == 118  # 15 shapes, N and T, four types, less the largest of complex128
    for m, n in ((1 << 20, 8), (8, 1 << 20), (4097, 4095), (16384, 16384)):
        assert Case("gemv", (m, n), "float32", "N", "col") in cases
        assert Case("gemv", (n, m), "float32", "T", "col") in cases
    assert Case("gemv", (4097, 4095), "float32", "T", "col") not in cases


def test_the_baseline_has_the_vectors_of_the_record():
    sizes = [(1 << e,) for e in (10, 14, 16, 18, 20, 22, 24, 26)]
    for routine in ("nrm2", "scal", "axpy", "asum", "iamax", "copy", "swap"):
        assert [case.dims for case in listed("baseline", [routine])] == sizes * 4
    assert {case.dtype for case in listed("baseline", ["dotc"])} == {"complex64", "complex128"}


def test_what_is_named_replaces_what_is_listed():
    cases = listed("accept", ["gemm"], "64,8x9x10", ["float16"], "nt, cc", "row")
    assert cases == [
        Case("gemm", dims, "float16", trans, "row")
        for trans in ("NT", "CC")
        for dims in ((64, 64, 64), (8, 9, 10))
    ]


def test_transposes_do_not_touch_routines_on_vectors():
    cases = listed("demo", sizes="32", trans="TT")
    assert {(case.routine, case.trans) for case in cases} == {("dot", ""), ("gemm", "TT")}


def test_transposes_go_to_the_routines_with_as_many_operands():
    cases = listed("accept", ["gemv", "gemm"], trans="C,NC")
    assert {(case.routine, case.trans) for case in cases} == {("gemv", "C"), ("gemm", "NC")}
    kept = listed("accept", ["gemv", "gemm"], trans="TT")
    assert {c.trans for c in kept if c.routine == "gemv"} == {"N", "T"}


@pytest.mark.parametrize(
    "arguments",
    [
        {"name": "none"},
        {"name": "demo", "routines": ["axpy"]},
        {"name": "demo", "trans": "NNN"},
        {"name": "demo", "trans": "NX"},
        {"name": "demo", "layouts": "diagonal"},
    ],
)
def test_unknown_words_are_refused(arguments):
    with pytest.raises(ValueError, match=r"list|trans|layout"):
        listed(**arguments)
