"""Specks are small pieces that lie by themselves; what is larger, or in company, stays to the last pixel."""

import numpy as np
import pytest
from scipy import ndimage

from drmamba.images import Bitmap
from drmamba.inference import despeckle
from drmamba.inference.despeckle import MAX_COMPANY, SpeckSize, find_specks, remove_specks

AROUND = np.ones((3, 3))


def expected_specks(ink, size):
    """Find specks one piece after the other."""
    labels, count = ndimage.label(ink, AROUND)
    specks = np.zeros_like(ink)
    for number in range(1, count + 1):
        piece = labels == number
        if piece.sum() >= size.area:
            continue
        starts = piece & ~np.pad(piece, ((0, 0), (1, 0)))[:, :-1]  # the first pixels of its runs
        most = max(
            ink[
                max(y - size.reach, 0) : y + size.reach + 1, max(x - size.reach, 0) : x + size.reach + 1
            ].sum()
            for y, x in zip(*np.nonzero(starts), strict=True)
        )
        if most - piece.sum() <= MAX_COMPANY * (2 * size.reach + 1) ** 2:
            specks |= piece
    return specks


@pytest.mark.parametrize("share", [0.003, 0.02, 0.2, 0.6])
@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (37, 1), (60, 83)])
def test_specks_are_those_of_a_slow_search(shape, share):
    ink = np.random.default_rng(3).random(shape) < share
    for size in (SpeckSize(1, 2), SpeckSize(2, 3), SpeckSize(4.5, 6)):
        assert (find_specks(ink, size) == expected_specks(ink, size)).all()


def test_a_long_winding_piece_is_one_piece(monkeypatch):
    monkeypatch.setattr(despeckle, "MAX_COMPANY", 1.0)
    ink = np.zeros((41, 41), np.bool_)
    ink[::4] = True
    for row in range(0, 37, 4):  # a line that turns at alternate ends
        ink[row : row + 5, -1 if row % 8 == 0 else 0] = True
    assert ndimage.label(ink, AROUND)[1] == 1
    assert not find_specks(ink, SpeckSize(ink.sum(), 3)).any()
    assert find_specks(ink, SpeckSize(ink.sum() + 1, 3)).sum() == ink.sum()


def test_small_print_stays_and_a_speck_in_the_margin_goes():
    ink = np.zeros((120, 200), np.bool_)
    for top in range(10, 60, 8):
        ink[top : top + 3, 10:150:5] = True  # strokes of three pixels
    ink[100:102, 180] = True
    found = find_specks(ink, SpeckSize.of_strokes(4.0))  # the width of a headline elsewhere on the page
    assert found.sum() == 2
    assert found[100:102, 180].all()


def test_a_page_in_strips_is_the_page_as_a_whole(monkeypatch):
    monkeypatch.setattr(despeckle, "STRIP_ROWS", 7)
    ink = np.random.default_rng(5).random((90, 71)) < 0.01
    ink[40:44, 10:60] = True
    bitmap, size = Bitmap.pack(ink), SpeckSize(3, 4)
    expected = find_specks(ink, size)
    assert remove_specks(bitmap, size) == expected.sum() > 0
    assert (bitmap.unpack() == (ink & ~expected)).all()


def test_the_size_follows_the_stroke():
    assert SpeckSize.of_strokes(0.5) == SpeckSize(2.0, 2)
    assert SpeckSize.of_strokes(6.0) == SpeckSize(9.0, 18)
    assert SpeckSize.of_strokes(200.0).area == 400.0
