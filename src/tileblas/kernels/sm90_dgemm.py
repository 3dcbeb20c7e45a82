"""DGEMM for sm_90: C := (+-) alpha A B + beta C in FP64 on tensor cores, for 16-byte aligned
matrices with a unit stride; kernels/gemm.py is the twin that every other case uses.

Steps of BLOCK_K along k arrive in a ring of STAGES slots of shared memory, by asynchronous copies
of 16 bytes. A step is cut into slices of 8 along k, the depth of one tensor-core instruction, and
while a warp multiplies the fragments of one slice, it loads those of the next into other registers,
across the end of a step too. Triton's own FP64 dot has instructions of depth 16 only, whose
fragments fit into the registers but once; so the instruction is inline PTX here, and tensors have
the shape of fragments: (warp row, warp column, lane, element).
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy

from tileblas.kernels import gemm, structured, tile

# A block is what the warps along one axis of the tile load together: 16 rows of A, or 16 columns
# of B, for each of them, by 8 of k. A and B alike are panels (line, k) of blocks; a line is a row
# of A or a column of B.


@gluon.jit
def dgemm_kernel(
    a, b, c, alpha, alpha_im, beta, beta_im, m, n, k, a_m, a_k, b_k, b_n, c_m, c_n,
    inner, a_b0, a_b1, b_b0, b_b1, c_b0, c_b1,
    NEGATE: gl.constexpr, ALPHA_KIND: gl.constexpr, BETA_KIND: gl.constexpr,
    C_KIND: gl.constexpr, C_LOWER: gl.constexpr,
    BLOCK_M: gl.constexpr, BLOCK_N: gl.constexpr, BLOCK_K: gl.constexpr, GROUP_M: gl.constexpr,
    STAGES: gl.constexpr, WARPS_M: gl.constexpr,
):  # fmt: skip
    """C := (+-) alpha A B + beta C, for each batch member, one tile of C a program.

    One of a_m and a_k is the constant 1, and one of b_k and b_n. With alpha = 0 or k = 0 the
    product is dropped and A and B are not read; with beta = 0, C is not read. If C has a C_KIND,
    one triangle of it is written, the C_LOWER or the upper one.
    """
    batch, row, col = gemm.locate_tile(m, n, BLOCK_M, BLOCK_N, GROUP_M)
    a = tile.batch_base(a, batch, inner, a_b0, a_b1, False) + row * a_m
    b = tile.batch_base(b, batch, inner, b_b0, b_b1, False) + col * b_n
    c = tile.batch_base(c, batch, inner, c_b0, c_b1, False) + row * c_m + col * c_n

    alpha = load_scalar(alpha, ALPHA_KIND)
    beta = load_scalar(beta, BETA_KIND)
    k = gl.where(alpha == 0, 0, k)
    if (k == 0) & (beta == 1):
        return  # C stays as it is, bit for bit
    if NEGATE:
        alpha = -alpha

    # A mask narrows copies and costs registers, so tiles that lie inside C run without one.
    inside = (row + BLOCK_M <= m) & (col + BLOCK_N <= n)
    if C_KIND != "":
        part = structured.part_of_triangle(row, col, C_LOWER, BLOCK_M, BLOCK_N)
        if part == 0:
            return
        inside &= part == 2
    beyond = (row - col).to(gl.int32)  # how far the tile's corner lies below the diagonal
    if inside:
        update_tile(
            a, b, c, alpha, beta, m - row, n - col, beyond, k, a_m, a_k, b_k, b_n, c_m, c_n,
            BETA_KIND, C_KIND, C_LOWER, BLOCK_M, BLOCK_N, BLOCK_K, STAGES, WARPS_M, MASKED=False,
        )  # fmt: skip
    else:
        update_tile(
            a, b, c, alpha, beta, m - row, n - col, beyond, k, a_m, a_k, b_k, b_n, c_m, c_n,
            BETA_KIND, C_KIND, C_LOWER, BLOCK_M, BLOCK_N, BLOCK_K, STAGES, WARPS_M, MASKED=True,
        )  # fmt: skip


@gluon.jit
def load_scalar(value, KIND: gl.constexpr):
    """alpha or beta: passed by value, or read behind a device pointer."""
    if KIND == "zero":
        return gl.to_tensor(0.0).to(gl.float64)
    elif KIND == "one":
        return gl.to_tensor(1.0).to(gl.float64)
    elif KIND == "real":
        return value
    else:
        gl.static_assert(KIND == "real_pointer")
        return gl.load(value).to(gl.float64)


@gluon.jit
def update_tile(
    a, b, c, alpha, beta, m, n, beyond, k, a_m, a_k, b_k, b_n, c_m, c_n,
    BETA_KIND: gl.constexpr, C_KIND: gl.constexpr, C_LOWER: gl.constexpr,
    BLOCK_M: gl.constexpr, BLOCK_N: gl.constexpr, BLOCK_K: gl.constexpr,
    STAGES: gl.constexpr, WARPS_M: gl.constexpr, MASKED: gl.constexpr,
):  # fmt: skip
    """C := alpha A B + beta C on one tile, with m rows and n columns left from its corner.

    k = 0 drops the product.
    """
    WARPS_N: gl.constexpr = gl.num_warps() // WARPS_M
    ROWS: gl.constexpr = BLOCK_M // (16 * WARPS_M)
    COLS: gl.constexpr = BLOCK_N // (16 * WARPS_N)
    m = gl.minimum(m, BLOCK_M).to(gl.int32)
    n = gl.minimum(n, BLOCK_N).to(gl.int32)
    acc = multiply_panels(
        a, b, m, n, k, a_m, a_k, b_k, b_n, fragment_layout(WARPS_M, WARPS_N),
        WARPS_M, WARPS_N, ROWS, COLS, BLOCK_M, BLOCK_N, BLOCK_K, STAGES, MASKED,
    )  # fmt: skip
    for i in gl.static_range(ROWS):
        for j in gl.static_range(COLS):
            block = join_columns(acc[2 * (i * COLS + j)], acc[2 * (i * COLS + j) + 1])
            update_block(
                c, alpha, block, beta, i * 16 * WARPS_M, j * 16 * WARPS_N, m, n, beyond, k,
                c_m, c_n, BETA_KIND, C_KIND, C_LOWER, MASKED,
            )  # fmt: skip


@gluon.jit
def join_columns(left, right):
    """Two accumulators, of columns 0 to 7 and 8 to 15 of each warp, as one block (row, column).

    Lane 4 r + q of a warp has columns 2 q and 2 q + 1 of rows r and r + 8.
    """
    WARPS_M: gl.constexpr = left.shape[0]
    WARPS_N: gl.constexpr = left.shape[1]
    block = gl.join(left, right)
    block = block.reshape((WARPS_M, WARPS_N, 8, 4, 2, 2, 2))  # m, n, r, q, row / 8, odd, right
    block = block.permute((0, 4, 2, 1, 6, 3, 5))
    return block.reshape((16 * WARPS_M, 16 * WARPS_N))


@gluon.jit
def update_block(
    c, alpha, product, beta, row: gl.constexpr, col: gl.constexpr, m, n, beyond, k, c_m, c_n,
    BETA_KIND: gl.constexpr, C_KIND: gl.constexpr, C_LOWER: gl.constexpr, MASKED: gl.constexpr,
):  # fmt: skip
    """C := alpha product + beta C on the block at (row, col); k = 0 drops the product."""
    LAYOUT: gl.constexpr = product.type.layout
    rows = row + gl.arange(0, product.shape[0], gl.SliceLayout(1, LAYOUT))[:, None]
    cols = col + gl.arange(0, product.shape[1], gl.SliceLayout(0, LAYOUT))[None, :]
    c += rows.to(gl.int64) * c_m + cols.to(gl.int64) * c_n
    result = alpha * product
    mask = None
    if MASKED:
        mask = (rows < m) & (cols < n)
        if C_KIND != "":
            below = rows + beyond - cols
            if C_KIND == "skew":
                mask &= below != 0
            mask &= below >= 0 if C_LOWER else below <= 0
    if BETA_KIND == "zero":
        result = gl.where(k == 0, 0.0, result)  # alpha times an empty sum may be NaN
    else:
        old_mask = rows < gl.where(beta == 0, 0, m)
        if MASKED:
            old_mask &= mask
        old = beta * gl.load(c, mask=old_mask, other=0.0)
        result = gl.where(k == 0, old, old + result)
    if MASKED:
        gl.store(c, result, mask=mask)
    else:
        gl.store(c, result)


@gluon.jit
def multiply_panels(
    a, b, m, n, k, a_m, a_k, b_k, b_n, LAYOUT: gl.constexpr,
    WARPS_M: gl.constexpr, WARPS_N: gl.constexpr, ROWS: gl.constexpr, COLS: gl.constexpr,
    BLOCK_M: gl.constexpr, BLOCK_N: gl.constexpr, BLOCK_K: gl.constexpr,
    STAGES: gl.constexpr, MASKED: gl.constexpr,
):  # fmt: skip
    """A B over [0, k), two accumulators for each of ROWS x COLS blocks of C.

    The odd end of k, if any, is the first step; the rest are full ones.
    """
    A_ALONG_K: gl.constexpr = is_one(a_k)
    B_ALONG_K: gl.constexpr = is_one(b_k)
    a_slots = gl.allocate_shared_memory(
        gl.float64,
        [STAGES, BLOCK_M, BLOCK_K],
        panel_layout(BLOCK_M, BLOCK_K, WARPS_M, A_ALONG_K),
    )
    b_slots = gl.allocate_shared_memory(
        gl.float64,
        [STAGES, BLOCK_N, BLOCK_K],
        panel_layout(BLOCK_N, BLOCK_K, WARPS_N, B_ALONG_K),
    )
    A_COPY: gl.constexpr = copy_layout(gl.num_warps(), A_ALONG_K)
    B_COPY: gl.constexpr = copy_layout(gl.num_warps(), B_ALONG_K)
    a_rows = gl.arange(0, BLOCK_M, gl.SliceLayout(1, A_COPY))[:, None]
    a_depth = gl.arange(0, BLOCK_K, gl.SliceLayout(0, A_COPY))[None, :]
    b_cols = gl.arange(0, BLOCK_N, gl.SliceLayout(1, B_COPY))[:, None]
    b_depth = gl.arange(0, BLOCK_K, gl.SliceLayout(0, B_COPY))[None, :]
    a_offset = a_rows.to(gl.int64) * a_m + a_depth.to(gl.int64) * a_k
    b_offset = b_cols.to(gl.int64) * b_n + b_depth.to(gl.int64) * b_k
    a_edge = None
    b_edge = None
    if MASKED:
        a_edge = a_rows < m
        b_edge = b_cols < n

    steps = gl.cdiv(k, BLOCK_K).to(gl.int32)
    tail = (k % BLOCK_K).to(gl.int32)
    if tail != 0:
        a_end = a + (k - tail) * a_k
        b_end = b + (k - tail) * b_k
        copy_panel(a_slots.index(0), a_end, a_offset, a_edge, a_depth < tail)
        copy_panel(b_slots.index(0), b_end, b_offset, b_edge, b_depth < tail)
        a -= BLOCK_K * a_k
        b -= BLOCK_K * b_k
    else:
        copy_panel(a_slots.index(0), a, a_offset, a_edge, steps > 0)
        copy_panel(b_slots.index(0), b, b_offset, b_edge, steps > 0)
    async_copy.commit_group()
    for step in gl.static_range(1, STAGES - 1):
        a += BLOCK_K * a_k
        b += BLOCK_K * b_k
        copy_panel(a_slots.index(step), a, a_offset, a_edge, step < steps)
        copy_panel(b_slots.index(step), b, b_offset, b_edge, step < steps)
        async_copy.commit_group()

    acc = ()
    for _ in gl.static_range(2 * ROWS * COLS):
        acc = acc + (gl.zeros((WARPS_M, WARPS_N, 32, 4), gl.float64, LAYOUT),)
    async_copy.wait_group(STAGES - 2)
    a_now = load_fragments(a_slots.index(0), 0, ROWS, WARPS_M, A_ALONG_K, LAYOUT, 0)
    b_now = load_fragments(b_slots.index(0), 0, COLS, WARPS_N, B_ALONG_K, LAYOUT, 1)
    slot = 0
    for step in range(steps):
        # The slot of the step before this one is free: its fragments are in registers.
        free = gl.where(slot == 0, STAGES - 1, slot - 1)
        for s in gl.static_range(1, BLOCK_K // 8):
            a_next = load_fragments(a_slots.index(slot), s, ROWS, WARPS_M, A_ALONG_K, LAYOUT, 0)
            b_next = load_fragments(b_slots.index(slot), s, COLS, WARPS_N, B_ALONG_K, LAYOUT, 1)
            acc = multiply_fragments(a_now, b_now, acc, ROWS, COLS)
            a_now = a_next
            b_now = b_next
        slot = gl.where(slot == STAGES - 1, 0, slot + 1)
        live = step + STAGES - 1 < steps
        a += BLOCK_K * a_k
        b += BLOCK_K * b_k
        copy_panel(a_slots.index(free), a, a_offset, a_edge, live)
        copy_panel(b_slots.index(free), b, b_offset, b_edge, live)
        async_copy.commit_group()
        async_copy.wait_group(STAGES - 2)
        a_next = load_fragments(a_slots.index(slot), 0, ROWS, WARPS_M, A_ALONG_K, LAYOUT, 0)
        b_next = load_fragments(b_slots.index(slot), 0, COLS, WARPS_N, B_ALONG_K, LAYOUT, 1)
        acc = multiply_fragments(a_now, b_now, acc, ROWS, COLS)
        a_now = a_next
        b_now = b_next
    return acc


@gluon.jit
def copy_panel(slot, source, offset, edge, live):
    """Start the copy of a panel to its slot; elements beyond the edge or not live become 0."""
    mask = live
    if edge is not None:
        mask = live & edge
    async_copy.async_copy_global_to_shared(slot, source + offset, mask)


@gluon.jit
def load_fragments(
    slot, s: gl.constexpr, COUNT: gl.constexpr, WARPS: gl.constexpr, ALONG_K: gl.constexpr,
    LAYOUT: gl.constexpr, OPERAND: gl.constexpr,
):  # fmt: skip
    """Slice s of a panel: the fragments of its COUNT blocks, to be shared along the other axis."""
    BLOCKS: gl.constexpr = slot.shape[1] // 8 * COUNT
    blocks = slot._reinterpret(
        gl.float64, [BLOCKS, WARPS, 32, 4], block_layout(WARPS, ALONG_K, OPERAND)
    )
    fragments = ()
    for i in gl.static_range(COUNT):
        fragment = blocks.index(s * COUNT + i).load(gl.SliceLayout(1 - OPERAND, LAYOUT))
        fragments = fragments + (gl.expand_dims(fragment, 1 - OPERAND),)
    return fragments


@gluon.jit
def multiply_fragments(a, b, acc, ROWS: gl.constexpr, COLS: gl.constexpr):
    """acc + A B for one slice."""
    result = ()
    for i in gl.static_range(ROWS):
        for j in gl.static_range(COLS):
            left = acc[2 * (i * COLS + j)]
            right = acc[2 * (i * COLS + j) + 1]
            result = result + multiply_block(a[i], b[j], left, right)
    return result


@gluon.jit
def multiply_block(a, b, left, right):
    """(left, right) + 16 rows of A times 8 and 8 columns of B, 8 deep, in each warp."""
    return gl.inline_asm_elementwise(
        """
        mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64
            {$0, $1, $2, $3}, {$8, $9, $10, $11}, {$12, $13}, {$16, $17, $18, $19};
        mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64
            {$4, $5, $6, $7}, {$8, $9, $10, $11}, {$14, $15}, {$20, $21, $22, $23};
        """,
        "=d,=d,=d,=d,=d,=d,=d,=d,d,d,d,d,d,d,d,d,d,d,d,d,d,d,d,d",
        [a, b, left, right],
        dtype=(gl.float64, gl.float64),
        is_pure=True,
        pack=4,
    )


@gluon.constexpr_function
def is_one(stride):
    """Whether the stride is the constant 1."""
    return isinstance(stride, int) and stride == 1


@gluon.constexpr_function
def powers(n):
    """1, 2, 4, ... below n: the bits of an index."""
    return [1 << i for i in range(n.bit_length() - 1)]


@gluon.constexpr_function
def fragment_layout(warps_m, warps_n):
    """Who holds what of a tensor (warp row, warp column, lane, element): as its indices say."""
    return gl.DistributedLinearLayout(
        reg_bases=[[0, 0, 0, 1], [0, 0, 0, 2]],
        lane_bases=[[0, 0, x, 0] for x in powers(32)],
        warp_bases=[[x, 0, 0, 0] for x in powers(warps_m)]
        + [[0, x, 0, 0] for x in powers(warps_n)],
        block_bases=[],
        shape=[warps_m, warps_n, 32, 4],
    )


@gluon.constexpr_function
def copy_layout(warps, along_k):
    """Which thread copies what of a panel (line, k): 16 bytes, along the unit stride."""
    if along_k:
        return gl.BlockedLayout([1, 2], [8, 4], [warps, 1], [1, 0])
    return gl.BlockedLayout([2, 1], [8, 4], [1, warps], [0, 1])


# Shared memory serves half a warp at a time where a lane loads 8 bytes: here 4 lines by 4 of k. In
# memory they are four groups of 32 bytes, in four rows that are 64 bytes (lines along k) or a
# multiple of 128 bytes apart. So that they lie in different banks, the number of a group within
# 128 bytes is exclusive-ored with bits of its row.


@gluon.constexpr_function
def panel_layout(lines, depth, warps, along_k):
    """A panel (line, k) in shared memory, as the copies see it: one block after the other."""
    width = 16 * warps
    if along_k:
        block = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 4]] + [[x, 0] for x in powers(width)[2:]]
    else:
        block = [[x, 0] for x in powers(width)] + [[4, 1], [8, 2], [0, 4]]
    more_lines = [[x * width, 0] for x in powers(lines // width)]
    slices = [[0, 8 * x] for x in powers(depth // 8)]
    return gl.SharedLinearLayout(block + more_lines + slices, [], 128)


@gluon.constexpr_function
def block_layout(warps, along_k, operand):
    """A block (warp, lane, element) in shared memory, as the fragment loads see it.

    Lane 4 r + q has lines r and r + 8 at q and q + 4 along k. The PTX instruction wants the lines
    of A (operand 0) next to each other, but of B the elements along k.
    """
    lane = [[0, x, 0] for x in powers(32)]
    element = [[0, 0, 1 + operand], [0, 0, 2 - operand]]  # line + 8, k + 4
    line = [lane[2], lane[3], lane[4], element[0]]
    k = [lane[0], lane[1], element[1]]
    warp = [[x, 0, 0] for x in powers(warps)]

    def both(x, y):
        return [p + q for p, q in zip(x, y, strict=True)]

    if along_k:
        bases = [*k, line[0], both(line[1], k[2]), line[2], line[3], *warp]
    else:
        bases = [*line, *warp, both(k[0], line[2]), both(k[1], line[3]), k[2]]
    return gl.SharedLinearLayout(bases, [], 128)
