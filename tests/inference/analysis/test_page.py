"""The analysis of a page: polarity, stroke width, margins."""

import numpy as np
import pytest
from PIL import Image
from stand_in import text_page

from drmamba.images import ArraySource, read_ink, read_rgb
from drmamba.inference.analysis import analyse_page
from drmamba.inference.analysis.page import ReducedRows
from drmamba.inference.analysis.strokes import measure_strokes


@pytest.mark.parametrize("stroke", [2, 4, 8, 16, 32])
def test_stroke_width_is_measured_over_a_wide_range(stroke):
    page = text_page(stroke * 120, stroke * 120, stroke=stroke)
    found = analyse_page(ArraySource(page)).strokes
    assert found is not None
    assert 0.6 * stroke <= found.width <= 1.7 * stroke


@pytest.mark.parametrize("stroke", [3, 6, 20])
def test_white_on_black_is_seen_and_its_strokes_are_measured(stroke):
    page = text_page(stroke * 100, stroke * 100, stroke=stroke)
    assert not analyse_page(ArraySource(page)).inverted
    inverted = analyse_page(ArraySource(255 - page))
    assert inverted.inverted
    assert inverted.strokes.width == pytest.approx(analyse_page(ArraySource(page)).strokes.width, rel=0.3)


def test_a_light_page_is_not_inverted_for_a_dark_band():
    """Light strokes on a dark band have the most edges of this page, but most of it is light."""
    page = np.full((900, 600), 215, np.uint8)
    page[60:460, 40:560] = text_page(400, 520, stroke=6, ink=120)
    page[600:] = 255 - text_page(300, 600, stroke=3)
    assert measure_strokes([page[600:]]).inverted
    assert not analyse_page(ArraySource(page)).inverted
    band = page[500:]
    assert analyse_page(ArraySource(band)).inverted


@pytest.mark.parametrize("rows", [100, 257, 1000])
def test_bands_of_any_height_give_the_reduced_page(rows):
    page = np.random.default_rng(0).integers(0, 255, (1000, 130), np.uint8)
    whole = ReducedRows(3)
    for top in range(0, 1000, rows):
        whole.add(Image.fromarray(page[top : top + rows]))
    np.testing.assert_array_equal(whole.page(), np.asarray(Image.fromarray(page).reduce(3)))


@pytest.mark.parametrize(
    "page", [np.full((300, 300), 230, np.uint8), np.zeros((1, 1), np.uint8), np.zeros((3, 900), np.uint8)]
)
def test_a_page_without_strokes_has_none(page):
    assert analyse_page(ArraySource(page)).strokes is None


def test_noise_alone_is_not_called_inverted():
    page = np.random.default_rng(0).normal(200, 12, (600, 600)).clip(0, 255).astype(np.uint8)
    assert not analyse_page(ArraySource(page)).inverted


def test_dark_margins_are_found_and_text_is_not():
    page = text_page(900, 700, stroke=5)
    assert analyse_page(ArraySource(page)).margins is None
    page[:, :60] = 20
    page[-40:] = 15
    analysis = analyse_page(ArraySource(page))
    mask = np.kron(analysis.margins, np.ones((analysis.reduction,) * 2, bool))[:900, :700]
    assert mask[:, :60].mean() > 0.98
    assert mask[-40:].mean() > 0.98
    assert mask[:820, 80:].mean() < 0.01


def test_a_dark_block_inside_the_page_is_no_margin():
    page = text_page(900, 700, stroke=5)
    page[300:500, 200:500] = 20
    assert analyse_page(ArraySource(page)).margins is None


def test_real_pages_are_never_called_inverted_and_keep_their_ink(data_root):
    lost = []
    for path in sorted(data_root.glob("20[01]*/img/*"))[::4]:
        rgb, ink = read_rgb(path), read_ink(path.parents[1] / "gt" / f"{path.stem}.png")
        analysis = analyse_page(ArraySource(rgb))
        assert not analysis.inverted, path
        if analysis.margins is not None:
            mask = np.kron(analysis.margins, np.ones((analysis.reduction,) * 2, bool))[
                : ink.shape[0], : ink.shape[1]
            ]
            lost.append((mask & ink).sum() / ink.sum())
    assert max(lost, default=0) < 0.005


def test_a_shadow_is_no_margin():
    """It falls slowly, and there is text in it."""
    page = text_page(900, 700, ink=30, paper=240).astype(np.float32)
    shade = 0.25 + 0.75 / (1 + np.exp(-(np.arange(700) - 250) / 60))
    assert (shade < 0.4).mean() > 0.2
    assert analyse_page(ArraySource((page * shade).astype(np.uint8))).margins is None
