"""Arrays on a GPU: computed where they are, on their library's stream, nothing copied or awaited.

python examples/device_arrays.py [torch|cupy]
"""

import sys

import tileblas as tb


def with_torch() -> None:
    import torch

    a = torch.randn(1000, 500, device="cuda")
    b = torch.randn(500, 300, device="cuda")
    c = tb.gemm(a, b)  # a torch tensor on the same device
    tb.gemm(a, b, c, beta=-1)  # in place; c is now zero but for rounding
    print("largest element left:", c.abs().max().item())

    # Results stay on the device: alpha = 1 / (x . x) never visits the host.
    x = torch.randn(1_000_000, device="cuda", dtype=torch.float64)
    y = torch.zeros_like(x)
    tb.axpy(x, y, alpha=1 / tb.dot(x, x))
    print("x . y:", tb.dot(x, y).item())

    # Power iteration stays there too: x := A^T A x, divided by its length.
    x = torch.ones(500, device="cuda")
    for _ in range(10):
        x = tb.gemv(a, tb.gemv(a, x), trans="T")
        tb.scal(x, alpha=1 / tb.nrm2(x))
    print("largest singular value, about:", tb.nrm2(tb.gemv(a, x)).item())

    # A call made ready: p() repeats it with less on the host, p(a, b, c) takes others alike.
    p = tb.plan(tb.gemm, a, b, c)
    p()

    # A stream of one's own.
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    product = tb.gemm(a, b, stream=stream)
    stream.synchronize()
    print("on another stream:", tuple(product.shape))


def with_cupy() -> None:
    import cupy

    a = cupy.random.standard_normal((1000, 500))
    b = cupy.asfortranarray(cupy.random.standard_normal((500, 300)))
    c = tb.gemm(a, b)  # mixed layouts need no copy
    tb.gemm(a, b, c, beta=-1)
    print("largest element left:", float(abs(c).max()))

    with cupy.cuda.Stream() as stream:  # CuPy's current stream is used
        x = cupy.arange(1000, dtype=cupy.float32)
        total = tb.dot(x[::-1], x)
        stream.synchronize()
    print("backwards dot:", float(total))


if __name__ == "__main__":
    {"torch": with_torch, "cupy": with_cupy}[sys.argv[1] if len(sys.argv) > 1 else "torch"]()
