"""Moves that act on picture and ink alike: a window cut out of a page, turned, scaled and flipped."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from drmamba.data.page import Ink

FAINTEST = 48  # of 255: the share of a pixel that the crest of a hairline covers at least


def window(pixels: NDArray[np.uint8], top: int, left: int, size: int) -> NDArray[np.uint8]:
    """A square of the page; beyond its edges the page is mirrored, as often as needed."""
    height, width = pixels.shape[:2]
    if top >= 0 and left >= 0 and top + size <= height and left + size <= width:
        return pixels[top : top + size, left : left + size]
    rows = _mirrored(np.arange(top, top + size), height)
    columns = _mirrored(np.arange(left, left + size), width)
    return pixels[rows[:, None], columns[None, :]]


def _mirrored(index: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    index = index % (2 * length)
    return np.minimum(index, 2 * length - 1 - index)


def reach(size: int, zoom: float, angle: float) -> int:
    """Side of the window that `turned` needs to fill size x size pixels at this zoom and angle (degrees)."""
    radians = math.radians(angle)
    span = size / zoom
    return (
        math.ceil(span * (abs(math.cos(radians)) + abs(math.sin(radians)))) + 6
    )  # and the reach of interpolation


def turned(piece: NDArray[np.uint8], size: int, zoom: float, angle: float) -> NDArray[np.uint8]:
    """The middle of a piece, turned by angle (degrees) and scaled by zoom to size x size pixels."""
    if zoom == 1 and angle == 0:
        start = (piece.shape[0] - size) // 2
        return piece[start : start + size, start : start + size]
    picture = Image.fromarray(piece)
    if angle:
        picture = picture.rotate(angle, Image.Resampling.BILINEAR)
    margin = max(0.0, (piece.shape[0] - size / zoom) / 2)
    box = (margin, margin, piece.shape[1] - margin, piece.shape[0] - margin)
    smooth = Image.Resampling.BICUBIC if piece.ndim == 3 else Image.Resampling.BILINEAR
    return np.asarray(picture.resize((size, size), smooth, box))


def hardened(coverage: NDArray[np.uint8]) -> Ink:
    """Binary ink from the share (0-255) of each pixel that ink covers.

    Half covered is ink. So is the crest of a fainter line: a stroke thinner than a pixel, or one that
    straddles two, would break up or vanish under the plain threshold.
    """
    ink = coverage >= 128
    inner = coverage[1:-1, 1:-1]
    left, right = coverage[1:-1, :-2], coverage[1:-1, 2:]
    above, below = coverage[:-2, 1:-1], coverage[2:, 1:-1]
    crest = ((inner >= left) & (inner > right)) | ((inner >= above) & (inner > below))
    ink[1:-1, 1:-1] |= crest & (inner >= FAINTEST)
    return ink


def flipped(
    pixels: NDArray[np.uint8], sideways: bool, upside_down: bool, transposed: bool
) -> NDArray[np.uint8]:
    """Mirror the rows, the columns and the diagonal of a square."""
    if transposed:
        pixels = pixels.swapaxes(0, 1)
    return pixels[:: -1 if upside_down else 1, :: -1 if sideways else 1]
