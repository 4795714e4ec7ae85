"""Explorations of the pages of all browsers, kept within a memory limit."""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Iterator

from drmamba.inference.explain import Exploration
from drmamba.service.page.open_page import OpenPage

BYTES_PER_PIXEL = 24  # of an open page, besides the maps that are kept for the sliders


class ExplorationCache:
    """Keeps explorations within a memory limit; the least recently used one is removed first."""

    def __init__(self, memory: int) -> None:
        self.memory = memory
        self._kept: OrderedDict[int, tuple[OpenPage, Exploration]] = OrderedDict()
        self._reserved: dict[int, int] = {}  # bytes for pages that the network is working on
        self._lock = threading.Condition()

    @contextlib.contextmanager
    def reserve(self, page: OpenPage, size: int) -> Iterator[None]:
        """Reserve memory for a page before it is read.

        Explorations are removed to make room; if that is not enough, the pages in progress must be done first.
        """
        with self._lock:
            while self.used + size > self.memory:
                if self._kept:
                    self._kept.popitem(last=False)
                else:
                    self._lock.wait()
            self._reserved[id(page)] = size
        try:
            yield
        finally:
            with self._lock:
                self._reserved.pop(id(page), None)
                self._lock.notify_all()

    @property
    def used(self) -> int:
        """Return the number of bytes that are in use or reserved."""
        with self._lock:
            kept = sum(memory_of(exploration) for _, exploration in self._kept.values())
            return kept + sum(self._reserved.values())

    def get(self, page: OpenPage) -> Exploration | None:
        """Return the page's exploration, or None if it has been removed."""
        with self._lock:
            found = self._kept.get(id(page))
            if found is not None:
                self._kept.move_to_end(id(page))
            return found[1] if found else None

    def put(self, page: OpenPage, exploration: Exploration) -> None:
        """Keep an exploration in the memory that was reserved for it."""
        with self._lock:
            self._reserved.pop(id(page), None)
            self._kept[id(page)] = (page, exploration)

    def drop(self, pages: list[OpenPage]) -> None:
        """Remove the explorations of these pages."""
        with self._lock:
            for page in pages:
                self._kept.pop(id(page), None)


def memory_of(exploration: Exploration) -> int:
    """Return about how many bytes an open page takes."""
    return exploration.kept + BYTES_PER_PIXEL * exploration.rows.height * exploration.rows.width
