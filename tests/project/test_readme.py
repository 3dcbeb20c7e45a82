"""What the README shows is true: its snippets run and print what they say, its table is current.

Run as a program, this file rewrites the table: `make readme`.
"""

import re
from pathlib import Path

import pytest

from tileblas.core.dtypes import DTYPES
from tileblas.routines.registry import ROUTINES

README = Path(__file__).parents[2] / "README.md"
TEXT = README.read_text(encoding="utf-8")
BEGIN, END = "<!-- routines: begin -->\n", "<!-- routines: end -->\n"

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


def written_table() -> str:
    """The table as the README has it."""
    return TEXT.split(BEGIN)[1].split(END)[0]


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


def test_table_of_routines_is_current():
    assert written_table() == routine_table(), "stale: run `make readme`"


if __name__ == "__main__":
    before, rest = TEXT.split(BEGIN)
    after = rest.split(END)[1]
    README.write_text(before + BEGIN + routine_table() + END + after, encoding="utf-8")
