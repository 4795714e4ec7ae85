"""The work behind a request: the conversion of `drmamba binarize`, with a deadline and a way to cancel it."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TypeVar

import numpy as np

from drmamba.config import ReadingConfig, ServiceConfig
from drmamba.errors import DRMambaError
from drmamba.images import DPI
from drmamba.images.reading.decoder_process import IsolatedPage
from drmamba.inference.binarizer import Binarizer
from drmamba.inference.conversion import ConversionOptions, FileConversion
from drmamba.inference.jobs import FileJob
from drmamba.inference.memory import DECODER_BYTES, MemoryLedger, fixed_memory, page_threads
from drmamba.inference.records import PageRecord
from drmamba.service.problems import KNOWN, Problem, combined, problem_for
from drmamba.service.progress import Cancelled, Watch, WatchedBinarizer
from drmamba.service.settings import RequestSettings
from drmamba.service.watched_reader import PageEstimate, WatchedReader

log = logging.getLogger("drmamba.service")
T = TypeVar("T")


@dataclass(frozen=True)
class Upload:
    """An uploaded file."""

    path: Path  # a random name that the service chose
    name: str  # the client's name, which is only sent back


@dataclass(frozen=True)
class PageOutcome:
    """One page's result, or its problem."""

    record: PageRecord
    output: Path | None = None
    soft: Path | None = None
    problem: Problem | None = None
    width: int = 0  # pixels
    height: int = 0
    dpi: DPI | None = None


@dataclass(frozen=True)
class FileOutcome:
    """One file's result: its pages, or the problem that concerns the whole file."""

    upload: Upload
    pages: list[PageOutcome]
    problem: Problem | None = None

    @property
    def outputs(self) -> list[Path]:
        """The files that were made: a PNG a page, or one file for all pages."""
        return list(dict.fromkeys(page.output for page in self.pages if page.output is not None))


@dataclass
class ConversionRequest:
    """What a client asks for; `watch` says until when, and whether the client still waits for it."""

    uploads: list[Upload]
    folder: Path  # where results are written
    settings: RequestSettings
    watch: Watch = field(default_factory=Watch)
    page_by_page: bool = False  # whether the deadline is that of one page, not that of the request
    page_done: Callable[[int, PageOutcome], None] = lambda *_: None  # called with the file's index
    file_done: Callable[[int, FileOutcome], None] = lambda *_: None


class ConversionEngine:
    """Threads that work on requests; all share one network and one memory limit."""

    def __init__(
        self, binarizer: Binarizer, limits: ServiceConfig, reading: ReadingConfig | None = None
    ) -> None:
        self.binarizer, self.limits, self.reading = binarizer, limits, reading or ReadingConfig()
        self.threads = page_threads(binarizer.pool.count)
        # Pictures of scans are read by one more decoder than a batch has.
        self.ledger = MemoryLedger(FileConversion(binarizer).ledger.total - DECODER_BYTES)
        self.ready = threading.Event()
        self.fault = ""  # why the engine will never be ready
        self._own = threading.local()
        self._readers: list[WatchedReader] = []
        self._pool = ThreadPoolExecutor(self.threads, "drmamba-request")
        self._reading = ThreadPoolExecutor(1, "drmamba-reading")
        self._pool.submit(self._warm_up)
        if limits.page:  # People wait for the first picture, so a decoder is started before it is needed.
            self._reading.submit(lambda: self._reader().started())

    def submit(self, request: ConversionRequest) -> Future[list[FileOutcome]]:
        """Work on a request when a thread is free."""
        return self._pool.submit(self.work, request)

    def with_page(
        self, path: Path, number: int, reading: ReadingConfig, watch: Watch, use: Callable[[IsolatedPage], T]
    ) -> Future[T]:
        """Call a function with a page of a file, counted from 1, which is decoded as safely as any other.

        The page is not decoded yet, so that the function may refuse its size first.
        """

        def opened() -> T:
            with self._page(path, number, reading, watch) as page:
                return use(page)

        return self._reading.submit(opened)

    @contextlib.contextmanager
    def _page(self, path: Path, number: int, reading: ReadingConfig, watch: Watch) -> Iterator[IsolatedPage]:
        reader = self._reader()
        watch.deadline = time.monotonic() + self.limits.max_seconds
        reader.begin(watch, reading)
        page = next(islice(reader.open(path), number - 1, None), None)
        if page is None:
            raise Problem(404, "gone", f"there is no page {number}")
        yield page

    def work(self, request: ConversionRequest) -> list[FileOutcome]:
        """Return every file's outcome; a cancelled request raises."""
        settings, reader = request.settings, self._reader()
        request.watch.deadline = time.monotonic() + self.limits.max_seconds
        reader.begin(request.watch, settings.reading)
        runtime, workers = self.binarizer.pool.runtime, self.binarizer.pool.count
        used, usual = (fixed_memory(workers, c, runtime) for c in (settings.config, self.binarizer.config))
        besides = max(0, used - usual)  # larger windows take more memory in the workers
        conversion = FileConversion(
            WatchedBinarizer(self.binarizer, settings.config, request.watch, self.limits.max_seconds),
            ConversionOptions(soft=settings.soft, reading=settings.reading, pdf_coding=settings.pdf_coding),
            ledger=self.ledger,
            estimate=PageEstimate(settings.config, settings.soft, self.ledger.total, self.limits, besides),
            check=reader.check,
        )
        outcomes = []
        for number in range(len(request.uploads)):
            request.watch.progress.begin_file(number + 1)
            outcomes.append(self._file(conversion, reader, request, number))
            request.file_done(number, outcomes[-1])
        return outcomes

    def _file(
        self, conversion: FileConversion, reader: WatchedReader, request: ConversionRequest, number: int
    ) -> FileOutcome:
        upload = request.uploads[number]
        job = FileJob(upload.path, request.folder / f"{number}{request.settings.ending(upload.name)}")
        pages: list[PageOutcome] = []
        failed: dict[int, Exception] = {}
        try:
            reader.check()
            for record in conversion.convert(job, reader, failed.__setitem__):
                pages.append(self._page_outcome(request, upload, job, record, failed.get(record.page)))
                request.page_done(number, pages[-1])
                request.watch.progress.end_page()
                if request.page_by_page:
                    request.watch.deadline = time.monotonic() + self.limits.max_seconds
            if not pages:
                raise Problem(422, "unreadable", "holds no page")
        except Cancelled:
            raise
        except KNOWN as error:
            problem = self._problem(error, upload)
            if failed:  # A document is not written without one of its pages.
                page, cause = failed.popitem()
                problem = self._problem(cause, upload, f"page {page} of {upload.name}")
            return FileOutcome(upload, pages if request.page_by_page else [], problem)
        problems = [page.problem for page in pages if page.problem is not None]
        return FileOutcome(upload, pages, combined(problems) if len(problems) == len(pages) else None)

    def _page_outcome(
        self,
        request: ConversionRequest,
        upload: Upload,
        job: FileJob,
        record: PageRecord,
        error: Exception | None,
    ) -> PageOutcome:
        if error is not None:
            problem = self._problem(error, upload, f"page {record.page} of {upload.name}")
            return PageOutcome(record, problem=problem)
        soft = job.soft(record.page, record.pages) if request.settings.soft else None
        seen = request.watch.progress
        return PageOutcome(
            record, job.page(record.page, record.pages), soft, None, seen.width, seen.height, seen.dpi
        )

    def _problem(self, error: Exception, upload: Upload, name: str = "") -> Problem:
        problem = problem_for(error, upload.path, name or upload.name)
        if problem.status >= 500:
            log.error("a request failed: %s", error)
        return problem

    def _reader(self) -> WatchedReader:
        """Return the calling thread's decoding process."""
        if not hasattr(self._own, "reader"):
            self._own.reader = WatchedReader(self.ledger.total, self.limits)
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
        for pool in (self._pool, self._reading):
            pool.shutdown(cancel_futures=True)
        for reader in self._readers:
            reader.close()
