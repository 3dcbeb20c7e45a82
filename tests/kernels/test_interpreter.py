"""What the tests change in Triton's interpreter makes it faster, and nothing else: see conftest."""

import pytest

pytest.importorskip("triton")
pytestmark = pytest.mark.interpret

from triton.runtime import interpreter  # noqa: E402

from tileblas.kernels import elementwise  # noqa: E402

QUICK = interpreter._patch_builtin


@pytest.mark.parametrize("inside", [False, True], ids=["kernel", "function of a kernel"])
def test_the_same_builtins_are_replaced(inside, monkeypatch):
    """At a launch, and where they are replaced already, since a device function is called."""
    found = []
    for patch in (QUICK.original, QUICK):
        monkeypatch.setattr(interpreter, "_patch_builtin", patch)
        scopes = [interpreter._patch_lang(elementwise.combine_kernel.fn) for _ in range(1 + inside)]
        found.append([(owner, name) for owner, name, _ in scopes[-1]._changes])
        for scope in reversed(scopes):
            scope.restore()
    assert found[0] == found[1]
    names = {name for _, name in found[0]}
    assert ({"load", "store", "where"} <= names) is not inside
