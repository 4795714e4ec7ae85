"""Somebody at the web page, in a real browser, who notes every request and every message of the console."""

import os
import shutil
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PICTURES = os.environ.get("DRMAMBA_SCREENSHOTS")
PATIENCE = 60_000  # milliseconds
ALONE = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip
PHONE = {
    "viewport": {"width": 390, "height": 844},
    "is_mobile": True,
    "has_touch": True,
}
DESK = {"viewport": {"width": 1360, "height": 900}}


class Visitor:
    """A visit to the page; `leave` checks that nothing came from elsewhere and nothing went wrong."""

    def __init__(self, browser, server, **screen):
        self.home, self.server = server.url, server
        self.context = browser.new_context(accept_downloads=True, **(screen or DESK))
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.asked, self.said = [], []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.goto(server.url)
        self.page.wait_for_selector("#setting-threshold")

    def upload(self, *paths):
        self.page.set_input_files("#files", [str(path) for path in paths])

    def wait_until(self, stage):
        self.page.wait_for_function(
            "words => document.getElementById('stage').textContent.startsWith(words)", arg=stage
        )

    def result_shown(self):
        """Wait for the result in the viewer and return its size."""
        self.page.wait_for_selector(".pv-compares .pv-image")
        size = "e => [e.naturalWidth, e.naturalHeight]"
        return self.page.eval_on_selector(".pv-layer:not(.pv-before) > img", size)

    def download(self, selector):
        with self.page.expect_download() as waiting:
            self.page.click(selector)
        return waiting.value.suggested_filename, Path(waiting.value.path()).read_bytes()

    def picture(self, name, **options):
        if PICTURES:
            self.page.wait_for_timeout(400)
            self.page.screenshot(path=str(Path(PICTURES) / name), **options)

    def faults(self):
        """Return what axe-core finds wrong with the page as it is."""
        axe = pytest.importorskip(
            "axe_playwright_python.sync_playwright", reason="accessibility is tested with axe"
        )
        found = axe.Axe().run(self.page).response["violations"]
        return [(one["id"], [node["target"] for node in one["nodes"]]) for one in found]

    def leave(self):
        outside = [url for url in self.asked if not url.startswith((self.home, "blob:" + self.home))]
        self.context.close()
        assert outside == []
        assert self.said == []
