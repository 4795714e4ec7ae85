"""The contest's weight maps, R_w and P_w, after Ntirogiannis, Gatos and Pratikakis (IEEE TIP 22(2), 2013).

R_w gives every stroke the same weight, thick or thin; P_w gives false ink more weight the farther it lies from a
stroke, up to one stroke width. Equation numbers are those of the article.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drmamba.compilation import compiled
from drmamba.metrics.medial import OUTSIDE, Medial, seed_empty
from drmamba.metrics.rings import hits, links, nearest
from drmamba.metrics.shapes import Components, chessboard, components
from drmamba.metrics.skeleton import Mask, thin

CEILING = 2.0  # largest value of P_w


@dataclass(frozen=True, eq=False)
class Weights:
    """R_w on ink and P_w on paper, each (H, W) float32; 0 elsewhere."""

    recall: NDArray[np.float32]
    precision: NDArray[np.float32]


def weight_maps(truth: Mask) -> Weights:
    """Both maps of a ground truth, in which True is ink."""
    truth = np.ascontiguousarray(truth)
    parts = components(truth)
    skeleton = thin(truth)
    seed_empty(skeleton, parts)
    contour = _contour(truth)
    away = chessboard(contour)  # from the contour, on both sides of it

    distances = np.where(truth, away, 0).astype(np.uint8)  # D of Eq. (2)
    distances[contour & skeleton] = 1
    ink = Medial(distances, skeleton, contour, parts)
    areas = np.zeros(truth.shape, np.int32)
    areas[truth] = ink.areas(truth)  # N_R of Eq. (3)
    recall = _quotients(distances, areas, np.inf)  # Eq. (2)
    paper = ~(truth | skeleton)  # a skeleton pixel can lie in a hollow of its component
    return Weights(recall, _paper_weights(paper, contour, away, parts, ink.stroke_widths()))


def _paper_weights(
    paper: Mask, contour: Mask, away: NDArray[np.uint16], parts: Components, strokes: NDArray[np.int64]
) -> NDArray[np.float32]:
    """P_w = D / N_P of Eq. (10), without the 1 that the score adds."""
    seeds = paper.copy()
    seeds[[0, -1], :] = seeds[:, [0, -1]] = False
    gaps = components(paper)
    skeleton = thin(seeds)
    seed_empty(skeleton, gaps)

    distances = _gap_distances(away, _reached(paper.shape, parts, 2 * strokes), gaps.labels, gaps.boxes)
    medial = Medial(distances, skeleton, np.zeros_like(paper), gaps)
    reach, between = _surroundings(
        distances,
        away,
        contour,
        parts.labels.reshape(-1),
        (strokes & 255).astype(np.uint8),
        gaps.labels,
        gaps.boxes,
    )
    bound = reach.copy()  # N_P, Eq. (11)
    merging = np.zeros_like(between)
    merging[between] = _gap_widths(medial, between) > 0
    if merging.any():  # where two components are near a pixel, the gap between them can be the smaller bound
        room = reach.astype(np.int16) - distances
        contested = (room > 0) & (chessboard(merging) <= room)
        bound[contested] = np.minimum(reach[contested], _gap_widths(medial, contested))
    weights: NDArray[np.float32] = _quotients(distances, bound, CEILING)
    return weights


def _gap_widths(medial: Medial, wanted: Mask) -> NDArray[np.uint8]:
    """The width of the gap at each wanted pixel, in their order."""
    widths: NDArray[np.uint8] = np.floor(np.sqrt(medial.areas(wanted)) + 0.5).astype(np.uint8)
    return widths


@compiled(nogil=True)
def _quotients(distances: Any, bounds: Any, ceiling: float) -> Any:
    """Distance divided by bound, and 0 where there is no bound."""
    height, width = distances.shape
    quotients = np.zeros((height, width), np.float32)
    for y in range(height):
        for x in range(width):
            if bounds[y, x] > 0:
                quotients[y, x] = min(distances[y, x] / bounds[y, x], ceiling)
    return quotients


def _contour(truth: Mask) -> Mask:
    """Ink with a 4-neighbour that is paper; everything outside the picture is paper."""
    padded = np.pad(truth, 1)
    inner = padded[:-2, 1:-1] & padded[2:, 1:-1] & padded[1:-1, :-2] & padded[1:-1, 2:]
    return truth & ~inner


def _reached(shape: tuple[int, ...], parts: Components, margins: NDArray[np.int64]) -> Mask:
    """The pixels inside the bounding box of any component, enlarged by its margin on every side."""
    height, width = shape
    top, left, bottom, right = (parts.boxes[1:, k].astype(np.int64) for k in range(4))
    margin = margins[1:]
    steps = np.zeros((height + 1, width + 1), np.int32)
    top, left = np.maximum(top - margin, 0), np.maximum(left - margin, 0)
    bottom, right = np.minimum(bottom + margin, height - 1) + 1, np.minimum(right + margin, width - 1) + 1
    for rows, columns, step in ((top, left, 1), (bottom, right, 1), (top, right, -1), (bottom, left, -1)):
        np.add.at(steps, (rows, columns), step)
    reached: Mask = _positive_sums(steps)
    return reached


@compiled(nogil=True)
def _positive_sums(steps: Any) -> Any:
    """Where the sum of the steps above and to the left of a pixel, including its own, is positive."""
    height, width = steps.shape[0] - 1, steps.shape[1] - 1
    positive = np.empty((height, width), np.bool_)
    above = np.zeros(width, np.int32)
    for y in range(height):
        total = 0
        for x in range(width):
            total += steps[y, x]
            above[x] += total
            positive[y, x] = above[x] > 0
    return positive


@compiled(nogil=True)
def _gap_distances(away: Any, reached: Any, labels: Any, boxes: Any) -> Any:
    """The distance of paper from the contour as a byte, or OUTSIDE beyond the reach of all strokes.

    The contest's tool grows a window around each pixel, and gives up (0) when the window, cut at the picture's edge,
    covers exactly the box of the pixel's gap before it meets a contour, as in the middle of a square hole.
    """
    height, width = away.shape
    distances = np.zeros((height, width), np.uint8)
    for y in range(height):
        for x in range(width):
            if not labels[y, x]:
                continue
            if not reached[y, x]:
                distances[y, x] = OUTSIDE
                continue
            top, left, bottom, right = boxes[labels[y, x]]
            # The radius of the first window that covers the box.
            least = max(max(y - top, bottom - y), max(x - left, right - x))
            fits = (
                (y - least == top or (top == 0 and y - least < 0))
                and (x - least == left or (left == 0 and x - least < 0))
                and (y + least == bottom or (bottom == height - 1 and y + least > bottom))
                and (x + least == right or (right == width - 1 and x + least > right))
            )
            if not (fits and least < away[y, x]):
                distances[y, x] = away[y, x] & 255
    return distances


@compiled(nogil=True)
def _occupied(across: Any, boxes: Any) -> Any:
    """Whether each box holds any linked pixel; the hole of a rectangular frame holds none."""
    occupied = np.zeros(len(boxes), np.bool_)
    for label in range(1, len(boxes)):
        top, left, bottom, right = boxes[label]
        row = top
        while row <= bottom and across[row, left] > right:
            row += 1
        occupied[label] = row <= bottom
    return occupied


@compiled(nogil=True)
def _surroundings(
    distances: Any, away: Any, contour: Any, owners: Any, strokes: Any, labels: Any, boxes: Any
) -> Any:
    """The stroke width that reaches each paper pixel, 0 if none does, and whether two components are nearest to it."""
    height, width = distances.shape
    reach = np.zeros((height, width), np.uint8)
    between = np.zeros((height, width), np.bool_)
    found = np.empty(2 * (height + width) + 8, np.int32)
    across, down = links(contour)
    widest = strokes.max()
    within = _occupied(across, boxes)
    for y in range(height):
        for x in range(width):
            if not 0 < distances[y, x] < OUTSIDE or distances[y, x] > widest or not within[labels[y, x]]:
                continue
            radius = nearest(across, down, away, y, x, boxes, labels[y, x])
            if radius < 0:
                continue
            best, first, several = 0, 0, False
            for k in range(hits(across, down, y, x, radius, boxes, labels[y, x], found)):
                owner = owners[found[k]]
                best = max(best, int(strokes[owner]))
                several = several or (k > 0 and owner != first)
                first = owner
            if distances[y, x] <= best:
                reach[y, x], between[y, x] = best, several
    return reach, between
