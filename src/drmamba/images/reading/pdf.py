"""The pages of a PDF as rows, rendered by pdfium, which is loaded when the first PDF is read.

pdfium is not safe for threads, so one lock guards every call.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from drmamba.errors import ImageError
from drmamba.files import open_regular
from drmamba.images.arrays import RGB
from drmamba.images.reading.decoding import check_size, decoding
from drmamba.images.reading.page_source import PageSource

BAND_PIXELS = 32_000_000  # pixels rendered at once; most pages are one band, and none takes more than 128 MB
LARGE_PICTURE = 60_000_000  # bytes; pdfium keeps no decoded picture that is larger
BY_LINES = (
    "DCTDecode",
    "FlateDecode",
    "CCITTFaxDecode",
    "RunLengthDecode",
)  # codings that it decodes line by line
SCAN_DPI = (72, 1200)  # dots per inch; the plausible resolutions of a scan in a PDF page
LOGO_AREA = 0.02  # share of the page; a smaller picture says nothing about the resolution of the scan
SCAN_AREA = 0.5  # share of the page; where pictures cover less, the page is not a scan

PageSides = tuple[tuple[int, float], tuple[int, float]]  # width and height, each in pixels and in points

_lock = threading.RLock()


def is_pdf(path: Path) -> bool:
    """Return whether the file starts like a PDF, whatever its name is."""
    try:
        with open_regular(path) as file:  # every file comes by here before a library opens it
            return b"%PDF-" in file.read(1024)
    except OSError as error:
        raise ImageError(f"cannot read {path}: {error.strerror or error}") from error


def pdf_pages(path: Path, *, max_pixels: int, dpi: int) -> Iterator[PdfPage]:
    """Yield the pages of a PDF: scans at their own resolution, all other pages at dpi."""
    document = _opened(path)
    try:
        with _lock, decoding(path):
            count = len(document)
        for number in range(count):
            with _lock, decoding(path):
                page = PdfPage(document[number], path, dpi, max_pixels)
            yield page
            with _lock:
                page.close()
    finally:
        with _lock:
            document.close()


def count_pdf(path: Path) -> int:
    """Return how many pages a PDF holds."""
    with _lock, decoding(path):
        document = _opened(path)
        try:
            return len(document)
        finally:
            document.close()


def opened_pdf(source: Path | bytes) -> Any:
    """Open a PDF file, or one in memory, with pdfium."""
    import pypdfium2

    with _lock:
        return pypdfium2.PdfDocument(source)


def _opened(path: Path) -> Any:
    """Open a PDF; one that needs a password is an error that says so."""
    import pypdfium2
    import pypdfium2.raw

    with _lock, decoding(path):
        try:
            return opened_pdf(path)
        except pypdfium2.PdfiumError as error:
            if pypdfium2.raw.FPDF_GetLastError() == pypdfium2.raw.FPDF_ERR_PASSWORD:
                raise ImageError(f"{path} is locked with a password; unlock it first") from error
            raise


class PdfPage(PageSource):
    """One page of a PDF, rendered in bands when its rows are asked for."""

    format = "PDF"

    def __init__(self, page: Any, path: Path, dpi: int, max_pixels: int) -> None:
        self._page, self.path = page, path
        width, height = page.get_size()  # points, as displayed
        if not (math.isfinite(width * height) and width > 0 and height > 0):
            raise ImageError(f"{path} has a page of {width} x {height} points")
        dpi_used = _scan_dpi(page, width * height) or float(dpi)
        # Sizes are rounded up. The scale is slightly reduced, so that a scan of 2550 pixels does not become
        # 2551 by a rounding error.
        scale = dpi_used / 72 * (1 - 1e-6)
        self.width, self.height = math.ceil(width * scale), math.ceil(height * scale)
        self._sides = ((self.width, width), (self.height, height))
        self._picture_bytes = _picture_bytes(page)
        self.dpi = (dpi_used, dpi_used)
        check_size(path, self.height, self.width, max_pixels)
        self._band: tuple[int, RGB] = (0, np.empty((0, self.width, 3), np.uint8))

    def decode_bytes(self) -> int:
        """Return about how many bytes rendering takes: a band, a copy of it, and the page's pictures."""
        return 8 * min(BAND_PIXELS, self.width * self.height) + self._picture_bytes + self.path.stat().st_size

    def decode(self) -> None:
        """Render the first band; a damaged page raises ImageError here."""
        self.rows(0, 1)

    def rows(self, top: int, bottom: int) -> RGB:
        """Return rendered rows; the last band is kept, because rows are mostly asked for in order."""
        first, band = self._band
        if top < first or bottom > first + len(band):
            count = max(bottom - top, BAND_PIXELS // self.width)
            with decoding(self.path):
                first, band = top, render(self._page, self._sides, top, min(top + count, self.height))
            self._band = (first, band)
        return band[top - first : bottom - first]

    def close(self) -> None:
        """Release the page in pdfium."""
        self._page.close()


def render(page: Any, sides: PageSides, top: int, bottom: int) -> RGB:
    """Render the rows with the page's edges 0.01 pixels inside the bitmap; `sides` are width and height.

    Each pixel of a scan then falls on one pixel of the bitmap. pdfium's plain call maps 595.2 points to
    2480.0001 pixels and so draws a scan of 2480 pixels on 2481.
    """
    import pypdfium2
    from pypdfium2 import raw

    with _lock:
        width = sides[0][0]
        across, down = ((pixels - 0.02) / points for pixels, points in sides)
        matrix = raw.FS_MATRIX(across, 0, 0, down, 0.01, 0.01 - top)
        clip = raw.FS_RECTF(0, 0, width, bottom - top)
        bitmap = pypdfium2.PdfBitmap.new_native(width, bottom - top, raw.FPDFBitmap_BGR)
        bitmap.to_numpy()[:] = 255
        flags = raw.FPDF_ANNOT | raw.FPDF_REVERSE_BYTE_ORDER | raw.FPDF_RENDER_LIMITEDIMAGECACHE
        raw.FPDF_RenderPageBitmapWithMatrix(bitmap, page, matrix, clip, flags)
        band: RGB = np.array(bitmap.to_numpy(), copy=True)
        bitmap.close()
    return band


def _picture_bytes(page: Any) -> int:
    """Return the bytes that pdfium takes for a page's largest picture, of which it may keep a few lines only."""
    import pypdfium2.raw

    found = 0
    for picture in page.get_objects(filter=[pypdfium2.raw.FPDF_PAGEOBJ_IMAGE], max_depth=3):
        width, height = picture.get_px_size()
        filters = picture.get_filters()
        whole = 4 * width * height
        found = max(found, min(whole, LARGE_PICTURE) if filters and filters[-1] in BY_LINES else whole)
    return found


def _scan_dpi(page: Any, page_area: float) -> float | None:
    """Return the finest resolution among the pictures of a scanned page, or None if it is not a scan."""
    import pypdfium2.raw

    covered, finest = 0.0, 0.0
    for picture in page.get_objects(filter=[pypdfium2.raw.FPDF_PAGEOBJ_IMAGE], max_depth=3):
        a, b, c, d, _, _ = picture.get_matrix().get()
        wide, high = math.hypot(a, b), math.hypot(c, d)  # points on the page
        pixels_wide, pixels_high = picture.get_px_size()
        if not (math.isfinite(wide * high) and wide * high > LOGO_AREA * page_area):
            continue
        covered += wide * high
        finest = max(finest, 72 * pixels_wide / wide, 72 * pixels_high / high)
    low, high_limit = SCAN_DPI
    return min(finest, high_limit) if covered >= SCAN_AREA * page_area and finest >= low else None
