"""The stub of tileblas.blas, whose functions are made at run time, is what they are.

Run as a program, this file rewrites the stub: `make stub`.
"""

import ast
import inspect
from pathlib import Path

import tileblas
from tileblas import blas
from tileblas.fblas import names

STUB = Path(tileblas.__file__).parent / "blas.pyi"

_HEAD = '''"""BLAS by SciPy's names. Made from the routines by `make stub`."""

from typing import Any

from tileblas.fblas.names import find_best_blas_type as find_best_blas_type
from tileblas.fblas.names import get_blas_funcs as get_blas_funcs

__all__: list[str]
'''


SIZES = ("m", "n", "k", "kl", "ku")


def parameter(found: inspect.Parameter) -> str:
    """One parameter: arrays and numbers are anything, the rest are integers."""
    if found.default is found.empty:
        return f"{found.name}: {'int' if found.name in SIZES else 'Any'}"
    if found.default is None:
        return f"{found.name}: {'int | None' if found.name == 'n' else 'Any'} = ..."
    return f"{found.name}: {'int' if isinstance(found.default, int) else 'Any'} = ..."


def stub() -> str:
    """The text of the stub, as the formatter leaves it."""
    lines = [_HEAD]
    for name, routine in names.FUNCTIONS.items():
        parameters = list(map(parameter, inspect.signature(routine).parameters.values()))
        line = f"def {name}({', '.join(parameters)}) -> Any: ..."
        if len(line) > 100:
            body = ",\n    ".join(parameters)
            line = f"def {name}(\n    {body},\n) -> Any: ..."
        lines.append(line)
    return "\n".join(lines) + "\n"


def test_the_stub_is_current():
    assert STUB.read_text(encoding="utf-8") == stub(), "run `make stub`"


def test_the_stub_declares_every_name():
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    declared = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert declared | {"find_best_blas_type", "get_blas_funcs"} == set(blas.__all__)


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
