"""Object stores and other file systems behind a URI (s3://, gs://, abfs://, hdfs:// and those of fsspec)."""

from __future__ import annotations

import contextlib
import re
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from drmamba.errors import FileError, InputError, MissingExtra
from drmamba.files import PARTIAL_SUFFIX
from drmamba.inference.jobs import FileJob, Format, Shard, is_source, name_outputs, refuse_overwriting

# In these stores an object appears only when its upload has ended. Elsewhere a file is uploaded under another name and
# then renamed.
ATOMIC_UPLOADS = {"s3", "gcs", "gs", "abfs"}
COPY_BYTES = 8 << 20  # bytes that are copied at a time


def is_uri(text: str) -> bool:
    """Return whether this names a place in a store and not a file on this machine."""
    return "://" in text


class FileStore:
    """Files below a URI; their paths are relative to it."""

    def __init__(self, uri: str) -> None:
        self.uri = uri if is_uri(uri) else Path(uri).absolute().as_uri()
        self.shown = _shown(self.uri)
        self.files, root = _filesystem(self.uri, self.shown)
        self.root = root.rstrip("/")
        # The types of fsspec are written "py::fsspec+s3" or "py::fsspec+('s3', 's3a')"
        self.atomic = bool(ATOMIC_UPLOADS & set(re.findall(r"\w+", self.files.type_name)))

    @property
    def place(self) -> str:
        """A key that is the same for two URIs of one place."""
        root = str(Path(self.root).resolve()) if self.files.type_name == "local" else normpath(self.root)
        return f"{self.files.type_name}:{root}"

    def name(self, path: str | PurePosixPath) -> str:
        """Return the name of a file in reports."""
        return f"{self.shown}/{path}" if str(path) not in ("", ".") else self.shown

    def exists(self, path: str | PurePosixPath) -> bool:
        """Return whether there is such a file."""
        return bool(self.files.get_file_info(self._full(path)).is_file)

    def walk(self) -> Iterator[str]:
        """Yield readable files in a stable order; one listing finds them all."""
        from pyarrow.fs import FileSelector

        try:
            found = self.files.get_file_info(FileSelector(self.root, recursive=True, allow_not_found=False))
        except Exception as error:  # the drivers of fsspec may raise anything
            raise InputError(f"cannot list {self.shown}: {error}") from error
        names = (info.path.removeprefix(self.root).lstrip("/") for info in found if info.is_file)
        for name in sorted(names):
            folders, _, last = name.rpartition("/")
            if is_source(last) and not any(part.startswith(".") for part in folders.split("/")):
                yield name

    def fetch(self, path: str | PurePosixPath, to: Path) -> Path:
        """Copy a file from the store."""
        to.parent.mkdir(parents=True, exist_ok=True)
        try:
            with self.files.open_input_stream(self._full(path)) as source, to.open("wb") as target:
                shutil.copyfileobj(source, target, COPY_BYTES)
        except OSError as error:
            raise FileError(f"cannot read {self.name(path)}: {error}") from error
        return to

    def put(self, source: Path, path: str | PurePosixPath) -> None:
        """Copy a file to the store, where it appears whole or not at all."""
        full = self._full(path)
        folder, _, _ = full.rpartition("/")
        upload = full if self.atomic else f"{folder}/.{secrets.token_hex(12)}{PARTIAL_SUFFIX}"
        try:
            # The file is read first, because a stream that is closed early leaves a short object.
            data = source.read_bytes()
            if not self.atomic:
                self.files.create_dir(folder, recursive=True)
            with self.files.open_output_stream(upload) as target:
                target.write(data)
            if not self.atomic:
                self.files.move(upload, full)
        except OSError as error:
            if not self.atomic:
                with contextlib.suppress(Exception):
                    self.files.delete_file(upload)
            raise FileError(f"cannot write {self.name(path)}: {error}") from error

    def _full(self, path: str | PurePosixPath) -> str:
        return f"{self.root}/{path}"


def plan_stores(
    source: str,
    out: str,
    format: Format = "png",  # noqa: A002
    shard: Shard | None = None,
) -> tuple[list[FileJob], tuple[str, str]]:
    """Return jobs whose paths are relative to two stores, and their URIs; one store may be a plain folder."""
    store, target = FileStore(source), FileStore(out)
    here, there = f"{store.place}/", f"{target.place}/"
    if here == there:
        raise InputError(f"{target.shown} would overwrite a source; give another folder with -o")
    # An output folder inside the source is not read.
    below = there.removeprefix(here) if there.startswith(here) else None
    found = [(Path(name), Path(name)) for name in store.walk() if below is None or not name.startswith(below)]
    # Upper and lower case differ in stores, so the key is the path itself.
    jobs = name_outputs(found, Path(), format, store.shown, shard, Path.as_posix)
    refuse_overwriting(jobs, lambda path: here + path.as_posix(), lambda path: there + path.as_posix())
    return jobs, (store.uri, target.uri)


def _shown(uri: str) -> str:
    """Return a URI without credentials and options, for messages and reports; Azure's container precedes the @."""
    parts = urlsplit(uri)
    user, at, host = parts.netloc.rpartition("@")
    if at and parts.scheme in ("abfs", "abfss"):
        host = f"{user.partition(':')[0]}@{host}"
    return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))


def _filesystem(uri: str, shown: str) -> tuple[Any, str]:
    """Return the file system behind a URI, of pyarrow or of fsspec, and the path on it."""
    try:
        from pyarrow import ArrowInvalid
        from pyarrow.fs import FileSystem, FSSpecHandler, PyFileSystem
    except ImportError as error:
        raise MissingExtra("pyarrow", "ray") from error
    try:
        files, path = FileSystem.from_uri(uri)
        return files, str(path)
    except ArrowInvalid as unknown:
        try:
            import fsspec

            made, path = fsspec.core.url_to_fs(uri)
        except (ImportError, ValueError) as error:
            scheme, why = uri.partition("://")[0], f"{error}; {unknown}".replace(uri, shown)
            raise InputError(f"there is no store for {scheme}:// here ({why})") from error
        return PyFileSystem(FSSpecHandler(made)), str(path)
    except OSError as error:
        raise InputError(f"cannot reach {shown}: {str(error).replace(uri, shown)}") from error
