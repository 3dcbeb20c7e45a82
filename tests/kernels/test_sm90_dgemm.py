"""The DGEMM for sm_90: what the compiler makes of it, and its shared layouts, bank by bank."""

import itertools

import pytest

from tileblas.core.versions import number, triton_version

pytest.importorskip("triton")
if number(triton_version()) >= (3, 8):
    pytest.skip("the DGEMM body is for Triton 3.6 and 3.7", allow_module_level=True)
pytestmark = pytest.mark.compile

import sass  # noqa: E402
from sass import SHARED_LIMIT, compiled, count  # noqa: E402
from triton.experimental.gluon._runtime import GluonASTSource  # noqa: E402

from tileblas.kernels import sm90_dgemm  # noqa: E402

LAYOUTS = ("kn", "kk", "mn", "mk")  # the contiguous axis of A and of B
# BLOCK_M, BLOCK_N, BLOCK_K, STAGES, WARPS_M, warps
TILES = ((128, 64, 16, 4, 2, 4), (64, 64, 16, 4, 2, 4))


@pytest.fixture(autouse=True)
def gluon(monkeypatch):
    monkeypatch.setattr(sass, "ASTSource", GluonASTSource)


def dgemm(layout, config, beta="zero", kind=""):
    block_m, block_n, block_k, stages, warps_m, warps = config
    constants = {"a_" + layout[0]: 1, "b_" + layout[1]: 1, "c_n": 1, "alpha_im": 0, "beta_im": 0}
    constants |= {"NEGATE": False, "ALPHA_KIND": "real", "BETA_KIND": beta, "GROUP_M": 8}
    constants |= {"C_KIND": kind, "C_LOWER": True}
    constants |= {"BLOCK_M": block_m, "BLOCK_N": block_n, "BLOCK_K": block_k}
    constants |= {"STAGES": stages, "WARPS_M": warps_m}
    return compiled(sm90_dgemm.dgemm_kernel, "float64", constants, warps=warps)


@pytest.mark.parametrize("config", TILES, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_loops_multiply_on_tensor_cores_and_do_not_spill(layout, config):
    """Both main loops: that of inner tiles, with 16-byte copies only, and that of edge tiles."""
    block_m, block_n, block_k, _, _, warps = config
    code = dgemm(layout, config)
    loops = [loop for loop in code.loops() if count(loop, "DMMA")]
    assert len(loops) == 2
    for loop in loops:
        assert loop["DMMA.16x8x8"] == block_m * block_n * block_k // (16 * 8 * 8 * warps)
        assert not count(loop, "LDG")
        assert not count(loop, "LDL") + count(loop, "STL")
    copies = (block_m + block_n) * block_k // (2 * 32 * warps)
    assert copies in [sum(n for o, n in loop.items() if "BYPASS" in o) for loop in loops]
    assert code.shared <= SHARED_LIMIT[90]


@pytest.mark.parametrize("kind", ["", "symmetric"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_beta_keeps_the_loops_free_of_spills(layout, kind):
    """So does one triangle of C."""
    loops = [loop for loop in dgemm(layout, TILES[0], "real", kind).loops() if count(loop, "DMMA")]
    assert len(loops) == 2
    assert not any(count(loop, "LDL") + count(loop, "STL") for loop in loops)


def linear(layout, address):
    """The coordinates of the element at `address`: bases of the address's bits, exclusive-ored."""
    found = [0] * len(layout.offset_bases[0])
    for bit, basis in enumerate(layout.offset_bases):
        if address >> bit & 1:
            found = [x ^ y for x, y in zip(found, basis, strict=True)]
    return tuple(found)


def panel_addresses(lines, depth, warps, along_k):
    layout = sm90_dgemm.panel_layout(lines, depth, warps, along_k)
    assert len(layout.offset_bases) == (lines * depth).bit_length() - 1
    return {linear(layout, address): address for address in range(lines * depth)}


PANELS = list(itertools.product((64, 128), (16, 32), (1, 2, 4), (False, True)))


@pytest.mark.parametrize(("lines", "depth", "warps", "along_k"), PANELS)
@pytest.mark.parametrize("operand", [0, 1])
def test_fragments_are_where_the_copies_put_them(lines, depth, warps, along_k, operand):
    """Element by element, as PTX lays out mma.m16n8k8: A (row, k) and B (k, column)."""
    panel = panel_addresses(lines, depth, warps, along_k)
    assert len(panel) == lines * depth
    layout = sm90_dgemm.block_layout(warps, along_k, operand)
    size = 128 * warps
    block = {linear(layout, address): address for address in range(size)}
    assert len(block) == size
    count = lines // (16 * warps)
    for index, (warp, lane, element) in itertools.product(range(lines * depth // size), block):
        slice_, i = divmod(index, count)
        right, deep = (element % 2, element // 2) if operand == 0 else divmod(element, 2)
        line = (i * warps + warp) * 16 + 8 * right + lane // 4
        k = 8 * slice_ + 4 * deep + lane % 4
        assert panel[line, k] == index * size + block[warp, lane, element]


@pytest.mark.parametrize("warps", [1, 2, 4])
@pytest.mark.parametrize("along_k", [False, True])
@pytest.mark.parametrize("operand", [0, 1])
def test_fragment_loads_meet_no_bank_conflict(warps, along_k, operand):
    """Half a warp loads 16 elements of 8 bytes from all 32 banks of 4 bytes."""
    layout = sm90_dgemm.block_layout(warps, along_k, operand)
    block = {linear(layout, address): address for address in range(128 * warps)}
    for warp, half, element in itertools.product(range(warps), range(2), range(4)):
        lanes = range(16 * half, 16 * half + 16)
        assert len({block[warp, lane, element] % 16 for lane in lanes}) == 16


@pytest.mark.parametrize(("lines", "depth", "warps", "along_k"), PANELS)
def test_copies_meet_no_bank_conflict(lines, depth, warps, along_k):
    """A quarter warp stores 8 times 16 bytes to all banks, each time in one piece."""
    panel = panel_addresses(lines, depth, warps, along_k)
    layout = sm90_dgemm.copy_layout(4, along_k)
    (fast, slow), size, threads = layout.order, layout.size_per_thread, layout.threads_per_warp
    assert (size[fast], size[slow], threads[fast] * threads[slow]) == (2, 1, 32)
    places = []
    for lane in range(32):
        start = [0, 0]
        start[fast], start[slow] = 2 * (lane % threads[fast]), lane // threads[fast]
        second = [x + (axis == fast) for axis, x in enumerate(start)]
        places.append(panel[tuple(start)])
        assert panel[tuple(second)] == places[-1] + 1
        assert places[-1] % 2 == 0
    for quarter in range(0, 32, 8):
        assert len({place % 16 for place in places[quarter : quarter + 8]}) == 8
