"""The width of strokes, and which side of an edge is ink, measured on grey levels.

A row that crosses a stroke shows a strong falling edge and then a strong rising one; the distance between them is the
stroke's width (after Su, Lu and Tan, "Robust document image binarization technique for degraded document images",
IEEE TIP 2013). Pairs of edges in the opposite order measure the gaps. Stains and shadows have soft edges, which do not
count. Noise breaks wide strokes into narrow ones, so wide strokes are measured again on smaller copies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from drmamba.inference.analysis.filters import Values, box_mean, gaussian

Grey = NDArray[np.uint8]

NARROW, WIDE = 4.2, 5.5  # pixels; a width between these two is measured well
MAX_HALVINGS = 3  # halvings; tiles are not reduced further than this
MAX_GROWTH = 2.5  # ratio; if a halving makes the width grow by more, it measured something else
MIN_PAIRS = 30  # edge pairs; fewer are no measurement
ROW_DISTANCE = 1e5  # pixels; the rows of all tiles are laid end to end at this distance
MIN_EDGE = 6.0  # grey levels over two pixels; a fainter edge does not count
MIN_EDGE_SHARE = 0.4  # of the 99th percentile of the slopes; a fainter edge does not count
INVERTED_RATIO = 0.85  # light gaps narrower than this share of the dark ones are light strokes
SKEWNESS_SIDE = 65  # pixels; the side of the square that a pixel is compared with


@dataclass(frozen=True)
class Strokes:
    """The stroke width and polarity of a page, from its edges."""

    width: float  # width of the strokes, in pixels
    gap: float  # width of the gaps between them, in pixels
    inverted: bool  # whether strokes are light on a dark ground


def measure_strokes(tiles: list[Grey], *, may_be_inverted: bool = True) -> Strokes | None:
    """Return the stroke width, gap and polarity of tiles of a page, or None if there are too few edges."""
    tiles = [tile for tile in tiles if min(tile.shape) >= 5]
    smooth = [_smooth(tile) for tile in tiles]
    dark, light = _widths(smooth)
    if math.isnan(dark) or math.isnan(light):
        return None
    # The narrower kind is ink. Skewness must agree, because ink stands out from its surroundings.
    inverted = light < INVERTED_RATIO * dark and float(np.median([_skewness(t) for t in smooth])) > 0
    if inverted and may_be_inverted:
        return Strokes(_refine([255 - tile for tile in tiles], light), dark, True)
    return Strokes(_refine(tiles, dark), light, False)


def _refine(tiles: list[Grey], width: float) -> float:
    """Measure again at a scale at which strokes of this width are measured well."""
    if width < NARROW:
        finer = _widths([_smooth(_resized(tile, 2.0)) for tile in tiles])[0] / 2
        return width if math.isnan(finer) else finer
    for halvings in range(1, MAX_HALVINGS + 1):
        if width <= WIDE * 2 ** (halvings - 1):
            break
        small = [_resized(tile, 0.5**halvings) for tile in tiles if min(tile.shape) >= 5 << halvings]
        coarser = _widths([_smooth(tile) for tile in small])[0] * 2**halvings
        if not coarser <= MAX_GROWTH * width:  # This is also true of NaN.
            break
        width = coarser
    return width


def _widths(tiles: list[Values]) -> tuple[float, float]:
    """Return the median widths of dark and of light runs between two edges; NaN if there are too few."""
    places, slopes, line = [], [], 0.0
    for tile in tiles:
        for lines in (tile, tile.T):
            row, place, slope = _edges(np.ascontiguousarray(lines))
            places.append(place + (row + line) * ROW_DISTANCE)
            slopes.append(slope)
            line += len(lines)
    if not places:
        return math.nan, math.nan
    place, slope = np.concatenate(places), np.concatenate(slopes)
    width, same_line = np.diff(place), np.diff(place) < ROW_DISTANCE / 2
    strength = np.minimum(np.abs(slope[:-1]), np.abs(slope[1:]))
    dark = same_line & (slope[:-1] < 0) & (slope[1:] > 0)
    light = same_line & (slope[:-1] > 0) & (slope[1:] < 0)
    return _median(width[dark], strength[dark]), _median(width[light], strength[light])


def _edges(tile: Values) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the row, the column (between pixels) and the slope of strong edges along rows, in reading order."""
    slope = tile[:, 2:] - tile[:, :-2]
    size = np.abs(slope)
    least = max(MIN_EDGE, MIN_EDGE_SHARE * float(np.percentile(size[::4], 99)))
    strongest = (size[:, 1:-1] >= size[:, :-2]) & (size[:, 1:-1] > size[:, 2:]) & (size[:, 1:-1] > least)
    row, column = np.nonzero(strongest)
    a, b, c = size[row, column], size[row, column + 1], size[row, column + 2]
    bend = a - 2 * b + c
    peak = np.divide(0.5 * (a - c), bend, out=np.zeros_like(bend), where=bend != 0)
    return row, column + np.clip(peak, -0.5, 0.5).astype(np.float64), slope[row, column + 1]


def _median(width: NDArray[Any], weight: NDArray[Any]) -> float:
    if len(width) < MIN_PAIRS:
        return math.nan
    order = np.argsort(width, kind="stable")
    total = np.cumsum(weight[order])
    return float(width[order][np.searchsorted(total, total[-1] / 2)])


def _skewness(tile: Values) -> float:
    rest = tile - box_mean(tile, SKEWNESS_SIDE, mode="edge")
    return float((rest**3).mean() / ((rest**2).mean() ** 1.5 + 1e-6))


def _smooth(tile: Grey) -> Values:
    return gaussian(tile.astype(np.float32), 0.7, reach=3)


def _resized(tile: Grey, factor: float) -> Grey:
    image = Image.fromarray(tile)
    if factor < 1:
        return np.asarray(image.reduce(round(1 / factor)))
    size = (round(tile.shape[1] * factor), round(tile.shape[0] * factor))
    return np.asarray(image.resize(size, Image.Resampling.BICUBIC))
