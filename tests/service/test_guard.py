"""The guard in front of the application: headers, host names, other sites, readers that do not read; and no way out."""

import contextlib
import socket

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
        ("POST", "/gradio_api/queue/join", 404),
        ("DELETE", "/", 405),
        ("GET", "/v1/binarize", 405),
        ("POST", "/healthz", 405),
        ("PATCH", "/page/page.js", 405),
    ],
)
def test_unknown_paths_and_methods_are_problems(paged, method, path, status):
    answer = httpx.request(method, paged.url + path, content=b"{junk")
    problem(answer, status)
    assert ("allow" in answer.headers) == (status == 405)


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


def test_no_client_can_make_the_service_connect_anywhere(paged, monkeypatch):
    tried = []

    def refused(name):
        original = getattr(socket.socket, name)

        def connect(self, address, *rest):
            if self.family != socket.AF_UNIX and address[0] not in ("127.0.0.1", "::1"):
                tried.append(address)
                raise OSError("this test has no network")
            return original(self, address, *rest)

        return connect

    def resolved(host, *args, **kwargs):
        if host not in ("127.0.0.1", "::1", None):
            tried.append(host)
            raise OSError("this test has no network")
        return lookup(host, *args, **kwargs)

    lookup = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", resolved)
    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refused(name))
    with pytest.raises(OSError, match="no network"):  # The trap works.
        socket.create_connection(("192.0.2.1", 80))
    tried.clear()
    address = "http://192.0.2.1/page.png"
    svg = f'<svg xmlns="http://www.w3.org/2000/svg"><image href="{address}"/></svg>'.encode()
    with httpx.Client(base_url=paged.url, timeout=60) as client:
        for path in ("/v1/binarize", "/v1/jobs"):
            for name, data in ((address, SCAN), ("a.svg", svg), ("a.png", address.encode())):
                client.post(path, files={"file": (name, data)})
            client.post(path, json={"file": address, "path": address, "url": address})
            client.post(path, params={"file": address}, files={"file": SCAN})
        for path in ("/gradio_api/queue/join", "/gradio_api/proxy=" + address, "/" + address, "/?" + address):
            client.get(path)
            client.post(path, json={"data": [{"path": address, "meta": {"_type": "gradio.FileData"}}]})
        job = client.post("/v1/jobs", files={"file": (address, SCAN)}).json()
        assert job["files"][0]["name"] == "page.png"
    assert tried == []


def test_a_client_that_does_not_read_its_answer_does_not_stop_a_shutdown(monkeypatch, caplog):
    monkeypatch.setattr(guard, "STOPPING_SECONDS", 0.3)
    with dark_binarizer() as binarizer, contextlib.ExitStack() as lines:
        with running(binarizer) as server:  # which must end within half a minute
            stored = server.service.store.new_folder() / "large"
            stored.write_bytes(bytes(20_000_000))
            name = server.service.store.put(stored, "image/png", "large.png")
            line = lines.enter_context(socket.create_connection(server.socket.getsockname()))
            line.sendall(f"GET /v1/results/{name} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            assert line.recv(12) == b"HTTP/1.1 200"  # and nothing of the rest
            assert server.guard.unanswered == 1
        assert server.guard.unanswered == 0
    assert caplog.records == []
