"""Explored pages, kept within a memory limit."""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from drmamba.config import ReadingConfig
from drmamba.inference.explain import Exploration
from drmamba.service.progress import WatchedBinarizer

BYTES_PER_PIXEL = 24  # of an explored page, besides the maps that are kept for other suppressions


@dataclass(frozen=True)
class ExploredPage:
    """A page that the network has seen, and how the page was read."""

    exploration: Exploration
    binarizer: WatchedBinarizer
    reading: ReadingConfig

    @property
    def bytes(self) -> int:
        """About how many bytes the page takes."""
        rows = self.exploration.rows
        return self.exploration.kept + BYTES_PER_PIXEL * rows.height * rows.width


class ExplorationCache:
    """Keeps explored pages within a memory limit; the least recently used one is removed first."""

    def __init__(self, memory: int) -> None:
        self.memory = memory
        self._kept: OrderedDict[Hashable, ExploredPage] = OrderedDict()
        self._reserved: dict[Hashable, int] = {}  # bytes for pages that the network is working on
        self._lock = threading.Condition()

    @contextlib.contextmanager
    def reserve(self, key: Hashable, size: int) -> Iterator[None]:
        """Reserve memory for a page before it is read.

        Other pages are removed to make room; if that is not enough, the pages in progress must be done first.
        """
        with self._lock:
            while self.used + size > self.memory:
                if self._kept:
                    self._kept.popitem(last=False)
                else:
                    self._lock.wait()
            self._reserved[key] = size
        try:
            yield
        finally:
            with self._lock:
                self._reserved.pop(key, None)
                self._lock.notify_all()

    @property
    def used(self) -> int:
        """Return the number of bytes that are in use or reserved."""
        with self._lock:
            return sum(page.bytes for page in self._kept.values()) + sum(self._reserved.values())

    def get(self, key: Hashable) -> ExploredPage | None:
        """Return a page, or None if it has been removed."""
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def put(self, key: Hashable, page: ExploredPage) -> None:
        """Keep a page in the memory that was reserved for it."""
        with self._lock:
            self._reserved.pop(key, None)
            self._kept[key] = page

    def drop(self, key: Hashable) -> None:
        """Remove a page."""
        with self._lock:
            self._kept.pop(key, None)
            self._lock.notify_all()
