"""The decoding process: same pixels, and accidents that cost one file."""

import os
import signal
import time

import numpy as np
import pytest
from PIL import Image

from drmamba.errors import ImageError
from drmamba.images import isolated, read_rgb
from drmamba.images.isolated import Reader


@pytest.fixture
def page(tmp_path):
    rng = np.random.default_rng(0)
    Image.fromarray(rng.integers(0, 256, (90, 70, 3), np.uint8)).save(tmp_path / "page.png", dpi=(300, 200))
    return tmp_path / "page.png"


def test_pages_are_the_same_over_there(page):
    with Reader(500_000_000) as reader:
        (found,) = [(p.read(11), p.dpi) for p in reader.open(page)]
    np.testing.assert_array_equal(found[0], read_rgb(page))
    assert found[1] == pytest.approx((300, 200), rel=1e-3)


def test_one_process_reads_many_files_and_survives_bad_ones(page, tmp_path):
    (tmp_path / "bad.png").write_bytes(page.read_bytes()[:600])
    (tmp_path / "empty.png").write_bytes(b"")
    with Reader(500_000_000) as reader:
        for _ in range(3):
            with pytest.raises(ImageError, match=r"bad\.png"):
                [p.read() for p in reader.open(tmp_path / "bad.png")]
            with pytest.raises(ImageError, match=r"empty\.png is empty"):
                reader.open(tmp_path / "empty.png")
            assert [p.height for p in reader.open(page)] == [90]
        process = reader._process
        assert process is not None
        assert process.poll() is None


def test_a_crash_is_an_error_and_the_next_file_is_read(page):
    with Reader(500_000_000) as reader:
        (found,) = list(reader.open(page))[:1]
        os.kill(reader._process.pid, signal.SIGKILL)
        with pytest.raises(ImageError, match=r"page\.png made the decoder crash"):
            found.rows(0, 1)
        assert [p.height for p in reader.open(page)] == [90]


def test_a_hang_is_an_error_after_a_while(page, monkeypatch):
    with Reader(500_000_000) as reader:
        (found,) = list(reader.open(page))[:1]
        os.kill(reader._process.pid, signal.SIGSTOP)
        monkeypatch.setattr(found, "_patience", 0.3)
        started = time.perf_counter()
        with pytest.raises(ImageError, match="took more than"):
            found.rows(0, 1)
        assert time.perf_counter() - started < 5
        assert [p.height for p in reader.open(page)] == [90]


@pytest.mark.parametrize(
    ("doing", "turns"), [([("R", 0.0)], 3), ([("S", 0.0)], 1), ([("R", 0.0), ("R", 9.0)], 1)]
)
def test_a_decoder_that_waits_for_a_busy_processor_gets_more_time(page, monkeypatch, doing, turns):
    states = iter(doing)
    with Reader(500_000_000) as reader:
        (found,) = list(reader.open(page))[:1]
        monkeypatch.setattr(isolated, "_state", lambda _: next(states, doing[-1]))
        os.kill(reader._process.pid, signal.SIGSTOP)
        reader.turns, found._patience = 3, 0.3
        started = time.perf_counter()
        with pytest.raises(ImageError, match="took more than"):
            found.rows(0, 1)
        assert round((time.perf_counter() - started) / 0.3) >= turns
        assert time.perf_counter() - started < 0.3 * turns + 2


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="no memory limit on this system")  # noqa: PTH110
def test_a_page_that_needs_more_than_the_limit_is_an_error(tmp_path, page):
    Image.new("RGB", (9000, 9000)).save(tmp_path / "large.webp", lossless=True)
    with Reader(100_000_000) as reader:
        with pytest.raises(ImageError, match=r"large\.webp (cannot be read|made the decoder crash|needs)"):
            [p.rows(0, 1) for p in reader.open(tmp_path / "large.webp")]
        assert [p.height for p in reader.open(page)] == [90]


def test_the_process_ends_with_its_reader(page):
    reader = Reader(500_000_000)
    reader.open(page)
    process = reader._process
    reader.close()
    assert process.poll() is not None
    assert isolated.PATIENCE <= 10


def test_the_current_folder_is_not_imported_from(page, tmp_path, monkeypatch):
    (tmp_path / "PIL").mkdir()
    (tmp_path / "PIL/__init__.py").write_text("raise SystemExit('a stranger among the scans')")
    monkeypatch.chdir(tmp_path)
    with Reader(500_000_000) as reader:
        assert [p.height for p in reader.open(page)] == [90]
