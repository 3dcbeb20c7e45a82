"""One ordinary call of every routine, made from its Spec, and the judgement of its results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

import tileblas as tb
from tileblas.arrays.ingest import ingest
from tileblas.check.data import filled
from tileblas.check.oracle import references
from tileblas.check.stored import cells, matrix_of, order_of
from tileblas.check.tolerance import judge
from tileblas.core.canon import new_output
from tileblas.core.dtypes import DTYPES, RESULTS, DType, numpy_dtype
from tileblas.core.spec import Spec
from tileblas.core.storage import math_axes, shape_of
from tileblas.routines.registry import ROUTINES
from tileblas.runtime.driver import driver

#: Long enough for reductions to be split among programs; no size a multiple of a tile.
SIZES = {1: {"n": 300_007}, 2: {"m": 5, "n": 70_001}, 3: {"m": 70, "n": 50, "k": 601}}
#: Of square matrices: some tiles, of which the last is short; and the rows of a band.
ORDER, DIAGONALS = 301, 5
#: The routines on triangles and bands that are called: of each kernel, storage and structure some.
STRUCTURED = (
    *("symv", "hemv", "sbmv", "spmv", "gbmv", "trmv", "tpmv", "trsv", "tbsv"),
    *("syr", "her2", "gemvt", "symm", "herk"),
)
#: How many rotations a call makes where no sizes are named: the share of more than one program.
ROTATIONS = 257
SCALARS = {"alpha": 2.0, "beta": 3.0, "c": 0.5, "s": -2.0}
SCALARS |= {"flag": -1.0, "h11": 2.0, "h21": -3.0, "h12": 0.5, "h22": 4.0}
#: Of whole numbers the largest comes too early to tell much.
_FILLS = {"iamax": "random"}
#: What a library without types of 64 bits makes of a result.
_NARROWED = {"int64": "int32", "float64": "float32"}


@dataclass(frozen=True)
class Form:
    """A routine, and whether all it writes is new; if not, the outputs that can be are given."""

    routine: str
    new: bool

    def __str__(self) -> str:
        kinds = [self.spec.operands[index] for index in self.spec.outputs]
        if not any(kind.optional for kind in kinds):
            return self.routine
        return f"{self.routine}-{'new' if self.new else 'given'}"

    @property
    def spec(self) -> Spec:
        return ROUTINES[self.routine]

    @property
    def given(self) -> tuple[str, ...]:
        """The outputs that the caller passes."""
        return tuple(arg.name for arg in self.spec.arguments if arg.is_output and not self.new)

    @property
    def read(self) -> tuple[str, ...]:
        """The operands that no call changes."""
        return tuple(arg.name for arg in self.spec.arguments if arg.role == "in")

    @property
    def made(self) -> tuple[str, ...]:
        """The outputs that the call makes, for real operands."""
        outputs = (self.spec.operands[index].name for index in self.spec.outputs)
        return tuple(name for name in outputs if name not in self.given)

    @property
    def sums(self) -> bool:
        """Whether some output has fewer axes than there are sizes: then programs may share it.

        So they may the product of a square matrix, whose two sizes are one.
        """
        outputs = [self.spec.operands[index] for index in self.spec.outputs]
        matrix = matrix_of(self.spec) if self.is_square else None
        return any(set(self.spec.dims) - set(output.axes) for output in outputs) or not (
            matrix is None or matrix.is_output
        )

    @property
    def is_square(self) -> bool:
        """Whether the matrix is a square one, of which not all elements are stored or read."""
        return self.spec.structure not in ("", "both")

    @property
    def options(self) -> dict[str, int]:
        """What has no default: the diagonals below the main one of a band."""
        return {"kl": 1} if "kl" in self.spec.option_names else {}

    def dtype(self, dtype: str) -> str:
        """A type that the routine takes: this one, or its first."""
        return dtype if dtype in self.spec.dtypes else self.spec.dtypes[0]

    def sizes(self, sizes: Mapping[str, int] | None = None) -> dict[str, int]:
        """The sizes of a call where these are asked for, or of an ordinary one.

        A square matrix has one, which is less than the length that a vector may have.
        """
        found = dict(SIZES[self.spec.level] if sizes is None else sizes)
        if self.is_square:
            n = ORDER if sizes is None else found["n"]
            n = n if n <= 1 << 14 else ORDER + n % 1000
            found |= {"m": n, "n": n, "b": DIAGONALS}
        return found

    def made_bytes(self, sizes: Mapping[str, int], batch: tuple[int, ...] = ()) -> dict[str, int]:
        """The bytes of each output that a call on operands of the usual type makes."""
        kinds, dtype = {name: self.spec.operand(name) for name in self.made}, self.dtype("float32")
        return {
            name: prod(new_output(kind, self.sizes(sizes), batch))
            * kind.dtype(DTYPES[dtype]).itemsize
            for name, kind in kinds.items()
        }

    def keywords(self, scalars: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The scalars as they are passed, numbers or the one sequence of them all, and options."""
        values = dict(ordinary_scalars(self) if scalars is None else scalars)
        passed = {self.spec.packed: tuple(values.values())} if self.spec.packed else values
        return passed | self.options


def ordinary_scalars(form: Form) -> dict[str, float]:
    """A number for each scalar; beside a new result beta has to be 0."""
    scalars = {name: SCALARS[name] for name in form.spec.scalars}
    return scalars | ({"beta": 0.0} if form.new and "beta" in scalars else {})


def _forms() -> Iterator[Form]:
    for name, spec in ROUTINES.items():
        if spec.structure and name not in STRUCTURED:
            continue
        given = [arg for arg in spec.arguments if arg.is_output]
        if all(arg.optional for arg in given):
            yield Form(name, True)
        if given:
            yield Form(name, False)


FORMS = tuple(_forms())
GIVEN = tuple(form for form in FORMS if form.given)


def typed(*dtypes: str, forms: tuple[Form, ...] = FORMS) -> list[tuple[Form, str]]:
    """Pairs of a form and a type: those that sum with each type, the others with one, in turn."""
    pairs: list[tuple[Form, str]] = []
    for turn, form in enumerate(forms):
        known = [dtype for dtype in dtypes if dtype in form.spec.dtypes] or [form.spec.dtypes[0]]
        pairs += [(form, dtype) for dtype in (known if form.sums else [known[turn % len(known)]])]
    return pairs


def shapes(
    form: Form, sizes: Mapping[str, int], batch: tuple[int, ...] = ()
) -> dict[str, tuple[int, ...]]:
    """The shapes of the operands that a call of this form is given."""
    found = form.sizes(sizes)
    return {
        arg.name: (*batch, *shape_of(math_axes(arg, {arg.trans: "N", arg.sided: "L"}), found))
        for arg in form.spec.arguments
        if not (form.new and arg.is_output)
    }


class Host:
    """The library of arrays that are on the host already."""

    narrow = False

    def get(self, array: Any) -> np.ndarray:
        return np.asarray(array)


HOST = Host()


class Sample:
    """Host operands of one call by name, its scalars, and what it must return.

    A routine of numbers has one for each member of the batch; some hundred where neither sizes nor
    a batch are named.
    """

    def __init__(
        self,
        form: Form,
        dtype: str = "float32",
        sizes: Mapping[str, int] | None = None,
        seed: int = 0,
        fill: str = "",
        batch: tuple[int, ...] = (),
    ) -> None:
        self.form, self.spec, self.dtype = form, form.spec, DTYPES[form.dtype(dtype)]
        if sizes is None and not self.spec.dims:
            batch = batch or (ROTATIONS,)
        fill = fill or _FILLS.get(self.spec.family, "integers")
        random = np.random.default_rng(seed)
        self.values = {
            name: np.asarray(filled(fill, random, shape, self.dtype))
            for name, shape in shapes(form, form.sizes(sizes), batch).items()
        }
        if self.spec.name.endswith("sv") and fill != "nan":
            self._condition(random)
        self.scalars = ordinary_scalars(form)

    def _condition(self, random: np.random.Generator) -> None:
        """Give the triangle small elements and a dominant diagonal: solutions do not grow."""
        arg = matrix_of(self.spec)
        assert arg is not None
        a = np.asarray(filled("random", random, self.values[arg.name].shape, self.dtype))
        shapes = {name: value.shape for name, value in self.values.items()}
        places = cells(self.spec, a.shape, order_of(self.spec, shapes, {}), {})
        diagonal = places.row == places.column
        shape = (*a.shape[: a.ndim - diagonal.ndim], int(diagonal.sum()))
        a[..., diagonal] = filled("dominant", random, shape, self.dtype)
        self.values[arg.name] = a

    def put(self, library: Any) -> dict[str, Any]:
        """The operands as arrays of a library."""
        return {name: library.put(value) for name, value in self.values.items()}

    def device_scalars(self, library: Any) -> dict[str, Any]:
        """The scalars as keywords, as 0-d arrays or one array of all of them.

        Beside a new result beta has to be the number 0.
        """
        spec, names = self.spec, self.scalars.keys() - ({"beta"} if self.form.new else set())
        kinds = dict.fromkeys(spec.real_scalars, DTYPES[self.dtype.real])
        if spec.packed:
            kind = numpy_dtype(DTYPES[self.dtype.real])
            return {spec.packed: library.put(np.array(list(self.scalars.values())).astype(kind))}
        return {
            name: library.put(
                np.array(self.scalars[name], numpy_dtype(kinds.get(name, self.dtype)))
            )
            for name in names
        }

    def rewrite(self, scalars: Mapping[str, Any]) -> None:
        """Give device scalars, as they were passed, the values that the sample's have now."""
        for name, array in scalars.items():
            if name == self.spec.packed:
                for place, value in enumerate(self.scalars.values()):
                    array[place] = value
            else:
                array[...] = self.scalars[name]

    def run(self, arrays: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
        """The outputs of the call by name, with some of its scalars or options changed."""
        call = getattr(tb, self.spec.name)
        keywords = self.form.keywords(self.scalars)
        return self.named(call(**{**arrays, **keywords, **changes}), arrays)

    def named(self, returned: Any, arrays: Mapping[str, Any]) -> dict[str, Any]:
        """What a call returned by name, and what it updated besides."""
        names = self.spec.returns
        found = dict(zip(names, returned if len(names) > 1 else (returned,), strict=True))
        for name in names:
            if not self.spec.operand(name).exists(self.dtype):
                assert found.pop(name) is None
        besides = {n: arrays[n] for n in self.form.given if _changes(arrays[n])}
        return besides | found

    def plan(self, arrays: Mapping[str, Any]) -> Any:
        """The same call as a plan: its kernels are loaded, and nothing is computed."""
        given = {name: arrays[name] for name in self.spec.argument_names if name in arrays}
        keywords = self.form.keywords(self.scalars)
        return tb.plan(getattr(tb, self.spec.name), **given, **keywords)

    def check(self, found: Mapping[str, Any], library: Any = HOST) -> None:
        """Assert that outputs, arrays of a library, are those of the call."""
        host = {name: library.get(array) for name, array in found.items()}
        compute = self.dtype.compute
        expected = references(
            self.spec.name, self.values, self.scalars, self.form.options, compute, host
        )
        for name, array in host.items():
            kind = self._kind(name, array, library.narrow)
            array = array.astype(np.int64) if array.dtype == np.int32 else array
            verdict = judge(array, expected[name], kind)
            assert verdict.passed, f"{name} {verdict.message}"

    def _kind(self, name: str, array: np.ndarray, narrow: bool) -> DType:
        """The type of an output, which has to be the right one."""
        kind = self.spec.operand(name).dtype(self.dtype).name
        if narrow and array.dtype.name != kind:
            kind = _NARROWED[kind]
        assert array.dtype.name == kind, f"{name} is {array.dtype}"
        return RESULTS.get(kind, RESULTS["int64"])


def _changes(array: Any) -> bool:
    """Whether an array can be written: those of JAX cannot."""
    return not type(array).__module__.startswith("jax")


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
