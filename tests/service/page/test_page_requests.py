"""The page as a program sees it, which may send what no browser would."""

import io
import json
import uuid

import pytest
from PIL import Image
from running_service import running, text_page

from drmamba.config import EngineConfig
from drmamba.inference.binarizer import Binarizer, load_model

httpx = pytest.importorskip("httpx")
pytest.importorskip("gradio", reason="the page needs gradio (extra web)")
pytestmark = pytest.mark.filterwarnings("default")  # gradio's and asyncio's own


@pytest.fixture(scope="module")
def server():
    network, provenance, sha256 = load_model("lite")
    engine = EngineConfig(device="cpu", workers=1)
    binarizer = Binarizer(network, engine=engine, provenance=provenance, sha256=sha256)
    with binarizer, running(binarizer, page=True) as server:
        yield server


def scan():
    buffer = io.BytesIO()
    Image.fromarray(text_page(96, 80)).save(buffer, "JPEG")
    return buffer.getvalue()


def upload_event(server, path):
    """What the page's upload event answers to a path on the server's disk."""
    config = httpx.get(f"{server.url}/config").json()
    upload = next(c["id"] for c in config["components"] if c["props"].get("elem_id") == "upload")
    event = next(d["id"] for d in config["dependencies"] if [upload, "upload"] in d["targets"])
    session = uuid.uuid4().hex
    files = [{"path": str(path), "meta": {"_type": "gradio.FileData"}}]
    body = {"data": [None, 0.5, 1.0, "Result", files], "fn_index": event, "session_hash": session}
    httpx.post(f"{server.url}/gradio_api/queue/join", json=body).raise_for_status()
    where = f"{server.url}/gradio_api/queue/data"
    messages = []
    with httpx.stream("GET", where, params={"session_hash": session}, timeout=60) as answer:
        for line in answer.iter_lines():
            if line.startswith("data:"):
                messages.append(json.loads(line.removeprefix("data:")))
                if messages[-1]["msg"] == "process_completed":
                    break
    return messages


def test_a_file_that_was_not_uploaded_is_not_opened(server, tmp_path):
    secret = tmp_path / "secret.jpg"
    secret.write_bytes(scan())
    messages = upload_event(server, secret)
    assert messages[-1]["success"] is False
    assert "secret" not in json.dumps(messages)
    assert "pixels" not in json.dumps(messages)


def test_an_upload_is_opened(server):
    url = f"{server.url}/gradio_api/upload"
    (path,) = httpx.post(url, files={"files": ("mine.jpg", scan())}).json()
    messages = upload_event(server, path)
    assert messages[-1]["success"] is True
    assert "mine.jpg" in json.dumps(messages)


@pytest.mark.parametrize(
    ("method", "path", "status", "allowed"),
    [
        ("GET", "/v1/binarize", 405, "POST"),
        ("DELETE", "/v1/models", 405, "GET"),
        ("POST", "/healthz", 405, "GET"),
        ("GET", "/v1/nothing", 404, None),
    ],
)
def test_the_api_s_paths_are_not_the_page_s(server, method, path, status, allowed):
    answer = httpx.request(method, server.url + path)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == status
    assert answer.headers.get("allow") == allowed
    assert httpx.get(f"{server.url}/v1/models").status_code == 200
    assert "drmamba" in httpx.get(server.url).text
