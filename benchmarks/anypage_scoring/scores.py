"""The scores of one binarized page against the truth by category."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from anypage_pages.page import CATEGORIES, WRITING, Category, Mask, Page
from drmamba.metrics import count
from drmamba.metrics.counts import f_measure

NEAR = 2.0  # pixels; found ink this close to true ink is a matter of stroke width, not false ink
# The truth ends where ink covers half of a pixel. Contests' truth tends to end further out, so that methods tuned or
# trained on it draw bolder strokes than this truth has.
TOUCHING = 1.5  # pixels; neighbours along rows, columns and diagonals
IGNORED_RIM = 2  # pixels around rules and drawings that the contests' convention ignores as well


@dataclass(frozen=True)
class PageScores:
    """All measures are in per cent. Under `fm` everything drawn is ink; under `fm_contest` only writing is."""

    kept: dict[Category, float]  # share of the true pixels that were found, by category
    false_ink: float  # share of the found pixels that lie further than NEAR from any true ink
    fm: float
    fm_loose: float  # FM when found ink that touches true ink is not wrong: content without stroke width
    fm_contest: float | None  # None: the page has no writing


def score_page(found: Mask, page: Page) -> PageScores:
    """Judge the ink that a method found; nothing in the tone areas counts."""
    scored = ~page.tone
    ink, found = page.ink & scored, found & scored
    kept = {
        category: 100 * float(np.count_nonzero(found & mask & scored) / np.count_nonzero(mask & scored))
        for category, mask in page.masks.items()
        if (mask & scored).any()
    }
    total = np.count_nonzero(found)
    far = found & ~near(ink, NEAR)
    false_ink = 100 * float(np.count_nonzero(far) / total) if total else 0.0
    loose = f_measure(count(found & (ink | ~near(ink, TOUCHING)), ink))
    return PageScores(kept, false_ink, f_measure(count(found, ink)), loose, contest_f_measure(found, page))


def contest_f_measure(found: Mask, page: Page) -> float | None:
    """FM of the writing alone: pixels of rules, drawings and their rim are neither right nor wrong."""
    writing = page.writing & ~page.tone
    if not writing.any():
        return None
    others: tuple[Category, ...] = tuple(name for name in CATEGORIES if name not in WRITING)
    scored = ~page.tone & (page.writing | ~near(page.union(others), IGNORED_RIM))
    return f_measure(count(found & scored, writing & scored))


def near(ink: Mask, distance: float) -> Mask:
    """Pixels no further than a distance from ink, the ink included."""
    reach = int(distance)
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    disc = x**2 + y**2 <= distance**2
    result: Mask = ndimage.binary_dilation(ink, disc)
    return result
