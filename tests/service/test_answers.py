"""The answers of the API: files, JSON with links, and what they leave behind."""

import io
import os
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image
from running_service import SCAN, png, post, problem, running, text_page

from drmamba.cli import group
from drmamba.images import Bitmap, encode
from drmamba.inference.binarizer import Binarizer, load_model

httpx = pytest.importorskip("httpx")


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


def test_what_is_kept_can_be_chosen(dark):
    assert post(dark, SCAN, params={"keep": "text"}).status_code == 200
    assert post(dark, SCAN, params={"keep": "all"}).status_code == 200
    assert post(dark, SCAN, params={"keep": "pictures"}).status_code == 422


def test_the_same_bytes_as_the_command_line(tmp_path):
    """The embedded network; test_settings.py compares all settings and formats with a smaller one."""
    bitmap = Bitmap.pack(text_page(140, 100) < 128, 200.0)
    sources = {"scan.png": SCAN, "two.tif": encode([bitmap, bitmap], ".tif")}
    network, provenance, sha256 = load_model("lite")
    with Binarizer(network, provenance=provenance, sha256=sha256) as binarizer, running(binarizer) as server:
        for name, data in sources.items():
            (tmp_path / name).write_bytes(data)
            answer = post(server, data, name, params={"threshold": 0.4})
            links = [answer] if name == "scan.png" else fetched(server, answer)
            out = tmp_path / f"{name}-out"
            words = ["binarize", str(tmp_path / name), "-o", str(out), "--threshold", "0.4"]
            result = CliRunner().invoke(group, words)
            assert result.exit_code == 0, result.stderr
            made = sorted(out.iterdir())
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
    before = everything_below(dark.service.store.folder)
    answer = post(dark, SCAN, "../../etc/cron.d/evil\u202e.png", headers={"accept": "application/json"})
    assert answer.json()["files"][0]["name"] == "evil.png"
    after = everything_below(dark.service.store.folder)
    assert len(after - before) == 1  # the result; the upload is gone
    assert all("evil" not in str(path) for path in after)


def everything_below(folder):
    """All paths below a folder; unlike `rglob`, the walk goes on if another request removes its folder meanwhile."""
    return {Path(parent) / name for parent, folders, files in os.walk(folder) for name in (*folders, *files)}


def test_uploads_leave_nothing_behind(dark):
    before = sorted(Path(dark.service.store.folder).iterdir())
    for data in (SCAN, b"rubbish", b""):
        post(dark, data)
    time.sleep(0.1)  # the answer's file is removed after it is sent
    assert sorted(Path(dark.service.store.folder).iterdir()) == before


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
