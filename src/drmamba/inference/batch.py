"""Many files: reading, network and writing overlap, memory has a limit, a bad file costs only itself.

A few page threads each take a file from first byte to last: decode it in a process of their own, cut its
windows, hand them to the shared lanes, write the result. While one thread waits for a disk or a decoder, the
windows of the others keep the lanes busy.
"""

from __future__ import annotations

import contextlib
import hashlib
import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from drmamba.config import InferenceConfig, ReadingConfig
from drmamba.errors import ConfigError, DRMambaError, FileError, ImageError, MemoryLimitError
from drmamba.files import remove_abandoned, sha256, write_atomic
from drmamba.images import G4Page, encode, encode_document, encode_g4
from drmamba.images.reading.decoder_process import DecoderProcess, IsolatedPage
from drmamba.images.writing.g4 import STRIP_PIXELS
from drmamba.inference.binarizer import Binarizer
from drmamba.inference.jobs import Job
from drmamba.inference.quality import Quality
from drmamba.inference.records import Found, Origin, PageRecord, found_record
from drmamba.inference.rescale import largest_zoom

# Resident bytes, measured with benchmarks/memory.py and rounded up.
PROGRAM = 440_000_000  # Python, torch, numba and the network
LANE = 125_000_000  # one window of 512 under way
READER = 55_000_000  # an idle decoding process
LINE = 26  # bytes for each pixel under a line of windows: RGB read and cut, probabilities blended and masked
SPARE = 0.9  # of what is left goes to pages
LEAST = 150_000_000  # for pages: a batch that leaves less is refused


@dataclass(frozen=True, kw_only=True)
class BatchOptions:
    """What a batch does beside binarizing."""

    overwrite: bool = False
    soft: bool = False
    tidy: bool = True  # first clear the output folders of what killed runs left unfinished
    reading: ReadingConfig = field(default_factory=ReadingConfig)
    remedy: Callable[[Exception], str] | None = None  # says which setting to change, or nothing

    def described(self, error: Exception) -> str:
        """Return an error in words, with its remedy if there is one."""
        words = str(error) if isinstance(error, DRMambaError) else f"{type(error).__name__}: {error}"
        remedy = self.remedy(error) if self.remedy else ""
        return f"{words}; {remedy}" if remedy else words


def page_threads(lanes: int) -> int:
    """Files under way at once: enough that the lanes never wait for a disk or a decoder."""
    return 2 + lanes // 2


def fixed_memory(lanes: int, config: InferenceConfig) -> int:
    """What a batch takes beside its pages."""
    window = max(1.0, (config.windows.window / 512) ** 2)
    return PROGRAM + int(lanes * LANE * window) + page_threads(lanes) * READER


def page_memory(lanes: int, config: InferenceConfig, max_memory: int) -> int:
    """What is left for pages; too little is an error that says how much is needed."""
    fixed = fixed_memory(lanes, config)
    if max_memory - fixed < LEAST:
        least = (fixed + LEAST) / 1e6
        raise ConfigError(f"--max-memory must be at least {least:,.0f}MB with {lanes} workers")
    return int((max_memory - fixed) * SPARE)


def fitting_workers(cores: int, max_memory: int, config: InferenceConfig) -> int:
    """As many workers as there are cores, or as the memory allows with room for pages."""
    room = max_memory * 2 // 3  # the rest is for pages
    return max(1, max((n for n in range(1, cores + 1) if fixed_memory(n, config) <= room), default=1))


class Ledger:
    """Memory handed out to pages: whoever asks for more than is left waits until others are done."""

    def __init__(self, total: int) -> None:
        self.total = self._left = total
        self._changed = threading.Condition()

    @contextlib.contextmanager
    def hold(self, size: int, path: Path) -> Iterator[None]:
        """Hold so much memory; more than there can ever be is an error."""
        if size > self.total:
            needs, has = f"{size / 1e6:,.0f} MB", f"{self.total / 1e6:,.0f} MB"
            words = f"{path} needs about {needs} of memory, pages may take {has}"
            raise MemoryLimitError(words, size, self.total)
        with self._changed:
            self._changed.wait_for(lambda: self._left >= size)
            self._left -= size
        try:
            yield
        finally:
            with self._changed:
                self._left += size
                self._changed.notify_all()


def tidy(jobs: list[Job]) -> None:
    """Clear the output folders of what killed runs left unfinished."""
    for folder in {job.output.parent for job in jobs}:
        if folder.is_dir():
            remove_abandoned(folder)


class Batch:
    """Runs jobs with one Binarizer."""

    def __init__(self, binarizer: Binarizer, options: BatchOptions | None = None) -> None:
        self.binarizer, self.options = binarizer, options or BatchOptions()
        self.provenance = binarizer.provenance
        lanes = binarizer.lanes
        self.threads = page_threads(lanes.count)
        self.ledger = Ledger(page_memory(lanes.count, binarizer.config, lanes.config.max_memory))
        self._stop = threading.Event()
        self._keep = False
        self._idle: queue.SimpleQueue[DecoderProcess] = queue.SimpleQueue()

    @property
    def place(self) -> str:
        """What runs, and where."""
        where = ", ".join(sorted({str(device) for device in self.binarizer.lanes.devices}))
        return f"{self.binarizer.lanes.count} workers on {where}"

    @property
    def megapixels(self) -> float:
        """What the network has seen, also of unfinished pages."""
        return self.binarizer.lanes.pixels / 1e6

    def __enter__(self) -> Self:
        """Inside a `with`, decoding processes stay for the next run."""
        self._keep = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._keep = False
        with contextlib.suppress(queue.Empty):
            while True:
                self._idle.get_nowait().close()

    def stop(self) -> None:
        """Finish the pages in hand, then end."""
        self._stop.set()

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._stop.is_set()

    def run(self, jobs: list[Job], tick: Callable[[], None] = lambda: None) -> Iterator[PageRecord]:
        """Every page's record as it is finished; `tick` is called a few times a second meanwhile."""
        if self.options.tidy:
            tidy(jobs)
        todo: queue.SimpleQueue[Job] = queue.SimpleQueue()
        for job in jobs:
            todo.put(job)
        done: queue.SimpleQueue[PageRecord | None] = queue.SimpleQueue()
        threads = [
            threading.Thread(target=self._work, args=(todo, done), name=f"drmamba-page-{i}", daemon=True)
            for i in range(min(self.threads, len(jobs)))
        ]
        for thread in threads:
            thread.start()
        running = len(threads)
        while running:
            try:
                record = done.get(timeout=0.2)  # short: Ctrl-C must get through
            except queue.Empty:
                tick()
                continue
            if record is None:
                running -= 1
            else:
                yield record

    def _work(self, todo: queue.SimpleQueue[Job], done: queue.SimpleQueue[PageRecord | None]) -> None:
        try:
            with self._reader() as reader:
                while not self._stop.is_set():
                    try:
                        job = todo.get_nowait()
                    except queue.Empty:
                        return
                    for record in self._file(job, reader):
                        done.put(record)
        finally:
            done.put(None)

    @contextlib.contextmanager
    def _reader(self) -> Iterator[DecoderProcess]:
        try:
            reader = self._idle.get_nowait()
        except queue.Empty:
            reader = DecoderProcess(self.ledger.total, self.options.reading)
        try:
            yield reader
        finally:
            if self._keep:
                self._idle.put(reader)
            else:
                reader.close()

    def _file(self, job: Job, reader: DecoderProcess) -> Iterator[PageRecord]:
        """A file's pages, or the one reason why it failed; whatever happens, the batch goes on."""
        page, started = 0, time.perf_counter()
        try:
            origin = self._origin(job)
            skipped = None if self.options.overwrite else self._finished(job, origin)
            if skipped is not None:
                yield from skipped
                return
            for record in self._pages(job, origin, reader, lenient=True):
                page = record.page
                yield record
        except Exception as error:  # hostile files, full disks, torch out of memory: all cost one file
            yield _failed(job, self.options.described(error), started, page + 1)

    def _origin(self, job: Job) -> Origin:
        settings: dict[str, Any] = self.binarizer.config.to_dict()
        settings |= {"format": job.output.suffix, "soft": self.options.soft, "dpi": self.options.reading.dpi}
        try:
            if job.source.is_dir():  # one that could not be listed
                next(job.source.iterdir(), None)
            digest = sha256(job.source)
        except OSError as error:
            raise ImageError(f"cannot read {job.source}: {error.strerror or error}") from error
        return Origin(input_sha256=digest, model_sha256=self.binarizer.sha256, settings=settings)

    def _finished(self, job: Job, origin: Origin) -> list[PageRecord] | None:
        """The records of a job whose every output exists and has this origin; None if work is left."""
        first = next((p for p in (job.page(1, 1), job.page(1, 2)) if p.exists()), None)
        if first is None:
            return None
        found = _own(first, origin)
        outputs = [job.page(number, found.pages) for number in range(1, found.pages + 1)]
        softs = [job.soft(number, found.pages) for number in range(1, found.pages + 1) if self.options.soft]
        records = [found_record(output) for output in outputs] if job.many_files else [found] * found.pages
        if not all(r and r.origin == origin for r in records) or not all(soft.exists() for soft in softs):
            return None
        base: dict[str, Any] = {
            "input": str(job.source),
            "pages": found.pages,
            "input_sha256": origin.input_sha256,
        }
        base |= {"model_sha256": origin.model_sha256, "settings": origin.settings}
        return [
            PageRecord(
                status="skipped",
                page=i + 1,
                output=str(outputs[i]),
                output_sha256=sha256(outputs[i]),
                quality=(record.quality[0] if job.many_files else record.quality[i]) if record else {},
                **base,
            )
            for i, record in enumerate(records)
        ]

    def _pages(
        self, job: Job, origin: Origin, reader: DecoderProcess, *, lenient: bool = False
    ) -> Iterator[PageRecord]:
        """The pages' records; where lenient, a damaged page of a file with an output a page costs only itself."""
        file = reader.open(job.source)
        coded: list[G4Page] = []
        quality: list[Quality] = []
        waiting: list[dict[str, Any]] = []
        for number, rows in enumerate(file, 1):
            if self._stop.is_set() and number > 1:
                return  # a container cut short is not written; single pages are there already
            started = time.perf_counter()
            data = b""
            try:
                with self.ledger.hold(self._need(rows), job.source):
                    rows.decode()
                    result = self.binarizer.binarize(rows, keep="grey" if self.options.soft else "ink")
                    record = origin.record(number, file.pages, [result.quality])
                    if self.options.soft:  # before the page itself: where that one is, this one is
                        self._write(job.soft(number, file.pages), result.encode_soft(record), origin)
                    if job.many_files:
                        data = encode([result.bitmap], job.output.suffix, record=record)
                    else:
                        coded.append(encode_g4(result.bitmap))
                if job.many_files:
                    self._write(job.page(number, file.pages), data, origin)
            except (FileError, ImageError) as error:
                if file.pages == 1 or not lenient:
                    raise
                where = f"{job.source}, page {number} of {file.pages}: {self.options.described(error)}"
                if not job.many_files:
                    raise ImageError(f"{where}; {job.output.name} is not written without it") from error
                yield _failed(job, where, started, number, file.pages)
                continue
            quality.append(result.quality)
            facts: dict[str, Any] = {
                "input": str(job.source),
                "page": number,
                "pages": file.pages,
                "output": str(job.page(number, file.pages)),
                "input_sha256": origin.input_sha256,
                "model_sha256": origin.model_sha256,
                "settings": origin.settings,
                "megapixels": round(rows.height * rows.width / 1e6, 6),
                "quality": result.quality.to_dict(),
            }
            if job.many_files:
                digest = hashlib.sha256(data).hexdigest()
                seconds = round(time.perf_counter() - started, 3)
                yield PageRecord(status="done", output_sha256=digest, seconds=seconds, **facts)
            else:
                waiting.append(facts | {"seconds": round(time.perf_counter() - started, 3)})
        if coded:
            data = encode_document(coded, job.output.suffix, origin.record(0, len(coded), quality))
            self._write(job.output, data, origin)
            digest = hashlib.sha256(data).hexdigest()
            for facts in waiting:
                yield PageRecord(status="done", output_sha256=digest, **facts)

    def _write(self, path: Path, data: bytes, origin: Origin) -> None:
        """Write a result; what stands there already is replaced if it is the same, or if that was asked for."""
        if not self.options.overwrite and path.exists():
            _own(path, origin)
        write_atomic(path, data)

    def _need(self, rows: IsolatedPage) -> int:
        """Memory for a page: decoding it, the rows under its windows, and its result while that is coded."""
        pixels = rows.width * rows.height
        scale = self.binarizer.config.scale
        zoom = largest_zoom(rows.height, rows.width) if scale == "auto" else max(1.0, scale)
        line = int(rows.width * zoom * min(rows.height * zoom, self.binarizer.config.windows.window)) * LINE
        result = pixels // 4 + min(pixels, STRIP_PIXELS) + (pixels if self.options.soft else 0)
        return rows.decode_bytes + line + result + 10_000_000


def _own(path: Path, origin: Origin) -> Found:
    """The record of an existing result with this origin; anything else is an error that names the remedy."""
    found = found_record(path)
    if found is None or found.origin != origin:
        made = (
            "not made by drmamba"
            if found is None
            else "made from another source, by another model or with other settings"
        )
        raise ImageError(f"{path} exists and was {made}; use --overwrite, or another folder")
    return found


def _failed(job: Job, words: str, started: float, page: int, pages: int = 1) -> PageRecord:
    words = " ".join(words.split())
    if str(job.source) not in words:
        words = f"{job.source}: {words}"
    seconds = round(time.perf_counter() - started, 3)
    return PageRecord(
        status="failed", input=str(job.source), page=page, pages=pages, error=words, seconds=seconds
    )
