"""Writing files as a whole or not at all, opening only regular ones, hashing them, and locks between processes."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import secrets
import stat
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from drmamba.errors import FileError

PARTIAL_SUFFIX = ".drmamba-part"  # the name of every unfinished file ends with this
LOCK_SUFFIX = ".drmamba-lock"  # the name of every lock ends with this
# Seconds; an older unfinished file of another machine belongs to a run that has died.
ABANDONED_AFTER = 86_400

_unfinished: set[Path] = set()  # the temporary files of this process
_writing = threading.Lock()  # guards the set above and the event below
_writing_is_over = threading.Event()


def sha256(path: str | Path) -> str:
    """Return the SHA-256 of a regular file's bytes in hexadecimal."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def file_identity(path: str | Path) -> str:
    """Return a file's name and the start of its SHA-256: what a record of another machine can say about it."""
    return f"{Path(path).name} (sha256 {sha256(path)[:12]})"


def open_regular(path: str | Path) -> BufferedReader:
    """Open a file for reading; a pipe, a socket, a device or a folder raises an OSError at once.

    Opening or reading such a file may wait for ever. It is checked twice, because opening a device may have an effect
    and because the file may be replaced between the check and the opening.
    """
    _require_regular(os.stat(path).st_mode)  # noqa: PTH116
    # A pipe without a writer is opened at once, and Windows must not translate line ends.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    handle = os.open(path, flags)
    try:
        _require_regular(os.fstat(handle).st_mode)
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def _require_regular(mode: int) -> None:
    if not stat.S_ISREG(mode):
        kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
        raise OSError(f"it is {kinds.get(stat.S_IFMT(mode), 'a device')}, not a regular file")


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
        with _new_partial(partial) as file:
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
        _unfinished.discard(partial)


def _new_partial(partial: Path) -> BinaryIO:
    with _writing:
        if _writing_is_over.is_set():
            raise OSError("the program is ending")
        file = partial.open("xb")
        _unfinished.add(partial)
        return file


def stop_writing() -> None:
    """Remove the unfinished files of this process and write no further ones, because the program ends at once.

    Threads that are still at work fail when they would write.
    """
    with _writing:
        _writing_is_over.set()
        for partial in list(_unfinished):
            with contextlib.suppress(OSError):
                partial.unlink()


def remove_abandoned(folder: Path) -> None:
    """Remove the unfinished files of runs that have died; the files of living runs stay.

    Other machines may write to the same folder. Whether their processes live cannot be found out from
    here, so their files are removed by age. What cannot be removed, such as a file of another user in
    a shared folder or a folder with such a name, stays.
    """
    with contextlib.suppress(OSError):  # A folder that cannot be listed cannot be tidied.
        for partial in folder.glob(f".*{PARTIAL_SUFFIX}"):
            with contextlib.suppress(OSError):
                if _abandoned(partial):
                    partial.unlink(missing_ok=True)


def _abandoned(partial: Path) -> bool:
    """Return whether the run that wrote an unfinished file has died, as far as that can be known."""
    number, _, rest = partial.name[1:].removesuffix(PARTIAL_SUFFIX).partition("-")
    machine = rest.rpartition("-")[0]
    if not number.isdecimal():
        return False
    if machine in ("", _machine()):
        return not _alive(int(number))
    return time.time() - partial.stat().st_mtime > ABANDONED_AFTER


def _machine() -> str:
    """Return a short name that differs between machines sharing a folder."""
    return f"{zlib.crc32(platform.node().encode()):08x}"


def _alive(pid: int) -> bool:
    """Return whether a process of this machine is running."""
    if os.name == "nt":
        return True  # On Windows, os.kill would end the process instead of asking for it.
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True  # The process exists and belongs to another user.
    return True


def _sync_folder(folder: Path) -> None:
    """Make the rename survive a power cut, on systems that can open a folder (Windows cannot)."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    with contextlib.suppress(OSError):  # Some folders and network file systems refuse this.
        handle = os.open(folder, os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


class FileLock:
    """A lock between processes that is named after a path; it ends with its process, however that ends.

    Where the system or the file system has no locks, every process gets it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(f".{zlib.crc32(os.fsencode(path.name)):08x}{LOCK_SUFFIX}")
        self._handle: int | None = None

    def acquire(self) -> bool:
        """Take the lock; return False if another process or another lock object has it."""
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        while True:
            try:
                handle = os.open(self._path, flags, 0o666)
            except OSError:
                return True
            if not _locked_now(handle):
                os.close(handle)
                return False
            with contextlib.suppress(OSError):
                if os.path.samestat(os.fstat(handle), os.stat(self._path)):  # noqa: PTH116
                    self._handle = handle
                    return True
            os.close(handle)  # Its last owner has just removed this file, so it locks nothing.

    def release(self) -> None:
        """Give the lock back and remove its file."""
        handle, self._handle = self._handle, None
        if handle is None:
            return
        if os.name == "nt":
            os.close(handle)  # Windows removes no open file.
        with contextlib.suppress(OSError):
            self._path.unlink()
        if os.name != "nt":
            os.close(handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def _locked_now(handle: int) -> bool:
    """Lock an open file without waiting; return False if it is locked already."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except (ImportError, OSError):
        return True  # There are no locks here.
    return True
