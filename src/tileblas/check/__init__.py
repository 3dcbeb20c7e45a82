"""Correctness: a higher-precision oracle, error bars, guarded buffers, grids of cases, a runner."""
