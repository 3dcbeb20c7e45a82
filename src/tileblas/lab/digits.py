"""Principal components of handwritten digits: block power iteration on tileblas products.

    repeat  Z = X^T (X V);  Z^T Z = L L^T;  V = Z L^-T      until the span of V stands still

X holds scikit-learn's 1797 bundled images of 8 x 8 pixels, centred. Every product with a long side
is a `tb.gemm`; the factors of the small Gram matrix (Cholesky QR) are NumPy's. At the end the small
matrix (X V)^T (X V) is diagonalised, which turns V into the components, and all of it is compared
with NumPy's SVD of X.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tileblas as tb
from tileblas.lab.places import HostPlace, Place

COMPONENTS = 8
BLOCK = 24  # more columns than wanted components: the span converges with (s_25 / s_8)^2
_MOST_STEPS = 200


@dataclass(frozen=True)
class Components:
    """What was found, beside NumPy's SVD in the same precision of data, computed in float64.

    `angle` is the sine of the largest angle between the two spans of all components.
    """

    dtype: str
    steps: int
    vectors: np.ndarray  # a component in each row
    singular_values: np.ndarray
    reference: np.ndarray
    explained: np.ndarray  # share of the variance
    reference_explained: np.ndarray
    angle: float

    @property
    def error(self) -> float:
        """The largest relative error of a singular value."""
        return float(np.max(np.abs(self.singular_values - self.reference) / self.reference))

    @property
    def good(self) -> bool:
        """Whether values and span agree to what the precision allows."""
        eps = float(np.finfo(self.dtype).eps)
        return self.error < 32 * eps and self.angle < 1024 * eps


def load_images(dtype: str) -> np.ndarray:
    """The images, one in each row, less their mean. ImportError says what to install."""
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise ImportError("the digits need scikit-learn: pip install 'tileblas[demo]'") from error
    images = load_digits().data
    return (images - images.mean(axis=0)).astype(dtype)


def principal_components(
    images: np.ndarray,
    place: Place | None = None,
    progress: Callable[[int, float], Any] = lambda step, change: None,
) -> Components:
    """The leading components of centred images; `progress(step, change of the span)` each step."""
    place = place or HostPlace()
    x, v, steps = iterate(images, place, progress)
    return _compared(images, x, v, place, steps)


def iterate(
    images: np.ndarray,
    place: Place,
    progress: Callable[[int, float], Any] = lambda step, change: None,
) -> tuple[Any, Any, int]:
    """The iteration alone: X and V where `place` keeps them, and the number of steps."""
    x = place.from_host(images)
    v = _orthonormal(place.from_host(_start(images)), place)
    steps, change, settled = 0, np.inf, 32 * float(np.finfo(images.dtype).eps)
    while change > settled and steps < _MOST_STEPS:
        previous = v
        z = tb.gemm(x, tb.gemm(x, v), trans_a="T")
        v = _orthonormal(z, place)
        change, steps = _turned(previous, v, place), steps + 1
        progress(steps, change)
    return x, v, steps


def _start(images: np.ndarray) -> np.ndarray:
    """A block of random directions."""
    random = np.random.default_rng(0)
    return random.standard_normal((images.shape[1], BLOCK)).astype(images.dtype)


def _orthonormal(z: Any, place: Place) -> Any:
    """Z L^-T for Z^T Z = L L^T: Cholesky QR, on a matrix of few columns."""
    gram = place.to_host(tb.gemm(z, z, trans_a="T"))
    inverse = np.linalg.inv(np.linalg.cholesky(gram.astype(np.float64)))
    return tb.gemm(z, place.from_host(inverse.astype(gram.dtype)), trans_b="T")


def _turned(before: Any, after: Any, place: Place) -> float:
    """How far the wanted columns of `after` lie outside the span of `before`, root mean square.

    The columns beyond them may turn for ever.
    """
    overlap = place.to_host(tb.gemm(before, after, trans_a="T"))[:, :COMPONENTS]
    outside = place.to_host(after)[:, :COMPONENTS] - place.to_host(before) @ overlap
    return float(np.linalg.norm(outside) / np.sqrt(COMPONENTS))


def _compared(images: np.ndarray, x: Any, v: Any, place: Place, steps: int) -> Components:
    """The components within the span of `v`, and what NumPy's SVD says of the same images."""
    projected = tb.gemm(x, v)
    small = place.to_host(tb.gemm(projected, projected, trans_a="T")).astype(np.float64)
    squares, turn = np.linalg.eigh(small)
    leading = slice(None, -COMPONENTS - 1, -1)  # eigh sorts upwards
    turned = tb.gemm(v, place.from_host(turn[:, leading].astype(images.dtype)))
    vectors = place.to_host(turned).T
    _, reference, reference_vectors = np.linalg.svd(images.astype(np.float64), full_matrices=False)
    total = float((reference**2).sum())
    squares, reference = squares[leading], reference[:COMPONENTS]
    return Components(
        dtype=images.dtype.name,
        steps=steps,
        vectors=vectors,
        singular_values=np.sqrt(squares),
        reference=reference,
        explained=squares / total,
        reference_explained=reference**2 / total,
        angle=_largest_angle(vectors, reference_vectors[:COMPONENTS]),
    )


def _largest_angle(ours: np.ndarray, theirs: np.ndarray) -> float:
    """The sine of the largest principal angle between the row spans; `theirs` has unit rows."""
    basis = np.linalg.qr(ours.T.astype(np.float64))[0]
    outside = basis - theirs.T @ (theirs @ basis)
    return float(np.linalg.norm(outside, 2))
