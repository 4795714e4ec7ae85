"""The grey levels of a page: its ink, its paper, the noise of the paper, and what lies between the two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from drmamba.inference.analysis.filters import box_mean
from drmamba.inference.analysis.strokes import Grey

BETWEEN = 0.25, 0.85  # of the contrast above the ink; in this range a pixel is neither ink nor paper
DARKEST_SHARE = 0.003  # of a tile's pixels; so many are darker than the tile's darkest tone
NEIGHBOURHOOD = 5  # pixels; noise is the deviation within squares of this side


@dataclass(frozen=True)
class Tones:
    """The grey levels of a page, measured as dark ink on light paper."""

    ink: float = 0.0
    paper: float = 0.0
    noise: float = 0.0  # standard deviation of the paper between the strokes, in grey levels
    between: float = 0.0  # pixels that are neither dark nor light, for each dark one on the whole page
    darkest: float = (
        255.0  # the darkest tone of any tile, be it of a few thin strokes; `ink` fills a twentieth of them
    )

    @property
    def contrast(self) -> float:
        """The difference between paper and ink."""
        return self.paper - self.ink

    def stretched(self, gain: float) -> Tones:
        """Return the tones of the page with so many times the contrast; its paper stays as it is."""
        ink, darkest = (
            max(0.0, self.paper - gain * (self.paper - tone)) for tone in (self.ink, self.darkest)
        )
        return Tones(ink, self.paper, gain * self.noise, self.between, darkest)


def measure_tones(tiles: Sequence[Grey], levels: NDArray[np.int64]) -> Tones:
    """Measure the tones on tiles with writing; `levels` counts the pixels of each grey level on the whole page."""
    found = [_tones(tile.astype(np.float32)) for tile in tiles if tile.size]
    if not found:
        return Tones()
    ink, paper, noise = (float(value) for value in np.median(found, axis=0))
    grey = np.arange(256)
    low, high = (ink + share * (paper - ink) for share in BETWEEN)
    between = levels[(grey > low) & (grey < high)].sum() / max(1, levels[grey <= low].sum())
    darkest = min(float(np.quantile(tile, DARKEST_SHARE)) for tile in tiles if tile.size)
    return Tones(ink, paper, noise, float(between), darkest)


def _tones(tile: NDArray[np.float32]) -> tuple[float, float, float]:
    dark, light = np.percentile(tile, [5, 95])
    mean = box_mean(tile, NEIGHBOURHOOD)
    square = box_mean(tile * tile, NEIGHBOURHOOD)
    spread = np.sqrt(np.maximum(square - mean * mean, 0))
    # Only the quietest quarter of the paper counts, because near strokes their edges would be measured.
    return dark, light, float(np.percentile(spread[mean >= (dark + light) / 2], 25))
