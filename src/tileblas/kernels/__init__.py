"""Triton kernels: tile helpers, elementwise updates, reductions, matrix-vector and matrix products."""
