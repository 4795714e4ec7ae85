"""The conversion of one file to one file, or to one file per page. The batch, the service and Ray all use it."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from drmamba.config import PdfCoding, ReadingConfig
from drmamba.errors import DRMambaError, FileError, ImageError, TimeLimitError, one_line
from drmamba.files import sha256, write_atomic
from drmamba.images import CodedPage, encode, encode_document, encode_page
from drmamba.images.reading.decoder_process import DecoderProcess, IsolatedPage
from drmamba.inference.binarizer import BinarizedPage, Binarizer
from drmamba.inference.jobs import FileJob
from drmamba.inference.memory import MemoryLedger, estimate_page, page_memory, page_threads
from drmamba.inference.page_cache import CachedSource, cache_bytes
from drmamba.inference.page_progress import PageProgress
from drmamba.inference.quality import Quality
from drmamba.inference.records import FoundRecord, Origin, PageRecord, found_record


@dataclass(frozen=True, kw_only=True)
class ConversionOptions:
    """What a conversion does beside binarizing."""

    overwrite: bool = False
    soft: bool = False
    pdf_coding: PdfCoding = "auto"  # changes the bytes of PDF files and no pixel
    reading: ReadingConfig = field(default_factory=ReadingConfig)
    remedy: Callable[[Exception], str] | None = None  # returns which setting to change, or nothing

    def describe(self, error: Exception) -> str:
        """Return the message of an error, with its remedy if there is one."""
        message = str(error) if isinstance(error, DRMambaError) else f"{type(error).__name__}: {error}"
        remedy = self.remedy(error) if self.remedy else ""
        return f"{message}; {remedy}" if remedy else message


class Conversion(Protocol):
    """What a batch asks of a conversion."""

    ledger: MemoryLedger
    progress: PageProgress

    def records(
        self, job: FileJob, reader: DecoderProcess, stopped: Callable[[], bool]
    ) -> Iterator[PageRecord]:
        """Yield the records of a file's pages; an error is a record, too."""


class FileConversion:
    """Converts files with one Binarizer, one file at a time in each thread that calls it.

    All conversions that share a ledger share its memory. `estimate` returns the bytes that a page needs and may raise
    an error of its own if they are too many. `check` is called whenever rows of a page that is held in memory are
    needed and may raise an error to end the conversion.
    """

    def __init__(
        self,
        binarizer: Binarizer,
        options: ConversionOptions | None = None,
        *,
        ledger: MemoryLedger | None = None,
        estimate: Callable[[IsolatedPage], int] | None = None,
        check: Callable[[], object] = lambda: None,
    ) -> None:
        self.binarizer, self.options = binarizer, options or ConversionOptions()
        pool = binarizer.pool
        self.ledger = ledger or MemoryLedger(
            page_memory(pool.count, binarizer.config, pool.config.max_memory, pool.runtime)
        )
        self.progress = PageProgress()
        self._estimate, self._check = estimate or self.estimate, check
        self._cache_limit = self.ledger.total // page_threads(pool.count)

    def estimate(self, page: IsolatedPage) -> int:
        """Return the bytes that a page needs while it is converted."""
        config, soft = self.binarizer.config, self.options.soft
        return estimate_page(page.height, page.width, page.decode_bytes, config, soft=soft)

    def records(
        self, job: FileJob, reader: DecoderProcess, stopped: Callable[[], bool] = lambda: False
    ) -> Iterator[PageRecord]:
        """Yield the records of a file's pages; what is finished already is skipped, and an error is a record, too.

        A damaged page of a file whose pages have an output each fails alone. Once `stopped` is true, no further page
        is begun.
        """
        page, started = 0, time.perf_counter()
        try:
            origin = self.origin(job)
            skipped = None if self.options.overwrite else self._finished(job, origin, reader)
            if skipped is not None:
                yield from skipped
                return
            with self.progress.file(job.source):
                for record in self._convert(job, origin, reader, lenient=True, stopped=stopped):
                    page = record.page
                    yield record
        except Exception as error:  # a hostile file, a full disk or too little memory must fail one file only
            yield failed_record(job, self.options.describe(error), started, page + 1)

    def convert(
        self,
        job: FileJob,
        reader: DecoderProcess,
        page_failed: Callable[[int, Exception], object] | None = None,
    ) -> Iterator[PageRecord]:
        """Convert a file and yield the records of its pages; whatever is wrong with the file is raised.

        With `page_failed`, a page that can fail alone does so: the number of the page and its error are passed on, and
        the record of a failed page is yielded.
        """
        lenient, tell = page_failed is not None, page_failed or (lambda *_: None)
        return self._convert(job, self.origin(job), reader, lenient=lenient, page_failed=tell)

    def origin(self, job: FileJob) -> Origin:
        """Return what the result of a job depends on."""
        settings: dict[str, Any] = self.binarizer.config.to_dict()
        settings |= {"format": job.output.suffix, "soft": self.options.soft, "dpi": self.options.reading.dpi}
        try:
            if job.source.is_dir():  # a folder that could not be listed; this raises the reason
                next(job.source.iterdir(), None)
            digest = sha256(job.source)  # raises at once if this is a pipe, a socket or a device
        except OSError as error:
            raise ImageError(f"cannot read {job.source}: {error.strerror or error}") from error
        return Origin(input_sha256=digest, model_sha256=self.binarizer.sha256, settings=settings)

    def _finished(self, job: FileJob, origin: Origin, reader: DecoderProcess) -> list[PageRecord] | None:
        """Return the records of a job if every output exists and has this origin, or None if work is left."""
        first = next((p for p in (job.page(1, 1), job.page(1, 2)) if os.path.lexists(p)), None)
        if first is None:
            return None
        found = _own(first, origin, reader)
        skipped = []
        for number in range(1, found.pages + 1):
            known = None if job.many_files and number > 1 else found
            record = self._finished_page(job, origin, reader, number, found.pages, known)
            if record is None:
                return None
            skipped.append(record)
        return skipped

    def _finished_page(
        self,
        job: FileJob,
        origin: Origin,
        reader: DecoderProcess,
        number: int,
        pages: int,
        found: FoundRecord | None = None,
    ) -> PageRecord | None:
        """Return the record of one page if its outputs exist and have this origin; `found` may be known already."""
        output = job.page(number, pages)
        if self.options.overwrite or not output.is_file():
            return None
        found = found or found_record(output, reader)
        quality = (found.quality[:1] if job.many_files else found.quality[number - 1 :]) if found else []
        if found is None or found.origin != origin or found.pages != pages or not quality:
            return None
        if job.many_files and found.page != number:
            return None
        if self.options.soft and not job.soft(number, pages).is_file():
            return None
        facts = _facts(job, origin, pages, output)
        return PageRecord(
            status="skipped", page=number, output_sha256=sha256(output), quality=quality[0], **facts
        )

    def _convert(
        self,
        job: FileJob,
        origin: Origin,
        reader: DecoderProcess,
        *,
        lenient: bool = False,
        stopped: Callable[[], bool] = lambda: False,
        page_failed: Callable[[int, Exception], object] = lambda *_: None,
    ) -> Iterator[PageRecord]:
        file = reader.open(job.source)
        coded: list[CodedPage] = []
        quality: list[Quality] = []
        waiting: list[dict[str, Any]] = []
        for number, page in enumerate(file, 1):
            if number > 1 and stopped():
                return  # an incomplete container is not written; single pages have been written already
            started = time.perf_counter()
            # A run that was stopped in the middle of a file has left its finished pages.
            if lenient and job.many_files and file.pages > 1:
                skipped = self._finished_page(job, origin, reader, number, file.pages)
                if skipped is not None:
                    yield skipped
                    continue
            try:
                result, data = self._page(job, origin, page, number)
            except (FileError, ImageError) as error:
                if file.pages == 1 or not lenient or isinstance(error, TimeLimitError):
                    raise
                page_failed(number, error)
                where = f"{job.source}, page {number} of {file.pages}: {self.options.describe(error)}"
                if not job.many_files:
                    raise ImageError(f"{where}; {job.output.name} is not written without it") from error
                yield failed_record(job, where, started, number, file.pages)
                continue
            quality.append(result)
            facts = _facts(job, origin, file.pages, job.page(number, file.pages)) | {
                "page": number,
                "megapixels": round(page.height * page.width / 1e6, 6),
                "quality": result.to_dict(),
                "seconds": round(time.perf_counter() - started, 3),
            }
            if isinstance(data, bytes):
                yield PageRecord(status="done", output_sha256=hashlib.sha256(data).hexdigest(), **facts)
            else:
                coded.append(data)
                waiting.append(facts)
        if coded:
            document = encode_document(coded, job.output.suffix, origin.record(0, len(coded), quality))
            self._write(job.output, document, origin, reader)
            digest = hashlib.sha256(document).hexdigest()
            for facts in waiting:
                yield PageRecord(status="done", output_sha256=digest, **facts)

    def _page(
        self, job: FileJob, origin: Origin, page: IsolatedPage, number: int
    ) -> tuple[Quality, bytes | CodedPage]:
        """Binarize a page; return its quality and its file, which is written, or its part of a document."""
        pages, reader = page.file.pages, page.file.decoder
        need, cache = self._estimate(page), cache_bytes(page)
        if need + cache > self._cache_limit:
            cache = 0
        with self.ledger.hold(need + cache, job.source):
            watch = self.progress.page(job.source, number, pages)
            result = self._binarized(page, self.binarizer.with_watch(watch), cached=cache > 0)
            record = origin.record(number, pages, [result.quality])
            if self.options.soft:  # written first, so that a page never exists without its soft companion
                self._write(job.soft(number, pages), result.encode_soft(record), origin, reader)
            if not job.many_files:
                coding = self.options.pdf_coding
                return result.quality, encode_page(result.bitmap, job.output.suffix, coding, result.layers)
            data = encode([result.bitmap], job.output.suffix, record=record, layers=result.layers)
        self._write(job.page(number, pages), data, origin, reader)
        return result.quality, data

    def _binarized(self, page: IsolatedPage, binarizer: Binarizer, *, cached: bool) -> BinarizedPage:
        page.decode()
        source = CachedSource(page, self._check) if cached else page
        return binarizer.binarize(source, keep="grey" if self.options.soft else "ink")

    def _write(self, path: Path, data: bytes, origin: Origin, reader: DecoderProcess) -> None:
        """Write a result; an existing file is replaced if it is the same result, or if `overwrite` is set."""
        if not self.options.overwrite and os.path.lexists(path):
            _own(path, origin, reader)
        write_atomic(path, data)


def failed_record(job: FileJob, message: str, started: float, page: int, pages: int = 1) -> PageRecord:
    """Return the record of a page that failed; the message names the file."""
    if str(job.source) not in message:
        message = f"{job.source}: {message}"
    seconds = round(time.perf_counter() - started, 3)
    return PageRecord(
        status="failed",
        input=str(job.source),
        page=page,
        pages=pages,
        error=one_line(message),
        seconds=seconds,
    )


def _facts(job: FileJob, origin: Origin, pages: int, output: Path) -> dict[str, Any]:
    """Return what the records of finished and skipped pages have in common."""
    return {
        "input": str(job.source),
        "pages": pages,
        "output": str(output),
        "input_sha256": origin.input_sha256,
        "model_sha256": origin.model_sha256,
        "settings": origin.settings,
    }


def _own(path: Path, origin: Origin, reader: DecoderProcess) -> FoundRecord:
    """Return the record of an existing result with this origin; for any other file, raise and name the remedy."""
    found = found_record(path, reader)
    if found is None or found.origin != origin:
        made = (
            "not made by drmamba"
            if found is None
            else "made from another source, by another model or with other settings"
        )
        raise ImageError(f"{path} exists and was {made}; use --overwrite, or another folder")
    return found
