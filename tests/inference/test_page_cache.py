"""Rows of a page that fits the memory limit are read once, and the results are the same as with two passes."""

import numpy as np
import pytest
from stand_in import binarizer, save, text_page

from drmamba.images import ArraySource, PageSource
from drmamba.images.reading.decoder_process import DecoderProcess, IsolatedPage
from drmamba.inference import page_cache
from drmamba.inference.conversion import FileConversion
from drmamba.inference.jobs import FileJob
from drmamba.inference.memory import MemoryLedger
from drmamba.inference.page_cache import CachedSource, cache_bytes, cached


class CountingSource(PageSource):
    """A page that counts how often each row is read."""

    def __init__(self, page):
        self._page = ArraySource(page)
        self.height, self.width, self.dpi = self._page.height, self._page.width, (300.0, 300.0)
        self.reads = np.zeros(self.height, int)

    def rows(self, top, bottom):
        self.reads[top:bottom] += 1
        return self._page.rows(top, bottom)


@pytest.fixture(scope="module")
def dark():
    with binarizer() as made:
        yield made


def test_rows_are_read_once_in_whatever_order_they_are_needed():
    page = np.random.default_rng(0).integers(0, 256, (50, 20, 3), np.uint8)
    source = CountingSource(page)
    cache = CachedSource(source)
    for top, bottom in ((0, 10), (5, 20), (40, 50), (0, 50)):
        np.testing.assert_array_equal(cache.rows(top, bottom), page[top:bottom])
    assert (source.reads == 1).all()
    assert cache.dpi == (300.0, 300.0)


def test_only_a_page_that_fits_and_is_not_in_memory_is_cached():
    source = CountingSource(text_page())
    size = 3 * source.height * source.width
    assert cache_bytes(source) == size
    assert isinstance(cached(source, size), CachedSource)
    assert cached(source, size - 1) is source
    array = ArraySource(text_page())
    assert cached(array, 10**9) is array


def test_a_check_may_end_the_work_on_a_cached_page():
    def check():
        raise TimeoutError

    with pytest.raises(TimeoutError):
        CachedSource(CountingSource(text_page()), check).rows(0, 1)


def test_a_binarizer_reads_a_page_once_if_it_fits_and_twice_if_not(dark):
    once, twice = CountingSource(text_page(700, 600)), CountingSource(text_page(700, 600))
    fits = dark(once)
    larger = dark.binarize(twice)
    assert (once.reads == 1).all()
    assert (twice.reads == 2).all()
    np.testing.assert_array_equal(fits.probability, larger.probability)
    assert fits.quality == larger.quality


def test_a_conversion_reads_a_page_once_if_it_fits_and_twice_if_not(dark, tmp_path, monkeypatch):
    save(tmp_path / "page.png", text_page(700, 600))
    rows, read = IsolatedPage.rows, []

    def counted(self, top, bottom):
        read.append(bottom - top)
        return rows(self, top, bottom)

    monkeypatch.setattr(IsolatedPage, "rows", counted)
    results = []
    estimate = 40_000_000
    with DecoderProcess(500_000_000) as reader:
        for total, passes in ((10**9, 1), (estimate, 2)):
            read.clear()
            conversion = FileConversion(dark, ledger=MemoryLedger(total), estimate=lambda _: estimate)
            job = FileJob(tmp_path / "page.png", tmp_path / f"{passes}.png")
            (record,) = conversion.convert(job, reader)
            assert record.status == "done"
            assert sum(read) == 700 * passes
            results.append((tmp_path / f"{passes}.png").read_bytes())
    assert results[0] == results[1]


def test_a_very_large_page_is_read_again_whatever_the_limit(monkeypatch):
    source = CountingSource(text_page(70, 60))
    assert page_cache.cached(source, 10**12) is not source
    monkeypatch.setattr(page_cache, "LARGEST_CACHE", 3 * 70 * 60 - 1)
    assert page_cache.cached(source, 10**12) is source
