"""Which way lines of writing run, and pages that lie on their side seen level.

The network has learned from level lines and takes most of what runs up or down for something else. Level lines
make the rows of a page differ and its columns alike; where that is not plain, the network is asked on a few tiles.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from drmamba.images import RGB, ArraySource
from drmamba.inference.rescale import ScaledRows
from drmamba.inference.strokes import Grey
from drmamba.inference.tiling import Predict, Probability

LEVEL = 0.5  # from this `lean` on lines are level without asking the network; below its negative they seem to run up
MORE = 1.25  # times the ink that turned tiles must show where lines do not say; where they do, as much less will do
NARROW = 64  # pixels: less is a strip
BLOCK = 256  # pixels within which lines are looked for
SLOW, FAST = 20.0, 1.5  # pixels: widths of the shading that is taken away and of the noise that is smoothed


def lean(overview: Grey) -> float:
    """How much more the rows of a page differ than its columns, as a logarithm: below 0 lines seem to run up.

    A strip no wider than a line of writing cannot tell, and counts as level.
    """
    if min(overview.shape) < NARROW:
        return math.inf
    grey = overview.astype(np.float32)
    edges = np.abs(ndimage.sobel(grey, 0)) + np.abs(ndimage.sobel(grey, 1))
    edges = np.minimum(edges, np.percentile(edges, 99))
    side = min(BLOCK, *edges.shape)
    along, across = 1e-6, 1e-6
    for top in range(0, edges.shape[0] - side + 1, side // 2):
        for left in range(0, edges.shape[1] - side + 1, side // 2):
            block = edges[top : top + side, left : left + side]
            along += _changes(block.mean(1))
            across += _changes(block.mean(0))
    return float(np.log(along / across))


def _changes(profile: NDArray[np.float32]) -> float:
    slow = ndimage.gaussian_filter1d(profile, SLOW, mode="nearest")
    return float(ndimage.gaussian_filter1d(profile - slow, FAST).var())


def lies_sideways(lean: float, tiles: Sequence[RGB], scale: float, predict: Predict) -> bool:
    """Whether lines run up or down, by the page's lean and by what the network reads on tiles of it, both ways."""
    if lean >= LEVEL:
        return False
    seen = [ScaledRows(ArraySource(tile), scale).read() for tile in tiles]
    level = sum(_ink(predict, tile) for tile in seen)
    return sum(_ink(predict, np.rot90(tile)) for tile in seen) > level * (MORE if lean > -LEVEL else 1 / MORE)


def turned(predict: Predict) -> Predict:
    """A prediction that sees its windows turned by a quarter; what it gives is turned back."""

    def stream(windows: Iterator[RGB]) -> Iterator[Probability]:
        for found in predict(np.rot90(window) for window in windows):
            yield np.rot90(found, -1)

    return stream


def _ink(predict: Predict, tile: RGB) -> int:
    return int(np.count_nonzero(next(predict(iter([tile]))) > 0.5))
