"""SciPy's own tests of its BLAS, run on tileblas.blas in its place: `make test-scipy`.

    python tests/scipy_suite.py [options of pytest]

Names that tileblas.blas does not have yet are filled in from SciPy, whose tests look them up as
they are imported; the tests that need them are left out, by name. One that is left out although
nothing is missing any more is an error, and so is one that would test a function of SciPy's.
"""

from __future__ import annotations

import importlib
import sys
import types

import pytest
import scipy.linalg
import scipy.linalg.blas as theirs

import tileblas
from tileblas import blas
from tileblas.fblas.names import FUNCTIONS
from tileblas.fblas.routine import Routine

SUITE = "scipy.linalg.tests.test_blas"

#: Tests of routines that are yet to come, by what they need.
NOT_YET = {
    "trmm": ("test_side", "test_ab", "test_ab_lower", "test_b_overwrites"),
    "trsm": ("test_trsm", "test_gh_169309"),
}


class Selection:
    """A plugin of pytest that leaves out the tests of what is yet to come."""

    def pytest_collection_modifyitems(self, config, items):
        names = {getattr(item, "originalname", item.name) for item in items}
        left_out = {name for tests in NOT_YET.values() for name in tests}
        if unknown := left_out - names:
            raise pytest.UsageError(f"SciPy has no tests {sorted(unknown)}")
        kept, dropped = [], []
        for item in items:
            name = getattr(item, "originalname", item.name)
            parameters = item.callspec.params if hasattr(item, "callspec") else {}
            tested = parameters.get("f")
            if tested is not None and isinstance(tested, Routine) == (name in left_out):
                raise pytest.UsageError(f"{name} tests {tested}: NOT_YET says otherwise")
            (dropped if name in left_out else kept).append(item)
        config.hook.pytest_deselected(items=dropped)
        items[:] = kept


def replace() -> None:
    """Put our functions where SciPy's tests look for its own."""
    original = theirs.get_blas_funcs

    def get_blas_funcs(names, *arguments, **keywords):
        try:
            return blas.get_blas_funcs(names, *arguments, **keywords)
        except ValueError:
            return original(names, *arguments, **keywords)

    stand_in = types.ModuleType("scipy.linalg._fblas")
    stand_in.__dict__.update(vars(importlib.import_module("scipy.linalg._fblas")), **vars(blas))
    sys.modules["scipy.linalg._fblas"] = scipy.linalg._fblas = stand_in
    for module in (theirs, scipy.linalg):
        module.get_blas_funcs = get_blas_funcs
    theirs.__dict__.update(FUNCTIONS)


def main(options: list[str]) -> int:
    replace()
    file = importlib.import_module(SUITE).__file__
    with tileblas.backend("cpu"):
        quiet = ["-q", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", "/"]
        return pytest.main([file, *quiet, *options], plugins=[Selection()])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
