"""Filters on grey levels and masks with numpy alone, so that binarizing a page needs no larger library.

They give the values of the functions of the same purpose in scipy.ndimage. Masks are filtered by counting: a square is
full or empty if the sum over it says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float32]
Mask = NDArray[np.bool_]

GAUSSIAN_REACH = 4.0  # standard deviations; a Gaussian is cut off at this distance


def gaussian(values: Values, width: float, *, mode: Any = "edge", reach: float = GAUSSIAN_REACH) -> Values:
    """Return values blurred along every axis; `width` is a standard deviation, `mode` one of numpy.pad's."""
    for axis in range(values.ndim):
        values = _along(values, axis, lambda lines: _gaussian_rows(lines, width, mode, reach))
    return values


def box_mean(values: Values, side: int, *, mode: Any = "symmetric") -> Values:
    """Return the means over squares of an odd side around each value."""
    before = side // 2
    for axis in range(values.ndim):
        widths = [(0, 0)] * values.ndim
        widths[axis] = (before + 1, side - 1 - before)
        sums = np.cumsum(np.pad(values, widths, mode=mode), axis=axis, dtype=np.float64)
        length = sums.shape[axis]
        high, low = sums.take(range(side, length), axis), sums.take(range(length - side), axis)
        values = ((high - low) / side).astype(np.float32)
    return values


def sobel(values: Values, axis: int) -> Values:
    """Return how much values grow along an axis, smoothed along the other; the page is mirrored beyond its edges."""
    padded = np.pad(values, 1, mode="symmetric")
    grown = _shifted(padded, axis, 2) - _shifted(padded, axis, 0)
    other = 1 - axis
    return 2 * _shifted(grown, other, 1) + _shifted(grown, other, 0) + _shifted(grown, other, 2)


def dilated(mask: Mask, side: int) -> Mask:
    """Return where a square of this odd side around a pixel holds any pixel of the mask."""
    return _counted(mask, side) > 0


def eroded(mask: Mask, side: int) -> Mask:
    """Return where a square of this odd side around a pixel holds only pixels of the mask; outside counts as inside."""
    return ~dilated(~mask, side)


def opened(mask: Mask, side: int) -> Mask:
    """Return the pixels that lie in a square of this side that is wholly in the mask."""
    if side > min(mask.shape):
        return np.zeros_like(mask)
    full = _sums(mask, side) == side * side  # by the squares' first corners
    return _sums(np.pad(full, side - 1), side) > 0


def labelled(mask: Mask) -> tuple[NDArray[np.intp], int]:
    """Return the number of the connected part that each pixel of a mask belongs to, from 1, and how many there are.

    Pixels are connected by their sides. Runs along the rows are joined where runs of two rows meet.
    """
    edges = np.diff(np.pad(mask, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    rows, starts = np.nonzero(edges == 1)
    ends = np.nonzero(edges == -1)[1]
    parent = list(range(len(rows)))

    def root(run: int) -> int:
        while parent[run] != run:
            parent[run] = run = parent[parent[run]]
        return run

    first_run = np.searchsorted(rows, np.arange(-1, mask.shape[0])).tolist()  # of the row above each row
    above = 0  # the first run above that is not wholly to the left
    for run, (row, start, end) in enumerate(zip(rows.tolist(), starts.tolist(), ends.tolist(), strict=True)):
        above, last = max(above, first_run[row]), first_run[row + 1]
        while above < last and ends[above] <= start:
            above += 1
        other = above
        while other < last and starts[other] < end:
            one, two = root(other), root(run)
            parent[max(one, two)] = min(one, two)
            other += 1
    roots = np.array([root(run) for run in range(len(rows))], np.intp)
    kept = np.unique(roots)
    names = np.searchsorted(kept, roots) + 1
    found = np.zeros((mask.shape[0], mask.shape[1] + 1), np.intp)
    np.add.at(found, (rows, starts), names)
    np.add.at(found, (rows, ends), -names)
    return np.cumsum(found, axis=1)[:, :-1], len(kept)


def _gaussian_rows(lines: Values, width: float, mode: Any, reach: float) -> Values:
    """Return rows blurred with a Gaussian; sums are float64."""
    radius = int(reach * width + 0.5)
    weights = np.exp(-0.5 / (width * width) * np.arange(-radius, radius + 1) ** 2)
    weights /= weights.sum()
    padded = np.pad(lines, ((0, 0), (radius, radius)), mode=mode).astype(np.float64)
    count = lines.shape[1]
    total = padded[:, radius : radius + count] * weights[radius]
    for step in range(radius, 0, -1):
        pair = (
            padded[:, radius - step : radius - step + count]
            + padded[:, radius + step : radius + step + count]
        )
        total += pair * weights[radius - step]
    return np.asarray(total, np.float32)


def _along(values: Values, axis: int, filtered: Callable[[Values], Values]) -> Values:
    """Apply a filter of rows along an axis of one or two."""
    if values.ndim == 1:
        return np.asarray(filtered(values[None])[0])
    return filtered(values) if axis == 1 else np.ascontiguousarray(filtered(values.T).T)


def _shifted(values: Values, axis: int, start: int) -> Values:
    """Return all but two values along an axis, from `start` on."""
    size = values.shape[axis] - 2
    return values[start : start + size] if axis == 0 else values[:, start : start + size]


def _sums(mask: Mask, side: int) -> NDArray[np.int64]:
    """Return the sums over all whole squares of this side, by their first corners."""
    sums = np.pad(np.cumsum(np.cumsum(mask, axis=0, dtype=np.int64), axis=1), ((1, 0), (1, 0)))
    return sums[side:, side:] - sums[:-side, side:] - sums[side:, :-side] + sums[:-side, :-side]


def _counted(mask: Mask, side: int) -> NDArray[np.int64]:
    """Return how many pixels of the mask lie in a square of this odd side around each pixel."""
    return _sums(np.pad(mask, side // 2), side)
