"""`-` as a source or a result: a file in a private folder stands for standard input or standard output."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Self

import click

from drmamba.errors import FileError, InputError

if TYPE_CHECKING:
    from drmamba.inference.records import PageRecord

DASH = Path("-")
KINDS = {b"%PDF-": ".pdf", b"II*\0": ".tif", b"MM\0*": ".tif"}  # beginnings of files whose format can be kept
ENDINGS = {"png": ".png", "tiff": ".tif", "pdf": ".pdf"}


class Streams:
    """The paths of a command, in which files take the place of `-`; in a `with`, the files last as long as it."""

    def __init__(self, paths: tuple[Path | str, ...], output: Path | str | None, format_: str) -> None:
        self.reads = DASH in paths
        self.writes = output == DASH or (self.reads and output is None)
        self.paths, self.output = paths, output
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._format = format_
        if not self.reads and not self.writes:
            return
        if len(paths) != 1 or isinstance(paths[0], str):
            raise click.UsageError("- stands for one page or document; give no other source with it")
        if not self.reads and Path(paths[0]).is_dir():
            raise click.UsageError(
                f"{paths[0]} is a folder, and one result goes to standard output; give one file"
            )
        if self.writes and sys.stdout.isatty():
            raise click.UsageError("the result would go to the terminal; use > FILE, or -o FILE")

    def __enter__(self) -> Self:
        if not self.reads and not self.writes:
            return self
        self._folder = tempfile.TemporaryDirectory(prefix="drmamba-")
        folder = Path(self._folder.name)
        source = Path(str(self.paths[0]))
        if self.reads:
            try:
                source = _received(sys.stdin.buffer, folder)
            except BaseException:
                self._folder.cleanup()
                raise
            self.paths = (source,)
        if self.writes:
            kept = source.suffix.lower() if source.suffix.lower() in (".pdf", ".tif", ".tiff") else ".png"
            self.output = folder / f"result{ENDINGS.get(self._format, kept)}"
        return self

    def renamed(self, record: PageRecord) -> PageRecord:
        """Return a record with the names that the user knows."""
        if self._folder is None:
            return record
        source = str(self.paths[0])
        return replace(
            record,
            input="-" if self.reads else record.input,
            output="-" if self.writes and record.output else record.output,
            error=record.error
            and (record.error.replace(source, "standard input") if self.reads else record.error),
        )

    def deliver(self) -> None:
        """Write the result to standard output."""
        if not self.writes:
            return
        output = Path(str(self.output))
        if not output.is_file():  # a PNG holds one page, so several pages have become several files
            raise InputError(
                "the source has several pages, and a PNG holds one; use --format pdf or --format tiff"
            )
        try:
            with output.open("rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        except BrokenPipeError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes again at its end
            raise FileError("standard output was closed before the result was written") from error
        except OSError as error:
            raise FileError(f"cannot write to standard output: {error.strerror or error}") from error

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._folder is not None:
            self._folder.cleanup()


def _received(stream: BinaryIO, folder: Path) -> Path:
    """Copy standard input to a file, whose ending says what its content is."""
    path = folder / "standard-input"
    with path.open("wb") as file:
        shutil.copyfileobj(stream, file)
    with path.open("rb") as file:
        head = file.read(8)
    if not head:
        raise InputError("standard input is empty")
    return path.rename(
        path.with_suffix(next((kind for mark, kind in KINDS.items() if head.startswith(mark)), ""))
    )


def refuse_with_streams(streams: Streams, **options: Any) -> None:
    """Raise if an option was given that needs files."""
    for name, value in options.items():
        if value and (streams.reads or streams.writes):
            raise click.UsageError(f"--{name} needs files, not -")
