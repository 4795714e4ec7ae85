"""Tests of permissions need a user whom the system refuses something; the super-user is refused nothing."""

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

import pytest

NOBODY = 65534


@contextlib.contextmanager
def open_folder():
    """Yield a folder that every user may enter, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="drmamba-test-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        for place, _, _ in os.walk(folder):
            Path(place).chmod(0o755)
        shutil.rmtree(folder)


@contextlib.contextmanager
def as_nobody():
    """Run a block with the rights of an ordinary user."""
    if not hasattr(os, "geteuid"):
        pytest.skip("this system has no users of this kind")
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
