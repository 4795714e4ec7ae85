"""Dark margins: the scanner's lid or the table that shows beside the paper."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from drmamba.inference.analysis.filters import dilated, eroded, labelled, opened
from drmamba.inference.analysis.strokes import Grey

MARGIN_GREY_SHARE = 0.5  # of the paper's grey level; a margin is darker than this share
MARGIN_GREY = 100  # grey level; a margin is also darker than this
MARGIN_SIDE = 0.012  # of the page's longer side; a narrower dark block is not a margin
MARGIN_STROKES = 3.5  # stroke widths; a margin is wider than this many strokes
MARGIN_AREA = 0.002  # of the page's area; a smaller block is not a margin
MARGIN_RIM = 2  # overview pixels; a rim of this width around a margin belongs to it
# Share of the paper's grey level; a margin ends in a step of at least this, whereas a shadow falls slowly.
MARGIN_STEP = 0.25
MARGIN_EDGE = 6  # overview pixels; the step must happen within this distance on each side of the edge
PAPER_PERCENTILE = 80  # of the overview's grey levels; this percentile is the paper's


def dark_margins(overview: Grey, stroke: float) -> NDArray[np.bool_] | None:
    """Return a mask of the dark margins, or None if there are none.

    A margin is a dark block that reaches the edge of the page, is far wider than a stroke and ends sharply.
    `stroke` is the stroke width in pixels of the overview.
    """
    paper = float(np.percentile(overview, PAPER_PERCENTILE))
    dark = overview < min(MARGIN_GREY_SHARE * paper, MARGIN_GREY)
    side = max(3, round(max(MARGIN_SIDE * max(overview.shape), MARGIN_STROKES * stroke)))
    # The page is continued beyond its edge, so that a thin margin also becomes a block.
    blocks = opened(np.pad(dark, side, mode="edge"), side)[side:-side, side:-side]
    names, count = labelled(blocks)
    at_edge = np.unique(np.concatenate([names[0], names[-1], names[:, 0], names[:, -1]]))
    sizes = np.bincount(names.ravel(), minlength=count + 1)
    large = [name for name in at_edge if name and sizes[name] >= MARGIN_AREA * overview.size]
    margins = [name for name in large if _step(overview, names == name) >= MARGIN_STEP * paper]
    if not margins:
        return None
    found: NDArray[np.bool_] = np.isin(names, margins)
    return dilated(found, 2 * MARGIN_RIM + 1)


def _step(overview: Grey, block: NDArray[np.bool_]) -> float:
    """Return how much lighter the page is just outside a block than just inside it."""
    near = 2 * MARGIN_EDGE + 1
    # The block continues beyond the edge of the page, so only its edge on the page counts.
    inside = block & ~eroded(block, near)
    outside = dilated(block, near) & ~dilated(block, 3)
    if not inside.any() or not outside.any():
        return 0.0
    return float(np.median(overview[outside]) - np.median(overview[inside]))
