"""Fork guard: a child forked after CUDA was initialised is refused every use of it."""

from __future__ import annotations

import os

# True in a child that was forked after CUDA was initialised here. Read on the launch path.
lost = False

_initialised = False


def note_initialised() -> None:
    """Remember that this process has initialised CUDA."""
    global _initialised
    _initialised = True


def error() -> RuntimeError:
    """The exception that says what happened and what to do."""
    return RuntimeError(
        "CUDA was initialised before fork, and a forked child cannot use it; "
        'start the process with multiprocessing.get_context("spawn")'
    )


def check() -> None:
    """Raise RuntimeError where CUDA was lost by a fork."""
    if lost:
        raise error()


def _after_fork_in_child() -> None:
    global lost
    lost = lost or _initialised


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
