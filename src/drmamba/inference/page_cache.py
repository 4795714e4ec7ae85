"""Pages whose rows are read from their source once, although they are needed several times."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from drmamba.images import RGB, ArraySource, PageSource

BYTES_PER_PIXEL = 3  # bytes; an RGB pixel
LARGEST_CACHE = 150_000_000  # bytes; larger pages are decoded again, which costs little beside the network


class CachedSource(PageSource):
    """A page that keeps every row it has read; `check` is called whenever rows are requested.

    The analysis reads a page from top to bottom; after that the windows come from memory.
    """

    def __init__(self, source: PageSource, check: Callable[[], object] = lambda: None) -> None:
        self.height, self.width, self.dpi = source.height, source.width, source.dpi
        self._source, self._check = source, check
        self._page = np.empty((source.height, source.width, 3), np.uint8)
        self._known = 0  # rows from the top that have been read

    def rows(self, top: int, bottom: int) -> RGB:
        """Return rows from memory, reading those that are not there yet."""
        self._check()
        if bottom > self._known:
            self._page[self._known : bottom] = self._source.rows(self._known, bottom)
            self._known = bottom
        return self._page[top:bottom]


def cache_bytes(source: PageSource) -> int:
    """Return the memory that it takes to cache a page; none if the page is in memory already."""
    return 0 if isinstance(source, ArraySource) else BYTES_PER_PIXEL * source.height * source.width


def cached(source: PageSource, limit: int) -> PageSource:
    """Return the page with a cache if that takes at most `limit` bytes, otherwise the page itself."""
    return CachedSource(source) if 0 < cache_bytes(source) <= min(limit, LARGEST_CACHE) else source
