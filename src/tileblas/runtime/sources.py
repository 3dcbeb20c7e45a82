"""Where kernel sources lie: their digest without importing them, and a kernel by its name."""

from __future__ import annotations

import functools
import hashlib
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Kernels:
    """A package of Triton kernels and the folder of its files."""

    package: str
    folder: Path

    def function(self, name: str) -> Callable:
        """The kernel named "<file>.<function>". Imports Triton."""
        file, _, function = name.partition(".")
        module = importlib.import_module(f"{self.package}.{file}")
        try:
            return getattr(module, function)
        except AttributeError:
            raise LookupError(f"no kernel {name!r} in {self.package}") from None

    def digest(self) -> str:
        """Hash of every source file, so that a change in any helper changes every key."""
        return _digest(self.folder)


@functools.cache
def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        source = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()} {len(source)}\n".encode())
        digest.update(source)
    return digest.hexdigest()


KERNELS = Kernels("tileblas.kernels", Path(__file__).parents[1] / "kernels")
