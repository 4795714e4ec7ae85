"""Pages decoded in a separate process, which may crash, hang or run out of memory without harm."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from drmamba.child_process import Answer, ChildProcess, Request
from drmamba.config import ReadingConfig
from drmamba.errors import DecoderCrashError, ImageError, MemoryLimitError, PixelLimitError, TimeLimitError
from drmamba.files import open_regular
from drmamba.images.arrays import RGB
from drmamba.images.reading.page_source import PageSource

# An answer may take BASE_SECONDS, plus the time that the slowest decoder and the slowest disk need.
BASE_SECONDS = 8.0
SLOWEST_DECODER = 500_000  # pixels a second
SLOWEST_DISK = 5_000_000  # bytes a second
MAX_WAITS = 8  # times that the limit may pass while the decoder waits for a busy processor
MAX_ABANDONED = 3  # requests about one file that may take too long before the file is given up
WHOLE_PAGE_SHARE = 0.6  # share of the memory; a page that takes more is decoded in bands if its format allows
LARGEST_WHOLE_PAGE = 250_000_000  # bytes; so is a page that takes more than this, whatever the memory


class DecoderProcess(ChildProcess):
    """A decoding process, started when the first file is opened and again after every crash."""

    max_waits = MAX_WAITS

    def __init__(self, memory: int, config: ReadingConfig | None = None) -> None:
        # One thread needs one arena; each further one would count against the memory limit.
        one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}
        module = "drmamba.images.reading.decoder_main"
        super().__init__(module, str(memory), quiet=True, private=True, environment=one_thread)
        self.memory, self.config = memory, config or ReadingConfig()

    def open(self, path: Path) -> IsolatedFile:
        """Open a file; an unreadable one, or one that is no regular file, raises ImageError."""
        size = _size(path)
        if size == 0:
            raise ImageError(f"{path} is empty")
        return IsolatedFile(self, path, size)

    def record(self, path: Path) -> str:
        """Return the record inside a result; it is empty if the file is foreign, damaged or no regular file."""
        try:
            seconds = BASE_SECONDS + _size(path) / SLOWEST_DISK
            return str(self.ask(path, {"do": "record", "path": str(path)}, seconds)[0]["record"])
        except ImageError:  # A file that no decoder survives was not made by this program.
            return ""

    def ask(self, path: Path, request: Request, seconds: float) -> Answer:
        """Send a request about a file and wait so many seconds for its answer: a header and raw bytes."""
        process = self.started()
        answered, late = threading.Event(), threading.Event()

        def watch() -> None:
            before = _state(process.pid)[1]
            for _ in range(self.max_waits):
                if answered.wait(seconds):
                    return
                state, spent = _state(process.pid)
                if state != "R" or spent - before > seconds / 2:
                    break  # The decoder sleeps, or it has used its time without an answer.
            late.set()
            process.kill()

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            answer = self.exchange(request)
        finally:
            answered.set()
            watcher.join()
        if answer is None:
            self.close()
            if late.is_set():
                raise TimeLimitError(f"{path} took more than {seconds:.0f} s to decode and was abandoned")
            words = "the file is damaged, or needs more memory than there is"
            raise DecoderCrashError(f"{path} made the decoder crash: {words}")
        if late.is_set():
            self.close()  # The answer was complete just before the process was killed.
        if "error" in answer[0]:
            raise self._error(path, answer[0])
        return answer

    def _error(self, path: Path, header: dict[str, Any]) -> ImageError:
        """Return the error that an answer reports; its message names the file."""
        message = str(header["error"])
        message = message if str(path) in message else f"{path}: {' '.join(message.split())}"
        if header.get("kind") == "pixels":
            return PixelLimitError(message, int(header["value"]), int(header["limit"]))
        if header.get("kind") == "memory":
            return MemoryLimitError(message, limit=self.memory)
        return ImageError(message)


class IsolatedFile:
    """An open file; iterating yields its pages, each valid until the next is asked for.

    After a page at which the decoding process crashed, the file is opened again for the pages that follow.
    """

    def __init__(self, decoder: DecoderProcess, path: Path, size: int) -> None:
        self.decoder, self.path, self.size = decoder, path, size
        self.seconds = BASE_SECONDS + size / SLOWEST_DISK
        self._left = decoder.config.max_seconds or math.inf  # seconds
        self._abandoned = 0  # requests that took too long
        self._open()

    def ask(self, request: Request, seconds: float) -> Answer:
        """Send a request about the file; when too much time is spent on it, TimeLimitError gives it up."""
        if self._left <= 0:
            limit = f"{self.decoder.config.max_seconds:g} s that one file may take"
            raise TimeLimitError(f"{self.path} took longer to decode than the {limit}")
        started = time.monotonic()
        try:
            return self.decoder.ask(self.path, request, min(seconds, self._left))
        except TimeLimitError as error:
            self._abandoned += 1
            if self._abandoned >= MAX_ABANDONED or time.monotonic() - started >= self._left:
                raise
            raise ImageError(str(error)) from error  # The pages after this one are tried.
        finally:
            self._left -= time.monotonic() - started

    def _open(self) -> None:
        decoder = self.decoder
        memory = min(int(decoder.memory * WHOLE_PAGE_SHARE), LARGEST_WHOLE_PAGE)
        request = {"do": "open", "path": str(self.path), "memory": memory}
        answer, _ = self.ask(request | decoder.config.to_dict(), self.seconds)
        self.pages, self._process = int(answer["pages"]), decoder.started()

    def __iter__(self) -> Iterator[IsolatedPage]:
        given = 0
        while True:
            if self.decoder.started() is not self._process:
                self._open()
                for _ in range(given):
                    self._next()
            if not (facts := self._next()).get("height"):
                return
            given += 1
            yield IsolatedPage(self, facts)

    def _next(self) -> dict[str, Any]:
        return self.ask({"do": "next"}, self.seconds)[0]


class IsolatedPage(PageSource):
    """A page that is held by the decoding process."""

    def __init__(self, file: IsolatedFile, facts: dict[str, Any]) -> None:
        self.file = file
        self.height, self.width = int(facts["height"]), int(facts["width"])
        self.dpi = (float(facts["dpi"][0]), float(facts["dpi"][1])) if facts["dpi"] else None
        self.decode_bytes = int(facts["memory"])
        self.seconds = file.seconds + self.height * self.width / SLOWEST_DECODER

    def decode(self) -> None:
        """Let the process decode the page; a damaged one raises ImageError."""
        self.file.ask({"do": "decode"}, self.seconds)

    def rows(self, top: int, bottom: int) -> RGB:
        """Fetch rows from the process."""
        request = {"do": "rows", "top": top, "bottom": bottom}
        _, data = self.file.ask(request, self.seconds)
        return np.frombuffer(data, np.uint8).reshape(bottom - top, self.width, 3)


def _size(path: Path) -> int:
    """Return the bytes of a regular file; anything else raises ImageError without being waited for."""
    try:
        with open_regular(path) as file:
            return os.fstat(file.fileno()).st_size
    except OSError as error:
        raise ImageError(f"cannot read {path}: {error.strerror or error}") from error


def _state(pid: int) -> tuple[str, float]:
    """Return a process's state ("R": it runs or waits for a processor) and its processor seconds, on Linux."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return "?", 0.0
    return fields[0], (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
