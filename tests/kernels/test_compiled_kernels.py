"""What the compiler makes of the kernels: load widths, tensor-core instructions, spills, fit."""

import pytest

triton = pytest.importorskip("triton")
pytestmark = pytest.mark.compile

from sass import (  # noqa: E402
    ITEMSIZE,
    SHARED_LIMIT,
    compiled,
    count,
    gemm_constants,
    gemv_constants,
    spills,
)

from tileblas.kernels import gemm, matvec  # noqa: E402
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
# The contiguous axis of A and of B: each axis of each once. What is marked slow runs on the oldest
# and on the newest Triton, which have the same tests, and not on the one between them.
LAYOUTS = ("kn", pytest.param("mk", marks=pytest.mark.slow))


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


@pytest.mark.parametrize(
    ("dtype", "alignment"), [*((dtype, 1) for dtype in DTYPES), ("float16", 4), ("complex64", 8)]
)
def test_gemm_of_unaligned_operands_compiles(dtype, alignment):
    tile = table("sm_90").candidates("gemm", dtype, "unaligned")[0]
    blocks = tile["BLOCK_M"], tile["BLOCK_N"], tile["BLOCK_K"]
    constants = gemm_constants(dtype, blocks, math=tile.math)
    shape = {"warps": tile.num_warps, "stages": tile.num_stages}
    code = compiled(gemm.gemm_kernel, dtype, constants, **shape, alignment=alignment)
    assert not code.operations()["LDG.E.128"]
    assert code.shared <= SHARED_LIMIT[90]


@pytest.mark.parametrize(
    "many",
    [pytest.param(True, id="shared"), pytest.param(False, id="alone", marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("layout", ["row", "col"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_gemv_loops_load_the_matrix_wide_and_do_not_spill(dtype, layout, many):
    """Every tile of the table, alone and one of them shared, in the loop over blocks inside A.

    Each thread loads its share of a tile 16 bytes at a time, into registers or, where the loop is
    pipelined, into shared memory.
    """
    rows = table("sm_90").candidates("gemv", dtype, layout)
    for row in rows[:1] if many else rows:
        blocks = row["BLOCK_M"], row["BLOCK_N"]
        pace = {"stages": row["STAGES"], "unroll": row["UNROLL"], "many": many}
        constants = gemv_constants(dtype, layout, blocks, **pace)
        shape = {"warps": row.num_warps, "registers": row.max_registers}
        code = compiled(matvec.gemv_kernel, dtype, constants, **shape)
        bytes_per_thread = blocks[0] * blocks[1] * ITEMSIZE[dtype] // (32 * row.num_warps)
        wide = "LDG.E.128" if row["STAGES"] == 1 else "LDGSTS.E.BYPASS.128"
        loop = max(code.loops(), key=lambda operations: operations[wide])
        assert loop[wide] >= row["UNROLL"] * bytes_per_thread // 16 > 0
        assert not any(spills(loop) for loop in code.loops())
        assert code.shared <= SHARED_LIMIT[90]


@pytest.mark.parametrize("dtype", ["float32", "complex64", "complex128"])
@pytest.mark.parametrize("unit", [True, False], ids=["unit", "gaps"])
def test_gemv_puts_the_threads_of_a_warp_along_the_smaller_stride(dtype, unit):
    """Where Triton sees no contiguity it takes the first axis, so tiles by rows are transposed."""
    if not unit and VERSION >= (3, 7):
        pytest.skip("the order of threads without contiguity is that of Triton 3.6")
    parts = 2 if dtype.startswith("complex") else 1
    for layout, blocks in (("row", (16, 128)), ("col", (128, 16))):
        constants = gemv_constants(dtype, layout, blocks, unit=unit)
        code = compiled(matvec.gemv_kernel, dtype, constants)
        shape = (16, 128 * parts) if layout == "row" and unit else (128 * parts, 16)
        along = 1 if layout == "row" and unit else 0
        assert code.loads[shape][along] == 32


@pytest.mark.parametrize("layout", ["row", "col"])
def test_gemv_can_let_the_matrix_leave_l2_first(layout):
    constants = gemv_constants("float32", layout, (64, 64), policy="evict_first")
    code = compiled(matvec.gemv_kernel, "float32", constants)
    assert any(".EF" in name for name in code.operations())


@pytest.mark.parametrize("layout", ["row", "col"])
def test_gemv_of_unaligned_operands_compiles(layout):
    for row in table("sm_90").candidates("gemv", "float32", layout):
        blocks = row["BLOCK_M"], row["BLOCK_N"]
        pace = {"stages": row["STAGES"], "unroll": row["UNROLL"]}
        constants = gemv_constants("float32", layout, blocks, beta="real", **pace)
        shape = {"warps": row.num_warps, "registers": row.max_registers, "alignment": 1}
        code = compiled(matvec.gemv_kernel, "float32", constants, **shape)
        assert not code.operations()["LDG.E.128"]
        assert not any(spills(loop) for loop in code.loops())


@pytest.mark.parametrize("layout", ["row", "col"])
def test_gemv_of_complex64_with_odd_rows_loads_whole_elements(layout):
    constants = gemv_constants("complex64", layout, (32, 64))
    for alignment, width in ((8, "LDG.E.64"), (4, "LDG.E")):
        code = compiled(matvec.gemv_kernel, "complex64", constants, alignment=alignment)
        loop = max(code.loops(), key=lambda operations: operations[width])
        assert loop[width] >= 32 * 64 * 8 // (128 * int(alignment))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_gemv_reads_each_part_of_a_complex_x_once(dtype):
    """By rows it meets both parts of A; its own change places in registers."""
    rows, columns = 4, 4096 // ITEMSIZE[dtype]
    constants = gemv_constants(dtype, "row", (rows, columns))
    code = compiled(matvec.gemv_kernel, dtype, constants)
    loop = max(code.loops(), key=lambda operations: operations["LDG.E.128"])
    assert loop["LDG.E.128"] == (rows + 1) * columns * ITEMSIZE[dtype] // (128 * 16)
    assert count(loop, "LDG") == loop["LDG.E.128"]


@pytest.mark.parametrize("many", [True, False])
def test_gemv_that_is_no_batch_and_not_split_divides_nothing(many):
    """Integers are divided by way of their reciprocals, which takes longer than all else here."""
    constants = gemv_constants("float32", "row", (16, 128), many=many)
    code = compiled(matvec.gemv_kernel, "float32", constants)
    assert bool(count(code.operations(), "MUFU.RCP")) == many


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_matrices_without_a_unit_stride_compile(dtype):
    """Increments, and strides of a matrix, that are no compile-time constants."""
    for layout, blocks in (("row", (16, 128)), ("col", (64, 32))):
        constants = gemv_constants(dtype, layout, blocks)
        strides = ("x_inc", "y_inc", "a_m", "a_n")
        strided = {name: value for name, value in constants.items() if name not in strides}
        strided["UNIT"] = False
        assert compiled(matvec.gemv_kernel, dtype, strided, alignment=1).instructions


@pytest.mark.parametrize("cc", sorted(set(SHARED_LIMIT) - {90}))
def test_other_targets_fit(cc):
    """One type a kernel: it compiles, and its shared memory fits."""
    cases = [
        (matvec.gemv_kernel, "float32", gemv_constants("float32", "row", (16, 128)), 1),
        (matvec.gemv_kernel, "float32", gemv_constants("float32", "col", (64, 32)), 1),
        (gemm.gemm_kernel, "float16", gemm_constants("float16", (64, 64, 32)), 3),
    ]
    for kernel, dtype, constants, stages in cases:
        code = compiled(kernel, dtype, constants, cc=cc, stages=stages, extents="mnk")
        assert code.shared <= SHARED_LIMIT[cc]
