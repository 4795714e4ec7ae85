"""Scaled pages in bands equal scaled pages at once, and come back at the right size."""

import numpy as np
import pytest
from PIL import Image, ImageFilter
from stand_in import darkness

from drmamba.config import WindowConfig
from drmamba.images import ArraySource
from drmamba.inference.analysis.strokes import Strokes
from drmamba.inference.tiling import bands, each, probability
from drmamba.inference.view import RESAMPLING, InvertedSource, ScaledSource, fitting_scale, restored

NOISE = Image.fromarray(np.random.default_rng(0).integers(0, 256, (157, 83, 3), np.uint8))
PAGE = np.asarray(NOISE.filter(ImageFilter.GaussianBlur(1.5)))


@pytest.mark.parametrize("scale", [0.2, 0.5, 0.77, 1.5, 2.0, 3.0])
def test_rows_of_a_scaled_page_are_those_of_the_whole(scale):
    rows = ScaledSource(ArraySource(PAGE), scale)
    size = (rows.width, rows.height)
    whole = np.asarray(Image.fromarray(PAGE).resize(size, RESAMPLING)).astype(int)
    assert size == (round(83 * scale), round(157 * scale))
    assert np.abs(rows.read(7).astype(int) - whole).max() <= 2  # rounding, twice


@pytest.mark.parametrize("scale", [0.2, 0.5, 0.77, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("height", [1, 2, 40, 157])
def test_probabilities_come_back_at_the_pages_size(scale, height):
    smooth = np.linspace(0, 255, height)[:, None, None] + np.linspace(-40, 40, 83)[:, None]
    page = np.clip(smooth, 0, 255).astype(np.uint8).repeat(3, 2)
    rows = ScaledSource(ArraySource(page), scale)
    parts = list(
        restored(bands(rows, each(darkness), WindowConfig(window=32, stride=20)), rows.height, height, 83)
    )
    assert [part.top for part in parts] == np.cumsum([0, *[len(part.probability) for part in parts]])[
        :-1
    ].tolist()
    found = np.concatenate([part.probability for part in parts])
    assert found.shape == (height, 83)
    whole = probability(rows, each(darkness))
    want = np.asarray(Image.fromarray(whole).resize((83, height), Image.Resampling.BILINEAR))
    np.testing.assert_allclose(found, want, atol=0.02)


def strokes(width: float) -> Strokes:
    return Strokes(width, 4 * width, inverted=False)


def page(height: int, width: int) -> ArraySource:
    return ArraySource(np.broadcast_to(np.uint8(255), (height, width, 3)))


def test_pages_are_scaled_only_when_strokes_are_far_off():
    small = page(400, 600)
    assert fitting_scale(None, small) == 1
    for width in (3.0, 5.0, 9.0, 11.0):
        assert fitting_scale(strokes(width), small) == 1
    assert fitting_scale(strokes(40.0), small) == pytest.approx(0.2)
    assert fitting_scale(strokes(2.5), small) == pytest.approx(2)
    assert fitting_scale(strokes(1.0), small) == 3


def test_a_model_that_has_learned_from_narrow_strokes_enlarges_less():
    small = page(400, 600)
    assert fitting_scale(strokes(2.0), small, 2.5) == 1
    assert fitting_scale(strokes(1.0), small, 2.5) == pytest.approx(2.5)
    assert fitting_scale(strokes(40.0), small, 2.5) == pytest.approx(0.2)


def test_fine_strokes_on_a_large_page_are_enlarged_no_further_than_time_allows():
    assert fitting_scale(strokes(2.0), page(2000, 2000)) == pytest.approx(2)  # to 16 megapixels, not 2.5
    assert fitting_scale(strokes(2.0), page(8000, 8000)) == 1
    assert fitting_scale(strokes(40.0), page(8000, 8000)) == pytest.approx(0.2)


def test_an_inverted_page():
    np.testing.assert_array_equal(InvertedSource(ArraySource(PAGE)).read(), 255 - PAGE)
