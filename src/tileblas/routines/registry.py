"""All routines by name."""

from __future__ import annotations

from tileblas.core.spec import Spec
from tileblas.routines import level1, level2, level3

ROUTINES: dict[str, Spec] = {
    spec.name: spec for spec in (*level1.SPECS, *level2.SPECS, *level3.SPECS)
}


def families() -> dict[str, tuple[Spec, ...]]:
    """Routines by the name that `check` and `bench` take: dot stands for dot, dotc, dotu."""
    groups: dict[str, tuple[Spec, ...]] = {}
    for spec in ROUTINES.values():
        groups[spec.family] = (*groups.get(spec.family, ()), spec)
    return groups
