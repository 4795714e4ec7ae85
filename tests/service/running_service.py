"""Services that run in a thread of the tests, with a network of one line unless a test needs more; and requests."""

import contextlib
import io
import sys
import threading
import time
from pathlib import Path

import pytest
from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[1] / "inference"))
from stand_in import Darkness, binarizer, text_page

from drmamba.checkpoint import Provenance
from drmamba.config import EngineConfig, ServiceConfig
from drmamba.inference.binarizer import Binarizer

for library in ("fastapi", "uvicorn", "httpx", "prometheus_client", "python_multipart"):
    pytest.importorskip(library, reason=f"the service's tests need {library} (extra web)")


httpx = pytest.importorskip("httpx")
dark_binarizer = binarizer


class Slow(Darkness):
    """Takes its time for every window, and counts them."""

    def __init__(self, seconds):
        super().__init__()
        self.seconds, self.windows = seconds, 0

    def forward(self, image, **settings):
        self.windows += 1
        time.sleep(self.seconds)
        return super().forward(image, **settings)


def slow_binarizer(seconds):
    network = Slow(seconds)
    made = Binarizer(
        network, engine=EngineConfig(workers=1), provenance=Provenance(trained=True), sha256="slow"
    )
    return made, network


@contextlib.contextmanager
def running(binarizer, **limits):
    """A server on a free port of this machine."""
    from drmamba.service.server import Server

    server = Server(binarizer, ServiceConfig(**{"port": 0, "page": False} | limits))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        engine = server.service.engine
        while not server.started or not (engine.ready.wait(0.05) or engine.fault):
            assert thread.is_alive()
        yield server
    finally:
        server.should_exit = True
        thread.join(30)
        server.socket.close()
        assert not thread.is_alive()
        assert not server.service.store.folder.exists()


def png(array, **options):
    buffer = io.BytesIO()
    Image.fromarray(array).save(buffer, "PNG", **options)
    return buffer.getvalue()


SCAN = png(text_page(150, 200), dpi=(300, 300))
TALL = png(text_page(3000, 400))  # several lines of windows


def post(server, data=SCAN, name="scan.png", **options):
    files = [("file", (name, data))] if isinstance(data, bytes) else data
    return httpx.post(f"{server.url}/v1/binarize", files=files, timeout=60, **options)


def problem(answer, status, **wanted):
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert body["status"] == status
    assert body["detail"]
    assert {key: body.get(key) for key in wanted} == wanted
    return body
