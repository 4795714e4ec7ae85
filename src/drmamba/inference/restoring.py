"""Structures that the network leaves out, taken from the page itself by a threshold; for `--keep all`.

The network of a model without conventions treats rules, frames, ornaments and heavy headlines as background. The
witness finds those that are as dark and as sharp as ink, or straight. Inside them, what is darker than half-way
between the paper and the structure is ink.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from PIL import Image

from drmamba.images import Ink, PageSource
from drmamba.inference.analysis.strokes import Grey
from drmamba.inference.witness import Comparison, Witness
from drmamba.inference.witness.structures import enlarged, grown, highest

HALF_WAY = 0.5  # of a structure's darkness; darker pixels belong to it
REACH = 9  # pixels of the reduced page; the darkness of a fine structure is the largest in such a square
BAND_ROWS = 512  # rows of the page; so many are restored at a time


def threshold_map(witness: Witness, comparison: Comparison) -> Grey:
    """Return the grey level below which a pixel of the reduced page is ink: 0 where nothing is to be restored."""
    finest = witness.structures.levels[0]
    found = _levels(finest.paper, highest(finest.darkness, REACH))
    found[~grown(comparison.fine, 5)] = 0
    for one in comparison.wide:
        level = witness.structures.levels[one.level]
        part = _levels(level.paper, highest(level.darkness, 3))
        part[~grown(one.mask, 5)] = 0
        found = np.maximum(found, enlarged(part, level.zoom, found.shape))
    return found


def restored(
    source: PageSource, thresholds: Grey, reduction: int, *, inverted: bool
) -> Iterator[tuple[int, Ink]]:
    """Yield the top of a band of rows of the page, and which of its pixels are restored."""
    for top in range(0, source.height, BAND_ROWS):
        bottom = min(top + BAND_ROWS, source.height)
        lines = np.minimum(np.arange(top, bottom) // reduction, len(thresholds) - 1)
        if not thresholds[lines[0] : lines[-1] + 1].any():
            continue
        limits = np.repeat(thresholds[lines], reduction, axis=1)[:, : source.width]
        grey = np.asarray(Image.fromarray(source.rows(top, bottom)).convert("L"))
        yield top, (255 - grey if inverted else grey) < limits


def _levels(paper: Grey, darkness: Grey) -> Grey:
    """Return the grey level half-way between paper and structure."""
    return np.asarray(paper - HALF_WAY * darkness, np.uint8)
