"""Specks are pieces of few pixels; what is larger stays to the last pixel."""

import numpy as np
import pytest
from scipy import ndimage

from drmamba.images import Bitmap
from drmamba.inference import despeckle
from drmamba.inference.despeckle import find_specks, remove_specks, speck_area


@pytest.mark.parametrize("share", [0.02, 0.2, 0.45, 0.6])
@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (37, 1), (90, 133)])
def test_specks_are_those_of_another_labelling(shape, share):
    ink = np.random.default_rng(3).random(shape) < share
    labels, _ = ndimage.label(ink, np.ones((3, 3)))
    sizes = np.bincount(labels.ravel())
    for area in (1, 2, 4.5, 12):
        assert (find_specks(ink, area) == (ink & (sizes[labels] < area))).all()


def test_a_long_winding_piece_is_one_piece():
    ink = np.zeros((41, 41), np.bool_)
    ink[::4] = True
    for row in range(0, 37, 4):  # a line that turns at alternate ends
        ink[row : row + 5, -1 if row % 8 == 0 else 0] = True
    assert ndimage.label(ink, np.ones((3, 3)))[1] == 1
    assert not find_specks(ink, ink.sum()).any()
    assert find_specks(ink, ink.sum() + 1).sum() == ink.sum()


def test_a_page_in_strips_is_the_page_as_a_whole(monkeypatch):
    monkeypatch.setattr(despeckle, "STRIP_ROWS", 7)
    ink = np.random.default_rng(5).random((60, 51)) < 0.35
    bitmap = Bitmap.pack(ink)
    expected = find_specks(ink, 9)
    assert remove_specks(bitmap, 9) == expected.sum() > 0
    assert (bitmap.unpack() == (ink & ~expected)).all()


def test_the_area_follows_the_stroke():
    assert speck_area(1.0) == 2.0
    assert speck_area(6.0) == 9.0
    assert speck_area(200.0) == 400.0
