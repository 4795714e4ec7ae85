"""The analysis of a page, before the network sees it."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from drmamba.images import RGB, PageSource
from drmamba.inference.analysis.margins import dark_margins
from drmamba.inference.analysis.orientation import orientation_score
from drmamba.inference.analysis.strokes import Grey, Strokes, measure_strokes
from drmamba.inference.analysis.tones import Tones, measure_tones

OVERVIEW_SIDE = 1024  # pixels; the longer side of the overview is no longer than this
TILE_SIDE = 256  # pixels; the side of the tiles that are kept at full resolution
MAX_TILES = 8  # tiles; so many of those with the most edges are measured
MAX_TRIAL_TILES = 3  # tiles; so many are kept for a trial run of the network
MAX_GREY = 3_000_000  # pixels; the reduced page in grey has no more
PIXELS_PER_TILE = 250_000  # pixels; a page has one tile, and one more for each so many


@dataclass(frozen=True)
class PageAnalysis:
    """What was measured on a page."""

    strokes: Strokes | None  # None if there are too few edges to measure
    margins: NDArray[np.bool_] | None  # a mask of the dark margins on the overview; None if there are none
    reduction: int  # pixels of the page along each side of a pixel of the overview
    orientation: float = math.inf  # the orientation score: level lines have a positive one
    tiles: tuple[RGB, ...] = ()  # the tiles with the most edges, unchanged
    tones: Tones = field(default_factory=Tones)
    bilevel: bool = False  # whether every pixel is black or white, and both occur
    grey: Grey | None = None  # the page in grey, reduced no further than its size demands
    grey_reduction: int = 1  # pixels of the page along each side of a pixel of that

    @property
    def inverted(self) -> bool:
        """Whether the page is white on black."""
        return self.strokes is not None and self.strokes.inverted


def analyse_page(source: PageSource) -> PageAnalysis:
    """Read every row once and measure the page; only two small copies of it and a few tiles are held."""
    reduction = max(1, -(-max(source.height, source.width) // OVERVIEW_SIDE))
    step = -(-TILE_SIDE // reduction) * reduction
    wanted = min(MAX_TILES, 1 + source.height * source.width // PIXELS_PER_TILE)
    overview, levels = [], np.zeros(256, np.int64)
    best: list[tuple[float, int, int, RGB]] = []
    whole = ReducedRows(math.ceil(math.sqrt(source.height * source.width / MAX_GREY)))
    for top in range(0, source.height, step):
        band = source.rows(top, min(top + step, source.height))
        grey = Image.fromarray(band).convert("L")
        overview.append(np.asarray(grey.reduce(reduction)))
        whole.add(grey)
        levels += grey.histogram()
        values = np.asarray(grey)
        for left in range(0, source.width, TILE_SIDE):
            place = slice(0, TILE_SIDE), slice(left, left + TILE_SIDE)
            heapq.heappush(best, (_edge_strength(values[place]), -top, -left, band[place].copy()))
            if len(best) > wanted:
                heapq.heappop(best)
    small = np.concatenate(overview)
    tiles = tuple(tile for *_, tile in sorted(best, key=lambda item: item[:3], reverse=True))
    grey_tiles = [np.asarray(Image.fromarray(tile).convert("L")) for tile in tiles]
    strokes = measure_strokes(grey_tiles, may_be_inverted=mostly_dark(levels))
    if strokes is not None and strokes.inverted:
        small, grey_tiles, levels = 255 - small, [255 - tile for tile in grey_tiles], levels[::-1]
    width = strokes.width if strokes is not None else 0.0
    return PageAnalysis(
        strokes=strokes,
        margins=dark_margins(small, width / reduction),
        reduction=reduction,
        orientation=orientation_score(small),
        tiles=tiles[:MAX_TRIAL_TILES],
        tones=measure_tones(grey_tiles, levels),
        bilevel=bool(levels[0] and levels[255] and not levels[1:255].any()),
        grey=whole.page(),
        grey_reduction=whole.reduction,
    )


class ReducedRows:
    """Collects bands of a page and reduces it; a band may end anywhere."""

    def __init__(self, reduction: int) -> None:
        self.reduction = reduction
        self._parts: list[Grey] = []
        self._rest: Grey | None = None  # rows that do not make a whole row of the reduced page yet

    def add(self, band: Image.Image) -> None:
        """Add the next rows."""
        rows = np.asarray(band)
        if self.reduction == 1:
            self._parts.append(rows)
            return
        if self._rest is not None:
            rows = np.concatenate([self._rest, rows])
        whole = len(rows) // self.reduction * self.reduction
        if whole:
            self._parts.append(np.asarray(Image.fromarray(rows[:whole]).reduce(self.reduction)))
        self._rest = rows[whole:].copy()

    def page(self) -> Grey:
        """Return the reduced page."""
        if self._rest is not None and len(self._rest):
            self._parts.append(np.asarray(Image.fromarray(self._rest).reduce(self.reduction)))
        return np.concatenate(self._parts)


def mostly_dark(levels: NDArray[np.int64]) -> bool:
    """Return whether most pixels are nearer to the page's dark tones than to its light ones.

    On a white-on-black page they are. A light page may have light strokes, too, as in a band or a marbled edge, but
    is not to be inverted for them.
    """
    share = np.cumsum(levels) / levels.sum()
    dark, middle, light = (int(np.searchsorted(share, part)) for part in (0.05, 0.5, 0.95))
    return 2 * middle < dark + light


def _edge_strength(tile: Grey) -> float:
    """Return how much changes along a few rows of a tile; edges count, and slow shading hardly does."""
    if tile.shape[1] < 2:
        return 0.0
    lines = tile[::4].astype(np.int16)
    return float(np.abs(lines[:, 1:] - lines[:, :-1]).mean()) * tile.size
