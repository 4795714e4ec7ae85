"""Writing files as a whole or not at all, and hashing them."""

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

from drmamba.errors import FileError

PARTIAL_SUFFIX = ".drmamba-part"  # the name of every unfinished file ends with this
ABANDONED_AFTER = (
    86_400  # seconds; an older unfinished file of another machine belongs to a run that has died
)


def sha256(path: str | Path) -> str:
    """Return the SHA-256 of a file's bytes in hexadecimal."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_atomic(path: str | Path, data: bytes) -> None:
    """Write data to path so that a reader, a crash or a full disk never leaves half of it."""
    with atomic_file(path) as file:
        file.write(data)


@contextlib.contextmanager
def atomic_file(path: str | Path) -> Iterator[BinaryIO]:
    """Open a temporary file that is renamed to path when the block ends without an error."""
    path = Path(path)
    partial = path.with_name(f".{os.getpid()}-{_machine()}-{secrets.token_hex(6)}{PARTIAL_SUFFIX}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):  # The temporary file may not exist.
            partial.unlink()


def remove_abandoned(folder: Path) -> None:
    """Remove the unfinished files of runs that have died; the files of living runs stay.

    Other machines may write to the same folder. Whether their processes live cannot be found out from
    here, so their files are removed by age.
    """
    for partial in folder.glob(f".*{PARTIAL_SUFFIX}"):
        number, _, rest = partial.name[1:].removesuffix(PARTIAL_SUFFIX).partition("-")
        machine = rest.rpartition("-")[0]
        if not number.isdigit():
            continue
        if machine in ("", _machine()):
            dead = not _alive(int(number))
        else:
            try:
                dead = time.time() - partial.stat().st_mtime > ABANDONED_AFTER
            except OSError:
                continue  # The other machine has just finished this file.
        if dead:
            partial.unlink(missing_ok=True)


def _machine() -> str:
    """Return a short name that differs between machines sharing a folder."""
    return f"{zlib.crc32(platform.node().encode()):08x}"


def _alive(pid: int) -> bool:
    """Return whether a process of this machine is running."""
    if os.name == "nt":
        return True  # On Windows, os.kill would end the process instead of asking for it.
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # The process exists and belongs to another user.
    return True


def _sync_folder(folder: Path) -> None:
    """Make the rename survive a power cut, on systems that can open a folder (Windows cannot)."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(folder, os.O_DIRECTORY)
    try:
        os.fsync(handle)
    except OSError:
        pass  # Some network file systems refuse this; the data itself is already on disk.
    finally:
        os.close(handle)
