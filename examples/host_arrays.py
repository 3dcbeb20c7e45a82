"""NumPy arrays: views where they lie, outputs in place, batches, and what a mistake says.

python examples/host_arrays.py
"""

import numpy as np

import tileblas as tb

random = np.random.default_rng(0)
a = random.standard_normal((4, 6))
b = random.standard_normal((5, 6))

# C := alpha A B^T + beta C. No C given: a new one is made.
c = tb.gemm(a, b, trans_b="T", alpha=2)
assert np.allclose(c, 2 * a @ b.T)

# A given C is updated in place, whatever its layout: here every other column of a larger array.
wide = np.zeros((4, 10))
tb.gemm(a, b, wide[:, ::2], trans_b="T")
assert np.allclose(wide[:, ::2], a @ b.T)
assert not wide[:, 1::2].any()

# Vectors may run backwards, or repeat one element.
x, ones = np.arange(5.0), np.broadcast_to(1.0, 5)
print("sum of 0..4 by dot:", tb.dot(x[::-1], ones))

# y := alpha op(A) x + beta y, then y / |y|, in place.
y = tb.gemv(a, np.ones(4), trans="T")
tb.scal(y, alpha=1 / tb.nrm2(y))
print("length of y:", round(float(tb.nrm2(y)), 12))

# y := alpha x + y, along the last axis of stacks of vectors.
y = np.ones((3, 5))
tb.axpy(x, y[1], alpha=0.5)
print("one row updated:", y[1])

# Leading axes are batches, and broadcast: three matrices times one.
stack = random.standard_normal((3, 4, 6))
assert np.allclose(tb.gemm(stack, b, trans_b="T"), stack @ b.T)

# Half precision sums in float32 and rounds once.
half = random.standard_normal(10_000).astype(np.float16)
exact = float(np.dot(half.astype(np.float64), half))
print("float16 dot:", tb.dot(half, half), "exact:", round(exact, 1))

# A mistake is named before anything is written.
try:
    tb.gemm(a, b)
except tb.BlasError as error:
    print(f"{error.routine}, argument {error.argument}: {error}")
