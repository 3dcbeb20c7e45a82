"""Versions of installed packages, read without importing them."""

from __future__ import annotations

import importlib.metadata
import re
from functools import cache


@cache
def triton_version() -> str:
    """Version of the installed Triton, "none" where there is none."""
    for name in ("triton", "pytorch-triton"):
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return "none"


def number(version: str) -> tuple[int, ...]:
    """Major and minor number of a version, () for "none"."""
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])
