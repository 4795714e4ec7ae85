"""Picture and truth move together, and thin strokes survive."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw
from scipy import ndimage

from drmamba.data.geometry import flipped, hardened, reach, rotated, window


@given(st.integers(1, 40), st.integers(1, 40), st.integers(-60, 60), st.integers(-60, 60), st.integers(1, 90))
@settings(max_examples=80, deadline=None)
def test_a_window_mirrors_the_page_beyond_its_edges(
    height: int, width: int, top: int, left: int, size: int
) -> None:
    page = np.arange(height * width, dtype=np.uint8).reshape(height, width)
    tiled = np.pad(page, ((200, 200), (200, 200)), mode="symmetric")
    assert (window(page, top, left, (size, size)) == tiled[200 + top :, 200 + left :][:size, :size]).all()


@pytest.mark.parametrize("angle", [0.0, 3.0, -4.0, 30.0])
@pytest.mark.parametrize("zoom", [0.7, 1.0, 1.4])
def test_a_turned_piece_is_filled_to_its_corners(zoom: float, angle: float) -> None:
    size, _ = reach((64, 64), zoom, angle)
    result = rotated(np.full((size, size, 3), 200, np.uint8), (64, 64), zoom, angle)
    assert result.shape == (64, 64, 3)
    assert (abs(result.astype(int) - 200) <= 1).all()  # rotation has brought in none of the black beyond


@pytest.mark.parametrize("angle", [0.0, 2.5, -4.0])
@pytest.mark.parametrize("zoom", [0.7, 1.0, 1.3])
def test_picture_and_truth_stay_together(zoom: float, angle: float) -> None:
    size, _ = reach((96, 96), zoom, angle)
    canvas = Image.new("L", (size, size))
    ImageDraw.Draw(canvas).ellipse((size * 0.3, size * 0.35, size * 0.6, size * 0.7), fill=255)
    coverage = np.asarray(canvas)
    picture = np.repeat((255 - coverage)[..., None], 3, 2)
    ink = hardened(rotated(coverage, (96, 96), zoom, angle))
    dark = rotated(picture, (96, 96), zoom, angle)[..., 0] < 128
    assert ink.sum() > 300
    assert np.count_nonzero(ink != dark) < 0.05 * ink.sum()


@pytest.mark.parametrize("zoom", [0.6, 0.7, 0.85, 1.0, 1.4])
@pytest.mark.parametrize("angle", [0.0, 3.7])
@pytest.mark.parametrize(
    "line", [(5, 20.3, 115, 20.3), (30.5, 5, 30.5, 115), (6, 10, 100, 110), (10, 60, 110, 75)]
)
def test_a_hairline_stays_in_one_piece(line: tuple[float, ...], zoom: float, angle: float) -> None:
    canvas = Image.new("L", (120, 120))
    ImageDraw.Draw(canvas).line(line, fill=255, width=1)
    coverage = np.pad(np.asarray(canvas), 80)
    ink = hardened(rotated(coverage, (round(260 * zoom),) * 2, zoom, angle))
    pieces, count = ndimage.label(ink, np.ones((3, 3)))
    largest = np.bincount(pieces.ravel())[1:].max()
    assert largest >= 0.9 * ink.sum(), f"{count} pieces"
    assert largest >= 0.85 * zoom * (np.asarray(canvas) > 0).sum() * 0.9


def test_thick_strokes_do_not_grow() -> None:
    coverage = np.zeros((200, 200), np.uint8)
    coverage[50:150, 80:90] = 255
    for zoom in (0.6, 0.8, 1.3):
        ink = hardened(rotated(coverage, (round(200 * zoom),) * 2, zoom, 0.0))
        assert abs(ink.sum() - 1000 * zoom**2) < 0.12 * 1000 * zoom**2


def test_flips_are_those_asked_for() -> None:
    page = np.array([[1, 2], [3, 4]], np.uint8)
    assert flipped(page, True, False, False).tolist() == [[2, 1], [4, 3]]
    assert flipped(page, False, True, False).tolist() == [[3, 4], [1, 2]]
    assert flipped(page, False, False, True).tolist() == [[1, 3], [2, 4]]
