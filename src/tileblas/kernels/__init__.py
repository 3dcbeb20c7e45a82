"""Triton kernels: tile helpers, elementwise updates, reductions, gemv, the tile GEMM."""
