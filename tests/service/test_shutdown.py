"""A shutdown finishes the work in progress, unless it is forced."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from running_service import TALL, post, problem, running, slow_binarizer

httpx = pytest.importorskip("httpx")


def test_shutdown_finishes_what_is_in_hand():
    binarizer, _ = slow_binarizer(0.3)
    answers = []
    with binarizer, running(binarizer) as server:
        asking = threading.Thread(target=lambda: answers.append(post(server)))
        asking.start()
        while not server.service.held:
            time.sleep(0.01)
        url, server.should_exit = server.url, True
        asking.join(20)
    assert [answer.status_code for answer in answers] == [200]
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url}/healthz")


HURRIED = """
from running_service import slow_binarizer
from drmamba.config import ServiceConfig
from drmamba.service.server import Server

binarizer, network = slow_binarizer(0.5)
with binarizer:
    server = Server(binarizer, ServiceConfig(port=0, page=False))
    print(server.url, server.service.store.folder, flush=True)
    try:
        server.run()
    finally:
        print(network.windows, flush=True)
"""


def listens(url):
    try:
        return httpx.get(f"{url}/healthz").is_success
    except httpx.TransportError:
        return False


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is another thing there")
def test_a_second_ctrl_c_gives_up_what_is_in_hand():
    paths = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    command, environment = [sys.executable, "-c", HURRIED], os.environ | {"PYTHONPATH": paths}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    answers = []
    with subprocess.Popen(command, env=environment, **pipes) as process:
        url, folder = process.stdout.readline().split()

        def ask():
            answers.append(httpx.post(f"{url}/v1/binarize", files={"file": ("a.png", TALL)}, timeout=60))

        asking = threading.Thread(target=ask)
        asking.start()
        while "drmamba_in_hand 1.0" not in httpx.get(f"{url}/metrics").text:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        while listens(url):
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        windows, errors = process.communicate(timeout=60)
        asking.join(20)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert int(windows) < 1 + 8  # the warm-up, and every window of the page
    assert not Path(folder).exists()
    problem(answers[0], 503)
