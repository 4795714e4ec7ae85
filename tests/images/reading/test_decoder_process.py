"""The decoding process gives the same pixels, and a crash or a hang costs one file only."""

import os
import signal
import time

import numpy as np
import pytest
from PIL import Image

from drmamba.config import ReadingConfig
from drmamba.errors import DecoderCrashError, ImageError, PixelLimitError
from drmamba.images import read_rgb
from drmamba.images.reading import decoder_process
from drmamba.images.reading.decoder_process import DecoderProcess


@pytest.fixture
def page(tmp_path):
    rng = np.random.default_rng(0)
    Image.fromarray(rng.integers(0, 256, (90, 70, 3), np.uint8)).save(tmp_path / "page.png", dpi=(300, 200))
    return tmp_path / "page.png"


def test_pages_are_the_same_in_the_other_process(page):
    with DecoderProcess(500_000_000) as decoder:
        (found,) = [(p.read(11), p.dpi) for p in decoder.open(page)]
    np.testing.assert_array_equal(found[0], read_rgb(page))
    assert found[1] == pytest.approx((300, 200), rel=1e-3)


def test_one_process_reads_many_files_and_survives_bad_ones(page, tmp_path):
    (tmp_path / "bad.png").write_bytes(page.read_bytes()[:600])
    (tmp_path / "empty.png").write_bytes(b"")
    with DecoderProcess(500_000_000) as decoder:
        for _ in range(3):
            with pytest.raises(ImageError, match=r"bad\.png"):
                [p.read() for p in decoder.open(tmp_path / "bad.png")]
            with pytest.raises(ImageError, match=r"empty\.png is empty"):
                decoder.open(tmp_path / "empty.png")
            assert [p.height for p in decoder.open(page)] == [90]
        process = decoder._process
        assert process is not None
        assert process.poll() is None


def test_a_crash_is_an_error_and_the_next_file_is_read(page):
    with DecoderProcess(500_000_000) as decoder:
        (found,) = list(decoder.open(page))[:1]
        os.kill(decoder._process.pid, signal.SIGKILL)
        with pytest.raises(DecoderCrashError, match=r"page\.png made the decoder crash"):
            found.rows(0, 1)
        assert [p.height for p in decoder.open(page)] == [90]


def test_a_hang_is_an_error_after_a_while(page, monkeypatch):
    with DecoderProcess(500_000_000) as decoder:
        (found,) = list(decoder.open(page))[:1]
        os.kill(decoder._process.pid, signal.SIGSTOP)
        monkeypatch.setattr(found, "seconds", 0.3)
        started = time.perf_counter()
        with pytest.raises(ImageError, match="took more than"):
            found.rows(0, 1)
        assert time.perf_counter() - started < 5
        assert [p.height for p in decoder.open(page)] == [90]


@pytest.mark.parametrize(
    ("doing", "waits"), [([("R", 0.0)], 3), ([("S", 0.0)], 1), ([("R", 0.0), ("R", 9.0)], 1)]
)
def test_a_decoder_that_waits_for_a_busy_processor_gets_more_time(page, monkeypatch, doing, waits):
    states = iter(doing)
    with DecoderProcess(500_000_000) as decoder:
        (found,) = list(decoder.open(page))[:1]
        monkeypatch.setattr(decoder_process, "_state", lambda _: next(states, doing[-1]))
        os.kill(decoder._process.pid, signal.SIGSTOP)
        decoder.max_waits, found.seconds = 3, 0.3
        started = time.perf_counter()
        with pytest.raises(ImageError, match="took more than"):
            found.rows(0, 1)
        assert round((time.perf_counter() - started) / 0.3) >= waits
        assert time.perf_counter() - started < 0.3 * waits + 2


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="no memory limit on this system")  # noqa: PTH110
def test_a_page_that_needs_more_than_the_limit_is_an_error(tmp_path, page):
    Image.new("RGB", (9000, 9000)).save(tmp_path / "large.webp", lossless=True)
    with DecoderProcess(100_000_000) as decoder:
        with pytest.raises(
            ImageError, match=r"large\.webp (is damaged, or needs|made the decoder crash|needs)"
        ):
            [p.rows(0, 1) for p in decoder.open(tmp_path / "large.webp")]
        assert [p.height for p in decoder.open(page)] == [90]


def test_a_limit_keeps_its_numbers_on_the_way_from_the_process(page):
    with (
        DecoderProcess(500_000_000, ReadingConfig(max_pixels=1000)) as decoder,
        pytest.raises(PixelLimitError, match=r"page\.png declares 70 x 90") as caught,
    ):
        list(decoder.open(page))
    assert (caught.value.value, caught.value.limit) == (6300, 1000)


def test_closing_ends_the_process(page):
    decoder = DecoderProcess(500_000_000)
    decoder.open(page)
    process = decoder._process
    decoder.close()
    assert process.poll() is not None
    assert decoder_process.BASE_SECONDS <= 10


def test_the_current_folder_is_not_imported_from(page, tmp_path, monkeypatch):
    (tmp_path / "PIL").mkdir()
    (tmp_path / "PIL/__init__.py").write_text("raise SystemExit('a stranger among the scans')")
    monkeypatch.chdir(tmp_path)
    with DecoderProcess(500_000_000) as decoder:
        assert [p.height for p in decoder.open(page)] == [90]
