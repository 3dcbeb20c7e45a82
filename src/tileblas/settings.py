"""Choices a user makes for calls to come: the backend of host arrays, and whether copies may be."""

from __future__ import annotations

import os
import sys
import threading
import weakref
from contextvars import ContextVar, Token
from typing import Any

from tileblas.errors import BlasError

BACKENDS = ("auto", "cuda", "cpu", "interpret")
COPIES = ("allow", "forbid")


class _Setting:
    """A value with process-wide choices, the latest of which holds, and overrides of one context.

    A choice that is used in a `with` statement stops being process-wide when its block is entered.
    """

    def __init__(self, name: str, allowed: tuple[str, ...], default: str) -> None:
        self.name, self.allowed, self.default = name, allowed, default
        self.override: ContextVar[str | None] = ContextVar(f"tileblas_{name}", default=None)
        self._choices: list[tuple[weakref.ref, str]] = []
        self._lock = threading.Lock()

    def get(self) -> str:
        choices = self._choices
        return self.override.get() or (choices[-1][1] if choices else self.default)

    def check(self, value: Any) -> str:
        if value not in self.allowed:
            names = ", ".join(self.allowed)
            raise BlasError(self.name, None, f"{value!r} is unknown; it must be one of {names}")
        return value

    def choose(self, choice: object, value: str) -> None:
        """Make `value` hold for the process, until a later choice or until `withdraw`."""
        with self._lock:
            # What lies below a choice whose object is gone can never hold again.
            gone = [i for i, (owner, _) in enumerate(self._choices) if owner() is None]
            kept = self._choices[gone[-1] :] if gone else self._choices
            self._choices = [*kept, (weakref.ref(choice), value)]

    def withdraw(self, choice: object) -> None:
        """Take a choice back; the one before it, or the default, holds again."""
        with self._lock:
            self._choices = [entry for entry in self._choices if entry[0]() is not choice]


_copies = _Setting("copies", COPIES, "allow")
_backend = _Setting("backend", BACKENDS, "auto")


class _Choice:
    """Sets a value for the process when called; as a context, for its block and thread only."""

    def __init__(self, setting: _Setting, value: str) -> None:
        self._setting, self._value = setting, setting.check(value)
        self._tokens: list[Token] = []
        setting.choose(self, self._value)

    def __enter__(self):
        self._setting.withdraw(self)
        self._tokens.append(self._setting.override.set(self._value))
        return self

    def __exit__(self, *exception) -> None:
        self._setting.override.reset(self._tokens.pop())


class backend(_Choice):
    """Choose where NumPy arrays and CPU tensors run: "auto", "cuda", "cpu" or "interpret".

    `tb.backend("cpu")` sets it for the process, `with tb.backend("cpu"):` for a block. Arrays on a
    CUDA device always run there. "interpret" runs the GPU kernels in Triton's interpreter; a
    process either interprets or compiles, so it must be asked for before Triton is imported.
    Raises BlasError for an unknown name, and for "interpret" asked for too late.
    """

    def __init__(self, name: str) -> None:
        if _backend.check(name) == "interpret":
            prepare_interpreter()
        super().__init__(_backend, name)


class options(_Choice):
    """`tb.options(copies="forbid")`: the documented copies become an error.

    Copies are made by the CPU backend for half types, for matrices (inputs and output) without a
    unit stride, and for conjugation that SciPy's BLAS cannot express; and of a JAX array that is
    an output, since it cannot change. Staging NumPy arrays to a device is no such copy.
    """

    def __init__(self, *, copies: str) -> None:
        super().__init__(_copies, copies)


def chosen_backend() -> str:
    """The backend asked for, "auto" if none was."""
    return _backend.get()


def copies_forbidden() -> bool:
    return _copies.get() == "forbid"


def prepare_interpreter() -> None:
    """Make Triton an interpreter in this process; BlasError where it is a compiler already."""
    if interpreting():
        return
    if "triton" in sys.modules:
        message = (
            "'interpret' was asked for after triton was imported; set TILEBLAS_BACKEND=interpret, "
            "or ask before the first import of triton"
        )
        raise BlasError("backend", None, message)
    os.environ["TRITON_INTERPRET"] = "1"


def interpreting() -> bool:
    """Whether Triton interprets in this process."""
    return os.environ.get("TRITON_INTERPRET", "0").lower() in ("1", "true", "on", "yes")


def _from_environment() -> None:
    name = os.environ.get("TILEBLAS_BACKEND")
    if name:
        backend(name.lower())


_from_environment()
