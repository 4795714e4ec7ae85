"""What the network knows about the whole page in addition to each window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

from drmamba.config import WindowConfig
from drmamba.images import PageSource
from drmamba.inference.runtime.base import ReducedPage
from drmamba.inference.runtime.pool import WorkerPool
from drmamba.inference.tiling import places
from drmamba.inference.view import PageView

BAND_ROWS = 64  # rows of the reduced page; so many are made at once


@dataclass(frozen=True)
class WindowContext:
    """The features of the page that windows lie on, and the top and left of each window on it."""

    features: Any = None  # what the runtime found on the reduced page; None if windows stand alone
    places: Sequence[tuple[int, int]] = ()


def page_context(
    source: PageSource, view: PageView, windows: WindowConfig, pool: WorkerPool
) -> WindowContext:
    """Let the network see a page as a whole; `source` is the page as it is cut into windows."""
    reduction = pool.runtime.context
    if not reduction or view.bilevel:
        return WindowContext()
    where = places(source.height, source.width, windows)
    overview, corners = view.transform_overview(reduced_page(source, reduction), where, reduction)
    return WindowContext(pool.see_page(overview), corners)


def reduced_page(source: PageSource, reduction: int) -> ReducedPage:
    """Return the page at a fraction of its size, each pixel the mean of a block; it is read band by band."""
    step = BAND_ROWS * reduction
    bands = [
        np.asarray(Image.fromarray(source.rows(top, min(top + step, source.height))).reduce(reduction))
        for top in range(0, source.height, step)
    ]
    return np.concatenate(bands)
