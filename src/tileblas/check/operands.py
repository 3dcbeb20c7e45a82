"""The operands of a case: their values, and which of their elements the call refers to."""

from __future__ import annotations

import numpy as np

from tileblas.check.cases import Case, Plan
from tileblas.check.data import filled
from tileblas.check.guards import Region
from tileblas.check.stored import Cells, cells, dense, matrix_of, order_of
from tileblas.core.dtypes import DTYPES, numpy_dtype
from tileblas.core.storage import math_axes
from tileblas.routines.registry import ROUTINES

_IMAGE = "image"  # the fill of a right-hand side whose solution is whole numbers


def values(case: Case) -> dict[str, np.ndarray]:
    """What the operands of a case hold, by name; random values follow from its id."""
    random = np.random.default_rng(case.seed)
    made = {}
    for plan in case.plans:
        dtype, fill = DTYPES[plan.dtype], "integers" if plan.fill == _IMAGE else plan.fill
        made[plan.name] = filled(fill, random, plan.shape, dtype)
        if plan.diagonal:
            row, column, _ = _cells(case, plan)
            shape = (*plan.shape[: len(plan.shape) - row.ndim], int((row == column).sum()))
            made[plan.name][..., row == column] = filled(plan.diagonal, random, shape, dtype)
    for plan in case.plans:
        if plan.fill == _IMAGE:
            made[plan.name] = _image(case, made, plan)
    return made


def _image(case: Case, made: dict[str, np.ndarray], plan: Plan) -> np.ndarray:
    """op(A) x for the x that was made: of whole numbers, exactly."""
    spec = ROUTINES[case.routine]
    arg = matrix_of(spec)
    assert arg is not None
    n = plan.shape[-1]
    a = dense(spec, made[arg.name], (n, n), dict(case.options)).values
    wide = np.complex128 if np.iscomplexobj(a) else np.float64
    product = np.einsum("...ij,...j->...i", a.astype(wide), made[plan.name].astype(wide))
    return product.astype(numpy_dtype(DTYPES[plan.dtype]))


def region(case: Case, plan: Plan) -> Region | None:
    """Which elements of an operand a call refers to, None if to all of them.

    Of a matrix, those in the band or the triangle that is stored; not the imaginary part of a
    Hermitian diagonal, which an update sets to 0. One that adds nothing writes nothing at all.
    """
    spec, parts = ROUTINES[case.routine], 2 if DTYPES[plan.dtype].is_complex else 1
    arg = spec.operand(plan.name)
    is_idle = arg.is_output and _adds_nothing(case)
    read = written = (np.array(True),) * parts
    if arg is matrix_of(spec):
        where = _cells(case, plan)
        read = written = (where.there,) * parts
        if spec.structure == "hermitian":
            read = (where.there, where.there & (where.row != where.column))
    elif not is_idle:
        return None
    return Region(read, (np.array(False),) * parts if is_idle else written)


def _adds_nothing(case: Case) -> bool:
    """Whether an update, or a product in a triangle, leaves its matrix as it is: alpha or k is 0,
    and beta 1 where there is one."""
    spec, scalars = ROUTINES[case.routine], dict(case.scalars)
    if spec.updates:
        return scalars["alpha"] == 0
    matrix = matrix_of(spec)
    if spec.level < 3 or matrix is None or not matrix.is_output:
        return False
    a = next(plan for plan in case.plans if plan.name == "a")
    axes = math_axes(spec.operand("a"), dict(case.options))
    k = dict(zip(axes, a.shape[-2:], strict=True))["k"]
    return scalars["beta"] == 1 and (scalars["alpha"] == 0 or k == 0)


def _cells(case: Case, plan: Plan) -> Cells:
    spec, options = ROUTINES[case.routine], dict(case.options)
    size = order_of(spec, {plan.name: plan.shape for plan in case.plans}, options)
    return cells(spec, plan.shape, size, options)
