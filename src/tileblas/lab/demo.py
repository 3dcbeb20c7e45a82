"""`tileblas demo`: the bench of two routines, a real computation, and the kernels without a GPU."""

from __future__ import annotations

import time

from rich.console import Console
from rich.text import Text

import tileblas
from tileblas.lab import bench, checks, digits, interpreted, lists, tables, terminal

_DTYPES = ("float32", "float64")
_SHOWN = 4  # components drawn


def run(console: Console) -> bool:
    """Run all parts on this machine's best backend; whether everything was right."""
    start = time.perf_counter()
    opened = bench.open_bench()
    device = opened.environment["device"]
    console.print(
        Text(f"tileblas {tileblas.__version__} on the {opened.backend} backend, {device}")
    )
    good = [_benchmarks(console, opened), _digits(console, opened)]
    if opened.backend != "cuda":
        good.append(_interpreter(console))
    console.print(Text(f"\nDone in {time.perf_counter() - start:.0f} s."))
    return all(good)


def _benchmarks(console: Console, opened: bench.Bench) -> bool:
    console.print(Text("\n1. How fast: timings beside the rival", style="bold"))
    rows = terminal.measured(console, lists.listed("demo"), opened)
    terminal.print_bench(console, rows, opened)
    return all(row.good for row in rows)


def _digits(console: Console, opened: bench.Bench) -> bool:
    console.print(Text("\n2. Real input: principal components of handwritten digits", style="bold"))
    found = []
    with tileblas.backend(opened.backend):
        for dtype in _DTYPES:
            images = digits.load_images(dtype)
            with terminal.progress(console, f"power iteration, {dtype}") as update:
                found.append(
                    digits.principal_components(images, opened.place, lambda step, _: update(step))
                )
    console.print(tables.components_table(found))
    console.print(
        Text(f"The first {_SHOWN}, 8 x 8 pixels each: blocks add ink, dots take it away\n")
    )
    console.print(Text(tables.images_text(found[-1].vectors[:_SHOWN].tolist(), 8)))
    console.print()
    for one in found:
        verdict = "agrees with" if one.good else "DIFFERS from"
        console.print(
            Text(
                f"{one.dtype}: {one.steps} steps; {verdict} NumPy's SVD: singular values to "
                f"{one.error:.0e}, sine of the angle between the spans {one.angle:.0e}",
                style="" if one.good else "bold red",
            )
        )
    return all(one.good for one in found)


def _interpreter(console: Console) -> bool:
    console.print(Text("\n3. No GPU here: the GPU kernels, interpreted on the CPU", style="bold"))
    reason = checks.why_absent("interpret")
    if reason:
        console.print(Text(f"skipped: {reason}", style="yellow"))
        return True
    with terminal.progress(console, "Triton kernels in the interpreter") as update:
        found = interpreted.agreement(update)
    terminal.print_table(console, lambda tight: tables.agreement_table(found, tight))
    console.print(
        Text(
            "time: of one interpreted call, which says nothing of a GPU. error, on cpu: of the two "
            "results, as above; both must be within the bar. distance: between them, relative.",
            style="dim",
        )
    )
    return all(one.good for one in found)
