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
    """C := alpha A B + beta C on one tile, with m rows and n columns left from its corner.

    k = 0 drops the product.
    """
    WARPS_N: gl.constexpr = gl.num_warps() // WARPS_M
    layout: gl.constexpr = gl.NVMMADistributedLayout([2, 0], [WARPS_M, WARPS_N], [16, 8])
    product = multiply_panels(
        a, b, m, n, k, a_m, a_k, b_k, b_n, layout, BLOCK_M, BLOCK_N, BLOCK_K, STAGES, MASKED
    )
    rows = gl.arange(0, BLOCK_M, gl.SliceLayout(1, layout)).to(gl.int64)[:, None]
    cols = gl.arange(0, BLOCK_N, gl.SliceLayout(0, layout)).to(gl.int64)[None, :]
    c += rows * c_m + cols * c_n
    result = alpha * product
    if BETA_KIND == "zero":
        result = gl.where(k == 0, 0.0, result)  # alpha times an empty sum may be NaN
    else:
        old_mask = rows < gl.where(beta == 0, 0, m)
        if MASKED:
            old_mask &= cols < n
        old = beta * gl.load(c, mask=old_mask, other=0.0)
        result = gl.where(k == 0, old, old + result)
    if MASKED:
        gl.store(c, result, mask=(rows < m) & (cols < n))
    else:
        gl.store(c, result)


@gluon.jit
def multiply_panels(
    a, b, m, n, k, a_m, a_k, b_k, b_n, layout: gl.constexpr,
    BLOCK_M: gl.constexpr, BLOCK_N: gl.constexpr, BLOCK_K: gl.constexpr,
    STAGES: gl.constexpr, MASKED: gl.constexpr,
):  # fmt: skip
    """A B over [0, k). The odd end of k, if any, is the first step; the rest are full ones."""
    a_line_axis: gl.constexpr = 0 if is_one(a_k) else 1
    b_line_axis: gl.constexpr = 1 if is_one(b_k) else 0
    a_slots = gl.allocate_shared_memory(
        gl.float64, [STAGES, BLOCK_M, BLOCK_K], shared_layout(a_line_axis)
    )
    b_slots = gl.allocate_shared_memory(
        gl.float64, [STAGES, BLOCK_K, BLOCK_N], shared_layout(b_line_axis)
    )
    A_COPY: gl.constexpr = copy_layout(a_slots.shape[1 + a_line_axis], a_line_axis, gl.num_warps())
    B_COPY: gl.constexpr = copy_layout(b_slots.shape[1 + b_line_axis], b_line_axis, gl.num_warps())
    a_rows = gl.arange(0, BLOCK_M, gl.SliceLayout(1, A_COPY))[:, None]
    a_depth = gl.arange(0, BLOCK_K, gl.SliceLayout(0, A_COPY))[None, :]
    b_depth = gl.arange(0, BLOCK_K, gl.SliceLayout(1, B_COPY))[:, None]
    b_cols = gl.arange(0, BLOCK_N, gl.SliceLayout(0, B_COPY))[None, :]
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

    acc = gl.zeros((BLOCK_M, BLOCK_N), gl.float64, layout)
    async_copy.wait_group(STAGES - 2)
    a_now = a_slots.index(0).load(gl.DotOperandLayout(0, layout, 1))
    b_now = b_slots.index(0).load(gl.DotOperandLayout(1, layout, 1))
    slot = 0
    for step in range(steps):
        # The slot of the step before this one is free: its fragments are in registers.
        free = gl.where(slot == 0, STAGES - 1, slot - 1)
        slot = gl.where(slot == STAGES - 1, 0, slot + 1)
        live = step + STAGES - 1 < steps
        a += BLOCK_K * a_k
        b += BLOCK_K * b_k
        copy_panel(a_slots.index(free), a, a_offset, a_edge, live)
        copy_panel(b_slots.index(free), b, b_offset, b_edge, live)
        async_copy.commit_group()
        async_copy.wait_group(STAGES - 2)
        a_next = a_slots.index(slot).load(gl.DotOperandLayout(0, layout, 1))
        b_next = b_slots.index(slot).load(gl.DotOperandLayout(1, layout, 1))
        acc = mma_v2(a_now, b_now, acc)
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


@gluon.constexpr_function
def is_one(stride):
    """Whether the stride is the constant 1."""
    return isinstance(stride, int) and stride == 1


@gluon.constexpr_function
def copy_layout(lines, line_axis, warps):
    """Which thread copies what of a panel: 16 bytes each, along its contiguous lines."""
    size, threads, per_cta = [2, 2], [8, 8], [1, 1]
    size[line_axis] = 1
    threads[line_axis] = 4
    per_cta[line_axis] = min(warps, lines // 4)
    per_cta[1 - line_axis] = warps // per_cta[line_axis]
    return gl.BlockedLayout(size, threads, per_cta, [1 - line_axis, line_axis])


@gluon.constexpr_function
def shared_layout(line_axis):
    """A panel in shared memory: groups of 32 bytes, exclusive-ored with the line's number modulo 4.

    A half warp reads 4 rows or columns by 4 of k at a time: four groups of 32 bytes, one in each
    of four neighbouring lines, which must differ modulo 128 bytes.
    """
    return gl.SwizzledSharedLayout(4, 1, 4, [1 - line_axis, line_axis])
