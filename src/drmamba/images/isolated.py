"""Pages decoded in a process of their own, which may crash, hang or run out of memory without harm."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from drmamba.config import ReadingConfig
from drmamba.errors import ImageError
from drmamba.images.rows import RGB, Rows

PATIENCE = 8.0  # seconds for any answer, and
SLOWEST_DECODE = 500_000  # pixels a second, and
SLOWEST_DISK = 5_000_000  # bytes a second on top
TURNS = 8  # times that long for a decoder that waits for a busy processor, and not for itself
AT_ONCE = 0.6  # of the memory: a page that takes more is decoded in bands, where its format allows


class Reader:
    """A decoding process, started at the first file and again after every accident."""

    turns = TURNS

    def __init__(self, memory: int, config: ReadingConfig | None = None) -> None:
        self.memory, self.config = memory, config or ReadingConfig()
        self._process: subprocess.Popen[bytes] | None = None

    def open(self, path: Path) -> IsolatedFile:
        """The file's pages; an unreadable file raises ImageError."""
        try:
            size = path.stat().st_size
        except OSError as error:
            raise ImageError(f"cannot read {path}: {error.strerror or error}") from error
        if size == 0:
            raise ImageError(f"{path} is empty")
        return IsolatedFile(self, path, size)

    def ask(self, path: Path, request: dict[str, Any], seconds: float) -> tuple[dict[str, Any], bytes]:
        """Send a request and wait for its answer, for so long."""
        process = self.started()
        assert process.stdin is not None
        assert process.stdout is not None
        answered, late = threading.Event(), threading.Event()

        def watch() -> None:
            before = _state(process.pid)[1]
            for _ in range(self.turns):
                if answered.wait(seconds):
                    return
                state, spent = _state(process.pid)
                if state != "R" or spent - before > seconds / 2:
                    break  # it sleeps or turns in circles
            late.set()
            process.kill()

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            line = process.stdout.readline()
            header = json.loads(line) if line.endswith(b"\n") else None
            payload = process.stdout.read(header.get("size", 0)) if header else b""
            whole = header is not None and len(payload) == header.get("size", 0)
        except OSError:
            header, payload, whole = None, b"", False
        finally:
            answered.set()
            watcher.join()
        if header is None or not whole:
            self.close()
            if late.is_set():
                raise ImageError(f"{path} took more than {seconds:.0f} s to decode and was given up")
            raise ImageError(
                f"{path} made the decoder crash: the file is damaged, or needs more --max-memory"
            )
        if late.is_set():
            self.close()  # the answer came in the last moment, the process is gone
        if "error" in header:
            message = " ".join(str(header["error"]).split())
            raise ImageError(message if str(path) in message else f"{path}: {message}")
        return header, payload

    def started(self) -> subprocess.Popen[bytes]:
        """The process; a new one if the last was lost."""
        if self._process is None:
            # -P: what lies in the current folder, perhaps among the scans, is not imported
            command = [sys.executable, "-P", "-m", "drmamba.images.child", str(self.memory)]
            quiet = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=quiet
            )
        return self._process

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    try:
                        pipe.close()
                    except OSError:
                        continue  # unsent bytes to a process that is gone

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class IsolatedFile:
    """An open file; iterating gives its pages, each valid until the next.

    A page that costs the decoding process its life does not cost the pages after it.
    """

    def __init__(self, reader: Reader, path: Path, size: int) -> None:
        self.reader, self.path, self.size = reader, path, size
        self.patience = PATIENCE + size / SLOWEST_DISK
        self._open()

    def _open(self) -> None:
        reader = self.reader
        request = {"do": "open", "path": str(self.path), "memory": int(reader.memory * AT_ONCE)}
        answer, _ = reader.ask(self.path, request | reader.config.to_dict(), self.patience)
        self.pages, self._process = int(answer["pages"]), reader.started()

    def __iter__(self) -> Iterator[IsolatedPage]:
        given = 0
        while True:
            if self.reader.started() is not self._process:
                self._open()
                for _ in range(given):
                    self._next()
            if not (facts := self._next()).get("height"):
                return
            given += 1
            yield IsolatedPage(self, facts)

    def _next(self) -> dict[str, Any]:
        return self.reader.ask(self.path, {"do": "next"}, self.patience)[0]


class IsolatedPage(Rows):
    """A page that lives in the decoding process."""

    def __init__(self, file: IsolatedFile, facts: dict[str, Any]) -> None:
        self.file = file
        self.height, self.width = int(facts["height"]), int(facts["width"])
        self.dpi = (float(facts["dpi"][0]), float(facts["dpi"][1])) if facts["dpi"] else None
        self.decode_bytes = int(facts["memory"])
        self._patience = PATIENCE + self.height * self.width / SLOWEST_DECODE + file.size / SLOWEST_DISK

    def decode(self) -> None:
        """Decode the page over there; a damaged one raises ImageError."""
        self.file.reader.ask(self.file.path, {"do": "decode"}, self._patience)

    def rows(self, top: int, bottom: int) -> RGB:
        """Fetch rows."""
        request = {"do": "rows", "top": top, "bottom": bottom}
        _, data = self.file.reader.ask(self.file.path, request, self._patience)
        return np.frombuffer(data, np.uint8).reshape(bottom - top, self.width, 3)


def _state(pid: int) -> tuple[str, float]:
    """What a process does ("R": it runs or waits for a processor) and its processor seconds, where Linux tells."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return "?", 0.0
    return fields[0], (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
