"""How wide strokes are and which side of an edge is ink, from the grey values alone.

A row that crosses a stroke shows a strong falling edge and then a strong rising one; their distance is the
stroke's width (after Su, Lu and Tan, "Robust document image binarization technique for degraded document
images", IEEE TIP 2013). Pairs the other way round measure the gaps. Stains and shadows have soft edges and
drop out. Noise breaks wide strokes into narrow ones, so wide ones are measured again on smaller copies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage

Grey = NDArray[np.uint8]
Values = NDArray[np.float32]

NARROW, WIDE = 4.2, 5.5  # pixels between which a width is measured well
COARSEST = 3  # halvings
PLAUSIBLE = 2.5  # a width grows by less than this from one halving to the next, or another thing is measured
FEWEST = 30  # edge pairs that make a measurement
FAR = 1e5  # between the rows of all tiles, laid end to end
EDGE = 6.0  # the faintest edge, in grey levels over two pixels


@dataclass(frozen=True)
class Strokes:
    """What the edges of a page say."""

    width: float  # of the strokes, in pixels
    gap: float  # of the ground between them
    inverted: bool  # light strokes on dark ground


def measure(tiles: list[Grey]) -> Strokes | None:
    """Stroke width, gap and polarity from tiles of a page; None where there are too few edges to say."""
    tiles = [tile for tile in tiles if min(tile.shape) >= 5]
    smooth = [_smooth(tile) for tile in tiles]
    dark, light = _widths(smooth)
    if math.isnan(dark) or math.isnan(light):
        return None
    # What is narrow is ink. Skewness must agree: ink is what stands out from its surroundings.
    inverted = light < 0.85 * dark and float(np.median([_lean(tile) for tile in smooth])) > 0
    if inverted:
        return Strokes(_refine([255 - tile for tile in tiles], light), dark, True)
    return Strokes(_refine(tiles, dark), light, False)


def _refine(tiles: list[Grey], width: float) -> float:
    """Measure again at a size where strokes of this width are measured well."""
    if width < NARROW:
        finer = _widths([_smooth(_resized(tile, 2.0)) for tile in tiles])[0] / 2
        return width if math.isnan(finer) else finer
    for halvings in range(1, COARSEST + 1):
        if width <= WIDE * 2 ** (halvings - 1):
            break
        small = [_resized(tile, 0.5**halvings) for tile in tiles if min(tile.shape) >= 5 << halvings]
        coarser = _widths([_smooth(tile) for tile in small])[0] * 2**halvings
        if not coarser <= PLAUSIBLE * width:  # also where it is NaN
            break
        width = coarser
    return width


def _widths(tiles: list[Values]) -> tuple[float, float]:
    """Median widths of what is dark and of what is light between two edges, NaN where there are too few."""
    places, slopes, line = [], [], 0.0
    for tile in tiles:
        for lines in (tile, tile.T):
            row, place, slope = _edges(np.ascontiguousarray(lines))
            places.append(place + (row + line) * FAR)
            slopes.append(slope)
            line += len(lines)
    if not places:
        return math.nan, math.nan
    place, slope = np.concatenate(places), np.concatenate(slopes)
    width, same_line = np.diff(place), np.diff(place) < FAR / 2
    strength = np.minimum(np.abs(slope[:-1]), np.abs(slope[1:]))
    dark = same_line & (slope[:-1] < 0) & (slope[1:] > 0)
    light = same_line & (slope[:-1] > 0) & (slope[1:] < 0)
    return _median(width[dark], strength[dark]), _median(width[light], strength[light])


def _edges(tile: Values) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Row, column (between pixels) and slope of the strong edges along rows, in reading order."""
    slope = tile[:, 2:] - tile[:, :-2]
    size = np.abs(slope)
    least = max(EDGE, 0.4 * float(np.percentile(size[::4], 99)))
    strongest = (size[:, 1:-1] >= size[:, :-2]) & (size[:, 1:-1] > size[:, 2:]) & (size[:, 1:-1] > least)
    row, column = np.nonzero(strongest)
    a, b, c = size[row, column], size[row, column + 1], size[row, column + 2]
    bend = a - 2 * b + c
    peak = np.divide(0.5 * (a - c), bend, out=np.zeros_like(bend), where=bend != 0)
    return row, column + np.clip(peak, -0.5, 0.5).astype(np.float64), slope[row, column + 1]


def _median(width: NDArray[Any], weight: NDArray[Any]) -> float:
    if len(width) < FEWEST:
        return math.nan
    order = np.argsort(width, kind="stable")
    total = np.cumsum(weight[order])
    return float(width[order][np.searchsorted(total, total[-1] / 2)])


def _lean(tile: Values) -> float:
    rest = tile - ndimage.uniform_filter(tile, 65, mode="nearest")
    return float((rest**3).mean() / ((rest**2).mean() ** 1.5 + 1e-6))


def _smooth(tile: Grey) -> Values:
    smooth: Values = ndimage.gaussian_filter(tile.astype(np.float32), 0.7, mode="nearest", truncate=3)
    return smooth


def _resized(tile: Grey, factor: float) -> Grey:
    image = Image.fromarray(tile)
    if factor < 1:
        return np.asarray(image.reduce(round(1 / factor)))
    size = (round(tile.shape[1] * factor), round(tile.shape[0] * factor))
    return np.asarray(image.resize(size, Image.Resampling.BICUBIC))
