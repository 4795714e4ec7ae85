"""A page that takes its time, in a real browser: progress, cancelling, and a new upload in the middle."""

import time

import pytest
from browser_visitor import Visitor
from running_service import SCAN, png, running, slow_binarizer, text_page

WINDOW_SECONDS = 0.25


@pytest.fixture(scope="module")
def server():
    binarizer, network = slow_binarizer(WINDOW_SECONDS)
    with binarizer, running(binarizer, page=True) as server:
        server.network = network
        yield server


def test_progress_is_shown_and_cancelling_frees_the_worker(browser, server, tmp_path):
    (tmp_path / "tall.png").write_bytes(png(text_page(20000, 100)))
    (tmp_path / "scan.png").write_bytes(SCAN)
    visitor = Visitor(browser, server)
    page = visitor.page
    visitor.upload(tmp_path / "tall.png")
    page.wait_for_function(
        "() => /^[1-9][0-9]* of [0-9]+ windows/.test(document.getElementById('numbers').textContent)"
    )
    assert "left" in page.inner_text("#numbers")
    said, last = [], time.monotonic()
    while len(said) < 2:
        words = page.inner_text("#numbers")
        if not said or words != said[-1]:
            said.append(words)
            last = time.monotonic()
        assert time.monotonic() - last < 3  # one second where the machine does nothing else
    started = time.monotonic()
    page.click("#cancel")
    visitor.wait_until("Cancelled.")
    assert server.service.held == 0
    assert time.monotonic() - started < WINDOW_SECONDS + 3
    seen = server.network.windows
    # A new upload in the middle of the work takes its place.
    visitor.upload(tmp_path / "tall.png")
    page.wait_for_function("() => document.getElementById('numbers').textContent.includes(' windows')")
    visitor.upload(tmp_path / "scan.png")
    assert page.inner_text("#page-title") == "scan.png"
    visitor.wait_until("Done.")
    assert page.inner_text("#page-title") == "scan.png"
    assert server.network.windows < seen + 30  # windows of the whole page
    assert len(server.guard.app.state.book.jobs) == 1
    visitor.leave()
