"""Uploaded files: request bodies are written to disk in pieces, under random names and within the limits."""

from __future__ import annotations

import asyncio
import contextlib
import math
import secrets
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import BinaryIO, TypeVar

from drmamba.config import ServiceConfig
from drmamba.errors import MissingExtra
from drmamba.service.engine import Upload
from drmamba.service.problems import Problem, busy, over_limit, too_slow

T = TypeVar("T")
LONGEST_NAME = 200  # characters of a client's file name that the answer repeats
GRACE_SECONDS = 10.0  # that an upload may be slower than the least rate, or stand still


class UploadQuota:
    """The bytes of all uploads that the service holds; only the event loop's thread uses it."""

    def __init__(self, most: int, make_room: Callable[[int], object]) -> None:
        self.most, self.held = most, 0
        self.make_room = make_room  # frees so many bytes if it can

    def take(self, size: int) -> None:
        """Count so many bytes, or raise if there is no room for them."""
        if self.held + size > self.most:
            self.make_room(self.held + size - self.most)
        if self.held + size > self.most:
            raise busy(60, "the service holds as many uploads as it may")
        self.held += size

    def free(self, size: int) -> None:
        """Count bytes that are held no longer."""
        self.held -= size


async def receive(
    stream: AsyncIterator[bytes],
    content_type: str,
    folder: Path,
    limits: ServiceConfig,
    count: Callable[[int], object] = lambda _: None,
) -> list[Upload]:
    """Write the files of a body, a form's or the body itself, to the folder and return them.

    `count` is called with the size of each piece and may raise an error to end the upload.
    """
    form = Form(folder, limits, content_type)
    seen = 0
    try:
        async for chunk in in_time(stream, limits):
            seen += len(chunk)
            if seen > limits.max_bytes:
                raise too_large(limits)
            count(len(chunk))
            form.write(chunk)
        form.finish()
    finally:
        form.close()
    if not form.files:
        raise Problem(400, "no-file", "there is no file in the request: send it as the form field `file`")
    return form.files


async def in_time(stream: AsyncIterator[bytes], limits: ServiceConfig) -> AsyncIterator[bytes]:
    """Yield the pieces of a body; raise a problem if they come more slowly than the limits allow.

    Bytes earn time for those that follow, but never more than the grace, so a client that stops sending is given up
    soon, however much it has sent. The time that the service needs for a piece does not count.
    """
    clock = asyncio.get_running_loop().time
    started, most = clock(), limits.upload_seconds
    grace = GRACE_SECONDS if limits.upload_rate else math.inf
    left = grace  # seconds until the next piece must have come
    async with contextlib.aclosing(stream) as pieces:  # type: ignore[type-var]
        while True:
            asked = clock()
            try:
                async with asyncio.timeout_at(min(started + most, asked + left)):
                    chunk = await anext(pieces, None)
            except TimeoutError:
                if asked + left < started + most:
                    words = f"the upload is slower than {limits.upload_rate:,} bytes per second"
                    raise too_slow(words, grace) from None
                raise too_slow(f"the upload took more than {most:g} s", most) from None
            if chunk is None:
                return
            if limits.upload_rate:
                left = min(grace, left - (clock() - asked) + len(chunk) / limits.upload_rate)
            yield chunk


def too_large(limits: ServiceConfig) -> Problem:
    """Return the problem of a request with too many bytes."""
    words = f"the request has more than {limits.max_bytes:,} bytes, which is the limit"
    return over_limit("bytes", limits.max_bytes, words)


class Form:
    """A body while it is received: a form whose parts hold files, or one file without a form."""

    def __init__(self, folder: Path, limits: ServiceConfig, content_type: str) -> None:
        try:
            from python_multipart.exceptions import FormParserError
            from python_multipart.multipart import MultipartParser, parse_options_header
        except ImportError as error:
            raise MissingExtra("python-multipart", "web") from error
        self.folder, self.limits = folder, limits
        self.files: list[Upload] = []
        self._wrong: type[Exception] = FormParserError
        self._open: BinaryIO | None = None
        self._header, self._value, self._headers = b"", b"", dict[bytes, bytes]()
        self._ended = False
        self._options = parse_options_header
        kind, options = parse_options_header(content_type)
        self._parser = None
        if kind == b"multipart/form-data":
            boundary = options.get(b"boundary")
            if not boundary:
                raise Problem(400, "bad-form", "the form's Content-Type has no boundary")
            self._parser = self._guarded(lambda: MultipartParser(boundary, {
                "on_part_begin": self._begin,
                "on_header_field": self._on_field,
                "on_header_value": self._on_value,
                "on_header_end": self._on_header,
                "on_headers_finished": self._start,
                "on_part_data": self._data,
                "on_part_end": self._end_part,
                "on_end": self._end,
            }))  # fmt: skip
        elif kind.startswith((b"application/x-www-form-urlencoded", b"application/json")):
            raise Problem(
                415, "not-a-file", f"{kind.decode('latin-1')} is not a file; send a form or an image"
            )

    def write(self, chunk: bytes) -> None:
        """Process the next piece of the body."""
        if self._parser is not None:
            parser = self._parser
            self._guarded(lambda: parser.write(chunk))
        elif chunk:
            if not self.files:
                self._new("")
            self._data(chunk, 0, len(chunk))

    def finish(self) -> None:
        """End the body; raise if it is a form that is not complete."""
        if self._parser is not None:
            self._guarded(self._parser.finalize)
            if not self._ended:
                raise Problem(400, "bad-form", "the form is cut short")

    def close(self) -> None:
        """Close an unfinished file."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def _guarded(self, act: Callable[[], T]) -> T:
        try:
            return act()
        except self._wrong as error:
            raise Problem(400, "bad-form", f"the form cannot be read: {error}") from error

    def _begin(self) -> None:
        self._headers = {}

    def _on_field(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _on_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _on_header(self) -> None:
        self._headers[self._header.lower()] = self._value
        self._header = self._value = b""

    def _start(self) -> None:
        _, options = self._options(self._headers.get(b"content-disposition", b""))
        field = options.get(b"name", b"").decode("utf-8", "replace")
        if field != "file":
            words = f"the form has a field {plain_name(field)!r}; files are sent as `file`, settings in the address"
            raise Problem(400, "bad-form", f"{words}, such as /v1/binarize?threshold=0.4")
        self._new(options.get(b"filename", b"").decode("utf-8", "replace"))  # A file may have no name.

    def _new(self, name: str) -> None:
        if len(self.files) >= self.limits.max_files:
            most = self.limits.max_files
            raise over_limit("files", most, f"more than {most} files in one request")
        path = self.folder / f"{secrets.token_hex(16)}.upload"
        self.files.append(Upload(path, plain_name(name)))
        self._open = path.open("xb")

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self._open is not None:
            self._open.write(data[start:end])

    def _end_part(self) -> None:
        self.close()

    def _end(self) -> None:
        self._ended = True


def plain_name(name: str) -> str:
    """Return a client's file name so that it can be repeated: without folders, printable and not too long."""
    last = name.replace("\\", "/").rpartition("/")[2]
    return "".join(c for c in last if c.isprintable() and c not in '"<>').strip(". ")[:LONGEST_NAME] or "page"
