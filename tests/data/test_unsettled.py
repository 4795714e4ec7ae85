"""What the contests' truth leaves out although it may be printed or drawn."""

import numpy as np
from scipy import ndimage

from drmamba.data.page import LabelledPage
from drmamba.data.unsettled import unsettled
from drmamba.images import Ink

PAPER, DARK = 0.8, 0.2


def page_with(drawing: np.ndarray, ink: Ink, seed: int = 0) -> LabelledPage:
    """A noisy sheet with the drawing, given as a share of full blackness, and with ink."""
    soft = ndimage.gaussian_filter(np.maximum(drawing, ink.astype(np.float32)), 0.7)
    grey = PAPER - (PAPER - DARK) * soft + np.random.default_rng(seed).normal(0, 0.02, ink.shape)
    return LabelledPage(np.repeat(grey[..., None], 3, 2).astype(np.float32), ink)


def writing(shape: tuple[int, int] = (300, 400)) -> Ink:
    """Rows of short strokes, as letters are."""
    ink = np.zeros(shape, np.bool_)
    for top in range(30, shape[0] - 30, 50):
        for left in range(30, shape[1] - 60, 14):
            ink[top : top + 16, left : left + 3] = True
            ink[top + 7 : top + 10, left : left + 9] = True
    return ink


def test_text_alone_is_settled() -> None:
    ink = writing()
    assert unsettled(page_with(np.zeros(ink.shape), ink)).mean() < 0.001


def test_pale_lines_are_unsettled_where_they_are_not_ink() -> None:
    """The lines of writing paper have a tenth of the contrast of ink and run through the writing."""
    ink, lines = writing(), np.zeros((300, 400))
    lines[50::50, 10:390] = 0.12
    lines[10:290, 200] = 0.12
    found = unsettled(page_with(lines, ink))
    away = ~ndimage.binary_dilation(ink, iterations=8)
    away[:15] = away[-15:] = away[:, :30] = away[:, -30:] = False
    assert found[(lines > 0) & away].mean() > 0.9
    assert not (found & ink).any()
    far = ~ndimage.binary_dilation(lines > 0, iterations=6)
    assert found[far].mean() < 0.01


def test_ornaments_are_unsettled_and_stains_and_pale_blots_are_paper() -> None:
    ink, drawing = writing(), np.zeros((300, 400))
    ink[:, 160:] = False
    ornament, stain, blot = np.s_[20:280:20, 360:370], np.s_[150:290, 300:345], np.s_[60:72, 220:232]
    drawing[stain] = 0.7  # wider than any line or letter
    for top in range(20, 280, 20):
        drawing[top : top + 9, 360:370] = 0.9
    drawing[blot] = 0.3  # paler than half of the ink
    found = unsettled(page_with(drawing, ink))
    assert found[ornament].mean() > 0.9
    assert found[stain].mean() < 0.2
    assert found[blot].mean() < 0.1


def test_a_blank_crop_is_settled() -> None:
    blank = np.zeros((128, 512), np.bool_)
    assert not unsettled(page_with(np.zeros(blank.shape), blank)).any()
    assert not unsettled(
        LabelledPage(np.ones((256, 256, 3), np.float32), np.ones((256, 256), np.bool_))
    ).any()
