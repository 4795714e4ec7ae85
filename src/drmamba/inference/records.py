"""What is recorded about each page: inside its output, so that a run can resume, and in the report."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import drmamba
from drmamba.config import InferenceConfig
from drmamba.errors import FileError, InputError
from drmamba.files import FileLock, atomic_file
from drmamba.images.reading.decoder_process import DecoderProcess
from drmamba.inference.quality import Quality


@dataclass(frozen=True, kw_only=True)
class Origin:
    """What a result depends on; the same origin gives the same pixels."""

    input_sha256: str
    model_sha256: str
    settings: dict[str, Any]

    def record(self, page: int, pages: int, quality: list[Quality]) -> str:
        """Return the text that is stored inside an output; page 0 stands for all pages."""
        values = asdict(self) | {"page": page, "pages": pages, "version": drmamba.__version__}
        return json.dumps(values | {"quality": [q.to_dict() for q in quality]}, sort_keys=True)


@dataclass(frozen=True)
class FoundRecord:
    """The record inside an existing output."""

    origin: Origin
    page: int
    pages: int
    quality: list[dict[str, Any]]


def found_record(path: Path, reader: DecoderProcess) -> FoundRecord | None:
    """Return the record inside an output; None if there is none, because another program made the file.

    The file may be hostile, so it is opened in the decoding process, with its limits on memory and time.
    """
    try:
        values = json.loads(reader.record(path))
        values["settings"] = InferenceConfig.with_later_settings(values["settings"])
        origin = Origin(**{key: values[key] for key in Origin.__dataclass_fields__})
        return FoundRecord(origin, int(values["page"]), int(values["pages"]), list(values["quality"]))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return None


@dataclass(frozen=True, kw_only=True)
class PageRecord:
    """One page: one line of the report."""

    status: Literal["done", "skipped", "failed"]
    input: str
    page: int = 1
    pages: int = 1
    output: str | None = None
    input_sha256: str | None = None
    output_sha256: str | None = None
    model_sha256: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    megapixels: float = 0.0
    quality: dict[str, Any] = field(default_factory=dict)
    error: str | None = None

    @property
    def flags(self) -> list[str]:
        """What a person should know about the page."""
        return list(self.quality.get("flags", ()))

    @property
    def last(self) -> bool:
        """Whether this is the last page of its file."""
        return self.page >= self.pages

    def line(self) -> str:
        """Return the record as JSON, in which the values of `quality` stand beside the others."""
        values = asdict(self)
        quality = values.pop("quality")
        return json.dumps(values | {"flags": []} | quality, sort_keys=False)


BEGINNING = b'{"status": '  # every line of a report begins with this


class BatchReport:
    """A JSONL file with one line a page that survives a killed run and is continued by the next.

    Lines are appended as pages finish; `close` leaves one line a page, the newest. Because a report may have millions
    of lines, only their offsets are held in memory. A report that can no longer be written does not stop the batch;
    `lost` then says why. Two runs cannot write one report.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.lost = path, ""
        self._offsets: dict[tuple[str, int], int] = {}  # (input, page) -> offset
        self._lock = FileLock(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # A report may also be a pipe or a device, which has nothing to be destroyed.
            if (path.is_file() or not path.exists()) and not self._lock.acquire():
                raise InputError(f"another run is writing the report {path}; give another name with --report")
            if path.is_file():
                self._tidy(*_finished(path))
            self._file = path.open("ab")
        except InputError:
            self._lock.release()
            raise
        except OSError as error:
            self._lock.release()
            raise InputError(f"cannot write the report {path}: {error.strerror or error}") from error
        self._plain = path.is_file()  # a pipe or a device has no offsets

    def add(self, record: PageRecord) -> None:
        """Append a page; a skipped page keeps the line that the run that made it wrote."""
        key = (record.input, record.page)
        if self.lost or (record.status == "skipped" and key in self._offsets):
            return
        try:
            place = self._file.tell() if self._plain else 0
            self._file.write(record.line().encode() + b"\n")
            self._file.flush()
            self._offsets[key] = place
        except OSError as error:
            self._lose(error)

    def close(self) -> None:
        """Leave one line a page and close the file."""
        try:
            if self._plain and not self.lost:
                os.fsync(self._file.fileno())
                whole = self._file.tell()
                self._tidy(self._offsets, whole)
        except (OSError, FileError) as error:
            self._lose(error)
        finally:
            with contextlib.suppress(OSError):
                self._file.close()
            self._lock.release()

    def _lose(self, error: Exception) -> None:
        self.lost = f"the report {self.path} is not whole: {getattr(error, 'strerror', None) or error}"

    def _tidy(self, offsets: dict[tuple[str, int], int], whole: int) -> None:
        """Replace the file by a copy of the lines at these offsets, unless it holds nothing else."""
        with self.path.open("rb") as file:
            kept = 0
            for offset in sorted(offsets.values()):
                file.seek(offset)
                kept += len(file.readline())
            if kept == whole == file.seek(0, os.SEEK_END):
                self._offsets = offsets
                return
            with atomic_file(self.path) as copy:
                self._offsets = {}
                for key, offset in sorted(offsets.items(), key=lambda item: item[1]):
                    file.seek(offset)
                    self._offsets[key] = copy.tell()
                    copy.write(file.readline().rstrip(b"\n") + b"\n")


def _finished(path: Path) -> tuple[dict[tuple[str, int], int], int]:
    """Return the offsets of the finished pages in an earlier report, and its size.

    Incomplete lines and failures are dropped, because those pages will be converted again.
    """
    offsets: dict[tuple[str, int], int] = {}
    offset = 0
    with path.open("rb") as file:
        begins = file.read(len(BEGINNING))
        if begins != BEGINNING[: len(begins)]:
            raise InputError(f"{path} exists and is not a report; give another name with --report")
        file.seek(0)
        for line in file:
            try:
                values = json.loads(line)
                key = (str(values["input"]), int(values["page"]))
                if values["status"] != "failed":
                    offsets[key] = offset
            except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
                pass
            offset += len(line)
    return offsets, offset
