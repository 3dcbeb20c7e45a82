"""The wrong calls of level 1 that must be refused.

What only NumPy can express (read-only arrays, byte order, object arrays) is in the tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tileblas.check.wrong_calls import At, Refusal


def _dot(id: str, x: At, y: At, *rest, **more) -> Refusal:
    return Refusal(f"dot-{id}", "dot", {"x": x, "y": y}, *rest, **more)


def _nrm2(id: str, x: At, *rest, **more) -> Refusal:
    return Refusal(f"nrm2-{id}", "nrm2", {"x": x}, *rest, **more)


def _scal(id: str, x: At, argument=None, position=None, alpha: Any = 2, **more) -> Refusal:
    keywords = {"alpha": alpha}
    return Refusal(f"scal-{id}", "scal", {"x": x}, argument, position, keywords, **more)


def _axpy(id: str, x: At, y: At, *rest, **more) -> Refusal:
    return Refusal(f"axpy-{id}", "axpy", {"x": x, "y": y}, *rest, **more)


def _call(routine: str, id: str, operands: dict[str, At], *rest, **more) -> Refusal:
    return Refusal(f"{routine}-{id}", routine, operands, *rest, **more)


_ROWS: tuple[Refusal, ...] = (
    _dot("lengths", At((3,)), At((4,)), "y", 4, words=("(3,)", "(4,)")),
    _dot("no-axis-x", At(()), At((4,)), "x", 2, words=("()",)),
    _dot("no-axis-y", At((4,)), At(()), "y", 4, words=("()",)),
    _dot("batches", At((2, 5)), At((3, 5)), "y", 4, words=("(2, 5)", "(3, 5)", "2", "3")),
    _dot("mixed-dtypes", At((3,)), At((3,), "float64"), error=TypeError, words=("float64",)),
    _dot("mixed-complex", At((3,)), At((3,), "complex64"), error=TypeError),
    _dot("integers", At((3,), "int32"), At((3,), "int32"), error=TypeError, words=("int32",)),
    _dot("bool", At((3,), "bool"), At((3,), "bool"), error=TypeError, words=("bool",)),
    _nrm2("no-axis", At(()), "x", 2, words=("()",)),
    _nrm2("integers", At((3,), "int32"), error=TypeError, words=("int32",)),
    _nrm2("bool", At((3,), "bool"), error=TypeError, words=("bool",)),
    _scal("no-axis", At(()), "x", 3, words=("()",)),
    _scal("x-repeats", At((4,), strides=(0,)), "x", 3, words=("overlap",)),
    _scal("x-windows", At((3, 4), strides=(1, 1)), "x", 3, words=("overlap",)),
    _scal("batch-repeats", At((2, 4), strides=(0, 1)), "x", 3, words=("overlap",)),
    _scal("complex-alpha", At((3,)), alpha=1j, error=TypeError, words=("alpha",)),
    _scal("complex-alpha-one", At((3,)), alpha=1 + 0j, error=TypeError),
    _scal("word-alpha", At((3,)), alpha="2", error=TypeError),
    _scal("list-alpha", At((3,)), alpha=[2.0], error=TypeError),
    _scal("no-alpha", At((3,)), alpha=None, error=TypeError),
    _scal("huge-alpha", At((3,)), "alpha", 2, alpha=-(10**400)),
    _scal("integers", At((3,), "int64"), error=TypeError, words=("int64",)),
    _axpy("lengths", At((3,)), At((4,)), "y", 5, words=("(3,)", "(4,)")),
    _axpy("one-is-not-many", At((1,)), At((4,)), "y", 5, words=("(1,)", "(4,)")),
    _axpy("no-axis-x", At(()), At((4,)), "x", 3),
    _axpy("no-axis-y", At((4,)), At(()), "y", 5),
    _axpy("batch-of-y-too-small", At((2, 4)), At((4,)), "y", 5, words=("(4,)", "(2,)")),
    _axpy("batch-of-y-is-one", At((2, 4)), At((1, 4)), "y", 5, words=("(1, 4)", "(2,)")),
    _axpy("batches", At((2, 4)), At((3, 4)), "y", 5, words=("(2, 4)", "(3, 4)", "2", "3")),
    _axpy("y-repeats", At((4,)), At((4,), strides=(0,)), "y", 5, words=("overlap",)),
    _axpy("y-windows", At((3, 4)), At((3, 4), strides=(1, 1)), "y", 5, words=("overlap",)),
    _axpy("x-is-y-shifted", At((4,), buffer="y"), At((4,), start=1), "y", 5, words=("'x'",)),
    _axpy(
        "x-is-y-reversed",
        At((4,), strides=(-1,), start=3, buffer="y"),
        At((4,)),
        "y",
        5,
        words=("'x'",),
    ),
    _axpy("x-is-a-row-of-y", At((4,), buffer="y"), At((3, 4)), "y", 5, words=("'x'",)),
    _axpy("complex-alpha", At((3,)), At((3,)), keywords={"alpha": 1j}, error=TypeError),
    _axpy("complex-alpha-zero", At((3,)), At((3,)), keywords={"alpha": 1 + 0j}, error=TypeError),
    _axpy("word-alpha", At((3,)), At((3,)), keywords={"alpha": "2"}, error=TypeError),
    _axpy("no-alpha", At((3,)), At((3,)), keywords={"alpha": None}, error=TypeError),
    _axpy("list-alpha", At((3,)), At((3,)), keywords={"alpha": [2.0]}, error=TypeError),
    _axpy("huge-alpha", At((3,)), At((3,)), "alpha", 2, keywords={"alpha": 10**400}),
    _axpy("mixed-dtypes", At((3,), "float64"), At((3,)), error=TypeError),
    _axpy("half-into-single", At((3,), "float16"), At((3,)), error=TypeError),
    _axpy("integers", At((3,), "int64"), At((3,), "int64"), error=TypeError),
)


#: Numbers to pass where a call must be refused for other reasons.
_NUMBERS: dict[str, dict[str, Any]] = {
    "rot": {"c": 0.8, "s": 0.6},
    "rotm": {"param": (-1, 1, 2, 3, 4)},
}


def _of_two_vectors(routine: str, x: int, y: int, outputs: str) -> Iterator[Refusal]:
    """What every routine on x and y refuses; x and y are their Fortran numbers."""
    more: dict[str, Any] = {"keywords": _NUMBERS.get(routine, {})}

    def row(id: str, left: At, right: At, *rest, **others) -> Refusal:
        return _call(routine, id, {"x": left, "y": right}, *rest, **others, **more)

    yield row("lengths", At((3,)), At((4,)), "y", y, words=("(3,)", "(4,)"))
    yield row("one-is-not-many", At((1,)), At((4,)), "y", y, words=("(1,)", "(4,)"))
    yield row("no-axis-x", At(()), At((4,)), "x", x, words=("()",))
    yield row("no-axis-y", At((4,)), At(()), "y", y, words=("()",))
    yield row("batches", At((2, 4)), At((3, 4)), "y", y, words=("(2, 4)", "(3, 4)"))
    yield row("mixed-dtypes", At((3,), "float64"), At((3,)), error=TypeError, words=("float64",))
    yield row("integers", At((3,), "int64"), At((3,), "int64"), error=TypeError, words=("int64",))
    if "x" in outputs:
        yield row("batch-of-x", At((4,)), At((2, 4)), "x", x, words=("(4,)", "(2,)"))
        yield row("x-repeats", At((4,), strides=(0,)), At((4,)), "x", x, words=("overlap",))
        yield row("x-windows", At((3, 4), strides=(1, 1)), At((3, 4)), "x", x, words=("overlap",))
    if "y" in outputs:
        yield row("batch-of-y", At((2, 4)), At((4,)), "y", y, words=("(4,)", "(2,)"))
        yield row("y-repeats", At((4,)), At((4,), strides=(0,)), "y", y, words=("overlap",))
        first, position = ("x", x) if "x" in outputs else ("y", y)
        for id, left in (
            ("x-is-y-shifted", At((4,), start=1, buffer="y")),
            ("x-is-y-reversed", At((4,), strides=(-1,), start=3, buffer="y")),
            ("x-is-y-in-steps", At((4,), strides=(2,), buffer="y")),
        ):
            words = (f"'{'y' if first == 'x' else 'x'}'",)
            yield row(id, left, At((4,)), first, position, words=words)


def _of_one_vector(routine: str) -> Iterator[Refusal]:
    yield _call(routine, "no-axis", {"x": At(())}, "x", 2, words=("()",))
    for dtype in ("int32", "bool"):
        yield _call(routine, dtype, {"x": At((3,), dtype)}, error=TypeError, words=(dtype,))
    if routine != "asum":
        for shape in ((0,), (2, 0)):
            yield _call(routine, f"empty-{len(shape)}", {"x": At(shape)}, "x", 2, words=("empty",))


def _of_scalars() -> Iterator[Refusal]:
    """Numbers that are none, or complex where they have to be real."""
    pair = {"x": At((3,)), "y": At((3,))}
    complex_pair = {name: At((3,), "complex64") for name in "xy"}
    yield _call("sdsdot", "complex-alpha", pair, keywords={"alpha": 1j}, error=TypeError)
    yield _call("sdsdot", "huge-alpha", pair, "alpha", 2, keywords={"alpha": 10**400})
    keywords: dict[str, Any]
    for name, position in (("alpha", 2), ("beta", 5)):
        for id, value in (("complex", 1j), ("word", "2"), ("list", [2.0]), ("no", None)):
            wrong = f"{id}-{name}"
            keywords = {name: value}
            yield _call("axpby", wrong, pair, keywords=keywords, error=TypeError, words=(name,))
        keywords = {name: 10**400}
        yield _call("axpby", f"huge-{name}", pair, name, position, keywords=keywords)
    for id, operands, c, s, word in (
        ("complex-c", complex_pair, 1j, 0, "'c'"),
        ("complex-one", complex_pair, 1 + 0j, 0, "'c'"),
        ("complex-s", pair, 1, 1j, "'s'"),
        ("no-c", pair, None, 0, "'c'"),
    ):
        keywords = {"c": c, "s": s}
        yield _call("rot", id, operands, keywords=keywords, error=TypeError, words=(word,))
    for count in (4, 6, 0):
        keywords = {"param": (1.0,) * count}
        told = (str(count), "flag")
        yield _call("rotm", f"{count}-numbers", pair, "param", 6, keywords=keywords, words=told)
    for id, param in (("number", 1.0), ("none", None), ("words", "abcde"), ("complex", (1j,) * 5)):
        yield _call("rotm", f"param-{id}", pair, keywords={"param": param}, error=TypeError)
    for id, operands in (
        ("complex", complex_pair),
        ("complex128", {name: At((3,), "complex128") for name in "xy"}),
    ):
        yield _call("rotm", id, operands, keywords=_NUMBERS["rotm"], error=TypeError, words=(id,))


def _axpydot(id: str, w: At, v: At, u: At, z: At | None, *rest, **more) -> Refusal:
    operands = {"w": w, "v": v, "u": u} | ({"z": z} if z else {})
    return _call("axpydot", id, operands, *rest, **more)


def _of_axpydot() -> Iterator[Refusal]:
    one, stack, long = At((4,)), At((2, 4)), At((5,))
    yield _axpydot("length-of-v", one, long, one, None, "v", 5, words=("(5,)", "(4,)"))
    yield _axpydot("length-of-u", one, one, long, None, "u", 7, words=("(5,)", "(4,)"))
    yield _axpydot("length-of-z", one, one, one, long, "z", 9, words=("(5,)", "(4,)"))
    yield _axpydot("no-axis", At(()), one, one, None, "w", 3, words=("()",))
    yield _axpydot("batches", stack, At((3, 4)), one, None, "v", 5, words=("(2, 4)", "(3, 4)"))
    yield _axpydot("batch-of-z", one, one, stack, one, "z", 9, words=("(4,)", "(2,)"))
    yield _axpydot("z-repeats", one, one, one, At((4,), strides=(0,)), "z", 9, words=("overlap",))
    for other, position in (("w", 0), ("v", 1), ("u", 2)):
        three = [one, one, one]
        three[position] = At((4,), start=1, buffer="z")
        yield _axpydot(f"z-meets-{other}", *three, one, "z", 9, words=(f"'{other}'",))
    yield _axpydot("mixed-dtypes", one, At((4,), "float64"), one, None, error=TypeError)
    yield _axpydot("single-into-double", one, one, one, At((4,), "float64"), error=TypeError)
    yield _axpydot("integers", *(At((4,), "int32"),) * 3, None, error=TypeError, words=("int32",))
    keywords = {"alpha": 1j}
    yield _axpydot("complex-alpha", one, one, one, None, keywords=keywords, error=TypeError)


def _of_numbers() -> Iterator[Refusal]:
    one, three = At((), "float64"), At((3,), "float64")

    def rotg(id: str, a: At, b: At, *rest, **more) -> Refusal:
        return _call("rotg", id, {"a": a, "b": b}, *rest, **more)

    yield rotg("batches", At((2,)), At((3,)), "b", 2, words=("(2,)", "(3,)"))
    yield rotg("mixed-dtypes", one, At(()), error=TypeError, words=("float32", "float64"))
    for dtype in ("float16", "bfloat16", "int32", "bool"):
        yield rotg(dtype, At((), dtype), At((), dtype), error=TypeError, words=(dtype,))

    def rotmg(id: str, numbers: tuple[At, At, At, At], *rest, **more) -> Refusal:
        operands = dict(zip(("d1", "d2", "x1", "y1"), numbers, strict=True))
        return _call("rotmg", id, operands, *rest, **more)

    for dtype in ("complex64", "float16", "int32"):
        yield rotmg(dtype, (At((), dtype),) * 4, error=TypeError, words=(dtype,))
    yield rotmg("batch-of-d1", (one, three, three, three), "d1", 1, words=("(3,)",))
    yield rotmg("batch-of-x1", (three, three, one, three), "x1", 3, words=("(3,)",))
    yield rotmg("batch-of-y1", (one, one, one, three), "d1", 1, words=("(3,)",))
    repeated = At((3,), "float64", strides=(0,))
    yield rotmg("d2-repeats", (three, repeated, three, three), "d2", 2, words=("overlap",))
    shared = At((3,), "float64", buffer="d2")
    yield rotmg("d1-is-d2", (shared, three, three, three), "d1", 1, words=("'d2'",))
    shared = At((), "float64", buffer="x1")
    yield rotmg("x1-is-y1", (one, one, one, shared), "x1", 3, words=("'y1'",))


#: dotc, dotu and dsdot refuse what dot refuses.
ROWS: tuple[Refusal, ...] = (
    *_ROWS,
    *(
        replace(row, id=row.id.replace("dot", name), routine=name)
        for name in ("dotc", "dotu", "dsdot")
        for row in _ROWS
        if row.routine == "dot"
    ),
    *_of_two_vectors("sdsdot", 3, 5, ""),
    *_of_two_vectors("copy", 2, 4, "y"),
    *_of_two_vectors("axpby", 3, 6, "y"),
    *_of_two_vectors("swap", 2, 4, "xy"),
    *_of_two_vectors("rot", 2, 4, "xy"),
    *_of_two_vectors("rotm", 2, 4, "xy"),
    *(row for routine in ("asum", "iamax", "iamin") for row in _of_one_vector(routine)),
    *_of_scalars(),
    *_of_axpydot(),
    *_of_numbers(),
)
