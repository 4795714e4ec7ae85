"""The queue: a full one, and clients that go away."""

import asyncio
import contextlib
import errno
import shutil
import socket
import time
from unittest.mock import Mock

import pytest
from running_service import SCAN, TALL, post, problem, running, slow_binarizer

from drmamba.service import upload

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


HALF = b"POST /v1/binarize HTTP/1.1\r\nHost: localhost\r\nContent-Type: image/png\r\nContent-Length: 1000\r\n\r\nabc"


def test_uploads_that_do_not_arrive_take_no_place_and_are_given_up(dark, monkeypatch):
    monkeypatch.setattr(upload, "GRACE_SECONDS", 0.5)
    service = dark.service
    waiting = service.engine.threads + service.limits.queue + 2
    with contextlib.ExitStack() as lines:
        opened = [
            lines.enter_context(socket.create_connection(dark.socket.getsockname())) for _ in range(waiting)
        ]
        for line in opened:
            line.sendall(HALF)
        while service.receiving < waiting:
            time.sleep(0.01)
        assert service.held == 0
        assert post(dark).status_code == 200
        assert b"408" in opened[0].recv(100)  # slower than the least rate
    deadline = time.monotonic() + 5
    while (service.receiving or service.quota.held) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert (service.receiving, service.quota.held) == (0, 0)


@pytest.mark.parametrize("cleaned", [False, True])
def test_a_short_fault_of_the_disk_costs_no_place(dark, monkeypatch, cleaned):
    service = dark.service
    if cleaned:  # by a program that removes old files from the temporary folder
        shutil.rmtree(service.store.folder)
    else:
        with monkeypatch.context() as patch:
            full = OSError(errno.ENOSPC, "no space left on device")
            patch.setattr(service.store, "new_folder", Mock(side_effect=full))
            for _ in range(service.engine.threads + service.limits.queue + 1):
                problem(post(dark), 507)
    assert service.held == 0
    assert post(dark).status_code == 200
    answer = post(dark, headers={"accept": "application/json"}).json()
    assert httpx.get(dark.url + answer["files"][0]["pages"][0]["link"]).status_code == 200
