"""The work behind a request: the conversion of `drmamba binarize`, with a deadline and a way to cancel it."""

from __future__ import annotations

import contextlib
import logging
import math
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from drmamba.config import InferenceConfig, ReadingConfig, ServiceConfig
from drmamba.errors import DRMambaError, ImageError, MemoryLimitError
from drmamba.images import ArraySource
from drmamba.images.reading.decoder_process import DecoderProcess, IsolatedPage
from drmamba.inference.binarizer import Binarizer
from drmamba.inference.conversion import ConversionOptions, FileConversion
from drmamba.inference.jobs import ENDINGS, FileJob
from drmamba.inference.memory import estimate_page, page_threads
from drmamba.inference.records import PageRecord
from drmamba.service.problems import KNOWN, Problem, out_of_memory, over_limit, problem_for

log = logging.getLogger("drmamba.service")
UNLIMITED = 10**15  # pixels; the reader below has a limit of its own, with an answer of its own


class Cancelled(Exception):  # noqa: N818
    """Nobody waits for this work any more."""


@dataclass(frozen=True)
class Upload:
    """An uploaded file."""

    path: Path  # a random name that the service chose
    name: str  # the client's name, which is only sent back


@dataclass
class ConversionRequest:
    """What a client asks for, when it must be done, and whether the client still waits for it."""

    uploads: list[Upload]
    folder: Path
    config: InferenceConfig
    format: str = "png"
    soft: bool = False
    cancelled: threading.Event = field(default_factory=threading.Event)
    deadline: float = float("inf")


@dataclass(frozen=True)
class Outcome:
    """One file's result."""

    upload: Upload
    pages: list[PageRecord]
    outputs: list[Path]  # a PNG a page, or one file for all pages
    softs: list[Path]
    problem: Problem | None = None


class WatchedReader(DecoderProcess):
    """Checks the request's deadline and the limits whenever the decoder is asked for something."""

    max_waits = 1  # only the request's deadline counts

    def __init__(self, memory: int, limits: ServiceConfig, dpi: int) -> None:
        super().__init__(memory, ReadingConfig(max_pixels=UNLIMITED, dpi=dpi))
        self.limits = limits
        self.request: ConversionRequest | None = None
        self.pixels = 0  # pixels of the page under way

    def ask(self, path: Path, request: dict[str, Any], seconds: float) -> tuple[dict[str, Any], bytes]:
        """Return the decoder's answer, unless the request is cancelled or past its deadline."""
        limits = self.limits
        seconds = min(seconds, self.check() + 1)
        try:
            answer, data = super().ask(path, request, seconds)
        except ImageError as error:
            self.check()  # a decoder that was stopped at the deadline does not mean a bad file
            if isinstance(error, MemoryLimitError):
                raise out_of_memory(self.pixels) from error
            raise
        if answer.get("pages", 0) > limits.max_pages:
            words = f"holds {answer['pages']} pages, {limits.max_pages} at most are taken"
            raise over_limit("pages", limits.max_pages, words)
        pixels = answer.get("height", 0) * answer.get("width", 0)
        if pixels > limits.max_pixels:
            size = f"{answer['width']} x {answer['height']}"
            words = f"has a page of {size} pixels, {limits.max_pixels:,} at most are taken"
            raise over_limit("pixels", limits.max_pixels, words)
        if request.get("do") in ("open", "next"):
            self.pixels = pixels
        return answer, data

    def check(self) -> float:
        """Return the seconds until the deadline; raise if it has passed or the request is cancelled."""
        if self.request is None:
            return math.inf
        if self.request.cancelled.is_set():
            raise Cancelled
        left = self.request.deadline - time.monotonic()
        if left <= 0:
            most = self.limits.max_seconds
            raise over_limit("seconds", most, f"took more than {most:g} s of work", 422)
        return left


class PageEstimate:
    """The memory that a page needs; more than there can ever be is a problem that counts in pixels."""

    def __init__(self, config: InferenceConfig, soft: bool, total: int) -> None:
        self.config, self.soft, self.total = config, soft, total

    def __call__(self, page: IsolatedPage) -> int:
        """Return the bytes that a page needs."""
        need = self._need(page, 20)
        if need > self.total:
            raise out_of_memory(page.width * page.height, self._largest(page))
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
        return estimate_page(height, width, decode_bytes, self.config, soft=self.soft)


def _shrunk(page: IsolatedPage, twentieths: int) -> tuple[int, int]:
    """Return the height and width of a page of the same shape with so many twentieths of its pixels."""
    side = math.sqrt(twentieths / 20)
    return int(page.height * side), int(page.width * side)


class ConversionEngine:
    """Threads that work on requests; all share one network and one memory limit."""

    def __init__(
        self, binarizer: Binarizer, limits: ServiceConfig, reading: ReadingConfig | None = None
    ) -> None:
        self.binarizer, self.limits, self.reading = binarizer, limits, reading or ReadingConfig()
        self.threads, self.ledger = page_threads(binarizer.pool.count), FileConversion(binarizer).ledger
        self.ready = threading.Event()
        self.fault = ""  # why the engine will never be ready
        self._own = threading.local()
        self._readers: list[WatchedReader] = []
        self._pool = ThreadPoolExecutor(self.threads, "drmamba-request")
        self._pool.submit(self._warm_up)

    def submit(self, request: ConversionRequest) -> Future[list[Outcome]]:
        """Work on a request when a thread is free."""
        return self._pool.submit(self.work, request)

    def measure(self, path: Path, number: int) -> tuple[int, int]:
        """Return the pixels that a page of a file declares, counted from 1, and how many pages there are."""
        return self._pool.submit(self._measure, path, number).result()

    def read_page(self, path: Path, number: int) -> ArraySource:
        """Return a page of a file, counted from 1; it is decoded as safely as any other."""
        return self._pool.submit(self._read_page, path, number).result()

    def _measure(self, path: Path, number: int) -> tuple[int, int]:
        with self._page(path, number) as page:
            return page.height * page.width, page.file.pages

    def _read_page(self, path: Path, number: int) -> ArraySource:
        with self._page(path, number) as page:
            if page.decode_bytes > self.ledger.total:
                raise out_of_memory(page.height * page.width)
            with self.ledger.hold(page.decode_bytes, path):
                page.decode()
                return ArraySource(page.read(), page.dpi)

    @contextlib.contextmanager
    def _page(self, path: Path, number: int) -> Iterator[IsolatedPage]:
        """Provide a page that is not decoded yet."""
        reader = self._reader()
        reader.request = ConversionRequest([], path.parent, self.binarizer.config)
        reader.request.deadline = time.monotonic() + self.limits.max_seconds
        try:
            page = next(islice(reader.open(path), number - 1, None), None)
            if page is None:
                raise Problem(422, "unreadable", f"holds no page {number}")
            yield page
        finally:
            reader.request = None

    def work(self, request: ConversionRequest) -> list[Outcome]:
        """Return every file's outcome; a cancelled request raises."""
        request.deadline = time.monotonic() + self.limits.max_seconds
        reader = self._reader()
        reader.request = request
        conversion = FileConversion(
            self.binarizer.with_config(request.config),
            ConversionOptions(soft=request.soft, reading=self.reading),
            ledger=self.ledger,
            estimate=PageEstimate(request.config, request.soft, self.ledger.total),
            check=reader.check,
        )
        try:
            return [self._file(conversion, reader, request, i) for i in range(len(request.uploads))]
        finally:
            reader.request = None

    def _file(
        self, conversion: FileConversion, reader: WatchedReader, request: ConversionRequest, number: int
    ) -> Outcome:
        if request.cancelled.is_set():
            raise Cancelled
        upload = request.uploads[number]
        job = FileJob(upload.path, request.folder / f"{number}{ENDINGS[request.format]}")
        records: list[PageRecord] = []
        try:
            records.extend(conversion.convert(job, reader))
            if not records:
                raise Problem(422, "unreadable", "holds no page")
        except KNOWN as error:
            problem = problem_for(error, upload.path, upload.name)
            if problem.status >= 500:
                log.error("a request failed: %s", error)
            return Outcome(upload, [], [], [], problem)
        count = len(records)
        outputs = list(dict.fromkeys(job.page(i, count) for i in range(1, count + 1)))
        softs = [job.soft(i, count) for i in range(1, count + 1)] if request.soft else []
        return Outcome(upload, records, outputs, softs)

    def _reader(self) -> WatchedReader:
        """Return the calling thread's decoding process."""
        if not hasattr(self._own, "reader"):
            self._own.reader = WatchedReader(self.ledger.total, self.limits, self.reading.dpi)
            self._readers.append(self._own.reader)
        reader: WatchedReader = self._own.reader
        return reader

    def _warm_up(self) -> None:
        """Compile and load what the first window would have to wait for."""
        noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)
        try:
            for _ in self.binarizer.pool.predict()(iter([noise])):
                self.ready.set()
        except Exception as error:  # whatever it is, it must be known before the first request fails
            words = str(error) if isinstance(error, DRMambaError) else f"{type(error).__name__}; see the log"
            self.fault = f"the network cannot be run: {words}"
            log.error("the network cannot be run: %s", error)

    def close(self) -> None:
        """Finish what is under way and drop what waits."""
        self._pool.shutdown(cancel_futures=True)
        for reader in self._readers:
            reader.close()
