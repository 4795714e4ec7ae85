"""The review file in a real browser, opened from its path: pages, keys, decisions, commands, zoom, phone, axe-core.

DRMAMBA_SCREENSHOTS=FOLDER also leaves pictures of it there.
"""

import json
import os
import shutil
import time
from pathlib import Path

import pytest
from made_batch import made_batch, made_page
from PIL import Image

from drmamba.images import ArraySource, write_ink
from drmamba.inference.review.page_pictures import PagePictures, data_address, thumbnail
from drmamba.inference.review.reported_pages import ReportedPage
from drmamba.inference.review.review_file import review_html, write_review

playwright = pytest.importorskip("playwright.sync_api", reason="the browser is driven by playwright")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("there is no chromium here", allow_module_level=True)

ALONE = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip
PICTURES = os.environ.get("DRMAMBA_SCREENSHOTS")
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def browser():
    playwright.expect.set_options(timeout=60_000)  # a busy machine takes its time to decode a large page
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ALONE)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def review(tmp_path_factory):
    folder = tmp_path_factory.mktemp("batch")
    write_review([made_batch(folder)], folder / "out" / "review.html", workers=2)
    return folder / "out" / "review.html"


class Reader:
    """Somebody with the review open, every address it asked for, and every error."""

    def __init__(self, browser, path, **screen):
        self.context = browser.new_context(**{"viewport": DESKTOP, "accept_downloads": True} | screen)
        self.page = self.context.new_page()
        self.asked, self.errors = [], []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on(
            "console", lambda message: self.errors.append(message.text) if message.type == "error" else None
        )
        self.page.goto(path.as_uri())

    def press(self, keys):
        for key in keys.split():
            self.page.keyboard.press(key)

    def title(self, expected):
        playwright.expect(self.page.locator("#name")).to_have_text(expected)

    def loaded(self):
        """Wait for the full page in place of the small pictures."""
        playwright.expect(self.page.locator(".pv-image[src^='data:']")).to_have_count(0)
        playwright.expect(self.page.locator(".pv-image")).to_have_count(2)


@pytest.fixture
def reader(browser, review):
    reader = Reader(browser, review)
    yield reader
    assert reader.errors == []
    assert all(url.startswith(("file:", "data:", "blob:")) for url in reader.asked)
    reader.context.close()


def test_by_keyboard_alone_from_the_first_page_to_the_commands(reader):
    reader.title("scans/gone.jpg")  # the failed page comes first
    playwright.expect(reader.page.locator("#reasons .warning").first).to_contain_text("is damaged")
    reader.press("n")
    reader.title("scans/page 1.jpg")
    reader.loaded()
    playwright.expect(reader.page.locator("#reasons")).to_contain_text("many pixels of ink")
    assert reader.page.locator(".pv-box").count() == 2
    reader.press("e")  # redo, with the options under the focus
    assert reader.page.evaluate("document.activeElement.id") == "for"
    reader.press("Tab 0 . 4 Escape a")  # typed into the threshold; A is a key again after Escape
    reader.title("scans/tüte #1 100%.jpg")
    reader.press("p r n a")
    commands = reader.page.input_value("#commands").splitlines()
    assert commands == [
        "drmamba binarize 'scans/page 1.jpg' -o 'out/page 1.png' --overwrite --threshold 0.6 --threshold 0.4"
    ]
    playwright.expect(reader.page.locator("#counts")).to_have_text(
        "5 pages: 1 accepted, 1 to redo, 3 undecided."
    )


def test_decisions_survive_a_reload_and_are_exported_and_imported(reader, browser, review, tmp_path):
    reader.press("n r n a")
    reader.page.reload()
    playwright.expect(reader.page.locator("#counts")).to_contain_text("1 accepted, 1 to redo")
    with reader.page.expect_download() as download:
        reader.page.click("#export")
    download.value.save_as(tmp_path / "decisions.json")
    found = json.loads((tmp_path / "decisions.json").read_text())
    choices = {values["input"]: values["choice"] for values in found["decisions"].values()}
    assert choices == {"scans/page 1.jpg": "redo", "scans/tüte #1 100%.jpg": "accept"}
    other = Reader(browser, review)  # another browser, which knows nothing
    playwright.expect(other.page.locator("#counts")).to_contain_text("0 accepted")
    other.page.set_input_files("#import", tmp_path / "decisions.json")
    playwright.expect(other.page.locator("#counts")).to_contain_text("1 accepted, 1 to redo")
    other.page.select_option("#filter", "redo")
    assert other.page.locator("#list li").count() == 1
    other.title("scans/page 1.jpg")
    other.context.close()


def test_every_pixel_of_a_large_page_can_be_looked_at(browser, tmp_path):
    scan, ink = made_page(400, 300)
    small = data_address(thumbnail(ArraySource(scan)))
    Image.fromarray(scan).resize((6000, 8000), Image.Resampling.NEAREST).save(tmp_path / "a.jpg", quality=60)
    Image.fromarray(~ink).resize((6000, 8000), Image.Resampling.NEAREST).save(
        tmp_path / "a.png", compress_level=1
    )
    page = ReportedPage(status="done", input="a.jpg", output="a.png", page=1, pages=1)
    pictures = PagePictures(6000, 8000, small, small, "a.jpg", "a.png")
    (tmp_path / "review.html").write_text(review_html([page], [pictures], title="Large"))
    reader = Reader(browser, tmp_path / "review.html")
    reader.loaded()
    image, zoom = reader.page.locator(".pv-image").first, reader.page.locator(".pv-zoom")
    reader.page.click("text=200 %")
    playwright.expect(zoom).to_have_text("200 %")
    playwright.expect(image).to_have_css("image-rendering", "pixelated")
    playwright.expect(image).to_have_css("width", "12000px")
    stage = reader.page.locator(".pv-stage").bounding_box()
    reader.page.locator(".pv-stage").focus()
    before = image.bounding_box()
    reader.press("Shift+ArrowRight ArrowDown")
    after = image.bounding_box()
    assert (before["x"] - after["x"], before["y"] - after["y"]) == (400, 80)
    middle = stage["x"] + stage["width"] / 4, stage["y"] + stage["height"] / 2
    reader.page.mouse.move(*middle)
    reader.page.mouse.down()
    reader.page.mouse.move(middle[0] + 30, middle[1] + 20)
    reader.page.mouse.up()
    dragged = image.bounding_box()
    assert (dragged["x"] - after["x"], dragged["y"] - after["y"]) == (30, 20)
    reader.page.mouse.wheel(0, -300)
    playwright.expect(zoom).not_to_have_text("200 %")
    reader.press("0")
    playwright.expect(image).to_have_css("image-rendering", "auto")
    for _ in range(40):
        reader.press("+")
    playwright.expect(zoom).to_have_text("3200 %")
    assert reader.errors == []
    reader.context.close()


def test_the_slider_moves_by_keys_and_by_dragging_and_marks_are_brought_near(reader):
    reader.press("n")
    reader.loaded()
    handle = reader.page.locator(".pv-handle")
    handle.focus()
    reader.press("Home PageUp ArrowRight")
    playwright.expect(handle).to_have_attribute("aria-valuenow", "12")
    stage = reader.page.locator(".pv-stage").bounding_box()
    reader.page.mouse.move(stage["x"] + stage["width"] / 2, stage["y"] + 100)  # all of the page is visible
    reader.page.mouse.down()
    reader.page.mouse.move(stage["x"] + stage["width"] / 2 + 1, stage["y"] + 100)
    reader.page.mouse.up()
    playwright.expect(handle).to_have_attribute("aria-valuenow", "50")
    reader.press("x")
    playwright.expect(handle).to_have_attribute("aria-valuenow", "0")
    reader.press("m m")
    playwright.expect(reader.page.locator(".pv-status")).to_have_text("Marked place 2 of 2: Kept dirt.")
    box, stage = (reader.page.locator(name).bounding_box() for name in (".pv-chosen", ".pv-stage"))
    assert stage["x"] < box["x"] < box["x"] + box["width"] < stage["x"] + stage["width"]
    assert stage["y"] < box["y"] < box["y"] + box["height"] < stage["y"] + stage["height"]


def test_a_page_whose_files_are_gone_keeps_its_small_pictures(browser, tmp_path):
    write_review([made_batch(tmp_path, count=1)], tmp_path / "review.html", workers=1)
    for path in tmp_path.rglob("tüte*"):
        path.unlink()
    reader = Reader(browser, tmp_path / "review.html")
    reader.press("n")
    playwright.expect(reader.page.locator(".pv-status")).to_contain_text("cannot be loaded")
    playwright.expect(reader.page.locator(".pv-image[src^='data:']")).to_have_count(2)
    reader.context.close()


@pytest.mark.parametrize("screen", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_axe_finds_nothing_and_nothing_is_wider_than_the_screen(browser, review, screen):
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe-core comes with that package"
    )
    reader = Reader(browser, review, viewport=screen, has_touch=screen is PHONE)
    reader.press("n r")
    reader.loaded()
    for scheme in ("light", "dark"):
        reader.page.emulate_media(color_scheme=scheme)
        found = axe.Axe().run(reader.page)
        assert found.violations_count == 0, found.generate_report()
        assert reader.page.evaluate("document.documentElement.scrollWidth") == screen["width"]
        if PICTURES:
            name = f"review-{'phone' if screen is PHONE else 'desktop'}-{scheme}.png"
            reader.page.screenshot(path=Path(PICTURES) / name)
    reader.context.close()


def test_two_fingers_zoom_and_one_moves_the_page(browser, review):
    reader = Reader(browser, review, viewport=PHONE, has_touch=True)
    reader.press("n")
    reader.loaded()
    image = reader.page.locator(".pv-image").first
    fitting = image.bounding_box()["width"]
    stage = reader.page.locator(".pv-stage").bounding_box()
    x, y = stage["x"] + stage["width"] / 4, stage["y"] + stage["height"] / 2
    fingers = reader.context.new_cdp_session(reader.page)

    def touch(kind, *places):
        points = [{"x": place[0], "y": place[1], "id": number} for number, place in enumerate(places)]
        fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", (x, y - 20), (x, y + 20))
    touch("touchMove", (x, y - 60), (x, y + 60))
    touch("touchEnd")
    before = image.bounding_box()
    assert before["width"] == pytest.approx(3 * fitting, rel=0.01)
    touch("touchStart", (x, y))
    touch("touchMove", (x - 25, y - 40))
    touch("touchEnd")
    after = image.bounding_box()
    assert (round(after["x"] - before["x"]), round(after["y"] - before["y"])) == (-25, -40)
    reader.context.close()


def test_two_hundred_pages_are_small_and_open_at_once(browser, tmp_path):
    scan, ink = made_page(1100, 800)
    small = data_address(thumbnail(ArraySource(scan)))
    Image.fromarray(scan).save(tmp_path / "a.jpg")
    write_ink(tmp_path / "a.png", ink)
    pages = [
        ReportedPage(
            status="done", input=f"{n}.jpg", output=f"{n}.png", page=1, pages=1, flags=("uncertain",)
        )
        for n in range(200)
    ]
    pictures = [PagePictures(800, 1100, small, small, "a.jpg", "a.png") for _ in pages]
    text = review_html(pages, pictures, title="Many")
    assert len(text.encode()) < 3_000_000
    (tmp_path / "review.html").write_text(text)
    started = time.perf_counter()
    reader = Reader(browser, tmp_path / "review.html")
    playwright.expect(reader.page.locator(".pv-image")).to_have_count(2)
    opened = time.perf_counter() - started
    reader.loaded()
    # The page measures itself: the driver's own round trips would count otherwise.
    seconds = reader.page.evaluate(
        """() => new Promise((resolve) => {
            const started = performance.now();
            const watch = () => document.querySelector('.pv-image').alt.startsWith('1.jpg')
                ? resolve((performance.now() - started) / 1000) : requestAnimationFrame(watch);
            document.getElementById('next').click();
            watch();
        })"""
    )
    reader.context.close()
    assert opened < 10  # 2 s on an idle machine; the machine of a test may be busy
    assert seconds < 1  # 0.2 s on an idle machine
