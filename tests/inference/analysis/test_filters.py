"""The filters give the values of scipy's."""

import numpy as np
import pytest

from drmamba.inference.analysis.filters import box_mean, dilated, eroded, gaussian, labelled, opened, sobel

ndimage = pytest.importorskip("scipy.ndimage", reason="scipy is not installed")
SHAPES = [(50, 70), (9, 200), (3, 3), (1, 5)]


@pytest.mark.parametrize("shape", SHAPES)
def test_values_are_scipys(shape):
    values = np.random.default_rng(0).integers(0, 256, shape).astype(np.float32)
    pairs = [
        (gaussian(values, 0.7, reach=3), ndimage.gaussian_filter(values, 0.7, mode="nearest", truncate=3)),
        (gaussian(values, 0.8, mode="wrap"), ndimage.gaussian_filter(values, 0.8, mode="wrap")),
        (gaussian(values[0], 20.0), ndimage.gaussian_filter1d(values[0], 20.0, mode="nearest")),
        (gaussian(values[0], 1.5, mode="symmetric"), ndimage.gaussian_filter1d(values[0], 1.5)),
        (box_mean(values, 5), ndimage.uniform_filter(values, 5)),
        (box_mean(values, 65, mode="edge"), ndimage.uniform_filter(values, 65, mode="nearest")),
        (sobel(values, 0), ndimage.sobel(values, 0)),
        (sobel(values, 1), ndimage.sobel(values, 1)),
    ]
    for found, want in pairs:
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, want, rtol=1e-6, atol=1e-4)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.95, 1.0])
def test_masks_are_scipys(shape, share):
    mask = np.random.default_rng(1).random(shape) < share
    for side in (1, 3, 5, 13):
        assert np.array_equal(dilated(mask, side), ndimage.maximum_filter(mask, side))
        assert np.array_equal(eroded(mask, side), ndimage.minimum_filter(mask, side))
    for side in (2, 3, 4):
        padded, inner = np.pad(mask, side, mode="edge"), np.s_[side:-side, side:-side]
        want = ndimage.grey_opening(padded.astype(np.uint8), (side, side))[inner]
        assert np.array_equal(opened(padded, side)[inner], want)
    names, count = labelled(mask)
    wanted, many = ndimage.label(mask)
    assert count == many
    assert len(np.unique(np.stack([names.ravel(), wanted.ravel()]), axis=1).T) == len(np.unique(wanted))


def test_a_square_larger_than_the_mask_opens_nothing():
    assert not opened(np.ones((3, 9), bool), 4).any()
