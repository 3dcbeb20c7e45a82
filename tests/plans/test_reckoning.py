"""The reckoning behind `auto`: what is predicted, from which rates, and which way it tips."""

import os
from dataclasses import replace

import numpy as np
import pytest

from tileblas.arrays.ingest import ingest
from tileblas.arrays.scalars import parse
from tileblas.backends import select, staging
from tileblas.core import check, processor
from tileblas.core.canon import canonical, results
from tileblas.core.dtypes import DTYPES
from tileblas.core.operand import HOST, c_strides
from tileblas.core.trivial import without_product
from tileblas.routines.registry import ROUTINES
from tileblas.tuning import reckoning
from tileblas.tuning.reckoning import Reckoning, Work, rates, reckon


def work(routine="gemm", level=3, flops=10**9, moved=10**6, sent=(10**6,), received=10**6, **more):
    values = {"dtype": DTYPES["float32"], "panels": 1, "rate": 1e13} | more
    return Work(routine, level, flops=flops, moved=moved, sent=sent, received=received, **values)


@pytest.fixture
def known(monkeypatch):
    """Round rates: 1 GB/s and GFLOP/s a core, eight times that on 16 cores, links of 1 and 10."""
    row = (1e9, 8e9)
    given = reckoning.Rates(
        measured="here",
        cores=16,
        cpu={("gemm", "float32"): row, ("any", "float32"): row, ("nrm2", "float32"): (1e9, 1e9)},
        call_seconds=1e-3,
        transfer_seconds=1e-4,
        direct_to_device=1e9,
        direct_to_host=2e9,
        copy_thread=4e9,
        pinned=10e9,
    )
    monkeypatch.setattr(reckoning, "rates", lambda: given)
    return given


@pytest.mark.parametrize(("cores", "rate"), [(1, 1), (2, 2), (8, 8), (16, 8), (100, 50)])
def test_few_cores_have_their_share_and_many_the_measured_limit(known, cores, rate):
    assert known.cpu_rate("gemm", 3, "float32", cores) == rate * 1e9
    assert reckon(work(), cores, 1).cpu == pytest.approx(1 / rate)


def test_vectors_are_counted_in_bytes_products_in_flops(known):
    assert reckon(work("axpy", 1, moved=10**9), 1, 1).cpu == 1.0
    assert reckon(work("symm", 3, moved=10**9, flops=2 * 10**9), 1, 1).cpu == 2.0


def test_a_routine_may_have_rates_of_its_own(known):
    assert reckon(work("nrm2", 1, moved=10**9), 16, 1).cpu == 1.0


@pytest.mark.parametrize(
    ("nbytes", "threads", "seconds"),
    [
        (10**4, 8, 1e-5),  # small: by the driver
        (10**8, 1, 1e-4 + 0.025),  # one thread copies slower than the link
        (10**8, 2, 1e-4 + 0.0125),
        (10**8, 8, 1e-4 + 0.01),  # the link
    ],
)
def test_a_transfer_goes_the_faster_way(known, nbytes, threads, seconds):
    assert known.transfer(nbytes, known.direct_to_device, threads) == pytest.approx(seconds)


def test_every_array_that_is_sent_is_a_transfer(known):
    one = reckon(work(sent=(10**8,)), 1, 8).to_device
    assert reckon(work(sent=(10**8, 10**8)), 1, 8).to_device == pytest.approx(2 * one)


def test_panels_overlap_all_but_the_ends():
    apart = Reckoning(cpu=1.0, call=0.1, to_device=3.0, kernel=2.0, to_host=1.0)
    assert apart.cuda == pytest.approx(6.1)
    assert replace(apart, panels=10).cuda == pytest.approx(0.1 + 3.0 + 0.3)


def test_the_faster_one_wins_and_says_why():
    text = str(Reckoning(cpu=2.0, call=1e-4, to_device=0.5, kernel=0.1, to_host=0.3, panels=4))
    assert text.startswith("cuda: cpu 2e+03 ms, cuda 600 ms")
    for part in ("to the device 500", "kernel 100", "to the host 300", "4 overlapping panels"):
        assert part in text
    assert Reckoning(1.0, 0.1, 0.5, 0.4, 0.3).winner == "cpu"


def test_the_rates_cover_every_routine_and_dtype():
    found = rates()
    for spec in ROUTINES.values():
        for dtype in spec.dtypes:
            assert found.cpu_rate(spec.family, spec.level, dtype, 1) > 0
    assert found.measured
    assert all(one <= every for one, every in found.cpu.values())
    assert found.direct_to_device < found.pinned


def problem(name, *shapes, dtype="float32", **numbers):
    """A Problem on C-ordered host arrays of these shapes, which are not allocated."""
    spec = ROUTINES[name]
    like = ingest(np.empty(1, dtype))
    operands = [
        shape and like._replace(shape=shape, strides=c_strides(shape))
        for shape in (*shapes, *(None for _ in spec.arguments[len(shapes) :]))
    ]
    defaults = {"alpha": 2, "beta": 0} | numbers
    scalars = {s: parse(spec, s, defaults[s], DTYPES[dtype], HOST) for s in spec.scalars}
    letters = {option.name: option.default for option in spec.options}
    dims, batch = check.check_shapes(spec, operands, letters)
    made = results(spec, operands, dims, batch, DTYPES[dtype])
    return spec, canonical(spec, operands, made, dims, batch, letters, scalars)


@pytest.fixture
def asked(monkeypatch):
    """The work of which select asked for a reckoning."""
    found = []
    monkeypatch.setattr(select, "reckon", lambda work, *machine: found.append(work))
    return found


def test_a_batch_axis_that_is_broadcast_is_sent_once(asked):
    select.reckoning(*problem("gemm", (9, 30, 8), (8, 20), (9, 30, 20)))
    (found,) = asked
    assert sorted(found.sent) == [8 * 20 * 4, 9 * 30 * 8 * 4]
    assert found.received == 9 * 30 * 20 * 4
    assert found.flops == 9 * 2 * 30 * 20 * 8


@pytest.mark.parametrize(("beta", "count"), [(0, 2), (1, 3), (0.5, 3)])
def test_an_output_is_sent_where_it_is_read(asked, beta, count):
    select.reckoning(*problem("gemm", (30, 8), (8, 20), (30, 20), beta=beta))
    assert len(asked[0].sent) == count


@pytest.mark.parametrize(("name", "shapes"), [("syrk", [(30, 8)]), ("syr2k", [(30, 8)] * 2)])
def test_a_triangle_is_sent_for_what_it_keeps_and_both_factors_of_a_square_once(
    asked, name, shapes
):
    select.reckoning(*problem(name, *shapes, (30, 30)))
    select.reckoning(*problem(name, *shapes))
    inputs = [4 * 30 * 8] * len(shapes)
    assert sorted(asked[0].sent) == [*inputs, 4 * 30 * 30]
    assert asked[1].sent == inputs


@pytest.mark.parametrize(("name", "count"), [("dot", 2), ("axpy", 2)])
def test_a_result_is_not_sent(asked, name, count):
    select.reckoning(*problem(name, (100,), (100,)))
    assert asked[0].sent == [400] * count


@pytest.mark.parametrize(
    ("name", "shapes", "sent", "received"),
    [
        ("sbmv", [(5, 100), (100,)], [500, 100], 100),
        ("tbsv", [(5, 100), (100,)], [500, 100], 100),
        ("spmv", [(5050,), (100,)], [5050, 100], 100),
        ("spr", [(100,), (5050,)], [100, 5050], 5050),
        ("spr", [(100,), None], [100], 5050),
    ],
)
def test_bands_and_packed_triangles_are_sent_as_they_are_stored(
    asked, name, shapes, sent, received
):
    select.reckoning(*problem(name, *shapes))
    assert sorted(asked[0].sent) == sorted(4 * n for n in sent)
    assert asked[0].received == 4 * received


@pytest.mark.parametrize(
    ("name", "shapes"),
    [("symv", [(9, 9), (9,)]), ("sbmv", [(3, 9), (9,)]), ("spmv", [(45,), (9,)])],
)
def test_a_product_that_is_dropped_sends_nothing(asked, name, shapes):
    spec, dropped = problem(name, *shapes, alpha=0)
    select.reckoning(spec, without_product(dropped))
    assert sum(asked[0].sent) == asked[0].flops == 0
    assert asked[0].received == 9 * 4


def test_a_large_output_is_reckoned_in_the_panels_that_staging_cuts(asked):
    spec, large = problem("gemm", (8192, 64), (64, 8192), (8192, 8192))
    select.reckoning(spec, large)
    output = ingest(np.empty(1, "float32"))._replace(
        shape=(8192, 8192), strides=c_strides((8192, 8192))
    )
    assert asked[0].panels == len(staging.cut(spec, output)[1]) > 1


@pytest.mark.parametrize("cores", [2, 16, 100])
def test_small_products_stay_and_large_ones_go(monkeypatch, cores):
    monkeypatch.setattr(select, "cores", lambda: cores)
    monkeypatch.setattr(select, "_product_rate", lambda dtype: 50e12)
    shapes = [((n, n),) * 3 for n in (16, 8192)]
    small, large = (select.reckoning(*problem("gemm", *three)) for three in shapes)
    assert (small.winner, large.winner) == ("cpu", "cuda")


@pytest.mark.parametrize("cores", [16, 100])
def test_an_update_stays_where_cores_are_many(monkeypatch, cores):
    """The link is slower than the memory that the cores read."""
    monkeypatch.setattr(select, "cores", lambda: cores)
    assert select.reckoning(*problem("axpy", (1 << 28,), (1 << 28,))).winner == "cpu"


def test_cores_are_those_of_the_process(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 3, 5}, raising=False)
    assert processor.cores() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert processor.cores() == 1
