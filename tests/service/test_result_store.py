"""Stored results: their life and their limit."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from drmamba.service.result_store import ResultStore
from drmamba.service.upload import plain_name


def filled(store, size):
    path = store.new_folder() / "x"
    path.write_bytes(bytes(size))
    return store.put(path, "image/png", "x.png")


def test_results_expire():
    now = [0.0]
    store = ResultStore(10, 1000, clock=lambda: now[0])
    name = filled(store, 5)
    now[0] = 9.9
    path = store.get(name).path
    assert path.exists()
    now[0] = 10.0
    assert store.get(name) is None
    assert not path.exists()
    store.close()


def test_the_oldest_make_room():
    store = ResultStore(10, 100)
    names = [filled(store, 40) for _ in range(4)]
    assert [store.get(name) is not None for name in names] == [False, False, True, True]
    store.close()
    assert not store.folder.exists()


def test_names_cannot_be_guessed_or_walk():
    store = ResultStore(10, 1000)
    assert len({filled(store, 1) for _ in range(20)}) == 20
    assert store.get("../../etc/passwd") is None
    store.close()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks")
def test_what_killed_services_left_is_removed_and_living_ones_are_not(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    code = "import os; from drmamba.service.result_store import ResultStore as Store; "
    code += "print(Store(1, 1).folder, flush=True); os._exit(9)"
    run = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"TMPDIR": str(tmp_path)}, stdout=subprocess.PIPE
    )
    dead, strange = Path(run.stdout.decode().strip()), tmp_path / "drmamba-serve-strange"
    strange.mkdir()
    assert dead.parent == tmp_path
    assert dead.exists()
    living = ResultStore(10, 1000)
    assert not dead.exists()
    filled(living, 5)
    other = ResultStore(10, 1000)
    assert living.folder.exists()
    assert strange.exists()  # nobody's lock, nobody's business
    living.close()
    other.close()


def test_plain_names():
    assert plain_name("C:\\scans\\page 1.jpg") == "page 1.jpg"
    assert plain_name("../../etc/passwd") == "passwd"
    assert plain_name("") == plain_name("..") == plain_name("a/") == "page"
    assert plain_name('a"\r\nSet-Cookie: x') == "aSet-Cookie: x"
    assert len(plain_name("x" * 5000)) == 200
