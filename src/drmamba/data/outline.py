"""The true outline of ink on real pages, whose truth is drawn a little bold."""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from drmamba.data.filters import blur
from drmamba.data.page import LabelledPage
from drmamba.images import Ink

SMOOTHING = 0.6  # pixels, of the grey levels, so that grain does not roughen the outline
SURROUNDINGS = 5.0  # pixels, standard deviation of the weights with which paper around a pixel is averaged
CORE = 7  # pixels, side of the square whose darkest pixel is the core of a stroke
# Of the darkest pixel beside it; one that is at least so dark lies on the ridge of a pale line.
RIDGE = np.float32(0.8)
LEAST_CONTRAST = np.float32(0.02)  # of paper and core; below it nothing can be said about an outline


def true_outline(page: LabelledPage) -> Ink:
    """The ink of a page without those pixels of its outline that are less than half as dark as the core.

    Only the outermost pixels are removed, and of lines that are pale throughout the darkest ones stay, so that nothing
    breaks or vanishes.
    """
    grey, ink = blur(page.image.mean(2), SMOOTHING), page.ink
    paper = ~ink
    level = blur(grey * paper, SURROUNDINGS) / np.maximum(blur(paper, SURROUNDINGS), np.float32(1e-3))
    core = ndimage.minimum_filter(np.where(ink, grey, np.float32(1)), CORE)
    contrast = level - core
    coverage = np.clip((level - grey) / np.maximum(contrast, LEAST_CONTRAST), 0, 1)
    ridge = coverage >= RIDGE * ndimage.maximum_filter(coverage * ink, 3)
    inside = ndimage.binary_erosion(ink, border_value=1)
    kept = (coverage >= 0.5) | ridge | inside | (contrast < LEAST_CONTRAST)
    return np.asarray(ink & kept, np.bool_)
