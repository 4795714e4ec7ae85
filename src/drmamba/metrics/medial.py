"""Stroke widths read off a skeleton: the normalisation that the two weight maps share.

Every value here is a byte in the contest's tool, and its maps show it: distances wrap at 256, and 250 stands
for "outside". The arithmetic below keeps to that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from drmamba.metrics.shapes import Components, chessboard
from drmamba.metrics.skeleton import Mask

OUTSIDE = 250  # a distance of 1 to 249 is one; 0 and everything from here on are none
Bytes = NDArray[np.uint8]


@njit(cache=True)
def hits(mask: Any, y: int, x: int, radius: int, box: Any, found: Any) -> int:
    """Write the flat places of the mask's pixels at exactly this distance, inside the box; return their count."""
    width = mask.shape[1]
    top, left, bottom, right = box[0], box[1], box[2], box[3]
    first, last = max(x - radius, left), min(x + radius, right)
    count = 0
    for side in range(1 if radius == 0 else 2):
        row = y + radius if side else y - radius
        if top <= row <= bottom:
            for column in range(first, last + 1):
                if mask[row, column]:
                    found[count] = row * width + column
                    count += 1
    first, last = max(y - radius + 1, top), min(y + radius - 1, bottom)
    for side in range(2):
        column = x + radius if side else x - radius
        if left <= column <= right:
            for row in range(first, last + 1):
                if mask[row, column]:
                    found[count] = row * width + column
                    count += 1
    return count


@njit(cache=True)
def nearest(mask: Any, distance: Any, y: int, x: int, box: Any, found: Any) -> int:
    """Distance to the nearest pixel of the mask that lies in the box; -1 if the box holds none.

    `distance` is the chessboard distance to the mask on the whole page.
    """
    radius = np.int64(distance[y, x])
    limit = max(max(y - box[0], box[2] - y), max(x - box[1], box[3] - x))
    inside = y - radius >= box[0] and y + radius <= box[2] and x - radius >= box[1] and x + radius <= box[3]
    if inside:
        return radius
    while radius <= limit:
        if hits(mask, y, x, radius, box, found):
            return radius
        radius += 1
    return -1


@njit(cache=True)
def _ordered(values: Any, labels: Any, count: int) -> Any:
    """The flat places that have a distance, component by component."""
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


@njit(cache=True)
def _find(links: Any, line: int, place: int) -> int:
    while links[line, place] != place:
        links[line, place] = links[line, links[line, place]]
        place = links[line, place]
    return place


@njit(cache=True)
def _links(mask: Any) -> Any:
    """For every pixel the next one of the mask in its row; the column after the last means none."""
    height, width = mask.shape
    links = np.empty((height, width + 1), np.int32)
    for y in range(height):
        links[y, width] = width
        for x in range(width - 1, -1, -1):
            links[y, x] = x if mask[y, x] else links[y, x + 1]
    return links


@njit(cache=True)
def _factors(distances: Any, skeleton: Any, near: Any, contour: Any, labels: Any, boxes: Any) -> Any:
    """Half a stroke's width on every skeleton pixel: its distance, plus one if the stroke is of even width.

    Each pixel speaks for all skeleton pixels nearest to it, and the last one to speak is heard, so the pixels
    are asked from the last to the first and a skeleton pixel leaves the links once it has its answer.
    """
    height, width = distances.shape
    factors = np.zeros((height, width), np.uint8)
    for y in range(height):
        for x in range(width):
            factors[y, x] = skeleton[y, x]
    across, along = _links(skeleton), _links(skeleton.T)
    found = np.empty(2 * (height + width) + 8, np.int32)
    places = _ordered(distances.reshape(-1), labels.reshape(-1), len(boxes) - 1)
    for k in range(len(places) - 1, -1, -1):
        y, x = divmod(places[k], width)
        box = boxes[labels[y, x]]
        radius = nearest(skeleton, near, y, x, box, found)
        if radius < 0:
            continue
        reach = 1 if skeleton[y, x] and not contour[y, x] else near[y, x] & 255
        first, last = max(x - radius, box[1]), min(x + radius, box[3])
        for side in range(1 if radius == 0 else 2):
            row = y + radius if side else y - radius
            if box[0] <= row <= box[2]:
                column = _find(across, row, first)
                while column <= last:
                    value = distances[row, column]
                    factors[row, column] = value + 1 if reach >= value else value
                    across[row, column] = column + 1
                    along[column, row] = row + 1
                    column = _find(across, row, column + 1)
        first, last = max(y - radius + 1, box[0]), min(y + radius - 1, box[2])
        for side in range(2):
            column = x + radius if side else x - radius
            if box[1] <= column <= box[3]:
                row = _find(along, column, first)
                while row <= last:
                    value = distances[row, column]
                    factors[row, column] = value + 1 if reach >= value else value
                    across[row, column] = column + 1
                    along[column, row] = row + 1
                    row = _find(along, column, row + 1)
    return factors


@njit(cache=True)
def _extend_ends(factors: Any, skeleton: Any, places: Any) -> None:
    """Let the end of a line take the factor of its one neighbour, plus one.

    Two habits of the contest's tool: a neighbour outside the picture is the pixel itself, and for the one to
    the lower right the factor is read in the second column of its row (nearly always 0: nothing happens).
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


@njit(cache=True)
def _differs(area: int, own: int) -> bool:
    """Whether a neighbour has an area, and another one."""
    return area != 0 and area != own  # noqa: PLR1714


@njit(cache=True)
def _widths(wanted: Any, distances: Any, factors: Any, skeleton: Any, near: Any, labels: Any, boxes: Any) -> Any:
    """Distance times factor of the nearest skeleton pixels, the largest of them, at the wanted pixels.

    A value that no 4-neighbour shares is replaced by the one to its left. That can need further pixels, up and
    to the left, which are added as they are met; the page is then swept once, row by row.
    """
    height, width = distances.shape
    areas = np.full((height, width), -1, np.int32)
    asked = np.zeros((height, width), np.bool_)
    lonely = np.zeros((height, width), np.bool_)
    found = np.empty(2 * (height + width) + 8, np.int32)
    stack = np.empty(64, np.int64)
    for start in range(height * width):
        if not wanted[start // width, start % width]:
            continue
        stack[0], depth = start, 1
        while depth:
            depth -= 1
            y, x = divmod(stack[depth], width)
            if asked[y, x]:
                continue
            asked[y, x] = True
            inner = 0 < y < height - 1 and 0 < x < width - 1  # at the rim a neighbour is the pixel itself
            for step in range(3 if inner else 1):
                row, column = y + (step == 1), x + (step == 2)
                if areas[row, column] >= 0:
                    continue
                areas[row, column] = 0
                if 0 < distances[row, column] < OUTSIDE:
                    box = boxes[labels[row, column]]
                    radius = nearest(skeleton, near, row, column, box, found)
                    if radius >= 0:
                        best = 0
                        for k in range(hits(skeleton, row, column, radius, box, found)):
                            place = found[k]
                            area = np.int32(distances[place // width, place % width]) * np.int32(
                                factors[place // width, place % width]
                            )
                            best = max(best, area)
                        areas[row, column] = best
            own = areas[y, x]
            if not inner or not 0 < distances[y, x] < OUTSIDE:
                continue
            if not (_differs(areas[y + 1, x], own) and _differs(areas[y, x + 1], own)):
                continue
            lonely[y, x] = True
            if depth + 2 > len(stack):
                stack = np.append(stack, np.empty(len(stack), np.int64))
            stack[depth], stack[depth + 1] = (y - 1) * width + x, y * width + x - 1
            depth += 2

    for y in range(height):
        for x in range(width):
            if lonely[y, x]:
                own, above, left = areas[y, x], areas[y - 1, x], areas[y, x - 1]
                if _differs(above, own) and _differs(left, own):
                    areas[y, x] = left
    return areas


@njit(cache=True)
def _raise_ridges(distances: Any, skeleton: Any) -> None:
    """Add one to a skeleton pixel that is level with its four neighbours (outside the picture: with itself)."""
    height, width = distances.shape
    for y in range(height):
        for x in range(width):
            value = distances[y, x]
            if skeleton[y, x] and 0 < value < OUTSIDE:
                level = distances[max(y - 1, 0), x] == value and distances[min(y + 1, height - 1), x] == value
                if level and distances[y, max(x - 1, 0)] == value and distances[y, min(x + 1, width - 1)] == value:
                    distances[y, x] = value + 1


def seed_empty(skeleton: Mask, parts: Components) -> None:
    """Give every component that thinning left without a skeleton one pixel of it, in place.

    That is the pixel to the lower right of its mean place, rounded down, or else the mean place itself: it can
    lie in a hollow, outside of every component.
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

    distances: 0 or OUTSIDE and above where the side has no weight; ridges are raised here, in place.
    """

    def __init__(self, distances: Bytes, skeleton: Mask, contour: Mask, parts: Components) -> None:
        _raise_ridges(distances, skeleton)
        self.distances, self.skeleton, self.parts = distances, skeleton, parts
        self._near = chessboard(skeleton)
        self.factors: Bytes = _factors(distances, skeleton, self._near, contour, parts.labels, parts.boxes)
        places = np.flatnonzero(skeleton & (parts.labels > 0))
        places = places[np.argsort(parts.labels.reshape(-1)[places], kind="stable")]
        _extend_ends(self.factors, skeleton, places)

    def areas(self, wanted: Mask) -> NDArray[np.int32]:
        """The normalising product at the wanted pixels; what stands at others is not meant to be read."""
        areas: NDArray[np.int32] = _widths(
            wanted, self.distances, self.factors, self.skeleton, self._near, self.parts.labels, self.parts.boxes
        )
        return areas

    def stroke_widths(self) -> NDArray[np.int64]:
        """Mean stroke width of every component, an even number (row 0 is unused)."""
        labels = self.parts.labels[self.skeleton]
        size = self.parts.count + 1
        total = np.bincount(labels, self.factors[self.skeleton], size).astype(np.int64)
        return 2 * (total // np.maximum(np.bincount(labels, minlength=size), 1))
