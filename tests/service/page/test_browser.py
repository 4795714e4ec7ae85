"""The page in a real browser: upload, look, change settings, explain, download; on a phone, too.

DRMAMBA_SCREENSHOTS=FOLDER also leaves pictures of it there.
"""

import io
import re
import zipfile

import pytest
from browser_visitor import PHONE, Visitor
from PIL import Image
from running_service import running, text_page

from drmamba.config import EngineConfig
from drmamba.images import Bitmap, encode
from drmamba.inference.binarizer import Binarizer


@pytest.fixture(scope="module")
def server():
    binarizer = Binarizer.from_pretrained(engine=EngineConfig(workers=1))
    with binarizer, running(binarizer, page=True, max_pixels=1_000_000) as server:
        yield server


@pytest.fixture
def visitor(browser, server):
    visitor = Visitor(browser, server)
    yield visitor
    visitor.leave()


@pytest.fixture
def scan(tmp_path):
    path = tmp_path / "scan.png"
    Image.fromarray(text_page(160, 200)).save(path, dpi=(300, 300))
    return path


LIFE = """() => {
  const files = document.getElementById('files');
  files.addEventListener('change', () => {
    const begun = performance.now();
    const look = () => {
      if (!document.getElementById('work').hidden && !window.life) window.life = performance.now() - begun;
      if (document.querySelector('.pv-before img')) window.shown = performance.now() - begun;
      else requestAnimationFrame(look);
    };
    look();
  }, {capture: true});
}"""


def test_upload_look_change_and_download(visitor, scan):
    page = visitor.page
    page.evaluate(LIFE)
    visitor.upload(scan)
    page.wait_for_function("() => window.shown")
    assert page.evaluate("window.life") < 500  # milliseconds
    assert page.evaluate("window.shown") < 1500
    assert visitor.result_shown() == [200, 160]
    visitor.wait_until("Done.")
    assert page.inner_text("#page-title") == "scan.png"
    name, data = visitor.download("#downloads a >> text=PNG")
    assert name == "scan.bin.png"
    with Image.open(io.BytesIO(data)) as image:
        assert (image.mode, image.size, round(image.info["dpi"][0])) == ("1", (200, 160), 300)
    assert visitor.download("#downloads a >> text=PDF")[1].startswith(b"%PDF")
    # Other settings: a trial on this page first, then for good.
    assert page.is_disabled("#apply")
    page.fill("#setting-threshold", "0.9")
    page.click("#try")
    page.wait_for_selector("#trial:not([hidden])")
    assert visitor.download("#downloads a >> text=PNG")[1] == data  # not applied yet
    page.click("#apply")
    page.wait_for_selector("#downloads", state="hidden")
    page.wait_for_selector("#downloads a >> text=PNG")
    assert visitor.download("#downloads a >> text=PNG")[1] != data
    # A reload keeps the page, its result and its settings; the scan now comes from the service.
    page.reload()
    assert visitor.result_shown() == [200, 160]
    assert page.input_value("#setting-threshold") == "0.9"
    assert "/scan?run=2" in page.get_attribute(".pv-before img", "src")
    page.click("#remove")
    page.wait_for_selector("#downloads", state="hidden")
    assert not page.query_selector(".pv-image")


def test_maps_have_a_legend(visitor, scan):
    page = visitor.page
    visitor.upload(scan)
    visitor.wait_until("Done.")
    page.click("#explain summary")
    seen = set()
    for layer, words in (
        ("gate", "share of the background"),
        ("background", "slow changes"),
        ("probability", "black is 1"),
    ):
        page.select_option("#layer", layer)
        page.wait_for_function(
            f"() => document.getElementById('legend-words').textContent.includes('{words}')"
        )
        low, high = (float(page.inner_text(f"#legend-{end}")) for end in ("low", "high"))
        assert low < high
        picture = "document.querySelector('.pv-layer:not(.pv-before) > img').src"
        page.wait_for_function(f"() => !{sorted(seen)}.includes({picture})")  # the legend may come first
        seen.add(page.evaluate(picture))
    assert len(seen) == 3
    page.select_option("#layer", "result")
    page.wait_for_selector("#legend", state="hidden")


@pytest.fixture
def book(tmp_path):
    sizes = [(160, 120), (170, 120), (1200, 900)]
    pages = [Bitmap.pack(text_page(*size) < 128, 200.0) for size in sizes]
    (tmp_path / "book.tif").write_bytes(encode(pages, ".tif"))
    return tmp_path / "book.tif"


def test_several_files_with_a_damaged_one_and_a_page_too_large(visitor, book, scan, tmp_path):
    (tmp_path / "bad.png").write_bytes(b"\x89PNG rubbish <b>")
    page = visitor.page
    visitor.upload(book, tmp_path / "bad.png", scan)
    visitor.wait_until("Done.")
    failures = page.inner_text("#failures ul")
    assert "Page 3 of book.tif is too large: 900 x 1200 pixels" in failures
    assert "bad.png" in failures
    titles = page.locator("#pages button").all_inner_texts()
    assert [title.splitlines()[0] for title in titles] == [
        "book.tif, page 1 of 3",
        "book.tif, page 2 of 3",
        "scan.png",
    ]
    assert page.inner_text("#page-title") == "book.tif, page 1 of 3"
    assert "black and white already" in page.inner_text("#flags .note")  # a note, and no warning
    assert page.locator("#flags .warning").count() == 0
    page.click("#next")
    assert page.inner_text("#page-title") == "book.tif, page 2 of 3"
    page.click("#pages button >> nth=2")
    assert page.inner_text("#page-title") == "scan.png"
    name, data = visitor.download("#downloads a >> text=ZIP")
    assert name == "pages.zip"
    with zipfile.ZipFile(io.BytesIO(data)) as held:
        assert held.namelist() == ["book-0001.png", "book-0002.png", "scan.png", "report.jsonl"]
    # The next upload takes everything of the last one away.
    visitor.upload(tmp_path / "bad.png")
    page.wait_for_function("() => document.querySelector('#failures li')?.textContent.startsWith('bad.png')")
    assert page.is_hidden("#downloads")
    assert page.is_hidden("#list")
    assert not page.query_selector(".pv-image")


def test_files_can_be_dropped(visitor):
    drop = """async () => {
      const picture = await (await fetch('page/icon.svg')).blob();
      const data = new DataTransfer();
      data.items.add(new File([picture], 'icon.svg', {type: 'image/svg+xml'}));
      document.body.dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}));
    }"""
    visitor.page.evaluate(drop)
    visitor.page.wait_for_selector("#failures li >> text=icon.svg")  # which is no scan


def test_boxes_and_warnings_are_shown(visitor, scan):
    """The API's answer is given boxes and a warning here, because no page is sure to get them."""
    words = "writing may be missing in the marked places, which is a long sentence that must not be cut off at its end"

    def add_boxes(route):
        answer = route.fetch()
        job = answer.json()
        for page in (page for file in job["files"] for page in file["pages"]):
            page |= {"boxes": {"lost_content": [[10, 20, 60, 50]], "kept_dirt": [[80, 90, 100, 110]]}}
            page |= {"warnings": [words], "notes": [words, "noise was added"]}
        route.fulfill(response=answer, json=job)

    visitor.page.route(re.compile(r"/v1/jobs/[\w-]{32}$"), add_boxes)
    visitor.upload(scan)
    visitor.page.wait_for_selector(".pv-box.pv-lost_content")
    assert visitor.page.locator(".pv-box").count() == 2
    warning = visitor.page.locator("#flags .warning")
    assert words[1:] in warning.inner_text()
    assert warning.evaluate("e => e.scrollWidth <= e.clientWidth")
    assert visitor.page.locator("#flags .note").inner_text() == "Note: Noise was added."
    visitor.picture("serve-marks.png")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(browser, server, book, scan, scheme):
    visitor = Visitor(browser, server, viewport={"width": 1360, "height": 900}, color_scheme=scheme)
    page = visitor.page
    assert visitor.faults() == []
    visitor.upload(book, scan)
    visitor.wait_until("Done.")
    visitor.result_shown()
    for summary in page.locator("summary").all():
        summary.click()
    page.select_option("#layer", "gate")
    page.wait_for_selector("#legend:not([hidden])")
    assert visitor.faults() == []
    if scheme == "dark":
        page.goto(f"{server.url}/docs")
        page.wait_for_selector("text=POST /v1/binarize")
        assert visitor.faults() == []
    visitor.leave()


def test_a_phone(browser, server):
    visitor = Visitor(browser, server, **PHONE)
    page = visitor.page
    page.tap("[data-sample='book.jpg']")
    visitor.result_shown()
    visitor.wait_until("Done.")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390  # nothing sticks out
    viewer, settings = (page.query_selector(where).bounding_box() for where in ("#viewer", ".settings"))
    assert viewer["width"] > 320
    assert settings["y"] > viewer["y"]  # the page comes before the settings
    visitor.picture("serve-phone.png")
    visitor.leave()


def test_everything_can_be_reached_with_the_tab_key(visitor, scan):
    visitor.upload(scan)
    visitor.wait_until("Done.")
    visitor.result_shown()
    visitor.page.evaluate("document.activeElement.blur()")
    where = "() => document.activeElement.id || document.activeElement.className || document.activeElement.textContent"
    reached = set()
    for _ in range(40):
        visitor.page.keyboard.press("Tab")
        reached.add(visitor.page.evaluate(where))
    assert reached >= {
        "files",
        "remove",
        "pv-stage",
        "pv-handle",
        "button",
        "setting-threshold",
        "setting-keep",
    }


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pictures_for_the_guide(browser, server, scheme):
    from browser_visitor import PICTURES

    if not PICTURES:
        pytest.skip("DRMAMBA_SCREENSHOTS names no folder")
    visitor = Visitor(browser, server, viewport={"width": 1280, "height": 860}, color_scheme=scheme)
    visitor.page.click("[data-sample='letter.jpg']")
    visitor.wait_until("Done.")
    visitor.result_shown()
    visitor.picture(f"serve-{scheme}.png")
    visitor.page.click("#explain summary")
    visitor.page.select_option("#layer", "gate")
    visitor.page.wait_for_selector("#legend:not([hidden])")
    visitor.picture(f"serve-gate-{scheme}.png", full_page=True)
    visitor.leave()
