"""Imports point one way through the package, and Triton is met only where it belongs."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "tileblas"

# Each part may import itself and the parts above it in this table.
LAYERS = (
    ("kernels",),  # Triton only: what a kernel depends on is in its own folder
    ("errors",),
    ("core", "settings"),
    ("tuning",),
    ("routines",),
    ("runtime",),
    ("arrays",),
    ("backends",),
    ("api",),
    ("fblas",),
    ("blas",),
    ("tileblas",),  # the public names
    ("check",),
    ("lab",),
    ("cli",),
    ("__main__",),
)
RANK = {part: rank for rank, parts in enumerate(LAYERS) for part in parts}

TRITON = ("kernels/", "runtime/compile.py", "backends/interpret.py")


def relative(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


FILES = sorted(SOURCE.rglob("*.py"), key=relative)
each_file = pytest.mark.parametrize("path", FILES, ids=relative)


def part(module: str) -> str:
    """The part that a module of the package belongs to: tileblas.core.check is of core."""
    names = module.split(".")
    return names[1] if len(names) > 1 and names[1] in RANK else "tileblas"


def imported(path: Path) -> Iterator[str]:
    """The absolute names of the modules that a file imports, inside functions too."""
    package = ["tileblas", *path.relative_to(SOURCE).parent.parts]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            # `from tileblas import api` names a part; `from tileblas.api import dot` a function
            yield from (f"{base}.{alias.name}" for alias in node.names)


def test_every_part_has_a_layer():
    parts = {relative(path).split("/")[0].removesuffix(".py") for path in FILES}
    assert parts - {"__init__"} <= set(RANK)


@each_file
def test_imports_point_down(path):
    name = relative(path)
    own = "tileblas" if name == "__init__.py" else name.split("/")[0].removesuffix(".py")
    ours = [module for module in imported(path) if module.split(".")[0] == "tileblas"]
    wrong = [module for module in ours if part(module) != own and RANK[part(module)] >= RANK[own]]
    assert wrong == []


@each_file
def test_triton_is_imported_by_the_compiler_and_the_interpreter_only(path):
    uses = any(module.split(".")[0] == "triton" for module in imported(path))
    assert not uses or relative(path).startswith(TRITON)


@each_file
def test_a_file_opens_with_what_it_does(path):
    head = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert head, "the first line of a file says what it does"


@each_file
def test_a_file_can_be_read_in_one_sitting(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400
