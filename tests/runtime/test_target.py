import pytest

from tileblas.runtime.target import ROWS, TARGETS, Target, for_capability


@pytest.mark.parametrize("text", ["sm_90", "sm90", "90", " SM_90 "])
def test_parse(text):
    assert Target.parse(text) == Target(90)


def test_name_round_trip():
    assert [Target.parse(str(target)) for target in TARGETS] == list(TARGETS)


@pytest.mark.parametrize("text", ["", "sm_", "hopper", "sm_91"])
def test_unknown_names_list_the_known(text):
    with pytest.raises(ValueError, match="sm_80, sm_89, sm_90, sm_100, sm_120"):
        Target.parse(text)


@pytest.mark.parametrize(
    ("capability", "arch"),
    [((8, 0), 80), ((8, 6), 80), ((8, 9), 89), ((9, 0), 90), ((10, 0), 100), ((12, 0), 120)],
)
def test_for_capability(capability, arch):
    assert for_capability(*capability) == Target(arch)


@pytest.mark.parametrize("capability", [(7, 5), (10, 3), (12, 1), (13, 0)])
def test_devices_without_code_are_refused(capability):
    with pytest.raises(RuntimeError, match="no target for compute capability"):
        for_capability(*capability)


def test_shared_limits_leave_the_reserved_kilobyte():
    assert {arch: row.shared_limit for arch, row in ROWS.items()} == {
        80: 166912,
        89: 101376,
        90: 232448,
        100: 232448,
        120: 101376,
    }
