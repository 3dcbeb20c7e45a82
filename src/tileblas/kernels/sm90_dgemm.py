"""DGEMM for sm_90: C := (+-) alpha A B + beta C in FP64 on tensor cores, for 16-byte aligned
matrices with a unit stride; kernels/gemm.py is the twin that every other case uses.

A CTA computes one tile of C. Steps of BLOCK_K along k arrive in a ring of STAGES slots of shared
memory, by 16-byte asynchronous copies; while a warp multiplies the fragments of one step, it loads
those of the next. The shared layouts are swizzled so that neither copies nor fragment loads meet a
bank conflict.
"""

import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy, mma_v2

from tileblas.kernels import gemm, tile


@gluon.jit
def dgemm_kernel(
    a, b, c, alpha, alpha_im, beta, beta_im, m, n, k, a_m, a_k, b_k, b_n, c_m, c_n,
    inner, a_b0, a_b1, b_b0, b_b1, c_b0, c_b1,
    NEGATE: gl.constexpr, ALPHA_KIND: gl.constexpr, BETA_KIND: gl.constexpr,
    BLOCK_M: gl.constexpr, BLOCK_N: gl.constexpr, BLOCK_K: gl.constexpr, GROUP_M: gl.constexpr,
    STAGES: gl.constexpr, WARPS_M: gl.constexpr,
):  # fmt: skip
    """C := (+-) alpha A B + beta C, for each batch member, one tile of C a program.

    One of a_m and a_k is the constant 1, one of b_k and b_n, and c_n. With alpha = 0 or k = 0 the
    product is dropped and A and B are not read; with beta = 0, C is not read.
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
    if inside:
        update_tile(
            a, b, c, alpha, beta, m - row, n - col, k, a_m, a_k, b_k, b_n, c_m, c_n,
            BETA_KIND, BLOCK_M, BLOCK_N, BLOCK_K, STAGES, WARPS_M, MASKED=False,
        )  # fmt: skip
    else:
        update_tile(
            a, b, c, alpha, beta, m - row, n - col, k, a_m, a_k, b_k, b_n, c_m, c_n,
            BETA_KIND, BLOCK_M, BLOCK_N, BLOCK_K, STAGES, WARPS_M, MASKED=True,
        )  # fmt: skip


@gluon.jit
def load_scalar(value, KIND: gl.constexpr):
    """alpha or beta: passed by value, or read behind a device pointer."""
    if KIND == "zero":
        return gl.to_tensor(0.0).to(gl.float64)
    elif KIND == "real":
        return value
    else:
        gl.static_assert(KIND == "real_pointer")
        return gl.load(value).to(gl.float64)


@gluon.jit
def update_tile(
    a, b, c, alpha, beta, m, n, k, a_m, a_k, b_k, b_n, c_m, c_n, BETA_KIND: gl.constexpr,
    BLOCK_M: gl.constexpr, BLOCK_N: gl.constexpr, BLOCK_K: gl.constexpr,
    STAGES: gl.constexpr, WARPS_M: gl.constexpr, MASKED: gl.constexpr,
):  # fmt: skip
    A_ALONG_K: gl.constexpr = is_one(a_k)
    B_ALONG_K: gl.constexpr = is_one(b_k)
    WARPS_N: gl.constexpr = gl.num_warps() // WARPS_M
    LAYOUT: gl.constexpr = fragment_layout(WARPS_M, WARPS_N)
    ROWS: gl.constexpr = BLOCK_M // (16 * WARPS_M)
    COLS: gl.constexpr = BLOCK_N // (16 * WARPS_N)
    acc = multiply_panels(
        a,
        b,
        m,
        n,
        k,
        a_m,
        a_k,
        b_k,
        b_n,
        LAYOUT,
        A_ALONG_K,
        B_ALONG_K,
        WARPS_M,
        WARPS_N,
        ROWS,
        COLS,
        BLOCK_M,
        BLOCK_N,
        BLOCK_K,
        STAGES,
        MASKED,
    )
    # (warp row, warp column, lane row, lane column, row, column, tile)
    for i in gl.static_range(ROWS):
        for p in gl.static_range(COLS):
            x = gl.join(acc[2 * (i * COLS + p)], acc[2 * (i * COLS + p) + 1])
            # (warp row, warp column, row, column / 2, row / 8, column % 2, column / 8)
            x = x.reshape((WARPS_M, WARPS_N, 8, 4, 2, 2, 2))
            x = x.permute((0, 4, 2, 1, 6, 3, 5))
            x = x.reshape((16 * WARPS_M, 16 * WARPS_N))
            rows = (
                i * 16 * WARPS_M
                + gl.arange(0, 16 * WARPS_M, gl.SliceLayout(1, x.type.layout)).to(gl.int64)[:, None]
            )
            cols = (
                p * 16 * WARPS_N
                + gl.arange(0, 16 * WARPS_N, gl.SliceLayout(0, x.type.layout)).to(gl.int64)[None, :]
            )
            out = c + rows * c_m + cols * c_n
            x = alpha * x
            if BETA_KIND == "zero":
                x = gl.where(k == 0, 0.0, x)  # alpha times an empty sum may be NaN
            else:
                old_mask = rows < gl.where(beta == 0, 0, m)
                if MASKED:
                    old_mask &= cols < n
                old = beta * gl.load(out, mask=old_mask, other=0.0)
                x = gl.where(k == 0, old, old + x)
            if MASKED:
                gl.store(out, x, mask=(rows < m) & (cols < n))
            else:
                gl.store(out, x)


@gluon.jit
def multiply_panels(
    a, b, m, n, k, a_m, a_k, b_k, b_n, LAYOUT: gl.constexpr, A_ALONG_K: gl.constexpr, B_ALONG_K: gl.constexpr,
    WARPS_M: gl.constexpr, WARPS_N: gl.constexpr, ROWS: gl.constexpr, COLS: gl.constexpr,
    BLOCK_M: gl.constexpr, BLOCK_N: gl.constexpr, BLOCK_K: gl.constexpr,
    STAGES: gl.constexpr, MASKED: gl.constexpr,
):  # fmt: skip
    SLICES: gl.constexpr = BLOCK_K // 8
    a_slots = gl.allocate_shared_memory(
        gl.float64, [STAGES, BLOCK_M, BLOCK_K], shared_layout(BLOCK_M, BLOCK_K, WARPS_M, A_ALONG_K)
    )
    b_slots = gl.allocate_shared_memory(
        gl.float64, [STAGES, BLOCK_N, BLOCK_K], shared_layout(BLOCK_N, BLOCK_K, WARPS_N, B_ALONG_K)
    )
    A_COPY: gl.constexpr = copy_layout(BLOCK_M, BLOCK_K, gl.num_warps(), A_ALONG_K)
    B_COPY: gl.constexpr = copy_layout(BLOCK_N, BLOCK_K, gl.num_warps(), B_ALONG_K)
    a_rows = gl.arange(0, BLOCK_M, gl.SliceLayout(1, A_COPY))[:, None]
    a_depth = gl.arange(0, BLOCK_K, gl.SliceLayout(0, A_COPY))[None, :]
    b_cols = gl.arange(0, BLOCK_N, gl.SliceLayout(1, B_COPY))[:, None]
    b_depth = gl.arange(0, BLOCK_K, gl.SliceLayout(0, B_COPY))[None, :]
    a_offset = a_rows.to(gl.int64) * a_m + a_depth.to(gl.int64) * a_k
    b_offset = b_depth.to(gl.int64) * b_k + b_cols.to(gl.int64) * b_n
    a_edge = None
    b_edge = None
    if MASKED:
        a_edge = a_rows < m
        b_edge = b_cols < n

    steps = gl.cdiv(k, BLOCK_K).to(gl.int32)
    tail = k % BLOCK_K
    if tail != 0:
        a_tail = a + (k - tail) * a_k
        b_tail = b + (k - tail) * b_k
        copy_panel(a_slots.index(0), a_tail, a_offset, a_edge, a_depth < tail)
        copy_panel(b_slots.index(0), b_tail, b_offset, b_edge, b_depth < tail)
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
    a_now = load_fragments(a_slots.index(0), 0, ROWS, WARPS_M, A_ALONG_K, LAYOUT, 1)
    b_now = load_fragments(b_slots.index(0), 0, COLS, WARPS_N, B_ALONG_K, LAYOUT, 0)
    slot = 0
    for step in range(steps):
        # The slot of the step before this one is free: its fragments are in registers.
        free = gl.where(slot == 0, STAGES - 1, slot - 1)
        for s in gl.static_range(SLICES - 1):
            a_next = load_fragments(a_slots.index(slot), s + 1, ROWS, WARPS_M, A_ALONG_K, LAYOUT, 1)
            b_next = load_fragments(b_slots.index(slot), s + 1, COLS, WARPS_N, B_ALONG_K, LAYOUT, 0)
            acc = multiply(a_now, b_now, acc, ROWS, COLS, A_ALONG_K, B_ALONG_K)
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
        a_next = load_fragments(a_slots.index(slot), 0, ROWS, WARPS_M, A_ALONG_K, LAYOUT, 1)
        b_next = load_fragments(b_slots.index(slot), 0, COLS, WARPS_N, B_ALONG_K, LAYOUT, 0)
        acc = multiply(a_now, b_now, acc, ROWS, COLS, A_ALONG_K, B_ALONG_K)
        a_now = a_next
        b_now = b_next
    return acc


@gluon.jit
def load_fragments(
    slot,
    s: gl.constexpr,
    COUNT: gl.constexpr,
    WARPS: gl.constexpr,
    ALONG_K: gl.constexpr,
    LAYOUT: gl.constexpr,
    AXIS: gl.constexpr,
):
    BLOCKS: gl.constexpr = slot.shape[1] // 8 * COUNT
    blocks = slot._reinterpret(
        gl.float64, [BLOCKS, WARPS, 32, 4], block_layout(WARPS, ALONG_K, 1 - AXIS)
    )
    fragments = ()
    for i in gl.static_range(COUNT):
        fragments = fragments + (
            gl.expand_dims(blocks.index(s * COUNT + i).load(gl.SliceLayout(AXIS, LAYOUT)), AXIS),
        )
    return fragments


@gluon.jit
def multiply(
    a,
    b,
    acc,
    ROWS: gl.constexpr,
    COLS: gl.constexpr,
    A_ALONG_K: gl.constexpr,
    B_ALONG_K: gl.constexpr,
):
    result = ()
    for i in gl.static_range(ROWS):
        for p in gl.static_range(COLS):
            result = result + multiply_pair(
                a[i],
                b[p],
                acc[2 * (i * COLS + p)],
                acc[2 * (i * COLS + p) + 1],
                A_ALONG_K,
                B_ALONG_K,
            )
    return result


@gluon.jit
def multiply_pair(a, b, c0, c1, A_ALONG_K: gl.constexpr, B_ALONG_K: gl.constexpr):
    return gl.inline_asm_elementwise(
        pair_assembly(A_ALONG_K, B_ALONG_K),
        "=d,=d,=d,=d,=d,=d,=d,=d,d,d,d,d,d,d,d,d,d,d,d,d,d,d,d,d",
        [a, b, c0, c1],
        dtype=(gl.float64, gl.float64),
        is_pure=True,
        pack=4,
    )


@gluon.constexpr_function
def pair_assembly(a_along_k, b_along_k):
    a = "{$8, $9, $10, $11}"
    b = ("{$12, $13}", "{$14, $15}")
    op = "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 "
    return (
        op
        + "{$0, $1, $2, $3}, "
        + a
        + ", "
        + b[0]
        + ", {$16, $17, $18, $19};\n"
        + op
        + "{$4, $5, $6, $7}, "
        + a
        + ", "
        + b[1]
        + ", {$20, $21, $22, $23};"
    )


@gluon.jit
def copy_panel(slot, source, offset, edge, live):
    """Start the copy of a panel to its slot; elements beyond the edge or not live become 0."""
    mask = live
    if edge is not None:
        mask = live & edge
    async_copy.async_copy_global_to_shared(slot, source + offset, mask)


@gluon.constexpr_function
def is_one(stride):
    """Whether the stride is the constant 1."""
    return isinstance(stride, int) and stride == 1


@gluon.constexpr_function
def bits(n):
    return [1 << i for i in range(n.bit_length() - 1)]


@gluon.constexpr_function
def fragment_layout(warps_m, warps_n):
    """(warp row, warp column, lane, element)"""
    return gl.DistributedLinearLayout(
        [[0, 0, 0, 1], [0, 0, 0, 2]],
        [[0, 0, x, 0] for x in bits(32)],
        [[x, 0, 0, 0] for x in bits(warps_m)] + [[0, x, 0, 0] for x in bits(warps_n)],
        [],
        [warps_m, warps_n, 32, 4],
    )


@gluon.constexpr_function
def shared_layout(lines, depth, warps, along_k):
    """(line, k): blocks of 16 * warps lines by 8 of k, one after the other."""
    width = 16 * warps
    if along_k:
        block = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 4]] + [[x, 0] for x in bits(width)][2:]
    else:
        block = [[x, 0] for x in bits(width)] + [[4, 1], [8, 2], [0, 4]]
    return gl.SharedLinearLayout(
        block
        + [[x * width, 0] for x in bits(lines // width)]
        + [[0, 8 * x] for x in bits(depth // 8)],
        [],
        128,
    )


@gluon.constexpr_function
def block_layout(warps, along_k, operand):
    """(warp, lane, element)"""
    w = [[x, 0, 0] for x in bits(warps)]
    k = [[0, 1, 0], [0, 2, 0], [0, 0, 2 - operand]]
    line = [[0, 4, 0], [0, 8, 0], [0, 16, 0], [0, 0, 1 + operand]]

    def both(x, y):
        return [p + q for p, q in zip(x, y)]

    if along_k:
        return gl.SharedLinearLayout(
            [k[0], k[1], k[2], line[0], both(line[1], k[2]), line[2], line[3]] + w, [], 128
        )
    return gl.SharedLinearLayout(
        line + w + [both(k[0], line[2]), both(k[1], line[3]), k[2]], [], 128
    )


@gluon.constexpr_function
def copy_layout(lines, depth, warps, along_k):
    """(line, k): which thread copies what of a panel, 16 bytes each."""
    line = [[x, 0] for x in bits(lines)]
    k = [[0, x] for x in bits(depth)]
    w = len(bits(warps))
    if along_k:
        order = [k[1], k[2], line[0], k[3], *line[1:], *k[4:]]
        first = k[0]
    else:
        order = [*line[1:4], *k, *line[4:]]
        first = line[0]
    return gl.DistributedLinearLayout(
        [first] + order[5 + w :], order[:5], order[5 : 5 + w], [], [lines, depth]
    )
