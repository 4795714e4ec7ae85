"""The review file without a browser: its data, its pictures, its links, and what it refuses."""

import base64
import hashlib
import io
import json
import re
from urllib.parse import unquote

import numpy as np
import pytest
from made_batch import made_batch, made_page
from PIL import Image

from drmamba.errors import InputError
from drmamba.images import ArraySource, Bitmap, encode
from drmamba.inference.review.page_pictures import THUMBNAIL, PagePictures, thumbnail
from drmamba.inference.review.reported_pages import ReportedPage
from drmamba.inference.review.review_file import review_html, write_review


def data_of(path):
    text = path.read_text()
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1]), text


def decoded(address):
    return Image.open(io.BytesIO(base64.b64decode(address.partition(",")[2])))


def test_a_review_holds_small_pictures_and_relative_links(tmp_path):
    report = made_batch(tmp_path)
    assert write_review([report], tmp_path / "out" / "review.html", workers=2) == 5
    data, text = data_of(tmp_path / "out" / "review.html")
    pages = data["pages"]
    assert pages[0]["status"] == "failed"
    assert pages[0]["warnings"] == ["scans/gone.jpg is damaged"]
    assert "gone.jpg" in pages[0]["problem"]
    assert [box["kind"] for box in pages[1]["boxes"]] == ["lost_content", "kept_dirt"]
    for page in pages[1:]:
        assert (page["width"], page["height"]) == (220, 300)
        assert decoded(page["before_small"]).size == decoded(page["after_small"]).size == (164, 224)
        for address in (page["before"], page["after"]):
            assert (tmp_path / "out" / unquote(address)).resolve().is_file()
    assert pages[1]["options"] == ["--threshold", "0.6"]
    assert str(tmp_path) not in text  # it works from a memory stick
    assert not re.search(r"https?://", text)
    script = re.search(r"<script>(.*?)</script>", text, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in text


def test_paths_of_a_report_are_found_from_its_own_folder(tmp_path, monkeypatch):
    report = made_batch(tmp_path / "stick")
    monkeypatch.chdir(tmp_path)  # the batch was run in `stick`
    write_review([report], tmp_path / "review.html", workers=1)
    data, _ = data_of(tmp_path / "review.html")
    assert unquote(data["pages"][1]["before"]) == "stick/scans/page 1.jpg"


@pytest.mark.parametrize("copies", [True, False])
def test_pages_that_browsers_cannot_show_are_copied(tmp_path, copies):
    scans = [made_page(seed=seed) for seed in range(2)]
    images = [Image.fromarray(scan) for scan, _ in scans]
    images[0].save(tmp_path / "a.tif", save_all=True, append_images=images[1:])
    (tmp_path / "a.pdf").write_bytes(encode([Bitmap.pack(ink, 300) for _, ink in scans], ".pdf"))
    lines = [
        {"status": "done", "input": "a.tif", "page": page, "pages": 2, "output": "a.pdf", "flags": []}
        for page in (1, 2)
    ]
    (tmp_path / "r.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    write_review([tmp_path / "r.jsonl"], tmp_path / "look.html", copies=copies, workers=1)
    data, _ = data_of(tmp_path / "look.html")
    assert [page["title"] for page in data["pages"]] == ["a.tif, page 1", "a.tif, page 2"]
    assert data["pages"][0]["options"] == ["--format", "pdf"]
    assert (tmp_path / "look_files").exists() == copies
    for page, (scan, ink) in zip(data["pages"], scans, strict=True):
        if not copies:
            assert page["before"] == page["after"] == ""
            continue
        before = np.asarray(Image.open(tmp_path / page["before"]).convert("L")).astype(int)
        assert np.abs(before - scan).mean() < 8
        assert (np.asarray(Image.open(tmp_path / page["after"])) == ~ink).all()


def test_a_file_name_cannot_become_code():
    page = ReportedPage(
        status="done", input="</script><script>alert(1)</script>@SCRIPT@.jpg", output=None, page=1, pages=1
    )
    text = review_html([page], [PagePictures()], title="<b>& @DATA@")
    assert text.count("<script") == 2
    assert "&lt;b&gt;&amp; @DATA@" in text
    assert (
        json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])["pages"][0]["input"]
        == page.input
    )


def test_a_thumbnail_is_the_page_reduced():
    scan = np.full((3000, 2000), 240, np.uint8)
    scan[:1500] = 20
    small = np.asarray(thumbnail(ArraySource(scan)).convert("L"))
    assert small.shape == (224, round(THUMBNAIL[1] * 2 / 3))
    assert small[:100].max() < 40
    assert small[124:].min() > 220


def test_only_a_review_is_replaced(tmp_path):
    report = made_batch(tmp_path, count=1)
    with pytest.raises(InputError, match="is a report or one of its pages"):
        write_review([report], report, overwrite=True)
    with pytest.raises(InputError, match="is a folder"):
        write_review([report], tmp_path)
    foreign = tmp_path / "index.html"
    foreign.write_text("<p>mine</p>")
    with pytest.raises(InputError, match="exists and is no review"):
        write_review([report], foreign)
    assert foreign.read_text() == "<p>mine</p>"
    write_review([report], foreign, overwrite=True)
    write_review([report], foreign)
