"""Which way the lines of writing seem to run.

Level lines make the rows of a page differ from each other while its columns look alike. Lines that run up or down do
the opposite. Where the score is not decisive, `drmamba.inference.view` asks the network.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from drmamba.inference.analysis.filters import gaussian, sobel
from drmamba.inference.analysis.strokes import Grey

SMALLEST_SIDE = 64  # pixels; a strip with a shorter side has too few lines to tell
BLOCK_SIDE = 256  # pixels; lines are searched for in blocks of this size
SHADING_WIDTH = 20.0  # pixels; wider changes are shading and are subtracted
NOISE_WIDTH = 1.5  # pixels; narrower changes are noise and are smoothed


def orientation_score(overview: Grey) -> float:
    """Return how much more the rows of a page differ than its columns, as a logarithm.

    A positive score means that lines are level, a negative one that they run up or down. A strip that is no wider
    than a line of writing cannot tell; its score is infinite, which means level.
    """
    if min(overview.shape) < SMALLEST_SIDE:
        return math.inf
    grey = overview.astype(np.float32)
    edges = np.abs(sobel(grey, 0)) + np.abs(sobel(grey, 1))
    edges = np.minimum(edges, np.percentile(edges, 99))
    side = min(BLOCK_SIDE, *edges.shape)
    rows, columns = 1e-6, 1e-6
    for top in range(0, edges.shape[0] - side + 1, side // 2):
        for left in range(0, edges.shape[1] - side + 1, side // 2):
            block = edges[top : top + side, left : left + side]
            rows += _variation(block.mean(1))
            columns += _variation(block.mean(0))
    return float(np.log(rows / columns))


def _variation(profile: NDArray[np.float32]) -> float:
    shading = gaussian(profile, SHADING_WIDTH)
    return float(gaussian(profile - shading, NOISE_WIDTH, mode="symmetric").var())
