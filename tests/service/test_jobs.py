"""Jobs: progress, cancellation, other settings, pages that fail alone, downloads, and what becomes of old ones."""

import io
import json
import time
import zipfile

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image
from running_service import (
    SCAN,
    TALL,
    dark_binarizer,
    png,
    post,
    problem,
    running,
    slow_binarizer,
    text_page,
)  # fmt: skip

from drmamba.cli import group
from drmamba.images import Bitmap, count_pages, encode

httpx = pytest.importorskip("httpx")
PAGES = encode([Bitmap.pack(text_page(140 + 8 * i, 100) < 128, 200.0) for i in range(3)], ".tif")


@pytest.fixture(scope="module")
def client(dark):
    with httpx.Client(base_url=dark.url, timeout=60) as client:
        yield client


def begun(client, *files, **params):
    answer = client.post("/v1/jobs", files=[("file", file) for file in files], params=params)
    assert answer.status_code == 202, answer.text
    assert answer.headers["location"] == f"/v1/jobs/{answer.json()['id']}"
    return answer.json()


def finished(client, job):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        state = client.get(f"/v1/jobs/{job['id']}").json()
        if state["status"] not in ("waiting", "working"):
            return state
        time.sleep(0.02)
    raise AssertionError(state)


def test_a_job_from_upload_to_removal(dark, client):
    job = finished(client, begun(client, ("scan.png", SCAN), ("bad.png", b"no picture")))
    assert job["status"] == "done"
    scan, bad = job["files"]
    assert "bad.png" in bad["problem"]["detail"]
    (page,) = scan["pages"]
    assert (page["status"], page["warnings"]) == ("done", [])
    assert client.get(f"{page['address']}/result").content == post(dark).content
    with Image.open(io.BytesIO(client.get(f"{page['address']}/scan").content)) as image:
        assert (image.format, image.size) == ("JPEG", (200, 150))
    assert client.get(f"{page['address']}/thumbnail?run=1").headers["cache-control"].startswith("private")
    problem(client.get(f"{page['address']}/result?run=2"), 404)
    problem(client.get(f"{page['address'][:-1]}7/result"), 404)
    assert dark.service.quota.held > 0
    assert client.delete(f"/v1/jobs/{job['id']}").status_code == 204
    problem(client.get(f"/v1/jobs/{job['id']}"), 404)
    assert dark.service.quota.held == 0


def test_other_settings_convert_the_same_files_again(dark, client):
    grey = png(np.linspace(0, 255, 300, dtype=np.uint8)[None].repeat(80, 0))
    job = finished(client, begun(client, ("a.png", grey)))
    answer = client.put(f"/v1/jobs/{job['id']}", params={"threshold": 0.9})
    assert (answer.json()["run"], answer.json()["settings"]["threshold"]) == (2, 0.9)
    job = finished(client, job)
    result = client.get(f"{job['files'][0]['pages'][0]['address']}/result?run=2").content
    assert result == post(dark, grey, params={"threshold": 0.9}).content
    problem(client.put(f"/v1/jobs/{job['id']}", params={"format": "pdf"}), 422)


def test_a_page_that_is_too_large_costs_itself_only():
    with dark_binarizer() as binarizer, running(binarizer, max_pixels=150 * 100) as server:
        with httpx.Client(base_url=server.url, timeout=60) as client:
            job = finished(client, begun(client, ("book.tif", PAGES)))
            archive = client.get(f"/v1/jobs/{job['id']}/download").content
        pages = job["files"][0]["pages"]
        assert [page["status"] for page in pages] == ["done", "done", "failed"]
        words = "page 3 of book.tif is too large: 100 x 156 pixels, 15,000 at most are taken"
        assert pages[2]["problem"]["detail"] == words
        with zipfile.ZipFile(io.BytesIO(archive)) as held:
            assert held.namelist() == ["book-0001.png", "book-0002.png", "report.jsonl"]
            lines = [json.loads(line) for line in held.read("report.jsonl").splitlines()]
        assert [(line["input"], line["status"]) for line in lines[1:]] == [
            ("book.tif", "done"),
            ("book.tif", "failed"),
        ]
        assert lines[2]["error"] == words
        # The API says the same; a document is not written without one of its pages.
        pages = post(server, PAGES, "book.tif").json()["files"][0]["pages"]
        assert [page["problem"] is None for page in pages] == [True, True, False]
        body = problem(post(server, PAGES, "book.tif", params={"format": "pdf"}), 413, limit="pixels")
        assert body["detail"] == words


def test_downloads_are_what_the_command_writes(dark, client, tmp_path, monkeypatch):
    job = finished(client, begun(client, ("book.tif", PAGES)))
    (tmp_path / "book.tif").write_bytes(PAGES)
    binarizer = dark.service.engine.binarizer
    monkeypatch.setattr("drmamba.cli.binarize.load_binarizer", lambda *args: binarizer.with_config(args[2]))
    for form, ending in (("tiff", ".tif"), ("pdf", ".pdf"), ("png", "-0002.png")):
        out = tmp_path / form
        words = ["binarize", str(tmp_path / "book.tif"), "-o", str(out), "--format", form]
        assert CliRunner().invoke(group, words).exit_code == 0
        made = (out / f"book{ending}").read_bytes()
        if form == "png":
            address = job["files"][0]["pages"][1]["address"]
            assert client.get(f"{address}/download").content == made
            one = client.get(f"{address}/download", params={"format": "pdf"})
            assert one.headers["content-disposition"] == 'attachment; filename="book-0002.bin.pdf"'
        else:
            assert client.get(f"/v1/jobs/{job['id']}/download?format={form}").content == made
    problem(client.get(f"/v1/jobs/{job['id']}/download?format=png"), 422)
    both = finished(client, begun(client, ("a.png", SCAN), ("a.png", SCAN)))
    (tmp_path / "all.pdf").write_bytes(client.get(f"/v1/jobs/{both['id']}/download?format=pdf").content)
    assert count_pages(tmp_path / "all.pdf") == 2
    archive = client.get(f"/v1/jobs/{both['id']}/download?format=zip").content
    with zipfile.ZipFile(io.BytesIO(archive)) as held:
        assert held.namelist() == ["a.png", "2-a.png", "report.jsonl"]


def test_cancelling_frees_the_worker_within_one_window():
    binarizer, network = slow_binarizer(0.3)
    with binarizer, running(binarizer) as server, httpx.Client(base_url=server.url, timeout=60) as client:
        job = begun(client, ("tall.png", TALL))
        seen = set()
        while True:
            state = client.get(f"/v1/jobs/{job['id']}/progress").json()
            seen.add((state["progress"]["windows_done"], state["progress"]["windows"]))
            if state["progress"]["windows_done"] == 2:
                assert 0 < state["progress"]["seconds_left"] < 10
                break
            time.sleep(0.05)
        assert {done for done, windows in seen if windows} == {0, 1, 2}
        before, started = network.windows, time.monotonic()
        state = client.post(f"/v1/jobs/{job['id']}/cancel").json()
        assert state["status"] == "cancelled"
        assert server.service.held == 0
        assert time.monotonic() - started < 0.3 + 2
        assert network.windows <= before + 1  # One may have begun before the request arrived.
        assert post(server).status_code == 200  # The worker works for somebody else.
        # A cancelled job can be started again.
        assert client.put(f"/v1/jobs/{job['id']}").json()["status"] == "waiting"


def test_old_jobs_make_room_and_jobs_that_nobody_asks_about_end(dark, client, monkeypatch):
    for name in list(dark.guard.app.state.book.jobs):
        client.delete(f"/v1/jobs/{name}")
    first = finished(client, begun(client, ("a.png", SCAN)))
    monkeypatch.setattr(dark.service.quota, "most", dark.service.quota.held + len(SCAN))
    assert len(dark.guard.app.state.book.jobs) == 1
    second = finished(client, begun(client, ("b.png", SCAN)))  # the form takes some bytes, too
    problem(client.get(f"/v1/jobs/{first['id']}"), 404)
    monkeypatch.setattr(dark.service.quota, "most", len(SCAN))
    assert "as many uploads" in problem(client.post("/v1/jobs", files={"file": SCAN}), 429)["detail"]
    problem(client.get(f"/v1/jobs/{second['id']}"), 404)  # it was not enough
    monkeypatch.undo()
    third = finished(client, begun(client, ("c.png", SCAN)))
    dark.guard.app.state.book.jobs[third["id"]].touched -= 3600
    problem(client.get(f"/v1/jobs/{third['id']}"), 404)
    assert dark.service.quota.held == 0
