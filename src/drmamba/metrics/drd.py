"""Distance reciprocal distortion (Lu, Kot and Shi, IEEE Signal Processing Letters 11(2), 2004)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drmamba.compilation import compiled
from drmamba.metrics.counts import check_pages
from drmamba.metrics.skeleton import Mask

REACH = 2  # pixels from the centre to the edge of the 5 x 5 neighbourhood
BLOCK = 8  # side in pixels of the blocks that normalise the distortion


def _reciprocals() -> NDArray[np.float64]:
    """W, the reciprocal Euclidean distance to the centre, which itself is 0, normalised to a sum of 1."""
    steps = np.arange(-REACH, REACH + 1)
    distance = np.hypot(steps[:, None], steps[None, :])
    weights = np.divide(1.0, distance, out=np.zeros_like(distance), where=distance > 0)
    normalised: NDArray[np.float64] = weights / weights.sum()
    return normalised


_W = _reciprocals()


@compiled(nogil=True)
def _distortion(prediction: Any, truth: Any, weights: Any) -> float:
    """The sum of DRD_k over the wrong pixels: how much the ground truth around each differs from it."""
    height, width = truth.shape
    total = 0.0
    for y in range(height):
        for x in range(width):
            if prediction[y, x] != truth[y, x]:
                for row in range(max(y - REACH, 0), min(y + REACH + 1, height)):
                    for column in range(max(x - REACH, 0), min(x + REACH + 1, width)):
                        if truth[row, column] != prediction[y, x]:
                            total += weights[row - y + REACH, column - x + REACH]
    return total


def mixed_blocks(truth: Mask) -> int:
    """NUBN, the number of complete 8 x 8 blocks, counted from the top left, that hold both ink and paper."""
    rows, columns = truth.shape[0] // BLOCK, truth.shape[1] // BLOCK
    blocks = truth[: rows * BLOCK, : columns * BLOCK].reshape(rows, BLOCK, columns, BLOCK)
    return int(np.count_nonzero(blocks.any((1, 3)) & ~blocks.all((1, 3))))


def drd(prediction: Mask, truth: Mask) -> float:
    """DRD; 0 without distortion, and inf with distortion if the ground truth has no mixed block to normalise it."""
    check_pages(prediction, truth)
    total: float = _distortion(np.ascontiguousarray(prediction), np.ascontiguousarray(truth), _W)
    blocks = mixed_blocks(truth)
    if total == 0:
        return 0.0
    return total / blocks if blocks else math.inf
