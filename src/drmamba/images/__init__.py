"""Files to arrays and back: the only room that knows formats, orientation, resolution and polarity."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from drmamba.config import ReadingConfig
from drmamba.errors import ImageError
from drmamba.images.pdf import PdfPage, count_pdf, is_pdf, pdf_pages
from drmamba.images.raster import SUFFIXES as PICTURES
from drmamba.images.raster import RasterPage, as_rows, count_raster, raster_pages
from drmamba.images.rows import DPI, RGB, ArrayRows, Ink, Rows
from drmamba.images.streamed import in_bands
from drmamba.images.writing import (
    Bitmap,
    CodedPage,
    code,
    container,
    encode,
    encode_grey,
    read_record,
    write_bitmap,
    write_ink,
)

__all__ = [
    "ArrayRows",
    "Bitmap",
    "CodedPage",
    "DPI",
    "FilePage",
    "Ink",
    "RGB",
    "Rows",
    "SUFFIXES",
    "as_rows",
    "code",
    "container",
    "count_pages",
    "encode",
    "encode_grey",
    "open_pages",
    "read_ink",
    "read_record",
    "read_rgb",
    "write_bitmap",
    "write_ink",
]

SUFFIXES = (*PICTURES, ".pdf")
FilePage = RasterPage | PdfPage


def read_rgb(path: str | Path) -> RGB:
    """The first page of a file as upright 8-bit RGB, (H, W, 3)."""
    for page in open_pages(path):
        return page.read()
    raise ImageError(f"{path} holds no page")


def open_pages(
    path: str | Path, config: ReadingConfig | None = None, *, memory: int | None = None
) -> Iterator[FilePage]:
    """The pages of a file of any readable kind, in order; each is valid until the next is asked for.

    A page that needs more than `memory` bytes decoded at once is decoded in bands, if its format allows.
    """
    path, config = Path(path), config or ReadingConfig()
    if is_pdf(path):
        return pdf_pages(path, max_pixels=config.max_pixels, dpi=config.dpi)
    pages = raster_pages(path, max_pixels=config.max_pixels)
    if memory is None:
        return pages
    return (in_bands(page) if page.decode_bytes() > memory else page for page in pages)


def count_pages(path: str | Path) -> int:
    """How many pages `open_pages` would give, without decoding any."""
    path = Path(path)
    return count_pdf(path) if is_pdf(path) else count_raster(path)


def read_ink(path: str | Path) -> Ink:
    """A black-and-white page as booleans, True = ink = black; a page with grey or colour is an error."""
    rgb = read_rgb(path)
    grey = rgb[:, :, 0]
    if not ((grey == 0) | (grey == 255)).all() or not (rgb == grey[:, :, None]).all():
        values = len(np.unique(rgb))
        raise ImageError(f"{path} is not black and white ({values} values); binarize it first")
    ink: Ink = grey == 0
    return ink
