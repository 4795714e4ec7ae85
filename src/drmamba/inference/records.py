"""What is written down about each page: inside the output, so that a run can resume, and in the report."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import drmamba
from drmamba.errors import FileError, InputError
from drmamba.files import atomic_file
from drmamba.images import read_record
from drmamba.inference.quality import Quality


@dataclass(frozen=True, kw_only=True)
class Origin:
    """What a result depends on: the same origin gives the same bytes."""

    input_sha256: str
    model_sha256: str
    settings: dict[str, Any]

    def record(self, page: int, pages: int, quality: list[Quality]) -> str:
        """The text that goes into an output: page 0 stands for all of them."""
        values = asdict(self) | {"page": page, "pages": pages, "version": drmamba.__version__}
        return json.dumps(values | {"quality": [q.to_dict() for q in quality]}, sort_keys=True)


@dataclass(frozen=True)
class Found:
    """The record in an existing output."""

    origin: Origin
    page: int
    pages: int
    quality: list[dict[str, Any]]


def found_record(path: Path) -> Found | None:
    """The record in an output; None if there is none, so that the file is a stranger's."""
    try:
        values = json.loads(read_record(path))
        origin = Origin(**{key: values[key] for key in Origin.__dataclass_fields__})
        return Found(origin, int(values["page"]), int(values["pages"]), list(values["quality"]))
    except (ValueError, KeyError, TypeError):
        return None


@dataclass(frozen=True, kw_only=True)
class PageRecord:
    """One line of the report."""

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
        """What to look at."""
        return list(self.quality.get("flags", ()))

    @property
    def last(self) -> bool:
        """Whether nothing more comes from this file."""
        return self.page >= self.pages

    def line(self) -> str:
        """As JSON; the quality's values stand beside the rest."""
        values = asdict(self)
        quality = values.pop("quality")
        return json.dumps(values | {"flags": []} | quality, sort_keys=False)


BEGINNING = b'{"status": '  # of every line


class Report:
    """A JSONL file, one line a page, that survives a killed run and is continued by the next.

    Lines are appended as pages finish. `close` leaves one line a page, the newest. Only where a page's line
    stands is kept in memory, not the line: a report may have millions. A report that can no longer be written
    does not stop the pages: `lost` then says why.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.lost = path, ""
        self._places: dict[tuple[str, int], int] = {}  # (input, page) -> offset
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_file():
                self._tidy(*_finished(path))
            self._file = path.open("ab")
        except OSError as error:
            raise InputError(f"cannot write the report {path}: {error.strerror or error}") from error
        self._plain = path.is_file()  # not a pipe or a device, which has no places

    def add(self, record: PageRecord) -> None:
        """Append a page; a skipped one keeps the line it has from the run that made it."""
        key = (record.input, record.page)
        if self.lost or (record.status == "skipped" and key in self._places):
            return
        try:
            place = self._file.tell() if self._plain else 0
            self._file.write(record.line().encode() + b"\n")
            self._file.flush()
            self._places[key] = place
        except OSError as error:
            self._lose(error)

    def close(self) -> None:
        """Leave one line a page."""
        try:
            if self._plain and not self.lost:
                os.fsync(self._file.fileno())
                whole = self._file.tell()
                self._tidy(self._places, whole)
        except (OSError, FileError) as error:
            self._lose(error)
        finally:
            with contextlib.suppress(OSError):
                self._file.close()

    def _lose(self, error: Exception) -> None:
        self.lost = f"the report {self.path} is not whole: {getattr(error, 'strerror', None) or error}"

    def _tidy(self, places: dict[tuple[str, int], int], whole: int) -> None:
        """Copy the lines at these places to a new file that replaces the old, unless they are all of it."""
        with self.path.open("rb") as file:
            kept = 0
            for offset in sorted(places.values()):
                file.seek(offset)
                kept += len(file.readline())
            if kept == whole == file.seek(0, os.SEEK_END):
                self._places = places
                return
            with atomic_file(self.path) as copy:
                self._places = {}
                for key, offset in sorted(places.items(), key=lambda item: item[1]):
                    file.seek(offset)
                    self._places[key] = copy.tell()
                    copy.write(file.readline().rstrip(b"\n") + b"\n")


def _finished(path: Path) -> tuple[dict[tuple[str, int], int], int]:
    """Where the finished pages of an earlier report stand, and its size.

    Torn lines and failures are dropped: they come again.
    """
    places: dict[tuple[str, int], int] = {}
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
                    places[key] = offset
            except (ValueError, KeyError, TypeError):
                pass
            offset += len(line)
    return places, offset
