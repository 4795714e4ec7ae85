"""The pages that one browser has open: the network sees each once, and its result can be adjusted many times."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image

from drmamba.config import InferenceConfig, replace_values
from drmamba.images import RGB, ArraySource, encode
from drmamba.inference.binarizer import BinarizedPage
from drmamba.inference.explain import Exploration
from drmamba.inference.quality import FLAGS
from drmamba.service.answers import result_name
from drmamba.service.page.exploration_cache import BYTES_PER_PIXEL, ExplorationCache
from drmamba.service.page.open_page import OpenPage, ShownPage
from drmamba.service.page.pictures import layer_picture, screen_sized, thumbnail
from drmamba.service.problems import KNOWN, over_limit, problem_for
from drmamba.service.schemas import ENDINGS, MEDIA
from drmamba.service.service import Service
from drmamba.service.upload import plain_name

log = logging.getLogger("drmamba.service")
MAP_BYTES_PER_PIXEL = 200  # kept for the sliders; `tiny` needs about 150 and `lite` half of that
ENLARGED_SHARE = 0.25  # of the cache, which any page may use because fine writing is enlarged for the network
BINARIZE_BYTES_PER_PIXEL = 8  # while a page is only binarized
OLD_PICTURES = 4  # pictures of earlier views that the browser may still be copying
WHOLE = "the whole network"


@dataclass
class BrowserSession:
    """One browser's pages."""

    service: Service
    cache: ExplorationCache
    pages: list[OpenPage] = field(default_factory=list)
    current: int = 0  # index of the page that is shown
    layer: str = "Result"
    seconds: float = 0.0  # that the last result took
    computed: str = ""  # the part of the network that the last result needed
    generation: int = 0  # number of times that all pages were closed
    lock: threading.RLock = field(default_factory=threading.RLock)
    _links: list[str] = field(default_factory=list)
    _shown: list[Path] = field(default_factory=list)

    def __deepcopy__(self, _: object) -> BrowserSession:
        return self  # Gradio copies initial values; a session must stay the same object.

    def open_files(
        self, files: list[tuple[Path, str]], threshold: float, suppress: float, generation: int
    ) -> Iterator[OpenPage | str]:
        """Open files and binarize their pages; yield each page, or a message about a file that failed.

        `generation` is the result of `close_pages`. When all pages have been closed again, nobody waits for
        these files any more.
        """
        most = self.service.limits.max_files
        if len(files) > most:
            yield f"{len(files) - most} of {len(files)} files: {most} at most are taken at once"
        for path, name in files[:most]:
            page = OpenPage(path, plain_name(name), 1, 1)
            while page.number <= page.pages:
                try:
                    with self.lock:
                        if self.generation != generation:
                            return
                        config = self._config(threshold, suppress)
                        if self.pages:
                            self._binarize(page, config)
                        else:
                            self._explore(page, config)  # The first page is shown at once.
                        assert page.bitmap is not None
                        page.thumbnail = self._picture(thumbnail(page.bitmap), ".png")
                        self.pages.append(page)
                except KNOWN as error:
                    yield message_for(error, path, page.name)
                    break
                yield page
                page = OpenPage(path, page.name, page.number + 1, page.pages)

    def select(self, index: int, threshold: float, suppress: float) -> ShownPage:
        """Show another page."""
        with self.lock:
            self.current = min(max(0, index), len(self.pages) - 1)
            return self.adjust(threshold, suppress)

    def adjust(self, threshold: float, suppress: float) -> ShownPage:
        """Show the current page with these settings."""
        with self.lock:
            page, config = self.pages[self.current], self._config(threshold, suppress)
            exploration = self.cache.get(page)
            if exploration is None:
                self._explore(page, config)
            elif config != exploration.config:
                started, kept = time.perf_counter(), exploration.kept > 0
                only_threshold = config.suppress == exploration.config.suppress
                result = exploration.adjust(threshold=threshold, suppress=suppress)
                self._record(page, config, result)
                self.seconds = time.perf_counter() - started
                part = "only the fusion" if kept else WHOLE
                self.computed = "only the threshold" if only_threshold else part
            return self.view()

    def view(self) -> ShownPage:
        """Show the current page as it is."""
        with self.lock:
            page = self.pages[self.current]
            exploration = self.cache.get(page)
            if exploration is None:
                assert page.config is not None
                exploration = self._explore(page, page.config)
            quality, rows = exploration.page.quality, exploration.rows
            assert isinstance(rows, ArraySource)
            facts = [f"{rows.width} × {rows.height} pixels", f"{quality.ink:.1%} ink"]
            if quality.stroke_width:
                facts.append(f"strokes {quality.stroke_width:g} pixels wide")
            facts.append(f"{self.seconds:.2f} s ({self.computed})")
            while len(self._shown) > OLD_PICTURES:  # The browser has its own copies of earlier pictures.
                self._shown.pop(0).unlink(missing_ok=True)
            before = self._picture(screen_sized(rows.rows(0, rows.height)), ".jpg")
            after = self._picture(layer_picture(exploration, self.layer), ".png")
            self._shown += [before, after]
            notes = [FLAGS.get(flag, flag) for flag in quality.flags]
            return ShownPage(before, after, " · ".join(facts), notes, self._offer(page), page.title)

    def combine(self, form: str, threshold: float, suppress: float) -> str:
        """Make one file of all pages with these settings; return its address."""
        with self.lock:
            config = self._config(threshold, suppress)
            for page in self.pages:
                if page.config != config:
                    self._binarize(page, config)
            return self._stored(self.pages, form)

    def close_pages(self) -> int:
        """Close all pages; return the number of the generation that begins."""
        with self.lock:
            self.generation += 1
            self.cache.drop(self.pages)
            for path in [*self._shown, *(page.thumbnail for page in self.pages if page.thumbnail)]:
                path.unlink(missing_ok=True)
            self.pages, self.current, self._shown = [], 0, []
            return self.generation

    def _config(self, threshold: float, suppress: float) -> InferenceConfig:
        changes = {"threshold": float(threshold), "suppress": float(suppress)}
        return replace_values(self.service.engine.binarizer.config, changes)

    def _explore(self, page: OpenPage, config: InferenceConfig) -> Exploration:
        """Binarize a page and keep the network's maps, from which it can be adjusted quickly."""
        pixels = self._checked_size(page)
        memory, besides = self.cache.memory, BYTES_PER_PIXEL * pixels
        keep = min(max(MAP_BYTES_PER_PIXEL * pixels, int(ENLARGED_SHARE * memory)), memory - besides)
        with self.cache.reserve(page, besides + keep):
            engine = self.service.engine
            rows = engine.read_page(page.path, page.number)
            started = time.perf_counter()
            exploration = Exploration(engine.binarizer, rows, config, keep=keep)
            self.seconds, self.computed = time.perf_counter() - started, WHOLE
            self.cache.put(page, exploration)
        self._record(page, config, exploration.page)
        return exploration

    def _binarize(self, page: OpenPage, config: InferenceConfig) -> None:
        """Binarize a page that nobody looks at yet; only the result is kept."""
        pixels = self._checked_size(page)
        self.cache.drop([page])
        with self.cache.reserve(page, BINARIZE_BYTES_PER_PIXEL * pixels):
            engine = self.service.engine
            rows = engine.read_page(page.path, page.number)
            self._record(page, config, engine.binarizer.binarize(rows, config, keep="ink"))

    def _checked_size(self, page: OpenPage) -> int:
        """Return the number of pixels that a page declares; one that is too large is not decoded."""
        pixels, page.pages = self.service.engine.measure(page.path, page.number)
        most = self.cache.memory // BYTES_PER_PIXEL
        if pixels > most:
            words = f"has more than the {most / 1e6:.0f} megapixels that this page takes; use the API"
            raise over_limit("pixels", most, words)
        return pixels

    def _record(self, page: OpenPage, config: InferenceConfig, result: BinarizedPage) -> None:
        page.config, page.bitmap, page.flags = config, result.bitmap, result.quality.flags

    def _picture(self, rgb: RGB, ending: str) -> Path:
        """Write a picture for the screen to a new file."""
        path = self.service.store.folder / f"{secrets.token_hex(16)}{ending}"
        Image.fromarray(rgb).save(
            path, quality=88, compress_level=3
        )  # The one is for JPEG, the other for PNG.
        return path

    def _offer(self, page: OpenPage) -> dict[str, str]:
        """Store the page's result in every format in place of the previous ones; return the addresses."""
        for name in self._links:
            self.service.store.drop(name)
        links = {form: self._stored([page], form) for form in MEDIA}
        self._links = [link.rpartition("/")[2] for link in links.values()]
        return links

    def _stored(self, pages: list[OpenPage], form: str) -> str:
        """Store the results of these pages as one file; return its address."""
        store, ending = self.service.store, ENDINGS[form]
        data = encode([page.bitmap for page in pages if page.bitmap is not None], ending)
        path = store.new_folder() / f"page{ending}"
        path.write_bytes(data)
        first = pages[0]
        number = f"-{first.number:04d}" if first.pages > 1 and len(pages) == 1 else ""
        name = store.put(path, MEDIA[form], result_name(f"{Path(first.name).stem}{number}.x", ending))
        path.parent.rmdir()
        return f"v1/results/{name}"


def message_for(error: Exception, path: Path, name: str) -> str:
    """Return a message about an error that names the file as its owner does."""
    problem = problem_for(error, path, name)
    if problem.status >= 500:
        log.error("a page failed: %s", error)
    return problem.detail
