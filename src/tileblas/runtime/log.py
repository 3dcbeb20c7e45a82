"""TILEBLAS_LOG=1 prints each launch and each compilation once to stderr."""

from __future__ import annotations

import os
import sys

enabled = os.environ.get("TILEBLAS_LOG", "0") not in ("", "0")

_seen: set[object] = set()


def once(kind: str, record: object, key: object = None) -> None:
    """Print "tileblas <kind>: <record>", once per kind and key (by default the record)."""
    if not enabled:
        return
    mark = (kind, record if key is None else key)
    if mark not in _seen:
        _seen.add(mark)
        print(f"tileblas {kind}: {record}", file=sys.stderr)
