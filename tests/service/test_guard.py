"""The guard in front of the application: headers, host names, other sites, readers that do not read; and no way out."""

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time

import pytest
from running_service import SCAN, dark_binarizer, post, problem, running

from drmamba.config import ServiceConfig
from drmamba.service import guard
from drmamba.service.guard import known_host

httpx = pytest.importorskip("httpx")


@pytest.fixture(scope="module")
def paged():
    with dark_binarizer() as binarizer, running(binarizer, page=True) as server:
        yield server


@pytest.mark.parametrize("path", ["/", "/docs", "/page/page.js", "/v1/models", "/nothing", "/page/../api.py"])
def test_every_answer_has_strict_headers(paged, path):
    headers = httpx.get(paged.url + path).headers
    assert headers["x-content-type-options"] == "nosniff"
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/page/", 404),
        ("GET", "/page/index.html", 404),
        ("GET", "/v1/nothing", 404),
        ("GET", "/gradio_api/proxy=%00", 404),
        ("POST", "/gradio_api/run/x", 404),
        ("POST", "/gradio_api/queue/join", 404),
        ("GET", "/page/%00", 404),
        ("GET", "/page/%2e%2e%2fapi.py", 404),
        ("GET", "/v1/jobs/%00", 404),
        ("PUT", "/v1/jobs/x/settings", 404),
        ("DELETE", "/", 405),
        ("GET", "/v1/binarize", 405),
        ("POST", "/healthz", 405),
        ("PATCH", "/page/page.js", 405),
    ],
)
def test_unknown_paths_and_methods_are_problems(paged, caplog, method, path, status):
    for junk in (b'{"data": [], "fn_index": 99, "session_hash": null}', b"{junk", b"\xff\0"):
        headers = {"content-type": "application/json"}
        answer = httpx.request(method, paged.url + path, content=junk, headers=headers)
        problem(answer, status)
        assert ("allow" in answer.headers) == (status == 405)
    assert caplog.records == []


def test_only_known_hosts_are_served_unless_there_is_a_token(paged):
    def status(**headers):
        return httpx.get(f"{paged.url}/v1/models", headers=headers).status_code

    problem(httpx.get(f"{paged.url}/v1/models", headers={"host": "evil.example:80"}), 421)
    for host in ("localhost", "localhost:7860", "127.0.0.1", "[::1]:7860", "192.0.2.7:80"):
        assert status(host=host) == 200
    assert httpx.get(f"{paged.url}/healthz", headers={"host": "evil.example"}).status_code == 200
    assert known_host("scans.example.org:443", ServiceConfig(hosts=("scans.example.org",)))
    assert not known_host("scans.example.org.evil.example", ServiceConfig(hosts=("scans.example.org",)))
    assert not known_host("", ServiceConfig())
    with dark_binarizer() as binarizer, running(binarizer, token="s3cret") as server:
        headers = {"host": "scans.example.org", "authorization": "Bearer s3cret"}
        assert httpx.get(f"{server.url}/v1/models", headers=headers).status_code == 200


def test_a_page_of_another_site_cannot_start_work(paged):
    problem(post(paged, headers={"sec-fetch-site": "cross-site"}), 403)
    assert post(paged, headers={"sec-fetch-site": "same-origin"}).status_code == 200


# Run in every Python process, this refuses all that would leave the machine, and notes it as long as the file exists.
TRAP = """
import os, sys

def refuse(event, arguments):
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        target = arguments[1]
    elif event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo"):
        target = arguments[0]
    else:
        return
    host = target[0] if isinstance(target, tuple) else target if event.startswith("socket.get") else None
    if os.path.exists({log!r}) and host not in (None, "127.0.0.1", b"127.0.0.1", "::1"):
        with open({log!r}, "a") as log:
            log.write(str(host) + " ")
        raise OSError("this test has no network")

sys.addaudithook(refuse)
"""
ADDRESS = "http://192.0.2.1/page.png"
GRADIO_FILE = {"path": ADDRESS, "orig_name": "page.png", "meta": {"_type": "gradio.FileData"}}
OUTER_PDF = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R/OpenAction<</S/URI/URI(http://192.0.2.1/)>>>>endobj\n"
    b"2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 60 60]"
    b"/Contents<</Length 0/FS/URL/F(http://192.0.2.1/page)>>>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF"
)


@pytest.fixture
def outward(tmp_path, monkeypatch):
    """The file with the names of the machines that this process or a decoder tried to reach."""
    log = tmp_path / "outward"
    log.write_text("")
    trap = TRAP.format(log=str(log))
    (tmp_path / "sitecustomize.py").write_text(trap)  # which every Python imports when it starts
    paths = filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    exec(trap, {})
    reach = "import socket; socket.create_connection(('192.0.2.1', 80))"
    with pytest.raises(OSError, match="no network"):
        exec(reach)
    assert b"no network" in subprocess.run([sys.executable, "-P", "-c", reach], stderr=subprocess.PIPE).stderr
    assert log.read_text() == "192.0.2.1 192.0.2.1 "
    log.write_text("")
    yield log
    log.unlink()


def test_no_client_can_make_the_service_connect_anywhere(outward):
    svg = f'<svg xmlns="http://www.w3.org/2000/svg"><image href="{ADDRESS}"/></svg>'.encode()
    files = ((ADDRESS, SCAN), ("a.svg", svg), ("a.png", ADDRESS.encode()), ("a.pdf", OUTER_PDF))
    with (
        dark_binarizer() as binarizer,
        running(binarizer, page=True) as server,
        httpx.Client(base_url=server.url, timeout=60) as client,
    ):
        for path in ("/v1/binarize", "/v1/jobs"):
            for file in files:
                client.post(path, files={"file": file})
            client.post(path, json={"file": ADDRESS, "path": ADDRESS, "url": ADDRESS})
            client.post(path, params={"file": ADDRESS}, files={"file": SCAN})
        for path in ("/gradio_api/proxy=", "/gradio_api/file=", "/", "/?"):
            client.get(path + ADDRESS)
        for event in range(9):  # Gradio, which once made the page, fetched the files of each of these.
            body = {"data": [GRADIO_FILE] * 8, "fn_index": event, "session_hash": f"session{event}"}
            client.post("/gradio_api/queue/join", json=body)
        job = client.post("/v1/jobs", files={"file": (ADDRESS, SCAN)}).json()
        assert job["files"][0]["name"] == "page.png"
        while client.get(f"/v1/jobs/{job['id']}").json()["status"] in ("waiting", "working"):
            time.sleep(0.05)
    assert outward.read_text() == ""


@pytest.mark.parametrize("reads", [False, True])
def test_a_client_that_does_not_read_its_answer_does_not_stop_a_shutdown(monkeypatch, caplog, reads):
    if not reads:
        monkeypatch.setattr(guard, "STOPPING_SECONDS", 0.3)
    with dark_binarizer() as binarizer, contextlib.ExitStack() as lines:
        with running(binarizer, answer_seconds=1.0) as server:  # which must end within half a minute
            stored = server.service.store.new_folder() / "large"
            stored.write_bytes(bytes(60_000_000))
            name = server.service.store.put(stored, "image/png", "large.png")
            line = lines.enter_context(socket.create_connection(server.socket.getsockname()))
            line.sendall(f"GET /v1/results/{name} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            assert (
                line.recv(12) == b"HTTP/1.1 200"
            )  # and of the rest nothing, or so little that it would take minutes
            if reads:
                over = threading.Event()
                slowly = threading.Thread(target=read_slowly, args=(line, over))
                slowly.start()
                lines.callback(slowly.join)
                lines.callback(over.set)
            assert server.guard.unanswered == 1
        assert server.guard.unanswered == 0
    assert caplog.records == []


def read_slowly(line, over):
    """Read an answer in small pieces until the service gives up, or the test is over."""
    with contextlib.suppress(ConnectionError):
        while not over.wait(0.1) and line.recv(100_000):
            continue
