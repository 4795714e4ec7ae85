"""Specks: pieces of ink that are smaller than a fragment of a stroke, found without a copy of the page.

Ink is taken apart into runs, the unbroken stretches of its rows. Runs that touch, diagonally as well, form a piece. A
piece of fewer than n pixels is less than n rows high. A strip of a page, with n rows more on either side, therefore
holds every speck that reaches into it as a whole, and at least n pixels of every larger piece.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from drmamba.images import Bitmap, Ink

FRAGMENT = 0.25  # share of the square of a stroke's width; a dot has about 0.8 of it
LEAST_AREA = 2.0  # pixels; on pages with the finest strokes, single pixels are specks
MOST_AREA = 400.0  # pixels; headlines must not make the dots of small print specks
STRIP_ROWS = 1024  # rows that are looked at together, without those on either side

Runs = NDArray[np.int64]


def speck_area(stroke_width: float) -> float:
    """Return the area in pixels under which a piece of ink is a speck, for strokes of this width in pixels."""
    return min(max(FRAGMENT * stroke_width**2, LEAST_AREA), MOST_AREA)


def remove_specks(bitmap: Bitmap, area: float) -> int:
    """Remove all pieces of ink of fewer pixels than `area` from a page; return how many pixels that were."""
    beside = int(np.ceil(area))
    before: NDArray[np.uint8] = bitmap.bits[:0]  # the last rows of the strip above, as they were
    removed = 0
    for top in range(0, bitmap.height, STRIP_ROWS):
        bottom = min(top + STRIP_ROWS, bitmap.height)
        rows = np.concatenate([before, bitmap.bits[top : bottom + beside]])
        ink = np.unpackbits(rows, axis=1, count=bitmap.width).astype(np.bool_)
        above = len(before)
        before = bitmap.bits[max(top, bottom - beside) : bottom].copy()
        specks = find_specks(ink, area)[above : above + bottom - top]
        if specks.any():
            removed += int(np.count_nonzero(specks))
            bitmap.bits[top:bottom] &= ~np.packbits(specks, axis=1)
    return removed


def find_specks(ink: Ink, area: float) -> Ink:
    """Return the pixels of all pieces of ink of fewer pixels than `area`."""
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
    small = np.bincount(piece, weights=last - first, minlength=len(row))[piece] < area
    ends = np.zeros((height, width + 1), np.int8)
    ends[row[small], first[small]] = 1
    ends[row[small], last[small]] -= 1
    return np.cumsum(ends[:, :-1], axis=1, dtype=np.int8).astype(np.bool_)


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
