"""Components and chessboard distances of a mask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from drmamba.metrics.skeleton import Mask

FAR = 65535  # no seed was reached


@dataclass(frozen=True)
class Components:
    """8-connected components, numbered from 1 in the order of their first pixel, row by row."""

    labels: NDArray[np.int32]  # (H, W), 0 outside
    boxes: NDArray[np.int32]  # (n + 1, 4): first row, first column, last row, last column; row 0 is unused

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.boxes) - 1


@njit(cache=True, nogil=True)
def _root(parent: Any, label: int) -> int:
    while parent[label] != label:
        parent[label] = parent[parent[label]]
        label = parent[label]
    return label


@njit(cache=True, nogil=True)
def _label(mask: Any) -> Any:
    height, width = mask.shape
    labels = np.zeros((height, width), np.int32)
    parent = np.zeros(((height + 1) // 2) * ((width + 1) // 2) + 1, np.int32)
    used = 0
    for y in range(height):
        for x in range(width):
            if not mask[y, x]:
                continue
            north = labels[y - 1, x] if y else 0
            west = labels[y, x - 1] if x else 0
            north_west = labels[y - 1, x - 1] if y and x else 0
            north_east = labels[y - 1, x + 1] if y and x + 1 < width else 0
            if north:  # it touches the other three already
                labels[y, x] = north
            elif north_east:
                labels[y, x] = north_east
                other = west if west else north_west
                if other:
                    a, b = _root(parent, north_east), _root(parent, other)
                    parent[max(a, b)] = min(a, b)
            elif west or north_west:
                labels[y, x] = west if west else north_west
            else:
                used += 1
                parent[used] = used
                labels[y, x] = used

    count = 0
    for label in range(1, used + 1):  # a parent is never above its child
        if parent[label] == label:
            count += 1
            parent[label] = count
        else:
            parent[label] = parent[parent[label]]
    boxes = np.empty((count + 1, 4), np.int32)
    boxes[:, 0], boxes[:, 1], boxes[:, 2], boxes[:, 3] = height, width, -1, -1
    for y in range(height):
        for x in range(width):
            if labels[y, x]:
                label = parent[labels[y, x]]
                labels[y, x] = label
                boxes[label, 0] = min(boxes[label, 0], y)
                boxes[label, 1] = min(boxes[label, 1], x)
                boxes[label, 2] = max(boxes[label, 2], y)
                boxes[label, 3] = max(boxes[label, 3], x)
    return labels, boxes


def components(mask: Mask) -> Components:
    """Label the 8-connected components of a mask."""
    return Components(*_label(mask))


@njit(cache=True, nogil=True)
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
    """Chessboard distance of every pixel to the nearest seed; FAR where there is none."""
    distance: NDArray[np.uint16] = _chessboard(seeds)
    return distance
