"""Triton kernels: tile helpers, elementwise updates, reductions, the tile GEMM."""
