"""The work behind a request: the same batch code as `drmamba binarize`, with a clock and a way to stop."""

from __future__ import annotations

import contextlib
import copy
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
from drmamba.inference.batch import Batch, BatchOptions, Ledger
from drmamba.inference.binarizer import Binarizer
from drmamba.inference.jobs import ENDINGS, Job
from drmamba.inference.records import PageRecord
from drmamba.service.problems import KNOWN, Problem, out_of_memory, over_limit, problem_for

log = logging.getLogger("drmamba.service")
UNLIMITED = 10**15  # pixels: the reader below has a limit of its own, with an answer of its own


class Cancelled(Exception):  # noqa: N818
    """Nobody waits for this work any more."""


@dataclass(frozen=True)
class Upload:
    """A file that came in."""

    path: Path  # a random name of ours
    name: str  # what the client calls it: only ever sent back


@dataclass
class Order:
    """What a request asks for, and its life line."""

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
    outputs: list[Path]  # a PNG a page, or one file for all of them
    softs: list[Path]
    problem: Problem | None = None


class WatchedReader(DecoderProcess):
    """Looks at the order's clock and limits whenever pixels are asked for: between any two lines of windows."""

    max_waits = 1  # the order's clock is the only one

    def __init__(self, memory: int, limits: ServiceConfig, dpi: int) -> None:
        super().__init__(memory, ReadingConfig(max_pixels=UNLIMITED, dpi=dpi))
        self.limits = limits
        self.order: Order | None = None
        self.pixels = 0  # of the page in hand

    def ask(self, path: Path, request: dict[str, Any], seconds: float) -> tuple[dict[str, Any], bytes]:
        """The reader's answer, unless the order is at its end."""
        limits = self.limits
        if self.order is not None:
            if self.order.cancelled.is_set():
                raise Cancelled
            seconds = min(seconds, self._left() + 1)
        try:
            answer, data = super().ask(path, request, seconds)
        except ImageError as error:
            self._left()  # a decoder that was given up because of the order's clock is not a bad file
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

    def _left(self) -> float:
        """Seconds until the order's end; past it, a problem that says so."""
        left = self.order.deadline - time.monotonic() if self.order else math.inf
        if left <= 0:
            most = self.limits.max_seconds
            raise over_limit("seconds", most, f"took more than {most:g} s of work", 422)
        return left


class Conversion(Batch):
    """A batch for one order: its own settings, everybody's memory."""

    def __init__(self, binarizer: Binarizer, options: BatchOptions, ledger: Ledger | None = None) -> None:
        super().__init__(binarizer, options)
        self.ledger = ledger or self.ledger

    def convert(self, job: Job, reader: DecoderProcess) -> Iterator[PageRecord]:
        """A file's pages as they are finished; whatever is wrong with it is raised."""
        return self._pages(job, self._origin(job), reader)

    def _need(self, rows: IsolatedPage) -> int:
        """Memory for a page; more than there can ever be is a problem that counts in pixels."""
        need = super()._need(rows)
        if need > self.ledger.total:
            raise out_of_memory(rows.width * rows.height, self._fitting(rows))
        return need

    def _fitting(self, rows: IsolatedPage) -> int:
        """Pixels of the largest page of this kind and shape that there is memory for, to a twentieth."""
        for share in range(19, 0, -1):
            smaller, side = copy.copy(rows), math.sqrt(share / 20)
            smaller.width, smaller.height = int(rows.width * side), int(rows.height * side)
            smaller.decode_bytes = rows.decode_bytes * share // 20
            if super()._need(smaller) <= self.ledger.total:
                return smaller.width * smaller.height
        return 0


class Engine:
    """Threads that work on orders; all share one network's lanes and one memory limit."""

    def __init__(
        self, binarizer: Binarizer, limits: ServiceConfig, reading: ReadingConfig | None = None
    ) -> None:
        self.binarizer, self.limits, self.reading = binarizer, limits, reading or ReadingConfig()
        shared = Conversion(binarizer, BatchOptions())
        self.threads, self.ledger = shared.threads, shared.ledger
        self.ready = threading.Event()
        self.fault = ""  # why it never will be
        self._own = threading.local()
        self._readers: list[WatchedReader] = []
        self._pool = ThreadPoolExecutor(self.threads, "drmamba-order")
        self._pool.submit(self._warm_up)

    def submit(self, order: Order) -> Future[list[Outcome]]:
        """Work on an order when its turn comes."""
        return self._pool.submit(self.work, order)

    def measure(self, path: Path, number: int) -> tuple[int, int]:
        """The pixels that a page of a file declares, counted from 1, and how many pages there are."""
        return self._pool.submit(self._measure, path, number).result()

    def read_page(self, path: Path, number: int) -> ArraySource:
        """A page of a file, counted from 1; decoded as safely as any other."""
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
        """A page that is not decoded yet."""
        reader = self._reader()
        reader.order = Order([], path.parent, self.binarizer.config)
        reader.order.deadline = time.monotonic() + self.limits.max_seconds
        try:
            page = next(islice(reader.open(path), number - 1, None), None)
            if page is None:
                raise Problem(422, "unreadable", f"holds no page {number}")
            yield page
        finally:
            reader.order = None

    def work(self, order: Order) -> list[Outcome]:
        """Every file's outcome; cancelled orders raise."""
        order.deadline = time.monotonic() + self.limits.max_seconds
        reader = self._reader()
        reader.order = order
        binarizer = copy.copy(self.binarizer)  # the same lanes, other settings
        binarizer.config = order.config
        options = BatchOptions(soft=order.soft, reading=self.reading)
        batch = Conversion(binarizer, options, self.ledger)
        try:
            return [self._file(batch, reader, order, i) for i in range(len(order.uploads))]
        finally:
            reader.order = None

    def _file(self, batch: Conversion, reader: WatchedReader, order: Order, number: int) -> Outcome:
        if order.cancelled.is_set():
            raise Cancelled
        upload = order.uploads[number]
        job = Job(upload.path, order.folder / f"{number}{ENDINGS[order.format]}")
        records: list[PageRecord] = []
        try:
            records.extend(batch.convert(job, reader))
            if not records:
                raise Problem(422, "unreadable", "holds no page")
        except KNOWN as error:
            problem = problem_for(error, upload.path, upload.name)
            if problem.status >= 500:
                log.error("a request failed: %s", error)
            return Outcome(upload, [], [], [], problem)
        count = len(records)
        outputs = list(dict.fromkeys(job.page(i, count) for i in range(1, count + 1)))
        softs = [job.soft(i, count) for i in range(1, count + 1)] if order.soft else []
        return Outcome(upload, records, outputs, softs)

    def _reader(self) -> WatchedReader:
        """The calling thread's decoding process."""
        if not hasattr(self._own, "reader"):
            self._own.reader = WatchedReader(self.ledger.total, self.limits, self.reading.dpi)
            self._readers.append(self._own.reader)
        reader: WatchedReader = self._own.reader
        return reader

    def _warm_up(self) -> None:
        """Compile and load what the first window would wait for."""
        noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)
        try:
            for _ in self.binarizer.lanes.predict()(iter([noise])):
                self.ready.set()
        except Exception as error:  # whatever it is, people must hear of it before the first request fails
            words = str(error) if isinstance(error, DRMambaError) else f"{type(error).__name__}; see the log"
            self.fault = f"the network cannot be run: {words}"
            log.error("the network cannot be run: %s", error)

    def close(self) -> None:
        """Finish what is in hand, drop what waits."""
        self._pool.shutdown(cancel_futures=True)
        for reader in self._readers:
            reader.close()
