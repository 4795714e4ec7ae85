"""Specks: pieces of ink that are smaller than a fragment of a stroke and lie by themselves.

Ink is taken apart into runs, the unbroken stretches of its rows. Runs that touch, diagonally as well, form a piece. The
letters of very small print may be as small as specks on the same page, but they stand in company: a piece with much ink
around it is never a speck. A page is worked on in strips, each with as many rows more on either side as a speck and its
surroundings may need, so that the result is that of the page as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from drmamba.images import Bitmap, Ink

FRAGMENT = 0.25  # share of the square of a stroke's width; a dot has about 0.8 of it
LEAST_AREA = 2.0  # pixels; on pages with the finest strokes, single pixels are specks
MOST_AREA = 400.0  # pixels
REACH = 3.0  # widths of a stroke; so far around a piece other ink is looked for
MAX_COMPANY = 0.015  # share of those surroundings; a piece with more ink around it is a part of writing
STRIP_ROWS = 1024  # rows that are looked at together, without those on either side

Runs = NDArray[np.int64]


@dataclass(frozen=True)
class SpeckSize:
    """What counts as a speck on a page."""

    area: float  # pixels; a piece of fewer may be a speck
    reach: int  # pixels on every side of a piece that count as its surroundings

    @classmethod
    def of_strokes(cls, width: float) -> SpeckSize:
        """Return the size for a page whose strokes have this width in pixels."""
        return cls(min(max(FRAGMENT * width**2, LEAST_AREA), MOST_AREA), max(2, round(REACH * width)))


def remove_specks(bitmap: Bitmap, size: SpeckSize) -> int:
    """Remove all specks from a page; return how many pixels they had."""
    beside = int(np.ceil(size.area)) + size.reach
    before: NDArray[np.uint8] = bitmap.bits[:0]  # the last rows above the strip, as they were
    removed = 0
    for top in range(0, bitmap.height, STRIP_ROWS):
        bottom = min(top + STRIP_ROWS, bitmap.height)
        rows = np.concatenate([before, bitmap.bits[top : bottom + beside]])
        above = len(before)
        before = rows[: above + bottom - top][-beside:].copy()
        specks = find_specks(np.unpackbits(rows, axis=1, count=bitmap.width).astype(np.bool_), size)
        specks = specks[above : above + bottom - top]
        if specks.any():
            removed += int(np.count_nonzero(specks))
            bitmap.bits[top:bottom] &= ~np.packbits(specks, axis=1)
    return removed


def find_specks(ink: Ink, size: SpeckSize) -> Ink:
    """Return the pixels of all specks."""
    height, width = ink.shape
    edges = np.zeros(
        (height, width + 2), np.int8
    )  # a column of paper on either side ends every run in its row
    edges[:, 1:-1] = ink
    steps = np.diff(edges, axis=1)
    row, first = np.nonzero(steps == 1)
    last = np.nonzero(steps == -1)[1]  # one past the end
    if not len(row):
        return np.zeros_like(ink)
    piece = _pieces(row, first, last, width)
    area = np.bincount(piece, weights=last - first, minlength=len(row))
    few = np.flatnonzero(area[piece] < size.area)
    company = np.zeros(len(row))
    np.maximum.at(company, piece[few], _ink_around(ink, row[few], first[few], size.reach))
    limit = MAX_COMPANY * (2 * size.reach + 1) ** 2
    small = few[(company - area)[piece[few]] <= limit]
    ends = np.zeros((height, width + 1), np.int8)
    ends[row[small], first[small]] = 1
    ends[row[small], last[small]] -= 1
    return np.cumsum(ends[:, :-1], axis=1, dtype=np.int8).astype(np.bool_)


def _ink_around(ink: Ink, row: Runs, column: Runs, reach: int) -> Runs:
    """Return the pixels of ink in the square around each place, which is cut at the edges of the page."""
    height, width = ink.shape
    total = np.zeros((height + 1, width + 1), np.int32)
    np.cumsum(np.cumsum(ink, axis=1, dtype=np.int32), axis=0, out=total[1:, 1:])
    top, bottom = np.maximum(row - reach, 0), np.minimum(row + reach + 1, height)
    left, right = np.maximum(column - reach, 0), np.minimum(column + reach + 1, width)
    found: Runs = total[bottom, right] - total[top, right] - total[bottom, left] + total[top, left]
    return found


def _pieces(row: Runs, first: Runs, last: Runs, width: int) -> Runs:
    """Return the piece of every run as the number of its first run; runs are given in reading order."""
    # Places count through the page, so that runs of the row above can be looked up in one sorted list.
    wide = width + 2
    start, end = row * wide + first, row * wide + last
    low = np.searchsorted(
        end, start - wide, side="left"
    )  # the first run above that ends at or after this start
    high = np.searchsorted(
        start, end - wide, side="right"
    )  # one past the last run above that begins by this end
    count = np.maximum(high - low, 0)
    lower = np.repeat(np.arange(len(row)), count)
    offset = np.arange(len(lower)) - np.repeat(np.cumsum(count) - count, count)
    upper = np.repeat(low, count) + offset
    beside = row[upper] == row[lower] - 1
    lower, upper = lower[beside], upper[beside]
    piece = np.arange(len(row))
    while len(lower):
        a, b = piece[lower], piece[upper]
        differ = a != b
        if not differ.any():
            break
        lower, upper, a, b = lower[differ], upper[differ], a[differ], b[differ]
        np.minimum.at(piece, np.maximum(a, b), np.minimum(a, b))
        while True:  # every run points to the first one of its piece
            further = piece[piece]
            if (further == piece).all():
                break
            piece = further
    return piece
