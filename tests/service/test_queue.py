"""The queue: a full one, and clients that go away."""

import asyncio
import socket
import time

import pytest
from running_service import SCAN, TALL, post, problem, running, slow_binarizer

httpx = pytest.importorskip("httpx")


def test_a_full_queue_answers_429_and_says_when_to_come_back():
    binarizer, _ = slow_binarizer(0.4)
    with binarizer, running(binarizer, queue=1) as server:
        room = server.service.engine.threads + 1

        async def crowd():
            async with httpx.AsyncClient(timeout=60) as client:
                files = {"file": ("a.png", SCAN)}
                asked = [client.post(f"{server.url}/v1/binarize", files=files) for _ in range(room + 3)]
                return await asyncio.gather(*asked)

        answers = asyncio.run(crowd())
        codes = sorted(answer.status_code for answer in answers)
        assert codes == [200] * room + [429] * 3
        refused = next(answer for answer in answers if answer.status_code == 429)
        problem(refused, 429)
        assert 1 <= int(refused.headers["retry-after"]) < 60
        assert post(server).status_code == 200  # places are free again
        assert "drmamba_rejected_total 3.0" in httpx.get(f"{server.url}/metrics").text


def test_a_client_that_goes_away_takes_its_work_along():
    binarizer, network = slow_binarizer(0.15)
    with binarizer, running(binarizer) as server:
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{server.url}/v1/binarize", files={"file": ("a.png", TALL)}, timeout=0.5)
        deadline = time.monotonic() + 5
        while server.service.held and time.monotonic() < deadline:
            time.sleep(0.02)
        assert server.service.held == 0
        time.sleep(0.6)  # the lane ends the windows that it was handed already
        stopped_at = network.windows
        time.sleep(0.5)
        assert network.windows == stopped_at
        whole = 1 + 8  # the warm-up, and every window of the page
        assert stopped_at < whole
        assert "drmamba_cancelled_total 1.0" in httpx.get(f"{server.url}/metrics").text


def test_a_half_sent_request_frees_its_place(dark):
    host, port = dark.socket.getsockname()
    with socket.create_connection((host, port)) as line:
        line.sendall(b"POST /v1/binarize HTTP/1.1\r\nHost: x\r\nContent-Type: image/png\r\n"
                     b"Content-Length: 1000\r\n\r\nabc")  # fmt: skip
        while not dark.service.held:
            time.sleep(0.01)
    deadline = time.monotonic() + 5
    while dark.service.held and time.monotonic() < deadline:
        time.sleep(0.01)
    assert dark.service.held == 0
