"""Files that appear whole or not at all, and their hashes."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import secrets
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from drmamba.errors import ImageError

PARTIAL = ".drmamba-part"  # how the name of an unfinished file ends
FORGOTTEN = 86_400  # seconds after which another machine's unfinished file is taken for a dead run's


def sha256(path: str | Path) -> str:
    """The hash of a file's bytes, as reports name files by it."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_atomic(path: str | Path, data: bytes) -> None:
    """Write data to path so that a reader, a crash or a full disk never sees half of it."""
    with whole_file(path) as file:
        file.write(data)


@contextlib.contextmanager
def whole_file(path: str | Path) -> Iterator[BinaryIO]:
    """A file to write to that takes its name when it is whole."""
    path = Path(path)
    partial = path.with_name(f".{os.getpid()}-{_machine()}-{secrets.token_hex(6)}{PARTIAL}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        raise ImageError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):  # where it could not even be made
            partial.unlink()


def sweep(folder: Path) -> None:
    """Remove what killed runs left unfinished in a folder; files of running ones stay.

    Other machines may write here too; whether their processes live cannot be asked, so age decides.
    """
    for partial in folder.glob(f".*{PARTIAL}"):
        number, _, rest = partial.name[1:].removesuffix(PARTIAL).partition("-")
        machine = rest.rpartition("-")[0]
        if not number.isdigit():
            continue
        if machine in ("", _machine()):
            dead = not _alive(int(number))
        else:
            try:
                dead = time.time() - partial.stat().st_mtime > FORGOTTEN
            except OSError:
                continue  # finished meanwhile
        if dead:
            partial.unlink(missing_ok=True)


def _machine() -> str:
    """Tells machines that share a folder apart."""
    return f"{zlib.crc32(platform.node().encode()):08x}"


def _alive(pid: int) -> bool:
    if os.name == "nt":
        return True  # there is no harmless question there
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # there, but somebody else's
    return True


def _sync_folder(folder: Path) -> None:
    """Make the rename itself last through a power cut, where the system can (not on Windows)."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(folder, os.O_DIRECTORY)
    try:
        os.fsync(handle)
    except OSError:
        pass  # some network file systems refuse; the file itself is already safe
    finally:
        os.close(handle)
