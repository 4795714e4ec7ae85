"""Legibility: whether the ink of a degraded page can still be distinguished from its paper.

Every degradation limits its own strength, but several together may leave nothing to be seen. A network that is trained
to find invisible ink learns to call noise and bleed-through ink.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from drmamba.data.page import Field, LabelledPage

BLOCK = 64  # pixels; the side of the blocks whose ink is compared with their paper
LEAST_INK = 0.01  # share of a block's pixels; blocks with less ink are not judged
LEAST_CONTRAST = 0.08  # share of full brightness; ink with less contrast is not legible
LEAST_SEPARATION = (
    1.8  # standard deviations of the paper in the block; ink that differs less is lost in noise
)
LEGIBLE_SHARE = 0.9  # share of the blocks with ink that must be legible on a page

Values = NDArray[np.float32]  # one for each block with ink


def legible(page: LabelledPage, least_contrast: float = LEAST_CONTRAST) -> bool:
    """Whether the ink differs visibly from its paper in nearly all blocks; a page without ink is legible."""
    contrast, separation = contrasts(page)
    if not len(contrast):
        return True
    seen = (contrast >= least_contrast) & (separation >= LEAST_SEPARATION)
    return bool(seen.mean() >= LEGIBLE_SHARE)


def contrasts(page: LabelledPage) -> tuple[Values, Values]:
    """How much darker the ink of each block is than its paper, and the same in standard deviations of the paper."""
    height, width = (side // BLOCK * BLOCK for side in page.shape)
    if not height or not width:
        return np.empty(0, np.float32), np.empty(0, np.float32)
    # Every second row and column is enough to compare means.
    ink = page.ink[:height:2, :width:2].astype(np.float32)
    grey = page.image[:height:2, :width:2].mean(2)
    pixels = (BLOCK // 2) ** 2
    inked = _block_sums(ink)
    bare = pixels - inked
    judged = (inked >= LEAST_INK * pixels) & (bare > 0)
    paper = grey * (1 - ink)
    inked, bare = inked[judged], bare[judged]
    dark = _block_sums(grey * ink)[judged] / inked
    light = _block_sums(paper)[judged] / bare
    noise = np.sqrt(np.maximum(_block_sums(paper * paper)[judged] / bare - light * light, 0))
    contrast: Values = light - dark
    return contrast, contrast / np.maximum(noise, np.float32(1e-6))


def _block_sums(field: Field) -> Field:
    """The sum of each block of BLOCK / 2 rows and columns."""
    side = BLOCK // 2
    rows, columns = field.shape[0] // side, field.shape[1] // side
    sums: Field = field.reshape(rows, side, columns, side).sum((1, 3))
    return sums
