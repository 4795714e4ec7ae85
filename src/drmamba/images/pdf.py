"""PDF pages to rows (pdfium) and black-and-white pages to PDF (pikepdf, CCITT G4 inside).

Both libraries are loaded at the first PDF. pdfium knows no threads: one lock guards every call.
"""

from __future__ import annotations

import io
import math
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from drmamba.errors import ImageError
from drmamba.images.fax import Strips
from drmamba.images.raster import decoding
from drmamba.images.rows import DPI, RGB, Rows, check_size

BAND_PIXELS = 32_000_000  # rendered at once: most pages are one band, none takes more than 128 MB
SCAN_DPI = (72, 1200)  # believable resolutions of a picture in a PDF page
MAX_POINTS = 14_400  # the largest page side of PDF

_lock = threading.RLock()


def is_pdf(path: Path) -> bool:
    """Whether the file starts like a PDF, whatever its name."""
    try:
        with path.open("rb") as file:
            return b"%PDF-" in file.read(1024)
    except OSError as error:
        raise ImageError(f"cannot read {path}: {error.strerror or error}") from error


def pdf_pages(path: Path, *, max_pixels: int, dpi: int) -> Iterator[PdfPage]:
    """The pages of a PDF: scans at their own resolution, everything else at dpi."""
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
    """How many pages a PDF holds."""
    with _lock, decoding(path):
        document = _opened(path)
        try:
            return len(document)
        finally:
            document.close()


def _opened(path: Path) -> Any:
    import pypdfium2

    with _lock, decoding(path):
        try:
            return pypdfium2.PdfDocument(path)
        except pypdfium2.PdfiumError as error:
            if "password" in str(error).lower():
                raise ImageError(f"{path} is locked with a password; unlock it first") from error
            raise


class PdfPage(Rows):
    """One page, rendered in bands when its rows are asked for."""

    format = "PDF"

    def __init__(self, page: Any, path: Path, dpi: int, max_pixels: int) -> None:
        self._page, self.path = page, path
        width, height = page.get_size()  # points, as displayed
        if not (math.isfinite(width * height) and width > 0 and height > 0):
            raise ImageError(f"{path} has a page of {width} x {height} points")
        dpi_used = _scan_dpi(page, width * height) or float(dpi)
        # A hair less: sizes are rounded up, and a scan of 2550 pixels must not become 2551 by an error.
        scale = dpi_used / 72 * (1 - 1e-6)
        self.width, self.height = math.ceil(width * scale), math.ceil(height * scale)
        self._sides = ((self.width, width), (self.height, height))
        self.dpi = (dpi_used, dpi_used)
        check_size(path, self.height, self.width, max_pixels)
        self._band: tuple[int, RGB] = (0, np.empty((0, self.width, 3), np.uint8))

    def decode_bytes(self) -> int:
        """How much memory rendering takes, about; pdfium also decodes the page's pictures."""
        return 4 * min(BAND_PIXELS, self.width * self.height) + 4 * self.width * self.height

    def decode(self) -> None:
        """Render the first band now; a damaged page raises ImageError here."""
        self.rows(0, 1)

    def rows(self, top: int, bottom: int) -> RGB:
        """Rendered rows; the last band is kept, as rows are mostly asked for in order."""
        first, band = self._band
        if top < first or bottom > first + len(band):
            count = max(bottom - top, BAND_PIXELS // self.width)
            first, band = top, self._render(top, min(top + count, self.height))
            self._band = (first, band)
        return band[top - first : bottom - first]

    def _render(self, top: int, bottom: int) -> RGB:
        """Rows of the page. Its edges fall a hair inside the pixels': a scan then meets its own grid.

        (pdfium's plain call maps 595.2 points to 2480.0001 pixels and so draws a scan of 2480 on 2481.)
        """
        import pypdfium2
        from pypdfium2 import raw

        with _lock, decoding(self.path):
            across, down = ((pixels - 0.02) / points for pixels, points in self._sides)
            matrix = raw.FS_MATRIX(across, 0, 0, down, 0.01, 0.01 - top)
            clip = raw.FS_RECTF(0, 0, self.width, bottom - top)
            bitmap = pypdfium2.PdfBitmap.new_native(self.width, bottom - top, raw.FPDFBitmap_BGR)
            bitmap.to_numpy()[:] = 255
            flags = raw.FPDF_ANNOT | raw.FPDF_REVERSE_BYTE_ORDER | raw.FPDF_RENDER_LIMITEDIMAGECACHE
            raw.FPDF_RenderPageBitmapWithMatrix(bitmap, self._page, matrix, clip, flags)
            band: RGB = np.array(bitmap.to_numpy(), copy=True)
            bitmap.close()
        return band

    def close(self) -> None:
        """Let go of the page."""
        self._page.close()


def _scan_dpi(page: Any, page_area: float) -> float | None:
    """The finest resolution among the pictures that make up a scanned page; None if it is not a scan."""
    import pypdfium2.raw

    covered, finest = 0.0, 0.0
    for picture in page.get_objects(filter=[pypdfium2.raw.FPDF_PAGEOBJ_IMAGE], max_depth=3):
        a, b, c, d, _, _ = picture.get_matrix().get()
        wide, high = math.hypot(a, b), math.hypot(c, d)  # points on the page
        pixels_wide, pixels_high = picture.get_px_size()
        if not (math.isfinite(wide * high) and wide * high > 0.02 * page_area):
            continue  # a logo says nothing about the scan
        covered += wide * high
        finest = max(finest, 72 * pixels_wide / wide, 72 * pixels_high / high)
    low, high_limit = SCAN_DPI
    return min(finest, high_limit) if covered >= 0.5 * page_area and finest >= low else None


def encode_pdf(pages: list[tuple[Strips, int, int, DPI]], record: str = "") -> bytes:
    """A PDF whose pages are (strips, width, height, dpi); the page size follows from the resolution."""
    import pikepdf

    with pikepdf.new() as pdf:
        for strips, width, height, (dpi_x, dpi_y) in pages:
            wide, high = 72 * width / dpi_x, 72 * height / dpi_y
            unit = max(1.0, wide / MAX_POINTS, high / MAX_POINTS)  # a page of more counts in larger units
            wide, high = wide / unit, high / unit
            pictures, drawn, left = pikepdf.Dictionary(), "", height
            for number, (rows, fax) in enumerate(strips):
                left -= rows
                place = f"{wide:.4f} 0 0 {high * rows / height:.4f} 0 {high * left / height:.4f}"
                drawn += f"q {place} cm /Page{number} Do Q\n"
                pictures[f"/Page{number}"] = pikepdf.Stream(
                    pdf,
                    fax,
                    Type=pikepdf.Name.XObject,
                    Subtype=pikepdf.Name.Image,
                    Width=width,
                    Height=rows,
                    ColorSpace=pikepdf.Name.DeviceGray,
                    BitsPerComponent=1,
                    Filter=pikepdf.Name.CCITTFaxDecode,
                    DecodeParms=pikepdf.Dictionary(K=-1, Columns=width, Rows=rows, BlackIs1=False),
                )
            leaf = pikepdf.Dictionary(
                Type=pikepdf.Name.Page,
                MediaBox=[0, 0, round(wide, 4), round(high, 4)],
                Resources=pikepdf.Dictionary(XObject=pictures),
                Contents=pdf.make_stream(drawn.encode()),
            )
            if unit > 1:
                leaf.UserUnit = round(unit, 4)
            pdf.pages.append(pikepdf.Page(leaf))
        pdf.docinfo["/Producer"] = "drmamba"
        if record:
            pdf.docinfo["/drmamba"] = record
        buffer = io.BytesIO()
        pdf.save(buffer, deterministic_id=True, object_stream_mode=pikepdf.ObjectStreamMode.generate)
    return buffer.getvalue()


def read_pdf_record(path: Path) -> str:
    """What `encode_pdf` was given as record."""
    import pikepdf

    with pikepdf.open(path) as pdf:
        return str(pdf.docinfo.get("/drmamba", ""))
