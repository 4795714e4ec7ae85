"""What is written down about each page: inside the output, so that a run can resume, and in the report."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import drmamba
from drmamba.errors import InputError
from drmamba.images import read_record, write_atomic
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

    def line(self) -> str:
        """As JSON; the quality's values stand beside the rest."""
        values = asdict(self)
        quality = values.pop("quality")
        return json.dumps(values | {"flags": []} | quality, sort_keys=False)


class Report:
    """A JSONL file, one line a page, that survives a killed run and is continued by the next.

    Lines are appended as pages finish. `close` leaves one line a page, the newest.
    """

    def __init__(self, path: Path, *, fresh: bool) -> None:
        self.path = path
        self._lines = {} if fresh else dict(_lines(path))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._write()
            self._file = path.open("a", encoding="utf-8")
        except OSError as error:
            raise InputError(f"cannot write the report {path}: {error.strerror or error}") from error

    def add(self, record: PageRecord) -> None:
        """Append a page; a skipped one keeps the line it has from the run that made it."""
        key = (record.input, record.page)
        if record.status == "skipped" and key in self._lines:
            return
        self._lines[key] = record.line()
        self._file.write(self._lines[key] + "\n")
        self._file.flush()

    def close(self) -> None:
        """Leave one line a page."""
        os.fsync(self._file.fileno())
        self._file.close()
        self._write()

    def _write(self) -> None:
        write_atomic(self.path, "".join(line + "\n" for line in self._lines.values()).encode())


def _lines(path: Path) -> Iterator[tuple[tuple[str, int], str]]:
    """The finished pages of an earlier report; torn lines and failures are dropped: they come again."""
    if not path.is_file():
        return
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            values = json.loads(line)
            if values["status"] != "failed":
                yield (values["input"], values["page"]), line
        except (ValueError, KeyError, TypeError):
            continue


def sha256(path: Path) -> str:
    """The hash of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
