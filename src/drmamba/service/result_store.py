"""Results that wait to be fetched: they have random names, a short life and a limit on their bytes."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

if sys.platform != "win32":  # On Windows the folder of a killed service stays until somebody removes it.
    import fcntl

PREFIX = "drmamba-serve-"  # name of the folders, in the system's temporary folder
LOCK = "lock"  # file that is locked as long as the service runs


@dataclass(frozen=True)
class StoredResult:
    """A file that can be fetched."""

    path: Path
    media_type: str
    filename: str  # suggested to the client; it is never a name on this disk
    size: int
    until: float  # time on the store's clock at which the result expires


class ResultStore:
    """A private folder of results; it is removed when the service ends."""

    def __init__(
        self, keep_seconds: float, keep_bytes: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        remove_dead_stores(Path(tempfile.gettempdir()))
        self._make_folder()
        self.keep_seconds, self.keep_bytes, self.clock = keep_seconds, keep_bytes, clock
        self._files: dict[str, StoredResult] = {}  # oldest first
        self._lock = threading.Lock()

    def _make_folder(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        self._lock_file = lock_folder(self.folder)

    def new_folder(self) -> Path:
        """Make a folder for the files of one request.

        Programs that clean temporary folders may have removed the store, which is made again then.
        """
        with self._lock:
            if not self.folder.is_dir():
                self._lock_file.close()
                self._make_folder()
            folder = self.folder / secrets.token_hex(16)
            folder.mkdir()
        return folder

    def put(self, path: Path, media_type: str, filename: str) -> str:
        """Move a finished file to the store; return the name to fetch it by."""
        name, size = secrets.token_urlsafe(24), path.stat().st_size
        kept = path.replace(self.folder / f"{secrets.token_hex(16)}.result")
        with self._lock:
            until = self.clock() + self.keep_seconds
            self._files[name] = StoredResult(kept, media_type, filename, size, until)
        self.sweep()
        return name

    def get(self, name: str) -> StoredResult | None:
        """Return a result by its name, or None if it has been removed."""
        self.sweep()
        with self._lock:
            found = self._files.get(name)
        return found if found is not None and found.path.is_file() else None

    def sweep(self) -> None:
        """Remove expired results, and then the oldest ones until the rest is within the limit."""
        with self._lock:
            now, left = self.clock(), sum(file.size for file in self._files.values())
            for name, file in list(self._files.items()):
                if file.until <= now or left > self.keep_bytes:
                    del self._files[name]
                    file.path.unlink(missing_ok=True)
                    left -= file.size

    def close(self) -> None:
        """Remove all results and the folder."""
        self._lock_file.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def lock_folder(folder: Path) -> BinaryIO:
    """Return a file in the folder that stays locked until this process ends, in whatever way."""
    file = (folder / f"{LOCK}.new").open("xb")
    if sys.platform != "win32":
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        (folder / f"{LOCK}.new").rename(
            folder / LOCK
        )  # The file gets its name now, so nobody ever sees it unlocked.
    return file


def remove_dead_stores(place: Path) -> None:
    """Remove the folders of this user's services that were killed; a running service holds its lock."""
    if sys.platform == "win32":
        return
    for folder in place.glob(f"{PREFIX}*"):
        try:
            if folder.lstat().st_uid != os.getuid():
                continue
            with (folder / LOCK).open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            continue  # The service is running, or its folder has just been removed.
