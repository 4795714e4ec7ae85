"""Distance, skeleton and band of known shapes, and of random ones against definitions taken literally."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import ndimage

from drmamba.config import LossConfig
from drmamba.data.targets import skeleton, targets

pages = arrays(bool, st.tuples(st.integers(1, 12), st.integers(1, 12)), elements=st.booleans())


def literal_distance(ink: np.ndarray, saturation: float) -> np.ndarray:
    """From each centre to the nearest square of the other class, looking at all of them."""
    ys, xs = np.indices(ink.shape)
    result = np.full(ink.shape, saturation)
    for y, x in np.ndindex(*ink.shape):
        other = ink != ink[y, x]
        if other.any():
            dy, dx = np.maximum(np.abs(ys - y) - 0.5, 0), np.maximum(np.abs(xs - x) - 0.5, 0)
            result[y, x] = min(np.hypot(dy, dx)[other].min(), saturation)
    return np.where(ink, result, -result) / saturation


@given(pages, st.sampled_from([1.0, 2.5, 4.0, 100.0]))
@settings(deadline=None, max_examples=60)
def test_distance_is_exact(ink: np.ndarray, saturation: float) -> None:
    got = targets(ink, LossConfig(saturation=saturation))["distance"]
    np.testing.assert_allclose(got, literal_distance(ink, saturation), atol=1e-6)


def test_distance_is_zero_on_the_boundary_between_pixels() -> None:
    ink = np.zeros((1, 8), bool)
    ink[0, 3:6] = True
    got = targets(ink, LossConfig(saturation=4.0))["distance"][0] * 4
    np.testing.assert_allclose(got, [-2.5, -1.5, -0.5, 0.5, 1.5, 0.5, -0.5, -1.5])
    # linear interpolation crosses zero midway between columns 2 and 3, and 5 and 6: on the boundary
    assert (got > 0).tolist() == ink[0].tolist()


@pytest.mark.parametrize("value", [False, True])
def test_a_crop_of_one_colour_saturates(value: bool) -> None:
    made = targets(np.full((20, 30), value), LossConfig())
    assert (made["distance"] == (1 if value else -1)).all()
    assert not made["band"].any()
    assert made["skeleton"].any() == value


@given(pages)
@settings(deadline=None, max_examples=100)
def test_skeleton_keeps_components_and_holes(ink: np.ndarray) -> None:
    thin = skeleton(ink)
    assert not (thin & ~ink).any()
    eight = np.ones((3, 3))
    assert ndimage.label(thin, eight)[1] == ndimage.label(ink, eight)[1]
    assert ndimage.label(~np.pad(thin, 1))[1] == ndimage.label(~np.pad(ink, 1))[1]
    assert (skeleton(thin) == thin).all()


def test_skeleton_of_a_bar_is_its_middle() -> None:
    ink = np.zeros((11, 40), bool)
    ink[3:8, 4:36] = True
    ys, xs = np.nonzero(skeleton(ink)[:, 10:30])
    assert set(ys) == {5}
    assert len(xs) == 20


def test_band_is_the_dilated_boundary() -> None:
    ink = np.zeros((9, 12), bool)
    ink[:, 6:] = True
    band = targets(ink, LossConfig(band=2.0))["band"]
    assert band[4].tolist() == [0] * 4 + [1] * 4 + [0] * 4


def test_targets_are_float32_of_the_crops_size() -> None:
    ink = np.random.default_rng(0).random((33, 20)) < 0.5
    made = targets(ink.T, LossConfig())  # not contiguous
    assert set(made) == {"ink", "distance", "skeleton", "band"}
    for field in made.values():
        assert field.shape == (20, 33)
        assert field.dtype == np.float32
