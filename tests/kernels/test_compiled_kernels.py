"""What the compiler makes of the kernels: load widths, tensor-core instructions, spills, fit."""

import pytest

triton = pytest.importorskip("triton")
pytestmark = pytest.mark.compile

from sass import ITEMSIZE, SHARED_LIMIT, compiled, count, gemm_constants  # noqa: E402

from tileblas.kernels import elementwise, gemm, reduce  # noqa: E402
from tileblas.tuning.table import table  # noqa: E402

VERSION = tuple(int(part) for part in triton.__version__.split(".")[:2])
DTYPES = tuple(ITEMSIZE)
# math, and the instruction that multiplies; the tile is the first one of the tuning table.
SM90_GEMM = {
    "float16": ("ieee", "HGMMA"),
    "bfloat16": ("ieee", "HGMMA"),
    "float32": ("ieee", "FFMA"),
    "float32 as float64": ("fp64", "DMMA"),
    "float64": ("ieee", "DMMA"),
    "complex64": ("ieee", "FFMA"),
    "complex64 as float64": ("fp64", "DMMA"),
    "complex128": ("ieee", "DMMA"),
}
# Complex operands are loaded as planes, one part at a time.
COPY = {"complex64": "LDGSTS.E", "complex128": "LDGSTS.E.64"}
LAYOUTS = ("kn", "mk")  # the contiguous axis of A and of B: each axis of each once


def sm90_gemm(row, layout, **options):
    dtype = row.split()[0]
    math, instruction = SM90_GEMM[row]
    rows = table("sm_90").candidates("gemm", dtype, layout, math)
    tile = next(config for config in rows if not config.body)
    blocks = tile["BLOCK_M"], tile["BLOCK_N"], tile["BLOCK_K"]
    beta = options.pop("beta", "zero")
    constants = gemm_constants(dtype, blocks, a=layout[0], b=layout[1], math=math, beta=beta)
    shape = {"warps": tile.num_warps, "stages": tile.num_stages, "extents": "mnk"}
    code = compiled(gemm.gemm_kernel, dtype, constants, **shape, **options)
    return code, [loop for loop in code.loops() if count(loop, instruction)]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("row", SM90_GEMM)
def test_gemm_loops_copy_asynchronously_and_do_not_spill(row, layout):
    """Both main loops, that of inner tiles and that of edge tiles."""
    code, loops = sm90_gemm(row, layout)
    assert len(loops) == 2
    for loop in loops:
        copy = COPY.get(row.split()[0], "LDGSTS.E.BYPASS.128")
        assert count(loop, "LDGSTS") == loop[copy] > 0
        assert not count(loop, "LDG")
        # Constants may be kept on the stack, more of them for complex operands of two planes each.
        share = 5 if row.startswith("complex") else 50
        assert count(loop, "LDL") + count(loop, "STL") <= sum(loop.values()) // share
    assert code.shared <= SHARED_LIMIT[90]


def test_gemm_with_beta_keeps_its_main_loops():
    code, loops = sm90_gemm("float64", "kn", beta="real")
    plain, plain_loops = sm90_gemm("float64", "kn")
    for loop, plain_loop in zip(loops, plain_loops, strict=True):
        assert count(loop, "DMMA") == count(plain_loop, "DMMA")
        assert not count(loop, "STL") + count(loop, "LDL")
    assert code.shared == plain.shared


@pytest.mark.skipif(VERSION >= (3, 8), reason="3.8 narrowed float64 tensor-core code")
@pytest.mark.parametrize("row", ["float64", "complex128", "float32 as float64"])
def test_float64_products_are_of_the_widest_kind(row):
    _, loops = sm90_gemm(row, "kn")
    assert all(loop["DMMA.16x8x16"] for loop in loops)


def test_ieee_float32_uses_no_tensor_core():
    code, _ = sm90_gemm("float32", "kn")
    assert not any(count(code.operations(), name) for name in ("HMMA", "HGMMA", "DMMA"))


@pytest.mark.parametrize("dtype", DTYPES)
def test_gemm_of_unaligned_operands_compiles(dtype):
    tile = table("sm_90").candidates("gemm", dtype, "unaligned")[0]
    blocks = tile["BLOCK_M"], tile["BLOCK_N"], tile["BLOCK_K"]
    constants = gemm_constants(dtype, blocks, math=tile.math)
    shape = {"warps": tile.num_warps, "stages": tile.num_stages}
    code = compiled(gemm.gemm_kernel, dtype, constants, **shape, aligned=False)
    assert not code.operations()["LDG.E.128"]
    assert code.shared <= SHARED_LIMIT[90]


def dot_constants(dtype, block):
    flags = dict.fromkeys(("CONJ_X", "CONJ_Y", "NEGATE"), False)
    return flags | {"x_inc": 1, "y_inc": 1, "COMPLEX": dtype.startswith("complex"),
                    "BLOCK": block, "MAX_SPLITS": 1024}  # fmt: skip


def axpy_constants(dtype, block):
    flags = dict.fromkeys(("CONJ_X", "CONJ_ALPHA", "NEGATE"), False)
    return flags | {"x_inc": 1, "y_inc": 1, "COMPLEX": dtype.startswith("complex"),
                    "ALPHA_KIND": "real", "alpha_im": 0, "BLOCK": block}  # fmt: skip


def widest(dtype):
    """The width of the widest load: a pair at a time for complex64, 16 bytes else."""
    return "64" if dtype == "complex64" else "128"


@pytest.mark.parametrize("dtype", DTYPES)
def test_dot_loop_loads_wide_for_any_length(dtype):
    code = compiled(reduce.dot_kernel, dtype, dot_constants(dtype, 16384 // ITEMSIZE[dtype]))
    loop = max(code.loops(), key=lambda operations: count(operations, "LDG"))
    assert count(loop, "LDG") == loop["LDG.E." + widest(dtype)] > 0
    assert not count(code.operations(), "STL") + count(code.operations(), "LDL")


@pytest.mark.parametrize("dtype", DTYPES)
def test_axpy_loads_and_stores_wide(dtype):
    code = compiled(elementwise.axpy_kernel, dtype, axpy_constants(dtype, 1024))
    assert code.operations()["LDG.E." + widest(dtype)]
    assert code.operations()["STG.E." + widest(dtype)]


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_strided_vectors_compile(dtype):
    """Increments that are no compile-time constants."""
    for kernel, constants in (
        (reduce.dot_kernel, dot_constants(dtype, 1024)),
        (elementwise.axpy_kernel, axpy_constants(dtype, 1024)),
    ):
        strided = {name: v for name, v in constants.items() if not name.endswith("_inc")}
        assert compiled(kernel, dtype, strided, aligned=False).instructions


@pytest.mark.parametrize("cc", sorted(set(SHARED_LIMIT) - {90}))
def test_other_targets_fit(cc):
    """One type a kernel: it compiles, and its shared memory fits."""
    cases = [
        (reduce.dot_kernel, "float32", dot_constants("float32", 1024), 3),
        (elementwise.axpy_kernel, "float32", axpy_constants("float32", 1024), 3),
        (gemm.gemm_kernel, "float16", gemm_constants("float16", (64, 64, 32)), 3),
    ]
    for kernel, dtype, constants, stages in cases:
        code = compiled(kernel, dtype, constants, cc=cc, stages=stages, extents="mnk")
        assert code.shared <= SHARED_LIMIT[cc]
