"""What the contests leave out of their truth although it may be printed or drawn: lines and marks as dark as ink."""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from drmamba.data.filters import blur
from drmamba.data.page import Field, LabelledPage
from drmamba.images import Ink

NEAR = 3  # pixels; so close to ink, everything belongs to its outline
RUN = 41  # pixels along a line over which its darkness is averaged, which removes the grain of the paper
BESIDE = 6  # pixels from a line to the paper that it is compared with
FAINTEST = 0.012  # of full brightness; a line differs from the paper on both sides by at least this
NOISE = 5.0  # median absolute deviations; a line differs from the paper on both sides by at least this
SHORTEST = 72  # pixels; shorter runs are strokes, or parts of a texture
SURROUNDINGS = 20.0  # pixels, standard deviation of the weights with which paper around a pixel is averaged
AS_DARK = 0.6  # of the median contrast of ink; a mark at least so dark may be printed
LEAST_CONTRAST = 0.15  # of full brightness; paler marks are not taken for print, however pale the ink is
WIDEST = 25  # pixels; dark areas that hold a square of this side are stains, shadows and the ground beyond the sheet


def unsettled(page: LabelledPage) -> Ink:
    """Where a truth that knows text alone does not say whether something was printed, written or drawn.

    These are straight, level or upright lines, however pale, such as rules, frames and the lines of writing paper, and
    marks nearly as dark as ink, such as ornaments, stamps and drawings. Ink itself and its outline are settled.
    """
    grey = blur(page.image.mean(2), 0.6)
    near = ndimage.binary_dilation(page.ink, iterations=NEAR)
    lines = _level_lines(grey, near) | _level_lines(grey.T, near.T).T
    found = ndimage.binary_dilation(lines | _marks(grey, page.ink, near), iterations=2)
    return np.asarray(found & ~near, np.bool_)


def _level_lines(grey: Field, near: Ink) -> Ink:
    """Level runs that are darker than the paper above and below them, where there is no ink."""
    paper = (~near).astype(np.float32)
    seen = ndimage.uniform_filter1d(paper, RUN, axis=1)
    mean = ndimage.uniform_filter1d(grey * paper, RUN, axis=1) / np.maximum(seen, np.float32(1e-3))
    above, below = (np.roll(mean, shift, axis=0) for shift in (BESIDE, -BESIDE))
    depth = np.minimum(above, below) - mean
    known = (seen > 0.4) & ~near
    known[:BESIDE] = known[-BESIDE:] = False
    if not known.any():
        return np.zeros(near.shape, np.bool_)
    spread = float(np.median(np.abs(depth[known] - np.median(depth[known]))))
    candidates = known & (depth > max(FAINTEST, NOISE * spread))
    # Letters interrupt a line, and it may step by a pixel.
    joined = ndimage.minimum_filter(ndimage.maximum_filter(candidates, (3, RUN)), (3, RUN))
    labels, _ = ndimage.label(joined, np.ones((3, 3)))
    lengths = [where[1].stop - where[1].start for where in ndimage.find_objects(labels)]
    long = np.concatenate([[False], np.array(lengths, dtype=int) >= SHORTEST])
    return np.asarray(joined & long[labels], np.bool_)


def _marks(grey: Field, ink: Ink, near: Ink) -> Ink:
    """Narrow marks away from ink that are nearly as dark against the paper as ink is.

    Writing on a stain interrupts it, and must not make the rest of it narrow.
    """
    paper = ~near
    level = blur(grey * paper, SURROUNDINGS) / np.maximum(blur(paper, SURROUNDINGS), np.float32(1e-3))
    contrast = level - grey
    usual = float(np.median(contrast[ink])) if ink.any() else 0.0
    dark = paper & (contrast > max(LEAST_CONTRAST, AS_DARK * usual))
    wide = ndimage.maximum_filter(ndimage.minimum_filter(dark | near, WIDEST), WIDEST + 2 * NEAR)
    return np.asarray(dark & ~wide, np.bool_)
