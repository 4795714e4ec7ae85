"""The queue: a full one, and clients that go away."""

import asyncio
import contextlib
import errno
import select
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


HALF = b"POST /v1/binarize HTTP/1.1\r\nHost: localhost\r\nContent-Type: image/png\r\nContent-Length: 9000000\r\n\r\nabc"


def answer_to(line, sent_meanwhile=b""):
    """Return how the answer to an unfinished upload begins, or nothing if there is none for a while."""
    deadline = time.monotonic() + 8
    while time.monotonic() < deadline:
        if select.select([line], [], [], 0.02)[0]:
            return line.recv(12)
        line.sendall(sent_meanwhile)
    return b""


def test_uploads_that_do_not_arrive_take_no_place_and_are_given_up(dark, monkeypatch):
    monkeypatch.setattr(upload, "GRACE_SECONDS", 1.0)
    service = dark.service
    waiting = service.engine.threads + service.limits.queue + 2
    with contextlib.ExitStack() as lines:
        opened = [
            lines.enter_context(socket.create_connection(dark.socket.getsockname())) for _ in range(waiting)
        ]
        for line in opened:
            line.sendall(HALF)
        opened[0].sendall(bytes(400_000))  # which at the least rate would take 20 seconds
        while dark.guard.unanswered < waiting:
            time.sleep(0.01)
        assert service.held == 0
        assert post(dark).status_code == 200
        # Neither many bytes at the beginning nor a few at a time are a way to stay.
        assert answer_to(opened[0]) == b"HTTP/1.1 408"
        assert answer_to(opened[1]) == b"HTTP/1.1 408"
        assert answer_to(opened[2], sent_meanwhile=b"x") == b"HTTP/1.1 408"
    deadline = time.monotonic() + 5
    while (service.receiving or service.quota.held) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert (service.receiving, service.quota.held) == (0, 0)


@pytest.mark.parametrize("place", ["new_folder", "upload", "put"])
def test_a_short_fault_of_the_disk_costs_no_place(dark, monkeypatch, place):
    service = dark.service
    as_json = {"headers": {"accept": "application/json"}}
    with monkeypatch.context() as patch:
        full = Mock(side_effect=OSError(errno.ENOSPC, "no space left on device"))
        patch.setattr(*((upload.Form, "_new") if place == "upload" else (service.store, place)), full)
        for _ in range(service.engine.threads + service.limits.queue + 1):
            problem(post(dark, **as_json), 507)
    assert (service.held, service.receiving, service.quota.held) == (0, 0, 0)
    assert httpx.get(f"{dark.url}/readyz").status_code == 200
    assert post(dark, **as_json).status_code == 200


def test_a_store_that_a_cleaner_of_temporary_folders_removed_is_made_again(dark):
    shutil.rmtree(dark.service.store.folder)
    answer = post(dark, headers={"accept": "application/json"})
    assert answer.status_code == 200
    link = answer.json()["files"][0]["pages"][0]["link"]
    assert httpx.get(dark.url + link).status_code == 200
