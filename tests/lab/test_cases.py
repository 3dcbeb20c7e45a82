"""Sizes and letters as they are written, and the named lists."""

import pytest

from tileblas.lab.cases import Case, fits, format_size, layouts, lettered, parse_sizes
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
        assert fits(case.trans, case.routine) == bool(lettered(case.routine))
        assert case.layout in layouts(case.routine)


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


@pytest.mark.parametrize("name", ["level2", "level3", "default"])
def test_a_case_is_found_again_by_what_is_printed_of_it(name):
    for case in listed(name):
        routine, size, dtype, *form = str(case).split()
        letters = form[-1] if case.trans else None
        layout = form[0] if case.layout else None
        assert listed(name, [routine], size, [dtype], letters, layout) == [case]


@pytest.mark.parametrize(
    ("case", "options"),
    [
        (Case("dot", (9,), "float32"), {}),
        (Case("gemm", (9, 9, 9), "float32", "NT", "row"), {"trans_a": "N", "trans_b": "T"}),
        (Case("symv", (9,), "float32", "L", "col"), {"uplo": "L"}),
        (Case("tpsv", (9,), "float32", "UCN"), {"uplo": "U", "trans": "C", "diag": "N"}),
        (Case("gbmv", (9, 8, 4), "float32", "T", "col"), {"trans": "T", "kl": 1, "m": None}),
        (Case("gbmv", (9, 8, 5), "float32", "N", "col"), {"trans": "N", "kl": 2, "m": None}),
    ],
    ids=str,
)
def test_letters_are_options_in_the_order_of_the_spec(case, options):
    assert case.options == options
    assert list(case.options) == list(options)


def test_a_case_has_a_letter_for_each_option():
    with pytest.raises(ValueError, match="zip"):
        _ = Case("trmv", (9,), "float32", "L", "col").options


def test_the_list_of_level_2_has_all_of_it_at_the_sizes_of_the_record():
    cases = listed("level2")
    level_2 = {name for name, spec in ROUTINES.items() if spec.level == 2}
    assert {case.routine for case in cases} == level_2 - {"gemv"}
    orders = [256, 1024, 4096, 8192, 16384]
    for name, letters in (("symv", "L"), ("ger", ""), ("trmv", "LNN"), ("trsv", "LNN")):
        found = [c.dims[0] for c in cases if (c.routine, c.dtype) == (name, "float64")]
        assert set(found) == set(orders)
        assert all(
            Case(name, (n,) * len(ROUTINES[name].dims), "float32", letters, "col") in cases
            for n in orders
        )
    for name in ("hemv", "geru", "her", "trsv"):
        found = {c.dims[0] for c in cases if (c.routine, c.dtype) == (name, "complex128")}
        assert found == {256, 1024, 4096, 8192}  # a matrix of 16384 has 4 GiB
    for name in ("gbmv", "sbmv", "tbmv"):
        found = {c.dims for c in cases if (c.routine, c.dtype) == (name, "float32")}
        assert {dims[-2:] for dims in found} == {(1_000_000, 9), (100_000, 65), (8192, 257)}
    assert Case("ger", (4096, 4096), "bfloat16", "", "col") in cases
    assert Case("trsv", (4096,), "float64", "UTN", "col") in cases
    assert set(listed("baseline", ["trsv", "her"])) <= set(cases)


def test_the_list_of_level_3_has_all_of_it_by_columns():
    cases = listed("level3")
    assert {c.routine for c in cases} == {n for n, spec in ROUTINES.items() if spec.level == 3}
    assert {c.layout for c in cases} == {"col"}
    orders = [256, 512, 1024, 2048, 4096, 8192]
    for name, letters in (("symm", "LL"), ("skewsymm", "LL"), ("syrk", "LN"), ("gemmtr", "LNN")):
        found = [c for c in cases if (c.routine, c.trans) == (name, letters)]
        assert [c.dims[0] for c in found if c.dtype == "float64"] == orders
    for name, letters in (("hemm", "LL"), ("herk", "LN"), ("syrk", "LN")):
        found = [c for c in cases if (c.routine, c.trans) == (name, letters)]
        assert [c.dims[0] for c in found if c.dtype == "complex64"] == orders
        assert [c.dims[0] for c in found if c.dtype == "complex128"] == orders[:-1]
    forms = {
        "hemm": {"LL", "LU", "RL", "RU"},
        "syrk": {"LN", "UN", "LT", "UT"},
        "herk": {"LN", "UN", "LC", "UC"},
    }
    for name, letters in forms.items():
        found = [c for c in cases if (c.routine, c.dtype, c.dims[0]) == (name, "complex128", 2048)]
        assert {c.trans for c in found} == letters
    gemm = {(c.dims[0], c.dtype) for c in cases if c.routine == "gemm"}
    assert {dims for dims, _ in gemm} == {1024, 2048, 4096}
    assert len({dtype for _, dtype in gemm}) == 4


def test_letters_that_complex_arrays_lack_are_in_no_list():
    for name in LISTS:
        for case in listed(name):
            pairs = zip(lettered(case.routine), case.trans, strict=True)
            if case.dtype.startswith("complex"):
                assert all(x in (option.complex_letters or x) for option, x in pairs)


def test_the_order_of_a_matrix_is_the_size_of_its_side():
    found = listed("level3", ["symm"], "64x32x64", ["float32"], "LU")
    assert found == [Case("symm", (64, 32, 64), "float32", "LU", "col")]
    for size, letters in (("64x32x64", "RU"), ("64x32x32", "LU")):
        with pytest.raises(ValueError, match="k is the order of A"):
            listed("level3", ["symm"], size, ["float32"], letters)


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


def test_letters_go_to_the_routines_that_take_them():
    def forms(letters):
        cases = listed("level2", ["symv", "gbmv", "gemvt", "trsv", "ger"], trans=letters)
        return {
            name: {c.trans for c in cases if c.routine == name}
            for name in ("symv", "gbmv", "gemvt", "trsv", "ger")
        }

    kept = forms(None)
    assert forms("U") == {**kept, "symv": {"U"}}
    assert forms("n") == {**kept, "gbmv": {"N"}}
    assert forms("C") == {**kept, "gbmv": {"C"}, "gemvt": {"C"}}
    assert forms("utu,LCN") == {**kept, "trsv": {"UTU", "LCN"}}


def test_one_size_is_that_of_a_whole_matrix_and_two_are_a_band():
    assert {c.dims for c in listed("level2", ["sbmv"], "64x5")} == {(64, 5)}
    assert {c.dims for c in listed("level2", ["gbmv"], "60x64x5,7")} == {(60, 64, 5), (7, 7, 7)}
    assert {c.dims for c in listed("level2", ["ger", "symv"], "100")} == {(100, 100), (100,)}


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
        {"name": "level2", "routines": ["symv"], "trans": "N"},
        {"name": "level2", "routines": ["trsv", "symv"], "trans": "LLN"},
        {"name": "demo", "layouts": "diagonal"},
    ],
)
def test_unknown_words_are_refused(arguments):
    with pytest.raises(ValueError, match=r"list|trans|layout"):
        listed(**arguments)
