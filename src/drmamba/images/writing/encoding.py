"""The files that pages become, chosen by the ending of the name."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from drmamba.config import PdfCoding
from drmamba.errors import ImageError
from drmamba.files import write_atomic
from drmamba.images.arrays import DPI, Ink
from drmamba.images.writing.bitmap import Bitmap
from drmamba.images.writing.g4 import G4Page, GreyLayer, encode_g4
from drmamba.images.writing.jbig2 import MAX_SIDE, Jbig2Page, encode_jbig2, find_jbig2
from drmamba.images.writing.png import encode_png
from drmamba.images.writing.tiff_g4 import encode_tiff

WRITABLE = (".png", ".tif", ".tiff", ".pdf")
CodedPage = G4Page | Jbig2Page  # a page that waits in memory until its document is complete


def write_ink(path: str | Path, ink: Ink, *, dpi: DPI | float | None = None, record: str = "") -> None:
    """Write one page as a 1-bit PNG, TIFF or PDF, by the ending of the name; ink (True) becomes black."""
    write_bitmap(path, Bitmap.pack(ink, dpi), record=record)


def write_bitmap(
    path: str | Path, bitmap: Bitmap, *, record: str = "", layers: tuple[GreyLayer, ...] = ()
) -> None:
    """Write one packed page as a PNG, TIFF or PDF, by the ending of the name."""
    write_atomic(path, encode([bitmap], Path(path).suffix, record=record, layers=layers))


def encode(
    pages: Iterable[Bitmap], suffix: str, *, record: str = "", layers: tuple[GreyLayer, ...] = ()
) -> bytes:
    """Return the bytes of a file that holds the pages (a PNG holds exactly one) and the record.

    The layers are pictures in grey below the ink of each page; only a PDF can hold them.
    """
    suffix = suffix.lower()
    if suffix not in WRITABLE:
        raise ImageError(f"pages are written as {', '.join(WRITABLE)}, not as {suffix!r}")
    if layers and suffix != ".pdf":
        raise ImageError(
            f"a {suffix} file cannot hold pictures in grey; write a PDF, or let them be dithered"
        )
    if suffix == ".png":
        (page,) = pages
        return encode_png(~page.bits, page.width, 1, page.dpi, record)
    return encode_document([encode_g4(page, layers) for page in pages], suffix, record)


def encode_page(
    bitmap: Bitmap, suffix: str, coding: PdfCoding = "g4", layers: tuple[GreyLayer, ...] = ()
) -> CodedPage:
    """Compress a page for a document; `coding` is that of PDF files.

    TIFF files and pages with pictures in grey are always G4.
    """
    in_reach = suffix.lower() == ".pdf" and max(bitmap.width, bitmap.height) <= MAX_SIDE
    if in_reach and coding != "g4" and not layers:
        program = find_jbig2()
        if program is not None:
            return encode_jbig2(bitmap, program)
        if coding == "jbig2":
            raise ImageError("jbig2 is not installed; install jbig2enc, or use --pdf-coding g4")
    return encode_g4(bitmap, layers)


def encode_document(pages: Iterable[CodedPage], suffix: str, record: str = "") -> bytes:
    """Return the bytes of a TIFF or PDF file of compressed pages and the record."""
    if suffix.lower() != ".pdf":
        return encode_tiff([page for page in pages if isinstance(page, G4Page)], record)
    from drmamba.images.writing.pdf import encode_pdf

    return encode_pdf(pages, record)


def encode_grey(grey: NDArray[np.uint8], dpi: DPI | None, record: str = "") -> bytes:
    """Return the bytes of an 8-bit PNG with these grey values and the record."""
    return encode_png(grey, grey.shape[1], 8, dpi, record)
