"""A first look at a page, before the network: polarity, stroke width, dark margins, contrast."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage

from drmamba.images import RGB, PageSource
from drmamba.inference import direction, strokes
from drmamba.inference.grain import Tones
from drmamba.inference.strokes import Grey, Strokes

SIDE = 1024  # the overview's longer side, at most
TILE = 256  # of full resolution, for what needs it
TILES = 8  # at most; the ones with the most edges
ASKED = 3  # of them, that the network is asked about

MARGIN_DARK = 0.5  # of the paper's grey, and
MARGIN_GREY = 100  # no lighter than this
MARGIN_SIDE = 0.012  # of the page's longer side: the narrowest dark block that is a margin
MARGIN_STROKES = 3.5  # and wider than so many strokes
MARGIN_SHARE = 0.002  # of the page: the smallest margin
MARGIN_RIM = 2  # overview pixels around a margin that go with it
MARGIN_STEP = (
    0.25  # of the paper's grey: the least between both sides of a margin's edge; a shadow falls slowly
)
MARGIN_EDGE = 6  # overview pixels on each side within which that must happen


@dataclass(frozen=True)
class Survey:
    """What a page looks like."""

    strokes: Strokes | None  # None: too few edges to measure
    margins: NDArray[np.bool_] | None  # of the overview; None: there are none
    reduced: int  # how many pixels of the page one of the overview spans, each way
    paper: float  # grey of the background, 0 ... 255, after turning round
    lean: float = math.inf  # how level lines run, see `direction.lean`
    tiles: tuple[RGB, ...] = ()  # of the places where most is written, as they are
    tones: Tones = field(default_factory=Tones)
    bilevel: bool = False  # nothing but black and white

    @property
    def inverted(self) -> bool:
        """Whether the page is white on black."""
        return self.strokes is not None and self.strokes.inverted


def survey(rows: PageSource) -> Survey:
    """Look at every row once; little is kept: a small copy of the page, and a few tiles."""
    reduced = max(1, -(-max(rows.height, rows.width) // SIDE))
    step = -(-TILE // reduced) * reduced
    wanted = min(TILES, 1 + rows.height * rows.width // 250_000)
    overview, levels = [], np.zeros(256, np.int64)
    best: list[tuple[float, int, int, RGB]] = []
    for top in range(0, rows.height, step):
        band = rows.rows(top, min(top + step, rows.height))
        grey = Image.fromarray(band).convert("L")
        overview.append(np.asarray(grey.reduce(reduced)))
        levels += grey.histogram()
        values = np.asarray(grey)
        for left in range(0, rows.width, TILE):
            place = slice(0, TILE), slice(left, left + TILE)
            heapq.heappush(best, (_busy(values[place]), -top, -left, band[place].copy()))
            if len(best) > wanted:
                heapq.heappop(best)
    small = np.concatenate(overview)
    tiles = tuple(tile for *_, tile in sorted(best, key=lambda item: item[:3], reverse=True))
    busiest = [np.asarray(Image.fromarray(tile).convert("L")) for tile in tiles]
    found = strokes.measure(busiest)
    if found is not None and found.inverted:
        small, busiest, levels = 255 - small, [255 - tile for tile in busiest], levels[::-1]
    width = found.width if found is not None else 0.0
    paper = float(np.percentile(small, 80))
    return Survey(
        strokes=found,
        margins=dark_margins(small, width / reduced),
        reduced=reduced,
        paper=paper,
        lean=direction.lean(small),
        tiles=tiles[:ASKED],
        tones=Tones.of(busiest, levels),
        bilevel=bool(levels[0] and levels[255] and not levels[1:255].any()),
    )


def _busy(tile: Grey) -> float:
    """How much changes along a few rows of a tile; edges count, and slow shading hardly."""
    if tile.shape[1] < 2:
        return 0.0
    lines = tile[::4].astype(np.int16)
    return float(np.abs(lines[:, 1:] - lines[:, :-1]).mean()) * tile.size


def dark_margins(overview: Grey, stroke: float) -> NDArray[np.bool_] | None:
    """Dark blocks that reach the page's edge, are far wider than a stroke and end sharply: the scanner's lid."""
    paper = float(np.percentile(overview, 80))
    dark = overview < min(MARGIN_DARK * paper, MARGIN_GREY)
    side = max(3, round(max(MARGIN_SIDE * max(overview.shape), MARGIN_STROKES * stroke)))
    # The page goes on darkly beyond its edge where it is dark at the edge: a thin margin is a block, too.
    padded = np.pad(dark.astype(np.uint8), side, mode="edge")
    blocks = ndimage.grey_opening(padded, (side, side))[side:-side, side:-side]
    names, count = ndimage.label(blocks)
    at_edge = np.unique(np.concatenate([names[0], names[-1], names[:, 0], names[:, -1]]))
    sizes = np.bincount(names.ravel(), minlength=count + 1)
    large = [name for name in at_edge if name and sizes[name] >= MARGIN_SHARE * overview.size]
    margins = [name for name in large if _step(overview, names == name) >= MARGIN_STEP * paper]
    if not margins:
        return None
    found: NDArray[np.bool_] = np.isin(names, margins)
    return np.asarray(ndimage.maximum_filter(found, 2 * MARGIN_RIM + 1))


def _step(overview: Grey, block: NDArray[np.bool_]) -> float:
    """How much lighter it is just outside a block than just inside."""
    near = 2 * MARGIN_EDGE + 1
    inside = block & ~ndimage.minimum_filter(block, near)  # its edge on the page: beyond the page it goes on
    outside = ndimage.maximum_filter(block, near) & ~ndimage.maximum_filter(block, 3)
    if not inside.any() or not outside.any():
        return 0.0
    return float(np.median(overview[outside]) - np.median(overview[inside]))
