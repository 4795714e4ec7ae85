"""Results that wait for their reader: random names, a short life, a limit on their bytes."""

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

if sys.platform != "win32":  # there, what a killed service leaves stays until somebody removes it
    import fcntl

PREFIX, LOCK = "drmamba-serve-", "lock"


@dataclass(frozen=True)
class Stored:
    """A file that may be fetched."""

    path: Path
    media_type: str
    filename: str  # for the reader; never a name on this disk
    size: int
    until: float  # on the store's clock


class Store:
    """A private folder that is gone when the service is."""

    def __init__(
        self, keep_seconds: float, keep_bytes: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        sweep_dead(Path(tempfile.gettempdir()))
        self.folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        self._life = locked(self.folder)
        self.keep_seconds, self.keep_bytes, self.clock = keep_seconds, keep_bytes, clock
        self._files: dict[str, Stored] = {}  # oldest first
        self._lock = threading.Lock()

    def workplace(self) -> Path:
        """A new folder for one request."""
        folder = self.folder / secrets.token_hex(16)
        folder.mkdir()
        return folder

    def put(self, path: Path, media_type: str, filename: str) -> str:
        """Take a finished file over; the name to ask for it by."""
        name, size = secrets.token_urlsafe(24), path.stat().st_size
        kept = path.replace(self.folder / f"{secrets.token_hex(16)}.result")
        with self._lock:
            until = self.clock() + self.keep_seconds
            self._files[name] = Stored(kept, media_type, filename, size, until)
        self.sweep()
        return name

    def get(self, name: str) -> Stored | None:
        """A file by its name, if it is still there."""
        self.sweep()
        with self._lock:
            return self._files.get(name)

    def drop(self, name: str) -> None:
        """Remove a file before its time."""
        with self._lock:
            file = self._files.pop(name, None)
            if file is not None:
                file.path.unlink(missing_ok=True)

    def sweep(self) -> None:
        """Remove what is too old, then the oldest of what is too much."""
        with self._lock:
            now, left = self.clock(), sum(file.size for file in self._files.values())
            for name, file in list(self._files.items()):
                if file.until <= now or left > self.keep_bytes:
                    del self._files[name]
                    file.path.unlink(missing_ok=True)
                    left -= file.size

    def close(self) -> None:
        """Remove everything."""
        self._life.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def locked(folder: Path) -> BinaryIO:
    """A file in the folder that is locked while this process lives, whatever ends it."""
    file = (folder / f"{LOCK}.new").open("xb")
    if sys.platform != "win32":
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        (folder / f"{LOCK}.new").rename(folder / LOCK)  # only now: nobody ever sees it unlocked
    return file


def sweep_dead(place: Path) -> None:
    """Remove what killed services of this user left; a living one's lock is held."""
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
            continue  # it lives, or is gone meanwhile
