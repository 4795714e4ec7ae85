"""Connections on which no request arrives."""

import contextlib
import select
import socket

import pytest
from running_service import post, running, slow_binarizer

from drmamba.service import server as server_module

pytest.importorskip("httpx")


def closed(line):
    """Return whether the service closes a connection within a few seconds; what it sends before is skipped."""
    try:
        while select.select([line], [], [], 5)[0]:
            if not line.recv(10_000):
                return True
    except ConnectionError:
        return True
    return False


def test_a_connection_without_a_request_is_closed_and_one_with_work_stays(monkeypatch):
    monkeypatch.setattr(server_module, "IDLE_SECONDS", 0.3)
    whole = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    begun = b"GET /healthz HTTP/1.1\r\nHo"
    binarizer, _ = slow_binarizer(0.8)
    with binarizer, running(binarizer) as server, contextlib.ExitStack() as stack:
        for sent in (b"", begun, whole + begun):
            line = stack.enter_context(socket.create_connection(server.socket.getsockname()))
            line.sendall(sent)
            assert closed(line), sent
        assert post(server).status_code == 200
