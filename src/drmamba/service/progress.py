"""How far a page is: windows are counted as they come from the network, and a cancelled page ends at the next one."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from drmamba.config import InferenceConfig
from drmamba.images import DPI, RGB, PageSource
from drmamba.inference.binarizer import Binarizer
from drmamba.inference.page_context import WindowContext
from drmamba.inference.tiling import Band, Predict, Probability, places
from drmamba.inference.view import PageView
from drmamba.service.problems import over_limit


@dataclass
class WorkProgress:
    """Where the work on a request stands; one thread writes it, others read it."""

    file: int = 0  # counted from 1; 0 before the work begins
    page: int = 0  # of the file, counted from 1
    pages: int = 0  # in the file; 0 until that is known
    windows: int = 0  # of the page; 0 until that is known
    done: int = 0  # windows that the network has seen
    finished: int = 0  # pages of all files
    started: float = 0.0  # when the work began, on the clock of `time.monotonic`
    page_started: float = 0.0
    windows_started: float = 0.0
    ended: float = 0.0  # when the work ended; 0 before
    width: int = 0  # of the page in pixels
    height: int = 0
    dpi: DPI | None = None  # of the page

    def begin_file(self, number: int) -> None:
        """Note that a file begins."""
        now = time.monotonic()
        self.file, self.page, self.pages = number, 1, 0
        self.started = self.started or now
        self._begin(now)

    def end_page(self) -> None:
        """Note that a page is done and the next one begins."""
        self.finished += 1
        self.page += 1
        self._begin(time.monotonic())

    def begin_windows(self, count: int) -> None:
        """Note how many windows the page has."""
        self.windows, self.done, self.windows_started = count, 0, time.monotonic()

    def _begin(self, now: float) -> None:
        self.page_started, self.windows, self.done = now, 0, 0

    def seconds_left(self, files: int) -> float | None:
        """Return about how long the files will take, or None as long as nothing is known.

        Windows that remain are taken to need as long as those that are done, and pages as long as the pages before.
        """
        now = time.monotonic()
        page = self.page_seconds(now)
        if page is None:
            return None
        mean = (self.page_started - self.started + page) / (self.finished + 1)
        # Files that have not been opened are taken to have one page.
        others = max(0, self.pages - self.page) + files - self.file
        return max(0.0, page - (now - self.page_started)) + mean * others

    def page_seconds(self, now: float) -> float | None:
        """Return about how many seconds the page needs in total."""
        if self.done:
            before = self.windows_started - self.page_started
            return before + (now - self.windows_started) / self.done * self.windows
        return (self.page_started - self.started) / self.finished if self.finished else None

    def to_dict(self, files: int) -> dict[str, Any]:
        """Return plain values for a JSON answer."""
        left = 0.0 if self.ended else self.seconds_left(files)
        seconds = (self.ended or time.monotonic()) - self.started if self.started else 0.0
        return {
            "file": self.file,
            "page": self.page,
            "pages": self.pages,
            "windows": self.windows,
            "windows_done": min(self.done, self.windows),
            "seconds": round(seconds, 1),
            "seconds_left": None if left is None else round(left, 1),
        }


class Cancelled(Exception):  # noqa: N818
    """Nobody waits for this work any more."""


@dataclass
class Watch:
    """Whether somebody still waits for some work, and until when."""

    cancelled: threading.Event = field(default_factory=threading.Event)
    deadline: float = math.inf  # on the clock of `time.monotonic`
    progress: WorkProgress = field(default_factory=WorkProgress)

    def check(self, most: float) -> float:
        """Return the seconds until the deadline; raise if it has passed or the work is cancelled."""
        if self.cancelled.is_set():
            raise Cancelled
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise over_limit("seconds", most, f"took more than {most:g} s of work", 422)
        return left


class WatchedBinarizer(Binarizer):
    """A Binarizer that counts windows, and calls the watch's `check` after each, which ends a page by an error."""

    def __init__(
        self, binarizer: Binarizer, config: InferenceConfig, watch: Watch, most_seconds: float
    ) -> None:
        self.work, self._most = watch, most_seconds
        super().__init__(
            binarizer.pool, config=config, provenance=binarizer.provenance, sha256=binarizer.sha256
        )

    def wanted(self) -> bool:
        """Whether the page in progress has not been cancelled."""
        return not self.work.cancelled.is_set()

    def bands(
        self, source: PageSource, config: InferenceConfig, view: PageView, predict: Predict | None = None
    ) -> Iterator[Band]:
        """Return the page's probability in bands, and count its windows."""
        seen, progress = view.transform(source), self.work.progress
        progress.width, progress.height, progress.dpi = source.width, source.height, source.dpi
        progress.begin_windows(len(places(seen.height, seen.width, config.windows)))
        return super().bands(source, config, view, predict and self._counted(predict))

    def _predict(self, config: InferenceConfig, context: WindowContext | None = None) -> Predict:
        return self._counted(super()._predict(config, context))

    def _counted(self, predict: Predict) -> Predict:
        def stream(windows: Iterator[RGB]) -> Iterator[Probability]:
            results = predict(windows)
            try:
                for result in results:
                    self.work.check(self._most)
                    self.work.progress.done += 1
                    yield result
            finally:
                if close := getattr(results, "close", None):
                    close()  # at once, so that windows which have not begun are not computed

        return stream
