"""The principal components agree with NumPy's SVD, and a wrong result would be seen."""

import dataclasses

import numpy as np
import pytest

import tileblas
from tileblas.lab.digits import COMPONENTS, load_images, principal_components

pytest.importorskip("sklearn")


@pytest.fixture(scope="module", params=["float32", "float64"])
def found(request):
    with tileblas.backend("cpu"):
        return principal_components(load_images(request.param))


def test_images_are_centred():
    images = load_images("float64")
    assert images.shape == (1797, 64)
    assert np.abs(images.mean(axis=0)).max() < 1e-12


def test_components_agree_with_the_svd(found):
    assert found.good
    eps = np.finfo(found.dtype).eps
    assert found.error < 32 * eps
    assert found.angle < 1024 * eps
    np.testing.assert_allclose(found.explained, found.reference_explained, rtol=100 * eps)


def test_components_are_orthonormal_and_sorted(found):
    gram = found.vectors.astype(np.float64) @ found.vectors.T
    np.testing.assert_allclose(gram, np.eye(COMPONENTS), atol=100 * np.finfo(found.dtype).eps)
    assert (np.diff(found.singular_values) < 0).all()


@pytest.mark.parametrize("change", [{"angle": 1e-2}, {"singular_values": np.ones(COMPONENTS)}])
def test_a_wrong_result_is_seen(found, change):
    assert not dataclasses.replace(found, **change).good
    nan = dict.fromkeys(change, np.full(COMPONENTS, np.nan) if "angle" not in change else np.nan)
    assert not dataclasses.replace(found, **nan).good


def test_progress_is_told_at_every_step():
    changes = []
    with tileblas.backend("cpu"):
        found = principal_components(
            load_images("float32"), progress=lambda step, change: changes.append((step, change))
        )
    assert [step for step, _ in changes] == list(range(1, found.steps + 1))
    assert changes[-1][1] < changes[0][1]
