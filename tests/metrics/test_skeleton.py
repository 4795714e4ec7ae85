"""Thinning: thin, connected, and nothing outside the ink."""

import numpy as np
import pytest
from scipy import ndimage

from drmamba.metrics.shapes import FAR, chessboard, components
from drmamba.metrics.skeleton import thin

EIGHT = np.ones((3, 3), bool)


def shapes(seed: int) -> np.ndarray:
    field = ndimage.gaussian_filter(np.random.default_rng(seed).random((70, 90)), 2.5)
    return field > np.quantile(field, 0.6)


@pytest.mark.parametrize("seed", range(4))
def test_a_skeleton_lies_in_the_ink_and_keeps_what_hangs_together(seed: int) -> None:
    ink = shapes(seed)
    bones = thin(ink)
    assert not (bones & ~ink).any()
    assert bones.sum() < ink.sum() / 2
    labels, _ = ndimage.label(ink, EIGHT)
    for label in np.unique(labels[bones]):
        assert ndimage.label(bones & (labels == label), EIGHT)[1] == 1


def test_a_line_stays_and_a_bar_becomes_one() -> None:
    line = np.zeros((9, 20), bool)
    line[4, 3:17] = True
    np.testing.assert_array_equal(thin(line), line)
    bar = np.zeros((15, 40), bool)
    bar[4:11, 5:35] = True
    bones = thin(bar)
    assert bones[:, 10:30].sum(0).tolist() == [1] * 20
    assert bones[7, 10:30].all()


@pytest.mark.parametrize("density", [0.05, 0.4, 0.6])
def test_components_agree_with_scipy(density: float) -> None:
    mask = np.random.default_rng(3).random((60, 50)) < density
    found = components(mask)
    labels, count = ndimage.label(mask, EIGHT)
    assert found.count == count
    np.testing.assert_array_equal(found.labels, labels)  # both number by the first pixel, row by row
    for label, (rows, columns) in enumerate(ndimage.find_objects(labels), 1):
        assert found.boxes[label].tolist() == [rows.start, columns.start, rows.stop - 1, columns.stop - 1]


def test_distances_agree_with_scipy() -> None:
    seeds = np.random.default_rng(1).random((40, 70)) < 0.01
    np.testing.assert_array_equal(chessboard(seeds), ndimage.distance_transform_cdt(~seeds, "chessboard"))
    assert (chessboard(np.zeros((4, 5), bool)) == FAR).all()
