"""Files appear whole or not at all, and unfinished ones are removed when their writer has died."""

import hashlib
import os
import subprocess
import sys
import time

import pytest

from drmamba.errors import FileError
from drmamba.files import (
    ABANDONED_AFTER,
    PARTIAL_SUFFIX,
    atomic_file,
    remove_abandoned,
    sha256,
    write_atomic,
)


def test_the_hash_is_that_of_the_bytes(tmp_path):
    write_atomic(tmp_path / "new" / "file", b"content")
    assert sha256(tmp_path / "new" / "file") == hashlib.sha256(b"content").hexdigest()


def test_an_error_while_writing_leaves_what_was_there(tmp_path):
    write_atomic(tmp_path / "file", b"old")

    def interrupted():
        with atomic_file(tmp_path / "file") as file:
            file.write(b"half")
            raise ValueError("interrupted")

    with pytest.raises(ValueError, match="interrupted"):
        interrupted()
    assert (tmp_path / "file").read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_failed_write_leaves_what_was_there(tmp_path, monkeypatch):
    write_atomic(tmp_path / "file", b"old")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError, match="No space left on device"):
        write_atomic(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_remains_of_a_killed_run_are_swept_and_others_stay(tmp_path):
    dead = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    (tmp_path / f".{int(dead.stdout)}-abc{PARTIAL_SUFFIX}").write_bytes(b"half")
    (tmp_path / f".{os.getpid()}-abc{PARTIAL_SUFFIX}").write_bytes(b"in work")
    (tmp_path / "page.png").write_bytes(b"done")
    remove_abandoned(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == [f".{os.getpid()}-abc{PARTIAL_SUFFIX}", "page.png"]


def test_an_unfinished_file_of_another_machine_is_removed_by_age(tmp_path):
    old, young = (tmp_path / f".1-ffffffff-{name}{PARTIAL_SUFFIX}" for name in ("old", "young"))
    for path in (old, young):
        path.write_bytes(b"half")
    long_ago = time.time() - ABANDONED_AFTER - 60
    os.utime(old, (long_ago, long_ago))
    remove_abandoned(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == [young.name]
