"""The true outline of ink whose truth is drawn bold."""

import numpy as np
from scipy import ndimage

from drmamba.data.outline import true_outline
from drmamba.data.page import LabelledPage
from drmamba.images import Ink

PAPER, DARK = 0.85, 0.2


def bold(ink: Ink, depth: float = 1.0, seed: int = 0) -> LabelledPage:
    """A soft and noisy picture of the ink, with a truth that is one pixel bolder on every side."""
    soft = ndimage.gaussian_filter(ink.astype(np.float32), 0.8)
    grey = PAPER - depth * (PAPER - DARK) * soft + np.random.default_rng(seed).normal(0, 0.02, ink.shape)
    image = np.repeat(grey[..., None], 3, 2).astype(np.float32)
    return LabelledPage(image, ndimage.binary_dilation(ink, np.ones((3, 3))))


def strokes(width: int) -> Ink:
    ink = np.zeros((120, 120), np.bool_)
    ink[20:100, 30 : 30 + width] = True
    ink[60 : 60 + width, 10:110] = True
    return ink


def test_bold_outlines_become_true() -> None:
    for width in (4, 7, 12):
        ink = strokes(width)
        page = bold(ink)
        found = true_outline(page)
        wrong_before, wrong = np.count_nonzero(page.ink != ink), np.count_nonzero(found != ink)
        assert wrong < 0.15 * wrong_before
        assert not (found & ~page.ink).any()


def test_hairlines_stay_whole() -> None:
    """A pale line of one pixel beside a broad dark stroke is not broken."""
    line = np.zeros((120, 120), np.bool_)
    line[15:105, 40] = True
    page, broad = bold(line, depth=0.35), bold(strokes(9))
    both = LabelledPage(np.minimum(page.image, broad.image), page.ink | broad.ink)
    found = true_outline(both)
    assert (found[15:105, 39:42].any(1)).all()


def test_ink_without_contrast_is_kept() -> None:
    ink = strokes(5)
    page = LabelledPage(np.full((120, 120, 3), 0.6, np.float32), ink)
    np.testing.assert_array_equal(true_outline(page), ink)
