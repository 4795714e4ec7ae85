"""The page in a real browser: upload, slide, turn the settings, look at the maps, download; on a phone, too.

DRMAMBA_SCREENSHOTS=FOLDER also leaves pictures of it there, with the model that DRMAMBA_MODEL names.
"""

import io
import os
import shutil
import sys
from pathlib import Path

import pytest
from PIL import Image
from running_service import running

sys.path.insert(0, str(Path(__file__).parents[2] / "inference"))
from stand_in import text_page

from drmamba.config import EngineConfig
from drmamba.images import Bitmap, encode, read_ink
from drmamba.inference.binarizer import Binarizer, load_model

pytest.importorskip("gradio", reason="the page needs gradio (extra web)")
playwright = pytest.importorskip("playwright.sync_api", reason="the browser is driven by playwright")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("there is no chromium here", allow_module_level=True)

pytestmark = pytest.mark.filterwarnings("default")  # gradio's and asyncio's own
PATIENCE = 60_000  # milliseconds
ALONE = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip
PICTURES = os.environ.get("DRMAMBA_SCREENSHOTS")


@pytest.fixture(scope="module")
def server():
    network, provenance, sha256 = load_model(
        os.environ.get("DRMAMBA_MODEL", "lite"), EngineConfig(runtime="torch")
    )
    binarizer = Binarizer(network, provenance=provenance, sha256=sha256)
    with binarizer, running(binarizer, page=True) as server:
        yield server


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ALONE)
        yield browser
        browser.close()


class Visitor:
    """Somebody at the page, and every address the page asked for."""

    def __init__(self, browser, server, **screen):
        self.context = browser.new_context(accept_downloads=True, **screen)
        self.page = self.context.new_page()
        self.asked, self.errors = [], []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.goto(server.url)
        self.page.wait_for_selector("#samples button", timeout=PATIENCE)
        self.home = server.url

    def upload(self, *paths):
        self.page.set_input_files("#upload input[type=file]", [str(path) for path in paths])
        self.page.wait_for_selector("#downloads a", timeout=PATIENCE)

    def changed(self, act):
        """Do something and wait for the new result."""
        before = self.page.inner_html("#downloads")
        act()
        changed = "before => document.querySelector('#downloads').innerHTML !== before"
        self.page.wait_for_function(changed, arg=before, timeout=PATIENCE)
        return self.page.inner_text("#facts")

    def fill(self, where, value):
        self.page.fill(f"{where} input[type=number]", value)
        self.page.keyboard.press("Tab")

    def download(self, name):
        with self.page.expect_download() as waiting:
            self.page.click(f"#downloads a >> text={name}")
        return waiting.value.suggested_filename, Path(waiting.value.path()).read_bytes()

    def line(self):
        """Where the comparison's line stands, in pixels."""
        return self.page.eval_on_selector("#compare .outer", "e => new DOMMatrix(e.style.transform).m41")

    def picture(self, name):
        if PICTURES:
            self.page.wait_for_timeout(800)
            self.page.screenshot(path=str(Path(PICTURES) / name), full_page=True)

    def leave(self):
        outside = [url for url in self.asked if not url.startswith((self.home, "data:", "blob:"))]
        self.context.close()
        assert outside == []
        assert self.errors == []


@pytest.fixture
def visitor(browser, server):
    visitor = Visitor(browser, server, viewport={"width": 1360, "height": 900})
    yield visitor
    visitor.leave()


@pytest.fixture
def scan(tmp_path):
    path = tmp_path / "scan.png"
    Image.fromarray(text_page(300, 400)).save(path, dpi=(300, 300))
    return path


def test_upload_slide_turn_and_download(visitor, scan):
    visitor.upload(scan)
    facts = visitor.page.inner_text("#facts")
    assert "scan.png" in facts
    assert "400 × 300 pixels" in facts
    assert "the whole network" in facts
    # Slide, with the mouse and from the keyboard.
    visitor.page.wait_for_selector("#compare .outer")
    grip = visitor.page.query_selector("#compare .outer").bounding_box()
    middle = visitor.line()
    visitor.page.mouse.move(grip["x"] + grip["width"] / 2, grip["y"] + grip["height"] / 2)
    visitor.page.mouse.down()
    visitor.page.mouse.move(grip["x"] - 150, grip["y"] + grip["height"] / 2, steps=4)
    visitor.page.mouse.up()
    dragged = visitor.line()
    assert dragged < middle - 50
    visitor.page.focus("#compare")
    for _ in range(4):
        visitor.page.keyboard.press("ArrowRight")
    assert visitor.line() > dragged + 50
    # Turn the settings.
    first = visitor.download("PNG")[1]
    assert "only the fusion" in visitor.changed(lambda: visitor.fill("#suppress", "3"))
    assert "only the threshold" in visitor.changed(lambda: visitor.fill("#threshold", "0.9"))
    # Download, every format.
    name, data = visitor.download("PNG")
    assert name == "scan.bin.png"
    assert data != first
    with Image.open(io.BytesIO(data)) as image:
        assert (image.mode, image.size) == ("1", (400, 300))
        assert round(image.info["dpi"][0]) == 300
    name, data = visitor.download("TIFF")
    with Image.open(io.BytesIO(data)) as image:
        assert (image.mode, image.info["compression"]) == ("1", "group4")
    name, data = visitor.download("PDF")
    assert data.startswith(b"%PDF")


def test_the_page_s_result_is_the_api_s(visitor, server, scan):
    visitor.upload(scan)
    name, data = visitor.download("PNG")
    scan.with_name(name).write_bytes(data)
    want = server.service.engine.binarizer(scan)
    sure = abs(want.probability - 0.5) > 1e-4  # the maps' way through the network rounds differently
    assert (read_ink(scan.with_name(name)) == want.binary)[sure].all()


def test_samples_and_maps(visitor):
    visitor.page.click("#samples button >> nth=0")
    visitor.page.wait_for_selector("#downloads a", timeout=PATIENCE)
    visitor.picture("serve-desktop.png")
    seen = set()
    for layer in ("Gate β", "Background B", "Probability"):
        visitor.changed(lambda layer=layer: visitor.page.get_by_role("radio", name=layer).check())
        visitor.page.wait_for_timeout(300)
        seen.add(visitor.page.get_attribute("#compare img >> nth=1", "src"))
        if layer == "Gate β":
            visitor.picture("serve-gate.png")
    assert len(seen) == 3


def test_several_files_and_a_damaged_one(visitor, scan, tmp_path):
    bitmap = Bitmap.pack(text_page(200, 160) < 128, 200.0)
    (tmp_path / "two.pdf").write_bytes(encode([bitmap, bitmap], ".pdf"))
    (tmp_path / "bad.png").write_bytes(b"\x89PNG rubbish <b>")
    visitor.upload(scan, tmp_path / "bad.png", tmp_path / "two.pdf")
    visitor.page.wait_for_selector("#pages button >> nth=2", timeout=PATIENCE)
    assert "bad.png" in visitor.page.inner_text("#failed")
    facts = visitor.changed(lambda: visitor.page.click("#pages button >> nth=2"))
    assert "two.pdf, page 2 of 2" in facts
    visitor.page.click("#all-pdf")
    visitor.page.wait_for_selector("text=All 3 pages:", timeout=PATIENCE)
    with visitor.page.expect_download() as waiting:
        visitor.page.click("text=All 3 pages: >> xpath=.. >> a")
    (tmp_path / "all.pdf").write_bytes(Path(waiting.value.path()).read_bytes())
    from drmamba.images import count_pages

    assert count_pages(tmp_path / "all.pdf") == 3


def test_a_phone(browser, server):
    phone = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True,
             "device_scale_factor": 2}  # fmt: skip
    visitor = Visitor(browser, server, **phone)
    visitor.page.tap("#samples button >> nth=1")
    visitor.page.wait_for_selector("#downloads a", timeout=PATIENCE)
    visitor.page.wait_for_selector("#compare .outer")
    assert visitor.page.evaluate("document.documentElement.scrollWidth") <= 390  # nothing sticks out
    place = visitor.page.query_selector("#compare").bounding_box()
    settings = visitor.page.query_selector("#settings").bounding_box()
    assert place["width"] > 280
    assert settings["y"] > place["y"]  # the page comes before the settings
    visitor.picture("serve-phone.png")
    visitor.leave()


def test_everything_can_be_reached_with_the_tab_key(visitor, scan):
    visitor.upload(scan)
    visitor.page.wait_for_selector("#compare[tabindex='0']")
    visitor.page.evaluate("document.activeElement.blur()")
    reached = set()
    where = (
        "e => (document.activeElement.closest('#upload, #samples, #suppress, #threshold, #layer, #compare, "
    )
    where += "#downloads') || {}).id"
    for _ in range(40):
        visitor.page.keyboard.press("Tab")
        reached.add(visitor.page.evaluate(where))
    wanted = {"upload", "samples", "suppress", "threshold", "layer", "compare", "downloads"}
    assert wanted <= reached
