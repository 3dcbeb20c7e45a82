"""One ordinary call of every routine, made from its Spec, and the judgement of its result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import tileblas as tb
from tileblas.arrays.ingest import ingest
from tileblas.check.data import filled
from tileblas.check.oracle import reference
from tileblas.check.tolerance import judge
from tileblas.core.dtypes import DTYPES
from tileblas.core.spec import Spec
from tileblas.routines.registry import ROUTINES
from tileblas.runtime.driver import driver

#: Long enough for reductions to be split among programs; no size a multiple of a tile.
SIZES = {1: {"n": 300_007}, 2: {"m": 5, "n": 70_001}, 3: {"m": 70, "n": 50, "k": 601}}
SCALARS = {"alpha": 2.0, "beta": 3.0}


@dataclass(frozen=True)
class Form:
    """A routine, and whether it makes a new result or updates an output that is given."""

    routine: str
    new: bool

    def __str__(self) -> str:
        kind = ROUTINES[self.routine].operands[ROUTINES[self.routine].output]
        return f"{self.routine}-{'new' if self.new else 'given'}" if kind.optional else self.routine


def _forms() -> Iterator[Form]:
    for name, spec in ROUTINES.items():
        output = spec.operands[spec.output]
        if output.role == "new" or output.optional:
            yield Form(name, True)
        if output.role != "new":
            yield Form(name, False)


FORMS = tuple(_forms())
GIVEN = tuple(form for form in FORMS if not form.new)


def shapes(
    form: Form, sizes: Mapping[str, int], batch: tuple[int, ...] = ()
) -> dict[str, tuple[int, ...]]:
    """The shapes of the operands that a call of this form is given."""
    return {
        arg.name: (*batch, *(sizes[axis] for axis in arg.axes))
        for arg in ROUTINES[form.routine].arguments
        if not (form.new and arg.is_output)
    }


class Sample:
    """Host operands of one call by name, its scalars, and what it must return."""

    def __init__(
        self,
        form: Form,
        dtype: str = "float32",
        sizes: Mapping[str, int] | None = None,
        seed: int = 0,
        fill: str = "integers",
        batch: tuple[int, ...] = (),
    ) -> None:
        self.form = form
        self.spec: Spec = ROUTINES[form.routine]
        self.dtype = DTYPES[dtype]
        random = np.random.default_rng(seed)
        self.values = {
            name: filled(fill, random, shape, self.dtype)
            for name, shape in shapes(form, sizes or SIZES[self.spec.level], batch).items()
        }
        self.scalars = {name: SCALARS[name] for name in self.spec.scalars}
        if form.new and "beta" in self.scalars:
            self.scalars["beta"] = 0.0

    @property
    def output(self) -> str:
        return self.spec.output_name

    def put(self, library: Any) -> dict[str, Any]:
        """The operands as arrays of a library."""
        return {name: library.put(value) for name, value in self.values.items()}

    def device_scalars(self, library: Any) -> dict[str, Any]:
        """alpha and beta as 0-d arrays; beta beside a new result has to be the number 0."""
        kind = next(iter(self.values.values())).dtype
        names = self.scalars.keys() - ({"beta"} if self.form.new else set())
        return {name: library.put(np.array(self.scalars[name], kind)) for name in names}

    def run(self, arrays: Mapping[str, Any], **changes: Any) -> Any:
        """The call, with some of its scalars or options changed."""
        return getattr(tb, self.spec.name)(**{**arrays, **self.scalars, **changes})

    def plan(self, arrays: Mapping[str, Any]) -> Any:
        """The same call as a plan: its kernels are loaded, and nothing is computed."""
        given = [arrays.get(name) for name in self.spec.argument_names]
        return tb.plan(getattr(tb, self.spec.name), *given, **self.scalars)

    def check(self, found: np.ndarray) -> None:
        """Assert that a result, on the host, is that of the call."""
        compute = self.dtype.compute
        expected = reference(self.spec.name, self.values, self.scalars, {}, compute)
        out = self.spec.operands[self.spec.output].dtype(self.dtype)
        verdict = judge(found, expected, out)
        assert verdict.passed, verdict.message


class Pending:
    """Arrays of NaN, which become the sample's operands when a stream comes so far.

    A call that reads them too early returns NaN. The copies are the driver's own, so nothing has to
    be compiled or loaded while a stream is held.
    """

    def __init__(self, sample: Sample, library: Any) -> None:
        blank = {n: np.full_like(value, np.nan) for n, value in sample.values.items()}
        self.arrays = {name: library.put(value) for name, value in blank.items()}
        self._sources = sample.put(library)
        self._copies = [
            (ingest(self.arrays[name]).pointer, ingest(self._sources[name]).pointer, value.nbytes)
            for name, value in blank.items()
        ]
        library.settle()

    def write(self, stream: int, into: Pending | None = None) -> None:
        """Queue the copies on a stream; `into` other arrays of the same shapes where given."""
        targets = [target for target, _, _ in (into or self)._copies]
        with driver().current(0):
            for target, (_, source, nbytes) in zip(targets, self._copies, strict=True):
                driver().copy_on_device(target, source, nbytes, stream)
