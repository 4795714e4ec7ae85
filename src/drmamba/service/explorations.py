"""The maps of pages that somebody wants explained: the network sees such a page once, and it is adjusted often."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from drmamba.images import ArraySource
from drmamba.images.reading.decoder_process import IsolatedPage
from drmamba.inference.explain import Exploration
from drmamba.service.engine import ConversionEngine
from drmamba.service.exploration_cache import BYTES_PER_PIXEL, ExplorationCache, ExploredPage
from drmamba.service.pictures import LayerPicture, layer_picture
from drmamba.service.problems import out_of_memory, over_limit
from drmamba.service.progress import Watch, WatchedBinarizer
from drmamba.service.settings import RequestSettings

MAP_BYTES_PER_PIXEL = 200  # kept for other suppressions; `tiny` needs about 150 and `lite` half of that
ENLARGED_SHARE = 0.25  # of the cache, which any page may use because fine writing is enlarged for the network
THREADS = 2

PageKey = tuple[Any, ...]  # the job and its run, the file and the page


class PageExplorer:
    """Explains pages in threads of its own, within the memory of its cache."""

    def __init__(self, engine: ConversionEngine) -> None:
        self.engine = engine
        self.cache = ExplorationCache(engine.limits.exploration_memory)
        self._pool = ThreadPoolExecutor(THREADS, "drmamba-exploration")
        self._locks: dict[PageKey, threading.Lock] = {}

    def layer(
        self, key: PageKey, path: Path, page: int, settings: RequestSettings, layer: str, watch: Watch
    ) -> Future[LayerPicture]:
        """Return a picture of a layer of a page, counted from 1."""
        lock = self._locks.setdefault(key, threading.Lock())

        def work() -> LayerPicture:
            with lock:  # The second of two requests uses what the first one has found.
                watch.check(self.engine.limits.max_seconds)
                return layer_picture(self._explored(key, path, page, settings, watch), layer)

        return self._pool.submit(work)

    def drop(self, job: str) -> None:
        """Forget the pages of a job."""
        for key in [key for key in self._locks if key[0] == job]:
            self._locks.pop(key, None)
            self.cache.drop(key)

    def close(self) -> None:
        """Finish what is under way and drop what waits."""
        self._pool.shutdown(cancel_futures=True)

    def _explored(
        self, key: PageKey, path: Path, page: int, settings: RequestSettings, watch: Watch
    ) -> Exploration:
        wanted = settings.config
        found = self.cache.get(key)
        if found is not None:
            same = {"keep_bilevel", "threshold", "suppress"}
            both = (found.exploration.config.to_dict(), wanted.to_dict())
            old, new = ({k: v for k, v in values.items() if k not in same} for values in both)
            if old == new and settings.reading == found.reading:
                found.binarizer.work = watch
                found.exploration.adjust(threshold=wanted.threshold, suppress=wanted.suppress)
                return found.exploration
            self.cache.drop(key)
        return self._explore(key, path, page, settings, watch)

    def _explore(
        self, key: PageKey, path: Path, page: int, settings: RequestSettings, watch: Watch
    ) -> Exploration:
        engine, memory = self.engine, self.cache.memory
        size = engine.with_page(path, page, settings.reading, watch, lambda p: p.height * p.width).result()
        if size > memory // BYTES_PER_PIXEL:
            most = memory // BYTES_PER_PIXEL
            words = f"the page has more than the {most / 1e6:.0f} megapixels that can be explained"
            raise over_limit("pixels", most, words)
        besides = BYTES_PER_PIXEL * size
        keep = min(max(MAP_BYTES_PER_PIXEL * size, int(ENLARGED_SHARE * memory)), memory - besides)
        with self.cache.reserve(key, besides + keep):
            rows = engine.with_page(path, page, settings.reading, watch, self._read).result()
            seconds = engine.limits.max_seconds
            binarizer = WatchedBinarizer(engine.binarizer, settings.config, watch, seconds)
            exploration = Exploration(binarizer, rows, settings.config, keep=keep)
            self.cache.put(key, ExploredPage(exploration, binarizer, settings.reading))
        return exploration

    def _read(self, page: IsolatedPage) -> ArraySource:
        ledger = self.engine.ledger
        if page.decode_bytes > ledger.total:
            raise out_of_memory(page.height * page.width)
        with ledger.hold(page.decode_bytes, page.file.path):
            page.decode()
            return ArraySource(page.read(), page.dpi)
