"""Components and chessboard distances of a mask.

`scipy.ndimage.distance_transform_cdt` gives the same distances, but uses generic neighbourhood iterators and returns
32-bit integers; the compiled loop here makes two passes and returns the 16-bit integers that the weight maps need.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from drmamba.compilation import compiled
from drmamba.metrics.skeleton import Mask

FAR = 65535  # pixels; the distance if there is no seed


@dataclass(frozen=True)
class Components:
    """8-connected components, numbered from 1 in the order of their first pixel, row by row."""

    labels: NDArray[np.int32]  # (H, W), 0 outside
    boxes: NDArray[np.int32]  # (n + 1, 4): first row, first column, last row, last column; boxes[0] is unused

    @property
    def count(self) -> int:
        """The number of components."""
        return len(self.boxes) - 1


def components(mask: Mask) -> Components:
    """Label the 8-connected components of a mask."""
    labels, count = ndimage.label(mask, np.ones((3, 3)))
    boxes = np.empty((count + 1, 4), np.int32)
    boxes[0] = *mask.shape, -1, -1  # empty
    for number, (rows, columns) in enumerate(ndimage.find_objects(labels), 1):
        boxes[number] = rows.start, columns.start, rows.stop - 1, columns.stop - 1
    return Components(labels, boxes)


@compiled(nogil=True)
def _chessboard(seeds: Any) -> Any:
    height, width = seeds.shape
    distance = np.full((height + 2, width + 2), FAR, np.int32)
    for y in range(1, height + 1):
        for x in range(1, width + 1):
            if seeds[y - 1, x - 1]:
                distance[y, x] = 0
            else:
                above = min(distance[y - 1, x - 1], distance[y - 1, x], distance[y - 1, x + 1])
                distance[y, x] = min(FAR, min(above, distance[y, x - 1]) + 1)
    result = np.empty((height, width), np.uint16)
    for y in range(height, 0, -1):
        for x in range(width, 0, -1):
            below = min(distance[y + 1, x - 1], distance[y + 1, x], distance[y + 1, x + 1])
            distance[y, x] = min(distance[y, x], min(below, distance[y, x + 1]) + 1)
            result[y - 1, x - 1] = distance[y, x]
    return result


def chessboard(seeds: Mask) -> NDArray[np.uint16]:
    """The chessboard distance of every pixel to the nearest seed, or FAR without seeds."""
    distance: NDArray[np.uint16] = _chessboard(seeds)
    return distance
