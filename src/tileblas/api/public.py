"""What makes a public function of a routine: its documentation, and a check of its signature."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from tileblas.core.spec import Spec
from tileblas.routines.documentation import docstring

F = TypeVar("F", bound=Callable[..., Any])

SPECS: dict[Callable[..., Any], Spec] = {}


def public(spec: Spec) -> Callable[[F], F]:
    """Give a function the documentation of its Spec, once its signature is found to agree."""

    def decorate(function: F) -> F:
        named = list(spec.parameters)
        named += [option.name for option in spec.options] + ["math"] * spec.takes_math + ["stream"]
        if list(inspect.signature(function).parameters) != named:
            raise TypeError(f"{spec.name}: the signature is not that of its Spec: {named}")
        function.__doc__ = docstring(spec)
        SPECS[function] = spec
        return function

    return decorate
