"""The whole page, reduced, as the network sees it beside each window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

from drmamba.config import WindowConfig
from drmamba.images import PageSource
from drmamba.inference.grain import as_scanned
from drmamba.inference.lanes import Lanes
from drmamba.inference.quality import View
from drmamba.inference.runtime import Reduced
from drmamba.inference.tiling import places

BAND = 64  # rows of the reduced page that are made at once


@dataclass(frozen=True)
class Situation:
    """What the network knows of the page that windows come from, and the top and left of each window on it."""

    page: Any = None
    places: Sequence[tuple[int, int]] = ()


def situation(rows: PageSource, view: View, windows: WindowConfig, lanes: Lanes) -> Situation:
    """Show the network a page, given as it is tiled; windows are then to be seen as the view says."""
    reduction = lanes.runtime.context
    if not reduction or view.bilevel:
        return Situation()
    small = reduced(rows, reduction)
    where = places(rows.height, rows.width, windows)
    if view.grain:
        small = as_scanned(small)
    if (
        view.sideways
    ):  # as `direction.turned` turns the windows; whole cells count, so that none lies between two
        small = np.ascontiguousarray(np.rot90(small))
        right = small.shape[0] * reduction
        corners = [(right - left - width, top) for top, left, _, width in where]
    else:
        corners = [(top, left) for top, left, _, _ in where]
    return Situation(lanes.look(small), corners)


def reduced(rows: PageSource, reduction: int) -> Reduced:
    """The page at a fraction of its size, each pixel the mean of a block; read band by band."""
    step = BAND * reduction
    bands = [
        np.asarray(Image.fromarray(rows.rows(top, min(top + step, rows.height))).reduce(reduction))
        for top in range(0, rows.height, step)
    ]
    return np.concatenate(bands)
