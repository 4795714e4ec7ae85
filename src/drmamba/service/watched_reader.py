"""Reading for a request: a decoder that keeps to the deadline, and the memory that pages need."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from drmamba.config import InferenceConfig, ReadingConfig, ServiceConfig
from drmamba.errors import ImageError, MemoryLimitError
from drmamba.images.reading.decoder_process import DecoderProcess, IsolatedPage
from drmamba.inference.memory import estimate_page
from drmamba.service.problems import PageProblem, out_of_memory, over_limit
from drmamba.service.progress import Watch

UNLIMITED = 10**15  # pixels; the estimate below has a limit of its own, with an answer of its own
MAX_WINDOWS = 20_000  # of one page; more would take hours


class WatchedReader(DecoderProcess):
    """Checks the deadline and the limits whenever the decoder is asked for something."""

    max_waits = 1  # only the deadline counts

    def __init__(self, memory: int, limits: ServiceConfig) -> None:
        super().__init__(memory)
        self.limits = limits
        self.watch = Watch()
        self.pixels = 0  # pixels of the page under way

    def begin(self, watch: Watch, reading: ReadingConfig) -> None:
        """Read for somebody else from now on."""
        self.watch = watch
        self.config = ReadingConfig(max_pixels=UNLIMITED, dpi=reading.dpi)

    def ask(self, path: Path, request: dict[str, Any], seconds: float) -> tuple[dict[str, Any], bytes]:
        """Return the decoder's answer, unless the work is cancelled or past its deadline."""
        limits = self.limits
        seconds = min(seconds, self.check() + 1)
        try:
            answer, data = super().ask(path, request, seconds)
        except ImageError as error:
            self.check()  # a decoder that was stopped at the deadline does not mean a bad file
            if isinstance(error, MemoryLimitError):
                raise out_of_memory(self.pixels) from error
            raise
        if "pages" in answer:
            self.watch.progress.pages = int(answer["pages"])
            if answer["pages"] > limits.max_pages:
                words = f"holds {answer['pages']} pages, {limits.max_pages} at most are taken"
                raise over_limit("pages", limits.max_pages, words)
        if request.get("do") in ("open", "next"):
            self.pixels = answer.get("height", 0) * answer.get("width", 0)
        return answer, data

    def check(self) -> float:
        """Return the seconds until the deadline; raise if it has passed or the work is cancelled."""
        return self.watch.check(self.limits.max_seconds)


class PageEstimate:
    """The memory that a page needs; more pixels, memory or windows than there may be are a problem of that page."""

    def __init__(
        self, config: InferenceConfig, soft: bool, total: int, limits: ServiceConfig, besides: int = 0
    ) -> None:
        self.config, self.soft, self.total, self.limits = config, soft, total, limits
        self.besides = besides  # bytes that the workers need for these windows, beyond what they have

    def __call__(self, page: IsolatedPage) -> int:
        """Return the bytes that a page needs."""
        most, pixels = self.limits.max_pixels, page.height * page.width
        if pixels > most:
            words = f"is too large: {page.width} x {page.height} pixels, {most:,} at most are taken"
            raise PageProblem(413, "limit-pixels", words, limit="pixels", allowed=most)
        zoom = self.config.scale if isinstance(self.config.scale, float) else 1.0
        step = self.config.windows.stride
        windows = math.ceil(page.height * zoom / step) * math.ceil(page.width * zoom / step)
        if windows > MAX_WINDOWS:
            words = f"needs {windows:,} windows, {MAX_WINDOWS:,} at most are taken; use a larger stride"
            raise PageProblem(422, "limit-windows", words, limit="windows", allowed=MAX_WINDOWS)
        need = self._need(page, 20)
        if need > self.total:
            raise out_of_memory(pixels, self._largest(page))
        return need

    def _largest(self, page: IsolatedPage) -> int:
        """Return the pixels of the largest page of this kind and shape that fits, to a twentieth."""
        for twentieths in range(19, 0, -1):
            if self._need(page, twentieths) <= self.total:
                height, width = _shrunk(page, twentieths)
                return width * height
        return 0

    def _need(self, page: IsolatedPage, twentieths: int) -> int:
        height, width = _shrunk(page, twentieths)
        decode_bytes = page.decode_bytes * twentieths // 20
        return self.besides + estimate_page(height, width, decode_bytes, self.config, soft=self.soft)


def _shrunk(page: IsolatedPage, twentieths: int) -> tuple[int, int]:
    """Return the height and width of a page of the same shape with so many twentieths of its pixels."""
    side = math.sqrt(twentieths / 20)
    return max(1, int(page.height * side)), max(1, int(page.width * side))
