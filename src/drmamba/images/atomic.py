"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from drmamba.errors import ImageError

PARTIAL = ".drmamba-part"  # how the name of an unfinished file ends


def write_atomic(path: str | Path, data: bytes) -> None:
    """Write data to path so that a reader, a crash or a full disk never sees half of it."""
    path = Path(path)
    partial = path.with_name(f".{os.getpid()}-{secrets.token_hex(6)}{PARTIAL}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        raise ImageError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        partial.unlink(missing_ok=True)


def sweep(folder: Path) -> None:
    """Remove what killed runs left unfinished under a folder; files of running ones stay."""
    for partial in folder.rglob(f".*{PARTIAL}"):
        number = partial.name[1:].partition("-")[0]
        if number.isdigit() and not _alive(int(number)):
            partial.unlink(missing_ok=True)


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
