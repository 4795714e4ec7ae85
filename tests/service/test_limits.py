"""The limits of a request: bytes, files, pages, pixels, time and memory."""

import math
import time

import numpy as np
import pytest
from running_service import TALL, dark_binarizer, png, post, problem, running, slow_binarizer, text_page

from drmamba.config import ReadingConfig, ServiceConfig
from drmamba.errors import ImageError, MemoryLimitError
from drmamba.images import Bitmap, encode
from drmamba.images.reading.decoder_process import DecoderProcess
from drmamba.service.problems import Problem
from drmamba.service.progress import Watch
from drmamba.service.watched_reader import WatchedReader

httpx = pytest.importorskip("httpx")


def test_each_limit_names_itself():
    many = encode([Bitmap.pack(text_page(60, 60) < 128)] * 4, ".tif")
    with dark_binarizer() as binarizer, running(
        binarizer, max_bytes=20_000, max_pixels=40_000, max_pages=3, max_files=2
    ) as server:  # fmt: skip
        problem(post(server, bytes(30_000)), 413, limit="bytes", allowed=20_000)
        stream = (bytes(1000) for _ in range(30))  # no Content-Length
        answer = httpx.post(
            f"{server.url}/v1/binarize", content=stream, headers={"content-type": "image/png"}
        )
        problem(answer, 413, limit="bytes")
        small = png(np.zeros((210, 200), np.uint8))
        problem(post(server, small), 413, limit="pixels", allowed=40_000)
        problem(post(server, many, "many.tif"), 413, limit="pages", allowed=3)
        problem(post(server, [("file", ("a.png", b"x"))] * 3), 413, limit="files", allowed=2)
        assert post(server, png(text_page(100, 100))).status_code == 200  # and goes on


def test_work_and_uploads_have_a_time_limit():
    binarizer, _ = slow_binarizer(0.3)
    with binarizer, running(binarizer, max_seconds=0.5, upload_seconds=0.4) as server:
        body = problem(post(server, TALL), 422, limit="seconds", allowed=0.5)
        assert "0.5 s" in body["detail"]

        def trickle():
            for _ in range(10):
                yield b"x"
                time.sleep(0.1)

        answer = httpx.post(
            f"{server.url}/v1/binarize", content=trickle(), headers={"content-type": "image/png"}
        )
        problem(answer, 408, limit="seconds", allowed=0.4)


@pytest.mark.parametrize(("seconds", "expected"), [(0.02, Problem), (60, ImageError)])
def test_a_decoder_given_up_for_the_clock_is_not_a_bad_file(tmp_path, monkeypatch, seconds, expected):
    def give_up(*_):
        time.sleep(0.05)
        raise ImageError("scan.png took too long")

    monkeypatch.setattr(DecoderProcess, "ask", give_up)
    reader = WatchedReader(10**9, ServiceConfig())
    reader.begin(Watch(deadline=time.monotonic() + seconds), ReadingConfig())
    with pytest.raises(expected) as caught:
        reader.ask(tmp_path, {}, 8.0)
    if expected is Problem:
        assert caught.value.body()["limit"] == "seconds"


def test_a_page_too_large_for_the_memory_is_told_how_large_it_may_be(dark, monkeypatch):
    monkeypatch.setattr(dark.service.engine.ledger, "total", 15_000_000)
    body = problem(post(dark, TALL, "tall.png"), 413, limit="pixels")
    assert body["detail"].startswith("tall.png is too large: 1.2 megapixels")
    assert "memory" in body["detail"]
    assert "--" not in body["detail"]  # the operator's options
    side = math.sqrt(body["allowed"] / 1_200_000)
    smaller = png(text_page(int(3000 * side), int(400 * side)))
    assert post(dark, smaller).status_code == 200


def test_a_decoder_out_of_memory_is_a_page_too_large(tmp_path, monkeypatch):
    def give_up(*_):
        raise MemoryLimitError("scan.png: there is not enough memory for this page")

    monkeypatch.setattr(DecoderProcess, "ask", give_up)
    reader = WatchedReader(10**9, ServiceConfig())
    with pytest.raises(Problem) as caught:
        reader.ask(tmp_path, {"do": "decode"}, 8.0)
    assert caught.value.status == 413
    assert "--max-memory" not in caught.value.detail
