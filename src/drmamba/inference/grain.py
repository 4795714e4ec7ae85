"""Pages cleaner than any paper, seen with a little grain.

The network has learned from scans of paper: there is grain everywhere, ink is not quite black, paper not quite
white. Of a page without all that, drawn by a program or stretched by a scanner, it loses most of the bold print. Such
a page is shown to it as a scan would look; its own pixels stay what they are. And where paper has no noise at all and
nothing lies between paper and ink, whatever is as dark as ink is ink: headlines, rules and bullets, which the network
has learned to pass over. (Scraps on a white ground have paper without noise around them, and much in between.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import tee

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from drmamba.config import InferenceConfig
from drmamba.images import RGB
from drmamba.inference.lanes import contrast
from drmamba.inference.strokes import Grey
from drmamba.inference.tiling import Predict, Probability

CLEAN = 0.015  # of the contrast: the paper of a scan has more noise than this
SPOTLESS = 0.004  # of the contrast: so little is no paper
GRAIN = 0.024  # of the contrast: what a clean page is given
DARK = 0.2  # of the contrast: what is no lighter than ink by more than this is ink on a spotless page
BETWEEN = 0.25, 0.85  # of the contrast, from ink to paper: greys that a spotless page has at edges only, and
EDGES = 1.0  # for each pixel that is darker no more of them than this
BLACK, TONE = 30.0, 2 / 3  # what black becomes, and how much of the contrast is left
SOFT = 0.8  # pixels: grains are no wider
NEAR = 5  # pixels across which noise is measured
SIDE = 512  # of the pattern, which repeats
FLAT = InferenceConfig().min_contrast  # a window with less is blank, and stays so


@dataclass(frozen=True)
class Tones:
    """The grey levels of a page, dark on light."""

    ink: float = 0.0
    paper: float = 0.0
    noise: float = 0.0  # of the paper between the strokes, a standard deviation
    between: float = 0.0  # pixels neither dark nor light for each dark one, on the whole page

    @classmethod
    def of(cls, tiles: Sequence[Grey], levels: NDArray[np.int64]) -> Tones:
        """Measured on tiles that are written on; `levels` counts the pixels of each grey on the whole page."""
        found = [_tones(tile.astype(np.float32)) for tile in tiles if tile.size]
        if not found:
            return cls()
        ink, paper, noise = (float(value) for value in np.median(found, axis=0))
        grey = np.arange(256)
        low, high = (ink + share * (paper - ink) for share in BETWEEN)
        between = levels[(grey > low) & (grey < high)].sum() / max(1, levels[grey <= low].sum())
        return cls(ink, paper, noise, float(between))

    @property
    def contrast(self) -> float:
        """Between paper and ink."""
        return self.paper - self.ink

    @property
    def grain(self) -> float:
        """The grain with which the network is to see the page, in grey levels; 0 for a page that has its own."""
        return GRAIN * TONE * self.contrast if self.noise < CLEAN * self.contrast else 0.0

    @property
    def solid(self) -> float:
        """The grey below which all is ink; 0 where the network alone can say."""
        spotless = self.noise < SPOTLESS * self.contrast and self.between <= EDGES
        return self.ink + DARK * self.contrast if spotless else 0.0


def _tones(tile: NDArray[np.float32]) -> tuple[float, float, float]:
    dark, light = np.percentile(tile, [5, 95])
    mean = ndimage.uniform_filter(tile, NEAR)
    spread = np.sqrt(np.maximum(ndimage.uniform_filter(tile * tile, NEAR) - mean * mean, 0))
    # The quietest quarter of the paper: nearer to strokes their edges count.
    return dark, light, float(np.percentile(spread[mean >= (dark + light) / 2], 25))


def grained(predict: Predict, grain: float, solid: float = 0.0) -> Predict:
    """A prediction that sees its windows greyer and with grain; what is darker than `solid` is ink in any case."""

    def stream(windows: Iterator[RGB]) -> Iterator[Probability]:
        windows, seen = tee(windows)
        for found, window in zip(predict(_grained(w, grain) for w in seen), windows, strict=False):
            yield np.where(window.mean(2) < solid, np.float32(1), found) if solid else found

    return stream


def _grained(window: RGB, grain: float) -> RGB:
    if contrast(window) < FLAT:
        return window
    height, width = window.shape[:2]
    pattern = _pattern()[np.arange(height) % SIDE][:, np.arange(width) % SIDE, None]
    return np.clip(BLACK + TONE * window + grain * pattern, 0, 255).astype(np.uint8)


def as_scanned(page: RGB) -> RGB:
    """The tones of a clean page as a scan has them, without the grain, which a reduced page does not show."""
    scanned: RGB = np.clip(BLACK + TONE * page, 0, 255).astype(np.uint8)
    return scanned


@cache
def _pattern() -> NDArray[np.float32]:
    """Soft noise of deviation 1 that repeats without a seam."""
    noise = np.random.default_rng(0).standard_normal((SIDE, SIDE), np.float32)
    soft = ndimage.gaussian_filter(noise, SOFT, mode="wrap")
    return np.asarray(soft / soft.std(), np.float32)
