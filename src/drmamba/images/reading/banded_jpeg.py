"""Baseline JPEG pages too large to be decoded at once.

Pillow decodes a JPEG as a whole. pdfium, which reads PDFs here, decodes a large JPEG inside a PDF line by line with
the same library, so the file is wrapped as a PDF of one page, and its bands are rendered pixel by pixel.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PIL import Image

from drmamba.errors import ImageError
from drmamba.images.reading.bands import BandedPage
from drmamba.images.reading.pdf import BAND_PIXELS, opened_pdf, render
from drmamba.images.reading.raster import RasterPage

COLOUR_SPACES = {"L": "DeviceGray", "RGB": "DeviceRGB"}  # of the modes that are read in bands
START_OF_SCAN, END_OF_IMAGE = b"\xff\xda", b"\xff\xd9"


def can_stream_jpeg(page: RasterPage) -> bool:
    """Return whether the page is a JPEG whose lines are stored in order, in grey or colour."""
    return (
        page.format == "JPEG" and page.image.mode in COLOUR_SPACES and not page.image.info.get("progressive")
    )


class BandedJpegPage(BandedPage):
    """A JPEG of which pdfium decodes as many lines as a band has; each band begins at the top of the page again."""

    def __init__(self, image: Image.Image, path: Path) -> None:
        super().__init__(image, path)
        self.band_rows = max(1, BAND_PIXELS // self.width)
        self._page: Any = None

    def decode_bytes(self) -> int:
        """Return the bytes of a band and of the file, which is held as it is and inside a PDF."""
        return super().decode_bytes() + 3 * self.path.stat().st_size

    def _decode_band(self, number: int, size: tuple[int, int]) -> Image.Image:
        if self._page is None:
            self._page = opened_pdf(self._wrapped())[0]
        top = number * self.band_rows
        sides = ((self.width, self.width), (self.height, self.height))
        band = Image.fromarray(render(self._page, sides, top, top + size[1]))
        return band if self.image.mode == "RGB" else band.getchannel(0)

    def _wrapped(self) -> bytes:
        """Return a PDF whose only page is the picture, one point a pixel."""
        data = self.path.read_bytes()
        # pdfium would leave the rest of a page white.
        if data.rfind(END_OF_IMAGE) < data.find(START_OF_SCAN):
            raise ImageError(f"{self.path} is damaged: it ends too early")
        width, height = self.image.size
        content = f"{width} 0 0 {height} 0 0 cm /Page Do"
        space = COLOUR_SPACES[self.image.mode]
        objects = [
            b"<</Type /Catalog /Pages 2 0 R>>",
            b"<</Type /Pages /Kids [3 0 R] /Count 1>>",
            f"<</Type /Page /Parent 2 0 R /MediaBox [0 0 {width} {height}] /Contents 4 0 R "
            "/Resources <</XObject <</Page 5 0 R>>>>>>".encode(),
            f"<</Length {len(content)}>>\nstream\n{content}\nendstream".encode(),
            f"<</Type /XObject /Subtype /Image /Width {width} /Height {height} /BitsPerComponent 8 "
            f"/ColorSpace /{space} /Filter /DCTDecode /Length {len(data)}>>\nstream\n".encode()
            + data
            + b"\nendstream",
        ]
        del data
        file, places = bytearray(b"%PDF-1.4\n"), []
        for number, value in enumerate(objects, 1):
            places.append(len(file))
            file += b"%d 0 obj\n" % number + value + b"\nendobj\n"
        table = b"".join(b"%010d 00000 n \n" % place for place in places)
        end = b"trailer <</Size 6 /Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % len(file)
        return bytes(file + b"xref\n0 6\n0000000000 65535 f \n" + table + end)
