"""The `tileblas` command: says which extra is missing, or hands over to the lab's commands."""

from __future__ import annotations

import sys

# The packages of the extra that the commands are made with.
_LAB = ("rich", "typer")
_MISSING = 2


def main() -> None:
    """Run the command line."""
    try:
        from tileblas.lab.commands import app
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in _LAB:
            raise
        print(
            f"tileblas: the command line needs {error.name}: pip install 'tileblas[lab]'",
            file=sys.stderr,
        )
        sys.exit(_MISSING)
    app()
