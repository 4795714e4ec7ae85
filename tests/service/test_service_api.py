"""The API: answers, limits, the queue, cancelled work, shutdown, the token."""

import asyncio
import errno
import http.client
import io
import math
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image
from running_service import Darkness, dark_binarizer, running, slow_binarizer

sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))
from stand_in import text_page
from test_binarize_faults import healthy, mutated

from drmamba.checkpoint import Provenance
from drmamba.cli import group
from drmamba.config import EngineConfig, InferenceConfig, ServiceConfig
from drmamba.errors import ConfigError, ImageError, MemoryLimitError
from drmamba.images import Bitmap, encode
from drmamba.images.reading.decoder_process import DecoderProcess
from drmamba.inference.binarizer import Binarizer, load_model
from drmamba.service.engine import ConversionRequest, WatchedReader
from drmamba.service.guard import check_token
from drmamba.service.problems import Problem
from drmamba.service.server import Server
from drmamba.service.upload import Form

httpx = pytest.importorskip("httpx")
FULL = bool(os.environ.get("DRMAMBA_FULL"))


@pytest.fixture(scope="module")
def dark():
    with dark_binarizer() as binarizer, running(binarizer) as server:
        yield server


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


def test_one_file_comes_back_as_a_one_bit_file(dark):
    answer = post(dark)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["content-disposition"] == 'attachment; filename="scan.bin.png"'
    assert answer.headers["drmamba-flags"] == ""
    with Image.open(io.BytesIO(answer.content)) as image:
        assert (image.mode, image.size) == ("1", (200, 150))
        assert round(image.info["dpi"][0]) == 300
        assert (~np.asarray(image)).any()


def test_settings_reach_the_network(dark):
    grey = png(np.linspace(0, 255, 300, dtype=np.uint8)[None].repeat(80, 0))
    shares = []
    for params in ({}, {"threshold": 0.9}, {"suppress": 2}):
        with Image.open(io.BytesIO(post(dark, grey, params=params).content)) as image:
            shares.append((~np.asarray(image)).mean())
    assert shares[1] < shares[0]
    assert shares[2] < shares[0]


def test_a_model_that_knows_text_only_is_not_asked_for_more(dark):
    assert post(dark, SCAN, params={"keep": "text"}).status_code == 200
    answer = post(dark, SCAN, params={"keep": "all"})
    assert answer.status_code == 422
    assert answer.json()["detail"] == "this service's model knows text only; leave keep out"
    assert post(dark, SCAN, params={"keep": "pictures"}).status_code == 422


@pytest.mark.parametrize("form", ["png", "tiff", "pdf"])
def test_the_same_bytes_as_the_command_line(tmp_path, form):
    bitmap = Bitmap.pack(text_page(140, 100) < 128, 200.0)
    sources = {"scan.png": SCAN, "two.tif": encode([bitmap, bitmap], ".tif")}
    network, provenance, sha256 = load_model("lite")
    with Binarizer(network, provenance=provenance, sha256=sha256) as binarizer, running(binarizer) as server:
        for name, data in sources.items():
            (tmp_path / name).write_bytes(data)
            answer = post(server, data, name, params={"format": form, "threshold": 0.4})
            links = [answer] if name == "scan.png" or form != "png" else fetched(server, answer)
            words = [str(tmp_path / name), "-o", str(tmp_path / f"{name}-{form}"), "--threshold", "0.4"]
            result = CliRunner().invoke(group, ["binarize", *words, "--format", form])
            assert result.exit_code == 0, result.stderr
            made = sorted((tmp_path / f"{name}-{form}").iterdir())
            assert [path.read_bytes() for path in made] == [link.content for link in links]


def fetched(server, answer):
    """What the links of a JSON answer lead to."""
    pages = [page for file in answer.json()["files"] for page in file["pages"]]
    return [httpx.get(server.url + page["link"]) for page in pages]


def test_a_body_without_a_form_is_a_file_too(dark):
    answer = httpx.post(f"{dark.url}/v1/binarize", content=SCAN, headers={"content-type": "image/png"})
    assert answer.content == post(dark).content


def test_several_files_come_back_as_links_and_words(dark):
    blank = png(np.full((60, 60), 240, np.uint8))
    files = [("file", ("a.png", SCAN)), ("file", ("b.txt", b"no picture")), ("file", ("c.png", blank))]
    answer = post(dark, files, params={"soft": True})
    assert answer.status_code == 200
    body = answer.json()
    assert [file["status"] for file in body["files"]] == ["done", "failed", "done"]
    assert "b.txt" in body["files"][1]["problem"]["detail"]
    assert body["files"][2]["pages"][0]["flags"] == ["blank"]
    assert body["files"][2]["pages"][0]["notes"] == ["no ink was found"]
    assert body["model"]["sha256"] == "dark"
    page = body["files"][0]["pages"][0]
    with Image.open(io.BytesIO(httpx.get(dark.url + page["link"]).content)) as image:
        assert image.mode == "1"
    with Image.open(io.BytesIO(httpx.get(dark.url + page["soft"]).content)) as image:
        assert image.mode == "L"
    for name in ("x" * 32, "xyz", "..%2Fsecret"):
        problem(httpx.get(f"{dark.url}/v1/results/{name}"), 404)


def test_soft_alone_is_the_eight_bit_page(dark):
    answer = post(dark, params={"soft": True})
    with Image.open(io.BytesIO(answer.content)) as image:
        assert image.mode == "L"
    assert "scan.soft.png" in answer.headers["content-disposition"]


def test_a_client_s_path_stays_the_client_s(dark):
    before = set(Path(dark.service.store.folder).rglob("*"))
    answer = post(dark, SCAN, "../../etc/cron.d/evil\u202e.png", headers={"accept": "application/json"})
    assert answer.json()["files"][0]["name"] == "evil.png"
    after = set(Path(dark.service.store.folder).rglob("*"))
    assert len(after - before) == 1  # the result; the upload is gone
    assert all("evil" not in str(path) for path in after)


def test_uploads_leave_nothing_behind(dark):
    before = sorted(Path(dark.service.store.folder).iterdir())
    for data in (SCAN, b"rubbish", b""):
        post(dark, data)
    time.sleep(0.1)  # the answer's file is removed after it is sent
    assert sorted(Path(dark.service.store.folder).iterdir()) == before


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ({"files": {"other": ("a.png", SCAN)}}, 400),
        (
            {"content": b"--x\r\nnonsense", "headers": {"content-type": "multipart/form-data; boundary=x"}},
            400,
        ),
        ({"content": b"x", "headers": {"content-type": "multipart/form-data"}}, 400),
        ({"content": b"{}", "headers": {"content-type": "application/json"}}, 415),
        ({"content": b""}, 400),
        ({"files": {"file": ("a.png", b"")}}, 422),
        ({"files": {"file": ("a.png", SCAN[:300])}}, 422),
        ({"files": {"file": ("a.png", SCAN)}, "params": {"threshold": "nan"}}, 422),
        ({"files": {"file": ("a.png", SCAN)}, "params": {"format": "exe"}}, 422),
    ],
)
def test_wrong_requests_are_told_what_is_wrong(dark, request_, status):
    problem(httpx.post(f"{dark.url}/v1/binarize", **request_), status)


def test_each_limit_names_itself():
    many = encode([Bitmap.pack(text_page(60, 60) < 128)] * 4, ".tif")
    with dark_binarizer() as binarizer, running(
        binarizer, max_bytes=20_000, max_pixels=40_000, max_pages=3, max_files=2
    ) as server:  # fmt: skip
        problem(post(server, bytes(30_000)), 413, limit="bytes", allowed=20_000)
        stream = (bytes(1000) for _ in range(30))  # no Content-Length
        answer = httpx.post(
            f"{server.url}/v1/binarize", content=stream, headers={"content-type": "image/png"}
        )
        problem(answer, 413, limit="bytes")
        small = png(np.zeros((210, 200), np.uint8))
        problem(post(server, small), 413, limit="pixels", allowed=40_000)
        problem(post(server, many, "many.tif"), 413, limit="pages", allowed=3)
        problem(post(server, [("file", ("a.png", b"x"))] * 3), 413, limit="files", allowed=2)
        assert post(server, png(text_page(100, 100))).status_code == 200  # and goes on


def test_work_and_uploads_have_a_time_limit():
    binarizer, _ = slow_binarizer(0.3)
    with binarizer, running(binarizer, max_seconds=0.5, upload_seconds=0.4) as server:
        body = problem(post(server, TALL), 422, limit="seconds", allowed=0.5)
        assert "0.5 s" in body["detail"]

        def trickle():
            for _ in range(10):
                yield b"x"
                time.sleep(0.1)

        answer = httpx.post(
            f"{server.url}/v1/binarize", content=trickle(), headers={"content-type": "image/png"}
        )
        problem(answer, 408, limit="seconds", allowed=0.4)


@pytest.mark.parametrize(("seconds", "expected"), [(0.02, Problem), (60, ImageError)])
def test_a_decoder_given_up_for_the_clock_is_not_a_bad_file(tmp_path, monkeypatch, seconds, expected):
    def give_up(*_):
        time.sleep(0.05)
        raise ImageError("scan.png took too long")

    monkeypatch.setattr(DecoderProcess, "ask", give_up)
    reader = WatchedReader(10**9, ServiceConfig(), 300)
    deadline = time.monotonic() + seconds
    reader.request = ConversionRequest([], tmp_path, InferenceConfig(), deadline=deadline)
    with pytest.raises(expected) as caught:
        reader.ask(tmp_path, {}, 8.0)
    if expected is Problem:
        assert caught.value.body()["limit"] == "seconds"


@pytest.mark.parametrize(("number", "status"), [(errno.ENOSPC, 507), (errno.EIO, 500)])
def test_a_disk_that_fails_is_not_the_client_s_fault(dark, monkeypatch, number, status):
    def fail(*_):
        raise OSError(number, os.strerror(number))

    for place, name in ((os, "fsync"), (Form, "_data")):  # while results are written, and while uploads are
        with monkeypatch.context() as patch:
            patch.setattr(place, name, fail)
            body = problem(post(dark), status)
        assert str(dark.service.store.folder) not in body["detail"]
        assert ".png" not in body["detail"].replace("scan.png", "")
    assert post(dark).status_code == 200


def test_a_broken_model_is_said_and_is_not_the_client_s_fault():
    network = Darkness()
    network.slope.data.fill_(math.nan)
    engine = EngineConfig(workers=1, device="cpu")
    broken = Binarizer(network, engine=engine, provenance=Provenance(trained=True))
    with broken, running(broken) as server:
        body = problem(httpx.get(f"{server.url}/readyz"), 503)
        assert "cannot be run" in body["detail"]
        assert "weights are broken" in body["detail"]
        assert "weights are broken" in problem(post(server), 500)["detail"]


def test_a_page_too_large_for_the_memory_is_told_how_large_it_may_be(dark, monkeypatch):
    monkeypatch.setattr(dark.service.engine.ledger, "total", 15_000_000)
    body = problem(post(dark, TALL, "tall.png"), 413, limit="pixels")
    assert body["detail"].startswith("tall.png has a page of 1.2 megapixels")
    assert "memory" in body["detail"]
    assert "--" not in body["detail"]  # the operator's options
    side = math.sqrt(body["allowed"] / 1_200_000)
    smaller = png(text_page(int(3000 * side), int(400 * side)))
    assert post(dark, smaller).status_code == 200


def test_a_decoder_out_of_memory_is_a_page_too_large(tmp_path, monkeypatch):
    def give_up(*_):
        raise MemoryLimitError("scan.png: there is not enough memory for this page")

    monkeypatch.setattr(DecoderProcess, "ask", give_up)
    reader = WatchedReader(10**9, ServiceConfig(), 300)
    with pytest.raises(Problem) as caught:
        reader.ask(tmp_path, {"do": "decode"}, 8.0)
    assert caught.value.status == 413
    assert "--max-memory" not in caught.value.detail


def test_every_unreadable_file_is_named(dark):
    files = [("file", ("a.png", b"no picture")), ("file", ("b.png", b""))]
    detail = problem(post(dark, files), 422)["detail"]
    assert "a.png" in detail
    assert "b.png" in detail


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


def test_the_token(dark):
    with dark_binarizer() as binarizer, running(binarizer, token="s3cret") as server:
        assert httpx.get(f"{server.url}/healthz").status_code == 200
        assert httpx.get(f"{server.url}/readyz").status_code == 200
        for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "Basic s3cret"},
                        {"cookie": "drmamba_token=wrong"}, {"cookie": "=;=,"}):  # fmt: skip
            problem(post(server, headers=headers), 401)
        for path in ("/v1/models", "/metrics", "/openapi.json", "/"):
            problem(httpx.get(server.url + path), 401)
        assert post(server, headers={"authorization": "Bearer s3cret"}).status_code == 200
        browser = httpx.Client(base_url=server.url)
        problem(browser.get("/v1/models?token=wrong"), 401)
        assert browser.get("/v1/models?token=s3cret").status_code == 303
        assert browser.get("/v1/models").status_code == 200
        browser.close()
    assert httpx.get(f"{dark.url}/v1/models").status_code == 200


@pytest.mark.parametrize("token", ["two words", "schlüssel", "a=b", "=", "x\n"])
def test_a_token_that_nobody_could_show_is_refused_at_the_start(token):
    with dark_binarizer() as binarizer, pytest.raises(ConfigError, match=r"service\.token") as caught:
        Server(binarizer, ServiceConfig(port=0, page=False, token=token))
    assert token not in str(caught.value) or len(token) == 1  # it is a secret
    assert "\n" not in str(caught.value)


def test_every_token_of_rfc_6750_opens_the_door():
    token = "aZ09-._~+/=="
    check_token(token)
    check_token("")
    with dark_binarizer() as binarizer, running(binarizer, token=token) as server:
        assert httpx.get(f"{server.url}/v1/models", headers={"authorization": f"Bearer {token}"}).is_success
        for shown in (token, token.replace("+", "%2B")):
            browser = httpx.Client(base_url=server.url)
            assert browser.get(f"/v1/models?token={shown}").status_code == 303
            assert browser.get("/v1/models").status_code == 200
            browser.close()


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("//evil.example/x", "/evil.example/x"),
        ("/%5Cevil.example", "/%5Cevil.example"),
        ("/a%0d%0aSet-Cookie:b", "/a%0D%0ASet-Cookie%3Ab"),
        ("/", "/"),
    ],
)
def test_the_token_s_redirect_stays_here(path, place):
    with dark_binarizer() as binarizer, running(binarizer, token="s3cret") as server:
        line = http.client.HTTPConnection(*server.socket.getsockname())
        line.request("GET", f"{path}?token=s3cret")
        answer = line.getresponse()
        line.close()
    assert (answer.status, answer.headers["location"]) == (303, place)


def test_health_models_and_counters(dark):
    assert httpx.get(f"{dark.url}/healthz").json() == {"status": "alive"}
    assert httpx.get(f"{dark.url}/readyz").json() == {"status": "ready"}
    assert httpx.get(f"{dark.url}/v1/models").json()["models"][0]["trained"] is True
    before = counted(dark, "drmamba_pages_total")
    post(dark)
    assert counted(dark, "drmamba_pages_total") == before + 1
    assert counted(dark, "drmamba_in_hand") == 0


def counted(server, name):
    lines = httpx.get(f"{server.url}/metrics").text.splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(f"{name} "))


def test_mutated_files_never_make_a_fault(dark, tmp_path):
    rng, originals = random.Random(11), healthy(tmp_path / "healthy")
    seen = set()
    with httpx.Client(timeout=60) as client:
        for number in range(2000 if FULL else 60):
            data, ending = mutated(originals[number % len(originals)], rng)
            files = {"file": (f"{number}{ending}", data)}
            answer = client.post(f"{dark.url}/v1/binarize", files=files, params={"format": "tiff"})
            seen.add(answer.status_code)
            if answer.status_code != 200:
                body = problem(answer, answer.status_code)
                assert 400 <= answer.status_code < 500
                assert str(dark.service.store.folder) not in body["detail"]
    assert seen >= {200, 422}
    assert post(dark).status_code == 200


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
