"""Many files: reading, network and writing overlap, memory has a limit, and a bad file fails alone.

A few page threads each convert one file after the other: they decode it in a process of their own, cut its windows,
give them to the shared worker pool and write the result. While one thread waits for a disk or a decoder, the windows of
the others keep the workers busy.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from drmamba.files import remove_abandoned
from drmamba.images.reading.decoder_process import DecoderProcess
from drmamba.inference.binarizer import Binarizer
from drmamba.inference.conversion import Conversion, ConversionOptions, FileConversion
from drmamba.inference.jobs import FileJob
from drmamba.inference.memory import page_threads
from drmamba.inference.records import PageRecord


@dataclass(frozen=True, kw_only=True)
class BatchOptions(ConversionOptions):
    """What a batch does beside binarizing."""

    tidy: bool = True  # first remove what killed runs left unfinished in the output folders


def tidy(jobs: list[FileJob]) -> None:
    """Remove what killed runs left unfinished in the output folders."""
    for folder in {job.output.parent for job in jobs}:
        remove_abandoned(folder)


class Batch:
    """Runs jobs with one Binarizer; `conversion` replaces the conversion of plain files."""

    def __init__(
        self,
        binarizer: Binarizer,
        options: BatchOptions | None = None,
        conversion: Conversion | None = None,
    ) -> None:
        self.binarizer, self.options = binarizer, options or BatchOptions()
        self.conversion = conversion or FileConversion(binarizer, self.options)
        self.provenance = binarizer.provenance
        self.threads = page_threads(binarizer.pool.count)
        self._stop = threading.Event()
        self._keep_readers = False
        self._idle: queue.SimpleQueue[DecoderProcess] = queue.SimpleQueue()

    @property
    def place(self) -> str:
        """How many workers run, and where."""
        where = ", ".join(sorted({str(device) for device in self.binarizer.pool.devices}))
        return f"{self.binarizer.pool.count} workers on {where}"

    @property
    def megapixels(self) -> float:
        """What the network has seen, including unfinished pages."""
        return self.binarizer.pool.pixels / 1e6

    @property
    def files_in_progress(self) -> float:
        """The work done on unfinished files, in files."""
        return self.conversion.progress.files

    def __enter__(self) -> Self:
        """Inside a `with`, decoding processes are kept for the next run."""
        self._keep_readers = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._keep_readers = False
        with contextlib.suppress(queue.Empty):
            while True:
                self._idle.get_nowait().close()

    def stop(self) -> None:
        """Finish the pages under way, then end."""
        self._stop.set()

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._stop.is_set()

    def run(self, jobs: list[FileJob], tick: Callable[[], None] = lambda: None) -> Iterator[PageRecord]:
        """Yield the record of every page as it is finished; `tick` is called a few times a second meanwhile."""
        if self.options.tidy:
            tidy(jobs)
        todo: queue.SimpleQueue[FileJob] = queue.SimpleQueue()
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
                record = done.get(timeout=0.2)  # the timeout is short so that Ctrl-C gets through
            except queue.Empty:
                tick()
                continue
            if record is None:
                running -= 1
            else:
                yield record

    def _work(self, todo: queue.SimpleQueue[FileJob], done: queue.SimpleQueue[PageRecord | None]) -> None:
        try:
            with self._reader() as reader:
                while not self._stop.is_set():
                    try:
                        job = todo.get_nowait()
                    except queue.Empty:
                        return
                    for record in self.conversion.records(job, reader, self._stop.is_set):
                        done.put(record)
        finally:
            done.put(None)

    @contextlib.contextmanager
    def _reader(self) -> Iterator[DecoderProcess]:
        try:
            reader = self._idle.get_nowait()
        except queue.Empty:
            reader = DecoderProcess(self.conversion.ledger.total, self.options.reading)
        try:
            yield reader
        finally:
            if self._keep_readers:
                self._idle.put(reader)
            else:
                reader.close()
