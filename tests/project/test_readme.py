"""What the README shows is true: its snippets run and print what they say, its tables are current.

Run as a program, this file rewrites the tables: `make readme`.
"""

import csv
import re
from pathlib import Path
from statistics import geometric_mean

import pytest

from tileblas.core.dtypes import DTYPES
from tileblas.routines.registry import ROUTINES

README = Path(__file__).parents[2] / "README.md"
TEXT = README.read_text(encoding="utf-8")
RESULTS = README.parent / "results"
MATRICES = ("h200_2026-11-30_accept_4.csv",)
VECTORS = ("h200_2026-11-30_level1_5.csv", "h200_2026-11-30_level1_6.csv")  # the second counts more
MATVECS = (
    *(f"h200_2026-11-30_level2{part}.csv" for part in ("", "_2", "_3", "_4", "_5")),
    "h200_2026-12-01_level2_6.csv",
)
TABLES = ("routines", "vectors", "matvecs", "speed")

# A fenced block of Python, a line that prints with its result behind it, and a GPU array library.
SNIPPET = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PRINTED = re.compile(r"^ *print\(.*\)  # (.*)$", re.MULTILINE)
LIBRARY = re.compile(r"^import (cupy|torch)\b", re.MULTILINE)
SNIPPETS = SNIPPET.findall(TEXT)


def routine_table() -> str:
    """One row for each routine, from its Spec."""
    rows = ["| routine | computes | level | types |", "|---|---|---|---|"]
    for spec in ROUTINES.values():
        types = "all" if spec.dtypes == tuple(DTYPES) else ", ".join(spec.dtypes)
        rows.append(f"| `{spec.name}` | `{spec.formula}` | {spec.level} | {types} |")
    return "\n".join(rows) + "\n"


def rows_of(names: tuple[str, ...]) -> list[dict[str, str]]:
    """All rows of some results, in their order."""
    rows = []
    for name in names:
        with (RESULTS / name).open(newline="", encoding="utf-8") as file:
            rows += csv.DictReader(file)
    return rows


def vector_table() -> str:
    """Level 1 by routine and type: how many times as fast as cuBLAS, by size."""
    ratios = {(r["routine"], r["dtype"], r["size"]): r["ratio"] for r in rows_of(VECTORS)}
    dtypes = [name for name in DTYPES if any(key[1] == name for key in ratios)]
    lines = [f"| routine | {' | '.join(dtypes)} |", "|---" * (len(dtypes) + 1) + "|"]
    for routine in dict.fromkeys(key[0] for key in ratios):
        cells = []
        for dtype in dtypes:
            found = [ratios.get((routine, dtype, size)) for size in ("2^16", "2^20", "2^24")]
            cells.append(" ".join(f"{float(ratio):.2f}" for ratio in found if ratio) or "-")
        lines.append(f"| {routine} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def matvec_table() -> str:
    """Level 2 by routine, triangle and transpose, and type: the same, by order."""
    rows = rows_of(MATVECS)
    ratios = {
        (f"{r['routine']} {r['trans']}".strip(), r["dtype"], r["size"]): r["ratio"] for r in rows
    }
    sizes = ("1024", "4096", "8192")
    dtypes = ("float32", "float64", "complex64", "complex128")
    lines = [f"| routine | {' | '.join(dtypes)} |", "|---" * (len(dtypes) + 1) + "|"]
    for name in dict.fromkeys(key[0] for key in ratios):
        found = [[ratios.get((name, dtype, size)) for size in sizes] for dtype in dtypes]
        cells = [" ".join(f"{float(ratio):.2f}" for ratio in each if ratio) for each in found]
        if sum(map(bool, cells)) and all(len(cell.split()) in (0, 3) for cell in cells):
            lines.append(f"| {name} | {' | '.join(cell or '-' for cell in cells)} |")
    return "\n".join(lines) + "\n"


def measured() -> dict[tuple[str, str], list[dict[str, str]]]:
    """The rows of matrices by what the table has a line for: a routine, its form, and a dtype."""
    groups: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in rows_of(MATRICES):
        name = {"gemv": f"gemv {row['trans']}", "gemm": f"gemm {row['size']}"}
        if row["routine"] in name:
            groups.setdefault((name[row["routine"]], row["dtype"]), []).append(row)
    return groups


def summary(name: str, rows: list[dict[str, str]]) -> str:
    """What a line says: products by layout, gemv over its many shapes."""
    ratios = [float(row["ratio"]) for row in rows]
    if name.startswith("gemv"):
        span = f"{min(ratios):.2f}x to {max(ratios):.2f}x"
        return f"{len(rows)} shapes: {span}, geometric mean {geometric_mean(ratios):.2f}x"
    texts = []
    for row, ratio in zip(rows, ratios, strict=True):
        scale, unit = (1e3, "TFLOP/s") if row["unit"] == "GFLOP/s" else (1, row["unit"])
        texts.append(f"{row['trans']}: {float(row['rate']) / scale:.0f} {unit}, {ratio:.2f}x")
    return "; ".join(texts)


def speed_table() -> str:
    """Ours beside cuBLAS, from the measured results."""
    lines = ["| routine | dtype | case: ours, and how many times cuBLAS |", "|---|---|---|"]
    lines += [
        f"| {name} | {dtype} | {summary(name, r)} |" for (name, dtype), r in measured().items()
    ]
    return "\n".join(lines) + "\n"


MAKERS = {
    "routines": routine_table,
    "vectors": vector_table,
    "matvecs": matvec_table,
    "speed": speed_table,
}


def markers(table: str) -> tuple[str, str]:
    """The comments between which the README has a generated table."""
    return f"<!-- {table}: begin -->\n", f"<!-- {table}: end -->\n"


def written_table(table: str) -> str:
    """A generated table as the README has it."""
    begin, end = markers(table)
    return TEXT.split(begin)[1].split(end)[0]


def library(code: str) -> str | None:
    """The GPU array library that a snippet needs, if any."""
    found = LIBRARY.search(code)
    return found.group(1) if found else None


def case(number: int, code: str):
    """A snippet as a test case; one that needs a GPU library belongs to the GPU lane."""
    marks = [pytest.mark.gpu] if library(code) else []
    return pytest.param(code, id=f"{number}-{library(code) or 'numpy'}", marks=marks)


@pytest.mark.parametrize("code", [case(i, code) for i, code in enumerate(SNIPPETS, start=1)])
def test_snippet_prints_what_it_says(code, capsys):
    if library(code):
        pytest.importorskip(library(code))
    exec(compile(code, README.name, "exec"), {})
    assert capsys.readouterr().out.splitlines() == PRINTED.findall(code)


def test_every_library_has_a_snippet():
    assert {library(code) for code in SNIPPETS} == {None, "cupy", "torch"}


@pytest.mark.parametrize("table", TABLES)
def test_generated_tables_are_current(table):
    assert written_table(table) == MAKERS[table](), "stale: run `make readme`"


if __name__ == "__main__":
    for table in TABLES:
        begin, end = markers(table)
        before, rest = TEXT.split(begin)
        TEXT = before + begin + MAKERS[table]() + end + rest.split(end)[1]
    README.write_text(TEXT, encoding="utf-8")
