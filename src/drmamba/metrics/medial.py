"""Stroke widths measured on a skeleton: the normalisation that the two weight maps share.

Every value here is a byte in the contest's tool, which is visible in its maps: distances wrap at 256, and 250 stands
for "outside". The arithmetic below reproduces that. Rows and columns are searched by the same loop written twice,
because indexing a transposed array would cost time on every access.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from drmamba.compilation import compiled
from drmamba.metrics.rings import links, nearest
from drmamba.metrics.shapes import Components, chessboard
from drmamba.metrics.skeleton import Mask

OUTSIDE = 250  # values from here on, and 0, are not distances
BLOCK = 16  # pixels whose maximum is stored, to search faster along straight skeletons
Bytes = NDArray[np.uint8]


@compiled(nogil=True)
def _ordered(values: Any, labels: Any, count: int) -> Any:
    """The flat indices of the pixels that have a distance, component by component."""
    starts = np.zeros(count + 2, np.int64)
    for i in range(values.size):
        if 0 < values[i] < OUTSIDE:
            starts[labels[i] + 1] += 1
    starts = np.cumsum(starts)
    places = np.empty(starts[-1], np.int32)
    for i in range(values.size):
        if 0 < values[i] < OUTSIDE:
            places[starts[labels[i]]] = i
            starts[labels[i]] += 1
    return places


@compiled(nogil=True)
def _find_across(links: Any, row: int, column: int) -> int:
    """Follow the links of a row to their end, and shorten the path for the next search."""
    while links[row, column] != column:
        links[row, column] = links[row, links[row, column]]
        column = links[row, column]
    return column


@compiled(nogil=True)
def _find_down(links: Any, row: int, column: int) -> int:
    """The same in a column."""
    while links[row, column] != row:
        links[row, column] = links[links[row, column], column]
        row = links[row, column]
    return row


@compiled(nogil=True)
def _factors(
    distances: Any, skeleton: Any, across: Any, down: Any, near: Any, contour: Any, labels: Any, boxes: Any
) -> Any:
    """Half the stroke width on every skeleton pixel: its distance, plus one if the width is even.

    Each pixel sets the value of all skeleton pixels nearest to it, and the last one to do so counts. So the pixels are
    visited from the last to the first, and a skeleton pixel is unlinked once it has its value.
    """
    height, width = distances.shape
    factors = np.zeros((height, width), np.uint8)
    for y in range(height):
        for x in range(width):
            factors[y, x] = skeleton[y, x]
    row_links, column_links = across.copy(), down.copy()
    places = _ordered(distances.reshape(-1), labels.reshape(-1), len(boxes) - 1)
    for k in range(len(places) - 1, -1, -1):
        y, x = divmod(places[k], width)
        label = labels[y, x]
        radius = nearest(across, down, near, y, x, boxes, label)
        if radius < 0:
            continue
        top, left, bottom, right = boxes[label, 0], boxes[label, 1], boxes[label, 2], boxes[label, 3]
        reach = 1 if skeleton[y, x] and not contour[y, x] else near[y, x] & 255
        first, last = max(x - radius, left), min(x + radius, right)
        for side in range(1 if radius == 0 else 2):
            row = y + radius if side else y - radius
            if top <= row <= bottom:
                column = _find_across(row_links, row, first)
                while column <= last:
                    value = distances[row, column]
                    factors[row, column] = value + 1 if reach >= value else value
                    row_links[row, column], column_links[row, column] = column + 1, row + 1
                    column = _find_across(row_links, row, column + 1)
        first, last = max(y - radius + 1, top), min(y + radius - 1, bottom)
        for side in range(2):
            column = x + radius if side else x - radius
            if left <= column <= right and first <= last:
                row = _find_down(column_links, first, column)
                while row <= last:
                    value = distances[row, column]
                    factors[row, column] = value + 1 if reach >= value else value
                    row_links[row, column], column_links[row, column] = column + 1, row + 1
                    row = _find_down(column_links, row + 1, column)
    return factors


@compiled(nogil=True)
def _extend_ends(factors: Any, skeleton: Any, places: Any) -> None:
    """Let the end of a line take the factor of its one neighbour, plus one.

    Two peculiarities of the contest's tool are reproduced: a neighbour outside the picture is the pixel itself, and for
    the neighbour to the lower right the factor is read in the second column of its row, where it is nearly always 0.
    """
    height, width = skeleton.shape
    for k in range(len(places)):
        y, x = divmod(places[k], width)
        count, value = 0, 0
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                if dy == 0 and dx == 0:
                    continue
                row, column = min(max(y + dy, 0), height - 1), min(max(x + dx, 0), width - 1)
                if skeleton[row, column]:
                    count += 1
                    value = factors[row, column - x if dy == 1 and dx == 1 else column]
        if count == 1 and value > 0:
            factors[y, x] = value + 1


@compiled(nogil=True)
def _differs(area: int, own: int) -> bool:
    """Whether a neighbour has an area that differs from the pixel's own."""
    return area != 0 and area != own


@compiled(nogil=True)
def _peaks(distances: Any, factors: Any) -> Any:
    """Distance times factor, which is 0 off the skeleton, and its maxima over blocks of rows and columns."""
    height, width = distances.shape
    peaks = np.zeros((height, width), np.uint16)
    by_row = np.zeros((height, width // BLOCK + 1), np.uint16)
    by_column = np.zeros((height // BLOCK + 1, width), np.uint16)
    for y in range(height):
        for x in range(width):
            if factors[y, x]:
                peak = np.uint16(distances[y, x]) * np.uint16(factors[y, x])
                peaks[y, x] = peak
                by_row[y, x // BLOCK] = max(by_row[y, x // BLOCK], peak)
                by_column[y // BLOCK, x] = max(by_column[y // BLOCK, x], peak)
    return peaks, by_row, by_column


@compiled(nogil=True)
def _area(
    y: int,
    x: int,
    across: Any,
    down: Any,
    near: Any,
    boxes: Any,
    label: int,
    peaks: Any,
    by_row: Any,
    by_column: Any,
) -> int:
    """The highest of the peaks nearest to one pixel inside its box."""
    radius = nearest(across, down, near, y, x, boxes, label)
    if radius < 0:
        return 0
    best = 0
    first, last = max(x - radius, boxes[label, 1]), min(x + radius, boxes[label, 3])
    for side in range(2):
        row = y + radius if side else y - radius
        if boxes[label, 0] <= row <= boxes[label, 2]:
            place = int(across[row, first])
            while place <= last:
                if place % BLOCK == 0 and place + BLOCK <= last:
                    best = max(best, int(by_row[row, place // BLOCK]))
                    place = int(across[row, place + BLOCK])
                else:
                    best = max(best, int(peaks[row, place]))
                    place = int(across[row, place + 1])
    first, last = max(y - radius, boxes[label, 0]), min(y + radius, boxes[label, 2])
    for side in range(2):
        column = x + radius if side else x - radius
        if boxes[label, 1] <= column <= boxes[label, 3]:
            place = int(down[first, column])
            while place <= last:
                if place % BLOCK == 0 and place + BLOCK <= last:
                    best = max(best, int(by_column[place // BLOCK, column]))
                    place = int(down[place + BLOCK, column])
                else:
                    best = max(best, int(peaks[place, column]))
                    place = int(down[place + 1, column])
    return best


@compiled(nogil=True)
def _areas(
    wanted: Any, distances: Any, across: Any, down: Any, near: Any, labels: Any, boxes: Any, peaks: Any,
    by_row: Any, by_column: Any,
) -> Any:  # fmt: skip
    """The highest peak nearest to each wanted pixel.

    A value that no 4-neighbour shares is replaced by the one to its left. That may need further pixels above and to the
    left, which are added as they are met; all replacements are then made in one pass.
    """
    height, width = distances.shape
    areas = np.full((height, width), -1, np.int32)
    asked = np.zeros((height, width), np.bool_)
    lonely = np.empty(64, np.int64)
    stack = np.empty(64, np.int64)
    count = 0
    for start in wanted:
        stack[0], depth = start, 1
        while depth:
            depth -= 1
            y, x = divmod(stack[depth], width)
            if asked[y, x]:
                continue
            asked[y, x] = True
            inner = 0 < y < height - 1 and 0 < x < width - 1  # at the edge a neighbour is the pixel itself
            for step in range(3 if inner else 1):
                row, column = y + (step == 1), x + (step == 2)
                if areas[row, column] < 0:
                    areas[row, column] = 0
                    if 0 < distances[row, column] < OUTSIDE:
                        label = labels[row, column]
                        areas[row, column] = _area(
                            row, column, across, down, near, boxes, label, peaks, by_row, by_column
                        )
            own = areas[y, x]
            if not inner or not 0 < distances[y, x] < OUTSIDE:
                continue
            if not (_differs(areas[y + 1, x], own) and _differs(areas[y, x + 1], own)):
                continue
            if count == len(lonely):
                lonely = np.append(lonely, np.empty(count, np.int64))
            lonely[count] = y * width + x
            count += 1
            if depth + 2 > len(stack):
                stack = np.append(stack, np.empty(len(stack), np.int64))
            stack[depth], stack[depth + 1] = (y - 1) * width + x, y * width + x - 1
            depth += 2

    for place in np.sort(lonely[:count]):  # row by row, so that the values above and to the left are final
        y, x = divmod(place, width)
        own, above, left = areas[y, x], areas[y - 1, x], areas[y, x - 1]
        if _differs(above, own) and _differs(left, own):
            areas[y, x] = left
    result = np.empty(len(wanted), np.int32)
    for k in range(len(wanted)):
        result[k] = areas[wanted[k] // width, wanted[k] % width]
    return result


@compiled(nogil=True)
def _raise_ridges(distances: Any, skeleton: Any) -> None:
    """Add one to a skeleton pixel if its four neighbours have its distance; beyond the edge it is its own neighbour."""
    height, width = distances.shape
    for y in range(height):
        for x in range(width):
            value = distances[y, x]
            if skeleton[y, x] and 0 < value < OUTSIDE:
                level = distances[max(y - 1, 0), x] == value and distances[min(y + 1, height - 1), x] == value
                if (
                    level
                    and distances[y, max(x - 1, 0)] == value
                    and distances[y, min(x + 1, width - 1)] == value
                ):
                    distances[y, x] = value + 1


def seed_empty(skeleton: Mask, parts: Components) -> None:
    """Give every component without a skeleton one skeleton pixel, in place.

    It is the pixel to the lower right of the component's mean position, rounded down, if that is in a component, or
    else the mean position itself, which may lie in a hollow, outside every component.
    """
    empty = np.bincount(parts.labels[skeleton], minlength=parts.count + 1) == 0
    empty[0] = False
    if not empty.any():
        return
    ys, xs = np.nonzero(empty[parts.labels])
    _, index, sizes = np.unique(parts.labels[ys, xs], return_inverse=True, return_counts=True)
    y, x = (np.bincount(index, place).astype(np.int64) // sizes for place in (ys, xs))
    height, width = skeleton.shape
    below, right = np.minimum(y + 1, height - 1), np.minimum(x + 1, width - 1)
    taken = (below > y) & (right > x) & (parts.labels[below, right] > 0)
    skeleton[np.where(taken, below, y), np.where(taken, right, x)] = True


class Medial:
    """Distances, skeleton and stroke widths of one side of a page, ink or paper.

    distances: 0, or OUTSIDE and above, where the side has no weight; ridges are raised here, in place.
    """

    def __init__(self, distances: Bytes, skeleton: Mask, contour: Mask, parts: Components) -> None:
        _raise_ridges(distances, skeleton)
        self.distances, self.skeleton, self.parts = distances, skeleton, parts
        self._near = (*links(skeleton), chessboard(skeleton))
        self.factors: Bytes = _factors(distances, skeleton, *self._near, contour, parts.labels, parts.boxes)
        places = np.flatnonzero(skeleton & (parts.labels > 0))
        places = places[np.argsort(parts.labels.reshape(-1)[places], kind="stable")]
        _extend_ends(self.factors, skeleton, places)
        self._peaks = _peaks(distances, self.factors)

    def areas(self, wanted: Mask) -> NDArray[np.int32]:
        """The normalising product at each wanted pixel, in their order."""
        areas: NDArray[np.int32] = _areas(
            np.flatnonzero(wanted),
            self.distances,
            *self._near,
            self.parts.labels,
            self.parts.boxes,
            *self._peaks,
        )
        return areas

    def stroke_widths(self) -> NDArray[np.int64]:
        """Mean stroke width of every component, an even number (row 0 is unused)."""
        labels = self.parts.labels[self.skeleton]
        size = self.parts.count + 1
        total = np.bincount(labels, self.factors[self.skeleton], size).astype(np.int64)
        return 2 * (total // np.maximum(np.bincount(labels, minlength=size), 1))
