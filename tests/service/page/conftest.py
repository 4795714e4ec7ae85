"""A browser that the tests of this folder share."""

import pytest


@pytest.fixture(scope="module")  # its event loop would be in the way of later modules
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="the browser is driven by playwright")
    from browser_visitor import ALONE, CHROMIUM

    if CHROMIUM is None:
        pytest.skip("there is no chromium here")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ALONE)
        yield browser
        browser.close()
