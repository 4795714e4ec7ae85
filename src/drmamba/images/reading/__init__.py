"""Files of every readable kind as pages whose rows are upright 8-bit RGB."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from drmamba.config import ReadingConfig
from drmamba.errors import ImageError
from drmamba.images.arrays import RGB, Ink
from drmamba.images.reading.banded import banded_page
from drmamba.images.reading.formats import READABLE, READABLE_IMAGES
from drmamba.images.reading.page_source import ArraySource, PageSource
from drmamba.images.reading.pdf import PdfPage, count_pdf, is_pdf, pdf_pages
from drmamba.images.reading.raster import RasterPage, as_page_source, count_raster, raster_pages

__all__ = [
    "ArraySource",
    "FilePage",
    "PageSource",
    "READABLE",
    "READABLE_IMAGES",
    "as_page_source",
    "count_pages",
    "open_pages",
    "read_ink",
    "read_rgb",
]

FilePage = RasterPage | PdfPage


def open_pages(
    path: str | Path, config: ReadingConfig | None = None, *, memory: int | None = None
) -> Iterator[FilePage]:
    """Yield the pages of a file in order; each is valid until the next is asked for.

    A page that needs more than `memory` bytes to be decoded at once is decoded in bands, if its format
    allows that.
    """
    path, config = Path(path), config or ReadingConfig()
    if is_pdf(path):
        return pdf_pages(path, max_pixels=config.max_pixels, dpi=config.dpi)
    pages = raster_pages(path, max_pixels=config.max_pixels)
    if memory is None:
        return pages
    return (banded_page(page) if page.decode_bytes() > memory else page for page in pages)


def count_pages(path: str | Path) -> int:
    """Return how many pages `open_pages` would yield, without decoding any."""
    path = Path(path)
    return count_pdf(path) if is_pdf(path) else count_raster(path)


def read_rgb(path: str | Path) -> RGB:
    """Return the first page of a file as upright 8-bit RGB, (H, W, 3)."""
    for page in open_pages(path):
        return page.read()
    raise ImageError(f"{path} holds no page")


def read_ink(path: str | Path) -> Ink:
    """Return a black-and-white page as booleans (black is True); a page with grey or colour is an error."""
    rgb = read_rgb(path)
    grey = rgb[:, :, 0]
    if not ((grey == 0) | (grey == 255)).all() or not (rgb == grey[:, :, None]).all():
        values = len(np.unique(rgb))
        raise ImageError(f"{path} is not black and white ({values} values); binarize it first")
    ink: Ink = grey == 0
    return ink
