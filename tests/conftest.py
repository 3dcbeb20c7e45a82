"""Tests that cannot run in this process are skipped by name, each with what it needs.

Where kernels are interpreted, Triton's interpreter is spared a search that takes half its time.
"""

import inspect
from functools import cache

import pytest

from tileblas import settings
from tileblas.backends.select import cuda_available


def missing(item: pytest.Item) -> str | None:
    """What a test needs and this process lacks."""
    if item.get_closest_marker("gpu") and not cuda_available():
        return "needs a CUDA device"
    if item.get_closest_marker("interpret") and not settings.interpreting():
        return "interprets: run it in a process with TRITON_INTERPRET=1"
    if item.get_closest_marker("compile") and settings.interpreting():
        return "compiles: run it in a process without TRITON_INTERPRET"
    return None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        reason = missing(item)
        if reason:
            name = item.name.partition("[")[0]
            item.add_marker(pytest.mark.skip(reason=f"{name} {reason}"), append=False)


def remember_builtins() -> None:
    """Let Triton's interpreter look for the builtins of its language once, not at every call.

    It replaces them anew at each call of a device function, and goes through all members of five
    modules and classes to find them. Which of these are builtins does not change, but for those
    that are replaced already. tests/kernels/test_interpreter.py holds that the same are replaced.
    """
    try:
        from triton.runtime import interpreter
    except ImportError:  # tests of kernels are skipped then, each file of them with that reason
        return
    is_builtin = interpreter.tl.core.is_builtin

    @cache  # at the first call for an owner none of its builtins is replaced yet
    def builtins(owner: object) -> list[str]:
        return [name for name, member in inspect.getmembers(owner) if is_builtin(member)]

    def patch_builtin(owner: object, *builder_and_scope: object) -> None:
        for name in builtins(owner):
            member = getattr(owner, name)
            if is_builtin(member):
                interpreter._patch_attr(owner, name, member, *builder_and_scope)

    patch_builtin.original = interpreter._patch_builtin  # type: ignore[attr-defined]
    interpreter._patch_builtin = patch_builtin


def pytest_configure() -> None:
    if settings.interpreting():
        remember_builtins()
