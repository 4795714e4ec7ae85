"""Geometric transforms of picture and ink alike: cut a window out of a page, rotate, scale and flip it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from drmamba.images import Ink

FAINTEST = 48  # parts of 255; the ridge of a hairline is ink if it covers at least this much of a pixel
Shape = tuple[int, int]  # height and width, in pixels


def window(pixels: NDArray[np.uint8], top: int, left: int, shape: Shape) -> NDArray[np.uint8]:
    """A rectangle of the page; beyond its edges the page is mirrored as often as needed."""
    height, width = pixels.shape[:2]
    bottom, right = top + shape[0], left + shape[1]
    if top >= 0 and left >= 0 and bottom <= height and right <= width:
        return pixels[top:bottom, left:right]
    rows = _mirrored(np.arange(top, bottom), height)
    columns = _mirrored(np.arange(left, right), width)
    return pixels[rows[:, None], columns[None, :]]


def _mirrored(index: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    index = index % (2 * length)
    return np.minimum(index, 2 * length - 1 - index)


def reach(shape: Shape, zoom: float, angle: float) -> Shape:
    """The size of the window that `rotated` needs to fill a shape at this zoom and angle (degrees)."""
    radians = math.radians(angle)
    along, across = abs(math.cos(radians)), abs(math.sin(radians))
    height, width = (side / zoom for side in shape)
    # Interpolation reaches six pixels further.
    return math.ceil(height * along + width * across) + 6, math.ceil(width * along + height * across) + 6


def rotated(piece: NDArray[np.uint8], shape: Shape, zoom: float, angle: float) -> NDArray[np.uint8]:
    """The middle of a piece, rotated by `angle` (degrees) and scaled by `zoom` to the shape."""
    height, width = shape
    if zoom == 1 and angle == 0:
        top, left = (piece.shape[0] - height) // 2, (piece.shape[1] - width) // 2
        return piece[top : top + height, left : left + width]
    picture = Image.fromarray(piece)
    if angle:
        picture = picture.rotate(angle, Image.Resampling.BILINEAR)
    down = max(0.0, (piece.shape[0] - height / zoom) / 2)
    across = max(0.0, (piece.shape[1] - width / zoom) / 2)
    box = (across, down, piece.shape[1] - across, piece.shape[0] - down)
    smooth = Image.Resampling.BICUBIC if piece.ndim == 3 else Image.Resampling.BILINEAR
    return np.asarray(picture.resize((width, height), smooth, box))


def hardened(coverage: NDArray[np.uint8]) -> Ink:
    """Binary ink from the share (0-255) of each pixel that ink covers.

    A pixel is ink if half of it is covered, or if it lies on the ridge of a fainter line: a stroke that is thinner
    than a pixel, or that straddles two, would break up or vanish under a plain threshold.
    """
    ink = coverage >= 128
    inner = coverage[1:-1, 1:-1]
    left, right = coverage[1:-1, :-2], coverage[1:-1, 2:]
    above, below = coverage[:-2, 1:-1], coverage[2:, 1:-1]
    ridge = ((inner >= left) & (inner > right)) | ((inner >= above) & (inner > below))
    ink[1:-1, 1:-1] |= ridge & (inner >= FAINTEST)
    return ink


def flipped(
    pixels: NDArray[np.uint8], sideways: bool, upside_down: bool, transposed: bool
) -> NDArray[np.uint8]:
    """Mirror the columns (sideways), the rows (upside down) or the diagonal (transposed)."""
    if transposed:
        pixels = pixels.swapaxes(0, 1)
    return pixels[:: -1 if upside_down else 1, :: -1 if sideways else 1]
