"""Distance reciprocal distortion (Lu, Kot and Shi, IEEE Signal Processing Letters 11(2), 2004)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from drmamba.metrics.counts import check_pages
from drmamba.metrics.skeleton import Mask

REACH, BLOCK = 2, 8


def _reciprocals() -> NDArray[np.float64]:
    """W: one over the Euclidean distance to the centre, itself 0; the sum is 1."""
    steps = np.arange(-REACH, REACH + 1)
    distance = np.hypot(steps[:, None], steps[None, :])
    weights = np.divide(1.0, distance, out=np.zeros_like(distance), where=distance > 0)
    normalised: NDArray[np.float64] = weights / weights.sum()
    return normalised


_W = _reciprocals()


@njit(cache=True, nogil=True)
def _distortion(prediction: Any, truth: Any, weights: Any) -> float:
    """The sum of DRD_k over the flipped pixels: how much the truth around each differs from what was put there."""
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
    """NUBN: the complete 8 x 8 blocks, from the top left, that hold both ink and paper."""
    rows, columns = truth.shape[0] // BLOCK, truth.shape[1] // BLOCK
    blocks = truth[: rows * BLOCK, : columns * BLOCK].reshape(rows, BLOCK, columns, BLOCK)
    return int(np.count_nonzero(blocks.any((1, 3)) & ~blocks.all((1, 3))))


def drd(prediction: Mask, truth: Mask) -> float:
    """DRD; 0 if nothing is distorted, inf if something is and the truth has no mixed block to measure it by."""
    check_pages(prediction, truth)
    total: float = _distortion(np.ascontiguousarray(prediction), np.ascontiguousarray(truth), _W)
    blocks = mixed_blocks(truth)
    if total == 0:
        return 0.0
    return total / blocks if blocks else math.inf
