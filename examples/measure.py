"""Measuring a problem of one's own from Python, with the protocol of `tileblas bench`.

python examples/measure.py
"""

from tileblas.lab.bench import open_bench, run
from tileblas.lab.cases import Case

bench = open_bench()  # the GPU where there is one, else the CPU
cases = [Case("gemm", (300, 40, 1000), "float64", trans, "col") for trans in ("NN", "TN")]
for row in run(cases, bench):
    print(
        f"{row.case}: {row.median * 1e6:.0f} us, {row.rate * 1e-9:.1f} {row.unit}, "
        f"error {row.accuracy.error:.0e}, {row.ratio:.2f} x {row.rival}"
    )
