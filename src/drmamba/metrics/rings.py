"""The pixels of a mask at one chessboard distance from a pixel, which lie on the sides of a square window around it.

The contest's tool takes them as the nearest contour or skeleton: all pixels on the sides of the first window that meets
any, inside the bounding box of the pixel's component. No library has this search.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from drmamba.compilation import compiled


@compiled(nogil=True)
def links(mask: Any) -> Any:
    """For every pixel, the next mask pixel in its row and in its column, or the size if there is none.

    With these links the cost of a search along the side of a window is the number of mask pixels on it.
    """
    height, width = mask.shape
    across = np.empty((height, width + 1), np.int32)
    down = np.empty((height + 1, width), np.int32)
    down[height] = height
    for y in range(height - 1, -1, -1):
        across[y, width] = width
        for x in range(width - 1, -1, -1):
            across[y, x] = x if mask[y, x] else across[y, x + 1]
            down[y, x] = y if mask[y, x] else down[y + 1, x]
    return across, down


@compiled(nogil=True)
def hits(across: Any, down: Any, y: int, x: int, radius: int, boxes: Any, label: int, found: Any) -> int:
    """Write the flat indices of the pixels at exactly this distance inside the box; returns their number."""
    top, left, bottom, right = boxes[label, 0], boxes[label, 1], boxes[label, 2], boxes[label, 3]
    width = down.shape[1]
    first, last = max(x - radius, left), min(x + radius, right)
    count = 0
    for side in range(1 if radius == 0 else 2):
        row = y + radius if side else y - radius
        if top <= row <= bottom:
            column = across[row, first]
            while column <= last:
                found[count] = row * width + column
                count += 1
                column = across[row, column + 1]
    first, last = max(y - radius + 1, top), min(y + radius - 1, bottom)
    for side in range(2):
        column = x + radius if side else x - radius
        if left <= column <= right and first <= last:
            row = down[first, column]
            while row <= last:
                found[count] = row * width + column
                count += 1
                row = down[row + 1, column]
    return count


@compiled(nogil=True)
def _meets(across: Any, down: Any, y: int, x: int, radius: int, boxes: Any, label: int) -> bool:
    """Whether any pixel lies at exactly this distance, inside the box."""
    top, left, bottom, right = boxes[label, 0], boxes[label, 1], boxes[label, 2], boxes[label, 3]
    first, last = max(x - radius, left), min(x + radius, right)
    if y - radius >= top and across[y - radius, first] <= last:
        return True
    if y + radius <= bottom and across[y + radius, first] <= last:
        return True
    first, last = max(y - radius, top), min(y + radius, bottom)
    if x - radius >= left and down[first, x - radius] <= last:
        return True
    return bool(x + radius <= right and down[first, x + radius] <= last)


@compiled(nogil=True)
def nearest(across: Any, down: Any, distance: Any, y: int, x: int, boxes: Any, label: int) -> int:
    """The distance to the nearest mask pixel inside the box of a label, or -1 if there is none.

    `distance` is the chessboard distance to the mask on the whole page.
    """
    radius = int(distance[y, x])
    up, left = y - boxes[label, 0], x - boxes[label, 1]
    below, right = boxes[label, 2] - y, boxes[label, 3] - x
    if radius <= min(min(up, left), min(below, right)):
        return radius
    while radius <= max(max(up, left), max(below, right)):
        if _meets(across, down, y, x, radius, boxes, label):
            return radius
        radius += 1
    return -1
