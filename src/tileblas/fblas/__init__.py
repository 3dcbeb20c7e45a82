"""BLAS by SciPy's names, behind `tileblas.blas`.

Each function is a routine on one type, called as f2py wraps it for SciPy: vectors have offsets and
increments, arguments are cast, and an output is the caller's own array where that fits.
"""
