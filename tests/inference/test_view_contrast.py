"""Pages whose ink is pale throughout, and networks that want it darker."""

from dataclasses import replace

import numpy as np
import pytest

from drmamba.config import PROTOCOLS, InferenceConfig, ModelConfig
from drmamba.images import RGB, ArraySource
from drmamba.inference.analysis import analyse_page
from drmamba.inference.analysis.tones import Tones
from drmamba.inference.view import LARGEST_GAIN, PageView, choose_view, fitting_gain, stretched

CONFIG = InferenceConfig(auto_rotate=False)


def page(ink: int, paper: int = 200, *, dark: bool = False) -> RGB:
    """Rows of strokes on noisy paper; with `dark`, a third of the rows are in black ink."""
    rng = np.random.default_rng(0)
    grey = np.full((400, 600), paper, np.float32)
    for row, top in enumerate(range(20, 380, 24)):
        level = 30 if dark and row % 3 == 0 else ink
        for left in range(20, 580, 12):
            grey[top : top + 14, left : left + 4] = level
    noisy = np.clip(grey + rng.normal(0, 1.5, grey.shape), 0, 255).astype(np.uint8)
    return np.repeat(noisy[..., None], 3, 2)


def view(pixels: RGB, ink_contrast: float = 0.25, config: InferenceConfig = CONFIG) -> PageView:
    source = ArraySource(pixels)
    return choose_view(source, analyse_page(source), config, iter, ModelConfig(ink_contrast=ink_contrast))


def test_pale_pages_are_shown_with_the_contrast_that_the_model_asks_for() -> None:
    pixels = page(180)
    found = view(pixels)
    assert 2.5 < found.gain < 4
    seen = analyse_page(found.transform(ArraySource(pixels))).tones
    assert seen.contrast == pytest.approx(0.25 * 255, rel=0.1)
    assert seen.paper == pytest.approx(analyse_page(ArraySource(pixels)).tones.paper, abs=2)


@pytest.mark.parametrize("pixels", [page(60), page(120), page(180, dark=True)], ids=["dark", "fair", "both"])
def test_pages_with_darker_ink_keep_their_contrast(pixels: RGB) -> None:
    """Beside darker ink, pale strokes may be the back of the sheet, which must not become ink."""
    assert view(pixels).gain == 1


@pytest.mark.parametrize("lines", [1, 4])
def test_a_few_thin_strokes_of_dark_ink_are_enough(lines: int) -> None:
    """On a title page or the last page of a chapter ink fills less of the tiles than the noise of the paper does."""
    rng = np.random.default_rng(0)
    grey = np.full((900, 700), 200, np.float32) + rng.normal(0, 3, (900, 700))
    for top in range(100, 100 + 40 * lines, 40):
        for left in range(80, 400, 12):
            grey[top : top + 14, left : left + 2] = 60
    pixels = np.repeat(np.clip(grey, 0, 255).astype(np.uint8)[..., None], 3, 2)
    tones = analyse_page(ArraySource(pixels)).tones
    assert tones.contrast < 0.25 * 255
    assert tones.darkest == pytest.approx(60, abs=6)
    assert view(pixels).gain == 1


def test_only_models_and_users_that_ask_for_it_get_it() -> None:
    pixels = page(180)
    assert view(pixels, ModelConfig.ink_contrast).gain == 1
    assert view(pixels, config=replace(CONFIG, auto_contrast=False)).gain == 1
    assert not PROTOCOLS["paper"].auto_contrast


def test_a_negative_is_stretched_as_the_page_that_it_shows() -> None:
    found = view(255 - page(180))
    assert found.inverted
    assert found.gain == pytest.approx(view(page(180)).gain, rel=0.05)


def test_noise_fits_the_contrast_that_the_network_sees() -> None:
    even = page(180)
    even[even > 190] = 200
    even[even < 190] = 180
    plain, found = view(even, 0.0), view(even)
    assert plain.noise > 0
    assert found.noise == pytest.approx(found.gain * plain.noise, rel=1e-3)


def test_gains_are_bounded_and_values_stay_in_range() -> None:
    assert fitting_gain(Tones(199, 200), 0.25) == LARGEST_GAIN
    assert fitting_gain(Tones(200, 200), 0.25) == 1
    pixels = np.array([[[0, 100, 250]]], np.uint8)
    np.testing.assert_array_equal(stretched(pixels, 2.0, 200.0), [[[0, 0, 255]]])
