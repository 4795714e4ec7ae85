"""Pages cleaner than any paper, seen with a little grain.

The network has learned from scans of paper: there is grain everywhere, ink is not quite black, paper not quite
white. Of a page without all that, drawn by a program or stretched by a scanner, it loses most of the bold print. Such
a page is shown to it as a scan would look; its own pixels stay what they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from drmamba.images import RGB
from drmamba.inference.strokes import Grey
from drmamba.inference.tiling import Predict, Probability

CLEAN = 0.015  # of the contrast: the paper of a scan has more noise than this
GRAIN = 0.024  # of the contrast: what a clean page is given
BLACK, TONE = 30.0, 2 / 3  # what black becomes, and how much of the contrast is left
SOFT = 0.8  # pixels: grains are no wider
NEAR = 5  # pixels across which noise is measured
SIDE = 512  # of the pattern, which repeats
FLAT = 8  # grey levels: a window with less is blank, and stays so


def paper_noise(tiles: Sequence[Grey]) -> tuple[float, float]:
    """The noise of the paper between the strokes (a standard deviation) and the contrast, in grey levels."""
    found = [_noise(tile.astype(np.float32)) for tile in tiles if tile.size]
    noise, contrast = np.median(found, axis=0) if found else (0.0, 0.0)
    return float(noise), float(contrast)


def _noise(tile: NDArray[np.float32]) -> tuple[float, float]:
    dark, light = np.percentile(tile, [5, 95])
    mean = ndimage.uniform_filter(tile, NEAR)
    spread = np.sqrt(np.maximum(ndimage.uniform_filter(tile * tile, NEAR) - mean * mean, 0))
    # The quieter half of the paper: nearer to strokes their edges count.
    return float(np.percentile(spread[mean >= (dark + light) / 2], 25)), float(light - dark)


def fitting_grain(noise: float, contrast: float) -> float:
    """The grain with which the network is to see a page, in grey levels; 0 for a page that has its own."""
    return GRAIN * TONE * contrast if noise < CLEAN * contrast else 0.0


def grained(predict: Predict, grain: float) -> Predict:
    """A prediction that sees its windows greyer and with grain; the same windows always with the same."""

    def stream(windows: Iterator[RGB]) -> Iterator[Probability]:
        return predict(_grained(window, grain) for window in windows)

    return stream


def _grained(window: RGB, grain: float) -> RGB:
    if np.ptp(window) < FLAT:
        return window
    height, width = window.shape[:2]
    pattern = _pattern()[np.arange(height) % SIDE][:, np.arange(width) % SIDE, None]
    return np.clip(BLACK + TONE * window + grain * pattern, 0, 255).astype(np.uint8)


@cache
def _pattern() -> NDArray[np.float32]:
    """Soft noise of deviation 1 that repeats without a seam."""
    noise = np.random.default_rng(0).standard_normal((SIDE, SIDE), np.float32)
    soft = ndimage.gaussian_filter(noise, SOFT, mode="wrap")
    return np.asarray(soft / soft.std(), np.float32)
